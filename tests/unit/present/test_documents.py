"""Results as plain data."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pydantic import BaseModel, Field

from satline.present.documents import FORMAT, plain, text


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


@dataclass
class Inner:
    at: datetime
    path: Path


@dataclass
class Outer:
    inner: Inner
    rates: tuple[float, ...]


class Model(BaseModel):
    of: int = Field(alias="class")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (np.bool_(False), False),
        (math.nan, None),
        (-math.inf, None),
        (np.float64("nan"), None),
        (np.float32(0.5), 0.5),
        (np.int64(7), 7),
        (Decimal("0.25"), 0.25),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (date(2026, 11, 2), "2026-11-02"),
        (datetime(2026, 11, 2, 9, tzinfo=UTC), "2026-11-02T09:00:00+00:00"),
        (Path("a/b"), "a/b"),
        (np.array([[1.0, np.inf], [2.0, 3.0]]), [[1.0, None], [2.0, 3.0]]),
        (pa.scalar(3), 3),
        (pa.scalar(None, pa.int64()), None),
        (pa.array([1, None]), [1, None]),
        (MappingProxyType({1: (2,), Colour.RED: {"x": 3}.values()}), {"1": [2], "red": [3]}),
        (Model.model_validate({"class": 4}), {"class": 4}),
        (
            Outer(Inner(datetime(2026, 1, 1, tzinfo=UTC), Path("x")), (1.0, math.nan)),
            {"inner": {"at": "2026-01-01T00:00:00+00:00", "path": "x"}, "rates": [1.0, None]},
        ),
    ],
)
def test_results_become_plain_data(value: Any, expected: Any) -> None:
    made = plain(value)
    assert made == expected
    assert type(made) is type(expected)
    assert json.loads(json.dumps(made, allow_nan=False)) == expected


@pytest.mark.parametrize("value", [b"bytes", object(), Inner])
def test_what_has_no_plain_form_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        plain(value)


def test_a_document_begins_with_its_format_and_kind_and_joins_its_parts() -> None:
    from satline.present import documents

    made = documents.document("recording-reveal", {"names": {"p-1": "eve"}})
    assert list(made.items()) == [("format", FORMAT), ("kind", "recording-reveal"), ("names", {"p-1": "eve"})]


def test_a_document_s_text_is_ascii_and_acts_on_no_terminal() -> None:
    hostile = "\x1b[31m\x9b\u202ee\udcff"
    shown = text({"name": hostile})
    assert shown.isascii()
    assert shown.isprintable() or set(shown) - set(filter(str.isprintable, shown)) == {"\n"}
    assert json.loads(shown)["name"] == hostile
    assert "\n" not in text({"name": hostile}, one_line=True)
