"""The program `satline-traces`: started, heard, ended."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from satline.systems.binaries import Called, find_binary

PROGRAM = "satline-traces"


@dataclass(frozen=True)
class Progress:
    """How far the program is.

    doing
        ``"reading"`` or ``"replaying"``.
    part
        0 to 1; ``None``: how much there is to do is not known.
    count
        Bytes read, for ``"reading"``.
    """

    doing: str
    part: float | None
    count: float


class Program:
    """The program, found once.

    Raises
    ------
    SatlineError
        It is not there.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or find_binary(PROGRAM)

    def run(
        self,
        arguments: Sequence[str],
        progress: Callable[[Progress], None] | None = None,
        *,
        stdin: int = subprocess.DEVNULL,
    ) -> Any:
        """Run it to its end; what it printed, from JSON. The first argument is its command.

        Raises
        ------
        InputError
            It refuses its input: its message and hint.
        SatlineError
            It failed.
        """
        told = [] if progress is None else ["--progress"]
        with Called([self.path, arguments[0], "--json", *told, *arguments[1:]], stdin=stdin) as called:
            return called.result(heard(progress))


def heard(progress: Callable[[Progress], None] | None) -> Callable[[Any], None] | None:
    """What hears the program's lines of progress for `progress`."""
    if progress is None:
        return None
    return lambda said: progress(Progress(str(said["doing"]), said["done"], float(said["count"])))
