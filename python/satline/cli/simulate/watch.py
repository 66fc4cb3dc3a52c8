"""`satline simulate --watch`: a run as it goes, in the terminal or as lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from satline.errors import InputError

if TYPE_CHECKING:
    from satline.simulation.watching import Watched

# Users that keys can bring beyond those of the largest step.
ROOM = 50
STEP_S = 600.0
# Options of which a watched run has no use, and why.
USELESS = {
    "vary": "one run is watched: --set sets a value",
    "differences": "one run is watched",
    "until": "one run is watched: there is no interval",
    "output": "nothing is kept: --record makes a recording",
    "record": "watch it without, or record it without",
    "markdown": "a page is made of a study",
    "replications": "one run is watched; another --seed shows another",
    "warmup": "nothing is left out",
    "measures": "all that is shown is shown",
    "workers": "one run is watched",
}


def watch_run(machine: str, workload: str, as_json: bool, options: dict[str, Any]) -> None:
    """Watch a run: on a terminal as a picture, with `as_json` as the lines of docs/reference/watching.md."""
    from rich.console import Console

    from satline.present.watching import USUAL_PACE, Pace, watch
    from satline.simulation import Program

    for name, why in USELESS.items():
        # A warm-up of 0 was asked for too.
        if options[name] is not None and options[name] is not False and options[name] != ():
            raise InputError(f"--watch with --{name}", hint=why)
    pace = options["pace"]
    if as_json:
        command = _command(Program(), machine, workload, options, room=0)
        _lines(command, pace, options["sample_seconds"] or 1.0)
        return
    if options["sample_seconds"]:
        raise InputError("--watch with --sample-seconds", hint="--pace says how fast it goes; or take --json")
    console = Console()
    if not sys.stdout.isatty() or console.is_dumb_terminal:
        raise InputError(
            "--watch draws on a terminal, and standard output is none"
            if not sys.stdout.isatty()
            else "--watch cannot draw on this terminal: it is said to be dumb (TERM)",
            hint="--json prints a line for every simulated second; --record keeps a run",
        )
    watch(_command(Program(), machine, workload, options, ROOM), console, Pace(pace or USUAL_PACE))


def _command(program: Any, machine: str, workload: str, options: dict[str, Any], room: int) -> list[str]:
    from satline.simulation import find_machine, find_workload, parse_set, parse_users

    words = [str(program.path), "watch", str(find_machine(machine)), str(find_workload(workload))]
    words += ["--commands", "--room", str(room)]
    seconds = options["seconds"]
    if options["users"]:
        words += ["--users", ",".join(str(users) for users in parse_users(options["users"]))]
    if options["schedule"]:
        words += ["--schedule", *(["--seconds", f"{seconds:.12g}"] if seconds else [])]
    else:
        words += ["--step-seconds", f"{seconds or STEP_S:.12g}"]
    words += ["--seed", str(1 if options["seed"] is None else options["seed"])]
    for text in options["sets"]:
        key, value = parse_set(text)
        words += ["--set", f"{key}={value}"]
    return words


def _lines(command: list[str], pace: float | None, interval_s: float) -> None:
    """The program's lines as they come; with a pace no faster than that."""
    from satline.simulation.watching import Watched

    with Watched(command) as run:
        due = time.monotonic()
        for line in _all(run, interval_s):
            click.echo(line.decode("utf-8", "replace"))
            if pace:
                due = max(due, time.monotonic() - 1.0) + interval_s / pace
                time.sleep(max(0.0, due - time.monotonic()))


def _all(run: Watched, interval_s: float) -> Iterator[bytes]:
    """Every line; each frame but the first is asked for."""
    while (line := run.line()) is not None:
        yield line
        if run.content(line).get("kind") == "frame":
            run.go(interval_s)
