"""Which of all series moves with the performance quality measure [Bitner]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np

from satline.correlation import _chance
from satline.correlation._given import without
from satline.correlation._kernel import Lagged, One, centred, lagged
from satline.correlation._panel import Floats, Integers, Name, Panel
from satline.correlation._prepare import Preparation, Prepared
from satline.correlation._ranks import ranks
from satline.correlation._shifts import Shift, together
from satline.errors import InputError
from satline.stats import false_discoveries

LEAST_PAIRS = 20
ALIKE = 0.98
_MOST_FOLDED = 2000
_NEAREST = 50
_SMALL = 100
_CHUNK = 256


@dataclass(frozen=True)
class Hit:
    """One series, or a group of near-identical ones, held against the PQM.

    pearson, spearman
        Product-moment and rank coefficient at the best lag; NaN where they cannot be made.
    at_once
        Pearson's without a lag.
    lag, lag_s
        The best lag, in moments and seconds; above 0: this series comes first, the PQM follows.
    pairs, effective
        Moments at which both are present, and how many independent ones would scatter as much.
    p
        Chance of such a coefficient at any of the lags looked at, of either kind, if the two had nothing to
        do with each other.
    q
        Least rate of false discoveries at which it is one.
    members
        The near-identical series of the group, this one first.
    shift
        The shift of level at the same time as one of the PQM.
    """

    name: Name
    place: int
    pearson: float
    spearman: float
    at_once: float
    lag: int
    lag_s: float
    pairs: int
    effective: float
    p: float
    q: float
    found: bool
    members: tuple[Name, ...] = ()
    shift: Shift | None = None

    @property
    def strength(self) -> float:
        """The greater of the two coefficients in size."""
        return max((abs(v) for v in (self.pearson, self.spearman) if not math.isnan(v)), default=0.0)


@dataclass(frozen=True)
class Correlation:
    """All series of a panel held against one of them.

    hits
        Groups of series: discoveries first, each part by the size of the coefficient.
    tested
        Series that were held against the PQM; all of them count for the rate of false discoveries.
    related
        Series made of the same counters as the PQM: they move with it by definition and were left out.
    shift
        The PQM's own shift of level; ``None``: none is sure.
    panel
        The series as they were compared: what was `given` is taken out.
    """

    pqm: Name
    place: int
    hits: tuple[Hit, ...]
    tested: int
    related: tuple[Name, ...]
    unpaired: int
    lags: int
    given: tuple[str, ...]
    rate: float
    control: str
    step_s: float
    shift: Shift | None
    panel: Panel = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def found(self) -> tuple[Hit, ...]:
        """The discoveries."""
        return tuple(h for h in self.hits if h.found)


def correlate(
    panel: Panel,
    pqm: str,
    *,
    lags: int = 30,
    given: Sequence[str] = (),
    rate: float = 0.05,
    control: str = "bh",
    related: bool = False,
    alike: float = ALIKE,
) -> Correlation:
    """Rank every series of `panel` by how it moves with `pqm`.

    Parameters
    ----------
    pqm
        The performance quality measure [Bitner], as ``VARIABLE`` or ``VARIABLE@ENTITY``.
    lags
        Moments to look ahead and back.
    given
        What to take out of all series first: ``load``, ``time-of-day``, ``trend``.
    rate
        Part of the discoveries that may be false.
    control
        ``bh``, or ``by`` which holds under any dependence.
    related
        Hold those against it too that are made of the same counters.
    alike
        Coefficient from which two series are one group.

    Raises
    ------
    InputError
        No such series; it does not change (any more, given the rest); lags too long for the recording.
    """
    if control not in ("bh", "by"):
        raise InputError(f"control {control!r}", hint="choose bh or by")
    if not 0 < rate < 1:
        raise InputError(f"rate {rate:g}", hint="give a rate between 0 and 1, such as 5%")
    place = panel.find(pqm)
    if lags < 0 or lags * 4 > panel.values.shape[1]:
        raise InputError(
            f"lags of {lags} moments: the recording has {panel.values.shape[1]}",
            hint=f"look back at most a quarter: --lags {panel.values.shape[1] // 4}",
        )
    own = panel.names[place]
    panel, taken = without(panel, given)
    y = panel.values[place]
    if np.count_nonzero(np.isfinite(y)) < LEAST_PAIRS or not _changes(y):
        what = f" once {' and '.join(given)} {'is' if len(given) == 1 else 'are'} taken out" if given else ""
        raise InputError(
            f"{own} does not change, or has fewer than {LEAST_PAIRS} values{what}",
            hint="choose another PQM, or give less",
        )
    same = np.array([_related(own, n) for n in panel.names])
    same[place] = True
    left_out = tuple(n for n, s in zip(panel.names, same, strict=True) if s and n != own)
    if related:
        same[:] = False
        same[place] = True
        left_out = ()
    places = np.flatnonzero(~same)
    at = np.arange(-lags, lags + 1)
    seen = _all(panel.values, places, One(y, at), One(ranks(y[None, :])[0], at), taken)
    usable = np.flatnonzero(seen.pairs > 0)
    q = np.ones(len(places))
    q[usable] = false_discoveries(seen.p[usable], any_dependence=control == "by")
    own_shift, shifts = together(panel.values, places, y, rate)
    hits = [
        Hit(
            name=panel.names[places[k]],
            place=int(places[k]),
            pearson=float(seen.pearson[k]),
            spearman=float(seen.spearman[k]),
            at_once=float(seen.at_once[k]),
            lag=int(seen.lag[k]),
            lag_s=float(seen.lag[k] * panel.step_s),
            pairs=int(seen.pairs[k]),
            effective=float(seen.effective[k]),
            p=float(seen.p[k]),
            q=float(q[k]),
            found=bool(q[k] <= rate),
            members=(panel.names[places[k]],),
            shift=shifts[k][0] if k in shifts else None,
        )
        for k in usable.tolist()
    ]
    # What differs only by how sums were rounded, which goes by the library's threads, keeps its place.
    hits.sort(key=lambda h: (not h.found, -round(h.strength, 9), h.place))
    folded, beyond = _folded(panel, hits, alike)
    notes = (f"{beyond:,} weaker discoveries were not folded into groups",) if beyond else ()
    return Correlation(
        own, place, tuple(folded), len(usable), left_out, len(places) - len(usable), lags, tuple(given), rate,
        control, panel.step_s, own_shift, panel, notes,
    )  # fmt: skip


@dataclass(frozen=True)
class _Seen:
    """Of each series: the coefficients at its best lag and the chance of such a one; 0 pairs where there is
    none."""

    pearson: Floats
    spearman: Floats
    at_once: Floats
    lag: Integers
    pairs: Integers
    effective: Floats
    p: Floats


def _all(values: Floats, places: Integers, by_value: One, by_rank: One, taken: int) -> _Seen:
    """Every series, some at a time: what is made of each fits into the processor's cache."""
    prepare = Preparation(by_value, by_rank, min(_CHUNK, len(places)))
    parts = [
        _some(prepare(values, places[start : start + _CHUNK]), by_value, by_rank, taken)
        for start in range(0, len(places), _CHUNK)
    ]
    if not parts:
        empty, none = np.zeros(0), np.zeros(0, dtype=np.int64)
        return _Seen(empty, empty, empty, none, none, empty, empty)
    names = [f.name for f in fields(_Seen)]
    return _Seen(**{n: np.concatenate([getattr(part, n) for part in parts]) for n in names})


