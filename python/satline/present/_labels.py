"""What the shipped definitions of reports call each variable.

Apart from what checks definitions: every answer in words asks for labels, and few read a definition.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from satline.outside import parse_toml, read_text

SHIPPED = Path(__file__).resolve().parent / "definitions"
OWN = ("rate", "zero", "nonzero")  # statistics that have words of their own


@cache
def labels() -> dict[str, str]:
    """What the shipped definitions call each variable; read without checking, for it is asked for often."""
    found: dict[str, str] = {}
    for path in sorted(SHIPPED.glob("*.toml")):
        for variable in parse_toml(read_text(path)).get("variables", []):
            plain = (
                not variable.get("per") and not variable.get("of") and variable.get("statistic") not in OWN
            )
            if (label := variable.get("label")) and plain:
                found.setdefault(variable["name"], label)
    return found
