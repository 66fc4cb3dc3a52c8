"""Plain tables with a mapping file, and without one."""

import gzip
import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from satline.errors import InputError
from satline.importers import Options, Sink, csv_parquet
from satline.importers._mapping import Mapping, read_mapping, skeleton
from satline.importers._metrics import MetricFile
from satline.recording import Recording, check
from satline.reduction import reduce

pytestmark = pytest.mark.slow

RAYTRACER = Path(__file__).parents[4] / "shared" / "data" / "usl" / "raytracer.csv"
T0 = int(datetime(2026, 11, 20, 9, tzinfo=UTC).timestamp())
HOST = """
[time]
column = "when"
[constants]
processors = 4
memory_bytes = 8000000000
host = "db1"
"""


def imported(
    tmp_path: Path, source: Path, mapping: str | None = None, **options: Any
) -> tuple[duckdb.DuckDBPyConnection, Recording]:
    """The recording of `source`, opened."""
    file = None
    if mapping is not None:
        file = tmp_path / "mapping.toml"
        file.write_text(mapping)
    sink = Sink(tmp_path / "imported.satline")
    sink.start()
    csv_parquet.read(str(source), Options(mapping=file, **options), sink)
    sink.finish()
    assert check(tmp_path / "imported.satline").problems == []
    recording = Recording.open(tmp_path / "imported.satline")
    return recording.connect(), recording


def column(connection: duckdb.DuckDBPyConnection, table: str, *names: str, where: str = "TRUE") -> list[Any]:
    chosen = ", ".join(f'"{n}"' for n in names)
    order = {"system": "1", "transaction": "1"}.get(table, f'"{table}"')
    query = f'SELECT {chosen} FROM "{table}" WHERE {where} ORDER BY run, time_ns, {order}'
    return connection.execute(query).fetchall()


def write(file: Path, *lines: str) -> Path:
    file.write_text("\n".join(lines) + "\n")
    return file


def test_percentages_and_rates_become_the_counters_they_came_from(tmp_path: Path) -> None:
    source = write(tmp_path / "host.csv", "when,%usr,swin/s,free", f"{T0},50,3,10", f"{T0 + 10},25,2,20",
                   f"{T0 + 30},,4,30")  # fmt: skip
    connection, recording = imported(
        tmp_path,
        source,
        HOST
        + '[[column]]\nname = "%usr"\nto = "processor.user_us"\nkind = "percent"\n'
        + '[[column]]\nname = "swin/s"\nto = "system.swap_in_pages"\nkind = "rate"\n'
        + '[[column]]\nname = "free"\nto = "system.mem_free_bytes"\nkind = "percent"\n',
    )
    # 25 % of four processors over ten seconds; the percentage that is missing is null, not 0.
    assert column(connection, "processor", "processor", "user_us") == [
        ("all", 0),
        ("all", 10_000_000),
        ("all", None),
    ]
    assert column(connection, "system", "swap_in_pages") == [(0,), (20,), (100,)]
    assert column(connection, "system", "mem_free_bytes", "mem_total_bytes") == [
        (800_000_000, 8_000_000_000),
        (1_600_000_000, 8_000_000_000),
        (2_400_000_000, 8_000_000_000),
    ]
    assert recording.description["host"] == {"name": "db1", "processors": 4, "memory_bytes": 8_000_000_000}


def test_the_reduction_gives_back_what_the_table_said(tmp_path: Path) -> None:
    busy = np.random.default_rng(1).uniform(5, 60, 300)
    lines = [f"{T0 + 10 * k},{x:.6f},{95 - x:.6f}" for k, x in enumerate(busy)]
    source = write(tmp_path / "host.csv", "when,usr,idle", *lines)
    mapping = HOST + "".join(
        f'[[column]]\nname = "{n}"\nto = "processor.{n}_us"\nkind = "percent"\n'.replace("usr_", "user_")
        for n in ("usr", "idle")
    )
    mapping += '[[column]]\nname = "usr"\nto = "system.users_in_queue"\n'
    _, recording = imported(tmp_path, source, mapping)
    made = reduce(recording, "in_queue")
    assert made.observations["problem_state"] == pytest.approx(busy[1:] / 100 * 4, abs=1e-5)


