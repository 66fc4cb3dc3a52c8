"""Workload files for the emulator.

Think times as it knows them, lines that it leaves as they are, its own check.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomli_w

from satline.errors import InputError, SatlineError
from satline.workload._blocks import Distribution, Typing
from satline.workload._session import Line

SHELL = ["bash", "--noprofile", "--norc", "-i"]
_PLACE = re.compile(r"\{(?=(?:user|number)\}|(?:random|pick):)")
_ENDS = re.compile(r"\s*(?:exit|logout|exec)\b")


def think_key(think: Distribution) -> dict[str, Any]:
    """The key ``think`` of a workload.

    A table where this emulator has none becomes the lognormal of its mean and spread.
    """
    mean, sd = min(think.mean_seconds, 86400.0), think.sd_seconds or 0.0
    if think.distribution == "table":
        key = {"distribution": "table", "quantiles_seconds": think.quantiles_seconds}
        if _knows(key):
            return key
        return {"distribution": "lognormal", "mean_seconds": mean, "sd_seconds": sd}
    if think.distribution == "lognormal":
        return {"distribution": "lognormal", "mean_seconds": mean, "sd_seconds": sd}
    return {"distribution": think.distribution, "mean_seconds": mean}


def distribution_of(key: dict[str, Any]) -> Distribution:
    """The distribution that a key ``think`` means."""
    return Distribution.model_validate(
        {"mean_seconds": 0.0}
        | {name: value for name, value in key.items() if name not in ("minimum_seconds", "maximum_seconds")}
    )


def typing_key(typing: Typing) -> dict[str, float]:
    """The key ``typing`` of a workload."""
    return {"characters_per_second": typing.characters_per_second, "variation": typing.variation}


def literal(text: str) -> str:
    """A line that the emulator types as it is: what looks like one of its places is not."""
    return _PLACE.sub("{pick:{}", text)


def pattern(prompt: str) -> str:
    """A regular expression of exactly this prompt, for the emulator."""
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", prompt) + "$"


def replayable(lines: Sequence[Line]) -> str:
    """Why a command, with what its program read, cannot be typed again; empty: it can."""
    if any(line.full_screen for line in lines):
        return "took the whole screen"
    if any(line.secret for line in lines):
        return "asked for a secret, or hid what was typed"
    if any(not line.text.isprintable() for line in lines):
        return "is of several lines"
    if _ENDS.match(lines[0].text):
        return "ends the shell"
    if any(not (line.prompt or "").strip() for line in lines[1:]):
        return "reads input without a prompt"
    return ""


def command_keys(lines: Sequence[tuple[str, str, str | None]]) -> list[dict[str, Any]]:
    """``[[script.command]]`` of a command and of the lines its program reads.

    (class, text, prompt before it) each.
    """
    keys = []
    for index, (klass, text, _) in enumerate(lines):
        key: dict[str, Any] = {"class": klass, "input": literal(text)}
        if index + 1 < len(lines):
            key["prompt"] = {"pattern": pattern(lines[index + 1][2] or "")}
        keys.append(key)
    return keys


def check(workload: dict[str, Any], name: str) -> str:
    """The workload's text, once the emulator has said that it can run it.

    Raises
    ------
    SatlineError
        It cannot: what the emulator says.
    """
    text = tomli_w.dumps(workload)
    status, said = _ask(text)
    if status != 0:
        raise InputError(f"{name}: {said}", hint="change the blocks or the session, and try again")
    return text


def _knows(think: dict[str, Any]) -> bool:
    command = {"class": "c", "input": "true"}
    try:
        return (
            _ask(
                tomli_w.dumps(
                    {"name": "probe", "think": think, "script": [{"name": "s", "command": [command]}]}
                )
            )[0]
            == 0
        )
    except SatlineError:
        return False


def _ask(text: str) -> tuple[int, str]:
    from satline.systems.binaries import find_binary

    program = find_binary("satline-terminal")
    with tempfile.TemporaryDirectory(prefix="satline-workload-") as directory:
        file = Path(directory) / "workload.toml"
        file.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [str(program), "check", str(file)], capture_output=True, text=True, errors="replace", check=False
        )
        said = done.stderr.replace(f"{file}: ", "").removeprefix("error: ").strip()
    return done.returncode, said