def _some(made: Prepared, by_value: One, by_rank: One, taken: int) -> _Seen:
    found, deviates, variances = [], [], []
    for kind, one in zip(made.kinds, (by_value, by_rank), strict=True):
        found.append(lagged(kind.sums, LEAST_PAIRS + taken))
        variances.append(_variances(kind.plain, made, found[-1], one, taken))
        deviates.append(np.abs(found[-1].r) / np.sqrt(variances[-1]))
    # The lag is where either coefficient is furthest from chance; of those that differ only by how sums were
    # rounded, the first.
    height = np.round(np.fmax(*deviates), 9)
    known = np.isfinite(height).any(axis=1)
    best = np.argmax(np.where(np.isfinite(height), height, -1.0), axis=1)
    rows = np.arange(len(made.present))
    lag = by_value.lags[best]
    # The best of many was chosen: all lags, and two coefficients.
    tried = 2 * len(by_value.lags)
    p = np.ones(len(rows))
    likely = np.minimum(*(_chance.tails(z[rows, best]) for z in deviates)) * tried
    close = np.flatnonzero(likely < 1)
    if len(close):
        chances = [
            _chance.tails(
                np.minimum(z[close, best[close]], np.abs(_chance.by_stretches(kind.x, close, one.y, lag)))
            )
            for kind, one, z in zip(made.kinds, (by_value, by_rank), deviates, strict=True)
        ]
        p[close] = np.minimum(1.0, tried * np.minimum(*chances))
    return _Seen(
        pearson=found[0].r[rows, best],
        spearman=found[1].r[rows, best],
        at_once=found[0].r[:, int(np.flatnonzero(by_value.lags == 0)[0])],
        lag=lag,
        pairs=np.where(known, found[0].pairs[rows, best], 0),
        effective=1.0 / variances[0][rows, best],
        p=p,
    )


