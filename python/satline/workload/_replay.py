"""A session as a workload.

The same lines in the same order, after the user's own think times, at its typing rate.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from satline.errors import InputError
from satline.workload._emulator import SHELL, command_keys, replayable, typing_key
from satline.workload._fit import fit_typing
from satline.workload._session import Session


def replay(sessions: Sequence[Session], name: str) -> tuple[dict[str, Any], list[str]]:
    """The workload, one script for each session, and what was left out.

    A line whose own think time is not known gets the session's mean.

    Raises
    ------
    InputError
        Nothing in the sessions can be typed again.
    """
    left: Counter[str] = Counter()
    scripts: list[dict[str, Any]] = []
    for number, session in enumerate(sessions, start=1):
        known = [line.think_s for line in session.lines if line.think_s is not None]
        mean = float(np.mean(known)) if known else 2.0
        commands: list[dict[str, Any]] = []
        for group in session.commands():
            why = replayable(group)
            if why:
                left[f"{group[0].klass}: {why}"] += 1
                continue
            keys = command_keys([(line.klass, line.text, line.prompt) for line in group])
            for key, line in zip(keys, group, strict=True):
                think = line.think_s if line.think_s is not None else mean
                key["think"] = {"distribution": "fixed", "mean_seconds": round(min(think, 86400.0), 3)}
            commands += keys
        if commands:
            title = re.sub(r"\.\w+$", "", session.source) or "session"
            scripts.append({"name": f"{title} {number}", "order": "sequence", "command": commands})
    if not scripts:
        raise InputError(
            "nothing in these sessions can be typed again: " + ("; ".join(left) or "they are empty"),
            hint="record commands of a shell, without passwords and full-screen programs",
        )
    typing = fit_typing([line for session in sessions for line in session.lines])
    workload = {
        "name": name,
        "description": "Recorded sessions, typed again with their own think times.",
        "shell": SHELL,
        "prompt": "marks",
        "requires": ["bash"],
        "typing": {key: round(value, 4) for key, value in typing_key(typing).items()},
        "script": scripts,
    }
    return workload, [f"{count} × {what}" for what, count in left.most_common()]
