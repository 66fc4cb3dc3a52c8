"""Simulated machines: runs with intervals, and recordings of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satline.api._charts import Dot, below_each_other, line_chart
from satline.api._columns import Column, Frame, finite, made_table
from satline.api._recording import OpenRecording
from satline.api._result import Result
from satline.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from satline.simulation import Estimate, Goal, Point, Progress, Setting, Simulated

DRAWN = ("throughput_per_s", "response_s")
POINTS_SHOWN = 4
ENDS = ("", "_low", "_high")
STEP_S = 600.0


class Simulation(Result["Simulated"]):
    """A simulated machine at each number of users and setting; made by `simulate`.

    Its table has a row for each point and measure: what makes the point (``users`` and the keys varied), the
    measure, its unit, the mean over replications and its 95 % interval.
    """

    result: Simulated

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures that the runs have."""
        return tuple(dict.fromkeys(name for point in self.result.points for name in point.names))

    @property
    def keys(self) -> tuple[str, ...]:
        """What makes a point: ``users`` and the keys varied."""
        return tuple(dict.fromkeys(key for point in self.result.points for key in point.label))

    def lines(self) -> list[str]:
        """The machine, the workload, how many points, and throughput and response of the first of them."""
        found = self.result
        lines = [f"{found.machine.stem} under {found.workload.stem}: {len(found.points)} points"]
        for point in found.points[:POINTS_SHOWN]:
            label = (
                ", ".join(f"{key} {value}" for key, value in point.label.items()) or "as the workload says"
            )
            lines.append(f"{label}: {'; '.join(_words(point, name) for name in DRAWN)}")
        left = len(found.points) - POINTS_SHOWN
        lines += [f"{left} more points"] if left > 0 else []
        lines += [
            f"point {number + 1} did not become as precise as {goal.words}"
            for number, goal in found.unreached
        ]
        if found.unverified:
            lines.append(f"{len(found.unverified)} figures of the machine are without a known source")
        if found.not_modelled:
            lines.append(f"not modelled of several processors: {'; '.join(found.not_modelled)}")
        return lines

    def wide(self, *measures: str) -> Frame:
        """A row for each point: what makes it, then each measure with the ends of its 95 % interval.

        Parameters
        ----------
        measures
            Which; default: throughput and response.

        Raises
        ------
        InputError
            A measure that the runs do not have.
        """
        names = self._chosen(measures)

        def make() -> pa.Table:
            columns = [*self._key_columns(), *(Column(f"{n}{e}", unit=_unit(n)) for n in names for e in ENDS)]
            rows = [
                (*self._place(p), *(v for n in names for v in _interval(p.estimate(n))))
                for p in self.result.points
            ]
            return made_table(columns, rows)

        return Frame("Simulated points", make)

    def differences(self, *measures: str) -> Frame:
        """What each point has more than the first of the same users, on common random numbers.

        A row for each such point and measure; empty where nothing but users was varied.

        Parameters
        ----------
        measures
            Which; default: throughput and response.

        Raises
        ------
        InputError
            A measure that the runs do not have.
        """
        names = self._chosen(measures)
        columns = [
            *self._key_columns(),
            Column("measure", "text"),
            Column("unit", "text"),
            *(Column(f"difference{end}") for end in ENDS),
            Column("relative", unit="fraction", meaning="difference, of the first point's value"),
            Column("variance_reduction", unit="fraction", meaning="what common random numbers saved"),
        ]

        def make() -> pa.Table:
            rows = []
            for base, point in self.result.differences:
                for name in names:
                    one = base.difference(point, name)
                    found = _interval(one.difference)
                    place = (*self._place(point), name, _unit(name))
                    rows.append((*place, *found, one.relative, one.variance_reduction))
            return made_table(columns, rows)

        return Frame("Differences on common random numbers", make)

    def plot(self, *measures: str) -> Any:
        """An `altair.Chart` of measures against what was varied, one below the other, with 95 % intervals.

        Parameters
        ----------
        measures
            Which; default: throughput and response.

        Raises
        ------
        InputError
            A measure that the runs do not have, or nothing was varied that is a number.
        """
        names, across = self._chosen(measures), self._across()
        return below_each_other([self._chart(name, across) for name in names])

    def _chart(self, name: str, across: str) -> Any:
        from satline.simulation import measure

        others = [key for key in self.keys if key != across]
        dots = []
        for point in self.result.points:
            series = (
                ", ".join(f"{k} {point.label[k]}" for k in others if k in point.label) or measure(name).words
            )
            value, low, high = map(finite, _interval(point.estimate(name)))
            dots.append(Dot(series, float(point.label[across]), value, low, high))
        unit = f", {_unit(name)}" if _unit(name) else ""
        return line_chart(dots, across, f"{measure(name).words}{unit}")

    def _across(self) -> str:
        """What the horizontal axis shows: users, else the first key that changes and is a number."""
        for key in sorted(self.keys, key=lambda key: key != "users"):
            values = [point.label.get(key, "") for point in self.result.points]
            if len(set(values)) > 1 and all(map(_is_number, values)):
                return key
        raise InputError(
            "nothing to draw: no number of users and no setting changes",
            hint='simulate(..., users="4..32/4")',
        )

    def _chosen(self, measures: Sequence[str]) -> list[str]:
        for name in measures:
            if name not in self.measures:
                raise InputError(
                    f"there is no measure {name}", hint=f"measures are {', '.join(self.measures)}"
                )
        return list(measures) or [name for name in DRAWN if name in self.measures]

    def _key_columns(self) -> list[Column]:
        points = self.result.points
        return [
            Column("users", "int", unit="users")
            if key == "users"
            else Column(key, "float" if all(_is_number(p.label.get(key, "")) for p in points) else "text")
            for key in self.keys
        ]

    def _place(self, point: Point) -> list[Any]:
        return [point.label.get(key) for key in self.keys]

    def _table(self) -> pa.Table:
        columns = [
            *self._key_columns(),
            Column("measure", "text"),
            Column("unit", "text"),
            *(Column(name) for name in ("value", "low", "high")),
            Column("n", "int", meaning="replications or batches that it rests on"),
            Column("settled", "bool", meaning="it reached a steady state"),
        ]
        rows = []
        for point in self.result.points:
            for name in point.names:
                one = point.estimate(name)
                place = (*self._place(point), name, _unit(name))
                rows.append((*place, *_interval(one), one.n, point.settled(name)))
        return made_table(columns, rows)


