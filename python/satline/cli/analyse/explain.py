"""`satline analyse explain`: what a finding means, and what it rests on."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satline.cli.declared import argument, command, option
from satline.cli.filters import FILTERS
from satline.cli.options import LOAD, opened_in_its_words, require_loads
from satline.cli.outputs import JSON, print_json

if TYPE_CHECKING:
    from satline.diagnosis import Finding
    from satline.diagnosis.rules import Rule
    from satline.reduction import Filters

WIDTH = 80
STATES = {"holds": "It holds", "does-not-hold": "It does not hold", "cannot-judge": "It cannot be judged"}


@command("""\b
Examples:
  satline analyse explain --list
  satline analyse explain paging_bound
  satline analyse explain paging_bound --recording host.satline
""")
def explain(
    finding: str | None = argument(),
    listed: bool = option("List all findings.", "--list"),
    recording: Path | None = option("Judge this recording, and show the evidence."),
    load_axis: str | None = LOAD,
    filters: Filters | None = FILTERS,
    as_json: bool = JSON,
) -> None:
    """Explain a finding: what it is, how it arises, its signs and false alarms, remedies, and sources."""
    from satline.diagnosis.rules import RULES

    if listed == (finding is not None) or (listed and recording is not None):
        raise click.UsageError("name one finding, or give --list alone", click.get_current_context())
    if recording is None and (load_axis is not None or filters is not None):
        raise click.UsageError("--load and filters are of a recording: give --recording too")
    if finding is None:
        rules = [rule for rule, _ in RULES]
        if as_json:
            found = [{"rule": r.name, "title": r.title, "names": r.component} for r in rules]
            print_json("analyse-explain-list", findings=found)
            return
        widest = max(len(rule.name) for rule in rules)
        for rule in rules:
            click.echo(f"{rule.name:<{widest}}  {rule.title}")
        return
    rule = named(finding)
    vm, judged = _judged(rule, recording, load_axis, filters) if recording is not None else (False, None)
    if as_json:
        print_json("analyse-explain", content(rule), judgement=judged)
        return
    click.echo("\n".join(page(rule, judged, vm=vm)))


def named(name: str) -> Rule:
    """The rule of this name; spaces and hyphens count as underscores.

    Raises
    ------
    InputError
        There is none; near names are suggested.
    """
    from difflib import get_close_matches

    from satline.diagnosis.rules import RULES
    from satline.errors import InputError

    rules = {rule.name: rule for rule, _ in RULES}
    titles = {rule.title.lower().replace(" ", "_"): rule.name for rule in rules.values()}
    wanted = name.strip().lower().replace("-", "_").replace(" ", "_")
    found = rules.get(wanted) or rules.get(titles.get(wanted, ""))
    if found is not None:
        return found
    # A part of a name counts more than letters alike.
    close = [n for n in rules if len(wanted) > 2 and wanted in n] or get_close_matches(wanted, rules, n=3)
    hint = "`satline analyse explain --list` shows all"
    if close:
        hint = f"did you mean {' or '.join(close[:3])}?"
    raise InputError(f"there is no finding {name}", hint=hint)


def _judged(rule: Rule, path: Path, load_axis: str | None, filters: Filters | None) -> tuple[bool, Finding]:
    """Whether the recording is of a virtual-machine system, and what this rule says of it."""
    from satline.diagnosis import diagnose, vm_words
    from satline.reduction import reduce

    recording = opened_in_its_words(path)
    curves = reduce(recording, load_axis, filters=filters)
    require_loads(curves, load_axis)
    diagnosis = diagnose(recording, curves)
    finding = next(f for f in (*diagnosis.findings, *diagnosis.others) if f.rule == rule.name)
    return vm_words(recording.description), finding


def content(rule: Rule) -> dict[str, Any]:
    """The explanation for JSON."""
    from satline.diagnosis.reference import in_full, rule_sections

    texts = {name.lower().replace(" ", "_"): text for name, text in rule_sections(rule).items()}
    return {
        "rule": rule.name,
        "title": rule.title,
        "names": rule.component,
        **{name: text for name, text in texts.items() if name not in {"remedy", "references"}},
        "needs": rule.needs,
        "remedies": rule.remedies,
        "remedies_vm": rule.vm_remedies or rule.remedies,
        "false_readings_in_short": rule.false_readings,
        "references": [in_full(reference) for reference in rule.references],
    }


def page(rule: Rule, judged: Finding | None, *, vm: bool = False) -> list[str]:
    """The explanation as lines of at most 80 columns."""
    from satline.diagnosis.reference import in_full, rule_sections

    title = (rule.vm_title or rule.title) if vm else rule.title
    lines = [f"{title[0].upper()}{title[1:]}  ({rule.name})"]
    for name, text in rule_sections(rule).items():
        if name not in {"Remedy", "References"}:
            lines += ["", name, *_wrapped(text[0].upper() + text[1:])]
    lines += ["", "Needs", *_wrapped(", ".join(rule.needs))]
    remedies = rule.vm_remedies if vm and rule.vm_remedies else rule.remedies
    lines += ["", "Remedies, cheapest first"]
    for number, remedy in enumerate(remedies, start=1):
        lines += _wrapped(remedy, f"{number}. ")
    lines += ["", "Sources"]
    for reference in rule.references:
        lines += _wrapped(in_full(reference), "- ")
    return lines + (_judgement(judged) if judged is not None else [])


def _judgement(judged: Finding) -> list[str]:
    from satline.present.terminal import evidence_words

    strength = f", strength {judged.strength:.2f}" if judged.state == "holds" else ""
    lines = ["", "In this recording", *_wrapped(f"{STATES[judged.state]}{strength}: {judged.summary}.")]
    for fact in judged.evidence:
        mark = "? " if fact.value is None else "+ " if fact.supports else "- "
        lines += _wrapped(evidence_words(fact), mark)
    return lines


def _wrapped(text: str, first: str = "") -> list[str]:
    """Text in the page's width, its control characters visible."""
    from satline.present import visible

    return textwrap.wrap(
        visible(text),
        WIDTH,
        initial_indent="  " + first,
        subsequent_indent="  " + " " * len(first),
        break_on_hyphens=False,
    )
