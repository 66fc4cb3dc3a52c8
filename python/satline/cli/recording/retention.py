"""`satline recording prune`: what retention lets go."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from satline.cli.declared import command, option
from satline.cli.options import KEEP, MAX_SIZE, RECORDING
from satline.cli.outputs import JSON, print_json

if TYPE_CHECKING:
    from satline.recording import PruneReport


@command("""\b
Examples:
  satline recording prune host.satline --keep 30d --max-size 5G --dry-run
  satline recording prune host.satline --keep 30d
""")
def prune(
    recording: Path = RECORDING,
    keep: int | None = KEEP,
    max_size: int | None = MAX_SIZE,
    dry_run: bool = option("Change nothing."),
    as_json: bool = JSON,
) -> None:
    """Delete the oldest days of RECORDING, which may still be being written.

    Whole UTC days are deleted. The newest completed day, and data not yet completed, are always kept; if the
    recording is still too large then, or all of it is too old, the command says so.
    """
    from satline.recording import prune as let_go

    done = let_go(
        recording, keep_s=None if keep is None else keep / 1000, max_bytes=max_size, dry_run=dry_run
    )
    if as_json:
        print_json("recording-prune", done, dry_run=dry_run, bytes=done.bytes_freed)
    else:
        for line in told(done, dry_run=dry_run):
            click.echo(line)


def told(done: PruneReport, *, dry_run: bool = False) -> list[str]:
    """What retention did, in lines; none where there was nothing to do."""
    verb = "would go" if dry_run else "gone"
    lines = [f"{verb}: {d.day}, {d.rows:,} rows, {d.bytes:,} bytes" for d in done.days]
    if done.days:
        left = f"; at rest from {done.from_day} on" if done.from_day else ""
        lines.append(f"{done.bytes_freed:,} bytes {'would be free' if dry_run else 'freed'}{left}")
    if done.why_not:
        lines.append(done.why_not)
    if done.over_bytes:
        lines.append(
            f"still {done.over_bytes:,} bytes too large: the newest day and what is being written stay"
        )
    return lines
