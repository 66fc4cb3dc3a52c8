"""Text of `sar`: every system's way to write it, against the figures in the text itself."""

from __future__ import annotations

import gzip
import lzma
import os
import shutil
import subprocess
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from sar_texts import AIX, LINUX, Import, differences

from satline.errors import InputError
from satline.importers import Options, sar_text
from satline.importers._import import guess, import_recording
from satline.recording import Recording
from satline.reduction import reduce

SHARED = Path(__file__).parents[4] / "shared" / "data" / "sar"
SADC = Path("/usr/lib/sysstat/sadc")


def shared(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return path


def printed(path: Path, column: str, entity: str = "") -> list[float]:
    """A column's figures from the text itself, found without the importer."""
    found: list[float] = []
    names: list[str] = []
    for line in lzma.decompress(path.read_bytes()).decode().splitlines():
        fields = line.split()
        if len(fields) < 2 or ":" not in fields[0] or fields[0].startswith("Average"):
            continue
        if column in fields or any(f.startswith("%") or f.endswith("/s") for f in fields):
            names = fields[1:]
        elif column in names and len(fields) == len(names) + 1 and entity in ("", fields[1]):
            found.append(float(fields[1 + names.index(column)]))
    return found


# ---------------------------------------------------------------------------- real archives


def test_linux_text_of_a_day_gives_back_the_figures_it_has(imported: Import) -> None:
    path = shared("sar-12.0.2-historical.txt.xz")
    recording = imported(path)
    runs = (
        recording.connect().execute("SELECT run, count(*) FROM system GROUP BY run ORDER BY run").fetchall()
    )
    assert runs == [(1, 83), (2, 5)], "a restart at 13:55:21 begins a new run"
    assert differences(recording, "system", "context_switches") == pytest.approx(
        [v * 600 for v in printed(path, "cswch/s")], rel=0.002
    )
    for field, column in (("%usr", "user_us"), ("%sys", "system_us"), ("%idle", "idle_us")):
        want = [v * 600 * 1e4 for v in printed(path, field, "3")]
        assert differences(recording, "processor", column, "processor = '3'") == pytest.approx(
            want, rel=0.002
        )
    name = "dev8-48"
    assert differences(recording, "device", "requests", f"device = '{name}'") == pytest.approx(
        [v * 600 for v in printed(path, "tps", name)], rel=0.002, abs=1
    )
    memory = recording.connect().execute("SELECT mem_free_bytes FROM system ORDER BY time_ns").fetchall()
    assert [m[0] for m in memory if m[0] is not None] == [v * 1024 for v in printed(path, "kbmemfree")]
    assert recording.description["host"]["memory_bytes"] > 700e9


def test_linux_processors_are_told_by_the_rows_and_not_by_the_first_line(imported: Import) -> None:
    """After the restart of this host there are 56, and its first line still says 14."""
    recording = imported(shared("sar-12.0.2-historical.txt.xz"))
    query = "SELECT run, count(DISTINCT processor) FROM processor GROUP BY run ORDER BY run"
    assert recording.connect().execute(query).fetchall() == [(1, 14), (2, 56)]


def test_linux_full_output_of_another_version(imported: Import) -> None:
    path = shared("sar-11.6.1-full-output.txt.xz")
    recording = imported(path)
    assert differences(recording, "system", "page_faults") == pytest.approx(
        [v * 10 for v in printed(path, "fault/s")], abs=1
    )
    assert differences(recording, "system", "interrupts") == pytest.approx(
        [v * 10 for v in printed(path, "intr/s", "sum")], abs=1
    )
    assert not recording.sources["import"]["damage"], "rows of no use are no damage"


def test_hpux_text_gives_fractions_of_all_processors(imported: Import) -> None:
    path = shared("hpux-sar.txt.xz")
    recording = imported(path)
    user = differences(recording, "processor", "user_us")
    lengths = differences(recording, "system", "time_ns")
    assert len(user) == 132
    fractions = [u / (t / 1e9) / 1e4 for u, t in zip(user, lengths, strict=True) if u is not None and t]
    assert fractions == pytest.approx(printed(path, "%usr"), abs=0.01)
    assert any("count as one" in note for note in recording.sources["import"]["notes"])
    busy = differences(recording, "device", "busy_us", "device = 'disk1'")
    assert busy[0] == pytest.approx(0.0835 * 300e6)


def test_solaris_text_with_devices_on_lines_of_their_own(imported: Import) -> None:
    recording = imported(shared("sar-Solaris-11.3.txt.xz"))
    rows = (
        recording.connect()
        .execute("SELECT count(DISTINCT device), count(DISTINCT time_ns) FROM device")
        .fetchone()
    )
    assert rows is not None
    assert rows[0] > 20
    assert rows[1] == 31
    free = recording.connect().execute("SELECT mem_free_bytes FROM system ORDER BY time_ns").fetchall()
    assert free[1][0] == 371880 * 8192, "pages of SPARC"
    assert differences(recording, "device", "requests", "device = 'mpt_sas3'")[0] == 38 * 1200


@pytest.mark.skipif(not SADC.exists(), reason="sysstat is not installed")
def test_text_and_binary_file_of_the_same_day_agree(imported: Import, tmp_path: Path) -> None:
    from satline.importers import sysstat

    archive = tmp_path / "sa21"
    subprocess.run([SADC, "-S", "ALL", "1", "4", archive], check=True, stdout=subprocess.DEVNULL)
    environment = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}
    text = subprocess.run(
        ["sar", "-A", "-f", archive], check=True, capture_output=True, text=True, env=environment
    ).stdout
    path = tmp_path / "binary.satline"
    import_recording([str(archive)], path, sysstat.IMPORTER, Options())
    binary, read = Recording.open(path), imported(text)
    # The text tells whole seconds: on a busy machine a second of sadc's is longer. Rates agree all the same.
    apart = [differences(recording, "system", "monotonic_ns") for recording in (binary, read)]
    for column, off in (("context_switches", 60), ("page_faults", 600), ("block_in_bytes", 2e5)):
        exact, said = (
            [gain / ns * 1e9 for gain, ns in zip(differences(recording, "system", column), each, strict=True)]
            for recording, each in zip((binary, read), apart, strict=True)
        )
        assert said == pytest.approx(exact, rel=0.03, abs=off), column
    for column in ("mem_free_bytes", "mem_total_bytes", "tasks_total", "swap_total_bytes"):
        query = f"SELECT {column} FROM system ORDER BY time_ns"
        assert read.connect().execute(query).fetchall() == binary.connect().execute(query).fetchall(), column


