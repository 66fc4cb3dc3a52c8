"""Random machines and workloads, the upgrades that each might get, and what a finding promises.

A pair is made from its number alone: the same numbers are the same pairs.
"""

from __future__ import annotations

import math
import random
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

from satline.simulation import find_workload

MACHINE = "155-II-1.5mb"
WORKLOADS = ("cms", "interactive", "io-heavy", "paging-heavy")
STEP = 1.5
BUYABLE = ("processor", "storage", "paging", "files")
UPGRADES = (*BUYABLE, "admit more", "admit fewer")

# Admission costs nothing to change, so that it may be changed by much.
ADMISSION = {"admit more": (1 / STEP, 1 / STEP**3), "admit fewer": (STEP, STEP**3)}

# Rule → the upgrades that its remedies ask for. A rule that is not here names nothing that is for sale.
REMEDIES: Mapping[str, frozenset[str]] = {
    "cpu_bound": frozenset({"processor"}),
    "paging_overhead": frozenset({"admit fewer", "storage"}),
    "thrashing": frozenset({"admit fewer", "storage"}),
    "main_storage_bound": frozenset({"storage"}),
    "working_sets_overestimated": frozenset({"admit more"}),
    "paging_bound": frozenset({"paging", "storage"}),
    "drum_overflow": frozenset({"paging"}),
    "io_bound": frozenset({"files"}),
    "arm_contention": frozenset({"files", "admit fewer"}),
    "page_and_io_wait": frozenset({"paging", "files"}),
}


@dataclass(frozen=True)
class Pair:
    """A machine and a workload as settings of shipped files; admission may be changed in either direction.

    apart
        The second tier of paging has packs of its own, without files.
    """

    number: int
    workload: str
    speed: float
    frames: int
    drums: int
    packs: int
    pack_type: str
    apart: bool
    projection: float
    q1_slice_ms: float
    q2_slice_s: float

    def sets(self) -> dict[str, str]:
        """The settings as they are."""
        return {
            "processors.speed": f"{self.speed:.4g}",
            "storage.bytes": str(2**24),
            "storage.pageable_frames": str(self.frames),
            "scheduler.projection_factor": f"{self.projection:.4g}",
            "scheduler.q1_slice_ms": f"{self.q1_slice_ms / self.speed:.6g}",
            "scheduler.q2_slice_s": f"{self.q2_slice_s / self.speed:.6g}",
            # Room for every page of every user.
            "paging_area.1.first_cylinder": "150",
            "paging_area.1.cylinders": "230",
            "device.drum.count": str(self.drums),
            "device.drum.own_paths": "true",
            "device.pack.count": str(self.packs),
            "device.pack.own_paths": "true",
            "device.pack.type": self.pack_type,
            "device.page-pack.type": self.pack_type,
            "device.page-pack.role": "paging" if self.apart else "both",
        }

    def upgraded(self) -> dict[str, list[dict[str, str]]]:
        """Settings after each upgrade; of several ways to do it the best counts."""
        base = self.sets()
        faster = STEP * self.speed
        better = "3350" if self.pack_type == "3330-1" else "3380"
        holding = ["device.pack.type"] + ([] if self.apart else ["device.page-pack.type"])
        return {
            "processor": [
                {
                    **base,
                    "processors.speed": f"{faster:.4g}",
                    "scheduler.q1_slice_ms": f"{self.q1_slice_ms / faster:.6g}",
                    "scheduler.q2_slice_s": f"{self.q2_slice_s / faster:.6g}",
                }
            ],
            "storage": [{**base, "storage.pageable_frames": str(round(STEP * self.frames))}],
            # The first tier or the second: which of them users wait for is for the diagnosis to tell.
            "paging": [
                {**base, "device.drum.count": str(math.ceil(STEP * self.drums))},
                {**base, "device.page-pack.count": str(math.ceil(STEP * 2))},
                {**base, "device.page-pack.type": better},
            ],
            "files": [
                {**base, "device.pack.count": str(math.ceil(STEP * self.packs))},
                {**base, **dict.fromkeys(holding, better)},
                {**base, **self._levelled()},
            ],
            **{
                name: [
                    {**base, "scheduler.projection_factor": f"{self.projection * factor:.4g}"}
                    for factor in factors
                ]
                for name, factors in ADMISSION.items()
            },
        }

    def _levelled(self) -> dict[str, str]:
        """Minidisks moved, so that all devices are used alike."""
        classes = tomllib.loads(find_workload(self.workload).read_text())["class"]
        return {
            f"workload.class.{one['name']}.transaction.{kind['name']}.io.skew": "0"
            for one in classes
            for kind in one["transaction"]
        }


def made(number: int) -> Pair:
    """Pair `number`."""
    draw = random.Random(f"confusion {number}")

    def between(low: float, high: float) -> float:
        return math.exp(draw.uniform(math.log(low), math.log(high)))

    return Pair(
        number=number,
        workload=draw.choice(WORKLOADS),
        speed=between(0.4, 4.0),
        frames=round(between(110, 900)),
        drums=draw.choice((1, 1, 2, 3)),
        packs=draw.choice((2, 3, 4, 6, 8)),
        pack_type=draw.choice(("3330-1", "3350")),
        apart=draw.choice((False, True)),
        projection=draw.choice((0.3, 0.6, 1.0, 1.0, 1.0, 1.6, 3.0)),
        q1_slice_ms=400.0,
        q2_slice_s=5.0,
    )