def test_wide_columns_of_devices_take_their_name_from_the_column(tmp_path: Path) -> None:
    source = write(tmp_path / "io.csv", "when,sda busy,sdb busy,note", f"{T0},1,2,x", f"{T0 + 10},10,20,y")
    connection, _ = imported(
        tmp_path, source, HOST + '[[column]]\nname = "* busy"\nto = "device.busy_us"\nkind = "percent"\n'
    )
    assert column(connection, "device", "device", "busy_us", where="busy_us > 0") == [
        ("sda", 1_000_000),
        ("sdb", 2_000_000),
    ]


def test_a_long_table_adds_up_each_entity_by_itself(tmp_path: Path) -> None:
    rows = [
        (0, "ann", 1.0),
        (0, "bob", 9.0),
        (10, "bob", 2.0),
        (10, "ann", 0.5),
        (20, "ann", 0.25),
        (20, "", 7),
    ]
    source = write(tmp_path / "users.tsv", "t\twho\tcpus", *(f"{T0 + t}\t{u}\t{v}" for t, u, v in rows))
    connection, _ = imported(
        tmp_path,
        source,
        '[time]\ncolumn = "t"\n[long]\ntable = "user"\ncolumn = "who"\n'
        '[[column]]\nname = "cpus"\nto = "user.cpu_us"\nkind = "rate"\nfactor = 1e6\n',
    )
    assert column(connection, "user", "user", "cpu_us") == [
        ("ann", 0),
        ("bob", 0),
        ("ann", 5_000_000),
        ("bob", 20_000_000),
        ("ann", 7_500_000),
    ]


def test_response_times_of_an_application_log_are_transactions(tmp_path: Path) -> None:
    lines = [f'{k % 3},"{T0 + k}",{250 + k},/a,{503 if k == 7 else 200}' for k in range(60)]
    source = write(tmp_path / "requests.csv", "client,end,ms,path,status", *lines, f'1,"{T0 + 60}",,/a,504')
    connection, recording = imported(
        tmp_path,
        source,
        '[time]\ncolumn = "end"\n[transaction]\nuser_column = "client"\nresponse_column = "ms"\nunit = "ms"\n'
        'time_is = "end"\nclass_column = "path"\noutcome_column = "status"\ninterval_seconds = 5\n',
    )
    first = column(connection, "transaction", "time_ns", "user", "class", "response_us", "outcome")[0]
    assert first == (T0 * 10**9 - 250_000_000, "0", "/a", 250_000, "ok")
    assert column(connection, "transaction", "user", where="outcome = 'unexpected'") == [("1",)]
    assert column(connection, "transaction", "response_us", where="outcome = 'timeout'") == [(None,)]
    assert [t for (t,) in column(connection, "system", "time_ns")][1] % 5_000_000_000 == 0
    rate = reduce(recording, observation_s=10).observations["transaction_rate"]
    assert np.nanmax(rate) == pytest.approx(1.0)


BEGIN_AND_END = '[time]\ncolumn = "began"\n[transaction]\nend_column = "ended"\n'


def test_a_log_with_begin_and_end_needs_no_response_times(tmp_path: Path) -> None:
    at = "2026-11-20T09:{:02}:{:09.6f}Z".format
    rows = [f"{at(k, 1.0)},{at(k, 1.25 + k / 64)}" for k in range(8)]
    # Not in order, one without an end, one that ends before it begins.
    lines = [*reversed(rows), f"{at(20, 0)},-", f"{at(30, 5.0)},{at(30, 4.0)}"]
    source = write(tmp_path / "log.csv", "began,ended", *lines)
    connection, recording = imported(tmp_path, source, BEGIN_AND_END)
    found = column(connection, "transaction", "response_us", "outcome")
    assert found[:8] == [(250_000 + 15_625 * k, "ok") for k in range(8)]
    assert found[8:] == [(None, "timeout"), (None, "timeout")]
    damage = recording.sources["import"]["damage"]
    assert len(damage) == 1
    assert damage[0].endswith("log.csv: 1 ends that lie before their begin were left out")
    assert not any("to the second" in note for note in recording.sources["import"]["notes"])


