"""A disk behind a network, as clouds sell them: a latency, and a limit of requests per second.

Latency 0.3 ms, 125 MB/s; a request of up to 256 KiB counts once against the limit. 3,000 a second is the
base of the general-purpose volumes of large clouds; 500 stands for a small or crowded one. Both are assumed.
"""

from __future__ import annotations

from pathlib import Path

from satline.systems.swapdevices._loop import modelled
from satline.systems.swapdevices._making import Making

COMMON = ("network", "--latency-us", "300", "--bytes-per-second", "125000000")


def network(making: Making) -> Path:
    """With 3,000 requests a second."""
    return modelled(making, (*COMMON, "--iops", "3000"), rotational=False)


def network_500(making: Making) -> Path:
    """With 500 requests a second."""
    return modelled(making, (*COMMON, "--iops", "500"), rotational=False)