def _variances(plain: Floats, made: Prepared, found: Lagged, one: One, taken: int) -> Floats:
    """Variance of each coefficient by the phases, shape (series, lags); `taken` parameters were fitted."""
    pairs = np.maximum(1, found.pairs).astype(np.float64)
    # Holes at the same moments: what the circle thins out, the pairs at hand do not.
    there = made.number[:, None] * float(one.there.sum())
    dense = pairs * one.size / np.maximum(1.0, there)
    share = np.where(found.share > 0, found.share, 1.0)
    least = 1.0 / np.maximum(1.0, pairs - taken - 1)
    variance = np.maximum(least, plain[:, None] * np.maximum(1.0, dense) / share)
    return np.asarray(variance, dtype=np.float64)


def _changes(values: Floats) -> bool:
    good = values[np.isfinite(values)]
    return bool(len(good)) and float(np.ptp(good)) > 1e-12 * float(np.abs(good).max(initial=0.0))


def _related(one: Name, other: Name) -> bool:
    """Are both of the same entity and made of a common counter?"""
    if one.entity != other.entity or (one.entity and one.scope != other.scope):
        return False
    return bool(one.made_of & other.made_of)


def _folded(panel: Panel, hits: list[Hit], alike: float) -> tuple[list[Hit], int]:
    """Near-identical series as one row, by the order of the hits."""
    discoveries = sum(h.found for h in hits)
    few = hits[: min(_MOST_FOLDED, max(discoveries, _NEAREST))]
    if not few:
        return [], 0
    x, present = centred(ranks(panel.values[[h.place for h in few]]))
    # The library's threads wait longer for each other than a small product takes.
    matrix = np.einsum("it,jt->ij", x, x) if len(few) <= _SMALL else x @ x.T
    if not present.all():
        together = present.astype(np.float32) @ present.T.astype(np.float32)
        most = np.maximum(1.0, np.maximum(np.diag(together)[:, None], np.diag(together)[None, :]))
        # Series that are seldom present at the same moments are not the same thing.
        matrix[together < 0.9 * most] = 0.0
    groups = _chance.fold(matrix, range(len(few)), alike)
    leaders = [replace(few[g[0]], members=_by_entity([few[k].name for k in g])) for g in groups]
    return leaders + hits[len(few) :], max(0, discoveries - len(few))


def _by_entity(names: list[Name]) -> tuple[Name, ...]:
    """The leader, then something of each entity, so that no user hides behind a device."""
    seen: set[tuple[str, str]] = set()
    again = []
    for name in names:
        again.append((name.scope, name.entity) in seen)
        seen.add((name.scope, name.entity))
    return tuple(name for _, name in sorted(zip(again, names, strict=True), key=lambda pair: pair[0]))