# ---------------------------------------------------------------------------- ways to write it

AT = int(datetime(2026, 11, 21, tzinfo=UTC).timestamp())


def times(recording: Recording) -> list[int]:
    rows = (
        recording.connect()
        .execute("SELECT time_ns // 1000000000 FROM system ORDER BY run, time_ns")
        .fetchall()
    )
    return [r[0] for r in rows]


def test_a_clock_of_twelve_hours(imported: Import) -> None:
    recording = imported(
        LINUX
        + "11:50:01 AM    proc/s   cswch/s\n12:00:01 PM   1.00   100.00\n12:10:01 PM   2.00   200.00\n"
        + "Average:      1.50    150.00\n"
    )
    assert times(recording) == [AT + 42601, AT + 43201, AT + 43801]
    assert differences(recording, "system", "context_switches") == [60_000, 120_000]


def test_decimal_commas(imported: Import) -> None:
    recording = imported(LINUX + "10:00:00    proc/s   cswch/s\n10:00:10      1,50    100,25\n")
    assert differences(recording, "system", "forks") == [15]


def test_system_calls_of_solaris(imported: Import) -> None:
    names = "   scall/s sread/s swrit/s  fork/s  exec/s rchar/s wchar/s\n"
    text = "SunOS h 5.10 Generic sun4u    11/21/2026\n\n10:00:00" + names
    recording = imported(text + "10:10:00     500      30      20    0.50    0.40   52400   10800\n")
    assert differences(recording, "system", "system_calls") == [300_000]
    assert differences(recording, "system", "forks") == [300]


def test_midnight_is_passed(imported: Import) -> None:
    recording = imported(
        LINUX + "23:40:00   proc/s   cswch/s\n23:50:00   1   1\n00:00:00   1   1\n00:10:00   1   1\n"
    )
    assert times(recording) == [AT + 85200, AT + 85800, AT + 86400, AT + 87000]


