"""What a run yields: its measures, what each is a mean over, and the series in batches of five samples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satline.simulation._batches import BATCH

Floats = NDArray[np.float64]
Series = Mapping[str, Sequence[float | None]]


@dataclass(frozen=True)
class Measure:
    """One measure of a simulated machine.

    unit
        As `satline.present` scales units.
    weight
        By whose amount periods count: a mean response by the transactions that ended. Empty: by time.
    over
        With `parts`: made here, the sum of the parts ÷ `over` (names of measures).
    """

    name: str
    words: str
    unit: str
    weight: str = ""
    parts: tuple[str, ...] = ()
    over: str = ""


_ALL = (
    Measure("throughput_per_s", "throughput", "transactions/s"),
    Measure("interactive_throughput_per_s", "interactive throughput", "transactions/s"),
    Measure("response_s", "response", "s", weight="throughput_per_s"),
    Measure("interactive_response_s", "interactive response", "s", weight="interactive_throughput_per_s"),
    Measure(
        "noninteractive_response_s", "noninteractive response", "s", weight="noninteractive_throughput_per_s"
    ),
    Measure("mpl", "MPL", "users"),
    Measure("eligible", "eligible", "users"),
    Measure("problem_fraction", "problem state", "fraction"),
    Measure("supervisor_fraction", "supervisor state", "fraction"),
    Measure("idle_fraction", "idle", "fraction"),
    Measure("page_wait_fraction", "page wait", "fraction"),
    Measure("io_wait_fraction", "I/O wait", "fraction"),
    Measure("page_reads_per_s", "page reads", "pages/s"),
    Measure("page_writes_per_s", "page writes", "pages/s"),
    Measure("page_reads_fast_per_s", "page reads from the fast tier", "pages/s"),
    Measure("steals_per_s", "steals", "pages/s"),
    Measure("involuntary_drops_per_s", "involuntary drops", "per second"),
    Measure(
        "page_reads_per_interactive_transaction",
        "page reads per interactive transaction",
        "pages",
        weight="interactive_throughput_per_s",
    ),
    Measure("paging_sios_per_s", "paging start-I/Os", "per second"),
    Measure("page_in_sios_per_s", "start-I/Os that read pages", "per second"),
    Measure("page_out_sios_per_s", "start-I/Os that write pages", "per second"),
    Measure("pages_per_page_in_sio", "pages read by a start-I/O", "pages", weight="page_in_sios_per_s"),
    Measure("pages_per_page_out_sio", "pages written by a start-I/O", "pages", weight="page_out_sios_per_s"),
    Measure("flushed_pages_per_s", "pages flushed", "pages/s"),
    Measure("flush_reclaims_per_s", "pages had back from the flush list", "pages/s"),
    Measure("frames_scanned_per_s", "frames scanned", "per second"),
    Measure("scan_sweeps_per_s", "sweeps of the scan", "per second"),
    Measure("demand_page_reads_per_s", "pages read on demand", "pages/s"),
    Measure("swap_sets_in_per_s", "swap sets in", "per second"),
    Measure("swap_sets_out_per_s", "swap sets out", "per second"),
    Measure("swap_pages_in_per_s", "pages in by swap sets", "pages/s"),
    Measure("swap_pages_out_per_s", "pages out by swap sets", "pages/s"),
    Measure("swap_faults_per_s", "swap faults", "per second"),
    Measure("trimmed_pages_per_s", "pages trimmed", "pages/s"),
    Measure("prepaged_pages_per_s", "pages prepaged", "pages/s"),
    Measure("prepage_error_fraction", "prepage errors", "fraction", weight="prepaged_pages_per_s"),
    Measure("reclaimed_swap_pages_per_s", "pages of sets had back", "pages/s"),
    Measure("logical_swaps_per_s", "logical swaps", "per second"),
    Measure("logical_return_fraction", "returns from logical swap", "fraction", weight="logical_swaps_per_s"),
    Measure("physical_swaps_per_s", "users swapped out", "per second"),
    Measure("swap_sios_per_s", "swap start-I/Os", "per second"),
    Measure("pages_per_swap_sio", "pages by a swap start-I/O", "pages", weight="swap_sios_per_s"),
    Measure("swap_io_ms", "swap I/O time", "ms", weight="swap_sios_per_s"),
    Measure("pages_read_ahead_per_s", "pages read ahead", "pages/s"),
    Measure(
        "read_ahead_used_fraction", "pages read ahead and used", "fraction", weight="pages_read_ahead_per_s"
    ),
    Measure("migrated_pages_per_s", "pages migrated", "pages/s"),
    Measure("io_defers_per_s", "I/Os put off for want of a path", "per second"),
    Measure("left_to_main_per_s", "work left to the main processor", "per second"),
    Measure("defer_wait_ms", "wait of what was put off", "ms", weight="put_off_per_s"),
    Measure("signals_per_s", "processors signalled", "per second"),
    Measure("user_switches_per_s", "switches to another user", "per second"),
    Measure("processor_moves_per_s", "users moved to another processor", "per second"),
    Measure("lock_spin_fraction", "spinning before locks", "fraction"),
    Measure("storage_manager_fraction", "managing free storage", "fraction"),
    Measure("storage_main_requests_per_s", "free storage, main-chain requests", "per second"),
    Measure("storage_subpool_requests_per_s", "free storage, subpool requests", "per second"),
    Measure(
        "storage_blocks_per_main_request",
        "free storage, blocks searched at a request",
        "blocks",
        weight="storage_main_requests_per_s",
    ),
    Measure("storage_free_blocks", "free storage, blocks of the main chain", "blocks"),
    Measure("storage_busy_doublewords", "free storage, busy", "doublewords"),
    Measure("storage_pages_added_per_s", "free storage, pages added", "per second"),
    Measure("user_ios_per_s", "users' I/Os", "per second"),
    Measure("page_io_ms", "paging I/O time", "ms", weight="page_sios_per_s"),
    Measure("dispatches_per_s", "dispatches", "per second"),
    Measure("q1_drops_per_s", "Q1 drops", "per second"),
    Measure("q2_drops_per_s", "Q2 drops", "per second"),
    Measure("q1", "users in Q1", "users"),
    Measure("q2", "users in Q2", "users"),
    Measure("in_transaction", "users in a transaction", "users"),
    Measure("expansion", "expansion factor", "", weight="service_load"),
    Measure("share_run", "running", "fraction", weight="in_transaction"),
    Measure("share_cpu_wait", "waiting for a processor", "fraction", weight="in_transaction"),
    Measure("share_page_wait", "waiting for pages", "fraction", weight="in_transaction"),
    Measure("share_io_wait", "waiting for I/O", "fraction", weight="in_transaction"),
    Measure("share_eligible", "eligible, of transaction time", "fraction", weight="in_transaction"),
    # Made of others here.
    Measure("cpu_fraction", "total CPU", "fraction", parts=("problem_fraction", "supervisor_fraction")),
    Measure("paging_per_s", "paging", "pages/s", parts=("page_reads_per_s", "page_writes_per_s")),
    # Little's law: time in queue and time as eligible of a transaction [Bard].
    Measure("running_s", "running time", "s", parts=("mpl",), over="throughput_per_s"),
    Measure("waiting_s", "waiting time", "s", parts=("eligible",), over="throughput_per_s"),
    Measure("q1_stay_s", "time in Q1 per drop", "s", parts=("q1",), over="q1_drops_per_s"),
    Measure("q2_stay_s", "time in Q2 per drop", "s", parts=("q2",), over="q2_drops_per_s"),
    Measure("page_wait_s", "wait per page read", "s", parts=("page_waiters",), over="page_reads_per_s"),
    Measure(
        "page_wait_of_queue", "page wait, of time in queue", "fraction", parts=("page_waiters",), over="mpl"
    ),
    Measure(
        "fast_fraction",
        "reads from the fast tier",
        "fraction",
        parts=("page_reads_fast_per_s",),
        over="page_reads_per_s",
    ),
)
MEASURES: Mapping[str, Measure] = {measure.name: measure for measure in _ALL}
# By these the end of the warm-up is found. Not by paging: where storage is ample, ever rarer first reads
# go on for hours, and concern nobody.
SETTLES = ("throughput_per_s", "in_transaction", "mpl", "problem_fraction", "supervisor_fraction")
USUAL = (
    "throughput_per_s",
    "response_s",
    "interactive_response_s",
    "mpl",
    "eligible",
    "problem_fraction",
    "supervisor_fraction",
    "page_wait_fraction",
    "io_wait_fraction",
    "page_reads_per_s",
)
# Weights that the machine does not print.
MADE_HERE = frozenset(
    {
        "noninteractive_throughput_per_s",
        "service_load",
        "page_waiters",
        "page_sios_per_s",
        "put_off_per_s",
    }
)
_OF_UNITS = {
    "channel_busy": ("channel busy", "fraction", ""),
    "device_busy": ("device busy", "fraction", ""),
    "device_response_ms": ("device response", "ms", "device_ios_per_s"),
    "device_ios_per_s": ("device I/Os", "per second", ""),
    "processor_problem": ("problem state, processor", "fraction", ""),
    "processor_supervisor": ("supervisor state, processor", "fraction", ""),
    "processor_spin": ("spinning, processor", "fraction", ""),
    "processor_dispatches_per_s": ("dispatches, processor", "per second", ""),
    "processor_page_waits_per_s": ("page waits of users on processor", "per second", ""),
    "processor_io_defers_per_s": ("I/Os put off, processor", "per second", ""),
    "lock_spin": ("spinning before lock", "fraction", ""),
    "lock_held": ("held, lock", "fraction", ""),
    "lock_spin_probability": ("spins, of all times had, lock", "fraction", ""),
    "lock_defers_per_s": ("put off, lock", "per second", ""),
    "lock_wait_ms": ("wait of what was put off, lock", "ms", "lock_defers_per_s"),
}


def measure(name: str) -> Measure:
    """The measure of that name; ``device_busy:DRUM`` and its like are of a unit."""
    if name in MEASURES:
        return MEASURES[name]
    kind, colon, unit = name.partition(":")
    if colon and kind in _OF_UNITS:
        words, scale, weight = _OF_UNITS[kind]
        return Measure(name, f"{words}, {unit}", scale, weight=f"{weight}:{unit}" if weight else "")
    return Measure(name, name, "")


def is_measure(name: str) -> bool:
    """Is it the name of a measure? Of a unit's only the kind is known here."""
    kind, colon, unit = name.partition(":")
    return name in MEASURES or bool(colon and unit and kind in _OF_UNITS)


