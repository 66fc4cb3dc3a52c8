"""Made recordings and sessions for the tests of this part."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from satline.workload._session import Line, Session

AID = "00ff"
CHAIN = {"ls": (0.1, 0.6, 0.3), "edit": (0.5, 0.1, 0.4), "make": (0.3, 0.6, 0.1)}
TEXTS = {"ls": "ls -l", "edit": "true edit.c", "make": "echo make all"}


def mark(what: str) -> str:
    return f"\x1b]133;{what};aid={AID}\x07"


PROMPT = mark("A") + "me$ " + mark("B")


def cast(events: list[tuple[float, str, str]], version: int = 3, **header: object) -> str:
    """An asciicast; times are absolute, s."""
    head = {"version": version, "term": {"cols": 80, "rows": 24}, "satline": {"aid": AID}, **header}
    lines = [json.dumps(head)]
    before = 0.0
    for time, code, data in events:
        lines.append(json.dumps([round(time - before if version == 3 else time, 6), code, data]))
        before = time
    return "\n".join(lines) + "\n"


def typed(start: float, text: str, gap: float = 0.1) -> list[tuple[float, str, str]]:
    """Keys with their echo; the line end is `gap` after the last."""
    events: list[tuple[float, str, str]] = []
    for index, key in enumerate(text):
        at = start + index * gap
        events.append((at, "i", key))
        events.append((at + 0.001, "o", "\r\n" if key == "\r" else key))
    return events


def two_commands() -> list[tuple[float, str, str]]:
    """`date` and, after 3 s of thought, `ls -l`, which takes 2 s and ends with status 1."""
    return [
        (0.0, "o", PROMPT),
        *typed(1.0, "date\r"),
        (1.402, "o", mark("C") + "noon\r\n" + mark("D;0") + PROMPT),
        *typed(4.402, "ls -l\r"),
        (4.904, "o", mark("C")),
        (6.902, "o", "a\r\nb\r\n" + mark("D;1") + PROMPT),
    ]


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def chain_session(seed: int, count: int = 80, think: str = "lognormal") -> Session:
    """A session whose classes follow `CHAIN`; think times are lognormal (mu 1, sigma 0.8) or as said."""
    random = np.random.default_rng(seed)
    names = list(CHAIN)
    lines, state = [], "ls"
    for _ in range(count):
        state = names[random.choice(3, p=CHAIN[state])]
        text = TEXTS[state]
        seconds = random.lognormal(1, 0.8)
        if think == "two kinds":
            seconds = random.choice([random.exponential(1), random.normal(20, 1)])
        elif think == "exponential":
            seconds = random.exponential(4)
        typing = float(random.lognormal(-2, 0.3, len(text)).sum())
        lines.append(
            Line.model_validate(
                {
                    "class": state,
                    "text": text,
                    "think_s": max(float(seconds), 0.0),
                    "typing_s": typing,
                    "response_s": 0.1,
                    "characters": len(text) + 1,
                    "output_bytes": 100,
                }
            )
        )
    return Session(source=f"made-{seed}.cast", keys="typed", lines=lines)
