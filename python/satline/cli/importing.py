"""`satline import`: other collectors' archives → a recording."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satline.cli.declared import argument, command, option
from satline.cli.outputs import JSON, output_option, print_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from satline.importers import Importer, Sink

LACKING_SHOWN = 6
DAMAGE_SHOWN = 5


@command("""\b
Examples:
  satline import /var/log/sysstat -o host.satline
  satline import sar.txt --timezone Europe/Berlin   text of sar, of any system
  satline import --formats                          what can be read
""")
def import_command(
    sources: tuple[str, ...] = argument("SOURCE..."),
    output: Path | None = output_option(
        "The recording to make; default: named like the source, here.", metavar="RECORDING", former=()
    ),
    format_name: str | None = option("Format of the source; default: detected.", "--format", metavar="NAME"),
    timezone: str | None = option("Time zone of times without one: Europe/Berlin.", metavar="ZONE"),
    mapping: Path | None = option(
        "File that says what the columns of a table, or an application's metrics, mean."
    ),
    host: str | None = option("Only this host, if a source contains several.", metavar="NAME"),
    start: str | None = option("Only from this time on: 2026-11-21T08:00.", "--from", metavar="TIME"),
    end: str | None = option("Only before this time.", "--to", metavar="TIME"),
    formats: bool = option("List the formats, and end."),
    as_json: bool = JSON,
) -> None:
    """Convert another collector's archive to a recording.

    Several sources of one kind are combined in one recording, in order of time. The format is detected.
    """
    from satline.errors import InputError
    from satline.importers import Options, guess, import_recording
    from satline.interruption import signals_interrupt

    if formats:
        _show_formats(as_json)
        return
    if not sources:
        raise click.UsageError("no source given", click.get_current_context())
    importer = _named(format_name) if format_name else guess(sources[0])
    if not format_name:
        for source in sources[1:]:
            other = guess(source)
            if other is not importer:
                raise InputError(
                    f"{sources[0]} is {importer.name}, {source} is {other.name}",
                    hint="import each kind into a recording of its own",
                )
    zone = time_zone(timezone) if timezone else None
    path = output or Path(_stem(sources[0]) + ".satline")
    with _progress() as progress, signals_interrupt():
        options = Options(
            zone=zone,
            start=_time(start, zone, "--from") if start else None,
            end=_time(end, zone, "--to") if end else None,
            mapping=mapping,
            host=host,
            progress=progress,
        )
        sink = import_recording(sources, path, importer, options)
    summary = _summary(sink, importer, zone or UTC)
    if as_json:
        print_json("import", summary)
    else:
        _show(summary)


def _named(name: str) -> Importer:
    from satline.importers import MODULES, load

    if name not in MODULES:
        raise click.BadParameter(
            f"{name!r} is none of {', '.join(MODULES)}", click.get_current_context(), param_hint="--format"
        )
    return load(name)


def time_zone(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo

    try:
        return UTC if name.upper() in {"UTC", "Z"} else ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise click.BadParameter(
            f"{name!r} is no time zone; write one as Europe/Berlin or UTC",
            click.get_current_context(),
            param_hint="--timezone",
        ) from None


def _time(text: str, zone: tzinfo | None, option: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is no time; write 2026-11-21T08:00", click.get_current_context(), param_hint=option
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=zone or UTC)


def _stem(source: str) -> str:
    """A name for the recording from that of the source: `sar.txt.xz` → sar, a URL → its host."""
    if "://" in source:
        name = source.split("://", 1)[1].split("/", 1)[0].rsplit("@", 1)[-1]
    else:
        name = re.sub(r"\.(xz|gz|bz2|zst)$", "", Path(source).resolve().name)
        name = re.sub(r"\.(txt|log|csv|tsv|parquet|prom|meta|index|0)$", "", name) or name
    return re.sub(r"[^\w.+-]", "_", name).lstrip(".") or "import"


@contextmanager
def _progress() -> Iterator[Callable[[float], None]]:
    """A bar on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=1.0)
        yield lambda part: bar.update(task, completed=part)


def _summary(sink: Sink, importer: Importer, zone: tzinfo) -> dict[str, Any]:
    from satline.recording import Recording

    runs = sorted(sink.runs)
    said = Recording.open(sink.path).sources["import"]

    def shown(ns: int) -> str:
        return datetime.fromtimestamp(ns / 1e9, zone).isoformat(timespec="seconds")

    return {
        "recording": str(sink.path),
        "source_format": importer.name,
        "readings": sink.readings,
        "interval_s": sink.interval_s,
        "begins": shown(runs[0][0]),
        "ends": shown(max(end for _, end in runs)),
        "zone": str(zone),
        "runs": [{"begins": shown(a), "ends": shown(b)} for a, b in runs],
        "gaps": [{"begins": shown(a), "ends": shown(b)} for a, b in sink.gaps],
        "tables": list(Recording.open(sink.path).tables()),
        "missing": said.get("missing", []),
        "damage": said.get("damage", []),
        "notes": said.get("notes", []),
    }


def _show(summary: dict[str, Any]) -> None:
    from satline.present import visible

    runs, gaps, missing = summary["runs"], summary["gaps"], summary["missing"]
    restarts = f"{len(runs)} runs" if len(runs) != 1 else "one run"
    click.echo(
        f"{visible(summary['recording'])}: {summary['readings']:,} readings ({summary['source_format']})"
    )
    click.echo(f"  from {summary['begins']} to {summary['ends']} ({summary['zone']})")
    click.echo(
        f"  every {summary['interval_s']:g} s, in {restarts}"
        + (f", {len(gaps)} gap{'s'[: len(gaps) != 1]}" if gaps else "")
    )
    click.echo(f"  tables: {', '.join(summary['tables'])}")
    _wrapped("damaged:", summary["damage"], DAMAGE_SHOWN)
    _wrapped("note:", summary["notes"], DAMAGE_SHOWN)
    if missing:
        names = [m["signal"] for m in missing]
        more = f", and {len(names) - LACKING_SHOWN} more" if len(names) > LACKING_SHOWN else ""
        _wrapped("the source lacks:", [", ".join(names[:LACKING_SHOWN]) + more], 1)
    click.echo(f"next: satline diagnose {visible(summary['recording'])}")


def _wrapped(title: str, texts: list[str], most: int) -> None:
    import textwrap

    from satline.present import visible

    shown = texts[:most]
    if len(texts) > most:
        shown = [*shown, f"and {len(texts) - most} more: satline recording info tells all"]
    for text in shown:
        click.echo(
            textwrap.fill(f"{title} {visible(text)}", 80, initial_indent="  ", subsequent_indent="    ")
        )


def _show_formats(as_json: bool) -> None:
    from satline.importers import IMPORTERS

    if as_json:
        found = [{"name": i.name, "title": i.title, "examples": i.examples} for i in IMPORTERS]
        print_json("import-formats", formats=found)
        return
    for importer in IMPORTERS:
        click.echo(f"{importer.name:14} {importer.title}")
        for example in importer.examples:
            click.echo(f"{'':14}   {example}")
