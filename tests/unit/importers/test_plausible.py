"""Mapped values that cannot be: refused with row, column, value, what is possible, and the likely unit."""

from __future__ import annotations

from pathlib import Path

import pytest

from satline.errors import InputError
from satline.importers import Options, Sink, csv_parquet

HEAD = '[time]\ncolumn = "t"\nformat = "unix_s"\n[constants]\nprocessors = 4\nmemory_bytes = 8000000000\n'
T0 = 1_795_000_000


def run(tmp_path: Path, columns: str, *rows: str, names: str = "t,v", head: str = HEAD) -> Sink:
    (tmp_path / "host.csv").write_text("\n".join([names, *rows]) + "\n")
    (tmp_path / "host.toml").write_text(head + columns)
    sink = Sink(tmp_path / "x.satline")
    sink.start()
    csv_parquet.read(str(tmp_path / "host.csv"), Options(mapping=tmp_path / "host.toml"), sink)
    sink.finish()
    return sink


def column(to: str, **keys: object) -> str:
    said = "".join(
        f"{k} = {f'{v!r}' if not isinstance(v, str) else chr(34) + v + chr(34)}\n" for k, v in keys.items()
    )
    return f'[[column]]\nname = "v"\nto = "{to}"\n{said}'


def test_processor_time_in_milliseconds_taken_for_seconds(tmp_path: Path) -> None:
    # 2.5 processors busy: 25,000 ms in ten seconds
    rows = [f"{T0 + 10 * k},{25_000 * k}" for k in range(6)]
    with pytest.raises(InputError) as caught:
        run(tmp_path, column("processor.user_us", kind="counter", factor=1e6), *rows)
    said = caught.value.message
    assert (
        "host.csv, row 2 (2026-11-18T11:06:50+00:00), column v: 25,000 makes 2,500 s in each second" in said
    )
    assert "of processor.user_us; at most 4 is possible with 4 processors" in said
    assert "5 of 6 rows" in said
    assert caught.value.hint == (
        "factor = 1e+06 is likely wrong: if the values are milliseconds, write factor = 1000"
    )
    (tmp_path / "right").mkdir()
    run(tmp_path / "right", column("processor.user_us", kind="counter", factor=1e3), *rows)


def test_rows_are_counted_as_they_stand_in_the_file(tmp_path: Path) -> None:
    rows = [f"{T0 + 10 * k},{25 * k if k < 3 else 25_000 * k}" for k in range(5)][::-1]
    with pytest.raises(InputError, match=r"row 2 "):
        run(tmp_path, column("processor.user_us", kind="counter", factor=1e6), *rows)


@pytest.mark.parametrize(
    ("to", "keys", "values", "words"),
    [
        ("processor.user_us", {"kind": "rate", "factor": 1e6}, [3000, 2000], "milliseconds"),
        ("processor.user_us", {"kind": "amount", "factor": 1e6}, [0, 3000], "ticks of 10 ms"),
        ("processor.user_us", {"kind": "percent"}, [380, 390], "if 100 stands for one processor"),
        ("processor.user_us", {"kind": "rate", "factor": 1e6}, [10, 20, 30, 45, 60], 'kind = "counter"'),
        ("device.busy_us", {"kind": "percent", "entity": "sda"}, [50, 6000], "0 to 100"),
        ("system.pressure_io_some_us", {"kind": "counter", "factor": 1e6}, [0, 9000], "milliseconds"),
        ("user.cpu_us", {"kind": "counter", "factor": 1e6, "entity": "ann"}, [0, 9e6], "microseconds"),
        ("cgroup.cpu_us", {"kind": "counter", "entity": "web"}, [0, 9e9], "nanoseconds"),
        ("system.mem_free_bytes", {"factor": 1048576.0}, [7e6, 6e6], "KiB"),
    ],
)
def test_each_kind_of_value_is_held_against_what_is_possible(
    to: str, keys: dict[str, object], values: list[float], words: str, tmp_path: Path
) -> None:
    rows = [f"{T0 + 10 * k},{v}" for k, v in enumerate(values)]
    with pytest.raises(InputError, match=r"row \d .*column v.*at most") as caught:
        run(tmp_path, column(to, **keys), *rows)
    assert words in caught.value.hint


def test_entities_are_told_apart_in_a_long_table(tmp_path: Path) -> None:
    rows = [f"{T0 + 10 * k},{u},{base + 20 * k}" for k in range(4) for u, base in (("ann", 0), ("bob", 9e6))]
    long = column("user.cpu_us", kind="counter", factor=1e6) + '[long]\ntable = "user"\ncolumn = "u"\n'
    run(tmp_path, long, *rows, names="t,u,v")


@pytest.mark.parametrize(
    ("to", "keys", "values"),
    [
        ("processor.user_us", {"kind": "percent"}, [0, 100, 101]),
        ("processor.user_us", {"kind": "counter", "factor": 1e6}, [9e9, 9e9 + 40, 5, 45]),
        ("device.busy_us", {"kind": "percent", "entity": "sda"}, [100.4, 120]),
        ("device.queue_us", {"kind": "rate", "factor": 1e6, "entity": "sda"}, [250, 900]),
        ("system.mem_free_bytes", {}, [8e9, 1e9]),
        ("system.swap_free_bytes", {}, [64e9, 64e9]),
        ("system.forks", {"kind": "rate"}, [1e9, 1e9]),
    ],
)
def test_what_is_possible_is_taken(
    to: str, keys: dict[str, object], values: list[float], tmp_path: Path
) -> None:
    run(tmp_path, column(to, **keys), *[f"{T0 + 10 * k},{v}" for k, v in enumerate(values)])


def test_without_the_number_of_processors_only_what_no_host_can_do_is_refused(tmp_path: Path) -> None:
    head = '[time]\ncolumn = "t"\nformat = "unix_s"\n'
    rows = [f"{T0 + 10 * k},{200_000 * k}" for k in range(4)]
    with pytest.raises(InputError, match="on the largest of hosts"):
        run(tmp_path, column("processor.user_us", kind="counter", factor=1e6), *rows, head=head)
    (tmp_path / "y").mkdir()
    run(tmp_path / "y", column("processor.user_us", kind="counter", factor=1e3), *rows, head=head)