def test_column_names_on_each_page_go_on_with_the_interval(imported: Import) -> None:
    page = "10:{:02}:00   proc/s   cswch/s\n10:{:02}:00   1.00   1.00\n\n"
    recording = imported(LINUX + page.format(0, 10) + page.format(10, 20))
    assert differences(recording, "system", "forks") == [600, 600]


def test_a_restart_and_a_gap_begin_new_runs(imported: Import) -> None:
    recording = imported(
        LINUX
        + "10:00:00   proc/s   cswch/s\n10:10:00   1.00   1.00\n\n10:15:00  LINUX RESTART\t(2 CPU)\n\n"
        + "10:20:00   proc/s   cswch/s\n10:30:00   1.00   1.00\n\n"
        + "12:00:00   proc/s   cswch/s\n12:10:00   1.00   1.00\n"
    )
    runs = recording.connect().execute(
        "SELECT min(time_ns) // 1000000000 FROM system GROUP BY run ORDER BY run"
    )
    assert [r[0] - AT for r in runs.fetchall()] == [36000, 37200, 43200]
    assert differences(recording, "system", "forks") == [600, 600, 600]


def test_a_device_that_comes_back_has_no_difference_over_its_absence(imported: Import) -> None:
    names = "   DEV   tps   rkB/s   wkB/s   %util\n"
    rows = [
        "10:10:00   sda   1.00   1.00   1.00   1.00",
        "10:20:00   sdb   1.00   1.00   1.00   1.00",
        "10:30:00   sda   3.00   1.00   1.00   1.00",
        "10:40:00   sda   1.00   1.00   1.00   1.00",
    ]
    recording = imported(LINUX + "10:00:00" + names + "\n".join(rows) + "\n")
    query = "SELECT time_ns // 1000000000 - ?, requests FROM device WHERE device = 'sda' ORDER BY time_ns"
    found = recording.connect().execute(query, [AT]).fetchall()
    after = [(37200, 0), (37800, 1800), (38400, 2400)]
    assert found == [(36000, 1), (36600, 601), *after], "a fall at 10:20, which is no difference"


def test_hpux_prints_only_the_devices_that_were_active(imported: Import) -> None:
    names = "   device   %busy   avque   r+w/s  blks/s  avwait  avserv\n"
    rows = [
        "10:10:00   disk1   50.00   0.50   10   100   0.00   5.00",
        "           disk2   10.00   0.50   10   100   0.00   5.00",
        "10:20:00   disk2   10.00   0.50   10   100   0.00   5.00",
        "10:30:00   disk1   50.00   0.50   10   100   0.00   5.00",
        "           disk2   10.00   0.50   10   100   0.00   5.00",
    ]
    recording = imported("HP-UX h B.11.31 U ia64    11/21/26\n\n10:00:00" + names + "\n".join(rows) + "\n")
    assert differences(recording, "device", "busy_us", "device = 'disk1'") == [300e6, 0, 300e6]
    assert differences(recording, "device", "busy_us", "device = 'disk2'") == [60e6, 60e6, 60e6]


def test_a_hole_is_null_and_not_zero(imported: Import) -> None:
    rows = "10:10:00   1.00   5.00\n10:20:00   nan   5.00\n10:30:00   1.00   5.00\n"
    recording = imported(LINUX + "10:00:00   proc/s   cswch/s\n" + rows)
    fall = -601
    assert differences(recording, "system", "forks") == [600, fall, 600]
    assert np.nansum(reduce(recording).observations["fork_rate"] * 600) == 1200
    assert differences(recording, "system", "context_switches") == [3000, 3000, 3000]


@pytest.mark.parametrize(
    ("date", "says"),
    [
        ("2026-11-21", "2026-11-21"),
        ("11/21/26", "2026-11-21"),
        ("21/11/2026", "2026-11-21"),
        ("21.11.2026", "2026-11-21"),
        ("2026年11月21日", "2026-11-21"),
        ("04/08/18", "2018-04-08"),
    ],
)
def test_dates_of_many_places(imported: Import, date: str, says: str) -> None:
    recording = imported(
        f"Linux 6.1.0 (h) \t{date} \t_x86_64_\t(2 CPU)\n\n10:00:00   proc/s   cswch/s\n10:00:10   1   1\n"
    )
    assert datetime.fromtimestamp(times(recording)[0], UTC).date().isoformat() == says
    doubt = any("month first" in note for note in recording.sources["import"]["notes"])
    assert doubt == (date == "04/08/18")


