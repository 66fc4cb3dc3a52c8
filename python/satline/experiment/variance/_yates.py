"""Yates' algorithm for 2^k designs [Yates 1937; Box, Hunter and Hunter, ch. 5].

Own: it is there for its columns, which a reader can follow by hand; the analysis itself is by least squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class YatesRow:
    """One line of Yates' table.

    factors
        Numbers of the factors of the effect; none for the line of the mean.
    total
        Of the responses of the cell that has these factors high.
    steps
        The column after each pass of sums and differences.
    contrast
        The last of them: Σ ± totals.
    effect
        contrast / (n 2^(k−1)): mean where the sign is + less mean where it is −. The mean for the first line.
    sum_of_squares
        contrast² / (n 2^k); 0 degrees of freedom for the mean, 1 for all others.
    """

    factors: tuple[int, ...]
    total: float
    steps: tuple[float, ...]
    contrast: float
    effect: float
    sum_of_squares: float


def yates(totals: Sequence[float], replicates: int = 1) -> list[YatesRow]:
    """The table of the totals of 2^k cells in standard order: (1), a, b, ab, c, …

    Raises
    ------
    ValueError
        Their number is no power of 2.
    """
    cells = len(totals)
    k = cells.bit_length() - 1
    if cells < 2 or cells != 1 << k:
        raise ValueError(f"{cells} cells")
    columns = [list(totals)]
    for _ in range(k):
        last = columns[-1]
        sums = [last[i] + last[i + 1] for i in range(0, cells, 2)]
        columns.append([*sums, *(last[i + 1] - last[i] for i in range(0, cells, 2))])
    rows = []
    for place in range(cells):
        contrast = columns[-1][place]
        divisor = replicates * cells / (2.0 if place else 1.0)
        rows.append(
            YatesRow(
                tuple(i for i in range(k) if place >> i & 1),
                float(totals[place]),
                tuple(column[place] for column in columns[1:]),
                contrast,
                contrast / divisor,
                contrast**2 / (replicates * cells),
            )
        )
    return rows
