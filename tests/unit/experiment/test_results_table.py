"""Tables of results: read, joined to runs, refused."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satline.errors import InputError
from satline.experiment.variance import analyse, per_run, read_table, split_by

ROWS = [
    {"run": run, "memory": memory, "loading": loading, "class": name, "ms": float(run * 10 + k)}
    for run, (memory, loading) in enumerate(
        [(640, "off"), (1024, "off"), (640, "on"), (1024, "on"), (640, "off"), (1024, "on")], 1
    )
    for k, name in enumerate(("edit", "edit", "compile"))
]


def written(directory: Path, ending: str) -> Path:
    path = directory / f"results.{ending}"
    table = pa.Table.from_pylist(ROWS)
    if ending == "parquet":
        pq.write_table(table, path)
    elif ending == "json":
        path.write_text(json.dumps(ROWS))
    elif ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    else:
        head = ",".join(ROWS[0])
        path.write_text("\n".join([head, *(",".join(map(str, row.values())) for row in ROWS)]) + "\n")
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet", "json", "jsonl"])
def test_every_form_says_the_same(tmp_path: Path, ending: str) -> None:
    path = written(tmp_path, ending)
    found = per_run(read_table(path), path, "ms", ["memory", "loading"])
    assert found.layout.levels == (("640", "1024"), ("off", "on"))
    assert found.y.tolist() == [11.0, 21.0, 31.0, 41.0, 51.0, 61.0]
    assert found.order is not None
    assert found.order.tolist() == [1, 2, 3, 4, 5, 6]
    assert "18 rows joined to 6 runs by their mean" in found.notes[0]
    classes = split_by(read_table(path), "class", path)
    assert [name for name, _ in classes] == ["compile", "edit"]
    edit = per_run(classes[1][1], path, "ms", ["memory", "loading"], statistic="median")
    assert edit.y.tolist() == [10.5, 20.5, 30.5, 40.5, 50.5, 60.5]


def test_a_plan_in_json_with_its_results_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    runs = [{"run": i, "block": None, "levels": {"a": i % 2}, "ms": i} for i in range(1, 7)]
    path.write_text(json.dumps({"seed": 1, "runs": runs}))
    found = per_run(read_table(path), path, "ms", ["a"])
    assert found.layout.block is None
    assert found.y.tolist() == [1, 2, 3, 4, 5, 6]
    del runs[0]["ms"]
    path.write_text(json.dumps({"seed": 1, "runs": runs}))
    assert per_run(read_table(path), path, "ms", ["a"]).y.tolist() == [2, 3, 4, 5, 6]


def test_rows_of_a_run_are_not_taken_for_replicates() -> None:
    """Runs differ by chance, without any effect: as replicates, their rows would show effects."""
    rng = np.random.default_rng(5)
    path = Path("t.csv")
    wrong = right = 0
    for _ in range(100):
        codes = np.repeat(np.arange(8) % 2, 25)
        ms = np.repeat(rng.normal(size=8), 25) + rng.normal(size=200)
        table = pa.table({"run": np.repeat(np.arange(8), 25), "a": codes, "ms": ms})
        joined = per_run(table, path, "ms", ["a"])
        plain = per_run(table, path, "ms", ["a"], rows_are_runs=True)
        right += (analyse(joined.layout, joined.y, check=False).rows[0].chance or 0.0) < 0.05
        wrong += (analyse(plain.layout, plain.y, check=False).rows[0].chance or 0.0) < 0.05
    assert wrong > 40
    assert right < 13


def test_many_rows_and_no_run_is_refused() -> None:
    table = pa.table({"a": [0, 1] * 30, "ms": [1.0, 2.0] * 30})
    with pytest.raises(InputError, match="30 rows per combination"):
        per_run(table, Path("t.csv"), "ms", ["a"])
    assert len(per_run(table, Path("t.csv"), "ms", ["a"], rows_are_runs=True).y) == 60


def test_missing_responses_are_left_out_and_told() -> None:
    table = pa.table({"a": [0, 1, 0, 1, None], "ms": [1.0, None, 3.0, 4.0, 5.0]})
    found = per_run(table, Path("t.csv"), "ms", ["a"])
    assert found.missing == 2
    assert found.y.tolist() == [1.0, 3.0, 4.0]
    assert "2 of 5 rows" in found.notes[0]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [0, 1], "b": ["x", "y"]}, "no column 'ms'"),
        ({"a": [0, 1], "ms": ["fast", "slow"]}, "ms holds string, not numbers"),
        ({"a": [1, 1], "ms": [1.0, 2.0]}, "a has only the level 1"),
        ({"a": [0, 1], "ms": [None, None]}, "no row has ms and all factors"),
        ({"a": [0, 1], "ms": [None, 1.0]}, "a has only one level with results"),
        ({"a": [0, 1, 1], "run": [1, 1, 2], "ms": [1.0, 2.0, 3.0]}, "the levels change within run 1"),
        ({"a": list(range(60)), "ms": [1.0] * 60}, "a has 60 levels; at most 50"),
        ({"a": [[0], [1]], "ms": [1.0, 2.0]}, "a holds list"),
        ({"a": pa.array([], pa.int64()), "ms": pa.array([], pa.float64())}, "a is empty"),
        ({"a": pa.chunked_array([], pa.null()), "ms": pa.array([], pa.float64())}, "a is empty"),
        ({"a": [None, None], "ms": [1.0, 2.0]}, "a is empty"),
    ],
)
def test_what_is_no_table_of_results(columns: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        per_run(pa.table(columns), Path("t.csv"), "ms", ["a"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["csv", "parquet", "json", "jsonl"]), st.floats(0, 1), st.binary(max_size=6))
def test_a_cut_or_spoilt_file_is_data_or_an_error(
    tmp_path: Path, ending: str, part: float, spoilt: bytes
) -> None:
    path = written(tmp_path, ending)
    whole = path.read_bytes()
    cut = int(part * len(whole))
    path.write_bytes(whole[:cut] + spoilt + (whole[cut + len(spoilt) :] if len(spoilt) % 2 else b""))
    with contextlib.suppress(InputError):
        found = per_run(read_table(path), path, "ms", ["memory", "loading"])
        analyse(found.layout, found.y, check=False)


@pytest.mark.parametrize("text", ["", "[1, 2]", "{", '"x"', "[" * 5000, '[{"a": 1e999}, {"a": {}}]'])
def test_hostile_json(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError):
        per_run(read_table(path), path, "ms", ["a"])
