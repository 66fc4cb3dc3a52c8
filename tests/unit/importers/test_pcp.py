"""PCP archives: numbers against what PCP's own tools print, and what damage may do to an importer."""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from imports import facts, rows
from pcp_archives import (
    imported,
    needs_tool,
    ns,
)

from satline.errors import InputError
from satline.importers._importer import Options
from satline.importers.pcp import IMPORTER as PCP
from satline.recording import Recording

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "pcp"
DAY, ZEROCONF, MULTI = DATA / "20130706-a", DATA / "pcp-zeroconf", DATA / "multi_v3"

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no archives in {DATA}")
pytestmark = [needs_tool, pytest.mark.slow]


# ------------------------------------------------------------------------------ a day of a real system


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return imported(DAY, tmp_path_factory.mktemp("day") / "day.satline")


@needs_data
def test_counters_are_those_that_pmdumplog_prints(day: Recording) -> None:
    # pmdumplog -x -z 20130706-a: the records of Sat 00:18:01.944234 and Sun 00:15:43.297154
    values = "SELECT idle_us FROM processor WHERE processor = '{}' ORDER BY time_ns {} LIMIT 1"
    # A third of the readings lack the single processors: all of them are one row.
    assert rows(day, values.format("all", "ASC")) == [(35318009470_000,)]
    assert rows(day, values.format("all", "DESC")) == [(35469273750_000,)]
    assert rows(
        day, "SELECT forks, mem_free_bytes, mem_total_bytes FROM system ORDER BY time_ns LIMIT 1"
    ) == [(16912921, 36216 * 1024, (36216 + 6070652) * 1024)]
    read = "SELECT read_bytes FROM device WHERE device = 'sdb' ORDER BY time_ns {} LIMIT 1"
    assert rows(day, read.format("ASC")) == [(3975833763 * 1024,)]
    assert rows(day, read.format("DESC")) == [(3979989803 * 1024,)]


