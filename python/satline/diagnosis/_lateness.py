"""How late the emulator sent lines, and what that disturbs [AW79].

A late line matters in two ways. It may disturb the response that is measured, if it is late by a part of
it. And it displaces load: while a user that is due does not type, it is no load. By how much is known: of N
users the part (time that lines were late) / (N x time) did not take part, which is mean lateness / mean cycle
(think + typing + response) by Little's law. Nothing is void: what is disturbed is left out or corrected, and
said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from satline.diagnosis._results import Saturation
from satline.reduction import Reduction, Source, reading

Floats = NDArray[np.float64]

# A line counts as late from here on; up to that a screen or a scheduler delays it as well. `satline-terminal`
# has the same bound.
LATE_US = 10_000
# A late line disturbs its response from this part of it on. An error of 10 % in the responses, and of 10 % in
# the load, is about what the interval of a step of a hundred reactions leaves open anyway.
DISTURBED = 0.1
DISPLACED = 0.1
# A step is called late if more than this part of its lines is: the 99th percentile.
LATE_PART = 0.01
MOST_BUSY = 0.8
# A part of one processor, and one of them all, that explains it.
STEAL_PART = 0.02
OTHERS_PART = 0.10

_LINES = """SELECT users, monotonic_ns::DOUBLE AS sent_ns, greatest(lateness_us, 0)::DOUBLE AS late_us,
    coalesce(response_us, 'nan'::DOUBLE)::DOUBLE AS response_us
    FROM transaction WHERE phase = 'window' AND users IS NOT NULL AND lateness_us IS NOT NULL
    ORDER BY sent_ns"""
_BOUNDS = """SELECT min(monotonic_ns) FILTER (event = 'window-start'),
    max(monotonic_ns) FILTER (event = 'window-end') FROM event"""
_WINDOWS = """SELECT any_value(users), max(monotonic_ns) FILTER (event = 'window-start') AS t0,
    max(monotonic_ns) FILTER (event = 'window-end') AS t1 FROM event
    WHERE step IS NOT NULL AND users IS NOT NULL GROUP BY run, step HAVING t0 IS NOT NULL AND t1 > t0"""
_INSIDE = "monotonic_ns BETWEEN ? - 1000000000 AND ? + 1000000000"
_STEAL = f"""SELECT processor, (max(steal_us) - min(steal_us)) * 1e3 / (max(monotonic_ns) - min(monotonic_ns))
    AS part FROM processor WHERE {_INSIDE} GROUP BY 1 HAVING max(monotonic_ns) > min(monotonic_ns)
    ORDER BY part DESC NULLS LAST LIMIT 1"""
_OTHERS = f"""SELECT (max(cpu_us) - min(cpu_us)) * 1e3 / (max(monotonic_ns) - min(monotonic_ns))
    FROM "user" WHERE "user" = '_host' AND {_INSIDE} HAVING max(monotonic_ns) > min(monotonic_ns)"""


@dataclass(frozen=True)
class LateLoad:
    """Lines of the measured windows of one load.

    late
        Part of its lines that were late by 10 ms or more.
    disturbed
        Part of its lines that were so, and by more than 10 % of their own response.
    displaced
        Part of the users' time in which they should have typed and did not.
    response_s
        Mean response of the lines that were late; ``None`` without one that was answered.
    """

    users: int
    lines: int
    late: float
    disturbed: float
    displaced: float
    response_s: float | None

    @property
    def effective(self) -> float:
        """The load that was there."""
        return self.users * (1 - self.displaced)

    @property
    def corrected(self) -> bool:
        """Is the load displaced so far that it counts as the effective one?"""
        return self.displaced > DISPLACED


@dataclass(frozen=True)
class Lateness:
    """What is known of the emulator's lateness.

    loads
        Ascending; empty where the recording does not tell the lateness of each line.
    said
        The emulator's own words, where it marked itself late; causes: who took its processor, if that was
        seen.
    lines
        By line, in the order of time: load, time sent, seconds late.
    """

    loads: tuple[LateLoad, ...]
    said: str
    causes: tuple[str, ...]
    lines: tuple[Floats, Floats, Floats]

    @property
    def late_loads(self) -> tuple[LateLoad, ...]:
        """Loads with more than one late line in 100."""
        return tuple(load for load in self.loads if load.late > LATE_PART)

    @property
    def matters(self) -> bool:
        """Was any load displaced, or any load's responses disturbed, by more than a tenth? Also where the
        emulator marked itself late and the lines do not tell by how much."""
        if not self.loads:
            return bool(self.said)
        return any(load.corrected or load.disturbed > DISTURBED for load in self.loads)

    @property
    def words(self) -> str:
        """The clause of a warning; empty: no line to speak of was late."""
        late = self.late_loads
        if not late:
            return f"{self.said}{self._by}" if self.said else ""
        text = f"lines late by 10 ms or more: {len(late)} of {len(self.loads)} steps"
        answered = [load.response_s for load in late if load.response_s is not None]
        if answered:
            text += f", their mean response {_range(min(answered), max(answered))} s"
        text += f": the load is displaced by at most {_percent(max(x.displaced for x in self.loads))}"
        hanging = [
            f"the load of {x.users} users counts as {x.effective:.3g}" for x in self.loads if x.corrected
        ]
        hanging += [
            f"{_percent(x.disturbed)} of the responses at {x.users} users are disturbed by more than a tenth"
            for x in self.loads
            if x.disturbed > DISTURBED
        ]
        text += f"; what hangs on it: {'; '.join(hanging) if hanging else 'nothing'}"
        return text + (f" ({self.said}{self._by})" if self.said else self._by)

    @property
    def _by(self) -> str:
        return "".join(f": {cause}" for cause in self.causes[:1])

    def displaced(self, reduction: Reduction) -> Floats:
        """Part of the users' time in which lines were late, by observation."""
        _, sent, late = self.lines
        ends = [np.asarray(reduction.observations[name], dtype=np.float64) / 1e9 for name in ("t0", "t1")]
        first, last = (_integral(sent - late, sent, at) for at in ends)
        whole = np.maximum(reduction.load * reduction.seconds, 1e-9)
        return np.asarray(np.clip((last - first) / whole, 0, 1))

    def applied(self, reduction: Reduction) -> tuple[Reduction, tuple[str, ...]]:
        """The observations to judge saturation by, and what was done to them in words.

        A load that is displaced by more than a tenth counts as what was there of it. Of the others an
        observation that is displaced so far is left out, if no more than half of the load's observations are.
        """
        if reduction.load_axis != "users" or not self.loads or not np.any(self.lines[2] > 0):
            return reduction, ()
        load, number = reduction.load.copy(), reduction.number.copy()
        part, left_out, corrected = self.displaced(reduction), 0, []
        for one in self.loads:
            own = reduction.load == one.users
            far = own & (number >= 0) & (part > DISPLACED)
            if one.corrected or far.sum() > 0.5 * (own & (number >= 0)).sum():
                load[own] = one.effective
                corrected.append(one)
            else:
                number[far] = -1
                left_out += int(far.sum())
        done = []
        if left_out:
            done.append(
                f"{left_out} of {int((reduction.number >= 0).sum())} observations left out: late lines "
                f"displaced more than {DISPLACED:.0%} of the load"
            )
        if corrected:
            which = ", ".join(f"{x.users} as {x.effective:.3g}" for x in corrected)
            done.append(
                f"loads corrected to what was there, since lines were late or held back: {which} users"
            )
        return (replace(reduction, load=load, number=number) if done else reduction), tuple(done)


