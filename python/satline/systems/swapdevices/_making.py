"""What a kind of swap device is made from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from satline.systems.ledger import Ledger


@dataclass(frozen=True)
class Making:
    """Where and how large.

    directory
        The run's own; gone after it.
    processors
        Those that a program which stands for the device may use: not the load's. Empty: all.
    sys, dev
        Where the kernel's files are.
    """

    ledger: Ledger
    directory: Path
    size_bytes: int
    processors: tuple[int, ...] = ()
    sys: Path = Path("/sys")
    dev: Path = Path("/dev")
