"""`satline record`: the monitor alone, on a host with its real users."""

from __future__ import annotations

import contextlib
import os
import subprocess
from datetime import datetime
from pathlib import Path

import click

from satline.cli.declared import argument, command, option
from satline.cli.options import KEEP, MAX_SIZE, Duration


@command("""\b
Examples:
  satline record /var/tmp/host.satline --duration 8h
  sudo satline record lab.satline --terminals --users terminal --waits
  sudo satline record --install --keep 30d --max-size 5G       from boot on
""")
def record(
    directory: Path | None = argument(),
    interval: int = option("Time between samples, from 100ms.", type=Duration(), default="1s"),
    users: str = option(
        "What counts as a user: user id, login session, terminal, or control group (slice, container,"
        " batch job).",
        type=click.Choice(["uid", "session", "terminal", "cgroup"]),
        default="uid",
    ),
    user_rules: Path | None = option(
        "Rules for users: login, slice, service, container, pod, Slurm job, JupyterHub server,"
        " program. See examples/user-rules/users.toml.",
        metavar="FILE",
    ),
    print_users: bool = option("Print the current users and their programs; record nothing."),
    duration: int | None = option("End after this time; by default at Ctrl-C.", type=Duration()),
    cgroup: str | None = option(
        "Control group that is the load, such as /system.slice/nginx.service: its quota, limits and"
        " pressure are then part of the diagnosis.",
        metavar="PATH",
    ),
    thermometers: tuple[str, ...] = option(
        "Run a small probe now and then, and record how long it takes: trivial (a command over a terminal),"
        " io (64 reads), compute (0.1 s of CPU), paging (16 MB), mixed.",
        "--thermometer",
        metavar="NAME[,NAME...]",
    ),
    every: int = option(
        "Time between two runs of a probe.", "--thermometer-every", type=Duration(), default="30s"
    ),
    delay_accounting: bool = option(
        "Make the kernel count how long tasks wait for pages and disks (kernel.task_delayacct) while"
        " recording; the setting is restored at the end, also after kill -9. Needs root."
    ),
    waits: bool = option(
        "Record at each context switch what users wait for (pages, disks, locks, other processes, the"
        " network), and which user holds it. Needs root and Linux 5.19 (tried on 6.1 and later)."
    ),
    terminals: bool = option(
        "Record how long users at terminals (windows, ssh, tmux, containers) wait for each line that they"
        " enter: until its first output, and until the next prompt. Nothing typed or displayed is stored."
        " Needs root and Linux 5.15 (tried on 6.1 and later)."
    ),
    services: bool = option(
        "Record how long clients of services on this host (web servers, databases) wait: each request"
        " over TCP, encrypted or not, until the first and the last byte of its answer. No content is read."
        " Needs root and Linux 6.4."
    ),
    command_names: bool = option(
        "With --terminals: the class of a line is the name of the command that it started, not just"
        " 'command'. With --services: the class of a request has the name of the program that answered."
    ),
    budget: float = option(
        "Limit on recording, in percent of one processor. Above it, the most expensive detail is left out"
        " (waits, services, terminals, every second sample), and the recording says so. 0: no limit.",
        type=click.FloatRange(min=0, max=100),
        default=2.0,
        metavar="PERCENT",
    ),
    explain_sources: bool = option(
        "Print what is recorded on this kernel, by which methods and at what cost, and what is missing;"
        " record nothing."
    ),
    quiet: bool = option(
        "Do not print what the recording shows after 5, 10, 20, 40 … minutes, at the end, and when a probe"
        " has become three times as slow as usual."
    ),
    key: Path | None = option(
        "Replace names of users, control groups, commands, files and the host by keyed hashes before they"
        " are written; FILE is the key. `satline recording reveal` restores them.",
        "--pseudonymise",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
    ),
    make_key: bool = option("Create that key in a new file."),
    keep: int | None = KEEP,
    max_size: int | None = MAX_SIZE,
    install: bool = option("Write systemd units that record from boot on, and compact every hour."),
    print_unit: bool = option("Print these units and write nothing."),
    root: Path = option(default=Path("/"), hidden=True, show_default=False),
) -> int:
    """Record this host and its real users.

    DIRECTORY is the recording; by default a new one here, or /var/lib/satline/host.satline with --install. An
    existing recording is continued. `satline diagnose DIRECTORY` works at any time, also while the recording
    is being written.
    """
    from satline.cli.record import units
    from satline.cli.record.foreground import foreground
    from satline.cli.record.plan import Plan, closed_to_probes, group_path, hierarchies, thermometers_of
    from satline.systems.binaries import find_binary
    from satline.systems.delay_accounting import switched_on

    context = click.get_current_context()
    if user_rules is not None:
        if context.get_parameter_source("users") is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError("--users and --user-rules exclude each other", context)
        users = f"rules:{user_rules.absolute()}"
    if command_names and not (terminals or services):
        raise click.UsageError("--command-names goes with --terminals or --services", context)
    for name, time, least in (("--interval", interval, 100), ("--thermometer-every", every, 1000)):
        if time < least:
            raise click.BadParameter(f"less than {least}ms", context, param_hint=name)
    if make_key and key is None:
        raise click.UsageError("--make-key goes with --pseudonymise", context)
    monitor = find_binary("satline-monitor")
    if explain_sources:
        return subprocess.run([monitor, "--explain-sources"], check=False).returncode
    if print_users or user_rules is not None:
        # Wrong rules are told before anything is made.
        asked = subprocess.run(
            [monitor, "--users", users, "--print-users", "--companion", str(os.getpid())],
            stdout=None if print_users else subprocess.DEVNULL,
            check=False,
        )
        if print_users or asked.returncode:
            return asked.returncode
    probes = thermometers_of(thermometers)
    as_service = install or print_unit
    notes = []
    inside = cgroup is not None
    if cgroup is not None:
        mounted = hierarchies()
        # Of a service the group may come to be later.
        cgroup = group_path(cgroup, mounted, exists=not as_service)
        closed = closed_to_probes(cgroup, mounted) if probes else None
        inside = closed is None
        if closed:
            notes.append(f"the probes run outside of {cgroup} and do not feel its limits: {closed}")
    named = directory or (
        units.RECORDING if as_service else Path(f"host-{datetime.now():%Y%m%d-%H%M%S}.satline")
    )
    plan = Plan(
        monitor=monitor,
        recording=named.absolute() if as_service else named,
        interval_ms=interval,
        users=users,
        thermometers=probes,
        every_ms=every,
        thermometer=find_binary("satline-thermometer") if probes else None,
        cgroup=cgroup,
        probes_in_cgroup=inside,
        duration_ms=duration,
        tell_alarms=not quiet,
        waits=waits,
        terminals=terminals,
        services=services,
        command_names=command_names,
        budget_percent=budget or None,
        key=key.absolute() if key is not None and as_service else key,
        keep_s=None if keep is None else keep / 1000,
        max_bytes=max_size,
    )
    if as_service:
        for note in notes:
            click.echo(f"note: {note}", err=True)
        if duration is not None:
            raise click.UsageError("--duration does not go with --install", context)
        if not print_unit:
            _key_is_there(key, make=make_key)
        made = units.make_units(plan, find_binary("satline"), delay_accounting=delay_accounting)
        if print_unit:
            click.echo("\n".join(f"# {name}\n{text}" for name, text in made.items()), nl=False)
        else:
            units.install(made, plan.recording, root)
        return 0
    _key_is_there(key, make=make_key)
    with contextlib.ExitStack() as stack:
        problems = stack.enter_context(switched_on()) if delay_accounting else []
        status = foreground(plan, [*notes, *_to_gain(delay_accounting)], headlines=not quiet)
    for problem in problems:
        click.echo(f"warning: not put back: {problem}", err=True)
    return status or (1 if problems else 0)


def _key_is_there(key: Path | None, *, make: bool) -> None:
    """Make the key, or see that it is one."""
    from satline.present import visible
    from satline.recording import make_key, read_key

    if key is not None and make:
        make_key(key)
        click.echo(f"new key: {visible(key)}; who has it can read the names: keep it to yourself", err=True)
    elif key is not None:
        read_key(key)


def _to_gain(asked: bool) -> list[str]:
    """What delay accounting would tell, where it is off."""
    from satline.systems.delay_accounting import is_on

    if asked or is_on() is not False:
        return []
    how = "--delay-accounting" if os.geteuid() == 0 else "sudo satline record --delay-accounting"
    return [
        "kernel.task_delayacct is 0: how long users wait for pages and disks is estimated from samples;"
        f" `{how}` measures it"
    ]
