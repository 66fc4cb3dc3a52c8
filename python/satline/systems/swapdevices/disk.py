"""A swap file on the disk of the scratch directory: as fast as that disk is."""

from __future__ import annotations

from pathlib import Path

from satline.systems import resources
from satline.systems.swapdevices._making import Making


def disk(making: Making) -> Path:
    """The swap file."""
    path = making.directory / "swap"
    making.ledger.add("swap", path=str(path))
    resources.write_swap_file(path, making.size_bytes)
    return path
