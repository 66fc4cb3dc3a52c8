"""Binary files made here with `sadc`, against what `sadf` prints of them."""

from __future__ import annotations

import bz2
import json
import lzma
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from satline.errors import InputError
from satline.importers import Options, sysstat
from satline.importers._import import import_recording
from satline.importers._sadf import ENVIRONMENT
from satline.recording import Recording

SADC = Path("/usr/lib/sysstat/sadc")
pytestmark = [
    pytest.mark.skipif(not SADC.exists() or shutil.which("sadf") is None, reason="sysstat is not installed"),
    pytest.mark.slow,
]
C = {**os.environ, "LC_ALL": "C", "TZ": "UTC", "S_TIME_FORMAT": "ISO"}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four records, a second apart."""
    path = tmp_path_factory.mktemp("sa") / "sa21"
    subprocess.run([SADC, "-S", "ALL", "1", "4", path], check=True, stdout=subprocess.DEVNULL)
    return path


@pytest.fixture
def imported(tmp_path: Path) -> Callable[..., Recording]:
    """Import into a recording of this test."""

    def run(*sources: Path, options: Options | None = None) -> Recording:
        path = tmp_path / "imported.satline"
        import_recording([str(s) for s in sources], path, sysstat.IMPORTER, options or Options())
        return Recording.open(path)

    return run


def printed(archive: Path, *flags: str) -> list[dict[str, Any]]:
    """What `sadf -j` prints: rates and levels by reading, from the second record on."""
    text = subprocess.run(
        ["sadf", "-j", archive, "--", *flags], check=True, capture_output=True, text=True, env=C
    )
    statistics: list[dict[str, Any]] = json.loads(text.stdout)["sysstat"]["hosts"][0]["statistics"]
    return statistics


def differences(recording: Recording, table: str, column: str, where: str = "TRUE") -> list[float]:
    """Differences per second of a counter, in order of time."""
    query = f"""
        SELECT (c - lag(c) OVER w) / ((t - lag(t) OVER w) / 1e9)
        FROM (SELECT {column} AS c, monotonic_ns AS t FROM {table} WHERE {where}) WINDOW w AS (ORDER BY t)
    """
    return [row[0] for row in recording.connect().execute(query).fetchall()][1:]


def test_rates_are_those_that_sadf_prints(archive: Path, imported: Callable[..., Recording]) -> None:
    recording = imported(archive)
    for flags, group, column, field, unit in (
        (["-w"], "process-and-context-switch", "context_switches", "cswch", 1),
        (["-w"], "process-and-context-switch", "forks", "proc", 1),
        (["-B"], "paging", "page_faults", "fault", 1),
        (["-B"], "paging", "block_out_bytes", "pgpgout", 1024),
        (["-W"], "swap-pages", "swap_in_pages", "pswpin", 1),
    ):
        want = [s[group][field] * unit for s in printed(archive, *flags)]
        assert differences(recording, "system", column) == pytest.approx(want, abs=0.011 * unit), column


def test_processor_times_are_those_that_sadf_prints(
    archive: Path, imported: Callable[..., Recording]
) -> None:
    recording = imported(archive)
    statistics = printed(archive, "-u", "ALL", "-P", "0")
    for column, fields in {
        "user_us": ["usr"],
        "system_us": ["sys"],
        "irq_us": ["irq", "soft"],
        "idle_us": ["idle"],
    }.items():
        got = differences(recording, "processor", column, "processor = '0'")
        total = [
            sum(x)
            for x in zip(
                *(
                    differences(recording, "processor", c, "processor = '0'")
                    for c in (
                        "user_us",
                        "nice_us",
                        "system_us",
                        "irq_us",
                        "idle_us",
                        "iowait_us",
                        "steal_us",
                        "guest_us",
                    )
                ),
                strict=True,
            )
        ]
        want = [sum(s["cpu-load"][0][f] for f in fields) for s in statistics]
        assert [100 * g / t for g, t in zip(got, total, strict=True)] == pytest.approx(want, abs=0.02), column


def test_devices_have_the_await_and_use_that_sar_prints(
    archive: Path, imported: Callable[..., Recording]
) -> None:
    recording = imported(archive)
    statistics = printed(archive, "-d", "-p")
    names = {d["disk-device"] for s in statistics for d in s.get("disk", [])}
    if not names:
        pytest.skip("no block device here")
    name = min(names)
    where = f"device = '{name}' AND device_kind = 'block'"
    found = [next(d for d in s["disk"] if d["disk-device"] == name) for s in statistics]
    assert differences(recording, "device", "requests", where) == pytest.approx(
        [d["tps"] for d in found], abs=0.011
    )
    assert differences(recording, "device", "read_bytes", where) == pytest.approx(
        [d["rkB"] * 1024 for d in found], abs=12
    )
    waits = differences(recording, "device", "request_wait_us", where)
    assert waits == pytest.approx(
        [d["tps"] * d["await"] * 1e3 for d in found], abs=10 * max(d["tps"] for d in found) + 20
    )
    assert differences(recording, "device", "busy_us", where) == pytest.approx(
        [d["util-percent"] * 1e4 for d in found], rel=0.02, abs=150
    )


def test_levels_are_those_that_sadf_prints(archive: Path, imported: Callable[..., Recording]) -> None:
    rows = (
        imported(archive)
        .connect()
        .execute(
            "SELECT mem_free_bytes, tasks_total, load_average_1, swap_total_bytes FROM system"
            " ORDER BY time_ns"
        )
        .fetchall()
    )
    assert rows[0] == (None, None, None, None), "sadf tells no levels of the first record"
    memory, queue = printed(archive, "-r"), printed(archive, "-q")
    assert [r[0] for r in rows[1:]] == [s["memory"]["memfree"] * 1024 for s in memory]
    assert [r[1] for r in rows[1:]] == [s["queue"]["plist-sz"] for s in queue]
    assert [r[2] for r in rows[1:]] == pytest.approx([s["queue"]["ldavg-1"] for s in queue])


def test_host_and_times_come_from_the_header(archive: Path, imported: Callable[..., Recording]) -> None:
    recording = imported(archive)
    host = recording.description["host"]
    assert host["processors"] == os.cpu_count()
    assert host["kernel"] == os.uname().release
    first = recording.connect().execute("SELECT min(time_ns) FROM system").fetchone()
    assert first is not None
    assert abs(first[0] / 1e9 - archive.stat().st_mtime) < 60


def test_a_restart_begins_a_new_run(imported: Callable[..., Recording], tmp_path: Path) -> None:
    path = tmp_path / "sa22"
    for _ in range(2):
        subprocess.run([SADC, path], check=True)  # the mark of a restart
        subprocess.run([SADC, "1", "2", path], check=True, stdout=subprocess.DEVNULL)
    runs = (
        imported(path)
        .connect()
        .execute("SELECT run, count(*) FROM system GROUP BY run ORDER BY run")
        .fetchall()
    )
    assert runs == [(1, 2), (2, 2)]


def test_a_compressed_file_gives_the_same(archive: Path, tmp_path: Path) -> None:
    query = "SELECT count(*), max(context_switches), max(time_ns) FROM system"
    found = []
    for suffix, pack in (("", bytes), (".xz", lzma.compress), (".bz2", bz2.compress)):
        source = tmp_path / f"sa21{suffix}"
        source.write_bytes(pack(archive.read_bytes()))
        assert sysstat.recognise(str(source)) == 1.0
        path = tmp_path / f"of{suffix}.satline"
        import_recording([str(source)], path, sysstat.IMPORTER, Options())
        found.append(Recording.open(path).connect().execute(query).fetchall())
    assert found[0] == found[1] == found[2]


def test_what_lies_before_a_damaged_tail_is_imported(
    archive: Path, imported: Callable[..., Recording], tmp_path: Path
) -> None:
    cut = tmp_path / "sa21"
    cut.write_bytes(archive.read_bytes()[:-3000])
    recording = imported(cut)
    count = recording.connect().execute("SELECT count(*), count(context_switches) FROM system").fetchone()
    assert count is not None
    assert 2 <= count[0] <= 4
    assert recording.sources["import"]["damage"]


def test_a_directory_is_read_in_order_of_time(
    archive: Path, imported: Callable[..., Recording], tmp_path: Path
) -> None:
    directory = tmp_path / "sysstat"
    directory.mkdir()
    later = directory / "sa01"  # a month's first day comes after its last
    shutil.copy(archive, directory / "sa30")
    subprocess.run([SADC, "1", "2", later], check=True, stdout=subprocess.DEVNULL)
    (directory / "sar21").write_text("text, no archive")
    assert sysstat.recognise(str(directory)) > 0.5
    recording = imported(directory)
    firsts = (
        recording.connect().execute("SELECT min(time_ns) FROM system GROUP BY run ORDER BY run").fetchall()
    )
    assert firsts == sorted(firsts)
    assert len(firsts) == 2


def test_only_the_time_asked_for_is_imported(archive: Path, imported: Callable[..., Recording]) -> None:
    # A second, or on a busy machine more, after the first.
    second = printed(archive, "-w")[0]["timestamp"]
    start = datetime.fromisoformat(f"{second['date']}T{second['time']}+00:00")
    assert start.timestamp() > sysstat.begins(str(archive))
    recording = imported(archive, options=Options(start=start))
    first = recording.connect().execute("SELECT min(time_ns), count(*) FROM system").fetchone()
    assert first == (int(start.timestamp()) * 10**9, 3)


def test_a_file_that_sadf_cannot_read_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    broken = tmp_path / "sa21"
    broken.write_bytes(b"\x96\xd5\x70\x21\x09\x01\x05" + bytes(2000))
    with pytest.raises(InputError, match=r"sa21: sadf \S+ neither reads nor converts") as caught:
        import_recording([str(broken)], tmp_path / "x.satline", sysstat.IMPORTER, Options())
    assert "(written by sysstat 9.1.5)" in caught.value.message
    assert "sar -A" in caught.value.hint
    assert [p.name for p in tmp_path.iterdir()] == ["sa21"], "nothing is left behind"


def test_without_sadf_the_remedy_is_told(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="sadf") as caught:
        import_recording([str(archive)], tmp_path / "x.satline", sysstat.IMPORTER, Options())
    assert "install sysstat" in caught.value.hint


def test_other_files_are_not_taken_for_archives(tmp_path: Path) -> None:
    other = tmp_path / "sa21"
    other.write_text("Linux 6.1 (host)")
    assert sysstat.recognise(str(other)) == 0
    assert sysstat.recognise(str(tmp_path)) == 0
    assert sysstat.recognise("http://localhost:9090") == 0
    assert sysstat.recognise(str(tmp_path / "absent")) == 0


def with_sadf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Put a `sadf` before the real one, which is `sadf` in `body`."""
    script = tmp_path / "bin" / "sadf"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\nPATH=${{PATH#*:}}\n{body}\n")
    script.chmod(0o755)
    monkeypatch.setitem(ENVIRONMENT, "PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")


def test_a_damaged_file_of_the_present_format_is_said_to_be_so(archive: Path, tmp_path: Path) -> None:
    """`sadf -c` says of it that its format is up to date."""
    broken = tmp_path / "sa21"
    content = bytearray(archive.read_bytes())
    content[76:140] = b"\xff" * 64
    broken.write_bytes(bytes(content))
    with pytest.raises(InputError) as caught:
        import_recording([str(broken)], tmp_path / "x.satline", sysstat.IMPORTER, Options())
    assert "takes it for invalid (written by sysstat " in caught.value.message
    assert "up-to-date" not in caught.value.message


def test_a_file_without_processor_times_is_read(
    tmp_path: Path, imported: Callable[..., Recording], archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = """
case "$*" in
-H*) sadf "$@" | sed '/A_CPU/d';;
*"-O debug"*"-- -w") sadf "$@";;
*"-O debug"*) echo "Requested activities not available" >&2; exit 1;;
*) sadf "$@";;
esac"""
    with_sadf(tmp_path, monkeypatch, body)
    recording = imported(archive)
    found = recording.connect().execute("SELECT count(context_switches) FROM system").fetchone()
    assert found is not None
    assert found[0] > 1


def test_clocks_that_disagree_are_named(
    tmp_path: Path, imported: Callable[..., Recording], archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = (
        'case "$*" in *debug*) sadf "$@" | sed \'s/HH:MM:SS; .*/HH:MM:SS; 00:00:61/\';; *) sadf "$@";; esac'
    )
    with_sadf(tmp_path, monkeypatch, body)
    with pytest.raises(InputError, match="the two clocks of a record disagree, 00:00:61 of its wall and"):
        imported(archive)


def test_a_file_of_marks_alone_is_said_to_hold_no_record(
    tmp_path: Path, imported: Callable[..., Recording], archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_sadf(tmp_path, monkeypatch, 'case "$*" in *debug*) ;; *) sadf "$@";; esac')
    with pytest.raises(InputError, match="it holds no record, but a header and marks"):
        imported(archive)


def test_a_crash_of_sadf_is_said_with_its_signal(
    archive: Path, tmp_path: Path, imported: Callable[..., Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "bin" / "sadf"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho 'out of range' >&2\nkill -ABRT $$\n")
    script.chmod(0o755)
    monkeypatch.setitem(ENVIRONMENT, "PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(InputError, match=r"ended by signal 6 \(SIGABRT\): out of range"):
        imported(archive)


def test_activities_that_sadf_crashes_on_are_damage_and_the_rest_is_imported(
    archive: Path, tmp_path: Path, imported: Callable[..., Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "bin" / "sadf"
    script.parent.mkdir()
    script.write_text('#!/bin/sh\nPATH=${PATH#*:}\nsadf "$@"\ncase "$*" in *"-- -w"*) kill -SEGV $$;; esac\n')
    script.chmod(0o755)
    monkeypatch.setitem(ENVIRONMENT, "PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    recording = imported(archive)
    assert any("SIGSEGV" in text for text in recording.sources["import"]["damage"])
    assert recording.connect().execute("SELECT count(user_us) > 0 FROM processor").fetchone() == (True,)


def tables_of(recording: Path) -> dict[str, bytes]:
    """The Parquet files by their place."""
    return {f.relative_to(recording).as_posix(): f.read_bytes() for f in recording.rglob("*.parquet")}


def test_sadf_is_started_four_times_for_a_small_file_and_the_rows_are_the_same(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once each for header, times, processors and all else; of a large file for each activity."""
    commands: list[list[str]] = []

    class Counted(subprocess.Popen[bytes]):
        def __init__(self, command: list[str], **options: Any) -> None:
            commands.append(command)
            super().__init__(command, **options)

    monkeypatch.setattr("satline.outside.tools.subprocess.Popen", Counted)
    import_recording([str(archive)], tmp_path / "small.satline", sysstat.IMPORTER, Options())
    assert len(commands) == 4
    commands.clear()
    monkeypatch.setattr(sysstat, "_SMALL_BYTES", 0)
    import_recording([str(archive)], tmp_path / "large.satline", sysstat.IMPORTER, Options())
    assert len(commands) > 10
    assert tables_of(tmp_path / "small.satline") == tables_of(tmp_path / "large.satline")


def test_an_import_loads_no_pandas(archive: Path, tmp_path: Path) -> None:
    code = "import sys; from satline.cli import run; print(run(sys.argv[1:]), 'pandas' in sys.modules)"
    command = [sys.executable, "-c", code, "import", str(archive), "-o", str(tmp_path / "made.satline")]
    environment = {**C, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.splitlines()[-1] == "0 False"
