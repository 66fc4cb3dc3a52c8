"""Where the shipped files are: beside this module when installed, at the top of the source tree otherwise.

And how pages of the reference that are made from code get to their place there.
"""

from __future__ import annotations

from pathlib import Path

from satline.errors import SatlineError

_INSTALLED = Path(__file__).resolve().parent / "share"
_SOURCE_TREE = Path(__file__).resolve().parents[2]


def path(name: str) -> Path:
    """Directory of the shipped files `name`: ``catalogue``, ``studies`` or ``workloads``.

    Raises
    ------
    SatlineError
        Neither the installed package nor a source tree has it.
    """
    for root in (_INSTALLED, _SOURCE_TREE):
        if (root / name).is_dir():
            return root / name
    raise SatlineError(
        f"the shipped {name} are neither in {_INSTALLED} nor in {_SOURCE_TREE}",
        hint="install satline again: `pip install .` in the source tree",
    )


def write_reference(page: str, place: Path, arguments: list[str]) -> int:
    """Write a page made from code to the path on the command line, or to its place in the source tree."""
    import argparse

    parser = argparse.ArgumentParser(description=f"Write {place.name} of the reference to PAGE.")
    parser.add_argument("page", type=Path, nargs="?", default=place)
    parser.parse_args(arguments).page.write_text(page, encoding="utf-8")
    return 0
