"""What is wrong with a study file, in words: file, line, key, what, remedy; all of it at once."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from satline.errors import InputError

Place = tuple[int | str, ...]

# pydantic's kind of error → what a person is told; {…} are the error's own values.
_WORDS = {
    "greater_than_equal": "must be at least {ge}, not {input}",
    "greater_than": "must be more than {gt}, not {input}",
    "less_than_equal": "must be at most {le}, not {input}",
    "less_than": "must be less than {lt}, not {input}",
    "too_short": "is empty; it needs at least {min_length}",
    "too_long": "has {actual_length}; it may have {max_length}",
    "literal_error": "{input} is none of {expected}",
    "string_pattern_mismatch": "{input} is not a name; write letters, digits, - . _",
    "int_type": "{input} is not a whole number",
    "int_parsing": "{input} is not a whole number",
    "int_from_float": "{input} is not a whole number",
    "float_type": "{input} is not a number",
    "float_parsing": "{input} is not a number",
    "finite_number": "{input} is not a finite number",
    "string_type": "{input} is not a text; write it in quotation marks",
    "bool_type": "{input} is neither true nor false",
    "bool_parsing": "{input} is neither true nor false",
    "list_type": "{input} is not a list; write it in brackets",
    "model_type": "is not a table; write it as [{key}]",
    "missing": "missing; every study needs it",
}


def all_problems(path: Path, text: str, error: ValidationError, model: type[BaseModel]) -> InputError:
    """One error that says all that `model` found wrong with the file's `text`."""
    lines = []
    for problem in error.errors():
        place, message, remedy = _say(problem, model)
        shown = f"{path}:{line_of(text, place)}: {key_words(place)}: {message}"
        lines.append((shown, remedy))
    if len(lines) == 1:
        return InputError(
            lines[0][0], hint=lines[0][1] or "shipped studies show every key: `satline studies`"
        )
    shown = "".join(f"\n  {line}" + (f" ({remedy})" if remedy else "") for line, remedy in lines)
    return InputError(f"{len(lines)} errors{shown}", hint="shipped studies show every key: `satline studies`")


def key_words(place: Place) -> str:
    """A place as people write it: ``load.users[2]``, counted from 1."""
    key = ""
    for part in place:
        key += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if key else part
    return key or "the file"


def _say(problem: Any, model: type[BaseModel]) -> tuple[Place, str, str]:
    """Place, message and remedy of one of pydantic's errors."""
    place = tuple(part for part in problem["loc"] if not str(part).startswith(("function-", "constrained-")))
    kind = problem["type"]
    if kind == "extra_forbidden":
        known = _known_keys(place[:-1], model)
        close = difflib.get_close_matches(str(place[-1]), known, n=1)
        return (
            place,
            "unknown key",
            f'did you mean "{close[0]}"?' if close else f"known here: {', '.join(known)}",
        )
    if kind == "value_error":
        message = problem["msg"].removeprefix("Value error, ")
        if not place:  # a model's own check names the key itself
            key, _, message = message.partition(": ")
            place = (key,)
    elif kind in _WORDS:
        values = {**problem.get("ctx", {}), "input": repr(problem.get("input")), "key": key_words(place)}
        message = _WORDS[kind].format(**values)
    else:
        message = problem["msg"]
    message, _, remedy = message.partition("; ")
    return place, message, remedy


def _known_keys(place: Place, model: type[BaseModel]) -> list[str]:
    """Keys that may stand at `place`: down the models by the names in it."""
    for part in place:
        if isinstance(part, int):
            continue
        annotation = model.model_fields[part].annotation
        candidates = [annotation, *get_args(annotation)]
        model = next(
            (one for one in candidates if isinstance(one, type) and issubclass(one, BaseModel)), model
        )
    return list(model.model_fields)


def line_of(text: str, place: Place) -> int:
    """Line of a key in a TOML text, from 1; the line of its table when the key is not there, else 1.

    Keys are looked for as studies have them: below a ``[table]`` or the n-th ``[[table]]``.
    """
    names = [part for part in place if isinstance(part, str)]
    table_wanted = names[0] if len(names) > 1 else ""
    key = names[1] if len(names) > 1 else names[0] if names else ""
    number_wanted = place[1] if len(place) > 1 and isinstance(place[1], int) and table_wanted else 0
    table, best = "", 1
    seen: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[\[?\s*([A-Za-z0-9_.-]+)\s*\]", line)
        if header:
            table = header[1]
            seen[table] = seen.get(table, -1) + 1
            if table == (table_wanted or key) and seen[table] == number_wanted:
                best = number
        elif (
            table == table_wanted
            and seen.get(table, 0) == number_wanted
            and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line)
        ):
            return number
    return best
