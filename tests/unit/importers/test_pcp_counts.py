"""PCP archives that list processes, sockets, zones of memory or GPUs: what can be counted of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from imports import facts, rows
from pcp_archives import T0, imported, make, needs_bindings, needs_tool

from satline.diagnosis import diagnose
from satline.recording import Recording

pytestmark = [needs_tool, needs_bindings]

PROCESS = ["u64", "counter", "ms", "proc"]
NUMBER = ["u32", "instant", "none", "proc"]
FACT = ["u32", "discrete", "none", None]
ZONE = ["u64", "instant", "KiB", "zone"]
INSTANCES = {
    "proc": {"000001 init": 1, "000002 cc": 2, "000003 ld": 3},
    "socket": {"tcp/10.0.0.1:22": 1, "tcp/10.0.0.1:23": 2, "udp/10.0.0.1:53": 3},
    "zone": {"DMA::node0": 1, "Normal::node0": 2},
    "card": {"gpu0": 0},
    "net": {"eth0": 0},
    "disk": {"sda": 0, "sdb": 1},
}
READINGS = 20


def archive(path: Path, kinds: dict[str, Any], values: Any) -> Recording:
    records = [[T0 + 10 * k, values(k)] for k in range(READINGS)]
    return imported(make(path / "a", kinds, INSTANCES, records), path / "x.satline")


def gained(made: Recording, table: str, column: str, where: str = "TRUE") -> float:
    sql = f'SELECT max("{column}") - min("{column}") FROM "{table}" WHERE {where}'
    (row,) = rows(made, sql)
    return float(row[0])


def test_user_time_of_processes_without_users_is_a_lower_bound_of_the_cpu(tmp_path: Path) -> None:
    """Two of four processors are used by two processes; a third ends half way."""

    def values(k: int) -> dict[str, Any]:
        times = {"000001 init": 10_000 * k, "000002 cc": 10_000 * k}
        if k < READINGS // 2:
            times["000003 ld"] = 5000 * k
        return {"proc.psinfo.utime": times, "hinv.ncpu": 4}

    made = archive(tmp_path, {"proc.psinfo.utime": PROCESS, "hinv.ncpu": FACT}, values)
    assert gained(made, "processor", "user_us") == (READINGS - 1) * 20e6 + (READINGS // 2 - 1) * 5e6
    assert rows(made, 'SELECT count(*) FROM "user"') == [(0,)], "whose they are is not known"
    standing = diagnose(made).standing
    assert standing is not None
    cpu = next(use for use in standing.uses if use.resource == "CPU")
    assert cpu.lower_bound
    assert cpu.mean is not None
    assert cpu.mean.value == pytest.approx(0.5 + 0.125 * (READINGS // 2 - 1) / (READINGS - 1))
    assert any("no times of processors were logged" in note for note in facts(made)["notes"])


def test_a_number_taken_over_by_another_process_is_no_use(tmp_path: Path) -> None:
    def values(k: int) -> dict[str, Any]:
        # A process of 500 s of user time takes the number over: no processor runs that in 10 s.
        return {"proc.psinfo.utime": {"000001 init": 100 * k + (500_000 if k > 9 else 0)}, "hinv.ncpu": 1}

    made = archive(tmp_path, {"proc.psinfo.utime": PROCESS, "hinv.ncpu": FACT}, values)
    assert gained(made, "processor", "user_us") == (READINGS - 2) * 1e5


def test_listed_processes_are_counted_where_their_number_was_not_logged(tmp_path: Path) -> None:
    made = archive(
        tmp_path,
        {"proc.psinfo.nice": NUMBER},
        lambda k: {"proc.psinfo.nice": dict.fromkeys(["000001 init", "000002 cc"][: 1 + k % 2], 20)},
    )
    assert rows(made, "SELECT DISTINCT processes_seen, tasks_total FROM system ORDER BY 1") == [
        (1, None),
        (2, None),
    ]


def test_established_connections_are_counted_of_the_sockets(tmp_path: Path) -> None:
    states = {"tcp/10.0.0.1:22": "ESTAB", "tcp/10.0.0.1:23": "LISTEN", "udp/10.0.0.1:53": "ESTAB"}
    made = archive(
        tmp_path,
        {"network.persocket.state": ["string", "discrete", "none", "socket"]},
        lambda _: {"network.persocket.state": states},
    )
    assert rows(made, "SELECT DISTINCT tcp_connections FROM system") == [(1,)]


def test_memory_is_the_sum_of_its_zones(tmp_path: Path) -> None:
    amounts = {"managed": (1000, 9000), "free": (500, 1500), "nr_file_pages": (0, 3000)}
    names = {name: f"mem.zoneinfo.{name}" for name in amounts}
    made = archive(
        tmp_path,
        dict.fromkeys(names.values(), ZONE),
        lambda _: {names[n]: {"DMA::node0": a, "Normal::node0": b} for n, (a, b) in amounts.items()},
    )
    sql = "SELECT DISTINCT mem_total_bytes, mem_free_bytes, cached_bytes FROM system"
    assert rows(made, sql) == [(10_000 * 1024, 2000 * 1024, 3000 * 1024)]
    standing = diagnose(made).standing
    assert standing is not None
    memory = next(use for use in standing.uses if use.resource == "memory")
    assert memory.mean is not None
    assert memory.mean.value == pytest.approx(0.5)


def test_a_gpu_has_its_busy_part_and_memory(tmp_path: Path) -> None:
    kinds = {
        "nvidia.gpuactive": ["u32", "instant", "none", "card"],
        "nvidia.memused": ["u64", "instant", "byte", "card"],
        "nvidia.memtotal": ["u64", "discrete", "byte", "card"],
    }
    made = archive(
        tmp_path,
        kinds,
        lambda _: {
            "nvidia.gpuactive": {"gpu0": 45},
            "nvidia.memused": {"gpu0": 250},
            "nvidia.memtotal": {"gpu0": 1000},
        },
    )
    sql = "SELECT DISTINCT device, device_kind, busy_part, size_bytes, used_bytes FROM device"
    assert rows(made, sql) == [("gpu0", "gpu", 0.45, 1000, 250)]


@pytest.mark.parametrize(
    ("metric", "value"), [("network.interface.speed", 125), ("network.interface.baudrate", 125_000_000)]
)
def test_the_speed_of_a_link_is_in_bytes_a_second(tmp_path: Path, metric: str, value: int) -> None:
    kinds = {metric: ["u32", "discrete", "none", "net"]}
    kinds |= {f"network.interface.{way}.bytes": ["u64", "counter", "byte", "net"] for way in ("in", "out")}
    made = archive(
        tmp_path,
        kinds,
        lambda k: {
            metric: {"eth0": value},
            "network.interface.in.bytes": {"eth0": 1_250_000 * 10 * k},
            "network.interface.out.bytes": {"eth0": 0},
        },
    )
    assert rows(made, "SELECT DISTINCT speed_bytes_per_s FROM device") == [(125_000_000,)]
    standing = diagnose(made).standing
    assert standing is not None
    link = next(use for use in standing.uses if use.resource == "interface eth0")
    assert link.mean is not None
    assert link.mean.value == pytest.approx(0.01)


def test_disks_without_any_request_are_kept_where_there_are_no_others(tmp_path: Path) -> None:
    kinds = {"disk.dev.total": ["u64", "counter", "count", "disk"]}
    idle = archive(tmp_path, kinds, lambda _: {"disk.dev.total": {"sda": 5, "sdb": 7}})
    assert rows(idle, "SELECT DISTINCT device FROM device ORDER BY 1") == [("sda",), ("sdb",)]
    assert "no request at all" in diagnose(idle).headline


@pytest.mark.parametrize(
    ("after", "turned"), [(20_000_000, True), (100, False)], ids=["turned over", "set to 0"]
)
def test_a_counter_of_32_bits_that_is_set_to_0_is_not_taken_to_turn_over(
    tmp_path: Path, after: int, turned: bool
) -> None:
    """It turns over at 4.29e9. 4.28e9 → 2e7 at 3e7 a reading is a turn; 2.3e9 → 100 would be 2e9 at once."""
    before = 2**32 - 10_000_000 if turned else 2_300_000_000

    def values(k: int) -> dict[str, Any]:
        at = before - 30_000_000 * (9 - k) if k < 10 else after + 30_000_000 * (k - 10)
        return {"network.interface.in.bytes": {"eth0": at}}

    kinds = {"network.interface.in.bytes": ["u32", "counter", "byte", "net"]}
    made = archive(tmp_path, kinds, values)
    standing = diagnose(made).standing
    assert standing is not None
    row = next(r for r in standing.carried if r.what == "bytes in")
    assert row.extreme == pytest.approx(3e6)
    assert row.seen == pytest.approx(1 if turned else 18 / 19)
