"""The fitted constants into the files: the value where it stood, and beside it on what it was calibrated."""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path

from satline.errors import InputError
from satline.outside import parse_toml
from satline.problems import value_span
from satline.simulation.calibration import Calibrated, Fitted
from satline.simulation.calibration._constants import OF_WORKLOAD, Place, at_place, find, number_text

# Tables that hold the parameters of a distribution: the mark stands beside them.
_FORMS = frozenset({"exponential", "uniform", "lognormal", "hyperexponential", "empirical", "fixed"})
_MARKS = ("calibrated", "source")


def written(result: Calibrated) -> dict[Path, tuple[str, str]]:
    """Each of the two files as it is, and as it is with the fitted constants.

    Raises
    ------
    InputError
        A file cannot be read, or writes a constant in a way that cannot be replaced.
    """
    calibration = result.calibration
    made = {}
    for path, of_workload in ((calibration.machine, False), (calibration.workload, True)):
        before = after = _read(path)
        for constant in result.constants:
            mark = mark_text(result, constant)
            for key in constant.axis.constant.keys:
                if key.startswith(OF_WORKLOAD) == of_workload:
                    value = number_text(constant.axis.at_key(key, constant.value))
                    after = _replaced(after, key.removeprefix(OF_WORKLOAD), value, mark, path)
        made[path] = (before, after)
    return made


def patch(files: dict[Path, tuple[str, str]]) -> str:
    """What changes, as a unified diff with the paths as they were found."""
    return "".join(
        line if line.endswith("\n") else f"{line}\n"
        for path, (before, after) in files.items()
        for line in difflib.unified_diff(
            before.splitlines(True), after.splitlines(True), str(path), str(path)
        )
    )


def mark_text(result: Calibrated, constant: Fitted) -> str:
    """On what it was calibrated, and how well."""
    if constant.low is not None and constant.high is not None:
        how = f"95 % from {number_text(constant.low)} to {number_text(constant.high)}"
    else:
        how = constant.words
    good = f"{result.within} of {len(result.lines)} lines within tolerance"
    return f"{result.calibration.file.on}: {good}; {how}"


def _replaced(text: str, key: str, value: str, mark: str, path: Path) -> str:
    tree = parse_toml(text)
    place = find(tree, key)
    if any(part in _FORMS for part in place):
        form = next(number for number, part in enumerate(place) if part in _FORMS)
        holder = place[:form]
        text = _put(text, place, value)
    else:
        if not isinstance(at_place(tree, place), dict):
            wanted = f"{{ value = {value}, calibrated = {_quoted(mark)} }}"
            return _checked(_put(text, place, wanted), key, path)
        holder = place
        text = _put(text, (*place, "value"), value)
    for name in _MARKS:
        if name in at_place(tree, holder):
            start, end = value_span(text, (*holder, name))
            text = text[:start] + _quoted(mark) + text[end:]
            if name != "calibrated":
                line = text[:start]
                cut = line.rindex(name)
                text = line[:cut] + "calibrated" + line[cut + len(name) :] + text[start:]
            return _checked(text, key, path)
    start, end = value_span(text, holder)
    inner = text[start:end].rstrip()
    if not inner.endswith("}"):
        return _checked(text, key, path)  # a table of its own: it has no place for a mark
    inner = inner[:-1].rstrip() + f", calibrated = {_quoted(mark)} }}"
    return _checked(text[:start] + inner + text[end:], key, path)


def _put(text: str, place: Place, value: str) -> str:
    start, end = value_span(text, place)
    return text[:start] + value + text[end:]


def _checked(text: str, key: str, path: Path) -> str:
    """An edit must leave TOML, whatever the file's own way of writing it."""
    try:
        parse_toml(text)
    except tomllib.TOMLDecodeError:
        raise InputError(
            f"{path}: {key} is written in a way that cannot be replaced",
            hint=f"write it as {key.rpartition('.')[2]} = {{ value = …, source = … }}",
        ) from None
    return text


def _quoted(words: str) -> str:
    plain = re.sub(r"[\x00-\x1f\x7f]", " ", words).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", hint="it was there when the fit began") from None


def save(path: Path, text: str) -> None:
    """Write a file that the user asked for, whole or not at all.

    Raises
    ------
    InputError
        It cannot be written.
    """
    new = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}", hint="copy the machine and the workload to where you may write"
        ) from None
