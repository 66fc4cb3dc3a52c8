"""`satline recording check|compact|info`, `satline annotate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from satline.cli_analysis import RECORDING

JSON = click.option("--json", "as_json", is_flag=True, help="As JSON.")


@click.group(
    short_help="Look after recordings: check, compact, info.",
    epilog="""\b
Examples:
  satline recording check host.satline        is it whole, what is missing; exit code 1 if not
  satline recording compact host.satline      also while it is being written
  satline recording info host.satline --json | jq .sources.monitor.cost
""",
)
def recording() -> None:
    """Look after recordings."""


@recording.command(short_help="Can it be read, what does it hold, what is missing.")
@RECORDING
@JSON
def check(recording: Path, as_json: bool) -> int:
    """Check a recording: can it be read, what does it hold, what is missing.

    The exit code is 1 when something is wrong.
    """
    from satline.recording import check as examine
    from satline.report._escape import visible

    found = examine(recording)
    if as_json:
        click.echo(json.dumps(found.as_dict(), indent=2, default=str))
        return 0 if found.ok else 1
    for problem in found.problems:
        click.echo(f"problem: {visible(problem)}")
    for warning in found.warnings:
        click.echo(f"warning: {visible(warning)}")
    for table, rows in found.rows.items():
        click.echo(f"{visible(table):12} {rows:>12,} rows")
    end = f"ended: {visible(found.end_reason)}" if found.ended else "not ended"
    click.echo(f"{visible(found.path)}: {'sound' if found.ok else 'not sound'}, {end}")
    return 0 if found.ok else 1


@recording.command("delay-accounting", hidden=True)
@click.argument("switch", type=click.Choice(["on", "off"]))
@click.argument("unit")
def delay_accounting(switch: str, unit: str) -> int:
    """Hold kernel.task_delayacct on for a systemd unit, or let go of it: for the units of `satline record
    --install --delay-accounting`."""
    from satline.systems.delay_accounting import is_on, shared

    if switch == "off":
        shared().release(unit)
        return 0
    if is_on() is None:
        click.echo("this kernel has no kernel.task_delayacct", err=True)
        return 1
    shared().hold(unit)
    return 0


@recording.command(short_help="Turn what is closed into Parquet.")
@RECORDING
@JSON
def compact(recording: Path, as_json: bool) -> None:
    """Turn what is closed into Parquet; all of it once the recording has ended."""
    from satline.recording import compact as bring_to_rest
    from satline.report._escape import visible

    done = bring_to_rest(recording)
    if as_json:
        content = {
            "segments": done.segments,
            "rows": done.rows,
            "left": len(done.left),
            "damaged": len(done.damage),
            "kept": [str(path) for path in done.kept],
            "bytes_before": done.bytes_before,
            "bytes_after": done.bytes_after,
        }
        click.echo(json.dumps(content, indent=2))
        return
    for damage in done.damage:
        click.echo(f"warning: {visible(damage)}")
    for kept in done.kept:
        click.echo(f"kept, because it is damaged: {visible(kept)}")
    click.echo(
        f"{done.segments} segments, {done.rows:,} rows: {done.bytes_before:,} → {done.bytes_after:,} bytes; "
        f"{len(done.left)} segments may still grow"
    )


@recording.command(short_help="Show what a recording says of itself.")
@RECORDING
@JSON
def info(recording: Path, as_json: bool) -> None:
    """Show what a recording says of itself: host, limits, methods, cost, what is missing."""
    from satline.recording import Recording
    from satline.report._escape import visible

    opened = Recording.open(recording)
    content = {"description": opened.description, "sources": opened.sources, "tables": opened.tables()}
    if as_json:
        click.echo(json.dumps(content, indent=2, default=str))
        return
    for key, value in _flat(content):
        lines = str(value).splitlines()
        # Whole files stand in [study]; one line of each tells that they are there.
        shown = visible(lines[0]) + f" … ({len(lines)} lines)" if len(lines) > 1 else visible(value)
        click.echo(f"{visible(key)}: {shown}")


def _flat(value: Any, key: str = "") -> list[tuple[str, Any]]:
    """Nested tables as pairs of a dotted key and a value."""
    if isinstance(value, dict):
        return [
            pair
            for name, inner in value.items()
            for pair in _flat(inner, f"{key}.{name}" if key else str(name))
        ]
    if isinstance(value, list | tuple) and any(isinstance(item, dict) for item in value):
        return [
            pair for number, item in enumerate(value, start=1) for pair in _flat(item, f"{key}[{number}]")
        ]
    if isinstance(value, list | tuple):
        return [(key, ", ".join(map(str, value)))]
    return [(key, value)]


@click.command(
    short_help="Add a note of yours to a recording.",
    epilog="""\b
Example:
  satline annotate host.satline "second drum installed"
""",
)
@RECORDING
@click.argument("text")
def annotate(recording: Path, text: str) -> None:
    """Add a note of yours, with the time of now, to a recording; also while it is being written."""
    from satline.recording import describe

    if not text.strip():
        raise click.UsageError("the text is empty", click.get_current_context())
    describe.annotate(recording, text)
