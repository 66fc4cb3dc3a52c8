"""`satline info`: what is in a recording, over what load, and for which questions it suffices."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satline.cli.declared import command
from satline.cli.options import RECORDING, opened_in_its_words
from satline.cli.outputs import JSON, print_json

if TYPE_CHECKING:
    from satline.diagnosis import Suffices
    from satline.recording import Contents, Recording

WIDTH = 80
NAMES_SHOWN = 8
NEEDS_SHOWN = 8


@command("""\b
Examples:
  satline info host.satline
  satline info host.satline --json | jq '.axes[].axis'
""")
def info(recording: Path = RECORDING, as_json: bool = JSON) -> None:
    """Say what a recording contains, over what range of load, and which questions it can answer.

    `satline recording info` shows the recording's own description instead, key by key.
    """
    from satline.diagnosis import suffices
    from satline.recording import contents

    opened = opened_in_its_words(recording)
    found, answers = contents(opened), suffices(opened)
    if as_json:
        print_json("info", _described(opened), found, answers)
        return
    _show_contents(opened, found)
    _show_tables(found)
    _show_axes(answers)
    _show_answers(answers)


def _described(opened: Recording) -> dict[str, Any]:
    """What the recording says of itself, as far as it bears on what it can answer."""
    sources = opened.sources.values()
    host = opened.description.get("host", {})
    return {
        "creator": opened.description.get("recording", {}).get("creator"),
        "ended": opened.ended,
        "end_reason": opened.description.get("recording", {}).get("end_reason"),
        "host": host,
        "study": opened.description.get("study", {}).get("title"),
        "pruned": None
        if opened.pruned is None
        else dict(zip(("rows", "until_ns"), opened.pruned, strict=True)),
        "origin": opened.sources.get("import", {}).get("origin"),
        "users": next((u for s in sources if (u := s.get("users", {}).get("definition"))), None),
        "methods": {k: v for s in sources for k, v in s.get("methods", {}).items()},
        "damage": [*map(str, opened.damage), *(d for s in sources for d in s.get("damage", ()))],
        "notes": [n for s in sources for n in s.get("notes", ())],
        "implausible": [i for s in sources for i in s.get("implausible", ())],
        "missing": [m for s in sources for m in s.get("missing", ())],
    }


def _show_contents(opened: Recording, found: Contents) -> None:
    from satline.diagnosis import implausible
    from satline.present import implausible_lines, visible

    said = _described(opened)
    host: Mapping[str, Any] = said["host"]
    click.echo(visible(found.path))
    _line(f"{found.readings:,} readings" + _of(" of host ", host.get("name")), 2)
    if found.runs:
        begin, end = min(r.begins_ns for r in found.runs), max(r.ends_ns for r in found.runs)
        every = f", every {found.interval_s:.3g} s" if found.interval_s else ""
        _line(f"{_clock(begin)} to {_clock(end)} UTC ({_length((end - begin) / 1e9)}){every}", 2)
    if said["pruned"]:
        gone = said["pruned"]
        _line(f"before: let go by retention, {gone['rows']:,} rows until {_clock(gone['until_ns'])} UTC", 2)
    facts = [str(host[k]) for k in ("os", "kernel", "machine") if host.get(k)]
    if count := host.get("processors"):
        facts.append(f"{count} processor{'s' if count != 1 else ''}")
    facts += [f"{host['memory_bytes'] / 2**30:.3g} GiB"] if host.get("memory_bytes") else []
    if facts:
        _line("host: " + ", ".join(facts), 2)
    origin = said["origin"] or {}
    made = f"{said['creator'] or 'an unknown program'}" + _of(", from ", origin.get("format"))
    end_reason = said["end_reason"] or ("ended" if said["ended"] else "not ended")
    _line(f"made by {made}; {end_reason}" + _of("; study: ", said["study"]), 2)
    if len(found.runs) > 1:
        _line(f"{len(found.runs)} runs: the host or its monitor was started again between them", 2)
    if found.gaps:
        lost = sum(g.seconds for g in found.gaps)
        longest = max(g.seconds for g in found.gaps)
        count = f"{len(found.gaps)} gap{'s' if len(found.gaps) > 1 else ''}"
        _line(f"{count}, {_length(lost)} in all, the longest {_length(longest)}", 2)
    if said["users"]:
        _line(f"users: {said['users']}", 2)
    if said["methods"]:
        _line("methods: " + ", ".join(f"{k} by {v}" for k, v in said["methods"].items()), 2)
    left_out = implausible_lines(implausible(opened.sources))
    for kind, texts in (
        ("damaged", said["damage"]),
        ("left out as impossible", left_out),
        ("note", said["notes"]),
    ):
        for text in texts[:5]:
            _line(f"{kind}: {text}", 2)
        if len(texts) > 5:
            _line(f"{kind}: and {len(texts) - 5} more", 2)


def _show_tables(found: Contents) -> None:
    _title("What is in it")
    for table in found.tables:
        whose = ""
        if table.entities is not None and table.name != "transaction":
            names = ", ".join(table.names[:NAMES_SHOWN])
            whose = f"  {table.entities:,}: {names}" + (", ..." if table.entities > NAMES_SHOWN else "")
        elif table.entities:
            whose = f"  of {table.entities:,} users"
        _line(f"{table.name:<11} {table.rows:>12,} rows{whose}", 2, 2 + 11 + 1 + 12 + 5 + 2)


def _show_axes(answers: Suffices) -> None:
    from satline.present import number

    _title("Over what load (--load)")
    if not answers.axes:
        _line("No load axis has values: nothing can be put against load.", 2)
        return
    _line(f"{'':<30}{'least':>9} {'median':>9} {'most':>9} {'classes':>8} {'enough':>7}", 2)
    for axis in answers.axes:
        cells = " ".join(f"{number(v):>9}" for v in (axis.low, axis.median, axis.high))
        name = axis.axis + ("*" if axis.axis == answers.load_axis else "") + _of(", ", axis.unit)
        _line(f"{name[:30]:<30}{cells} {axis.classes:>8} {axis.enough:>7}", 2)
    _line("* what satline diagnose takes; enough: classes of at least 50 observations", 2)


def _show_answers(answers: Suffices) -> None:
    from satline.present import sentence

    _title("What it can answer")
    for one in answers.questions:
        _line(f"{'yes' if one.answerable else 'no':<4}{one.question}", 2)
        _line(f"{sentence(one.why)}.", 6)
        if one.advice:
            _line(sentence(one.advice), 6)
    if not answers.rules:
        return
    _title("Which findings it can judge")
    whole = [r.title for r in answers.rules if r.judgeable and not r.missing]
    partly = [r for r in answers.rules if r.judgeable and r.missing]
    blind = [r for r in answers.rules if not r.judgeable]
    if whole:
        _line(f"yes     {'; '.join(whole)}", 2, 10)
    for rule in partly:
        _line(f"partly  {rule.title}: without {', '.join(rule.missing)}", 2, 10)
    for rule in blind:
        _line(f"no      {rule.title}: {rule.why}", 2, 10)
    _show_needs(answers)


def _show_needs(answers: Suffices) -> None:
    """What would bring most rules, first."""
    losers: dict[str, int] = {}
    for rule in answers.rules:
        for need in rule.would_need:
            losers[need] = losers.get(need, 0) + 1
    if losers:
        _title("What would tell more")
    for need, count in sorted(losers.items(), key=lambda item: -item[1])[:NEEDS_SHOWN]:
        _line(f"- {need} ({count} finding{'s' if count > 1 else ''})", 2, 4)


def _title(text: str) -> None:
    click.echo(f"\n{text}")


def _line(text: str, indent: int = 0, further: int | None = None) -> None:
    """One line, broken at 80 columns; the rest stands further right."""
    from satline.present import visible

    begin = " " * indent
    rest = " " * (indent + 2 if further is None else further)
    lines = textwrap.wrap(
        visible(text), WIDTH, initial_indent=begin, subsequent_indent=rest, replace_whitespace=False
    )
    click.echo("\n".join(lines))


def _of(lead: str, value: object) -> str:
    return f"{lead}{value}" if value else ""


def _clock(ns: int) -> str:
    return datetime.fromtimestamp(ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _length(seconds: float) -> str:
    """A length of time in its two greatest units."""
    parts: list[str] = []
    left = round(seconds)
    for size, name in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        count, left = divmod(left, size)
        if count or (parts and len(parts) < 2 and left):
            parts.append(f"{count} {name}")
    return " ".join(p for p in _first_two(parts)) or "0 s"


def _first_two(parts: Iterable[str]) -> list[str]:
    return [p for p in parts if not p.startswith("0 ")][:2]
