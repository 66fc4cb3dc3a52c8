"""`satline workload record`, and `satline workload`: sessions, building blocks, workloads from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satline.cli.declared import argument, command, option
from satline.cli.outputs import JSON, output_option, print_json

if TYPE_CHECKING:
    from satline.workload import Blocks, Draws, Session

LEFT_SHOWN = 8
DRAWN_LINES = 200
LEAST_DRAWN = 2000


@command(
    """\b
Examples:
  satline workload record                       your shell; `exit` ends it
  satline workload record -o mon.cast bash
  satline workload import-session mon.cast      next: turn it into a script
""",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
def record_session(
    command: tuple[str, ...] = argument("[COMMAND...]", type=click.UNPROCESSED),
    output: Path | None = output_option("Session to write. [default: session-DATE-TIME.cast, here]"),
) -> int:
    """Run a shell, or COMMAND, and record what is typed and displayed, with times, as an asciicast.

    Input typed without echo (passwords) is never stored, nor is its length. Output is stored: do not print
    secrets. Only you can read the file.
    """
    from datetime import datetime

    from satline.workload import record

    if output is None:
        output = Path(f"session-{datetime.now():%Y%m%d-%H%M%S}.cast")
    status = record(output, command)
    from satline.present import visible

    click.echo(f"recorded: {visible(output)}", err=True)
    click.echo(f"next: satline workload import-session {visible(output)}", err=True)
    return status


@command("""\b
Examples:
  satline workload import-session mon.cast
  satline workload import-session times --typescript out --prompt '\\$ '
""")
def import_session(
    files: tuple[Path, ...] = argument("FILE...", required=True),
    output: Path | None = output_option("Workload to write. [default: NAME.workload.toml, here]"),
    session: Path | None = option("Session to write, where one FILE is given."),
    prompt: str | None = option(r"How a prompt ends, if prompts are not marked: '\$ '.", metavar="REGEX"),
    classes: Path | None = option("Mapping of commands to classes (TOML)."),
    typescript: Path | None = option("The output of `script`, if its timing file does not name it."),
    as_json: bool = JSON,
) -> None:
    """Turn recorded sessions into a workload with their own think times and typing rate.

    FILE is an asciicast (version 2 or 3) or the timing file written by `script` (classic or advanced). In
    addition to the workload, each FILE is converted to a session, NAME.session.json, from which `fit` makes
    building blocks.
    """
    from satline.errors import InputError
    from satline.workload import (
        check,
        extract,
        open_terminal,
        read_mapping,
        replay,
        write_private,
        write_session,
    )

    if session is not None and len(files) > 1:
        raise InputError("--session names one file, and several are imported", hint="leave the option out")
    mapping = read_mapping(classes)
    found = [extract(open_terminal(file, typescript), mapping, prompt) for file in files]
    paths = [session or Path(f"{file.stem}.session.json") for file in files]
    if len(set(paths)) < len(paths):
        raise InputError(
            "two of the files have one name, and so would their sessions", hint="import them one by one"
        )
    for one, path in zip(found, paths, strict=True):
        write_session(one, path)
    output = output or Path(f"{files[0].stem}.workload.toml")
    content, left = replay(found, files[0].stem)
    write_private(output, check(content, str(output)))
    if as_json:
        rows = [{"session": path, **_summary(one)} for one, path in zip(found, paths, strict=True)]
        print_json("workload-import-session", workload=output, left_out=left, sessions=rows)
        return
    for one, path in zip(found, paths, strict=True):
        _show_session(one, path)
    _listed("not in the workload", left)
    click.echo(
        f"{_shown(output)}: {sum(len(s['command']) for s in content['script'])} commands to be typed again"
    )
    click.echo(f"next: satline workload fit {' '.join(_shown(path) for path in paths)}")


@command("""\b
Example:
  satline workload fit mon.session.json tue.session.json -o both.blocks.toml