def test_the_time_zone_is_the_readers_to_say(imported: Import) -> None:
    recording = imported(
        LINUX + "10:00:00   proc/s   cswch/s\n10:00:10   1   1\n", zone=ZoneInfo("Europe/Berlin")
    )
    assert times(recording)[0] == AT + 9 * 3600


def test_the_hour_that_comes_twice_when_summer_time_ends(imported: Import) -> None:
    rows = "".join(
        f"{t}   1.00   1.00\n"
        for t in ("02:20:00", "02:40:00", "02:00:00", "02:20:00", "02:40:00", "03:00:00")
    )
    recording = imported(
        "Linux 6.1.0 (h) \t2026-10-25 \t_x86_64_\t(2 CPU)\n\n02:00:00   proc/s   cswch/s\n" + rows,
        zone=ZoneInfo("Europe/Berlin"),
    )
    found = times(recording)
    assert [b - a for a, b in pairwise(found)] == [1200] * 6
    assert all(d == 1200 for d in differences(recording, "system", "forks"))


def test_used_memory_has_two_meanings(imported: Import) -> None:
    """Till sysstat 11 what is not free; later without caches: %memused tells which."""
    for used, percent in ((750, 75.0), (500, 50.0)):
        text = (
            LINUX + "10:00:00   kbmemfree   kbmemused   %memused   kbbuffers   kbcached   kbslab\n"
            f"10:00:10   250000   {used}000   {percent}   50000   150000   50000\n"
        )
        recording = imported(text)
        assert recording.description["host"]["memory_bytes"] == 1_000_000 * 1024
        shutil.rmtree(recording.path)


# ---------------------------------------------------------------------------- damage


def test_a_last_line_that_is_cut_is_left_out(imported: Import) -> None:
    recording = imported(LINUX + "10:00:00   proc/s   cswch/s\n10:00:10   1.00   1.00\n10:00:20   1.00   1")
    assert len(times(recording)) == 2
    assert "not ended" in recording.sources["import"]["damage"][0]


def test_a_compressed_file_that_is_cut_gives_what_it_still_has(imported: Import, tmp_path: Path) -> None:
    rows = "".join(
        f"10:{n // 60:02}:{n % 60:02}   {n % 7}.13   {n * 7919 % 1000}.5\n" for n in range(1, 3000)
    )
    cut = tmp_path / "sar.txt.gz"
    cut.write_bytes(gzip.compress((LINUX + "10:00:00   proc/s   cswch/s\n" + rows).encode())[:-2000])
    recording = imported(cut)
    assert len(times(recording)) > 100
    assert any("cut off" in d for d in recording.sources["import"]["damage"])


def test_rows_that_do_not_fit_their_names_are_left_out_and_counted(imported: Import) -> None:
    recording = imported(
        LINUX
        + "10:00:00   proc/s   cswch/s\n10:00:10   1.00   1.00\n10:00:20   1.00\n10:00:30   1.00   1.00\n"
    )
    assert differences(recording, "system", "forks") == [10, 10], "nothing is known of the time between"
    assert "line 5" in recording.sources["import"]["damage"][0]


def test_a_text_without_its_first_line_cannot_be_dated(imported: Import) -> None:
    with pytest.raises(InputError, match="before any line with system and date") as caught:
        imported("10:00:00   proc/s   cswch/s\n10:00:10   1.00   1.00\n")
    assert "first line" in caught.value.hint


def test_hostile_device_names_are_data(imported: Import) -> None:
    name = "<script>\x1b[31m';--"
    recording = imported(LINUX + f"10:00:00   DEV   tps   %util\n10:00:10   {name}   1.00   50.00\n")
    found = recording.connect().execute("SELECT DISTINCT device FROM device").fetchall()
    assert found == [(name,)]


def test_only_the_time_asked_for_is_imported(imported: Import) -> None:
    rows = "".join(f"{h}:00:00   1.00   1.00\n" for h in range(11, 20))
    recording = imported(
        LINUX + "10:00:00   proc/s   cswch/s\n" + rows,
        start=datetime(2026, 11, 21, 12, tzinfo=UTC),
        end=datetime(2026, 11, 21, 15, tzinfo=UTC),
    )
    assert times(recording) == [AT + h * 3600 for h in (12, 13, 14)]


