"""The reference page of the rules, made from their own docstrings."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from satline.diagnosis.rules import RULES

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


def reference_page() -> str:
    """The page, in Markdown, in the order of the table of rules."""
    lines = [
        "# Rules",
        "",
        "Made from the rules' own docstrings by `python -m satline.diagnosis.reference`;",
        "edit those, not this.",
    ]
    for rule, _ in RULES:
        module = import_module(f"satline.diagnosis.rules.{rule.name}")
        lines += ["", f"## {rule.title[0].upper()}{rule.title[1:]}", ""]
        lines += [f"- **{name}.** {text}" for name, text in sections(module.__doc__ or "").items()]
        lines.append(f"- **Needs.** {', '.join(f'`{name}`' for name in rule.needs)}")
        lines.append("- **Remedies, cheapest first.**")
        lines += [f"  {number}. {remedy}" for number, remedy in enumerate(rule.remedies, start=1)]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Write the page to the path given, or to its place in the source tree."""
    (Path(arguments[0]) if arguments else PAGE).write_text(reference_page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
