"""`satline recording`: check, compact, seal, sign, verify, info, annotate."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from satline.cli.declared import argument, command, option
from satline.cli.options import RECORDING
from satline.cli.outputs import JSON, print_json


@command("""\b
Examples:
  satline recording check host.satline
  satline recording check host.satline --json | jq .problems
""")
def check(recording: Path = RECORDING, as_json: bool = JSON) -> int:
    """Check a recording: is every file present and unchanged, what does it contain, and what is missing?

    Completed files are compared with the manifest by SHA-256, segments with the ledgers of their writers, and
    rows with the writers' own descriptions. The exit code is 1 if something is wrong.
    """
    from satline.present import visible
    from satline.recording import check as examine

    found = examine(recording)
    if as_json:
        print_json("recording-check", found, ok=found.ok)
        return 0 if found.ok else 1
    for problem in found.problems:
        click.echo(f"problem: {visible(problem)}")
    for warning in found.warnings:
        click.echo(f"warning: {visible(warning)}")
    for table, rows in found.rows.items():
        click.echo(f"{visible(table):12} {rows:>12,} rows")
    if found.pruned_until_ns is not None:
        click.echo(
            f"let go by retention: {found.pruned_rows:,} rows, the last of {_moment(found.pruned_until_ns)}"
        )
    end = f"ended: {visible(found.end_reason)}" if found.ended else "not ended"
    sound = "sound" if found.ok else "not sound"
    without = "" if found.checksums else ", without checksums"
    click.echo(f"{visible(found.path)}: {sound}{without}, {end}")
    return 0 if found.ok else 1


def _moment(time_ns: int) -> str:
    try:
        return f"{datetime.fromtimestamp(time_ns / 1e9, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return f"{time_ns} ns"


@command()
def delay_accounting(switch: str = argument(type=click.Choice(["on", "off"])), unit: str = argument()) -> int:
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


@command("""\b
Example:
  satline recording compact host.satline
""")
def compact(recording: Path = RECORDING, as_json: bool = JSON) -> None:
    """Convert closed segments to Parquet; all of them once the recording has ended."""
    from satline.present import visible
    from satline.recording import compact as bring_to_rest

    done = bring_to_rest(recording)
    if as_json:
        counts = {"left": len(done.left), "damaged": len(done.damage)}
        sizes = {"bytes_before": done.bytes_before, "bytes_after": done.bytes_after}
        print_json("recording-compact", counts, sizes, segments=done.segments, rows=done.rows, kept=done.kept)
        return
    for damage in done.damage:
        click.echo(f"warning: {visible(damage)}")
    for kept in done.kept:
        click.echo(f"kept, because it is damaged: {visible(kept)}")
    click.echo(
        f"{done.segments} segments, {done.rows:,} rows: {done.bytes_before:,} → {done.bytes_after:,} bytes; "
        f"{len(done.left)} segments may still grow"
    )


@command("""\b
Example:
  satline recording seal host.satline
""")
def seal(recording: Path = RECORDING) -> None:
    """Accept a recording as it is, after damage that cannot be repaired or a manual change.

    The checksums of all files are recomputed; what is missing is noted as lost, and `check` continues to
    report it. A file that cannot be read is refused: delete it first.
    """
    from satline.present import visible
    from satline.recording import seal as accept

    done = accept(recording)
    for place in done.taken:
        click.echo(f"taken as it is: {visible(place)}")
    for lost in done.lost:
        click.echo(f"noted as lost: {visible(lost)}")
    click.echo(f"{visible(recording)}: sealed")


@command("""\b
Example:
  satline recording sign host.satline --key ~/.ssh/id_ed25519
""")
def sign(
    recording: Path = RECORDING,
    key: Path = option(
        "An SSH key; one with a passphrase must be in ssh-agent.",
        required=True,
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
    ),
) -> None:
    """Sign a complete recording, as evidence or for billing; any later change invalidates the signature.

    The signature, manifest.jsonl.sig, is made by ssh-keygen -Y sign, namespace satline-recording.
    """
    from satline.present import visible
    from satline.recording import sign as make

    click.echo(f"signed: {visible(make(recording, key))}")


@command("""\b
Example:
  satline recording verify host.satline --signers allowed_signers
""")
def verify(
    recording: Path = RECORDING,
    signers: Path = option(
        "Allowed signers: one line each, with a name and a public key (see ssh-keygen).",
        required=True,
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
    ),
    signer: str | None = option("Required signer; default: any in the file.", metavar="NAME"),
) -> None:
    """Verify who signed a recording, and that no file was changed since; the exit code is 2 if not."""
    from satline.present import visible
    from satline.recording import verify as examine

    name = examine(recording, signers, signer)
    click.echo(f"{visible(recording)}: as {visible(name)} signed it")


@command("""\b
Examples:
  satline recording info host.satline
  satline recording info host.satline --json | jq .sources.monitor.cost
""")
def info(recording: Path = RECORDING, as_json: bool = JSON) -> None:
    """Show a recording's own description: host, limits, methods, cost, what is missing."""
    from satline.present import visible
    from satline.recording import Recording

    opened = Recording.open(recording)
    content = {"description": opened.description, "sources": opened.sources, "tables": opened.tables()}
    if as_json:
        print_json("recording-info", content)
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


@command("""\b
Example:
  satline recording annotate host.satline "second disk installed"
""")
def annotate(recording: Path = RECORDING, text: str = argument()) -> None:
    """Add a note with the current time to a recording; also while it is being written."""
    from satline.recording import describe

    if not text.strip():
        raise click.UsageError("the text is empty", click.get_current_context())
    described = describe.annotate(recording, text)
    if "pseudonyms" in described:
        click.echo(
            "note: this recording has no names, but for those in your text: it stands as it is", err=True
        )