""")
def fit(
    sessions: tuple[Path, ...] = argument("SESSION...", required=True),
    output: Path | None = output_option("Blocks to write. [default: NAME.blocks.toml, here]"),
    as_json: bool = JSON,
) -> None:
    """Fit building blocks to sessions: a mix of classes, distributions of times, an order of classes.

    Every figure is given with its 95 % interval and sample size. Think times are lognormal or exponential,
    whichever has the lower BIC, or a table of quantiles if a test rejects that distribution; the order is a
    Markov chain of order 0, 1 or 2, whichever has the lowest BIC.
    """
    from satline.workload import blocks_toml, read_session, write_private
    from satline.workload import fit as fit_blocks

    read = [read_session(path) for path in sessions]
    name = sessions[0].name.split(".")[0] or "blocks"
    blocks = fit_blocks(read, name)
    output = output or Path(f"{name}.blocks.toml")
    write_private(output, blocks_toml(blocks))
    if as_json:
        print_json("workload-fit", _without_inputs(blocks), blocks=output)
        return
    _show_blocks(blocks)
    click.echo(f"{_shown(output)}: written; change it as you like")
    click.echo(f"next: satline workload generate {_shown(output)} --users 20 -o {_shown(name)}-20.toml")


@command("""\b
Example:
  satline workload generate mon.blocks.toml --users 40 -o forty.toml
""")
def generate(
    blocks_file: Path = argument("BLOCKS"),
    users: int = option("For how many users.", type=click.IntRange(1, 10_000), required=True),
    output: Path = output_option("Workload to write.", required=True),
    seed: int = option("Seed of all random draws.", type=click.IntRange(0, 2**63 - 1), default=1),
    length: int | None = option("Commands of a sequence. [default: 100]", type=click.IntRange(1, 10_000)),
    as_json: bool = JSON,
) -> int:
    """Make a workload with given characteristics for any number of users, and test samples from it.

    The table compares the blocks with what users of this workload would type, drawn by the emulator's own
    rules. The exit code is 1 if they differ. `satline workload compare` does the same with a real run.
    """
    from satline.workload import USUAL_LENGTH, check, draw, read_blocks, write_private
    from satline.workload import generate as make

    blocks = read_blocks(blocks_file)
    content, remarks = make(blocks, users, seed, length or USUAL_LENGTH)
    write_private(output, check(content, str(output)))
    lines = max(DRAWN_LINES, -(-LEAST_DRAWN // users))
    draws = draw(content, users, lines, seed + 1)
    if as_json:
        print_json("workload-generate", _compared(blocks, draws), workload=output, remarks=remarks)
    else:
        _listed("remark", remarks)
        click.echo(f"{_shown(output)}: {len(content['script'])} scripts; what {users} users would type:")
        _show_compared(blocks, draws)
    return _status(blocks, draws)


@command("""\b
Example:
  satline workload compare mon.blocks.toml study.satline
