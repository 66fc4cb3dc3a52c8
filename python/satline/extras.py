"""Libraries that only some commands need: each comes with an extra of the package, and is asked for here."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from satline.errors import SatlineError

# Module → the extra that has it, where they are not of one name.
_EXTRAS = {"altair": "images", "cryptography": "pseudonyms", "vl_convert": "images"}


class MissingLibraryError(SatlineError, ImportError):
    """A library that Satline itself does not need is not installed; the hint names the extra that has it."""


def optional_library(module: str, purpose: str = "", otherwise: str = "") -> Any:
    """The module, imported now.

    Parameters
    ----------
    module
        Its name, also one inside a library: ``cryptography.exceptions``.
    purpose
        What it is needed for, as the end of "... is not installed: ".
    otherwise
        What can be done without it, for the hint.

    Raises
    ------
    MissingLibraryError
        It is not installed.
    """
    library = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingLibraryError(
            f"{library.replace('_', '-')} is not installed" + (f": {purpose}" if purpose else ""),
            hint="; ".join(
                filter(None, [f"pip install 'satline[{_EXTRAS.get(library, library)}]'", otherwise])
            ),
        ) from error


NOT_DRAWN = "Not drawn, since what draws is not installed: pip install 'satline[images]'."


def can_draw() -> bool:
    """Whether the extra `images` is there; a page without it has the numbers, and a note."""
    try:
        optional_library("vl_convert")
    except MissingLibraryError:
        return False
    return True