def test_begin_and_end_may_be_numbers_and_to_the_second(tmp_path: Path) -> None:
    source = write(tmp_path / "log.csv", "began,ended", *(f"{T0 + k},{T0 + 3 * k}" for k in range(3)))
    connection, recording = imported(tmp_path, source, BEGIN_AND_END)
    assert column(connection, "transaction", "response_us") == [(0,), (2_000_000,), (4_000_000,)]
    assert any("begin and end are to the second" in note for note in recording.sources["import"]["notes"])


def test_an_end_that_is_no_time_is_told(tmp_path: Path) -> None:
    source = write(tmp_path / "log.csv", "began,ended", "2026-11-20T09:00:00Z,soon")
    with pytest.raises(InputError, match="column ended"):
        imported(tmp_path, source, BEGIN_AND_END)


def test_several_files_make_one_recording(tmp_path: Path) -> None:
    source = tmp_path / "data"
    source.mkdir()
    write(source / "host.csv", "t,ctxt", *(f"{T0 + 10 * k},{100 * k}" for k in range(5)))
    write(source / "disk.csv", "t,r", *(f"{T0 + 10 * k + 2},{7 * k}" for k in range(5)), f"{T0 + 70},1")
    write(source / "log.csv", "t,s", f"{T0 + 5},0.5")
    connection, recording = imported(
        tmp_path,
        source,
        """
[[file]]
path = "host.csv"
time = { column = "t" }
column = [{ name = "ctxt", to = "system.context_switches" }]
[[file]]
path = "disk.csv"
time = { column = "t", format = "unix_s" }
column = [{ name = "r", to = "device.reads", entity = "sda" }]
[[file]]
path = "log.csv"
time = { column = "t" }
transaction = { response_column = "s", unit = "s", time_is = "begin" }
""",
    )
    # Readings of the second file belong to the first file's; what is far from all is left out.
    assert column(connection, "device", "time_ns", "reads", where="reads > 0")[0] == ((T0 + 10) * 10**9, 7)
    assert column(connection, "system", "context_switches")[-1] == (400,)
    assert column(connection, "transaction", "response_us", "user") == [(500_000, None)]
    assert any("disk.csv: 1 rows" in note for note in recording.sources["import"]["notes"])


def test_parquet_with_the_catalogues_names_needs_no_mapping(tmp_path: Path) -> None:
    big = 2**60 + 1
    table = pa.table(
        {
            "time": pa.array([datetime(2026, 1, 1, 0, 0, s, tzinfo=UTC) for s in (0, 5)]),
            "system.context_switches": [big, big + 2],
            "swap_in_pages": pa.array([1, None]),
            "remark": ["a", "b"],
        }
    )
    pq.write_table(table, tmp_path / "x.parquet")
    assert csv_parquet.recognise(str(tmp_path / "x.parquet")) == 0.8
    connection, _ = imported(tmp_path, tmp_path / "x.parquet")
    assert column(connection, "system", "context_switches", "swap_in_pages") == [(big, 1), (big + 2, None)]


def test_processors_whose_number_is_not_said_are_noted(tmp_path: Path) -> None:
    source = write(tmp_path / "x.csv", "time,processor.user_us", f"{T0},0", f"{T0 + 10},5000000")
    connection, recording = imported(tmp_path, source)
    assert column(connection, "processor", "processor", "user_us")[-1] == ("all", 5_000_000)
    assert "how many processors" in recording.sources["import"]["notes"][0]


