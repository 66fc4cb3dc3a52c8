"""Shares of transaction time that add up to no more than the whole.

Delay clocks can count more than the time there was: on a virtual machine, waits for a capped device were seen
a fifth too long on average. A single observation may rightly exceed the whole (a wait is counted when it
ends), so the correction is made on the means of a class.
"""

from __future__ import annotations

from dataclasses import replace

from satline.reduction._results import Curve, Point

PARTS = ("run", "cpu_wait", "page_wait", "io_wait", "throttled", "eligible")


def whole_shares(curves: dict[str, Curve]) -> dict[str, Curve]:
    """The curves, with the `share_` curves of each class scaled down where their sum is above 1."""
    parts = [f"share_{part}" for part in PARTS if f"share_{part}" in curves]
    if not parts:
        return curves
    sums = [
        sum(point.mean or 0.0 for point in points)
        for points in zip(*(curves[p].points for p in parts), strict=True)
    ]
    scaled = dict(curves)
    for name in parts:
        points = zip(curves[name].points, sums, strict=True)
        scaled[name] = replace(
            curves[name], points=tuple(_times(p, 1 / total) if total > 1 else p for p, total in points)
        )
    if (other := curves.get("share_other")) is not None:
        scaled["share_other"] = replace(
            other,
            points=tuple(
                replace(p, mean=0.0) if total > 1 and p.mean is not None else p
                for p, total in zip(other.points, sums, strict=True)
            ),
        )
    return scaled


def _times(point: Point, factor: float) -> Point:
    def times(value: float | None) -> float | None:
        return None if value is None else value * factor

    return replace(
        point,
        mean=times(point.mean),
        sd=times(point.sd),
        standard_error=times(point.standard_error),
        honest_error=times(point.honest_error),
        percentiles={at: value * factor for at, value in point.percentiles.items()},
        percentile_intervals={
            at: (times(low), times(high)) for at, (low, high) in point.percentile_intervals.items()
        },
    )
