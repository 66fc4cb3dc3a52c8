"""Replays: misses by policy and size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from satline.traces._program import Program, Progress


@dataclass(frozen=True)
class ReplayedPolicy:
    """Misses of a policy, one for each size.

    miss_ratio
        By reference.
    bounded
        The size bounds its memory at every moment; of the working set it bounds the mean.
    """

    name: str
    misses: tuple[int, ...]
    miss_ratio: tuple[float, ...]
    bounded: bool


@dataclass(frozen=True)
class Replayed:
    """A trace, and what each policy missed of it.

    references, pages
        Length of the trace, and its footprint in pages.
    sizes
        Of storage, in pages.
    lru_curve
        LRU's misses at every size from 0 to `pages`; ``None``: not asked for.
    source
        What the trace says of itself: format, command, page size, what is missing at its end.
    """

    references: int
    pages: int
    sizes: tuple[int, ...]
    policies: tuple[ReplayedPolicy, ...]
    lru_curve: tuple[int, ...] | None
    source: dict[str, Any]
    content: dict[str, Any]


def replay(
    trace: Path,
    *,
    policies: Sequence[str] = (),
    sizes: Sequence[str | int] = (),
    curve: bool = False,
    seed: int = 1,
    first: int | None = None,
    workers: int | None = None,
    reading: Sequence[str] = (),
    progress: Callable[[Progress], None] | None = None,
    program: Program | None = None,
) -> Replayed:
    """Replay policies on a trace.

    Parameters
    ----------
    policies
        By name; none: all.
    sizes
        In pages, or as a part of the footprint: ``64``, ``"10%"``.
    first
        Only so many references.
    reading
        Further words of the program on how a text is read.

    Raises
    ------
    InputError
        The trace or an option is wrong.
    """
    words = ["replay", f"--seed={seed}", *reading]
    if policies:
        words += [f"--policies={','.join(policies)}"]
    if sizes:
        words += [f"--sizes={','.join(str(size) for size in sizes)}"]
    if curve:
        words.append("--curve")
    if first is not None:
        words += ["--first", str(first)]
    if workers is not None:
        words += ["--workers", str(workers)]
    content = (program or Program()).run([*words, "--", str(trace)], progress)
    lru_curve = content["lru_curve"]
    return Replayed(
        references=content["references"],
        pages=content["pages"],
        sizes=tuple(content["sizes"]),
        policies=tuple(
            ReplayedPolicy(one["name"], tuple(one["misses"]), tuple(one["miss_ratio"]), one["bounded"])
            for one in content["policies"]
        ),
        lru_curve=None if lru_curve is None else tuple(lru_curve),
        source=content["source"],
        content=content,
    )
