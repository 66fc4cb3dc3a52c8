"""`satline record`: the monitor alone, on a host with its real users."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import click

STATUS_EVERY_S = 2.0
COMPACT_EVERY_S = 3600.0
_UNITS_MS = {"ms": 1, "": 1000, "s": 1000, "min": 60_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class Duration(click.ParamType[int]):
    """``10`` (seconds), ``500ms``, ``10s``, ``5m``, ``8h``, ``7d``, as milliseconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Milliseconds from a text."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d|)\s*", str(value))
        milliseconds = round(float(match[1]) * _UNITS_MS[match[2]]) if match else 0
        if milliseconds <= 0:
            self.fail(f"{value!r} is not a time; write 10, 500ms, 10s, 5m, 8h or 7d", param, ctx)
        return milliseconds


@click.command(
    epilog="""\b
Examples:
  satline record /var/tmp/host.satline
  satline record /var/tmp/host.satline --interval 10 --duration 7d --users session
  satline record --print-unit
  sudo satline record --install --interval 10
"""
)
@click.argument("directory", required=False, type=click.Path(path_type=Path))
@click.option(
    "--interval", type=Duration(), default="1s", show_default=True, help="Time between samples, from 100ms."
)
@click.option(
    "--users",
    type=click.Choice(["uid", "session", "cgroup"]),
    default="uid",
    show_default=True,
    help="What a user is: user id, login session, or control group (slice, container, batch job).",
)
@click.option("--duration", type=Duration(), help="End after this time; by default at Ctrl-C.")
@click.option(
    "--install", is_flag=True, help="Write systemd units that record from boot on, and compact every hour."
)
@click.option("--print-unit", is_flag=True, help="Print these units and write nothing.")
@click.option("--root", type=click.Path(path_type=Path), default=Path("/"), hidden=True)
def record(
    directory: Path | None,
    interval: int,
    users: str,
    duration: int | None,
    install: bool,
    print_unit: bool,
    root: Path,
) -> int:
    """Record this host with its real users.

    DIRECTORY is the recording; a new one here by default, /var/lib/satline/host.satline with --install.
    """
    from satline import cli_units
    from satline.systems.binaries import find_binary

    if interval < 100:
        raise click.BadParameter("less than 100ms", click.get_current_context(), param_hint="--interval")
    monitor = find_binary("satline-monitor")
    if install or print_unit:
        if duration is not None:
            raise click.UsageError("--duration does not go with --install", click.get_current_context())
        recording = (directory or cli_units.RECORDING).absolute()
        units = cli_units.make_units(monitor, find_binary("satline"), recording, interval, users)
        if print_unit:
            click.echo("\n".join(f"# {name}\n{text}" for name, text in units.items()), nl=False)
        else:
            cli_units.install(units, recording, root)
        return 0
    recording = directory or Path(f"host-{datetime.now():%Y%m%d-%H%M%S}.satline")
    command = [str(monitor), "--recording", str(recording), "--interval", f"{interval}ms", "--users", users]
    if duration is not None:
        command += ["--duration", f"{duration}ms"]
    return _foreground(command, recording)


def _foreground(command: list[str], recording: Path) -> int:
    """Run the monitor until it or the person ends it, then bring the recording to rest."""
    from satline.errors import SatlineError
    from satline.interruption import Interrupted, signals_interrupt
    from satline.recording import compact
    from satline.report._escape import visible
    from satline.systems.child import end, end_with_parent

    asked = False
    with signals_interrupt() as signals:
        monitor = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=end_with_parent
        )
        try:
            try:
                _wait(monitor, recording)
            finally:
                signals.hold()
        except Interrupted:
            asked = True
        finally:
            end(monitor)
        if monitor.returncode != 0 and not asked:
            if monitor.returncode > 0:
                return monitor.returncode  # it has said why
            name = signal.Signals(-monitor.returncode).name
            raise SatlineError(
                f"the monitor was ended by {name}", hint="what was recorded until then is kept"
            )
        done = compact(recording)
        signals.take()  # asked once more to end; it has
    size = sum(path.stat().st_size for path in recording.rglob("*") if path.is_file())
    click.echo(f"{visible(recording)}: {done.rows:,} rows, {size:,} bytes")
    return 0


def _wait(monitor: subprocess.Popen[bytes], recording: Path) -> None:
    """Show how it goes until the monitor ends, and compact what is full meanwhile."""
    from rich.console import Console
    from rich.text import Text

    from satline.recording import compact
    from satline.report._escape import visible

    begun = compacted = time.monotonic()
    with Console(stderr=True).status("") as status:
        while monitor.poll() is None:
            if time.monotonic() - compacted >= COMPACT_EVERY_S:
                compact(recording)  # segments that are full; those being written stay
                compacted = time.monotonic()
            status.update(Text(visible(status_line(recording, time.monotonic() - begun))))
            with contextlib.suppress(subprocess.TimeoutExpired):
                monitor.wait(STATUS_EVERY_S)


def status_line(recording: Path, seconds: float) -> str:
    """The one line that stands while recording."""
    from satline.experiment.progress import clock
    from satline.experiment.sizes import format_size

    size = 0
    for path in recording.rglob("*"):
        try:
            size += path.stat().st_size
        except OSError:
            continue  # replaced meanwhile
    end = "Ctrl-C ends" if sys.stdin.isatty() else "SIGINT ends"
    return f"recording to {recording}: {clock(seconds)}, {format_size(size)}; {end}"