# ---------------------------------------------------------------------------- which format


def test_texts_are_recognised_and_others_are_not(tmp_path: Path) -> None:
    def of(text: str) -> float:
        file = tmp_path / "text"
        file.write_text(text)
        return sar_text.recognise(str(file))

    assert of(LINUX + "10:00:00   proc/s   cswch/s\n") > 0.9
    assert of(AIX.format("mode=Capped") + "10:00:00    %usr    %sys    %wio   %idle\n") > 0.9
    assert of("HP-UX lasv B.11.31 U ia64    03/21/18\n\n00:00:01    %usr    %sys    %wio   %idle\n") > 0.9
    assert of("time,users\n10:00:00,4\n") == 0
    assert of("root:x:0:0:root:/root:/bin/bash\n") == 0
    assert of("") == 0
    assert sar_text.recognise(str(tmp_path)) == 0


def test_a_file_of_no_known_format_is_an_error_that_lists_them(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_text("nothing of the kind\n")
    with pytest.raises(InputError, match="none of the known formats") as caught:
        guess(str(file))
    assert "sar-text" in caught.value.hint


@pytest.mark.parametrize(
    "head",
    [
        "SunOS sun 5.11 11.3 sun4v    05/26/2017\n\n",
        "HP-UX lasv B.11.31 U ia64    03/21/18\n\n",
        AIX.format("ent=2.00 mode=Capped"),
    ],
)
def test_the_mean_run_queue_is_its_length_while_it_was_occupied_times_that_part_of_the_time(
    head: str, imported: Import
) -> None:
    text = head + (
        "08:00:00 runq-sz %runocc swpq-sz %swpocc\n"
        "08:20:00     1.2      63     0.0       0\n"
        "08:40:00     4.0     100     0.0       0\n"
        "09:00:00     0.0       0     0.0       0\n"
    )
    got = (
        imported(text).connect().execute("SELECT run_queue_mean, tasks_runnable FROM system ORDER BY time_ns")
    )
    assert got.fetchall() == [(None, None), (pytest.approx(0.756), None), (4.0, None), (0.0, None)]


@pytest.mark.parametrize("name", ["hpux-sar", "sar-Solaris-11.3"])
def test_texts_of_other_systems_have_load_classes(name: str, imported: Import) -> None:
    curves = reduce(imported(shared(f"{name}.txt.xz")))
    assert curves.load_axis == {"hpux-sar": "in_system", "sar-Solaris-11.3": "run_queue"}[name]
    # The text of HP-UX ends within the disks' rows.
    assert sum(c.observations for c in curves.classes) == {"hpux-sar": 16, "sar-Solaris-11.3": 30}[name]


def test_a_text_of_another_tool_is_refused_with_its_columns(tmp_path: Path) -> None:
    text = tmp_path / "pidstat.txt"
    rows = [
        f"10:00:{k:02}     1000      12    1.00    0.00    0.00    0.00    1.00     0  cc" for k in range(3)
    ]
    names = "10:00:00      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command"
    text.write_text("\n".join(["Linux 6.1 (host) \t2026-01-05 \t_x86_64_\t(2 CPU)", "", names, *rows, ""]))
    with pytest.raises(InputError, match=r"its rows have the columns UID PID %usr .* did pidstat"):
        import_recording([str(text)], tmp_path / "x.satline", sar_text.IMPORTER, Options())


def test_a_device_that_was_away_for_an_interval_has_its_use_in_the_others(imported: Import) -> None:
    """Not half of it in the interval after, nor none in the one it was away for."""
    busy = {1: 10, 2: 20, 4: 60, 6: 30, 7: 40}
    lines = [LINUX, "10:00:00          DEV       tps     %util\n"]
    for k in range(1, 8):
        lines.append(f"10:0{k}:00          sda      1.00      1.00\n")
        if k in busy:
            lines.append(f"10:0{k}:00          sdb      1.00     {busy[k]}.00\n")
    recording = imported("".join(lines))
    gained = differences(recording, "device", "busy_us", "device = 'sdb'")
    assert [g for g in gained if g is not None and g >= 0] == pytest.approx(
        [part * 600_000 for part in busy.values()], abs=2
    )
    assert [g for g in gained if g is not None and g < 0] == pytest.approx([-18_000_001, -36_000_001], abs=2)
