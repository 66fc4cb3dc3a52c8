"""What is wrong with a TOML file that a user wrote, in words: file, line, key, what, remedy; all at once."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from satline import outside
from satline.errors import InputError

Place = tuple[int | str, ...]
Model = TypeVar("Model", bound=BaseModel)

# pydantic's kind of error → what a person is told; {…} are the error's own values.
_WORDS = {
    "greater_than_equal": "must be at least {ge}, not {input}",
    "greater_than": "must be more than {gt}, not {input}",
    "less_than_equal": "must be at most {le}, not {input}",
    "less_than": "must be less than {lt}, not {input}",
    "too_short": "is empty; it needs at least {min_length}",
    "too_long": "has {actual_length}; it may have {max_length}",
    "string_too_short": "is empty",
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
    "tuple_type": "{input} is not a list; write it in brackets",
    "model_type": "is not a table; write it as [{key}]",
    "missing": "missing; every {kind} needs it",
}


def read_toml(path: Path, model: type[Model], *, kind: str, name_one: str, hint: str) -> tuple[str, Model]:
    """The text of a file that a user wrote, and what it says.

    Parameters
    ----------
    kind
        What the file is: study, report definition.
    name_one
        The remedy where there is no such file.
    hint
        The remedy where a key is wrong and has none of its own.

    Raises
    ------
    InputError
        It cannot be read, is not TOML, or says what `model` does not allow: all at once, each with its line.
    """
    text, values = parse_toml(path, name_one=name_one, no_text=f"a {kind} is a TOML file in UTF-8")
    try:
        return text, model.model_validate(values)
    except ValidationError as error:
        raise all_problems(path, text, error, model, kind=kind, hint=hint) from None


def parse_toml(path: Path, *, name_one: str, no_text: str) -> tuple[str, dict[str, Any]]:
    """The text of a TOML file and its values, unchecked; the remedies where there is none, or no text in it.

    Raises
    ------
    InputError
        It cannot be read, or is not TOML.
    """
    try:
        text = outside.read_text(path)
        return text, outside.parse_toml(text)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", hint=name_one) from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not text", hint=no_text) from None
    except tomllib.TOMLDecodeError as error:
        mend = "texts stand in quotation marks, lists in brackets"
        raise InputError(f"{path}: not TOML: {error}", hint=mend) from None


def none_such(name: str, shipped: Iterable[str], *, kind: str, listed_by: str) -> InputError:
    """There is neither a file of that name nor one that comes with Satline."""
    names = list(shipped)
    close = difflib.get_close_matches(name, names, n=1)
    hint = (
        f'did you mean "{close[0]}"?' if close else f"`{listed_by}` lists those shipped: {', '.join(names)}"
    )
    return InputError(f"there is no {kind} file {name}, and no shipped {kind} of that name", hint=hint)


def all_problems(
    path: Path, text: str, error: ValidationError, model: type[BaseModel], *, kind: str, hint: str
) -> InputError:
    """One error that says all that `model` found wrong with the file's `text`.

    Parameters
    ----------
    kind
        What the file is: study, report definition.
    hint
        The remedy where a problem has none of its own.
    """
    lines = []
    for problem in error.errors():
        place, message, remedy = say(problem, model, kind)
        lines.append((f"{path}:{line_of(text, place)}: {key_words(place)}: {message}", remedy))
    return joined(lines, hint=hint)


def joined(lines: list[tuple[str, str]], *, hint: str) -> InputError:
    """One error of several problems: what is wrong, and its remedy or empty."""
    if len(lines) == 1:
        return InputError(lines[0][0], hint=lines[0][1] or hint)
    shown = "".join(f"\n  {line}" + (f" ({remedy})" if remedy else "") for line, remedy in lines)
    return InputError(f"{len(lines)} errors{shown}", hint=hint)


def key_words(place: Place) -> str:
    """A place as people write it: ``load.users[2]``, counted from 1."""
    key = ""
    for part in place:
        key += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if key else part
    return key or "the file"


def say(problem: Any, model: type[BaseModel], kind_of_file: str) -> tuple[Place, str, str]:
    """Place, message and remedy of one of the errors that pydantic found in a file of that kind."""
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
        message = _WORDS[kind].format(**values, kind=kind_of_file)
    else:
        message = problem["msg"]
    message, _, remedy = message.partition("; ")
    return place, message, remedy


def _known_keys(place: Place, model: type[BaseModel]) -> list[str]:
    """Keys that may stand at `place`: down the models by the names in it."""
    for part in place:
        if isinstance(part, int):
            continue
        # A key that is a word of Python's has another name in the model.
        by_alias = {field.alias or name: field for name, field in model.model_fields.items()}
        if part not in by_alias:
            break
        annotation = by_alias[part].annotation
        candidates = [annotation, *get_args(annotation)]
        model = next(
            (one for one in candidates if isinstance(one, type) and issubclass(one, BaseModel)), model
        )
    return [field.alias or name for name, field in model.model_fields.items()]


def line_of(text: str, place: Place) -> int:
    """Line of a key in a TOML text that parses, from 1.

    Where the place itself is not written, the line of the table or list around it; else 1. A place that
    leaves a number out is the first of its kind.
    """
    lines: dict[Place, int] = {}
    for where, position in _keys(text):
        line = text.count("\n", 0, position) + 1
        lines.setdefault(where, line)
        lines.setdefault(tuple(part for part in where if isinstance(part, str)), line)
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


def value_span(text: str, place: Place) -> tuple[int, int]:
    """Where a key's value stands in a TOML text that parses: first position, and the one behind the last.

    Raises
    ------
    KeyError
        The key is not written as ``key = value``, or not there.
    """
    for where, start in _keys(text):
        if where == place and not text.startswith("[", start):
            at = start
            if not isinstance(place[-1], int):
                _, at = _names(text, start)
                at += 1
            while text[at : at + 1] in (" ", "\t"):
                at += 1
            values = _value(text, at, place)
            while True:
                try:
                    next(values)
                except StopIteration as done:
                    end = int(done.value)
                    break
            return at, at + len(text[at:end].rstrip())
    raise KeyError(place)


# What a scan of TOML steps over: blanks and comments; a string of any kind; a bare key or a plain value.
_BLANK = re.compile(r"(?:[ \t\r\n,]|#[^\n]*)*")
_STRING = re.compile(r"\"\"\"(?:\\.|[^\\])*?\"{3,5}|'''.*?'{3,5}|\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'", re.DOTALL)
_PART = re.compile(r"\s*(?:(\"(?:\\.|[^\"\\])*\"|'[^']*')|([A-Za-z0-9_-]+))\s*")
_PLAIN = re.compile(r"[^,\]}\n#]*")


def _keys(text: str) -> Iterator[tuple[Place, int]]:
    """Every key, table and list item of a TOML text with its position.

    tomllib says what a text means but not where; it has been read by it before, so the scan need not check.
    """
    table: Place = ()
    counts: dict[Place, int] = {}
    at = _past_blank(text, 0)
    while at < len(text):
        start = at
        if text[at] == "[":
            many = text.startswith("[[", at)
            names, at = _names(text, at + 1 + many)
            at += 1 + many
            table = ()
            for index, name in enumerate(names):
                table += (name,)
                if many and index == len(names) - 1:
                    counts[table] = counts.get(table, -1) + 1
                if table in counts:
                    table += (counts[table],)
            yield table, start
        else:
            names, at = _names(text, at)
            for index in range(len(names)):
                yield table + tuple(names[: index + 1]), start
            at = yield from _value(text, at + 1, table + tuple(names))
        at = _past_blank(text, at)


def _value(text: str, at: int, place: Place) -> Generator[tuple[Place, int], None, int]:
    """The keys and items within a value; returns the position behind it."""
    while text[at : at + 1] in (" ", "\t"):
        at += 1
    if string := _STRING.match(text, at):
        return string.end()
    opened = text[at : at + 1]
    if opened not in ("[", "{"):
        plain = _PLAIN.match(text, at)
        return plain.end() if plain else at
    at = _past_blank(text, at + 1)
    index = 0
    while at < len(text) and text[at] not in "]}":
        start = at
        inner: Place = (*place, index)
        if opened == "{":
            names, at = _names(text, at)
            at += 1
            inner = place + tuple(names)
        yield inner, start
        at = _past_blank(text, (yield from _value(text, at, inner)))
        index += 1
    return at + 1


def _names(text: str, at: int) -> tuple[list[str], int]:
    """The parts of a dotted key at `at`, and the position behind it."""
    names: list[str] = []
    while part := _PART.match(text, at):
        names.append(part[1][1:-1] if part[1] else part[2])
        at = part.end()
        if text[at : at + 1] != ".":
            break
        at += 1
    return names, at


def _past_blank(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at
