"""Swap devices of chosen character that a study makes on this host: a kind is a file and a line in `KINDS`.

Each is in the ledger before it is made: nothing of it is left, whatever happens. Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from satline.systems.swapdevices._making import Making
from satline.systems.swapdevices.disk import disk
from satline.systems.swapdevices.network import network, network_500
from satline.systems.swapdevices.rotating import rotating
from satline.systems.swapdevices.zram import zram

# What to swap on, made and in the ledger; UnsettableError where it cannot be had here.
KINDS: dict[str, Callable[[Making], Path]] = {
    "disk": disk,
    "network": network,
    "network-500": network_500,
    "rotating": rotating,
    "zram": zram,
}

__all__ = ["KINDS", "Making"]
