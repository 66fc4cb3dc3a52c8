"""Power loss: what a program wrote and synced, replayed to every prefix, the recording opened after each."""

from __future__ import annotations

import hashlib
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import shim
from disk import Event, Tree, read_log, read_tree, states
from recovery import NAME, Rows, Writers, judge, rows_of

from satline.recording import Recording

WORK = Path(__file__).with_name("work.py")


@dataclass
class Outcome:
    """Of the states of one scenario: how many there were, and what was wrong."""

    scenario: str
    prefixes: int = 0
    states: int = 0
    wrong: list[tuple[int, str, str]] = field(default_factory=list)

    def kinds(self) -> Counter[str]:
        """What was wrong, counted by its words without numbers."""
        return Counter(" ".join(w for w in what.split() if not w.isdigit()) for _, _, what in self.wrong)


Commands = Callable[[Path], list[list[str]]]


def _work(*tasks: str) -> Commands:
    return lambda recording: [[sys.executable, str(WORK), task, str(recording)] for task in tasks]


def _monitor(recording: Path) -> list[list[str]]:
    return [shim.monitor(recording, "2500ms")]


def _monitor_twice(recording: Path) -> list[list[str]]:
    rest = [sys.executable, str(WORK), "rest", str(recording)]
    return [shim.monitor(recording, "700ms"), rest, shim.monitor(recording, "700ms"), rest]


SCENARIOS: dict[str, Commands] = {
    "writer": _work("write"),
    "writer, synced at its end": _work("late_write"),
    "descriptions of a study": _work("descriptions"),
    "compaction": _work("write", "rest"),
    "resumed": _work("write", "rest", "go_on"),
    "a day let go": _work("days", "let_go"),
    "sealed": _work("write", "rest", "seal"),
    "sealed before compaction": _work("write", "seal", "rest"),
    "monitor": _monitor,
    "monitor, compacted, continued": _monitor_twice,
}


def log_of(commands: Commands, root: Path, place: Path) -> list[Event]:
    """The log of a scenario, which runs below `root`; it must tell all that was done to the disk."""
    log = place / "log"
    root.mkdir(parents=True)
    environment = shim.environment(root, log=log)
    for command in commands(root / NAME):
        done = shim.run(command, environment)
        assert done.returncode == 0, (command, done.stderr)
    events = read_log(log)
    writers = Writers(root, place)
    for event in events:
        writers.play(event)
    assert writers.now() == read_tree(root), "the log does not tell all that was written"
    return events


def prefixes(
    events: list[Event], root: Path, place: Path, remaining: Rows | None = None
) -> Iterator[tuple[int, Writers]]:
    """The disk and its writers after each event; `remaining`: see `Writers`."""
    writers = Writers(root, place, remaining=remaining)
    for number, event in enumerate(events, start=1):
        writers.play(event)
        yield number, writers


def replay(
    name: str, place: Path, draw: random.Random, *, most: int | None = None, drawn: int = 4
) -> Outcome:
    """Run a scenario once, and judge what the power may leave of it; see `judged`."""
    place = place.resolve()
    root = place / "made"
    events = log_of(SCENARIOS[name], root, place)
    remaining = rows_of(Recording.open(root / NAME))
    return judged(name, events, root, place, draw, most=most, drawn=drawn, remaining=remaining)


def judged(
    name: str,
    events: list[Event],
    root: Path,
    place: Path,
    draw: random.Random,
    *,
    most: int | None = None,
    drawn: int = 4,
    remaining: Rows | None = None,
) -> Outcome:
    """Judge what the power may leave after each prefix of a log.

    Parameters
    ----------
    most
        At most about so many states, chosen evenly; default: all.
    drawn
        Disks drawn at random for each prefix, beside the extremes.
    remaining
        Rows that are there at the end, where days were let go.
    """
    outcome = Outcome(name)
    share = 1.0 if most is None else min(1.0, most / ((8 + drawn) * len(events)))
    seen: set[bytes] = set()
    for number, writers in prefixes(events, root, place, remaining):
        outcome.prefixes += 1
        chosen = [
            (kind, make()) for kind, make in states(writers.disk, draw, drawn=drawn) if draw.random() < share
        ]
        if not chosen:
            continue
        written, promised = writers.written(), writers.promised()
        for kind, state in chosen:
            key = _known_by(state, len(promised), len(writers.marks))
            if key in seen:
                continue
            seen.add(key)
            outcome.states += 1
            target = place / "lost" / str(outcome.states)
            problems = judge(writers, state, target, written=written, promised=promised)
            outcome.wrong += [(number, kind, problem) for problem in problems]
            shutil.rmtree(target, ignore_errors=True)
    return outcome


def _known_by(state: Tree, *also: int) -> bytes:
    """Alike for disks of which one need be judged: of a temporary file only the name counts."""
    digest = hashlib.sha256(repr(also).encode())
    for place, data in sorted(state.items()):
        name = place.rpartition("/")[2]
        unread = name.startswith(".") and name.endswith(".tmp")
        digest.update(
            repr((place, None if unread or data is None else hashlib.sha256(data).digest())).encode()
        )
    return digest.digest()
