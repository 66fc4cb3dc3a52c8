"""Which finding is named where a model tells what remedies bring, by gains and errors that are given."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from satline.diagnosis import RULES, Finding
from satline.diagnosis._observed import Observed
from satline.diagnosis._upgrades import KINDS, errors
from satline.diagnosis.rules import Context, _worth
from satline.diagnosis.rules._worth import SURE, undecided, weighed
from satline.reduction import Reduction


def named(
    patch: pytest.MonkeyPatch, told: dict[str, tuple[float, float]], signs: dict[str, float]
) -> list[Finding]:
    """The findings that hold, first the strongest: of gains and their errors by kind (others bring nothing),
    and of rules that hold by their signs with these strengths."""
    known = dict.fromkeys(KINDS, (0.0, 0.01)) | told
    patch.setattr(_worth, "errors", lambda *_: {kind: error for kind, (_, error) in known.items()})
    context = SimpleNamespace(
        saturated=True,
        reduction=SimpleNamespace(classes=(1, 2)),
        gains={kind: gain for kind, (gain, _) in known.items()},
        where=lambda _: "at the top",
    )
    judged = [
        (
            rule,
            rule.finding(
                "holds" if rule.name in signs else "does-not-hold",
                "signs",
                strength=signs.get(rule.name, 0.0),
            ),
        )
        for rule, _ in RULES
    ]
    left = [f for f in weighed(judged, cast(Context, context)) if f.state == "holds"]
    return sorted(left, key=lambda f: -f.strength)


def test_signs_put_none_before_a_finding_that_is_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"processor": (0.3, 0.12), "paging": (0.27, 0.06)}
    found = named(monkeypatch, told, {"cpu_bound": 0.0, "drum_overflow": 1.0})
    chances = {f.rule: f.chance for f in found}
    assert chances["drum_overflow"] < SURE <= chances["cpu_bound"]
    # What their chances and signs weigh would have put the other first.
    assert 0.9 * chances["drum_overflow"] + 0.1 > 0.9 * chances["cpu_bound"]
    assert found[0].rule == "cpu_bound"
    assert undecided(found) == ()


def test_a_second_remedy_does_not_make_a_finding_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    # Storage serves by two in three; fewer users hardly ever, and yet one of the two by more than 0.75.
    told = {"storage": (0.14, 0.1), "admit fewer": (0.04, 0.09), "processor": (0.12, 0.04)}
    first, *_ = found = named(monkeypatch, told, {"paging_overhead": 0.9, "cpu_bound": 0.2})
    assert first.gain is not None
    assert first.chance is not None
    assert (first.rule, first.gain[0]) == ("paging_overhead", "storage")
    assert first.chance < SURE
    assert first in undecided(found)


def test_where_either_of_two_upgrades_serves_what_asks_for_both_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = {"paging": (0.45, 0.25), "files": (0.45, 0.25), "storage": (0.1, 0.1)}
    found = named(monkeypatch, told, {"drum_overflow": 0.9, "io_bound": 0.9})
    assert found[0].rule == "page_and_io_wait"
    assert found[0].chance is not None
    assert found[0].chance >= SURE
    assert undecided(found) == ()
    # One that serves alone needs no other.
    apart = named(monkeypatch, told | {"files": (0.2, 0.05)}, {"drum_overflow": 0.9, "io_bound": 0.9})
    assert (apart[0].rule, {f.rule for f in apart}) == ("drum_overflow", {"drum_overflow", "io_bound"})


def test_what_steals_took_makes_gains_less_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    told = dict.fromkeys(KINDS, 0.2)
    seen = SimpleNamespace(lost=0.0, freed=0.0)
    monkeypatch.setattr(Observed, "of", lambda _: seen)
    calm = errors(told, cast(Reduction, None))
    seen.lost, seen.freed = 1.0, 1.2
    shaken = errors(told, cast(Reduction, None))
    assert {kind for kind in KINDS if shaken[kind] > calm[kind] + 0.1} == {
        "storage",
        "paging",
        "files",
        "admit fewer",
    }
    assert all(shaken[kind] >= calm[kind] for kind in KINDS)


def observed(**changed: float) -> Observed:
    """A processor that spends 2 s of supervisor state on each second of work, for reads that steals cause by
    three quarters, at half of the work done at best."""
    seen = object.__new__(Observed)
    made = {
        "work": 0.2,
        "peak": 0.4,
        "stolen": 0.75,
        "reads": 100.0,
        "supervisor": 2.0,
        "supervisor_per_read": 0.016,
    }
    for name, value in (made | changed).items():
        object.__setattr__(seen, name, value)
    return seen


def test_what_steals_took_of_work_and_of_the_processor() -> None:
    assert observed().lost == pytest.approx(0.75)
    # 0.75 x 100 x 0.016 = 1.2 s of 3 s for each second of work.
    assert observed().freed == pytest.approx(1.2 / 1.8)
    assert observed(stolen=0.0).lost == observed(stolen=0.0).freed == 0.0
    # No more than all of supervisor state.
    assert observed(supervisor_per_read=1.0).freed == pytest.approx(2.0)
