"""This host as the system under test: the load in a control group of its own, all else left as it is."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from satline.errors import SatlineError
from satline.interruption import signals_held
from satline.systems import Conditions, Configuration, Monitoring, Server, resources
from satline.systems.cgroups import Group, UnsettableError, plan_group
from satline.systems.delay_accounting import switch_on
from satline.systems.event_trace import EventTrace
from satline.systems.janitor import JanitorProcess
from satline.systems.knobs import swap_bytes_of, turn
from satline.systems.programs import Programs
from satline.systems.swapdevices import KINDS, Making
from satline.systems.undo import swap_in_use


class ThisHost:
    """The host that Satline runs on.

    Parameters
    ----------
    cgroup_root, proc, sys
        Where the kernel's file systems are.
    run
        Where those who share a setting of the kernel are registered.
    state
        Directory for the ledger; ``None``: the usual place.
    """

    kind = "this-host"

    def __init__(
        self,
        *,
        cgroup_root: Path = Path("/sys/fs/cgroup"),
        proc: Path = Path("/proc"),
        sys: Path = Path("/sys"),
        run: Path = Path("/run"),
        state: Path | None = None,
    ) -> None:
        self._cgroup_root = cgroup_root
        self._proc = proc
        self._sys = sys
        self._run = run
        self._state = state
        self._janitor: JanitorProcess | None = None
        self._programs: Programs | None = None
        self._conditions: Conditions | None = None

    def prepare(self, configuration: Configuration) -> Conditions:
        with signals_held():  # a janitor of whom nobody knows would come when we have gone, or never
            self._janitor = JanitorProcess.start(configuration.run_id, self._state)
        directory = self._make_directory(configuration)
        conditions = Conditions(
            data=directory / "data", users=directory / "users", users_file=directory / "users.tsv"
        )
        for part in (conditions.data, conditions.users):
            part.mkdir()
        conditions.environment = {
            **configuration.environment,
            "SATLINE_RUN": configuration.run_id,
            "SATLINE_DATA": str(conditions.data),
        }
        self._conditions = conditions
        if configuration.delay_accounting:
            self._switch_on_delay_accounting()
        conditions.knobs, conditions.not_set = turn(
            configuration.knobs, self._janitor.ledger, self._proc, self._sys
        )
        self._set_swap(configuration, directory)
        group = self._make_group(configuration)
        self._set_limits(configuration, group)
        self._make_trace(configuration)
        in_force = conditions.limits
        stated = configuration.limits.stated()
        conditions.limits = {name: in_force[name] for name in stated if name in in_force}
        # Last in the ledger, hence undone first: nothing is taken from under a process that still runs.
        self._janitor.ledger.add("processes", marker=f"SATLINE_RUN={configuration.run_id}")
        self._programs = Programs(conditions)
        return conditions

    def _make_directory(self, configuration: Configuration) -> Path:
        assert self._janitor is not None
        directory = configuration.scratch / f"satline-{configuration.run_id}"
        self._janitor.ledger.add("directory", path=str(directory.absolute()))
        try:
            directory.mkdir(mode=0o755)
        except OSError as error:
            raise SatlineError(
                f"{directory} cannot be made: {error.strerror}",
                hint="name another directory on a local disk for scratch files",
            ) from None
        return directory.absolute()

    def _switch_on_delay_accounting(self) -> None:
        """Without it the kernel does not say who waited for which page; the monitor says what was missing."""
        assert self._janitor is not None
        switch_on(self._janitor.ledger, self._proc, self._run)

    def _set_swap(self, configuration: Configuration, directory: Path) -> None:
        assert self._janitor is not None
        assert self._conditions is not None
        if configuration.knobs.swap_device is not None:
            self._use_swap_device(configuration.knobs.swap_device.absolute())
            return
        size = configuration.limits.swap_bytes
        if size is None:
            return
        kind = configuration.knobs.swap_kind
        try:
            path = KINDS[kind or "disk"](self._making(configuration, directory, size))
            if kind not in (None, "disk"):
                self._janitor.ledger.add("swapoff", path=str(path))
            resources.swap_on(path, discard=bool(configuration.knobs.swap_discard))
        except UnsettableError as error:
            self._conditions.not_set["swap_bytes"] = str(error)
            if kind is not None:
                self._conditions.not_set["swap_kind"] = str(error)
            (directory / "swap").unlink(missing_ok=True)  # of no use, and it may be large
        else:
            self._conditions.limits["swap_bytes"] = size
            if kind is not None:
                self._conditions.knobs["swap_kind"] = kind
            if configuration.knobs.swap_discard is not None:
                self._conditions.knobs["swap_discard"] = configuration.knobs.swap_discard

    def _making(self, configuration: Configuration, directory: Path, size: int) -> Making:
        assert self._janitor is not None
        allowed = sorted(os.sched_getaffinity(0))
        others = allowed[: -configuration.limits.processors] if configuration.limits.processors else []
        return Making(self._janitor.ledger, directory, size, tuple(others), self._sys)

    def _use_swap_device(self, device: Path) -> None:
        assert self._janitor is not None
        assert self._conditions is not None
        try:
            size = swap_bytes_of(device)
            if swap_in_use(device, self._proc):
                raise UnsettableError(f"{device} is in use as swap already")
            self._janitor.ledger.add("swapoff", path=str(device))
            resources.swap_on(device)
        except UnsettableError as error:
            self._conditions.not_set["swap_device"] = str(error)
        else:
            self._conditions.knobs["swap_device"] = str(device)
            self._conditions.limits["swap_bytes"] = size

    def _make_group(self, configuration: Configuration) -> Group | str:
        """The load's group, or why there is none."""
        assert self._janitor is not None
        assert self._conditions is not None
        try:
            group = plan_group(f"satline-{configuration.run_id}", self._cgroup_root, self._proc)
            if group.borrowed:
                self._janitor.ledger.add("controllers", path=str(group.borrowed[0]), names=group.borrowed[1])
            self._janitor.ledger.add(
                "cgroup", directories=[str(directory) for directory in group.directories]
            )
            group.make()
        except (UnsettableError, OSError) as error:
            return str(error)
        self._conditions.cgroup = group.path
        self._conditions.cgroup_procs = group.procs_files()
        return group

    def _make_trace(self, configuration: Configuration) -> None:
        if configuration.trace is None:
            return
        assert self._janitor is not None
        assert self._conditions is not None
        conditions, wanted = self._conditions, configuration.trace
        name, load = f"satline-{configuration.run_id}", conditions.cgroup_procs
        try:
            conditions.trace = EventTrace(name, wanted.events, wanted.space_bytes, load, self._janitor.ledger)
        except UnsettableError as error:
            conditions.not_set["trace"] = str(error)

    def _set_limits(self, configuration: Configuration, group: Group | str) -> None:
        assert self._conditions is not None
        conditions, limits = self._conditions, configuration.limits
        allowed = sorted(os.sched_getaffinity(0))
        if limits.processors is not None:
            # The load gets the last ones: the first often serve the interrupts.
            chosen = allowed[-limits.processors :]
            conditions.processors = chosen
            conditions.other_processors = [number for number in allowed if number not in chosen]
            if not self._try(
                "processors", limits.processors, lambda: _of(group).set_processors(chosen), group
            ):
                # Affinity does as well for programs that do not set their own.
                conditions.affinity = chosen
                conditions.limits["processors"] = limits.processors
                conditions.not_set.pop("processors")
        if limits.cpu_quota_processors is not None:
            quota = limits.cpu_quota_processors
            self._try("cpu_quota_processors", quota, lambda: _of(group).set_cpu_quota(quota), group)
        if limits.memory_bytes is not None:
            memory, swap = limits.memory_bytes, conditions.limits.get("swap_bytes")
            swap_bytes = None if swap is None else int(swap)
            self._try("memory_bytes", memory, lambda: _of(group).set_memory(memory, swap_bytes), group)
        swappiness = conditions.knobs.get("swappiness")
        if swappiness is not None and not isinstance(group, str):
            try:
                group.set_swappiness(int(swappiness))
            except UnsettableError as error:
                conditions.not_set["swappiness"] = str(error)
        if limits.read_iops is not None:
            reads = limits.read_iops
            self._try("read_iops", reads, lambda: _of(group).set_read_iops(self._disk(), reads), group)
        if limits.read_bytes_per_second is not None:
            rate = limits.read_bytes_per_second
            self._try(
                "read_bytes_per_second", rate, lambda: _of(group).set_read_bytes(self._disk(), rate), group
            )

    def _disk(self) -> str:
        assert self._conditions is not None
        return resources.disk_of(self._conditions.data, self._sys, self._proc)

    def _try(self, name: str, value: int | float, apply: Callable[[], None], group: Group | str) -> bool:
        assert self._conditions is not None
        try:
            if isinstance(group, str):
                raise UnsettableError(group)
            apply()
        except (UnsettableError, OSError) as error:
            self._conditions.not_set[name] = str(error)
            return False
        self._conditions.limits[name] = value
        return True

    def run_once(self, commands: Sequence[str], timeout_s: float) -> None:
        assert self._programs is not None
        for command in commands:
            self._programs.run_once(command, timeout_s)

    def start(self, servers: Sequence[Server]) -> None:
        assert self._programs is not None
        for server in servers:
            self._programs.start_server(server)

    def measure(self, monitoring: Monitoring) -> None:
        assert self._programs is not None
        self._programs.start_monitor(monitoring)

    def check(self) -> None:
        if self._programs is not None:
            self._programs.check()

    def collect(self) -> None:
        if self._programs is not None:
            self._programs.stop_monitor()

    def restore(self) -> list[str]:
        if self._programs is not None:
            self._programs.stop_all()
        if self._janitor is None:
            return []
        try:
            return self._janitor.finish()
        except subprocess.TimeoutExpired:
            return [f"the janitor did not end; {self._janitor.ledger.path} says what is left"]


def _of(group: Group | str) -> Group:
    assert not isinstance(group, str)
    return group
