"""Whom users wait for, as the kernel told it to the monitor (`satline record --waits`).

A user's waits are sums over its threads. Who ends a wait for a lock held it; who ends one for another
process answered it. Waits that nobody known ended (a timer, a packet from outside, one under way) are in the
users' sums alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from satline.diagnosis._courses import ROUNDING_NS
from satline.diagnosis._held import MOST_NAMED, listed
from satline.diagnosis._histories import Histories
from satline.diagnosis._use import Floats, Mask

Cause = Literal["mutex", "futex", "file_lock", "local"]
LOCKS: tuple[Cause, ...] = ("file_lock", "mutex")
CAUSE_WORDS: dict[str, str] = {
    "file_lock": "locks on files",
    "mutex": "locks between threads",
    "futex": "other threads",
    "local": "answers of other processes",
}
_COLUMNS = {
    "mutex": "mutex_wait_us",
    "futex": "futex_wait_us",
    "file_lock": "file_lock_wait_us",
    "local": "local_wait_us",
    "network": "network_wait_us",
}
MOST_PAIRS = 400
# A holder of at least so much of what others wait is the one to name; otherwise they hold in turn.
ONE = 0.6
# Who waits for less of the time is not named.
NAMED = 0.05
LEAST_CLIENTS = 3


@dataclass(frozen=True)
class Pair:
    """Who waited for whom.

    group, name
        Control group and command of the holder; empty: not known.
    seconds
        Of waits that ended, by observation; a wait counts where it ended.
    """

    user: str
    cause: str
    holder: str
    group: str
    name: str
    seconds: Floats

    @property
    def who(self) -> str:
        """The holder in words: user b, command reindex, orders.service."""
        named = {"_host": "the host", "_satline": "Satline", "_kernel": "the kernel"}
        parts = [named.get(self.holder, f"user {self.holder}")]
        parts += [f"command {self.name}"] if self.name else []
        unit = service(self.group)
        return (
            f"{parts[0]} ({', '.join([*parts[1:], *([unit] if unit else [])])})"
            if self.name or unit
            else parts[0]
        )


def service(group: str) -> str:
    """The service or scope that a control group's path names, the deepest; empty: none."""
    parts = [part for part in group.split("/") if part.endswith((".service", ".scope"))]
    return parts[-1] if parts else ""


@dataclass(frozen=True)
class Holder:
    """One who is waited for: its words, and its part of all that was waited."""

    user: str
    who: str
    part: float


@dataclass(frozen=True)
class Blame:
    """Who waits for something, and who holds it.

    waiting
        Mean part of the time that each of `users` waits; they wait for at least `NAMED` of it, those that
        wait most first.
    holders
        The most first.
    """

    users: tuple[str, ...]
    waiting: float
    holders: tuple[Holder, ...]

    @property
    def one(self) -> Holder | None:
        """The one that holds it most of the time; ``None``: they hold it in turn, or nobody knows."""
        return self.holders[0] if self.holders and self.holders[0].part >= ONE else None

    def held_by(self) -> str:
        """Who holds it, in words; empty: nobody knows."""
        if not self.holders:
            return ""
        one = self.one
        if one is not None:
            return f"held by {one.who} for {one.part:.0%} of that"
        parts: dict[str, float] = {}
        for h in self.holders:
            parts[h.user] = parts.get(h.user, 0.0) + h.part
        shown = [f"{user} {part:.0%}" for user, part in list(parts.items())[:MOST_NAMED]]
        more = len(parts) - len(shown)
        words = f"held in turn by user{'s' * (len(parts) > 1)} {', '.join(shown)}"
        return words + (f" and {more} more" if more > 0 else "")


