"""Where a designed study keeps its runs: plan.json first, then a recording for each, so that it can go on."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from satline.atomic import replace_file
from satline.errors import InputError
from satline.experiment.designs import Factor, Plan, Run
from satline.outside import parse_json

VERSION = 1


@dataclass(frozen=True)
class Attempt:
    """One attempt at a run that has ended.

    outcome
        ``complete``, ``late`` (the emulator was, so that it matters; it is run again), ``failed``,
        ``interrupted``.
    flags
        How its conditions differed from those of the others.
    """

    run: int
    outcome: str
    recording: str | None
    seconds: float
    reason: str = ""
    flags: list[str] = field(default_factory=list)
    state: dict[str, Any] | None = None


class Store:
    """The directory of a designed study.

    Parameters
    ----------
    path
        It; made by `begin`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def begun(self, digest: str, study: Path) -> Plan | None:
        """The plan of a study that was begun here; ``None``: nothing is here yet.

        Raises
        ------
        InputError
            Something else is here, or the study has changed since.
        """
        if not self.path.exists() or (self.path.is_dir() and not any(self.path.iterdir())):
            return None
        file = self.path / "plan.json"
        if not file.is_file():
            raise InputError(
                f"{self.path} is there already, and holds no runs of a designed study",
                hint="name another directory, or delete it",
            )
        try:
            content = parse_json(file.read_text(encoding="utf-8"))
            same, plan = content["digest"] == digest, _plan(content)
            version = content["satline_design"]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{file}: not a plan: {error!r}", hint="name another directory") from None
        if version != VERSION:
            raise InputError(
                f"{file} is of version {version}, not {VERSION}", hint="use the Satline that began it"
            )
        if not same:
            raise InputError(
                f"{study}, or a file or program that it uses, has changed since {self.path} was begun",
                hint="undo the change to go on, or begin anew in another directory with --output",
            )
        return plan

    def begin(self, plan: Plan, digest: str, study: str, text: str) -> None:
        """Write the plan, durably, before anything runs."""
        try:
            (self.path / "runs").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{self.path}: {error.strerror}", hint="name another place with --output"
            ) from None
        content = {
            "satline_design": VERSION,
            "study": study,
            "digest": digest,
            "seed": plan.seed,
            "replicates": plan.replicates,
            "blocks": plan.blocks,
            "confounded": list(plan.confounded),
            "factors": {factor.name: list(factor.levels) for factor in plan.factors},
            "runs": _rows(plan),
            "source": text,
        }
        _write(self.path / "plan.json", json.dumps(content, indent=1) + "\n")

    def extend(self, plan: Plan) -> None:
        """Put a plan that has further runs in the place of the one that was begun, durably."""
        file = self.path / "plan.json"
        content = {**parse_json(file.read_text(encoding="utf-8")), "runs": _rows(plan)}
        _write(file, json.dumps(content, indent=1) + "\n")

    def recording(self, run: Run) -> Path:
        """Where the recording of a run is."""
        levels = "_".join(f"{name}-{level}" for name, level in run.levels.items())
        return self.path / "runs" / f"{run.number:03}-{_safe(levels)}.satline"

    def finished(self, run: Run, digest: str) -> bool:
        """Is the run's recording there, complete, and of this plan's cell?"""
        from satline.recording import describe

        try:
            description = describe.read(self.recording(run))
        except InputError:
            return False
        if description["recording"].get("end_reason") != "complete":
            return False
        said = description.get("study", {}).get("design", {})
        return all(said.get(key) == value for key, value in self.place(run, digest).items())

    def place(self, run: Run, digest: str) -> dict[str, Any]:
        """What the recording of a run says of its place in the design."""
        place = {"digest": digest, "run": run.number, "replicate": run.replicate, "levels": dict(run.levels)}
        return place if run.block is None else {**place, "block": run.block}

    def set_aside(self, run: Run) -> Path | None:
        """Make room for a run: what is in its place is kept under another name."""
        old = self.recording(run)
        if not old.exists():
            return None
        aside = self.path / "aside"
        aside.mkdir(exist_ok=True)
        number = 1
        while (new := aside / f"{old.stem}-{number}.satline").exists():
            number += 1
        old.rename(new)
        return new

    def log(self, attempt: Attempt) -> None:
        """Append to log.jsonl; durable when this returns."""
        line = json.dumps(asdict(attempt)).encode() + b"\n"
        descriptor = os.open(
            self.path / "log.jsonl", os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644
        )
        try:
            end = os.lseek(descriptor, 0, os.SEEK_END)
            if end and os.pread(descriptor, 1, end - 1) != b"\n":  # a kill cut the last line
                line = b"\n" + line
            os.write(descriptor, line)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def attempts(self) -> dict[int, Attempt]:
        """The last attempt at each run; a line that was cut is left out."""
        found: dict[int, Attempt] = {}
        try:
            lines = (self.path / "log.jsonl").read_bytes().splitlines()
        except FileNotFoundError:
            return found
        for line in lines:
            try:
                attempt = Attempt(**parse_json(line))
            except (ValueError, TypeError):
                continue
            found[attempt.run] = attempt
        return found


def digest_of(text: str, parts: Sequence[str]) -> str:
    """Of all that decides what the runs of a study are."""
    return hashlib.sha256("\0".join([text, *parts]).encode()).hexdigest()[:32]


def _rows(plan: Plan) -> list[dict[str, Any]]:
    return [
        {"run": r.number, "block": r.block, "replicate": r.replicate, "levels": dict(r.levels)}
        for r in plan.runs
    ]


def _plan(content: Mapping[str, Any]) -> Plan:
    runs = [Run(int(r["run"]), r["block"], int(r["replicate"]), dict(r["levels"])) for r in content["runs"]]
    return Plan(
        tuple(Factor(name, tuple(levels)) for name, levels in content["factors"].items()),
        tuple(runs),
        content["replicates"],
        content["seed"],
        confounded=tuple(content["confounded"]),
        blocks=content["blocks"],
    )


def _safe(text: str) -> str:
    """A part of a file's name.

    >>> _safe("memory-32 MB_disks-1")
    'memory-32-MB_disks-1'
    """
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.")[:80] or "cell"


def _write(path: Path, text: str) -> None:
    replace_file(path, text.encode())
