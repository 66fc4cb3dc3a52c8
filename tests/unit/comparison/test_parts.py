"""Hours, changes, selections and sentences of a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from satline.comparison._changes import confounded, find_changes
from satline.comparison._hours import sign_test
from satline.comparison._results import Change, Estimate, Matched, Period
from satline.comparison._sides import find_recordings, moment_of
from satline.comparison._verdict import judge
from satline.errors import InputError
from satline.recording import Recording, describe


def period(begins: float = 0.0, ends: float = 1e6, effective: float = 10.0) -> Period:
    return Period(("a",), begins, ends, 100, 1000.0, 10, 10, effective, 1.0, 1.0, 20.0, 8.0)


def matched(relative: Estimate | None, difference: Estimate | None = None) -> Matched:
    return Matched(3, 24, (), 0.4, 0.3, difference or Estimate(-0.1), relative, (0.0, 0.0), 0.09)


@pytest.mark.parametrize(
    ("found", "outcome", "words"),
    [
        (Estimate(-0.17, -0.24, -0.11, 0.03), "fell", "response at 3–24 users fell 17 % [11, 24]"),
        (Estimate(0.05, 0.02, 0.081, 0.01), "rose", "response at 3–24 users rose 5.0 % [2.0, 8.1]"),
        (Estimate(-0.02, -0.06, 0.03, 0.03), "no-difference", "one under 9 % would have been missed"),
        (Estimate(-0.5), "cannot-tell", "cannot tell: too few data"),
    ],
)
def test_the_sentence(found: Estimate, outcome: str, words: str) -> None:
    told = judge("response", "s", "users", matched(found), (period(), period()))
    assert told[0] == outcome
    assert words in told[1]


def test_no_load_in_common_is_told_with_the_loads() -> None:
    told = judge("response", "s", "users", None, (period(), period()))
    assert told == ("cannot-tell", "cannot tell: no load in common (1–20 users and 1–20 users)")


def test_few_blocks_are_told() -> None:
    told = judge("response", "s", "users", matched(Estimate(-0.5)), (period(effective=2.2), period()))
    assert "worth 2.2 independent blocks" in told[1]


@pytest.mark.parametrize(("rose", "fell", "chance"), [(0, 10, 2 / 1024), (5, 5, 1.0), (1, 4, 0.375)])
def test_the_sign_test_is_the_binomial(rose: int, fell: int, chance: float) -> None:
    assert sign_test(rose, fell) == pytest.approx(chance)
    assert sign_test(fell, rose) == pytest.approx(chance)


def test_no_sign_no_test() -> None:
    assert sign_test(0, 0) is None


@dataclass
class Made:
    """What the change log reads of a recording."""

    path: str
    description: dict[str, Any]
    sources: dict[str, dict[str, Any]]

    def reading(self, **_: Any) -> Made:
        return self

    def execute(self, _: str) -> Made:
        return self

    def fetchall(self) -> list[Any]:
        return []


def made(path: str, notes: list[tuple[float, str]] | None = None, **host: Any) -> Any:
    annotation = [{"time": datetime.fromtimestamp(t, UTC), "text": text} for t, text in notes or ()]
    return Made(path, {"host": host, "annotation": annotation}, {})


def test_changes_that_came_together_are_confounded() -> None:
    before = made("a", kernel="6.1", memory_bytes=8 << 30, boot_id="x")
    after = made("b", kernel="6.2", memory_bytes=16 << 30, boot_id="y")
    changes = find_changes([before], [after], (period(), period(2e6, 3e6)))
    assert {c.what for c in changes} == {"kernel 6.1 → 6.2", "memory 8 GiB → 16 GiB"}
    told = confounded(changes)
    assert told == "kernel 6.1 → 6.2 and memory 8 GiB → 16 GiB changed at the same time: cannot be told apart"


def test_a_little_storage_more_is_no_change() -> None:
    sides = [made("a", memory_bytes=8_123_432_960)], [made("b", memory_bytes=8_123_400_192)]
    assert find_changes(*sides, (period(), period(2e6, 3e6))) == []


def test_annotations_are_placed_by_the_period_that_they_lie_in() -> None:
    notes = [(5e5, "a user came"), (1.5e6, "second drum"), (2.5e6, "a user left")]
    changes = find_changes([made("a", notes)], [made("b")], (period(), period(2e6, 3e6)))
    assert [(c.what, c.when) for c in changes] == [
        ("second drum", "between"),
        ("a user came", "before"),
        ("a user left", "after"),
    ]
    assert confounded(changes) == ""


def test_one_annotation_and_one_difference_may_be_the_same() -> None:
    changes = [
        Change("annotation", "new kernel", "between", 1.0),
        Change("configuration", "kernel 1 → 2", "between"),
    ]
    assert "unless they are one and the same" in confounded(changes)


def test_another_way_of_measuring_is_told() -> None:
    assert "way of measuring" in confounded([Change("measuring", "interval 1 → 10", "between")])


def recordings(tmp_path: Path, *names: str) -> list[Path]:
    for name in names:
        describe.create(tmp_path / name, "test", host={"name": "h"})
    return [tmp_path / name for name in names]


def test_sides_are_recordings_patterns_lists_and_directories(tmp_path: Path) -> None:
    (tmp_path / "arm").mkdir()
    a, b = recordings(tmp_path, "week-1.satline", "week-2.satline")
    c = recordings(tmp_path / "arm", "run.satline")[0]
    assert find_recordings([str(a)]) == [a]
    assert find_recordings([str(tmp_path / "week-*.satline")]) == [a, b]
    assert find_recordings([f"{b},{a}", str(a)]) == [b, a]
    assert find_recordings([str(tmp_path / "arm")]) == [c]
    with pytest.raises(InputError, match="no recording matches"):
        find_recordings([str(tmp_path / "month-*")])


def test_the_annotation_must_be_one(tmp_path: Path) -> None:
    (path,) = recordings(tmp_path, "r.satline")
    with pytest.raises(InputError, match="no annotations"):
        moment_of(Recording.open(path), "drum")
    for second, text in enumerate(("second drum installed", "Kernel 6.2", "kernel 6.3 \x1b[31m")):
        describe.annotate(path, text, time=datetime(2026, 11, 1, 12, 0, second, tzinfo=UTC))
    opened = Recording.open(path)
    assert moment_of(opened, "DRUM") == datetime(2026, 11, 1, 12, tzinfo=UTC).timestamp()
    with pytest.raises(InputError, match="2 annotations hold 'kernel'") as error:
        moment_of(opened, "kernel")
    assert "Kernel 6.2" in error.value.hint
    with pytest.raises(InputError, match="no annotations hold"):
        moment_of(opened, "memory")
