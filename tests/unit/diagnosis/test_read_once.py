"""Arrays of readings give what SQL gives, and a diagnosis reads each column of a table once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from satline.diagnosis import Histories, diagnose
from satline.diagnosis._results import WaitingUser
from satline.diagnosis._waits import wait_shares
from satline.recording import Recording, describe, write_parquet_table
from satline.reduction import _readings, _values, reduce

SECOND = 10**9
SAMPLES, USERS = 300, 45


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs on two days, with users who come and go, counters that fall, readings that fail, and more
    users than courses are kept of."""
    path = tmp_path_factory.mktemp("made") / "host.satline"
    random = np.random.default_rng(7)
    describe.create(path, "test", host={"page_bytes": 4096, "processors": 2, "name": "made"})
    describe.write_source(path, "monitor", {"sampling": {"interval_ms": 10_000}})
    sample = np.arange(SAMPLES)
    run = 1 + sample // 200
    monotonic = (sample * 10 + 5) * SECOND + (run - 1) * 3600 * SECOND
    monotonic[run == 2] -= 2500 * SECOND
    time = 1_700_000_000 * SECOND + sample * 300 * SECOND

    def write(table: str, entity: str, names: list[str], columns: dict[str, list[np.ndarray]]) -> None:
        rows: dict[str, list[pa.Array]] = {}
        for k, name in enumerate(names):
            there = random.random(SAMPLES) > 0.03
            keys = {"time_ns": time, "monotonic_ns": monotonic, "run": run}
            for key, values in keys.items():
                rows.setdefault(key, []).append(pa.array(values[there]))
            if entity:
                rows.setdefault(entity, []).append(pa.array([name] * int(there.sum())))
            for column, each in columns.items():
                gone = random.random(SAMPLES) < 0.02
                rows.setdefault(column, []).append(pa.array(each[k], mask=gone).filter(pa.array(there)))
        whole = pa.table({name: pa.concat_arrays(parts) for name, parts in rows.items()})
        if table == "device":
            kinds = ["network" if d == "eth0" else "block" for d in whole["device"].to_pylist()]
            whole = whole.append_column("device_kind", pa.array(kinds))
        write_parquet_table(path, table, whole.sort_by("time_ns"))

    def grown(many: int, most: int) -> list[np.ndarray]:
        found = []
        for _ in range(many):
            course = np.cumsum(random.integers(0, most, SAMPLES))
            course[150:] -= course[149]  # it fell
            found.append(course.astype(np.int64))
        return found

    write("system", "", [""], {"context_switches": grown(1, 9000)})
    states = {f"{state}_us": grown(2, 3_000_000) for state in ("user", "system", "idle", "iowait")}
    write("processor", "processor", ["0", "1"], states)
    devices = {name: grown(3, 4_000_000) for name in ("reads", "read_bytes", "busy_us", "queue_us")}
    write("device", "device", ["eth0", "vda", "vdb"], devices)
    users = [f"user-{k}" for k in range(USERS - 1)] + ["_kernel"]
    clocks = {name: grown(USERS, 900_000) for name in ("cpu_us", "run_delay_us", "io_delay_us", "read_bytes")}
    levels = {"processes": [random.integers(1, 9, SAMPLES) for _ in users]}
    levels |= {"tasks_io_wait": [random.integers(0, 2, SAMPLES) for _ in users]}
    write("user", "user", users, clocks | levels)
    describe.end(path, "complete")
    return path


def by_sql(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_readings, "MOST_BYTES", -1)


