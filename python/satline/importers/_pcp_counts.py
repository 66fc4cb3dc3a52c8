"""What a PCP archive's lists tell where nothing else does: how many processes and connections there are, and
how much processor time the processes used."""

from __future__ import annotations

import numpy as np

from satline.importers import _pcp_map as pcp_map
from satline.importers._pcp_reader import Archive, Series
from satline.importers._pcp_tables import Columns
from satline.importers._sink import Floats, Integers

# No host has more processors.
_MOST_PROCESSORS = 4096


def processor_count(archive: Archive) -> int | None:
    """Number of processors by hinv.ncpu, else by what was logged of each; ``None``: not told."""
    stated = archive.get("hinv.ncpu")
    if stated is not None:
        return int(stated.value[-1])
    for name in pcp_map.OF_EACH_PROCESSOR:
        series = archive.get(name)
        if series is not None:
            _, instance, _, _ = series.arrays()
            return len(np.unique(instance))
    return None


def process_counts(columns: Columns) -> Floats | None:
    """Processes that each reading lists; ``None`` where none were listed.

    By the metric of which most values were logged: a process may have no value of one.
    """
    names = (*pcp_map.PROCESS_VALUES.values(), *pcp_map.PROCESS_ATTRIBUTES.values(), *pcp_map.PROCESS_LIST)
    series = [found for name in names if (found := columns.archive.get(name)) is not None]
    if not series:
        return None
    return _counted(columns, max(series, key=lambda one: len(one.time)))


def connection_counts(columns: Columns) -> Floats | None:
    """TCP connections that are established, of the sockets that each reading lists."""
    series = columns.archive.get(pcp_map.SOCKET_STATE)
    if series is None:
        return None
    texts = columns.archive.texts
    _, _, name, value = series.arrays()
    wanted = np.array(
        [
            k >= 0 and texts[k].startswith("tcp/") and texts[int(v)] == "ESTAB"
            for k, v in zip(name.tolist(), value.tolist(), strict=True)
        ]
    )
    return _counted(columns, series, wanted)


def _counted(columns: Columns, series: Series, wanted: np.ndarray | None = None) -> Floats:
    """Values at each instant, by reading; NaN where no instant is near."""
    time, instance, name, _ = series.arrays()
    at = np.unique(np.array(series.record_ns, dtype=np.int64))
    if wanted is not None:
        time, instance, name = time[wanted], instance[wanted], name[wanted]
    # An instance that stands twice in a record counts once.
    rows = np.unique(np.stack([time, instance, name]), axis=1)
    count = np.bincount(np.searchsorted(at, rows[0]), minlength=len(at)).astype(np.float64)
    index, near = columns.grid.nearest(at)
    return np.where(near, count[index], np.nan)


def process_time(columns: Columns) -> Floats | None:
    """User time of all listed processes together, a counter in microseconds by reading; ``None`` where it was
    not logged.

    What a process used between two readings that both list it is added: one that begins or ends between them
    is missed, so that processors were used for so long at least.
    """
    archive = columns.archive
    series = archive.get(pcp_map.PROCESS_VALUES["utime"])
    if series is None:
        return None
    time, instance, _, value = series.arrays()
    value = value * archive.metrics[pcp_map.PROCESS_VALUES["utime"]].scale
    at: Integers = np.unique(np.array(series.record_ns, dtype=np.int64))
    order = np.lexsort((time, instance))
    time, instance, value = time[order], instance[order], value[order]
    place = np.searchsorted(at, time)
    gain = np.diff(value)
    # A number that another process took over may have used more before than it had by then.
    most = np.diff(time) / 1e3 * (processor_count(archive) or _MOST_PROCESSORS) * 1.05 + 2e4
    counts = (np.diff(instance) == 0) & (np.diff(place) == 1) & (gain >= 0) & (gain <= most)
    total = np.zeros(len(at))
    np.add.at(total, place[1:][counts], gain[counts])
    index, near = columns.grid.nearest(at)
    return np.where(near, np.cumsum(total)[index], np.nan)