def in_batches(series: Series) -> dict[str, list[float | None]]:
    """Means of five successive samples each; what does not fill five is left out at the front.

    A measure with a weight is averaged by it, so that further averaging loses nothing. Seven digits are kept.
    """
    names = [name for name in series if name not in ("time_s", "step")]
    arrays = {name: _floats(series[name]) for name in names}
    if "throughput_per_s" in arrays and "interactive_throughput_per_s" in arrays:
        rest = arrays["throughput_per_s"] - arrays["interactive_throughput_per_s"]
        arrays["noninteractive_throughput_per_s"] = np.maximum(rest, 0.0)
    if "expansion" in arrays and "in_transaction" in arrays:
        # Users in a transaction, had they been alone: expansion is a ratio of times.
        with np.errstate(invalid="ignore", divide="ignore"):
            load = arrays["in_transaction"] / arrays["expansion"]
        arrays["service_load"] = np.where(arrays["expansion"] > 0, load, 0.0)
    if "share_page_wait" in arrays and "in_transaction" in arrays:
        waiters = arrays["share_page_wait"] * arrays["in_transaction"]
        arrays["page_waiters"] = np.where(arrays["in_transaction"] > 0, waiters, 0.0)
    if "paging_sios_per_s" in arrays:
        # Those of swap sets have a time of their own.
        arrays["page_sios_per_s"] = arrays["paging_sios_per_s"] - arrays.get("swap_sios_per_s", 0.0)
    if "io_defers_per_s" in arrays and "left_to_main_per_s" in arrays:
        arrays["put_off_per_s"] = arrays["io_defers_per_s"] + arrays["left_to_main_per_s"]
    batched: dict[str, list[float | None]] = {}
    for name, values in arrays.items():
        weight = arrays.get(measure(name).weight, np.ones_like(values))
        cut = len(values) % BATCH
        x, w = values[cut:].reshape(-1, BATCH), weight[cut:].reshape(-1, BATCH)
        good = np.isfinite(x) & np.isfinite(w) & (w > 0)
        total = np.where(good, w, 0.0).sum(axis=1)
        amount = np.where(good, w * x, 0.0).sum(axis=1)
        batched[name] = [
            float(f"{a / t:.7g}") if t > 0 else None
            for a, t in zip(amount.tolist(), total.tolist(), strict=True)
        ]
    return batched


