"""The same plant as other collectors saw it: their archives diagnosed, and held against `satline record`.

An archive's verdict

agrees    names first what the verdict of `satline record` names first, or neither names anything;
less      names nothing, and says which signals it lacks for the rule that the native verdict rests on;
silent    names nothing, and does not say why;
host      names the CPU where the host's CPU was full for that part of the time by `record` too, whatever was
          planted: true of the host, and all that can be seen of it without users' waits; it says what lacks;
other     names something else, with a chance below 0.8;
wrong     names with a chance of 0.8 or more what is neither planted nor full.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from collectors import FROM

# What is one remedy's matter: memory that is too small is paging.
ALIKE = {"paging": "storage", "paging and io": "storage", "supervisor": "processor"}
SURE = 0.8
ALIKE_PART = 0.1


def component(finding: dict[str, Any]) -> str:
    """What a finding names, alike where it is the same thing."""
    name = str(finding["component"])
    return ALIKE.get(name, name)


def named(verdict: dict[str, Any]) -> dict[str, Any] | None:
    """The first finding that names a component."""
    return next((f for f in verdict["findings"] if f["component"] != "none"), None)


def surety(finding: dict[str, Any]) -> float:
    """How sure a finding is: its chance, else its strength."""
    chance = finding.get("chance")
    return float(finding["strength"] if chance is None else chance)


def cpu_short(verdict: dict[str, Any]) -> float:
    """The part of the time in which the host's CPU was full, by this verdict."""
    uses = (verdict["standing"] or {}).get("uses", ())
    return next((float(u["short"]) for u in uses if u["resource"] == "CPU"), 0.0)


def verdicts(place: Path, environment: dict[str, str], again: bool) -> dict[str, dict[str, Any]]:
    """By collector, the verdict from its archive; an "error" where there is none."""
    found: dict[str, dict[str, Any]] = {}
    for name, file in FROM.items():
        kept = place / f"verdict-{name}.json"
        if not (place / file).exists():
            continue
        if again or not kept.exists():
            kept.write_text(json.dumps(_verdict(place / file, place / f"{name}.satline", environment)))
        found[name] = json.loads(kept.read_text())
    return found


def _verdict(archive: Path, recording: Path, environment: dict[str, str]) -> dict[str, Any]:
    shutil.rmtree(recording, ignore_errors=True)
    for words in (
        ["import", str(archive), "-o", str(recording)],
        ["diagnose", str(recording), "--json"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "satline.cli", *words],
            capture_output=True,
            text=True,
            env=environment,
        )
        if done.returncode not in (0, 1):
            return {"error": f"{words[0]}: {done.stderr.strip()}"}
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def compared(truth: dict[str, Any], native: dict[str, Any], verdict: dict[str, Any]) -> dict[str, Any]:
    """One archive's verdict beside the native one."""
    if "error" in verdict:
        return {"outcome": "silent", "why": verdict["error"]}
    right = {ALIKE.get(name, name) for name in truth["components"]} or {"processor"}
    first, wanted = named(verdict), named(native)
    part, own = cpu_short(native), cpu_short(verdict)
    full = part >= ALIKE_PART and abs(part - own) <= ALIKE_PART
    sure = [
        f"{f['rule']} {surety(f):.2f}"
        for f in verdict["findings"]
        if f["component"] != "none"
        and component(f) not in right | ({"processor"} if full else set())
        and surety(f) >= SURE
    ]
    lacking = sorted({u["signal"] for u in verdict["unseen"] if wanted and wanted["rule"] in u["rules"]})
    if sure:
        outcome, why = "wrong", "; ".join(sure)
    elif (first is None) == (wanted is None) and (
        first is None or wanted is None or component(first) == component(wanted)
    ):
        outcome, why = "agrees", "" if first is None else f"{first['rule']} {surety(first):.2f}"
    elif first is not None and full and component(first) == "processor":
        outcome, why = "host", f"{first['rule']} {surety(first):.2f}"
        if lacking:
            why += f"; lacks {', '.join(lacking)}"
    elif first is not None:
        outcome, why = "other", f"{first['rule']} {surety(first):.2f}"
        if lacking:
            why += f"; lacks {', '.join(lacking)}"
    elif lacking:
        outcome, why = "less", f"lacks {', '.join(lacking)}"
    else:
        outcome, why = "silent", ""
    return {"outcome": outcome, "why": why, "headline": verdict["headline"]}
