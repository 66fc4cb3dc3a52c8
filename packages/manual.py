"""The manual page of a program, from what its --help says: so that neither falls behind the other."""

from __future__ import annotations

import re

_HEADING = re.compile(r"^(?P<name>[A-Z][A-Za-z ]+):$")
_OPTION = re.compile(r"^ {2,6}(-{1,2}[A-Za-z]|\[)")
_LISTS = ("Options", "Arguments")


def page(program: str, told: str, version: str) -> str:
    """A page of section 1 in roff.

    Parameters
    ----------
    told
        What `program --help` prints: a first line, the usage, then options with their meaning below them;
        `Examples:` and the like are headings, below which lines stay as they are.
    """
    first, _, rest = told.partition("\n")
    lines = [
        f'.TH {program.upper()} 1 "" "Satline {version}" "Satline"',
        ".SH NAME",
        f"{_plain(program)} \\- {_plain(first.rstrip('.'))}",
        ".SH DESCRIPTION",
    ]
    section = ""
    for line in rest.splitlines():
        text = _plain(line.strip())
        if heading := _HEADING.match(line):
            lines += [*([".fi"] if _kept(section) else []), f".SH {heading['name'].upper()}"]
            section = heading["name"]
            lines += [".nf"] if _kept(section) else []
        elif line.startswith("Usage: "):
            lines += [".SH SYNOPSIS", f".B {_plain(line.removeprefix('Usage: '))}"]
        elif _kept(section):
            lines.append(_plain(line))
        elif section and _OPTION.match(line):
            lines += [".TP", f".B {text}"]
        elif text:
            # A list of values has one on each line.
            lines += [".br", text] if line.strip().startswith("- ") else [text]
        elif lines[-1] not in (".IP", ".PP"):
            lines.append(".IP" if section else ".PP")
    return "\n".join([*lines, *([".fi"] if _kept(section) else [])]) + "\n"


def _kept(section: str) -> bool:
    """Whether lines of a section stay as they are."""
    return bool(section) and section not in _LISTS


def _plain(text: str) -> str:
    """Text that roff shows as it is: a sign at the beginning of a line would be a request."""
    shown = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{shown}" if shown.startswith((".", "'")) else shown