def test_a_long_table_with_the_catalogues_names_needs_no_mapping(tmp_path: Path) -> None:
    rows = [
        f"{(T0 + 10 * k) * 10**9},{u},{k * 1000 + i}" for k in range(3) for i, u in enumerate(("ann", "bob"))
    ]
    source = write(tmp_path / "user.csv", "time_ns,user,cpu_us", *rows)
    connection, _ = imported(tmp_path, source)
    assert column(connection, "user", "user", "cpu_us")[-1] == ("bob", 2001)
    assert len(column(connection, "system", "time_ns")) == 3


@pytest.mark.parametrize(
    ("text", "pattern", "zone"),
    [
        ("1795165200", "auto", None),
        ("1795165200000", "auto", None),
        ("1795165200.000", "unix_s", None),
        ("2026-11-20T09:00:00Z", "auto", None),
        ("2026-11-20 10:00:00+01:00", "iso", None),
        ("2026-11-20 10:00:00", "iso", "Europe/Berlin"),
        ("20.11.2026 10:00:00,000", "%d.%m.%Y %H:%M:%S,%g", "Europe/Berlin"),
        ("20/Nov/2026:01:00:00 -0800", "%d/%b/%Y:%H:%M:%S %z", None),
    ],
)
def test_times_are_read_as_they_are_written(
    tmp_path: Path, text: str, pattern: str, zone: str | None
) -> None:
    source = write(tmp_path / "x.csv", "when;level", f'"{text}";5')
    said = f'zone = "{zone}"\n' if zone else ""
    connection, _ = imported(
        tmp_path,
        source,
        f'[time]\ncolumn = "when"\nformat = "{pattern}"\n{said}'
        '[[column]]\nname = "level"\nto = "system.tasks_runnable"\n',
    )
    assert column(connection, "system", "time_ns") == [(T0 * 10**9,)]


def test_the_zone_asked_for_is_that_of_times_without_one(tmp_path: Path) -> None:
    source = write(
        tmp_path / "x.csv", "time,tasks_runnable", "2026-11-20 10:00:00,5", "2026-11-20 12:00:00,6"
    )
    connection, _ = imported(
        tmp_path, source, zone=ZoneInfo("Europe/Berlin"), end=datetime(2026, 11, 20, 10, tzinfo=UTC)
    )
    assert column(connection, "system", "time_ns", "tasks_runnable") == [(T0 * 10**9, 5)]