def simulate(
    machine: str | Path,
    workload: str | Path,
    *,
    users: str | int | Sequence[int] = (),
    replications: int = 5,
    sets: Mapping[str, Setting] | None = None,
    vary: Mapping[str, Sequence[Setting]] | None = None,
    seconds: float = 3600.0,
    warmup_seconds: float | None = None,
    sample_seconds: float | None = None,
    seed: int = 1,
    until: str | Sequence[str] = (),
    most: int = 200,
    workers: int | None = None,
    out: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Simulation:
    """Simulate `machine` under `workload` at each number of users and each combination of settings.

    All combinations share their random numbers, so that their differences are surer than they are. The same
    seed gives the same numbers on any host, with any number of workers.

    Parameters
    ----------
    machine, workload
        Names of shipped ones, or files.
    users
        Each number is a run of its own: a number, several, or text such as ``4..32/4``; none: the workload's
        own population.
    sets, vary
        Keys of the machine file (``storage.pageable_frames``) or, after ``workload.``, of the workload file,
        and the value or the values that they get.
    seconds, warmup_seconds, sample_seconds
        Simulated length of each run; the part left out at its start, found by MSER-5 if ``None``; time
        between samples.
    until
        Goals such as ``response_s:5%``: replications are added, at most `most`, until each is reached.
    workers
        Runs at a time; default: one for each processor.
    out
        A file that keeps each run's result: an interrupted simulation goes on where it was.
    progress
        Called now and then with the runs done, the runs in all and the part that is done.

    Raises
    ------
    InputError, SatlineError
        Wrong input, the program `satline-machine` is missing, or a run failed.
    """
    from satline.simulation import simulate as run

    return Simulation(
        run(
            machine,
            workload,
            users=_users(users),
            replications=replications,
            sets=sets,
            vary=vary,
            seconds=seconds,
            warmup_seconds=warmup_seconds,
            sample_seconds=sample_seconds,
            seed=seed,
            until=_goals(until),
            most=most,
            workers=workers,
            out=None if out is None else Path(out),
            progress=progress,
        )
    )


def simulate_recording(
    machine: str | Path,
    workload: str | Path,
    out: str | Path,
    *,
    users: str | int | Sequence[int] = (),
    seconds: float = STEP_S,
    warmup_seconds: float | None = None,
    sample_seconds: float = 10.0,
    schedule: bool = False,
    sets: Mapping[str, Setting] | None = None,
    seed: int = 1,
    progress: Callable[[float], None] | None = None,
) -> OpenRecording:
    """Record one run of a simulated machine, whose steps are the numbers of users, and open the recording.

    What can be done with a recording of a host can be done with this one.

    Parameters
    ----------
    machine, workload, sets, seed
        As for `simulate`.
    out
        The recording to make, a new directory.
    users
        A step each, in their order; none: the workload's own population.
    seconds, warmup_seconds, sample_seconds
        Simulated length of a step; the part of it that is not measured, a fifth if ``None``; time between
        samples.
    schedule
        In place of steps the workload's own population, as it changes by the hour, for `seconds`.
    progress
        Called now and then with the part that is done, 0 to 1.

    Raises
    ------
    InputError, SatlineError
        Wrong input, `out` is a recording already, the program is missing, or the run failed.
    """
    from satline.recording import Recording
    from satline.simulation import Program, Run, Stopped, find_machine, find_workload, setting_text

    path = Path(out)
    if (path / "recording.toml").exists():
        raise InputError(f"{path} is a recording already", hint="name another directory")
    if schedule and users != ():
        raise InputError(
            "users and schedule", hint="the workload says how many users there are; leave one out"
        )
    if not 0 < sample_seconds <= seconds < math.inf:
        raise InputError(
            f"samples every {sample_seconds:g} s in a step of {seconds:g} s",
            hint="take several samples of each step",
        )
    run = Run(
        find_machine(machine),
        find_workload(workload),
        users=_users(users),
        step_seconds=STEP_S if schedule else seconds,
        warmup_seconds=(STEP_S if schedule else seconds) / 5 if warmup_seconds is None else warmup_seconds,
        sample_seconds=sample_seconds,
        seed=seed,
        sets=tuple((key, setting_text(value)) for key, value in (sets or {}).items()),
        schedule=schedule,
        schedule_seconds=seconds if schedule else None,
    )
    try:
        Program().run(run, progress, path)
    except Stopped:
        raise KeyboardInterrupt from None
    return OpenRecording(Recording.open(path))


def _users(users: str | int | Sequence[int]) -> tuple[int, ...]:
    from satline.simulation import parse_users

    if isinstance(users, str):
        return parse_users(users)
    numbers = (users,) if isinstance(users, int) else tuple(int(n) for n in users)
    if any(n < 1 for n in numbers):
        raise InputError(f"users={users!r}: at least one user", hint='write 12, [4, 8] or "4..32/4"')
    return numbers


def _goals(until: str | Sequence[str]) -> list[Goal]:
    from satline.simulation import Goal

    return [Goal.parse(text) for text in ([until] if isinstance(until, str) else until)]


def _unit(name: str) -> str:
    from satline.simulation import measure

    return measure(name).unit


def _interval(found: Estimate) -> tuple[float | None, float | None, float | None]:
    return found.value, found.low, found.high


def _words(point: Point, name: str) -> str:
    from satline.simulation import measure

    value, low, high = _interval(point.estimate(name))
    words, unit = measure(name).words, _unit(name)
    if value is None:
        return f"{words} not known"
    ends = "" if low is None or high is None else f" [{low:.3g}, {high:.3g}]"
    return f"{words} {value:.3g}{ends} {unit}".rstrip()


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