class Told:
    """What the kernel told of users' waits."""

    def __init__(self, history: Histories, users: dict[str, dict[str, Floats]]) -> None:
        self._history = history
        self.users = users
        """By user and cause (those of pairs, and network), the mean number of its threads that waited in each
        observation. What waits for locks between threads is not in ``futex``."""

    @property
    def seconds(self) -> Floats:
        """Lengths of the observations."""
        return np.asarray(self._history.reduction.seconds)

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Who waited for whom: those that waited most first, Satline's own waits left out."""
        return _pairs(self._history)

    def shares(self, causes: Collection[str], where: Mask) -> dict[str, float]:
        """By user, for what part of the time it waited for these causes there; threads that wait together
        count once."""
        found = {}
        for user, own in self.users.items():
            course = np.clip(np.sum([own[cause] for cause in causes if cause in own], axis=0), 0, 1)
            found[user] = (
                float(np.average(course[where], weights=self.seconds[where])) if where.any() else 0.0
            )
        return found

    def main(self, causes: tuple[Cause, ...], users: Collection[str], where: Mask) -> tuple[Cause, ...]:
        """Those of the causes that these users wait for to speak of: at least a fifth of what they wait."""
        amount = {}
        for cause in causes:
            shares = self.shares((cause,), where)
            amount[cause] = sum(shares[user] for user in users if user in shares)
        total = sum(amount.values())
        return tuple(cause for cause in causes if total > 0 and amount[cause] >= 0.2 * total)

    def blame(self, causes: Collection[str], where: Mask, most: int = 12) -> Blame | None:
        """Who waits for these causes there and who holds what they wait for; ``None``: nobody to speak of."""
        shares = self.shares(causes, where)
        names = sorted((u for u in shares if shares[u] >= NAMED), key=lambda u: -shares[u])
        if not names:
            return None
        mean = float(np.mean([shares[user] for user in names]))
        return Blame(tuple(names), mean, self.holders(names, causes, where)[:most])

    def holders(self, users: Iterable[str], causes: Collection[str], where: Mask) -> tuple[Holder, ...]:
        """Who ended what these users waited for, the most first; where nothing ended there, at any time."""
        chosen = set(users)
        own = [pair for pair in self.pairs if pair.user in chosen and pair.cause in causes]
        for there in (where, np.ones_like(where)):
            amount: dict[tuple[str, str], float] = {}
            for pair in own:
                key = (pair.holder, pair.who)
                amount[key] = amount.get(key, 0.0) + float(np.nansum(pair.seconds[there]))
            total = sum(amount.values())
            if total > 0:
                order = sorted(amount, key=lambda key: -amount[key])
                return tuple(Holder(user, who, amount[user, who] / total) for user, who in order)
        return ()

    def asking(self, holder: str, name: str) -> tuple[Floats, tuple[str, ...]]:
        """How many threads of other users wait for an answer of this user's programs of this name, in each
        observation, and whose they are, those that wait most first.

        By each user's own time in such waits, and the part of those that ended which the program ended.
        """
        total = np.zeros(len(self.seconds))
        amount = {}
        for user, own in self.users.items():
            if user == holder or "local" not in own:
                continue
            local = [pair for pair in self.pairs if pair.user == user and pair.cause == "local"]
            every = sum(float(np.nansum(pair.seconds)) for pair in local)
            of_it = [pair for pair in local if (pair.holder, pair.name) == (holder, name)]
            if not every > 0 or not of_it:
                continue
            course = own["local"] * (sum(float(np.nansum(pair.seconds)) for pair in of_it) / every)
            total = total + course
            amount[user] = float((course * self.seconds).sum())
        return total, tuple(sorted(amount, key=lambda user: -amount[user]))

    def servers(self, where: Mask) -> list[tuple[str, tuple[str, ...], float]]:
        """Programs that at least `LEAST_CLIENTS` other users wait for: in words, with those users and the
        mean part of the time for which each of them waits there; what is waited for most comes first.

        A server waits for its clients' next requests too: a client has one server, a server many clients.
        """
        clients: dict[tuple[str, str], set[str]] = {}
        words: dict[tuple[str, str], str] = {}
        for pair in self.pairs:
            if pair.cause == "local" and pair.user != pair.holder:
                clients.setdefault((pair.holder, pair.name), set()).add(pair.user)
                words.setdefault((pair.holder, pair.name), pair.who)
        found = []
        for key, users in clients.items():
            if len(users) < LEAST_CLIENTS or not where.any():
                continue
            course, asking = self.asking(*key)
            share = float(np.average(course[where], weights=self.seconds[where])) / max(1, len(asking))
            if share >= NAMED:
                found.append((words[key], asking, min(1.0, share)))
        return sorted(found, key=lambda one: -one[2] * len(one[1]))