def amounts(batched: Series, name: str) -> tuple[Floats, Floats] | None:
    """Amounts of a measure and the weights that its mean divides them by, by batch; ``None``: not there.

    A response has transactions × response and transactions, a level itself and 1. NaN where missing.
    """
    found = measure(name)
    if found.parts:
        if any(part not in batched for part in (*found.parts, *([found.over] if found.over else []))):
            return None
        total = np.sum([_floats(batched[part]) for part in found.parts], axis=0)
        return total, _floats(batched[found.over]) if found.over else np.ones_like(total)
    if name not in batched:
        return None
    value = _floats(batched[name])
    if found.weight not in batched:
        return value, np.ones_like(value)
    weight = _floats(batched[found.weight])
    return np.where(weight > 0, value * weight, 0.0), weight


def mean_after(batched: Series, name: str, truncation: int) -> float | None:
    """Mean of a measure without the first `truncation` batches; ``None``: nothing to measure."""
    found = amounts(batched, name)
    if found is None:
        return None
    amount, weight = (part[truncation:] for part in found)
    good = np.isfinite(amount) & np.isfinite(weight)
    whole = math.fsum(weight[good])
    return math.fsum(amount[good]) / whole if whole > 0 else None


def of_step(measures: Mapping[str, float | None], name: str) -> float | None:
    """A measure of a whole step, as the program printed them; ``None``: it is not defined there."""
    share, users = measures.get("share_page_wait"), measures.get("in_transaction")
    known = {"page_waiters": share * users if share is not None and users is not None else 0.0, **measures}
    found = measure(name)
    if not found.parts:
        return known.get(name)
    parts = [known.get(part) for part in found.parts]
    whole = known.get(found.over) if found.over else 1.0
    if not whole or any(part is None for part in parts):
        return None
    return math.fsum(part for part in parts if part is not None) / whole


def names_of(batched: Iterable[Series]) -> list[str]:
    """All measures that can be had from these runs, in the order of the table, then the machine's own."""
    runs = list(batched)
    have = {name for run in runs for name in run}
    known = [name for name in MEASURES if any(amounts(run, name) is not None for run in runs)]
    return [*known, *sorted(have - set(known) - MADE_HERE)]


def _floats(values: Sequence[float | None]) -> Floats:
    return np.array([math.nan if x is None else x for x in values], dtype=np.float64)
