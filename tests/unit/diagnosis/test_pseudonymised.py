"""A recording and its copy without names: the same verdict, findings and figures."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from satline.diagnosis import diagnose
from satline.present.documents import plain
from satline.recording import (
    NAMES,
    Key,
    Recording,
    describe,
    pseudonymise,
    read_names,
    with_names,
    write_parquet_table,
)

pytestmark = pytest.mark.slow

RECORDED = Path(__file__).with_name("recorded")
KEY = Key(bytes(range(32)))


def recorded(plant: str, path: Path) -> Path:
    """The excerpt of a real host with a planted fault, as a recording on disk."""
    description = json.loads((RECORDED / plant / "description.json").read_text())
    describe.create(path, "satline-monitor", host=description.get("host", {}))
    describe.update(path, {k: v for k, v in description.items() if k not in ("recording", "host")})
    for file in sorted((RECORDED / plant).glob("*.parquet")):
        write_parquet_table(path, file.stem, pq.read_table(file).to_pylist())
    describe.write_source(path, "monitor", {})
    describe.end(path, "complete")
    return path


def rounded(value: Any) -> Any:
    """Sums over users are made in the order of their names: their last digits differ."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def answer(path: Path, names: dict[str, str]) -> Any:
    """The whole diagnosis, with NAME for each name: of equal users the first few are told, by their names."""
    told = plain(diagnose(Recording.open(path)))
    told["conditions"].pop("host", None)
    told.pop("recording")
    text = with_names(json.dumps(told, default=str, ensure_ascii=False), dict.fromkeys(names, "NAME"))
    # Shorter ones are also words and figures.
    known = "|".join(re.escape(name) for name in names.values() if len(name) > 3)
    return rounded(json.loads(re.sub(rf"(?<!\w)({known})(?!\w)", "NAME", text)))


@pytest.mark.parametrize("plant", ["arm", "admission", "too_many", "full_storage"])
def test_the_copy_gives_the_same_answer(plant: str, tmp_path: Path) -> None:
    original = recorded(plant, tmp_path / "a.satline")
    pseudonymise(original, tmp_path / "b.satline", KEY)
    names = read_names(tmp_path / "b.satline" / NAMES, KEY)
    before, after = answer(original, names), answer(tmp_path / "b.satline", names)
    assert before["findings"]
    assert before == after