def lateness_of(recording: Source) -> Lateness | None:
    """How late lines were; ``None``: the recording has no emulated users, or tells nothing of it."""
    terminal = recording.sources.get("terminal", {})
    said = _said(terminal) if marked_late(terminal) else ""
    connection = reading(recording)
    rows = connection.execute(_LINES).fetchnumpy()
    windows = connection.execute(_WINDOWS).fetchall()
    users = np.asarray(rows["users"], dtype=np.float64)
    sent, late = (np.asarray(rows[name], dtype=np.float64) for name in ("sent_ns", "late_us"))
    response = np.asarray(rows["response_us"], dtype=np.float64)
    if not said and not len(users):
        return None
    loads = tuple(
        _of_load(int(n), windows, sent[users == n], late[users == n], response[users == n])
        for n in np.unique(users)
    )
    found = Lateness(loads, said, (), (users, sent / 1e9, late / 1e6))
    return replace(found, causes=tuple(_taken(connection))) if said or found.late_loads else found


def marked_late(terminal: Mapping[str, Any]) -> bool:
    """Does the emulator say of itself that it was late? Before recordings had `late` they had `valid`."""
    return terminal.get("late") is True or terminal.get("valid") is False


def with_and_without(verdict: Saturation, plain: Saturation, done: tuple[str, ...]) -> Saturation:
    """The verdict with what was done about late lines, and what it would be without."""
    if not done:
        return verdict
    would = {"not-saturated": "not saturated in the range seen", "nongranular": "no number of users"}.get(
        plain.outcome, "no answer"
    )
    if plain.at is not None:
        would = f"saturated at {plain.at.value:.3g} [{plain.at.low:.3g}, {plain.at.high:.3g}] users"
    return replace(verdict, reasons=(*verdict.reasons, f"{'; '.join(done)}. Without that: {would}"))


