"""Hostile text made visible: names of processes, devices, users and files, at the face and never before.

A name may hold terminal escapes, line breaks, markup or characters that turn the direction of writing.
`visible` shows each of those as the escape a programmer would write, so that the reader sees that it is there
and the terminal or browser does not obey it. HTML is escaped beside this, by the template engine.
"""

from __future__ import annotations

import unicodedata

from rich.text import Text

# Cc control, Cf format (bidirectional, zero width), Cs surrogate, Co private, Cn unassigned, Zl Zp separators
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

# What a terminal without UTF-8 shows in place of our own signs.
_PLAIN = str.maketrans(
    {"±": "+/-", "µ": "u", "–": "-", "—": "-", "−": "-", "…": "...", "≥": ">=", "≤": "<=", "×": "x", "·": "-"}
    | {"•": "*", "✓": "+", "✗": "-", "\N{NO-BREAK SPACE}": " ", "\N{NARROW NO-BREAK SPACE}": " "}
)


def visible(text: object, *, longest: int | None = None) -> str:
    r"""`text` as one line of printable characters.

    Parameters
    ----------
    text
        Anything; shown as ``str`` gives it.
    longest
        Cut after this many characters, with ``…`` in place of the rest.

    Examples
    --------
    >>> visible("\x1b[31mred\n")
    '\\x1b[31mred\\n'
    """
    shown = str(text)
    if not (shown.isascii() and shown.isprintable()):
        shown = "".join(_one(character) for character in shown)
    if longest is not None and len(shown) > longest:
        shown = shown[: max(longest - 1, 0)] + "…"
    return shown


def _one(character: str) -> str:
    if character.isascii() and character.isprintable():
        return character
    category = unicodedata.category(character)
    if category not in _INVISIBLE:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def cell(text: object, style: str = "", *, encoding: str = "utf-8") -> Text:
    """`visible` text for rich, in which neither markup nor emoji codes are read.

    Characters that `encoding` lacks are shown as escapes, our own signs as plain ones.
    """
    shown = visible(text)
    if not encoding.lower().replace("-", "").startswith("utf"):
        shown = shown.translate(_PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    return Text(shown, style=style)
