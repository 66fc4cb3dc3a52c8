"""Made results: a host whose processors saturate at six users, with hostile names among its devices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from satline.diagnosis import (
    Diagnosis,
    Estimate,
    Evidence,
    Finding,
    Outcome,
    Saturation,
    Unseen,
    UslFit,
    WaitingUser,
    WaitPart,
    WaitShares,
)
from satline.present.definition import Definition, read
from satline.reduction import Curve, Curves, LoadClass, Point

LOADS = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0)
HOSTILE = "<script>alert(1)</script>\x1b[31m[red]\u202ex"


def hinge(load: float) -> float:
    """Throughput: a half per user up to six users, flat beyond."""
    return 0.5 * min(load, 6.0)


SHAPES: dict[str, tuple[str, Callable[[float], float]]] = {
    "transaction_rate": ("per second", hinge),
    "response": ("s", lambda n: 0.4 + 1.9 * max(0.0, n - 6.0)),
    "reaction": ("s", lambda n: 0.01 + 0.02 * n),
    "problem_state": ("processors", lambda n: 0.15 * min(n, 6.0)),
    "supervisor_state": ("processors", lambda n: 0.013 * min(n, 6.0)),
    "total_cpu": ("processors", lambda n: 0.163 * min(n, 6.0)),
    "load_cpu": ("processors", lambda n: 0.16 * min(n, 6.0)),
    "capacity_processors": ("processors", lambda _: 1.0),
    "idle_wait": ("processors", lambda n: 1.0 - 0.163 * min(n, 6.0)),
    "page_wait": ("processors", lambda n: 0.001 * n),
    "io_wait": ("processors", lambda n: 0.004 * n),
    "share_run": ("fraction of transaction time", lambda n: 0.7 / max(1.0, n / 6.0)),
    "share_cpu_wait": ("fraction of transaction time", lambda n: 0.9 - 0.7 / max(1.0, n / 6.0)),
    "share_page_wait": ("fraction of transaction time", lambda _: 0.02),
    "share_io_wait": ("fraction of transaction time", lambda _: 0.03),
    "share_throttled": ("fraction of transaction time", lambda _: 0.0),
    "share_other": ("fraction of transaction time", lambda _: 0.05),
    "swap_in_rate": ("pages/s", lambda n: 3.0 * n),
    "swap_out_rate": ("pages/s", lambda n: 2.0 * n),
    "refault_rate": ("pages/s", lambda n: 1.0 * n),
    "major_fault_rate": ("per second", lambda n: 2.0 * n),
    "mpl": ("users", lambda n: 0.6 * n),
    "active_users": ("users", lambda n: 0.9 * n),
    "load_memory": ("bytes", lambda n: n * 60e6),
    "load_swap": ("bytes", lambda n: n * 2e6),
    "busiest_task": ("processors", lambda n: min(1.0, 0.2 * n)),
    "device_rate:vda": ("per second", lambda n: 12.0 * n),
    "device_busy:vda": ("fraction", lambda n: 0.02 * n),
    f"device_busy:{HOSTILE}": ("fraction", lambda n: 0.03 * n),
    "thermometer:trivial": ("s", lambda n: 0.0003 * n),
    "thermometer:compute": ("s", lambda n: 0.1 * max(1.0, n / 2)),
}


def make_point(mean: float) -> Point:
    return Point(
        n=120,
        mean=mean,
        sd=0.3 * mean,
        standard_error=0.03 * mean,
        honest_error=0.05 * mean,
        effective_n=40.0,
        percentiles={25: 0.7 * mean, 50: 0.95 * mean, 75: 1.2 * mean, 90: 1.6 * mean},
    )


def make_curves(*, without: frozenset[str] = frozenset(), missing: dict[str, str] | None = None) -> Curves:
    classes = tuple(LoadClass(low=n, high=n, midpoint=n, observations=120, seconds=120.0) for n in LOADS)
    made = {
        name: Curve(name, unit, f"Meaning of {name}.", tuple(make_point(shape(n)) for n in LOADS))
        for name, (unit, shape) in SHAPES.items()
        if name not in without
    }
    return Curves("users", 1.0, classes, made, missing or {})


def make_saturation(outcome: Outcome) -> Saturation:
    common = Saturation(outcome, "users", 1.0, 12.0, "transaction_rate")
    if outcome == "saturated":
        return replace(
            common,
            at=Estimate(6.1, 5.4, 6.9, "users"),
            throughput_at=Estimate(3.02, 2.9, 3.15, "per second"),
            slope_before=Estimate(0.497, 0.45, 0.54, "per second and user"),
            slope_after=Estimate(-0.004, -0.03, 0.02, "per second and user"),
        )
    return replace(common, reasons=("the bars overlap",), advice=("record two more steps above 12 users",))


def make_diagnosis(outcome: Outcome = "saturated", name: str = "this-host.satline") -> Diagnosis:
    saturated = outcome == "saturated"
    bound = Finding(
        rule="cpu-bound",
        title="The processors are the bottleneck",
        component="processor",
        state="holds",
        strength=0.86,
        summary="Processors are busy 98 % of the time at saturation, nearly all of it with users' own work.",
        evidence=(
            Evidence(
                "total_cpu_fraction", "fraction of capacity", "12 users", 0.981, 0.004, "at least 90 %", True
            ),
            Evidence("page_wait", "processors", "12 users", 0.0012, 0.0005, "at most 0.05 processors", True),
            Evidence("load_read_rate", "per second", "12 users", None, None, "", False),
        ),
        remedies=("Defer compute-bound background work.", "Raise the limit to two processors."),
        false_readings=("a background job keeps the processors busy at every load, the lowest included",),
        missing=("pressure_irq_full_us",),
        references=("[Bard]",),
    )
    other = Finding(
        "io-bound", "The I/O subsystem is the bottleneck", "io", "does-not-hold", 0.0, "I/O wait is 1 %."
    )
    unknown = Finding(
        "drum", "The fast swap device is full", "paging", "cannot-judge", 0.0, "There is one swap device."
    )
    headlines = {
        "saturated": "It saturates at 6.1 users (5.4 to 6.9), and the processors are the bottleneck.",
        "not-saturated": "Not saturated with up to 12 users.",
        "partly-known": "Cannot tell whether it is saturated: too few data.",
        "nongranular": "One batch user is the whole load, so there is no saturation point to find.",
    }
    return Diagnosis(
        recording=name,
        headline=headlines[outcome],
        saturation=make_saturation(outcome),
        findings=(bound,) if saturated else (),
        others=(other, unknown),
        unseen=(
            Unseen(
                "pressure_irq_full_us",
                "/proc/pressure/irq does not exist",
                "CONFIG_IRQ_TIME_ACCOUNTING",
                ("cpu-bound",),
            ),
        ),
        warnings=("the emulator was late at 12 users",),
        conditions={"processors": "1 of 2", "load": "in a control group"},
    )


def make_waits(user: str = "anna") -> tuple[WaitShares, ...]:
    """Where the users' time went at two loads; I/O wait is missing at the first, and admission at both."""

    def parts(io_wait: float | None) -> tuple[WaitPart, ...]:
        return (
            WaitPart("run", 0.62, 0.03, "accumulators"),
            WaitPart("cpu_wait", 0.21, None, "accumulators"),
            WaitPart("io_wait", io_wait, None if io_wait is None else 0.01, "sampled states"),
            WaitPart("eligible", None, None, "accumulators"),
        )

    waiting = (WaitingUser(user, 0.4, 0.31, None, None),)
    return (
        WaitShares(1.0, 2.0, "transaction time", parts(None)),
        WaitShares(12.0, 12.0, "transaction time", parts(0.17), waiting),
    )


