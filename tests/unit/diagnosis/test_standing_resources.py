"""How full each resource was: devices that lie on others, readings with gaps, and the words for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from made_recording import MadeRecording, at

from satline.diagnosis import diagnose
from satline.diagnosis._answer import factor, next_step, percent, resource_words, two_digits
from satline.diagnosis._resources import layered
from satline.diagnosis._results import Estimate, Likely, ResourceUse, Saturation, Standing

INTERVAL_S = 10.0


def test_partitions_slices_and_volumes_are_no_disks_of_their_own() -> None:
    busy = {
        "sda": np.array([0.5, 0.9]),
        "sda1": np.array([0.5, 0.9]),
        "nvme0n1": np.array([0.1, 0.1]),
        "nvme0n1p2": np.array([0.1, 0.1]),
        "dm-0": np.array([0.9, 1.0]),
        "vg-home": np.array([0.4, 0.9]),
        "drbd0": np.array([0.9, 0.2]),
    }
    assert layered(busy) == {"sda1", "nvme0n1p2", "dm-0", "vg-home"}, "drbd0 was busier than any disk"


def test_solaris_slices_and_paths_belong_to_their_disk() -> None:
    zero = np.zeros(2)
    busy = dict.fromkeys(("sd5", "sd5,a", "sd5.t3.m", "nfs1", "mpt_sas3"), zero)
    assert layered(busy) == set(busy) - {"sd5"}


def test_numbered_devices_of_sar_are_disks_where_no_other_is_there() -> None:
    assert layered({"dev253-0": np.array([0.5]), "dev254-0": np.array([0.2])}) == set()
    assert layered({"dev253-0": np.array([0.5]), "dev8-0": np.array([0.5])}) == {"dev253-0"}


def host(busy: dict[str, list[float | None]]) -> MadeRecording:
    """A host whose disks were busy for these parts of each interval; ``None``: no reading at its end."""
    count = max(map(len, busy.values()))
    rows: dict[str, list[dict[str, Any]]] = {"system": [], "processor": [], "device": []}
    counters = dict.fromkeys(busy, 0.0)
    for k in range(count + 1):
        now = at(INTERVAL_S * k)
        rows["system"].append({**now, "sample": k})
        used = int(k * INTERVAL_S * 0.2e6)
        idle = int(k * INTERVAL_S * 0.8e6)
        rows["processor"].append({**now, "processor": "0", "user_us": used, "system_us": 0, "idle_us": idle})
        for name, parts in busy.items():
            part = 0.0 if k == 0 else parts[k - 1]
            if part is not None:
                counters[name] += part * INTERVAL_S * 1e6
                row = {"device": name, "device_kind": "block", "busy_us": int(counters[name])}
                rows["device"].append({**now, **row, "reads": k, "writes": 0})
    return MadeRecording(rows)


def used(recording: MadeRecording, resource: str) -> ResourceUse:
    standing = diagnose(recording).standing
    assert standing is not None
    return next(use for use in standing.uses if use.resource == resource)


def with_states(parts: dict[str, dict[str, float]]) -> MadeRecording:
    """Processors whose states grow by these parts of each interval."""
    rows: dict[str, list[dict[str, Any]]] = {"system": [], "processor": []}
    for k in range(21):
        rows["system"].append({**at(INTERVAL_S * k), "sample": k})
        for name, states in parts.items():
            counters = {state: round(k * INTERVAL_S * part * 1e6) for state, part in states.items()}
            rows["processor"].append({**at(INTERVAL_S * k), "processor": name, **counters})
    return MadeRecording(rows)


@pytest.mark.parametrize("waiting", [0.44, 0.48, 0.52])
def test_processor_time_is_a_share_of_the_states_where_they_do_not_add_up(waiting: float) -> None:
    """Kernels count busy time in ticks and idle time by a clock: the sum may miss what passed."""
    states = {"user_us": 0.02, "system_us": 0.01, "irq_us": 0.01, "idle_us": 0.44, "iowait_us": waiting}
    cpu = used(with_states({"0": states, "1": states}), "CPU")
    assert cpu.mean is not None
    assert cpu.mean.value == pytest.approx(0.04 / (0.48 + waiting))


def test_what_is_stolen_is_a_share_of_the_same_time() -> None:
    states = {"user_us": 0.3, "system_us": 0.1, "irq_us": 0.0, "idle_us": 0.1, "steal_us": 0.4}
    cpu = used(with_states({"0": states}), "CPU")
    assert cpu.mean is not None
    assert cpu.mean.value == pytest.approx(0.4 / 0.5)


def test_where_states_are_lacking_what_is_not_idle_is_in_use() -> None:
    cpu = used(with_states({"0": {"user_us": 0.02, "system_us": 0.01, "idle_us": 0.7}}), "CPU")
    assert cpu.mean is not None
    assert cpu.mean.value == pytest.approx(0.3)


def test_the_busiest_processor_is_judged_by_its_own_states() -> None:
    full = {"user_us": 0.95, "system_us": 0.0, "irq_us": 0.0, "idle_us": 0.0}
    idle = {"user_us": 0.1, "system_us": 0.0, "irq_us": 0.0, "idle_us": 0.85}
    alone = used(with_states({"0": idle, "1": full, "2": idle, "3": idle}), "CPU 1 alone")
    assert alone.mean is not None
    assert alone.mean.value == pytest.approx(1.0)


def test_a_gap_in_a_devices_readings_is_not_one_full_interval() -> None:
    # Three intervals of 0.4 are told by the last one's reading: 1.2 of one interval, were it not shared.
    recording = host({"sda": [0.4] * 10 + [None, None, 1.2] + [0.4] * 10})
    disk = used(recording, "disk sda")
    assert disk.most == pytest.approx(0.4, abs=0.01)
    assert disk.short == 0
    assert disk.seen == pytest.approx(21 / 23, abs=0.01)


def test_a_disk_recorded_for_a_part_of_the_time_is_judged_by_that_part() -> None:
    recording = host({"sda": [0.1] * 40, "sdb": [1.0] * 5 + [0.5] * 5 + [None] * 30})
    disk = used(recording, "disk sdb")
    assert disk.seen == pytest.approx(0.25, abs=0.01)
    assert disk.short == pytest.approx(0.5, abs=0.01), "half of the time known, not an eighth of all"
    assert used(recording, "disk sda").seen == 1.0


def test_headroom_is_rounded_down_and_numbers_have_two_digits() -> None:
    assert factor(1.16) == "at least 1.1 ×"
    assert factor(2.0) == "at least 2.0 ×"
    assert factor(49.9) == "at least 49 ×"
    assert factor(100.5) == "more than 100 ×"
    assert two_digits(0.9996) == "1.0"
    assert two_digits(99.6) == "100"
    assert percent(0.009996) == "1.0 %"


def test_a_disk_called_disk102_is_not_called_so_twice() -> None:
    assert resource_words("disk disk102") == "disk102"
    assert resource_words("disk sda") == "disk sda"


def standing(*, waited: float | None, lower_bound: bool = False) -> Standing:
    cpu = ResourceUse("CPU", "processor", None, None, None, 0.9, 0.0, None, None, lower_bound, "")
    mean = Estimate(0.3, 0.1, 0.5, "fraction")
    disk = ResourceUse("disk vda", "io", mean, 1.0, 1.0, 0.9, 0.2, waited, None, False, "")
    likely = (Likely("io", "disk vda", 0.9),)
    return Standing("short at times", (disk, cpu), None, 0.2, likely, 100.0, 1.0, "", 50)


def test_the_next_step_points_to_a_remedy_only_where_a_finding_has_one() -> None:
    verdict = Saturation("partly-known", "run_queue", None, None, None)
    full = standing(waited=0.2)
    assert "first remedy" in next_step(verdict, full)
    assert "reads and writes when disk vda is full" in next_step(verdict, full, named=False)
    assert "whether requests queue at disk vda" in next_step(verdict, standing(waited=None), named=False)


def test_a_part_of_the_cpu_times_asks_for_all_of_them() -> None:
    step = next_step(
        Saturation("partly-known", "run_queue", None, None, None), standing(waited=0.2, lower_bound=True)
    )
    assert step.startswith("Record all CPU times")
