"""Every series of a recording on one time axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from satline.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Values that a series needs.
LEAST = 20


@dataclass(frozen=True)
class Name:
    """What a series is.

    variable
        A variable of the catalogue, or ``<table>_<column>`` of a counter (as its rate) or level of an
        entity.
    entity
        The user, device, processor, … it is of, as recorded, so it may be hostile; empty: of the whole
        system.
    made_of
        The counters and levels that it is made of: two series with one of these in common are related by
        definition.
    """

    variable: str
    entity: str = ""
    scope: str = "system"
    unit: str = ""
    meaning: str = ""
    made_of: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.variable}@{self.entity}" if self.entity else self.variable


@dataclass(frozen=True)
class Panel:
    """Series by row, moments by column, evenly spaced.

    values
        Shape (series, moments); NaN where missing. Where the recording has a gap, or a new run of its writer
        begins, there are moments at which all is missing, as many as the gap is long but no more than the
        greatest lag: no lag reaches over a gap.
    time_s
        Middle of each observation, seconds since 1970 by the recording's clock, which may step; NaN in gaps.
    step_s
        Distance of two moments.
    load
        Load of each moment, NaN where unknown; its axis is `load_axis`.
    constant, sparse
        Series left out because they never change, or have fewer than 20 values.
    """

    names: tuple[Name, ...]
    values: Floats = field(repr=False)
    time_s: Floats = field(repr=False)
    step_s: float
    load: Floats = field(repr=False)
    load_axis: str = ""
    constant: int = 0
    sparse: int = 0
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        series: dict[str, Floats] | Sequence[tuple[Name, Floats]],
        *,
        step_s: float = 1.0,
        start_s: float = 0.0,
    ) -> Panel:
        """A panel of arrays of one length; for scripts and tests."""
        pairs = [(Name(k), v) for k, v in series.items()] if isinstance(series, dict) else list(series)
        values = np.array([v for _, v in pairs], dtype=np.float64)
        count = values.shape[1] if values.ndim == 2 else 0
        time_s = start_s + step_s * np.arange(count, dtype=np.float64)
        return cls(
            tuple(n for n, _ in pairs),
            values,
            np.asarray(time_s, dtype=np.float64),
            step_s,
            np.full(count, np.nan),
        )

    def find(self, text: str) -> int:
        """The place of the series called ``VARIABLE`` or ``VARIABLE@ENTITY``.

        Raises
        ------
        InputError
            There is none, with the nearest names.
        """
        names = [str(n) for n in self.names]
        if text in names:
            return names.index(text)
        base, _, entity = text.replace(":", "@", 1).partition("@")
        if entity and f"{base}@{entity}" in names:
            return names.index(f"{base}@{entity}")
        same = [n for n in self.names if n.variable == base]
        if same and not entity:
            of = ", ".join(f"{n.variable}@{n.entity}" for n in same[:4])
            raise InputError(f"{base} is of one {same[0].scope} each", hint=f"name one: {of}")
        close = [str(n) for n in same[:3]] or get_close_matches(text, names, n=3, cutoff=0.5)
        hint = (
            f"did you mean {' or '.join(close)}?"
            if close
            else "`satline analyse correlate --list` shows all names"
        )
        lost = self.left_out()
        raise InputError(
            f"the recording has no changing series {text}" + (f" ({lost})" if lost else ""),
            hint=hint if names else "record for longer, or choose shorter observations with --every",
        )

    def left_out(self) -> str:
        """How many series are not here, and why; empty where all are."""
        parts = (
            f"{self.constant:,} never change" if self.constant else "",
            f"{self.sparse:,} have fewer than {LEAST} values" if self.sparse else "",
        )
        found = ", ".join(p for p in parts if p)
        return f"left out: {found}" if found else ""

    def only(self, keep: NDArray[np.bool_]) -> Panel:
        """The series where `keep` holds."""
        places = np.flatnonzero(keep)
        return replace(self, names=tuple(self.names[k] for k in places), values=self.values[places])


def even(run: Integers, middle_ns: Integers, step_ns: float, gap: int) -> tuple[Integers, int]:
    """The place of each observation on an even axis, and the number of places.

    Parameters
    ----------
    run, middle_ns
        Run of each observation and its middle by the monotonic clock, in order.
    gap
        Places that a longer gap, and the change of a run, is cut to.
    """
    if not len(run):
        return np.zeros(0, dtype=np.int64), 0
    ahead = np.diff(middle_ns.astype(np.float64)) / step_ns
    steps = np.clip(np.nan_to_num(np.rint(ahead), nan=1.0), 1, gap + 1).astype(np.int64)
    # Rounding each distance alone would add up: within a stretch the distance to its first one counts.
    new = (np.diff(run) != 0) | (ahead > gap + 1) | (ahead <= 0)
    steps[new] = gap + 1
    first = np.concatenate([[0], np.flatnonzero(new) + 1])
    place = np.zeros(len(run), dtype=np.int64)
    at = 0
    for a, b in zip(first, [*first[1:], len(run)], strict=True):
        inside = np.rint((middle_ns[a:b] - middle_ns[a]).astype(np.float64) / step_ns).astype(np.int64)
        # Two observations at one place: the later one moves on.
        inside = np.maximum.accumulate(inside - np.arange(b - a)) + np.arange(b - a)
        place[a:b] = at + inside
        at = int(place[b - 1]) + gap + 1
    return place, int(place[-1]) + 1
