"""`satline trace`: page-reference traces, and replacement policies on them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satline.cli.declared import argument, command, option
from satline.cli.outputs import JSON, output_option, print_json, print_text

if TYPE_CHECKING:
    from satline.traces import Progress


@command("""\b
Examples:
  satline trace import proj_0.csv -o proj.trace
  satline trace import --formats
""")
def import_trace(
    source: str | None = argument("SOURCE"),
    output: Path | None = output_option("Trace to write. [default: SOURCE.trace, here]", former=()),
    format_name: str | None = option("Format of the source; default: detected.", "--format", metavar="NAME"),
    page_bytes: int | None = option("Size of a page. [default: 4096]", type=click.IntRange(16)),
    join: bool | None = option(
        "Merge consecutive references to one page. [default: for addresses, not for disks]",
        "--join/--no-join",
        default=None,
        show_default=False,
    ),
    first: int | None = option("Only this many references, from the beginning.", type=click.IntRange(1)),
    note: str | None = option("A note to store in the trace."),
    formats: bool = option("List the formats, and end."),
    as_json: bool = JSON,
) -> None:
    """Convert another tool's trace to the compact format; SOURCE is a file, or - for standard input.

    The compact format is small, contains only page numbers, and is the fastest to replay.
    """
    from satline.errors import InputError
    from satline.traces import Program

    if formats:
        _list("formats", "trace-import-formats", as_json)
        return
    if source is None:
        raise click.UsageError("no source given", click.get_current_context())
    if source == "-" and output is None:
        raise InputError("standard input has no name", hint="name the file to write: -o NAME.trace")
    output = output or Path(f"{Path(source).stem}.trace")
    words = ["import", *_reading(format_name, page_bytes, join)]
    for name, value in (("--first", first), ("--note", note)):
        words += [] if value is None else [f"{name}={value}"]
    words += [f"--output={output}", "--", source]
    with _progress() as show:
        kept = Program().run(words, show, stdin=0)
    _print_kept("trace-import", kept, as_json)


@command(
    """\b
Example:
  satline trace record -o sort.trace -- sort -n numbers.txt
""",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
def record(
    command: tuple[str, ...] = argument("COMMAND...", required=True, type=click.UNPROCESSED),
    output: Path = output_option("Trace to write.", required=True, former=()),
    page_bytes: int = option("Size of a page.", type=click.IntRange(16), default=4096),
    first: int | None = option(
        "Record only this many references, then end the command.", type=click.IntRange(1)
    ),
    as_json: bool = JSON,
) -> int:
    """Run COMMAND under valgrind's lackey and record its page references: instructions and data.

    The command runs about a hundred times slower than by itself. Its child processes are not followed.
    """
    from satline.traces import record as run

    with _progress() as show:
        kept = run(command, output, page_bytes=page_bytes, first=first, progress=show)
    if kept["status"] not in (0, None) and first is None:
        click.echo(f"the command ended with status {kept['status']}", err=True)
    _print_kept("trace-record", kept, as_json)
    return 130 if kept["interrupted"] else 0


@command("""\b
Examples:
  satline trace replay sort.trace
  satline trace replay sort.trace --policies lru,clock,opt --sizes 64,128,10%
  satline trace replay sort.trace --curve --json
""")
def replay(
    source: str | None = argument("TRACE"),
    policies: str | None = option("Policies to replay. [default: all]", metavar="A,B"),
    sizes: str | None = option(
        "Memory sizes, in pages or percent of the footprint. [default: 1% to 80%]", metavar="N,P%"
    ),
    misses: bool = option("Print counts instead of misses per 1000 references."),
    curve: bool = option("With --json: LRU's misses at every size, in one pass."),
    seed: int = option("Seed of `random`.", type=click.IntRange(0, 2**63 - 1), default=1),
    first: int | None = option("Only this many references, from the beginning.", type=click.IntRange(1)),
    workers: int | None = option("Replays at a time. [default: one per processor]", type=click.IntRange(1)),
    format_name: str | None = option("Format of a text; default: detected.", "--format", metavar="NAME"),
    page_bytes: int | None = option("Page size, for a text. [default: 4096]", type=click.IntRange(16)),
    join: bool | None = option(
        "For a text: as for import.", "--join/--no-join", default=None, show_default=False
    ),
    as_list: bool = option("List the policies, and end.", "--list"),
    as_json: bool = JSON,
) -> None:
    """Replay TRACE under replacement policies for several memory sizes, and print the misses.

    TRACE is a compact trace or a text that import can read. Pages are fetched on demand only; `opt` knows the
    future and cannot be beaten.
    """
    from satline.traces import replay as run

    if as_list:
        _list("policies", "trace-replay-policies", as_json)
        return
    if source is None:
        raise click.UsageError("no trace given", click.get_current_context())
    with _progress() as show:
        found = run(
            Path(source),
            policies=[policies] if policies is not None else (),
            sizes=[sizes] if sizes is not None else (),
            curve=curve,
            seed=seed,
            first=first,
            workers=workers,
            reading=_reading(format_name, page_bytes, join),
            progress=show,
        )
    if as_json:
        print_json("trace-replay", found.content)
        return

    from satline.present.traces import replayed

    print_text(replayed(found, misses=misses))


def _reading(format_name: str | None, page_bytes: int | None, join: bool | None) -> list[str]:
    words = []
    if format_name is not None:
        words.append(f"--format={format_name}")
    if page_bytes is not None:
        words.append(f"--page-bytes={page_bytes}")
    if join is not None:
        words.append(f"--join={str(join).lower()}")
    return words


def _list(what: str, kind: str, as_json: bool) -> None:
    from rich.console import Console

    from satline.present import Tiles, print_table
    from satline.traces import Program

    listed = Program().run([what])
    if as_json:
        print_json(kind, **{what: listed})
        return
    print_table(Tiles(tuple((one["name"], one["about"]) for one in listed)), Console())


def _print_kept(kind: str, kept: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(kind, kept)
        return
    from satline.present import visible
    from satline.present.traces import tail_words

    output = visible(kept["output"])
    click.echo(f"{output}: {kept['references']:,} references, {kept['bytes']:,} bytes ({kept['source']})")
    totals = kept["totals"] or {}
    if kept["joined"] and totals.get("source_references"):
        click.echo(f"of {totals['source_references']:,}: consecutive ones to one page are one")
    words = tail_words(kept)
    if words:
        click.echo(words)
    click.echo(f"next: satline trace replay {output}")


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[Progress], None]]:
    """A bar on standard error where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    columns = (TextColumn("{task.fields[words]}"), BarColumn(), TimeRemainingColumn())
    with Bars(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task("", total=1.0, words="")

        def show(state: Progress) -> None:
            if state.part is None:
                bars.update(task, total=None, words=f"{state.doing}: {state.count / 1e6:,.0f} MB")
            else:
                bars.update(task, total=1.0, completed=state.part, words=state.doing)

        yield show
