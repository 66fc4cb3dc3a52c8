"""The reference page of the rules, made from their own docstrings, and the works that they cite."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from satline import share
from satline.diagnosis.rules import RULES, Rule

WORKS = {
    "Bard": "Y. Bard, Performance analysis of virtual memory time-sharing systems, IBM Systems Journal "
    "14(4), 1975",
    "TB84": "W. H. Tetzlaff, W. M. Buco, VM/370, Attached Processor, and multiprocessor performance study, "
    "IBM Systems Journal 23(4), 1984",
    "Bitner": "B. Bitner, VM/ESA Performance Case Studies, 1999",
    "AW79": "J. C. Adams, A. S. Wight, EMAS: performance measurement experiments using a remote terminal "
    "emulator, CPEUG 15, 1979 (Edinburgh CSR-57-80)",
    "T87": "W. H. Tetzlaff, T. Beretvas, W. M. Buco, J. Greenberg, D. R. Patterson, G. A. Spivak, "
    "A page-swapping prototype for VM/HPO, IBM Systems Journal 26(2), 1987",
}


def in_full(reference: str) -> str:
    """A rule's reference with the work's full title; what is no short name stays as it is."""
    return f"{reference} {WORKS[name]}" if (name := reference.strip("[]")) in WORKS else reference


PAGE = Path(__file__).parents[3] / "docs" / "reference" / "rules.md"
SECTIONS = ("What", "Why", "Signs", "False readings", "Remedy", "References")


def sections(docstring: str) -> dict[str, str]:
    """The parts of a rule's docstring, by their names, each on one line.

    Raises
    ------
    ValueError
        A part is missing.
    """
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in docstring.splitlines():
        name, colon, rest = line.partition(":")
        if colon and name in SECTIONS:
            current = found.setdefault(name, [])
            line = rest
        current.append(line.strip())
    lacking = [name for name in SECTIONS if name not in found]
    if lacking:
        raise ValueError(f"{docstring.splitlines()[0]} has no part {', '.join(lacking)}")
    return {name: " ".join(part for part in parts if part) for name, parts in found.items()}


def rule_sections(rule: Rule) -> dict[str, str]:
    """The parts of this rule's docstring."""
    return sections(import_module(f"satline.diagnosis.rules.{rule.name}").__doc__ or "")


def _numbered(remedies: tuple[str, ...]) -> list[str]:
    return [f"  {number}. {remedy}" for number, remedy in enumerate(remedies, start=1)]


def reference_page() -> str:
    """The page, in Markdown, in the order of the table of rules."""
    lines = [
        "# Rules",
        "",
        "Made from the rules' own docstrings by `python -m satline.diagnosis.reference`;",
        "edit those, not this. `satline analyse explain NAME` shows one, and",
        "`satline analyse explain NAME --recording R` its",
        "evidence in a recording.",
    ]
    for rule, _ in RULES:
        lines += ["", f"## {rule.title[0].upper()}{rule.title[1:]}", ""]
        lines.append(f"- **Name.** `{rule.name}`")
        lines += [f"- **{name}.** {text}" for name, text in rule_sections(rule).items()]
        lines.append(f"- **Needs.** {', '.join(f'`{name}`' for name in rule.needs)}")
        lines.append("- **Remedies, cheapest first.**")
        lines += _numbered(rule.remedies)
        if rule.vm_remedies:
            called = f' ("{rule.vm_title}")' if rule.vm_title else ""
            lines.append(f"- **The same for a virtual-machine system{called}.**")
            lines += _numbered(rule.vm_remedies)
    lines += ["", "## Works", ""]
    lines += [f"- [{name}] {title}" for name, title in WORKS.items()]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Write the reference page to the path given, or to its place in the source tree."""
    return share.write_reference(reference_page(), PAGE, arguments)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
