"""What the users of a study, and the swapper beside them, cost in each of its windows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from satline.recording import Recording
from satline.reduction import reduce

RATES = ("swap_in_rate", "paging_rate", "load_major_fault_rate", "total_cpu")
WINDOWS = """
    SELECT step, max(users) AS users, min(monotonic_ns) FILTER (event = 'window-start') AS w0,
        max(monotonic_ns) FILTER (event = 'window-end') AS w1
    FROM event WHERE source = 'terminal' AND event IN ('window-start', 'window-end') GROUP BY step"""
SWAPPER = f"""
    SELECT users, (max(cpu_us) - min(cpu_us)) / ((max(monotonic_ns) - min(monotonic_ns)) / 1e3)
    FROM ({WINDOWS}) w JOIN swapper s ON s.monotonic_ns BETWEEN w0 AND w1 GROUP BY users"""
PREPAGED = f"""
    SELECT users, sum(prepaged)::BIGINT, sum(errors)::BIGINT FROM (
        SELECT users, "user", max(prepaged_pages) - min(prepaged_pages) AS prepaged,
            max(prepage_errors) - min(prepage_errors) AS errors
        FROM ({WINDOWS}) w JOIN swapper_user s ON s.monotonic_ns BETWEEN w0 AND w1 GROUP BY users, "user")
    GROUP BY users"""


@dataclass
class Costs:
    """Of one window: mean of each of RATES with its standard error; what the swapper's part of a processor
    was; its prepaged pages and those of them that nobody touched. ``None``: no swapper."""

    rates: dict[str, tuple[float, float]]
    swapper_cpu: float | None
    prepaged: int | None
    errors: int | None

    def cells(self) -> list[str]:
        """For a table with the columns HEADS."""
        swap_in, paging, faults, cpu = (
            f"{mean:,.{places}f} ± {error:,.{places}f}"
            for (mean, error), places in zip((self.rates[name] for name in RATES), (0, 0, 0, 2), strict=True)
        )
        own = "–" if self.swapper_cpu is None else f"{self.swapper_cpu:.1%}"
        vain = "–"
        if self.prepaged:
            vain = f"{(self.errors or 0) / self.prepaged:.0%} of {self.prepaged:,}"
        elif self.prepaged is not None:
            vain = "none prepaged"
        return [swap_in, paging, faults, cpu, own, vain]


HEADS = [
    "pages read/s",
    "all paging, pages/s",
    "major faults/s",
    "processors",
    "swapper's part of one",
    "prepaged in vain",
]


def costs(path: Path) -> dict[int, Costs]:
    """Of each window of a recording, by its users."""
    recording = Recording.open(path)
    reduced = reduce(recording, variables=RATES)
    connection = recording.connect()
    own = dict(connection.execute(SWAPPER).fetchall())
    prepaged = {users: (pages, errors) for users, pages, errors in connection.execute(PREPAGED).fetchall()}
    connection.close()
    found = {}
    for number, one in enumerate(reduced.classes):
        users = round(one.midpoint)
        points = {name: reduced.curves[name].points[number] for name in RATES}
        rates = {name: (point.mean, point.honest_error) for name, point in points.items()}
        found[users] = Costs(rates, own.get(users), *prepaged.get(users, (None, None)))
    return found
