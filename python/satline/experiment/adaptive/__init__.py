"""Steps that are chosen while a study runs: what the recording holds → a decision → the next step.

The path of a search is in its recording: ``[study.search]`` and its decisions, and an event for each.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satline.errors import InputError

if TYPE_CHECKING:
    from satline.experiment.search import Decision


@dataclass(frozen=True)
class Trail:
    """The search that made a recording.

    search
        What it might do: limits, width, time, targets, seed.
    decisions
        As `Decision.as_json` has them, in order; null values are absent.
    """

    search: Mapping[str, Any]
    decisions: tuple[Mapping[str, Any], ...]

    @property
    def last(self) -> Mapping[str, Any] | None:
        """The latest decision."""
        return self.decisions[-1] if self.decisions else None


def trail_of(description: Mapping[str, Any], path: Path) -> Trail:
    """The path that a recording's description holds.

    Raises
    ------
    InputError
        Its steps were not chosen by a search, or recording.toml is broken there.
    """
    search = description.get("study", {}).get("search")
    if not isinstance(search, dict):
        raise InputError(
            f"{path}: its steps were not chosen by a search",
            hint="`satline study NAME` with adaptive steps makes a recording that has a path",
        )
    decisions = search.get("decision", [])
    if not isinstance(decisions, list) or not all(isinstance(one, dict) for one in decisions):
        raise InputError(
            f"{path / 'recording.toml'}: study.search.decision is no list of sections",
            hint="restore it from a copy, or take it out",
        )
    stated = {key: value for key, value in search.items() if key != "decision"}
    return Trail(stated, tuple(decisions))


class Diary:
    """Writes decisions into a recording as they are made; the emulator has been told before.

    Parameters
    ----------
    before
        Decisions of earlier runs into this recording.
    """

    def __init__(self, recording: Path, before: Sequence[Mapping[str, Any]] = ()) -> None:
        self._recording = recording
        self._decisions: list[Mapping[str, Any]] = list(before)

    def note(self, decision: Decision) -> None:
        """Write it.

        Raises
        ------
        DiskFullError, InputError
            The recording cannot be written.
        """
        from satline.recording import RecordingWriter, describe

        now = {"time_ns": time.time_ns(), "monotonic_ns": time.monotonic_ns()}
        self._decisions.append(decision.as_json())
        row = {
            "source": "study",
            "event": "decision",
            "users": decision.users,
            "value": float(decision.window_s),
            "text": decision.why,
        }
        with RecordingWriter(self._recording, "study") as writer:
            writer.write_rows("event", [{**now, **row}])
        describe.update(self._recording, {"study": {"search": {"decision": self._decisions}}})
