"""`satline trace`: page-reference traces, and replacement policies on them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satline.cli.outputs import JSON, output_option, print_json

if TYPE_CHECKING:
    from satline.traces import Progress


@click.command(
    "import",
    short_help="Convert another tool's trace to the compact format.",
    epilog="""\b
Examples:
  satline trace import proj_0.csv -o proj.trace
  satline trace import --formats
""",
)
@click.argument("source", required=False, metavar="SOURCE")
@output_option("Trace to write. [default: SOURCE.trace, here]", former=())
@click.option("--format", "format_name", metavar="NAME", help="Format of the source; default: detected.")
@click.option("--page-bytes", type=click.IntRange(16), help="Size of a page. [default: 4096]")
@click.option(
    "--join/--no-join",
    default=None,
    help="Merge consecutive references to one page. [default: for addresses, not for disks]",
)
@click.option("--first", type=click.IntRange(1), help="Only this many references, from the beginning.")
@click.option("--note", help="A note to store in the trace.")
@click.option("--formats", is_flag=True, help="List the formats, and end.")
@JSON
def import_trace(
    source: str | None,
    output: Path | None,
    format_name: str | None,
    page_bytes: int | None,
    join: bool | None,
    first: int | None,
    note: str | None,
    formats: bool,
    as_json: bool,
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
    for option, value in (("--first", first), ("--note", note)):
        words += [] if value is None else [f"{option}={value}"]
    words += [f"--output={output}", "--", source]
    with _progress() as show:
        kept = Program().run(words, show, stdin=0)
    _print_kept("trace-import", kept, as_json)


@click.command(
    short_help="Run a command and record its page references.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="""\b
Example:
  satline trace record -o sort.trace -- sort -n numbers.txt
""",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND...")
@output_option("Trace to write.", required=True, former=())
@click.option(
    "--page-bytes", type=click.IntRange(16), default=4096, show_default=True, help="Size of a page."
)
@click.option(
    "--first", type=click.IntRange(1), help="Record only this many references, then end the command."
)
@JSON
def record(command: tuple[str, ...], output: Path, page_bytes: int, first: int | None, as_json: bool) -> int:
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


@click.command(
    short_help="Count the misses of replacement policies by memory size.",
    epilog="""\b
Examples:
  satline trace replay sort.trace
  satline trace replay sort.trace --policies lru,clock,opt --sizes 64,128,10%
  satline trace replay sort.trace --curve --json
""",
)
@click.argument("source", required=False, metavar="TRACE")
@click.option("--policies", metavar="A,B", help="Policies to replay. [default: all]")
@click.option(
    "--sizes", metavar="N,P%", help="Memory sizes, in pages or percent of the footprint. [default: 1% to 80%]"
)
@click.option("--misses", is_flag=True, help="Print counts instead of misses per 1000 references.")
@click.option("--curve", is_flag=True, help="With --json: LRU's misses at every size, in one pass.")
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), default=1, show_default=True, help="Seed of `random`."
)
@click.option("--first", type=click.IntRange(1), help="Only this many references, from the beginning.")
@click.option("--workers", type=click.IntRange(1), help="Replays at a time. [default: one per processor]")
@click.option("--format", "format_name", metavar="NAME", help="Format of a text; default: detected.")
@click.option("--page-bytes", type=click.IntRange(16), help="Page size, for a text. [default: 4096]")
@click.option("--join/--no-join", default=None, help="For a text: as for import.")
@click.option("--list", "as_list", is_flag=True, help="List the policies, and end.")
@JSON
def replay(
    source: str | None,
    policies: str | None,
    sizes: str | None,
    misses: bool,
    curve: bool,
    seed: int,
    first: int | None,
    workers: int | None,
    format_name: str | None,
    page_bytes: int | None,
    join: bool | None,
    as_list: bool,
    as_json: bool,
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
    from rich.console import Console

    from satline.present import print_blocks
    from satline.present.traces import replayed

    print_blocks(replayed(found, misses=misses), Console())


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
