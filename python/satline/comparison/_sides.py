"""Which recordings stand on which side, and where one recording is cut."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from satline.errors import InputError
from satline.recording import Recording

LONGEST = 60


@dataclass(frozen=True)
class Note:
    """An annotation: a person's words at a moment, in seconds since 1970."""

    time_s: float
    text: str


def find_recordings(texts: Iterable[str]) -> list[Path]:
    """Recordings that the texts name, each once, in their order.

    A text is a recording, a directory of recordings (the runs of one arm), a pattern with ``*``, ``?`` or
    ``[``, or several of these with commas between them.

    Raises
    ------
    InputError
        A pattern that nothing matches, or a directory without recordings.
    """
    found: dict[Path, None] = {}
    for text in texts:
        found |= dict.fromkeys(_named(text))
    return list(found)


def _named(text: str) -> list[Path]:
    path = Path(text)
    if path.exists():
        if not path.is_dir() or (path / "recording.toml").exists():
            return [path]
        inside = sorted(p.parent for p in path.glob("*/recording.toml"))
        if inside:
            return inside
        # The recording itself says what is wrong with it.
        return [path]
    if "," in text:
        return [p for part in text.split(",") if part.strip() for p in _named(part.strip())]
    if glob.has_magic(text):
        matches = [Path(m) for m in sorted(glob.glob(text)) if (Path(m) / "recording.toml").exists()]
        if not matches:
            raise InputError(f"{text}: no recording matches", hint="recordings are directories NAME.satline")
        return matches
    return [path]


def notes_of(recording: Recording) -> list[Note]:
    """The annotations of a recording, in the order of time; what a hostile file calls so is left out."""
    notes = []
    for one in recording.description.get("annotation", ()):
        time = one.get("time")
        if isinstance(time, datetime):
            moment = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
            notes.append(Note(moment.timestamp(), str(one.get("text", ""))))
    rows = (
        recording.reading(tables=("event",))
        .execute("SELECT time_ns, text FROM event WHERE event = 'annotation' AND time_ns IS NOT NULL")
        .fetchall()
    )
    notes += [Note(ns / 1e9, str(text or "")) for ns, text in rows]
    return sorted(notes, key=lambda n: n.time_s)


def moment_of(recording: Recording, text: str) -> float:
    """When the one annotation that holds `text` was made; capitals do not matter.

    Raises
    ------
    InputError
        None does, or several do.
    """
    notes = notes_of(recording)
    fitting = [n for n in notes if text.casefold() in n.text.casefold()]
    if len(fitting) == 1:
        return fitting[0].time_s
    if not notes:
        raise InputError(
            f"{recording.path}: it has no annotations",
            hint='cut it with --at TIME; `satline recording annotate RECORDING "what changed"` makes one',
        )
    which = fitting or notes
    listed = "; ".join(f"{n.text[:LONGEST]!r} at {clock(n.time_s)}" for n in which[:6])
    raise InputError(
        f"{recording.path}: {len(fitting) or 'no'} annotations hold {text!r}",
        hint=f"it has: {listed}" + ("; and more" if len(which) > 6 else ""),
    )


def clock(time_s: float) -> str:
    """A moment in UTC, as in 2026-11-01 12:00."""
    try:
        return f"{datetime.fromtimestamp(time_s, UTC):%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return "a time without a date"


def check_apart(before: Sequence[Path], after: Sequence[Path]) -> None:
    """InputError where a recording stands on both sides."""
    both = {p.resolve() for p in before} & {p.resolve() for p in after}
    if both:
        raise InputError(
            f"{min(both)} is on both sides",
            hint="name it once, and cut it: --at 2026-11-01T12:00, or --at-annotation TEXT",
        )