@dataclass
class MadeRecording:
    path: Path = Path("/var/tmp/this-host.satline")
    description: dict[str, Any] = field(
        default_factory=lambda: {
            "format_version": 1,
            "recording": {
                "id": "ab12",
                "created": datetime(2026, 11, 21, 9, tzinfo=UTC),
                "end_reason": "complete",
            },
            "host": {"name": "worker", "kernel": "6.18.0", "processors": 2, "memory_bytes": 50_000_000_000},
            "system_under_test": {
                "kind": "this-host",
                "processors": [1],
                "limits": {"memory_bytes": 805_306_368, "cpu_quota_processors": 1.0},
                "not_set": {"swap_bytes": "swapon is not permitted"},
            },
            "study": {
                "name": "this-host",
                "title": "Mixed users",
                "seed": 7,
                "source": "seed = 7\n[users]\n",
            },
            "annotation": [{"time": datetime(2026, 11, 21, 9, 10, tzinfo=UTC), "text": "second disk"}],
        }
    )
    sources: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {
            "monitor": {
                "version": "0.1.0",
                "sampling": {
                    "interval_ms": 1000,
                    "samples": 300,
                    "lateness_us": {"p50": 60, "p99": 400, "max": 900},
                },
                "methods": {"run_delay": "schedstat"},
                "cost": {"cpu_us": 1_200_000, "written_bytes": 300_000, "peak_rss_bytes": 4_000_000},
            },
            "terminal": {"lateness": {"p50_us": 40, "p99_us": 300, "max_us": 2000}, "late": False},
        }
    )