def test_in_the_hour_that_comes_twice_times_that_go_back_are_the_second(tmp_path: Path) -> None:
    clock = ["01:50", "02:00", "02:30", "02:30", "02:50", "02:00", "02:30", "02:50", "03:00"]
    source = write(tmp_path / "x.csv", "time,tasks_runnable", *(f"2026-10-25 {t}:00,1" for t in clock))
    connection, _ = imported(tmp_path, source, zone=ZoneInfo("Europe/Berlin"))
    minutes = [(t // 10**9 - 1792886400) // 60 for (t,) in column(connection, "system", "time_ns")]
    assert minutes == [-10, 0, 30, 50, 60, 90, 110, 120]


def test_rows_out_of_order_and_with_too_few_fields(tmp_path: Path) -> None:
    source = tmp_path / "x.csv.gz"
    text = f"time,tasks_runnable,load_average_1\n{T0 + 20},3,0.5\n{T0},1,1.5\n{T0 + 10},2\n{T0 + 30},4,-\n"
    source.write_bytes(gzip.compress(text.encode()))
    connection, recording = imported(tmp_path, source)
    assert column(connection, "system", "tasks_runnable", "load_average_1") == [(1, 1.5), (3, 0.5), (4, None)]
    assert "1 rows have too few or too many columns" in recording.sources["import"]["damage"][0]


def test_a_damaged_tail_is_told_and_left_out(tmp_path: Path) -> None:
    rows = "".join(f"{T0 + 10 * k},{k * 7919 % 1000}\n" for k in range(30_000))
    packed = gzip.compress(f"time,tasks_runnable\n{rows}".encode())
    (tmp_path / "cut.csv.gz").write_bytes(packed[: len(packed) * 2 // 3])
    connection, recording = imported(tmp_path, tmp_path / "cut.csv.gz")
    assert 1000 < len(column(connection, "system", "time_ns")) < 30_000
    assert "damaged after" in recording.sources["import"]["damage"][0]
    text = f"time,tasks_runnable\n{T0},1\n{T0 + 10},2\n{T0 + 20}".encode() + b"\xff\xfe"
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "cut.csv").write_bytes(text)
    connection, _ = imported(tmp_path / "x", tmp_path / "x" / "cut.csv")
    assert column(connection, "system", "tasks_runnable") == [(1,), (2,)]


def test_columns_may_be_of_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(f"time;größe\n{T0};1,5\n{T0 + 10};2,5\n".encode("latin-1"))
    connection, _ = imported(
        tmp_path,
        tmp_path / "x.csv",
        '[time]\ncolumn = "time"\n[csv]\nencoding = "latin-1"\ndecimal = ","\n'
        '[[column]]\nname = "größe"\nto = "system.load_average_1"\n',
    )
    assert column(connection, "system", "load_average_1") == [(1.5,), (2.5,)]


def test_names_from_outside_stay_data(tmp_path: Path) -> None:
    evil = "\x1b[31m'; DROP TABLE system; --"
    pq.write_table(
        pa.table({"time": [T0, T0 + 10], "user": [evil, evil], "cpu_us": [1, 2]}), tmp_path / "x.parquet"
    )
    connection, _ = imported(tmp_path, tmp_path / "x.parquet")
    assert column(connection, "user", "user", "cpu_us") == [(evil, 1), (evil, 2)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("time,cpu_us,device.reads\n1795165200,1,2\n", "no column that is named"),
        ("when,a\n1,2\n", r'name = "a"'),
        ("procs,throughput\n1,2\n", "throughput against load is no recording"),
        ("", "no line of column names"),
        ("time,tasks_runnable\n", "no rows"),
        ("time,tasks_runnable\nyesterday,1\n", "column time"),
        ("time,tasks_runnable\n1795165200,many\n", "column tasks_runnable: not all of it is numbers"),
        ("time,tasks_runnable,tasks_runnable\n1795165200,1,2\n", "more than once"),
        ("time,tasks_runnable\n1e30,1\n", "beyond the year"),
    ],
)
def test_what_cannot_be_imported_is_told(tmp_path: Path, content: str, message: str) -> None:
    source = tmp_path / "x.csv"
    source.write_text(content)
    with pytest.raises(InputError, match=message) as told:
        imported(tmp_path, source)
    assert str(source) in told.value.message
    assert told.value.hint


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("time = 3", "time: is not a table"),
        ('[[column]]\nname = "a"\nto = "system.x"', 'the catalogue has no "system.x"'),
        ('[time]\ncolumn = "t"', "nothing is mapped"),
        ('[time]\ncolumn = "t"\nformat = "soon"\n', r'time.format: "soon" is no format'),
        ('[[column]]\nname = "a"\nto = "transaction.user"', "cannot be mapped to"),
        (
            '[[column]]\nname = "a"\nto = "system.forks"\nkind = "level"',
            "level does not go with",
        ),
        ('[time]\ncolumn = "t"\n[[column]]\nname = "a"\nto = "device.reads"', "does not say whose it is"),
        ('load = "processors"\nthroughput = "x"', "no recording in time"),
        (BEGIN_AND_END + 'unit = "s"', "end_column: stands beside response_column and unit"),
        (BEGIN_AND_END + 'time_is = "end"', "end_column: the row's time is then the begin"),
        (
            '[time]\ncolumn = "t"\n[transaction]\ntime_is = "end"',
            "response_column: missing",
        ),
        ('[time]\ncolumn = "t"\n[transaction]\nresponse_column = "r"\ntime_is = "end"', "unit: missing"),
        ('[time]\ncolumn = "t"\n[transaction]\nresponse_column = "r"\nunit = "s"', "time_is: missing"),
        ("[time", "not TOML"),
    ],
)
def test_a_wrong_mapping_is_told_with_its_key(tmp_path: Path, mapping: str, message: str) -> None:
    file = write(tmp_path / "m.toml", mapping)
    with pytest.raises(InputError, match=message) as told:
        read_mapping(file)
    assert str(file) in told.value.message


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('name = "%b"\nto = "system.forks"', "column %b is not there"),
        ('name = "a"\nto = "processor.user_us"\nkind = "percent"', "of how many processors"),
        ('name = "a"\nto = "system.mem_free_bytes"\nkind = "percent"', "how much memory"),
        ('name = "a"\nto = "system.tasks_total"\nkind = "percent"', "cannot be made"),
    ],
)
def test_a_mapping_that_does_not_fit_its_file_is_told(tmp_path: Path, lines: str, message: str) -> None:
    source = write(tmp_path / "x.csv", "when,a", "1795165200,1")
    with pytest.raises(InputError, match=message) as told:
        imported(tmp_path, source, f'[time]\ncolumn = "when"\n[[column]]\n{lines}\n')
    assert "mapping.toml" in told.value.message