_KNOWN: WeakKeyDictionary[Histories, Told | None] = WeakKeyDictionary()


def told(history: Histories) -> Told | None:
    """What the kernel told; ``None`` where a recording has nothing of it."""
    if history not in _KNOWN:
        _KNOWN[history] = _told(history)
    return _KNOWN[history]


def _told(history: Histories) -> Told | None:
    has = 'SELECT 1 FROM "user" WHERE file_lock_wait_us IS NOT NULL LIMIT 1'
    if not history.connection.execute(has).fetchall():
        return None
    counters = history.counters("user", '"user"', tuple(_COLUMNS.values()), "left(\"user\", 1) <> '_'")
    # A second look by another counter: each gives those that gained most of it only.
    for first in ("file_lock_wait_us", "local_wait_us"):
        names = (first, *(name for name in _COLUMNS.values() if name != first))
        for user, own in history.counters("user", '"user"', names, "left(\"user\", 1) <> '_'").items():
            counters.setdefault(user, own)
    time_us = history.reduction.seconds * 1e6
    users = {}
    for user, own in counters.items():
        parts = {cause: np.nan_to_num(own[column]) / time_us for cause, column in _COLUMNS.items()}
        parts["futex"] = np.maximum(parts["futex"] - parts["mutex"], 0)
        users[user] = {cause: np.asarray(course) for cause, course in parts.items()}
    return Told(history, users)


def _pairs(history: Histories) -> tuple[Pair, ...]:
    entity = (
        "concat_ws(chr(31), \"user\", cause, holder, coalesce(holder_cgroup, ''), coalesce(holder_name, ''))"
    )
    # Sums begin at 0 with the run, and a row stands where one has changed: all of a gain is of the sample.
    rows = history.connection.execute(f"""
        WITH gain AS (
            SELECT run, monotonic_ns - {ROUNDING_NS} AS t, {entity} AS entity,
                wait_us - coalesce(lag(wait_us) OVER w, 0) AS gained
            FROM holder WHERE left("user", 1) <> '_'
            WINDOW w AS (PARTITION BY run, {entity}, cgroup ORDER BY monotonic_ns)),
        placed AS (
            SELECT o.place, g.entity, g.gained FROM gain g
            ASOF JOIN history_observation o ON g.run = o.run AND g.t > o.t0 WHERE g.t <= o.t1),
        most AS (
            SELECT entity FROM placed GROUP BY entity ORDER BY sum(gained) DESC, entity LIMIT {MOST_PAIRS})
        SELECT entity, place, sum(gained) / 1e6 AS seconds FROM placed JOIN most USING (entity)
        GROUP BY entity, place""").fetchall()
    courses: dict[str, Floats] = {}
    for who, place, seconds in rows:
        courses.setdefault(who, np.zeros(history.length))[place] += float(seconds)
    found = []
    for who, course in courses.items():
        user, cause, holder, group, name = who.split(chr(31))
        found.append(Pair(user, cause, holder, group, name, course))
    return tuple(sorted(found, key=lambda pair: -float(pair.seconds.sum())))


def waiting_words(blame: Blame, causes: Collection[str]) -> str:
    """Who waits for what, for how much of the time, and who holds it."""
    what = " and ".join(CAUSE_WORDS[cause] for cause in causes)
    verb = "wait" if len(blame.users) > 1 else "waits"
    text = f"{listed(list(blame.users))} {verb} for {what} {blame.waiting:.0%} of the time"
    held = blame.held_by()
    return f"{text}, {held}" if held else text
