"""Documents are held against their schemas, closed for it: a key that no schema names is an error."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import jsonschema

from satline.present.schemas import schema


def closed(of: Any) -> Any:
    """A schema under which objects have no other keys than those it names."""
    if isinstance(of, list):
        return [closed(one) for one in of]
    if not isinstance(of, dict):
        return of
    made = {key: closed(one) for key, one in of.items()}
    if isinstance(of.get("properties"), dict) and "required" in of:
        made["additionalProperties"] = False
    return made


@cache
def validator(kind: str) -> jsonschema.protocols.Validator:
    """Of one kind of document."""
    made = schema(kind)
    jsonschema.Draft202012Validator.check_schema(made)
    return jsonschema.Draft202012Validator(closed(made))


def hold(content: dict[str, Any]) -> dict[str, Any]:
    """The document, which is as its schema says.

    Raises
    ------
    AssertionError
        It is not.
    """
    assert list(content)[:2] == ["format", "kind"]
    found = [
        f"{error.json_path}: {error.message[:300]}"
        for error in validator(content["kind"]).iter_errors(content)
    ]
    assert not found, f"{content['kind']}: {found[:5]}"
    return content


def read(text: str) -> dict[str, Any]:
    """The document that a command printed."""
    content = json.loads(text)
    assert isinstance(content, dict)
    return hold(content)
