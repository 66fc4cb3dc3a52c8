"""What happened over the last frames: differences of counters."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from satline.simulation.watching._stream import Frame

WINDOW_FRAMES = 15
POINT_FRAMES = 5
MOST_POINTS = 400


@dataclass(frozen=True)
class DeviceRates:
    """busy: part of the time with a request; queue: mean requests queued or in service."""

    busy: float
    queue: float
    pages_per_s: float
    ios_per_s: float


@dataclass(frozen=True)
class Rates:
    """Means over `seconds` of simulated time. Times of the processors are parts of all their time.

    ``None``: no transaction ended.
    """

    seconds: float
    mpl: float
    eligible: float
    throughput_per_s: float
    response_s: float | None
    interactive_response_s: float | None
    problem: float
    supervisor: float
    idle: float
    page_wait: float
    io_wait: float
    page_reads_per_s: float
    page_writes_per_s: float
    faults_per_s: float
    steals_per_s: float
    devices: tuple[DeviceRates, ...]
    channels: tuple[float, ...]

    @staticmethod
    def between(before: Frame, after: Frame) -> Rates | None:
        """From one frame to a later one; ``None``: no time has passed."""
        seconds = after.time_s - before.time_s
        if seconds <= 0:
            return None
        ns = seconds * 1e9

        def count(name: str) -> float:
            return after.counters[name] - before.counters[name]

        def mean(total_ns: str, number: str) -> float | None:
            ended = count(number)
            return count(total_ns) / ended / 1e9 if ended else None

        processors = ("problem_ns", "supervisor_ns", "idle_ns", "page_wait_ns", "io_wait_ns")
        whole = sum(count(name) for name in processors) or 1.0
        problem, supervisor, idle, page_wait, io_wait = (count(name) / whole for name in processors)
        devices = tuple(_device(*pair, seconds) for pair in zip(before.devices, after.devices, strict=True))
        channels = zip(before.channels_busy_ns, after.channels_busy_ns, strict=True)
        return Rates(
            seconds=seconds,
            mpl=count("mpl_ns") / ns,
            eligible=count("eligible_ns") / ns,
            throughput_per_s=count("transactions") / seconds,
            response_s=mean("response_ns", "transactions"),
            interactive_response_s=mean("interactive_response_ns", "interactive_transactions"),
            problem=problem,
            supervisor=supervisor,
            idle=idle,
            page_wait=page_wait,
            io_wait=io_wait,
            page_reads_per_s=count("page_reads") / seconds,
            page_writes_per_s=count("page_writes") / seconds,
            faults_per_s=count("page_faults") / seconds,
            steals_per_s=count("steals") / seconds,
            devices=devices,
            channels=tuple((now - then) / ns for then, now in channels),
        )


def _device(before: dict[str, float | None], after: dict[str, float | None], seconds: float) -> DeviceRates:
    def count(name: str) -> float:
        return (after[name] or 0) - (before[name] or 0)

    return DeviceRates(
        busy=count("busy_ns") / 1e9 / seconds,
        queue=count("outstanding_ns") / 1e9 / seconds,
        pages_per_s=(count("page_reads") + count("page_writes")) / seconds,
        ios_per_s=count("user_ios") / seconds,
    )


class History:
    """The last frames, and a point for every few before them."""

    def __init__(self) -> None:
        self.frames: deque[Frame] = deque(maxlen=WINDOW_FRAMES + 1)
        self.points: deque[Rates] = deque(maxlen=MOST_POINTS)
        self._since: tuple[Frame, int] | None = None

    def add(self, frame: Frame) -> None:
        self.frames.append(frame)
        if self._since is None:
            self._since = (frame, 0)
            return
        first, count = self._since
        if count + 1 < POINT_FRAMES:
            self._since = (first, count + 1)
            return
        point = Rates.between(first, frame)
        if point is not None:
            self.points.append(point)
        self._since = (frame, 0)

    @property
    def now(self) -> Frame:
        return self.frames[-1]

    def rates(self) -> Rates | None:
        """Over the last `WINDOW_FRAMES` frames; ``None`` before the second one."""
        return Rates.between(self.frames[0], self.frames[-1])
