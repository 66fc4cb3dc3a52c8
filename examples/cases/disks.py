"""Disks behind a control unit, for the cases about I/O."""

from __future__ import annotations

import numpy as np
from made_host import Floats, Host

DISK_S, CACHE_S, LATENCY_S = 0.005, 0.0006, 0.0075


def array(
    host: Host,
    name: str,
    reads: Floats,
    writes: Floats,
    *,
    disks: int,
    hits: Floats,
    copies: int,
    sure: float,
) -> tuple[Floats, Floats]:
    """A device made of disks. Returns the times of a read and of a write in s.

    Parameters
    ----------
    hits
        Part of the reads that the cache serves; NaN: it is off, and not reported.
    copies
        I/Os to disks that a write makes: 2 on a mirror, 4 on parity (read data, read parity, write both).
    sure
        Part of the writes that a protected write cache takes at once.
    """
    served = np.nan_to_num(hits)
    # One disk's use, and its M/M/1 response; a write on parity waits for two turns and a lost revolution.
    use = np.minimum(0.95, (reads * (1 - served) + writes * copies * (1 - 0.3 * sure)) * DISK_S / disks)
    turn = DISK_S / (1 - use)
    read = host.around(served * CACHE_S + (1 - served) * turn, 0.06)
    late = 2 * turn + LATENCY_S if copies == 4 else 1.3 * turn
    write = host.around(sure * CACHE_S + (1 - sure) * late, 0.06)
    outstanding = reads * read + writes * write
    host.text("device", name, device_kind="block")
    host.count("device", name, reads=reads, writes=writes, read_bytes=reads * 4096, write_bytes=writes * 4096)
    host.count("device", name, read_wait_us=reads * read * 1e6, write_wait_us=writes * write * 1e6)
    host.count("device", name, busy_us=(1 - np.exp(-outstanding)) * 1e6, queue_us=outstanding * 1e6)
    host.count("device", name, cache_hits=np.where(np.isnan(hits), np.nan, reads * served))
    return read, write
