"""`satline recording join`: a log of requests beside what a recording says of the host."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from satline.cli.declared import argument, command, option
from satline.cli.options import RECORDING
from satline.cli.outputs import JSON, print_json


@command("""\b
Examples:
  satline recording join host.satline access.log --format nginx
  satline recording join host.satline requests.csv --mapping requests.toml
  satline recording join host.satline access.log --format apache --anew

\b
A mapping file for a CSV of requests:
  [time]
  column = "begin"
  [transaction]
  time_is = "begin"
  response_column = "duration"
  unit = "ms"
  user_column = "user"                        optional, as is class_column
""")
def join(
    recording: Path = RECORDING,
    logs: tuple[Path, ...] = argument("LOG...", required=True),
    form: str = option(
        "csv: CSV or Parquet, with --mapping. nginx: lines that end with $request_time. apache: with %D.",
        "--format",
        type=click.Choice(["csv", "nginx", "apache"]),
        default="csv",
    ),
    mapping: Path | None = option("File that says what the columns of a CSV mean."),
    timezone: str | None = option("Time zone of times without one: Europe/Berlin.", metavar="ZONE"),
    shift: float = option(
        "Add this much to the times of the log, if its clock is wrong.",
        default=0.0,
        metavar="SECONDS",
        show_default=False,
    ),
    anew: bool = option("Take out what was joined earlier, first."),
    as_json: bool = JSON,
) -> None:
    """Add an application's request log to a recording, as its transactions.

    The host's readings say what was busy, the log which service users got: throughput, response times and, if
    the log names them, users and classes. Requests that began outside of the readings are left out and
    counted. A log cannot be joined twice.
    """
    import math

    from satline.cli.importing import time_zone
    from satline.importers import Options
    from satline.importers.join import join as add
    from satline.present import visible

    context = click.get_current_context()
    if form != "csv" and mapping is not None:
        raise click.UsageError(f"--mapping does not go with --format {form}", context)
    if not math.isfinite(shift) or abs(shift) > 1e9:
        raise click.BadParameter("not a number of seconds", context, param_hint="--shift")
    zone = time_zone(timezone) if timezone else None
    done = add(recording, logs, form, Options(zone=zone, mapping=mapping), shift_s=shift, anew=anew)

    def shown(ns: int) -> str:
        return datetime.fromtimestamp(ns / 1e9, zone or UTC).isoformat(timespec="seconds")

    if as_json:
        print_json(
            "recording-join",
            recording=recording,
            requests=done.rows,
            left_out=done.left_out,
            begins=shown(done.begins),
            ends=shown(done.ends),
            users=done.users,
            classes=done.classes,
            damage=done.damaged,
            notes=done.notes,
        )
        return
    counted = ((done.users, "user", "users"), (done.classes, "class", "classes"))
    parts = [f"{done.rows:,} request{'s'[: done.rows != 1]} joined"]
    parts += [f"{count:,} {one if count == 1 else many}" for count, one, many in counted if count]
    click.echo(f"{visible(recording)}: {', '.join(parts)}")
    if done.left_out:
        whole = f"the log goes from {shown(done.begins)} to {shown(done.ends)}"
        click.echo(f"  left out: {done.left_out:,} that began outside of the readings; {whole}")
    for text in done.damaged:
        click.echo(f"  damaged: {visible(text)}")
    for text in done.notes:
        click.echo(f"  note: {visible(text)}")
    click.echo(f"next: satline diagnose {visible(recording)}")