@pytest.fixture
def curves() -> Curves:
    return make_curves()


@pytest.fixture
def curves_without() -> Callable[..., Curves]:
    """Curves that lack some variables: ``curves_without({"response"}, missing={"response": "why"})``."""
    return lambda names, missing=None: make_curves(without=frozenset(names), missing=missing)


@pytest.fixture
def diagnosis_of() -> Callable[..., Diagnosis]:
    """A diagnosis by its outcome."""
    return make_diagnosis


@pytest.fixture
def diagnosis() -> Diagnosis:
    return make_diagnosis()


@pytest.fixture
def recording() -> MadeRecording:
    return MadeRecording()


@pytest.fixture
def hostile() -> str:
    return HOSTILE


@pytest.fixture(scope="session")
def made_results() -> Callable[[], tuple[MadeRecording, Curves, Diagnosis]]:
    """What a report is made of, for a page that several tests look at."""
    return lambda: (MadeRecording(), make_curves(), make_diagnosis())


@pytest.fixture
def defined(tmp_path: Path) -> Callable[[str], Definition]:
    """A definition from what stands below its title: ``defined('variables = [{ name = "mpl" }]')``."""

    def make(text: str) -> Definition:
        path = tmp_path / "mine.toml"
        path.write_text(f'title = "Mine"\nwhat = "Something of mine."\n{text}\n', encoding="utf-8")
        return read(path)

    return make


@pytest.fixture
def full_diagnosis(hostile: str) -> Diagnosis:
    """All that a diagnosis may hold: a retrograde curve, waits, a remark, rules not judged."""
    made = make_diagnosis()
    usl = UslFit(
        rate=Estimate(0.51, 0.47, 0.55, "per second"),
        contention=Estimate(0.04, 0.01, 0.07, ""),
        coherency=Estimate(0.002, 0.001, 0.004, ""),
        peak=Estimate(21.9, 15.0, 31.0, "users"),
        peak_in_range=False,
        better_than_broken_line=False,
    )
    saturation = replace(
        made.saturation,
        retrograde=Estimate(-0.12, -0.2, -0.05, "per second and user"),
        peak=Estimate(7.0, 6.5, 7.9, "users"),
        usl=usl,
    )
    remark = replace(made.findings[0], rule="remark", title="one user is most of the load", component="none")
    unknown = made.others[1]
    return replace(
        made,
        saturation=saturation,
        findings=(*made.findings, remark),
        others=(*made.others, replace(unknown, title="The slow swap device is full")),
        waits=make_waits(hostile),
    )