@needs_data
def test_times_are_real_ones_whatever_zone_the_archive_was_logged_in(day: Recording) -> None:
    # the archive's zone is EST-10: ten hours before UTC
    assert rows(day, "SELECT min(time_ns) // 1000000 FROM system") == [
        (ns("2013-07-06T00:18:01+10:00") // 10**6 + 944,)
    ]
    assert facts(day)["origin"]["zone"] == "EST-10"


@needs_data
def test_marks_begin_new_runs(day: Recording) -> None:
    starts = rows(day, "SELECT run, min(time_ns) FROM system GROUP BY run ORDER BY run")
    assert [run for run, _ in starts] == [1, 2, 3]
    marks = [ns("2013-07-06T08:44:01+10:00"), ns("2013-07-06T17:41:22+10:00")]
    for (_, start), mark in zip(starts[1:], marks, strict=True):
        assert 0 < start - mark < 900 * 10**9


@needs_data
def test_what_the_archive_does_not_log_is_missing_and_said_with_the_metric_that_would_bring_it(
    day: Recording,
) -> None:
    lacking = {m["signal"]: m["reason"] for m in facts(day)["missing"]}
    assert lacking["system.context_switches"] == "not logged: kernel.all.pswitch"
    assert "proc.id.uid_nm" in lacking["system.users_logged_on"]
    assert not {"system.forks", "device.reads"} & lacking.keys()
    assert rows(day, "SELECT count(context_switches), count(forks) FROM system")[0] == (0, 900)


@needs_data
def test_only_the_readings_between_the_given_times_are_taken(tmp_path: Path) -> None:
    start, end = datetime(2013, 7, 6, 0, 0, tzinfo=UTC), datetime(2013, 7, 6, 1, 0, tzinfo=UTC)
    made = imported(DAY, tmp_path / "hour.satline", Options(start=start, end=end))
    ((first, last, count),) = rows(made, "SELECT min(time_ns), max(time_ns), count(*) FROM system")
    assert start.timestamp() * 1e9 <= first < last < end.timestamp() * 1e9
    assert count == 60


@pytest.fixture(scope="module")
def zeroconf(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return imported(ZEROCONF, tmp_path_factory.mktemp("zeroconf") / "z.satline")


@pytest.fixture(scope="module")
def multi(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return imported(MULTI, tmp_path_factory.mktemp("multi") / "m.satline")


@needs_data
@pytest.mark.parametrize("archive", ["day", "zeroconf", "multi"])
def test_what_was_imported_can_be_reduced_and_diagnosed(archive: str, request: pytest.FixtureRequest) -> None:
    from satline.diagnosis import diagnose
    from satline.reduction import reduce

    made = request.getfixturevalue(archive)
    reduce(made)
    assert diagnose(made).headline


# ------------------------------------------------------------------------------ processes and users


def printed_user_cpu(user: str) -> dict[str, int]:
    """Sum of utime + stime over the user's processes at each record, as pmdumplog prints it, ms."""
    command = ["pmdumplog", "-z", str(ZEROCONF), "proc.id.uid_nm", "proc.psinfo.utime", "proc.psinfo.stime"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    sums = {}
    for record in re.split(r"\n\n", text)[1:]:
        metrics = {
            m[1]: dict(re.findall(r'inst \[(\d+) or .*\] value "?([^"\n]*)"?', m[2]))
            for m in re.finditer(r"\((proc\.\S+)\):((?:.*inst .*\n?|\n)+)", record + "\n")
        }
        if "proc.id.uid_nm" in metrics:
            mine = [pid for pid, name in metrics["proc.id.uid_nm"].items() if name == user]
            sums[record.split()[0]] = sum(
                int(metrics[m][p]) for m in ("proc.psinfo.utime", "proc.psinfo.stime") for p in mine
            )
    return sums


@needs_data
def test_a_users_processor_time_is_that_of_his_processes(zeroconf: Recording) -> None:
    sums = list(printed_user_cpu("nathans").values())
    got = [
        v for (v,) in rows(zeroconf, 'SELECT cpu_us FROM "user" WHERE "user" = \'nathans\' ORDER BY time_ns')
    ]
    # The first record of processes lies seconds away from any of the processors, and has no reading.
    assert [b - a for a, b in pairwise(got)] == [(b - a) * 1000 for a, b in pairwise(sums[1:])]


@needs_data
def test_counters_of_users_never_fall(zeroconf: Recording) -> None:
    for column in ("cpu_us", "cpu_system_us", "minor_faults", "major_faults", "read_bytes", "write_bytes"):
        falls = rows(
            zeroconf,
            f'SELECT count(*) FROM (SELECT {column} - lag({column}) OVER (PARTITION BY run, "user"'
            f' ORDER BY time_ns) AS d FROM "user") WHERE d < 0',
        )
        assert falls == [(0,)], column


@needs_data
def test_kernel_threads_and_the_collector_are_no_users(zeroconf: Recording) -> None:
    names = {n for (n,) in rows(zeroconf, 'SELECT DISTINCT "user" FROM "user"')}
    assert {"_kernel", "_collector", "nathans", "root"} <= names
    ((logged_on, in_queue),) = rows(
        zeroconf,
        "SELECT users_logged_on, users_in_queue FROM system WHERE users_logged_on IS NOT NULL"
        " ORDER BY time_ns LIMIT 1",
    )
    assert logged_on == len([n for n in names if not n.startswith("_")])
    assert in_queue == 0  # the only process that runs is the collector's


@needs_data
def test_readings_are_taken_when_the_processes_were_logged(zeroconf: Recording) -> None:
    # Four with processes; a minute before them, and 49 s after, were logged without.
    assert rows(zeroconf, "SELECT count(*), count(users_logged_on) FROM system") == [(6, 4)]
    assert any("processes were logged every 60 s" in note for note in facts(zeroconf)["notes"])
    # pmdumplog -x: cpu0 at 10:16:55.641183 in the archive's zone
    assert rows(zeroconf, f"SELECT count(idle_us) FROM processor WHERE time_ns = {1760311015641183257}") == [
        (8,)
    ]


@needs_data
def test_pressure_is_the_kernels_total(zeroconf: Recording) -> None:
    text = subprocess.run(
        ["pmdumplog", str(ZEROCONF), "kernel.all.pressure.io.some.total"], capture_output=True, text=True
    ).stdout
    printed = {int(v) for v in re.findall(r"value (\d+)", text)}
    got = [v for (v,) in rows(zeroconf, "SELECT pressure_io_some_us FROM system")]
    assert len(got) == 6
    assert set(got) <= printed


# ------------------------------------------------------------------------------ several archives


@needs_data
def test_archives_of_a_folder_become_one_recording_with_a_run_for_each(multi: Recording) -> None:
    assert PCP.recognise(str(MULTI)) > 0.5
    counts = rows(multi, "SELECT run, count(*) FROM system GROUP BY run ORDER BY run")
    assert [run for run, _ in counts] == [1, 2, 3, 4]
    assert sum(n for _, n in counts) == 14
    ((falls,),) = rows(
        multi, "SELECT count(*) FROM (SELECT time_ns - lag(time_ns) OVER () AS d FROM system) WHERE d <= 0"
    )
    assert falls == 0


@needs_data
def test_archives_of_several_hosts_are_refused_and_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="billing02") as caught:
        imported(DATA, tmp_path / "x.satline")
    assert "--host" in caught.value.hint
    made = imported(DATA, tmp_path / "y.satline", Options(host="fedora"))
    assert made.description["host"]["name"] == "fedora"


@needs_data
@pytest.mark.parametrize("name", ["20130706-a", "20130706-a.meta", "20130706-a.index", "20130706-a.0.bz2"])
def test_any_file_of_an_archive_names_it(name: str) -> None:
    assert PCP.recognise(str(DATA / name)) > 0.5


def test_other_files_are_not_recognised(tmp_path: Path) -> None:
    (tmp_path / "file.0").write_bytes(b"\x00" * 100)
    (tmp_path / "x.index").write_text("[index]")
    for path in (tmp_path, tmp_path / "file.0", tmp_path / "x.index", tmp_path / "absent", Path("/dev/null")):
        assert PCP.recognise(str(path)) == 0
    assert PCP.recognise("https://example.org/x.0") == 0
    assert PCP.recognise("a\0b") == 0


# ------------------------------------------------------------------------------ damage


@needs_data
def test_what_lies_before_a_damaged_tail_is_imported(tmp_path: Path) -> None:
    for part in MULTI.glob("20150508.11.50.*"):
        shutil.copy(part, tmp_path)
    volume = tmp_path / "20150508.11.50.0"
    volume.chmod(0o600)
    volume.write_bytes(volume.read_bytes()[:50000])
    made = imported(tmp_path / "20150508.11.50", tmp_path / "x.satline")
    assert rows(made, "SELECT count(*) FROM system") == [(4,)]
    assert any("Corrupted record" in text for text in facts(made)["damage"])


@needs_data
def test_a_compressed_volume_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    for part in DATA.glob("20130706-a.*"):
        shutil.copy(part, tmp_path)
    volume = tmp_path / "20130706-a.0.bz2"
    volume.chmod(0o600)
    volume.write_bytes(volume.read_bytes()[:100_000])
    made = imported(tmp_path / "20130706-a", tmp_path / "x.satline")
    ((count,),) = rows(made, "SELECT count(*) FROM system")
    assert 300 < count < 900
    assert any("its end is missing" in text for text in facts(made)["damage"])


@needs_data
def test_an_archive_without_its_volume_is_an_error_in_the_tools_words(tmp_path: Path) -> None:
    for part in ("20130706-a.meta", "20130706-a.index"):
        shutil.copy(DATA / part, tmp_path)
    with pytest.raises(InputError, match="20130706-a") as caught:
        imported(tmp_path / "20130706-a", tmp_path / "x.satline")
    assert caught.value.hint


@needs_data
def test_without_pmdumplog_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="pmdumplog") as caught:
        imported(DAY, tmp_path / "x.satline")
    assert "install PCP" in caught.value.hint
