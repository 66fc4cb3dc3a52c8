"""The manual page of a program, from what its --help says: so that neither falls behind the other."""

from __future__ import annotations

import re

_HEADING = re.compile(r"^(?P<name>[A-Z][A-Za-z ]+):$")


def page(program: str, told: str, version: str) -> str:
    """A page of section 1 in roff.

    Parameters
    ----------
    told
        What `program --help` prints: a first line, the usage, then options; `Examples:` and the like are
        headings of their own.
    """
    first, _, rest = told.partition("\n")
    lines = [
        f'.TH {program.upper()} 1 "" "Satline {version}" "Satline"',
        ".SH NAME",
        f"{_plain(program)} \\- {_plain(first.rstrip('.'))}",
        ".SH DESCRIPTION",
    ]
    filled = False
    for line in rest.splitlines():
        if heading := _HEADING.match(line):
            lines += [*([".fi"] if filled else []), f".SH {heading['name'].upper()}", ".nf"]
            filled = True
        elif line.startswith("Usage: "):
            lines += [".SH SYNOPSIS", f".B {_plain(line.removeprefix('Usage: '))}"]
        elif line or filled:
            lines.append(_plain(line))
        else:
            lines.append(".PP")
    return "\n".join([*lines, *([".fi"] if filled else [])]) + "\n"


def _plain(text: str) -> str:
    """Text that roff shows as it is: a sign at the beginning of a line would be a request."""
    shown = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{shown}" if shown.startswith((".", "'")) else shown
