"""JSON schemas from types: pydantic's, with what holds of all documents.

A number that is not an integer may be null: it is where it is not finite. Every key of a result is always
there. Keys that a later version adds are allowed.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from satline.present.documents import FORMAT
from satline.present.schemas._kinds import KINDS

DIALECT = "https://json-schema.org/draft/2020-12/schema"
# Of a docstring: names of fields, and their text, further right.
_FIELDS = re.compile(r"^([\w…]+(?:, [\w…]+)*)\n((?:(?: {4}.*)?\n)+)", re.MULTILINE)
_SECTION = re.compile(r"^\w+\n-+\n", re.MULTILINE)


def schema(kind: str) -> dict[str, Any]:
    """The schema of one kind of document, with the definitions that it needs."""
    entry = KINDS[kind]
    module, _, name = entry.type.partition(":")
    found = getattr(import_module(module, __package__), name)
    made = TypeAdapter(found).json_schema(mode="serialization", schema_generator=_Schema)
    definitions = made.pop("$defs", {})
    if "$ref" in made:  # a type that refers to itself
        made = definitions[made["$ref"].rpartition("/")[2]]
    head = {
        "format": {"const": FORMAT, "description": "The version of all documents."},
        "kind": {"const": kind, "description": "Which command's it is."},
    }
    return {
        "$schema": DIALECT,
        "title": kind,
        "description": f"{entry.about} Printed by: {entry.command}, with --json.",
        "type": "object",
        "properties": {**head, **made["properties"]},
        "required": [*head, *made["required"]],
        **({"$defs": definitions} if definitions else {}),
    }


class _Schema(GenerateJsonSchema):
    """As pydantic makes them, with the text of docstrings on objects and keys."""

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        return {**super().float_schema(schema), "type": ["number", "null"]}

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        made = super().nullable_schema(schema)
        inner = [one for one in made.get("anyOf", ()) if one != {"type": "null"}]
        if len(inner) != 1 or "type" not in inner[0] or {"enum", "const"} & inner[0].keys():
            return made
        kinds = inner[0]["type"] if isinstance(inner[0]["type"], list) else [inner[0]["type"]]
        return {**inner[0], "type": [*(kind for kind in kinds if kind != "null"), "null"]}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def field_is_required(self, *_: Any, **__: Any) -> bool:
        return True

    def field_title_should_be_set(self, schema: Any) -> bool:
        del schema
        return False

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        return _explained(super().dataclass_schema(schema), schema["cls"])

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        made = _explained(super().model_schema(schema), schema["cls"])
        made.pop("additionalProperties", None)
        return made


def _explained(made: JsonSchemaValue, of: type) -> JsonSchemaValue:
    """With what docstrings say of the object and of its keys; a subclass's before those it is made from."""
    for base in of.__mro__:
        text = _SECTION.sub("", inspect.cleandoc(base.__dict__.get("__doc__") or "") + "\n")
        if base is of:
            made["description"] = _prose(_FIELDS.sub("", text))
        for match in _FIELDS.finditer(text):
            for name in match[1].split(", "):
                if name in made["properties"]:
                    made["properties"][name].setdefault("description", _prose(match[2]))
    return {key: value for key, value in made.items() if value != ""}


def _prose(text: str) -> str:
    """Without line ends, and with JSON's word for nothing."""
    return " ".join(re.sub(r"``None``|\bNone\b", "null", text).replace("``", "`").split())
