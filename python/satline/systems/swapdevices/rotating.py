"""A turning disk with one arm: seek by distance, wait for the place to come round, transfer.

7,200 turns a minute, 1 MB a track, 0.8 ms to settle, 15 ms × √(part of the disk) of way, of a disk of 1 TB
of which the swap area is the beginning: the order of desktop disks of 2010–2020, not one product's figures.
"""

from __future__ import annotations

from pathlib import Path

from satline.systems.swapdevices._loop import modelled
from satline.systems.swapdevices._making import Making


def rotating(making: Making) -> Path:
    """The kernel is told that it turns, as a real one tells it: it reads ahead by place then."""
    return modelled(making, ("rotating",), rotational=True)