@pytest.mark.parametrize("observation_s", [None, 30.0])
def test_arrays_and_sql_make_the_same_tables(
    host: Path, observation_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tables() -> dict[str, list[tuple[object, ...]]]:
        connection = reduce(Recording.open(host), observation_s=observation_s).observations.connection
        found = {}
        for table, key in (("user", "obs"), ("processor", "obs"), ("device", "obs, device")):
            described = connection.execute(f"DESCRIBE satline_{table}").fetchall()
            columns = ", ".join(sorted(f'"{row[0]}"' for row in described))
            found[table] = [
                tuple(sorted(row[0] for row in described)),
                *connection.execute(f"SELECT {columns} FROM satline_{table} ORDER BY {key}").fetchall(),
            ]
        return found

    arrays = tables()
    by_sql(monkeypatch)
    sql = tables()
    assert {name: len(rows) > 50 for name, rows in sql.items()} == dict.fromkeys(sql, True)
    assert arrays["user"] == sql["user"]
    assert arrays["processor"] == sql["processor"]
    assert arrays["device"] == sql["device"]


@pytest.mark.parametrize("observation_s", [None, 30.0])
def test_arrays_and_sql_make_the_same_courses(
    host: Path, observation_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording.open(host)
    reduction = reduce(recording, observation_s=observation_s)
    block = "device_kind = 'block'"
    asked = (
        ("counters", "user", '"user"', ("run_delay_us", "cpu_us", "io_wait_us"), "TRUE"),
        ("counters", "user", '"user"', ("cpu_us",), "left(\"user\", 1) <> '_'"),
        ("levels", "user", '"user"', ("tasks_io_wait", "processes"), "TRUE"),
        ("whole_counters", "user", '"user"', ("cpu_us",), "TRUE"),
        ("whole_counters", "device", "device", ("busy_us", "reads"), block),
        ("counters", "system", "'all'", ("context_switches",), "TRUE"),
    )
    arrays, sql = Histories(recording, reduction), Histories(recording, reduction)
    made = [getattr(arrays, what)(*rest) for what, *rest in asked]
    by_sql(monkeypatch)
    for (what, *rest), courses in zip(asked, made, strict=True):
        other = getattr(sql, what)(*rest)
        assert list(courses) == list(other)
        for entity, columns in other.items():
            for name, course in columns.items():
                assert np.isfinite(course).any() or name == "io_wait_us"
                np.testing.assert_allclose(courses[entity][name], course, rtol=1e-12)


@pytest.mark.parametrize("observation_s", [None, 30.0])
def test_arrays_and_sql_tell_the_same_of_processors_and_of_waits(
    host: Path, observation_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording.open(host)
    reduction = reduce(recording, observation_s=observation_s)

    def told() -> tuple[dict[str, np.ndarray], int, list[tuple[WaitingUser, ...]]]:
        states = Histories(recording, reduction).processors()
        assert states is not None
        courses = {**states.total, **states.each, "elapsed": states.elapsed_us}
        return courses, states.count, [share.users for share in wait_shares(reduction, recording)]

    arrays, count, users = told()
    by_sql(monkeypatch)
    sql, of_sql, same_users = told()
    assert sorted(arrays) == ["0", "1", "elapsed", "idle_us", "iowait_us", "system_us", "user_us"]
    assert count == of_sql == 2
    for name, course in sql.items():
        assert np.isfinite(course).any()
        np.testing.assert_allclose(arrays[name], course, rtol=1e-12)
    assert users == same_users
    assert any(len(of_class) == 5 for of_class in users)


def test_variables_held_are_those_of_the_table(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = reduce(Recording.open(host)).observations
    monkeypatch.setattr(_values, "_CACHED_BYTES", -1)
    read = reduce(Recording.open(host)).observations
    assert list(held) == list(read)
    known = 0
    for name in read:
        np.testing.assert_array_equal(held[name], read[name])
        known += bool(np.isfinite(read[name]).any())
    assert known > 20


def test_a_diagnosis_reads_each_column_once_in_one_connection(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: Counter[tuple[str, str]] = Counter()
    load, connections = _readings.Readings._load, set()

    def counted(self: _readings.Readings, table: str, loaded: object, columns: list[str]) -> bool:
        connections.add(id(self.connection))
        read.update((table, column) for column in columns)
        return load(self, table, loaded, columns)  # type: ignore[arg-type]

    monkeypatch.setattr(_readings.Readings, "_load", counted)
    diagnose(Recording.open(host))
    assert ("user", "cpu_us") in read
    assert ("device", "busy_us") in read
    assert ("processor", "user_us") in read
    assert set(read.values()) == {1}
    assert len(connections) == 1