""")
def compare(
    blocks_file: Path = argument("BLOCKS"), recording: Path = argument(), as_json: bool = JSON
) -> int:
    """Compare the transactions of RECORDING with BLOCKS: mix, order, think times, lengths.

    The exit code is 1 if one of them differs, corrected for the number of tests (Holm, 5 %).
    """
    from satline.workload import draws_of_recording, read_blocks

    blocks = read_blocks(blocks_file)
    draws = draws_of_recording(recording)
    if as_json:
        print_json("workload-compare", _compared(blocks, draws), recording=recording)
    else:
        _show_compared(blocks, draws)
    return _status(blocks, draws)


def _shown(value: object) -> str:
    from satline.present import visible

    return visible(value)


def _listed(title: str, texts: list[str]) -> None:
    import textwrap

    for text in texts[:LEFT_SHOWN]:
        click.echo(textwrap.fill(f"{title}: {_shown(text)}", 80, subsequent_indent="  "))
    if len(texts) > LEFT_SHOWN:
        click.echo(f"{title}: and {len(texts) - LEFT_SHOWN} more; --json has all")


def _summary(session: Session) -> dict[str, Any]:
    from collections import Counter
    from statistics import fmean

    def mean(values: list[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return fmean(known) if known else None

    lines = session.lines
    return {
        "lines": len(lines),
        "keys": session.keys,
        "think_s": mean([line.think_s for line in lines]),
        "typing_s": mean([line.typing_s for line in lines]),
        "response_s": mean([line.response_s for line in lines]),
        "characters": mean([float(line.characters) for line in lines]),
        "output_bytes": mean([line.output_bytes for line in lines]),
        "classes": dict(Counter(line.klass for line in lines).most_common()),
        "notes": session.notes,
    }


def _show_session(session: Session, path: Path) -> None:
    import textwrap

    summary = _summary(session)

    def said(key: str, unit: str) -> str:
        value = summary[key]
        return "not known" if value is None else f"{value:.3g}{unit}"

    click.echo(f"{_shown(path)}: {summary['lines']} lines")
    click.echo(
        f"  mean think {said('think_s', ' s')}, typing {said('typing_s', ' s')}, "
        f"response {said('response_s', ' s')}"
    )
    click.echo(
        f"  mean {said('characters', '')} characters a line, {said('output_bytes', ' bytes')} an answer"
    )
    classes = ", ".join(f"{_shown(name)} {count}" for name, count in summary["classes"].items())
    click.echo(textwrap.fill(f"classes: {classes}", 80, initial_indent="  ", subsequent_indent="    "))
    _listed("  note", session.notes)


def _without_inputs(blocks: Blocks) -> dict[str, Any]:
    return blocks.model_dump(by_alias=True, exclude={"klass": {"__all__": {"input"}}})


def _show_blocks(blocks: Blocks) -> None:
    from rich.console import Console

    from satline.present import Table, print_table

    rows = [("class", "lines", "share", "95 % interval", "characters", "bytes")]
    rows += [
        (
            one.name,
            str(one.count),
            f"{one.share:.1%}",
            f"{one.low or 0:.1%} to {one.high or 0:.1%}",
            "" if one.characters is None else f"{one.characters.mean:.1f}",
            "" if one.output_bytes is None else f"{one.output_bytes.mean:.0f}",
        )
        for one in blocks.klass
    ]
    print_table(Table.of(rows), Console())
    think, typing = blocks.think, blocks.typing
    interval = ""
    if think.low_seconds is not None and think.high_seconds is not None:
        interval = f" ({think.low_seconds:.2f} to {think.high_seconds:.2f})"
    _listed(
        "think",
        [f"{think.distribution}, mean {think.mean_seconds:.2f} s{interval}, n {think.count}: {think.chosen}"],
    )
    typed = f"{typing.characters_per_second:.1f} characters/s, variation {typing.variation:.2f}"
    click.echo(f"typing: {typed if typing.count else 'not known: 8 characters/s taken'}, n {typing.count}")
    _listed("order", [f"{blocks.order.order}: {blocks.order.chosen}"])
    _listed("note", blocks.notes)


def _compared(blocks: Blocks, draws: Draws) -> dict[str, Any]:
    from satline.workload import compare as tests
    from satline.workload import shares

    rows = [
        {"class": name, "stated": stated, "drawn": drawn, "lines": count}
        for name, stated, drawn, count in shares(blocks, draws)
    ]
    return {
        "lines": len(draws.klass),
        "shares": rows,
        "tests": [test.__dict__ for test in tests(blocks, draws)],
    }


def _status(blocks: Blocks, draws: Draws) -> int:
    from satline.workload import compare as tests

    return int(any(test.verdict == "differs" for test in tests(blocks, draws)))


def _show_compared(blocks: Blocks, draws: Draws) -> None:
    from rich.console import Console

    from satline.present import Table, print_table
    from satline.workload import compare as tests
    from satline.workload import shares

    console = Console()
    rows = [("class", "stated", "here", "lines")]
    for name, stated, drawn, count in shares(blocks, draws):
        rows.append((name, "not in it" if stated is None else f"{stated:.1%}", f"{drawn:.1%}", str(count)))
    print_table(Table.of(rows), console)
    console.print()

    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.3g}"

    tested: list[tuple[str, ...]] = [("test", "n", "stated", "here", "p", "p (Holm)", "verdict")]
    for one in tests(blocks, draws):
        numbers = map(number, (one.stated, one.drawn, one.p, one.p_corrected))
        tested.append((one.what, str(one.n), *numbers, one.verdict))
    print_table(Table.of(tested, text=(0, -1)), console)