def _of_load(users: int, windows: list[Any], sent: Floats, late: Floats, response: Floats) -> LateLoad:
    is_late = late >= LATE_US
    far = is_late & (late > DISTURBED * response)
    # A recording without marks: from the first line to the last.
    own = [(t0, t1) for n, t0, t1 in windows if n == users] or [(sent.min(), sent.max())]
    first, last = (
        _integral(sent - 1e3 * late, sent, np.array(ends, dtype=np.float64))
        for ends in zip(*own, strict=True)
    )
    seconds = sum(t1 - t0 for t0, t1 in own) / 1e9
    answered = response[is_late & np.isfinite(response)]
    return LateLoad(
        users,
        len(late),
        float(is_late.mean()),
        float(far.mean()),
        float(np.clip((last - first).sum() / 1e9 / max(1e-9, users * seconds), 0, 0.99)),
        float(answered.mean()) / 1e6 if len(answered) else None,
    )


def _integral(begin: Floats, end: Floats, at: Floats) -> Floats:
    """Time that lines were late up to each moment: sum of (T - begin) over those begun less those ended."""

    def past(moments: Floats) -> Floats:
        ordered = np.sort(moments)
        sums = np.concatenate([[0.0], np.cumsum(ordered)])
        count = np.searchsorted(ordered, at, side="right")
        return np.asarray(count * at - sums[count])

    return past(begin) - past(end)


def _said(terminal: Mapping[str, Any]) -> str:
    late = terminal.get("lateness", {}).get("p99_us")
    cost = terminal.get("cost", {})
    busiest = cost.get("window_busiest_share") or cost.get("window_processor_share")
    found = []
    if late is not None and late > LATE_US:
        found.append(f"the emulator was late (1 line in 100 by {late / 1000:.1f} ms or more)")
    if busiest is not None and busiest > MOST_BUSY:
        found.append(f"the emulator, or an ssh of its lines, used {busiest:.0%} of a processor")
    if cost.get("lines_held"):
        found.append("the emulator held lines back")
    return " and ".join(found) or "the emulator was late"


def _taken(connection: Any) -> list[str]:
    bounds = connection.execute(_BOUNDS).fetchone()
    if bounds is None or None in bounds:
        return []
    processor, steal = connection.execute(_STEAL, bounds).fetchone() or (None, None)
    (others,) = connection.execute(_OTHERS, bounds).fetchone() or (None,)
    (count,) = connection.execute("SELECT count(DISTINCT processor) FROM processor").fetchone() or (0,)
    found = []
    if steal is not None and steal > STEAL_PART:
        found.append(f"the hypervisor took {steal:.0%} of processor {processor}")
    if others is not None and count and others / count > OTHERS_PART:
        found.append(f"others on this host took {others / count:.0%} of the processors")
    return found


def _percent(part: float) -> str:
    return f"{part:.0%}" if part >= 0.095 or part == 0 else f"{100 * part:.1g} %".replace(" %", "%")


def _range(low: float, high: float) -> str:
    first, last = f"{low:.2g}", f"{high:.2g}"
    return first if first == last else f"{first}-{last}"
