"""`satline simulate calibrate`: free constants of a simulated machine, fitted to a measured table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from satline.cli.completion import names_in, shipped
from satline.cli.declared import argument, command, option
from satline.cli.outputs import JSON, output_option, print_text
from satline.cli.simulate.running import TERMINATED, progress, stoppable
from satline.errors import InputError

if TYPE_CHECKING:
    from satline.simulation.calibration import Calibrated


@command("""\b
Examples:
  satline simulate calibrate 3081D                 a shipped calibration
  satline simulate calibrate mine.toml -o mine     again: continues
  satline simulate calibrate mine.toml --apply     also write the constants
""")
def calibrate(
    file: str = argument(shell_complete=names_in(shipped("studies", "calibration"))),
    output: Path | None = output_option(
        "Directory of the results. [default: NAME-calibrated]", metavar="DIR"
    ),
    applied: bool = option("Write the constants into machine and workload file.", "--apply"),
    workers: int | None = option("Runs at a time. [default: one per processor]", type=click.IntRange(1)),
    as_json: bool = JSON,
) -> int:
    """Fit free constants of a simulated machine and its workload to a table of measurements.

    FILE names machine, workload, the measured figures with their tolerances, and the constants with their
    ranges. The fit is by simulation, with the same random numbers at every point; it is checked with random
    numbers not used in the fit. The constants are written to a patch, with a note of what they were fitted
    to.
    """
    from satline.present.calibration import content, page
    from satline.present.documents import document, text
    from satline.simulation import find_calibration
    from satline.simulation.calibration import calibrate as run
    from satline.simulation.calibration import read_calibration
    from satline.simulation.calibration.write import patch, save, written

    calibration = read_calibration(find_calibration(file))
    directory = output or Path(f"{calibration.name}-calibrated")
    if directory.exists() and not directory.is_dir():
        raise InputError(f"{directory} is not a directory", hint="name another one with --output")
    notes: list[str] = []
    with stoppable() as stopped:
        try:
            with progress(notes) as show:
                result = run(
                    calibration,
                    workers=workers,
                    out=directory / "runs.jsonl",
                    progress=show,
                    note=notes.append,
                )
        except KeyboardInterrupt:
            hint = f"what is done is kept in {directory}; the same command goes on"
            click.echo(f"error: interrupted\nhint: {hint}", err=True)
            return TERMINATED if stopped else 130
    files = written(result)
    shown = document("simulate-calibrate", content(result))
    save(directory / "constants.patch", patch(files))
    save(directory / "fit.md", page(result))
    save(directory / "fit.json", text(shown) + "\n")
    if applied:
        for path, (_, after) in files.items():
            save(path, after)
    if as_json:
        click.echo(text(shown))
        return 0
    _say(result, directory, applied)
    return 0


def _say(result: Calibrated, directory: Path, applied: bool) -> None:

    from satline.present import visible
    from satline.present.calibration import calibrated

    print_text(calibrated(result))
    machine, workload = result.calibration.machine, result.calibration.workload
    if applied:
        click.echo(f"written: {visible(machine)}, {visible(workload)}")
    click.echo(f"kept: {visible(directory)}: constants.patch, fit.md, fit.json, runs.jsonl")
