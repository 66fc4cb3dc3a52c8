"""Arguments, options and kinds of values that several commands share."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satline.cli.declared import argument, option, several
from satline.errors import InputError

if TYPE_CHECKING:
    from satline.recording import Recording
    from satline.reduction import Reduction

RECORDING = argument()
LOAD = option(
    "Load axis: users (of a study's steps), active_users, in_queue, in_flight, run_queue,"
    " load_average, sessions, in_system, requests, or any variable.",
    "--load",
    metavar="AXIS",
)
# How load classes are made, as `reduce` takes it.
CLASSES = several(
    dict,
    classes=option("Classes of equal size instead of equal width.", metavar="equal-count[:N]"),
    class_width=option("Width of a class of load; default 2 users.", metavar="WIDTH", type=float),
    class_observations=option(
        "Merge classes until each has this many; default 50, fewer in a short recording.",
        metavar="N",
        type=click.IntRange(min=1),
    ),
)


def opened_in_its_words(path: Path) -> Recording:
    """The recording at `path`; the command that runs names variables in the words of its system."""
    from satline.recording import Recording

    recording = Recording.open(path)
    speak_of(recording)
    return recording


def speak_of(*recordings: Recording) -> None:
    """Until it ends, the command that runs names variables in the words of the recorded systems."""
    from satline.present import in_words_of

    words = in_words_of(*(one.description for one in recordings))
    click.get_current_context().with_resource(words)


def part_of(option: str, text: str, example: str) -> float:
    """A part, written as 25% or as 0.25; InputError with `example` else."""
    number = text.strip().removesuffix("%")
    try:
        return float(number) / (100 if number != text.strip() else 1)
    except ValueError:
        raise InputError(f"{option} {text!r}", hint=f"write {example}") from None


def require_loads(curves: Reduction, asked: str | None) -> None:
    """An answer against a load that was asked for needs some value of it."""
    import numpy as np

    if asked is not None and len(curves.load) and not np.isfinite(curves.load).any():
        raise InputError(
            f"--load {asked}: the recording has no values of it",
            hint="`satline info RECORDING` lists the loads that it has",
        )


_UNITS_MS = {"ms": 1, "": 1000, "s": 1000, "min": 60_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class Duration(click.ParamType[int]):
    """``10`` (seconds), ``500ms``, ``10s``, ``5m``, ``8h``, ``7d``, as milliseconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Milliseconds from a text."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d|)\s*", str(value))
        milliseconds = round(float(match[1]) * _UNITS_MS[match[2]]) if match else 0
        if milliseconds <= 0:
            self.fail(f"{value!r} is not a time; write 10, 500ms, 10s, 5m, 8h or 7d", param, ctx)
        return milliseconds


class Size(click.ParamType[int]):
    """``500M``, ``5G`` (powers of 1024, as journald has them), ``5 GB``, ``5 GiB``, as bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Bytes from a text."""
        from satline.experiment.sizes import parse_size

        if isinstance(value, int):
            return value
        text = str(value).strip()
        try:
            size = parse_size(f"{text}iB" if re.fullmatch(r"[\d.]+\s*[KMGTkmgt]", text) else text)
        except ValueError:
            size = 0
        if size <= 0:
            self.fail(f"{value!r} is not a size; write 500M, 5G or 5 GB", param, ctx)
        return size


KEEP = option("Delete days that ended longer ago than this, such as 30d.", metavar="TIME", type=Duration())
MAX_SIZE = option(
    "Delete the oldest days while the recording is larger than this, such as 5G.", metavar="SIZE", type=Size()
)