def test_the_skeleton_is_a_mapping_once_its_columns_are_named(tmp_path: Path) -> None:
    text = skeleton(["Zeit", 'a "b"', "c\\d"]).replace("system.…", "system.forks").replace('"Zeit"', '"t"')
    made = read_mapping(write(tmp_path / "m.toml", text))
    assert isinstance(made, Mapping)
    assert [c.name for c in made.column] == ['a "b"', "c\\d"]


@pytest.mark.skipif(not RAYTRACER.exists(), reason="the shared data are not here")
def test_a_table_of_throughput_by_load_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no recording in time"):
        imported(tmp_path, RAYTRACER)


def test_the_guides_mapping_files_are_mapping_files() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "mapping-files.md").read_text()
    shown = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)
    metrics = [text for text in shown if "[[metric]]" in text]
    assert (len(shown), len(metrics)) == (6, 1)
    for text in shown:
        (MetricFile if text in metrics else Mapping).model_validate(tomllib.loads(text))


def test_rows_that_are_blank_are_refused_as_such(tmp_path: Path) -> None:
    source = write(tmp_path / "host.csv", "when,forks", f"{T0},", f"{T0 + 10},-", f"{T0 + 20},NaN")
    mapping = '[time]\ncolumn = "when"\n[[column]]\nname = "forks"\nto = "system.forks"\n'
    with pytest.raises(InputError, match=r"host\.csv: 3 readings, and none of them holds a value"):
        imported(tmp_path, source, mapping)


def test_a_mean_of_runnable_tasks_is_not_rounded_and_a_marked_column_is_the_load(tmp_path: Path) -> None:
    source = write(
        tmp_path / "host.csv", "when,queue,sessions", f"{T0},0.3,7", f"{T0 + 10},1.75,8", f"{T0 + 20},0,9"
    )
    columns = (
        '[[column]]\nname = "queue"\nto = "system.tasks_runnable"\n'
        '[[column]]\nname = "sessions"\nto = "system.users_logged_on"\nload = true\n'
    )
    connection, recording = imported(tmp_path, source, HOST + columns)
    assert column(connection, "system", "run_queue_mean", "tasks_runnable") == [
        (0.3, None), (1.75, None), (0.0, None)]  # fmt: skip
    assert reduce(recording).load_axis == "sessions"
    assert reduce(recording, "run_queue").load == pytest.approx([1.75, 0])


def test_only_a_column_of_the_whole_system_can_be_the_load(tmp_path: Path) -> None:
    source = write(tmp_path / "host.csv", "when,u", f"{T0},1", f"{T0 + 10},2")
    with pytest.raises(InputError, match="load: only a column of the whole system"):
        imported(tmp_path, source, HOST + '[[column]]\nname = "u"\nto = "processor.user_us"\nload = true\n')
