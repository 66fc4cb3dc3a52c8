"""Documents of `satline workload`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from satline.workload import Blocks, Class, Input, Test


@dataclass(frozen=True)
class SessionTold:
    """A session.

    session
        The file it was written to.
    keys
        Whether what was typed was recorded.
    think_s, typing_s, response_s, characters, output_bytes
        Means over the lines; ``None``: of none it is known.
    classes
        Lines by class, the most first.
    """

    session: Path
    lines: int
    keys: bool
    think_s: float | None
    typing_s: float | None
    response_s: float | None
    characters: float | None
    output_bytes: float | None
    classes: dict[str, int]
    notes: list[str]


@dataclass(frozen=True)
class SessionsImported:
    """Sessions, and the workload that repeats them.

    left_out
        What of them is not in the workload, and why.
    """

    workload: Path
    left_out: list[str]
    sessions: list[SessionTold]


class FittedClass(Class):
    """A class of input lines; what was typed stands in the file alone."""

    input: list[Input] = Field(exclude=True)


class Fitted(Blocks):
    """Building blocks, as the file has them.

    blocks
        The file.
    """

    blocks: Path
    klass: list[FittedClass] = Field(alias="class")  # type: ignore[assignment]


@dataclass(frozen=True)
class ClassShare:
    """A class's part of all lines: in the blocks, and drawn."""

    class_name: Annotated[str, Field(alias="class")]
    stated: float
    drawn: float
    lines: int


@dataclass(frozen=True)
class Draws:
    """Lines against the blocks.

    lines
        How many were drawn, or typed.
    """

    lines: int
    shares: list[ClassShare]
    tests: list[Test]


@dataclass(frozen=True)
class Generated(Draws):
    """A workload, and what its users would type against the blocks."""

    workload: Path
    remarks: list[str]


@dataclass(frozen=True)
class Compared(Draws):
    """What emulated users typed, against the blocks."""

    recording: Path
