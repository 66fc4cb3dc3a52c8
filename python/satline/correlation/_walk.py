"""The walk from symptom to culprit, kept beside the recording [Bitner].

A small TOML file: one step for each PQM, with what was found and which hit was followed. `--pqm` begins a new
walk in the same file, `--then` goes on with the last.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from satline.correlation._correlate import Correlation
from satline.errors import InputError
from satline.recording.describe import read_toml, write_toml_atomically

KEPT = 20
FORMAT = 1


def beside(recording: Path) -> Path:
    """Where the walk through a recording is kept: ``NAME.satline.walk.toml``."""
    whole = recording.absolute()
    return whole.with_name(f"{whole.name}.walk.toml")


def read_walk(file: Path) -> dict[str, Any]:
    """A walk.

    Raises
    ------
    InputError
        There is none, or it is no walk.
    """
    content = read_toml(file, hint="`satline analyse correlate RECORDING --pqm VARIABLE` begins a walk")
    steps = content.get("step")
    good = content.get("format") == FORMAT and isinstance(steps, list) and steps
    if not good or not all(_sound(step) for step in steps or []):
        raise InputError(f"{file}: is no walk", hint="delete it, and begin again with --pqm")
    return content


def _sound(step: object) -> bool:
    if not isinstance(step, Mapping) or not isinstance(step.get("pqm"), str):
        return False
    hits = step.get("hit", [])
    numbers = ("lag_s", "q", "pearson", "spearman")
    return isinstance(hits, list) and all(
        isinstance(h, Mapping)
        and isinstance(h.get("name"), str)
        and all(isinstance(h[n], int | float) for n in numbers if n in h)
        for h in hits
    )


def following(walk: Mapping[str, Any], hit: str) -> str:
    """The name of the hit to follow: its number in the last step, or its name.

    Raises
    ------
    InputError
        The last step has no such hit.
    """
    hits = walk["step"][-1].get("hit", [])
    if hit.isdigit():
        if not 1 <= int(hit) <= len(hits):
            raise InputError(
                f"--then {hit}: the last step has {len(hits)} hits", hint="give the name instead"
            )
        return str(hits[int(hit) - 1]["name"])
    return hit


def add_step(
    file: Path, recording: str, found: Correlation, *, followed: str = "", now: datetime | None = None
) -> None:
    """Add a step to the walk in `file`, and make the file where there is none."""
    walk: dict[str, Any] = {"format": FORMAT, "recording": recording, "step": []}
    if file.exists():
        walk = read_walk(file)
    if followed:
        walk["step"][-1]["then"] = followed
    hits = [
        {
            "name": str(h.name),
            **{k: v for k, v in (("pearson", h.pearson), ("spearman", h.spearman)) if not math.isnan(v)},
            "lag_s": h.lag_s,
            "q": h.q,
            "alike": len(h.members) - 1,
        }
        for h in found.found[:KEPT]
    ]
    walk["step"].append(
        {
            "pqm": str(found.pqm),
            "time": (now or datetime.now(UTC)).replace(microsecond=0),
            "begins": not followed,
            "given": list(found.given),
            "tested": found.tested,
            "found": sum(len(h.members) for h in found.found),
            "rate": found.rate,
            "hit": hits,
        }
    )
    write_toml_atomically(file, walk)


def story(walk: Mapping[str, Any]) -> list[str]:
    """The walk told in lines: a step each, with the hits that were not followed in a word."""
    lines = [f"The walk through {walk.get('recording', 'a recording')}"]
    for number, step in enumerate(walk["step"]):
        if step.get("begins") or number == 0:
            lines += ["", f"It begins with {step['pqm']}{_given(step)}."]
        hits = step.get("hit", [])
        then = step.get("then", "")
        tested, found = step.get("tested", "?"), step.get("found", len(hits))
        lines.append(f"  {found} of {tested} series surely move with {step['pqm']}.")
        chosen = next((h for h in hits if h["name"] == then), None)
        if hits and chosen is not hits[0]:
            lines.append(f"  Strongest: {_hit(hits[0])}.")
        if then:
            lines.append(f"→ {_hit(chosen)}" if chosen else f"→ {then}, which was not among its hits")
    last = walk["step"][-1]
    if not last.get("hit"):
        lines.append(f"It ends here: nothing surely moves with {last['pqm']}.")
    elif not last.get("then"):
        lines.append("It stands here; --then HIT goes on.")
    return lines


def _given(step: Mapping[str, Any]) -> str:
    given = step.get("given") or []
    return f", at equal {' and '.join(map(str, given))}" if given else ""


def _hit(hit: Mapping[str, Any]) -> str:
    words = [f"{hit[k]:.3f} {w}" for k, w in (("pearson", "(r)"), ("spearman", "(rank)")) if k in hit]
    lag = hit.get("lag_s", 0)
    when = f", {abs(lag):g} s {'before' if lag > 0 else 'after'} it" if lag else ""
    alike = f", with {hit['alike']} like it" if hit.get("alike") else ""
    return f"{hit['name']}: {' '.join(words)}{when}{alike}"
