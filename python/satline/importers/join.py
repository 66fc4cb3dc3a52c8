"""A log of requests joined to a recording that has none: what users got, beside what the host did."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pyarrow as pa

from satline.errors import InputError
from satline.importers._importer import Options
from satline.importers._mapping import read_mapping
from satline.importers._plain_tables import read_plain
from satline.importers._requests import coarse, read_access_log, transactions
from satline.importers._sink import Integers
from satline.recording import Recording, describe, let_go, locked, write_parquet_table

WRITER = "join"
FORMATS = ("csv", "nginx", "apache")


@dataclass
class Joined:
    """What `join` did.

    rows
        Requests that are in the recording now.
    left_out
        Requests that began outside of its readings.
    begins, ends
        Times at which the first and the last of all began, ns since 1970 UTC.
    users, classes
        How many different ones; ``None``: the log does not say.
    damage
        What could not be read.
    notes
        What a reader of the recording should know.
    """

    rows: int = 0
    left_out: int = 0
    begins: int = 0
    ends: int = 0
    users: int | None = None
    classes: int | None = None
    damaged: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def damage(self, text: str) -> None:
        """Something was left out because it was damaged."""
        self.damaged.append(text)


def join(
    path: Path,
    logs: Sequence[Path],
    form: str,
    options: Options,
    *,
    shift_s: float = 0.0,
    anew: bool = False,
) -> Joined:
    """Add the requests of logs to a recording as table transaction.

    A request belongs to the recording if it began between the first and the last reading of a run. Its
    monotonic time is the recording's at that real time, so that steps of the clock during the recording do no
    harm.

    Parameters
    ----------
    path
        The recording; it may still be written.
    logs
        Their requests must not be in one another.
    form
        ``csv`` (with `options.mapping`; Parquet, too), ``nginx`` or ``apache``.
    shift_s
        What is added to the times of the logs, s, where they are of another clock.
    anew
        Take out what was joined earlier, first.

    Raises
    ------
    InputError
        A log cannot be read, has no request in the time of the recording, or one is joined already; the
        recording has transactions of its own, or pseudonyms.
    """
    recording = Recording.open(path)
    if "pseudonyms" in recording.description:
        raise InputError(
            f"{path}: has pseudonyms in place of names, and a log has names",
            hint="join it to a recording with names; `satline recording pseudonymise` makes a copy without",
        )
    runs = _runs(recording)
    _check_twice(recording, logs, anew)
    done = Joined()
    rows = [_read(log, form, options, done) for log in logs]
    names = dict.fromkeys(name for one in rows for name in one)
    whole = {name: np.concatenate([_column(one, name) for one in rows]) for name in names}
    order = np.argsort(whole["time_ns"], kind="stable")
    whole = {name: values[order] for name, values in whole.items() if name != "ended_ns"}
    whole["time_ns"] = whole["time_ns"] + round(shift_s * 1e9)
    inside, monotonic = _placed(whole["time_ns"], runs)
    done.begins, done.ends = int(whole["time_ns"][0]), int(whole["time_ns"][-1])
    done.rows, done.left_out = int(inside.sum()), int((~inside).sum())
    if not done.rows:
        raise _elsewhere(path, done, runs)
    kept = {name: values[inside] for name, values in whole.items()}
    done.users = len(set(kept["user"]) - {None}) or None if "user" in kept else None
    done.classes = len(set(kept["class"]) - {None}) or None if "class" in kept else None
    if form != "csv":
        done.notes.append("the log's times are to the second: a request is up to 0.5 s away from its place")
    table = pa.table(
        {
            **{name: pa.array(values, from_pandas=True) for name, values in kept.items()},
            "response_us": pa.array(np.rint(kept["response_us"]), from_pandas=True).cast(pa.int64()),
            "monotonic_ns": pa.array(monotonic[inside]),
        }
    )
    origin: dict[str, Any] = {
        "format": form,
        "files": [str(log) for log in logs],
        "sha256": [_digest(log) for log in logs],
        "shift_s": shift_s,
        "requests": done.rows,
        "left_out": done.left_out,
    }
    if options.mapping is not None:
        origin["mapping"] = options.mapping.read_text(encoding="utf-8")
    _write(path, table, {"damage": done.damaged, "notes": done.notes, "origin": origin}, logs, anew)
    return done


def _write(path: Path, table: pa.Table, said: dict[str, Any], logs: Sequence[Path], anew: bool) -> None:
    (path / "tables").mkdir(exist_ok=True)
    # Compaction holds the same lock, and clears away unfinished files of tables.
    with locked(path / "tables"):
        _check_twice(Recording.open(path), logs, anew)  # another may have joined meanwhile
        _take_out(path)
        # Without end_reason until all is there: a join that was cut is seen, and can be done anew.
        describe.write_source(path, WRITER, said)
        write_parquet_table(path, "transaction", table, writer=WRITER)
        describe.write_source(path, WRITER, {"end_reason": "complete", **said})


def _take_out(path: Path) -> None:
    files = list((path / "tables" / "transaction").glob(f"*/{WRITER}-*.parquet"))
    if files:
        let_go(path, files, "joined anew")
    for file in files:
        file.unlink()
    describe.remove_source(path, WRITER)


def _check_twice(recording: Recording, logs: Sequence[Path], anew: bool) -> None:
    places: set[str] = set()
    for log in logs:
        place = os.path.realpath(log)
        if place in places:
            raise InputError(f"{log}: given twice", hint="its requests would count twice")
        places.add(place)
    earlier = recording.sources.get(WRITER)
    if earlier is not None and not anew:
        origin = earlier.get("origin", {})
        files = ", ".join(str(name) for name in origin.get("files", ["a log"]))
        if "end_reason" not in earlier:
            raise InputError(
                f"{recording.path}: joining {files} was cut short", hint="do it anew with --anew"
            )
        raise InputError(
            f"{recording.path}: {files} is joined already; its requests would count twice",
            hint="--anew takes out what was joined and joins the logs given now: name all of them",
        )
    if earlier is None and "transaction" in recording.tables():
        raise InputError(
            f"{recording.path}: it has transactions of its own",
            hint="a log is joined to what `satline record` or `satline import` made",
        )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(log: Path, form: str, options: Options, done: Joined) -> dict[str, Any]:
    if form in ("nginx", "apache"):
        return transactions(*read_access_log(log, cast(Literal["nginx", "apache"], form), done), done)
    if options.mapping is None:
        raise InputError(
            f"{log}: what its columns mean is not said",
            hint="write a mapping file with [time] and [transaction], and name it with --mapping; or say"
            " --format nginx or apache",
        )
    files = read_mapping(options.mapping).files()
    if len(files) != 1 or files[0].transaction is None or files[0].column or files[0].path:
        raise InputError(
            f"{options.mapping}: it is not that of one log of requests",
            hint="write [time] and [transaction] in it, no [[column]] and no [[file]]",
        )
    table = read_plain(log, files[0], replace(options, progress=lambda _: None), done)
    if (note := coarse(table, files[0].transaction)) is not None:
        done.notes.append(note)
    return transactions(table, files[0].transaction, done)


def _column(rows: dict[str, Any], name: str) -> Any:
    missing = np.full(len(rows["time_ns"]), None, dtype=object)
    return rows.get(name, missing)


def _runs(recording: Recording) -> list[tuple[Integers, Integers]]:
    """Real and monotonic times of the readings of each run, ns, in order.

    Raises
    ------
    InputError
        There are no readings, or the monotonic times of runs overlap (the host was started again between).
    """
    with recording.connect() as connection:
        if "system" not in recording.tables():
            found: dict[str, Any] = {"run": np.empty(0)}
        else:
            found = connection.execute(
                "SELECT run, time_ns, monotonic_ns FROM system ORDER BY run, monotonic_ns"
            ).fetchnumpy()
    if not len(found["run"]):
        raise InputError(
            f"{recording.path}: it has no readings yet", hint="join the log once the host has been recorded"
        )
    runs = []
    for run in np.unique(found["run"]):
        of_run = found["run"] == run
        runs.append((np.asarray(found["time_ns"][of_run]), np.asarray(found["monotonic_ns"][of_run])))
    runs.sort(key=lambda one: int(one[1][0]))
    for (_, before), (_, after) in pairwise(runs):
        if after[0] <= before[-1]:
            raise InputError(
                f"{recording.path}: the host was started again while it was recorded, and the times of its"
                " runs overlap: a request cannot be told its place",
                hint="join the log to a recording of one boot",
            )
    return runs


def _placed(time_ns: Integers, runs: Sequence[tuple[Integers, Integers]]) -> tuple[Any, Integers]:
    """Whether each time lies in a run, and its monotonic time there."""
    inside = np.zeros(len(time_ns), dtype=bool)
    monotonic = np.zeros(len(time_ns), dtype=np.int64)
    for real, run_monotonic in runs:
        # The real clock may have been set back: the greatest time until then keeps the order.
        rising = np.maximum.accumulate(real)
        here = ~inside & (time_ns >= rising[0]) & (time_ns <= rising[-1])
        at = np.searchsorted(rising, time_ns[here], side="right") - 1
        # A step forward between two readings: nothing lies beyond the next one.
        next_one = run_monotonic[np.minimum(at + 1, len(run_monotonic) - 1)]
        monotonic[here] = np.minimum(run_monotonic[at] + (time_ns[here] - rising[at]), next_one)
        inside |= here
    return inside, monotonic


def _elsewhere(path: Path, done: Joined, runs: Sequence[tuple[Integers, Integers]]) -> InputError:
    """The log is of another time; of another zone perhaps."""
    first, last = min(int(real[0]) for real, _ in runs), max(int(real[-1]) for real, _ in runs)

    def shown(ns: int) -> str:
        return datetime.fromtimestamp(ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S")

    hint = "is it the log of this host, and of this time?"
    quarter = 900 * 10**9
    middle = (first + last) // 2 - (done.begins + done.ends) // 2
    slack = 60 * 10**9
    for steps in sorted({round(middle / quarter) + near for near in range(-4, 5)}, key=abs):
        moved = done.begins + steps * quarter >= first - slack and done.ends + steps * quarter <= last + slack
        if moved and 0 < abs(steps) <= 56:  # a zone is at most 14 hours away
            way = "early" if steps > 0 else "late"
            hint = f"its times look {abs(steps) / 4:g} h too {way}: see --timezone and --shift"
            break
    return InputError(
        f"{path}: no request began in its time: readings from {shown(first)} to {shown(last)} UTC,"
        f" requests from {shown(done.begins)} to {shown(done.ends)} UTC",
        hint=hint,
    )
