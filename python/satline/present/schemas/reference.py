"""The reference page of the documents, made from their schemas."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from satline import share
from satline.present.documents import FORMAT
from satline.present.schemas import KINDS, schema

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "json.md"
HEAD = f"""\
# JSON

Made from the results' own types by `python -m satline.present.schemas.reference`; edit those, not this.

`--json` prints one document, an object, on standard output; commands that watch print one per line. It
begins with `format`, now {FORMAT}, the version of all documents, and `kind`, which command's it is.
`satline schema` lists the kinds, and `satline schema KIND` prints the JSON Schema of one (draft 2020-12), for
a validator or a code generator.

- Every key below is always there. Null means not known, or not finite: any number that is not an integer may
  be null.
- A later version may add keys. `format` rises when a key goes or changes its meaning.
- Times are ISO 8601 unless the key ends in `_ns` (nanoseconds since 1970). The unit is in the key, or in a
  `unit` beside it.
- Documents are ASCII: names are escaped, and no name can act on a terminal.

`satline simulate --watch --json` prints [lines of another kind](watching.md).
"""


class _Parts:
    """Definitions of all kinds, each once; of two that share but the name, the second has its kind."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Any]] = {}

    def names(self, kind: str, definitions: dict[str, Any]) -> dict[str, str]:
        """By name in the schema of `kind`: the name on the page."""
        names = {}
        for name, content in definitions.items():
            plain = name.rpartition("__")[2]
            other = self.found.get(plain)
            names[name] = plain if other is None or _same(other, content) else f"{plain} of {kind}"
        return names

    def add(self, names: dict[str, str], definitions: dict[str, Any]) -> None:
        for name, content in definitions.items():
            self.found.setdefault(names[name], {**content, "names": names})


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return json.dumps(one["properties"], sort_keys=True) == json.dumps(other["properties"], sort_keys=True)


def type_words(of: dict[str, Any], names: dict[str, str]) -> str:
    """A key's type in words; a part of the page is a link."""
    if "$ref" in of:
        name = names[of["$ref"].rpartition("/")[2]]
        return f"[{name}](#{name.lower().replace(' ', '-')})"
    if "anyOf" in of:
        return " or ".join(type_words(one, names) for one in of["anyOf"])
    if "const" in of:
        return f"`{json.dumps(of['const'])}`"
    if "enum" in of:
        return " or ".join(f"`{json.dumps(one)}`" for one in of["enum"])
    kinds = of.get("type", "anything")
    if isinstance(kinds, list):
        return " or ".join(type_words({**of, "type": kind}, names) for kind in kinds)
    if kinds == "array" and "prefixItems" in of:
        return f"list: {', '.join(type_words(one, names) for one in of['prefixItems'])}"
    if kinds == "array":
        return f"list of {type_words(of.get('items', {}), names)}"
    if kinds == "object" and isinstance(of.get("additionalProperties"), dict):
        return f"object, each {type_words(of['additionalProperties'], names)}"
    return {"date": "date", "date-time": "time"}.get(of.get("format", ""), str(kinds))


def _rows(of: dict[str, Any], names: dict[str, str]) -> list[str]:
    rows = ["", "| key | type | meaning |", "|---|---|---|"]
    for key, one in of["properties"].items():
        meaning = one.get("description", "").replace("|", "\\|").replace("<", "&lt;")
        rows.append(f"| `{key}` | {type_words(one, names)} | {meaning} |".replace("|  |", "| |"))
    return rows


def reference_page() -> str:
    """The page, in Markdown: the kinds in the order of their table, then the parts by name."""
    parts = _Parts()
    lines = [HEAD.rstrip()]
    for kind, entry in KINDS.items():
        made = schema(kind)
        definitions = made.get("$defs", {})
        names = parts.names(kind, definitions)
        parts.add(names, definitions)
        own = {key: one for key, one in made["properties"].items() if key not in {"format", "kind"}}
        lines += ["", f"## {kind}", "", f"{entry.about} `{entry.command}`"]
        lines += _rows({"properties": own}, names)
    lines += ["", "# Parts of documents"]
    for name, one in sorted(parts.found.items()):
        lines += ["", f"## {name}"]
        lines += ["", one["description"].replace("<", "&lt;")] if one.get("description") else []
        lines += _rows(one, one["names"])
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Write the reference page to the path given, or to its place in the source tree."""
    return share.write_reference(reference_page(), PAGE, arguments)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
