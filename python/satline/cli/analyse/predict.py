"""`satline analyse predict`: throughput and response time at other loads, and after changes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from satline.cli.declared import argument, command, option
from satline.cli.filters import FILTERS
from satline.cli.options import LOAD, opened_in_its_words, require_loads
from satline.cli.outputs import JSON, print_json, print_text
from satline.errors import InputError

if TYPE_CHECKING:
    from satline.reduction import Filters

MOST_ROWS = 12
_SPAN = re.compile(r"(\d*\.?\d*)\.\.(\d*\.?\d*)(?::(\d+))?")


@command("""\b
Examples:
  satline analyse predict host.satline --users 10..60
  satline analyse predict host.satline --what-if cpu=2x --what-if processors=4
  satline analyse predict loadtest.csv --at 64,128    a table of a load test

\b
What can be changed:
  cpu=2x             processors twice as fast
  processors=4       four processors; processors=2x twice as many
  device:sda=2x      that device twice as fast; device:sda=2 two of them
  quota=2x           twice the processor quota; quota=1.5 that many
  cap=2x             twice the limit on the load's reads
  storage=2x         twice the memory: scales paging, by an assumption

\b
A network file:
  title = "Central server"
  [[users]]
  count = 100
  think_s = 10
  [[station]]
  name = "cpu"
  demand_s = 0.1               # a transaction's service time there
  servers = 2
  [[station]]
  name = "disk"
  visits = 9
  service_s = 0.030            # the demand is visits x service_s
  [[station]]
  name = "network"
  kind = "delay"               # no queue
  demand_s = 0.05
  [storage]                    # optional
  admitted = 6                 # users in queue at most; others are eligible
  working_sets = 4             # how many fit; beyond that, page to:
  paging = "disk"
Several [[users]] with a name each are classes; then
demand_s = { students = 0.1, batch = 2 }.
""")
def predict(
    recording: Path | None = argument(),
    network: Path | None = option("A queueing network of your own.", metavar="FILE"),
    users_text: str | None = option(
        "Numbers of users: 10..60, 10..60:5, or 10,20. For a table: its column of load.",
        "--users",
        metavar="10..60",
    ),
    at_text: str | None = option("For a table: also predict at these loads.", "--at", metavar="64,128"),
    throughput: str | None = option("For a table: its column of throughput.", metavar="COLUMN"),
    response: str | None = option("For a table: its column of mean response time.", metavar="COLUMN"),
    what_if: tuple[str, ...] = option("After a change; see below.", metavar="CHANGE"),
    from_loads: str | None = option(
        "Estimate demands from these loads; ..half: the lower half.", metavar="2..20"
    ),
    by_class: bool = option("Treat short and long transactions separately, by class."),
    think_s: float | None = option(
        "Think time, if it is known.", "--think", type=click.FloatRange(min=0), metavar="SECONDS"
    ),
    method: str | None = option(
        "How to solve a network; auto: exactly if feasible.",
        type=click.Choice(["auto", "exact", "linearizer", "schweitzer"]),
    ),
    load_axis: str | None = LOAD,
    filters: Filters | None = FILTERS.without("users", "classes_of_work"),
    as_json: bool = JSON,
) -> None:
    """Predict throughput and response time for other numbers of users, what saturates first, and when.

    A closed queueing model is built from the recording: how much a transaction needs of each processor and
    device, by the utilisation law. Each figure has an interval; for recorded loads, the measured value is
    shown beside it. With --by-class, transactions of different classes have their own demands, waits and
    responses. With --network, the model is your own file.

    If RECORDING is a file, it is a CSV table of loads and throughputs, as printed by load tests: the
    universal scalability law and a broken line are fitted to it.
    """
    if (recording is None) == (network is None):
        raise click.UsageError("give a RECORDING, or --network FILE", click.get_current_context())
    given = {
        "--what-if": bool(what_if),
        "--from-loads": from_loads is not None,
        "--by-class": by_class,
        "--load": load_axis is not None,
        "a filter": filters is not None,
    }
    of_recording = [name for name, used in given.items() if used]
    if recording is not None and recording.is_file():
        from satline.cli.analyse.load_table import predict_table

        surplus = [*of_recording, *(["--method"] if method is not None else [])]
        predict_table(recording, users_text, throughput, response, at_text, think_s, surplus, as_json)
        return
    of_table = {"--at": at_text, "--throughput": throughput, "--response": response}
    for name, used in of_table.items():
        if used is not None:
            raise click.UsageError(f"{name}: of a table, and not of a recording or a network")
    users = None if users_text is None else users_of(users_text)
    if network is not None:
        surplus = [*of_recording, *(["--think"] if think_s is not None else [])]
        _network(network, users, method, surplus, as_json)
        return
    assert recording is not None
    if method not in (None, "auto", "exact"):
        raise click.UsageError("a model of one class is solved exactly; --method is for --network")
    from satline.prediction import changes
    from satline.prediction import predict as answer_for
    from satline.present.prediction import prediction_blocks
    from satline.reconcile import Answers, story
    from satline.reduction import reduce

    # Wrong words are told before the recording is read.
    wanted = [changes(text) for text in what_if]
    half = from_loads is not None and from_loads.strip() == "..half"
    loads = None if from_loads is None or half else loads_of(from_loads)
    opened = opened_in_its_words(recording)
    curves = reduce(opened, load_axis, filters=filters)
    require_loads(curves, load_axis)
    answer = answer_for(
        opened,
        curves,
        loads=loads,
        half=half,
        users=users,
        what_if=wanted,
        think_s=think_s,
        classes=by_class,
        filters=filters,
    )
    told = story(opened, curves, "predict", Answers(prediction=answer))
    if as_json:
        print_json("analyse-predict", answer, agreement=told)
        return
    print_text(prediction_blocks(answer, told))


def _network(
    path: Path, users: list[int] | None, method: str | None, surplus: list[str], as_json: bool
) -> None:
    from satline.prediction import read_network
    from satline.prediction.network_answer import answer_network
    from satline.present.prediction import network_blocks

    if surplus:
        raise click.UsageError(f"{', '.join(surplus)}: of a recording, not of a network")
    answer = answer_network(read_network(path), users, method or "auto", str(path))  # type: ignore[arg-type]
    if as_json:
        print_json("analyse-predict-network", answer)
        return
    print_text(network_blocks(answer))


def users_of(text: str) -> list[int]:
    """Numbers of users: a list, or a span with at most `MOST_ROWS` of them, or by a step."""
    hint = "write 10..60, 10..60:5, or 10,20,40"
    span = _SPAN.fullmatch(text.strip())
    if span is None:
        parts = [part.strip() for part in text.split(",")]
        if not all(p.isascii() and p.isdigit() and len(p) < 7 for p in parts) or len(parts) > 1000:
            raise InputError(f"--users {text!r}", hint=hint)
        numbers = [int(p) for p in parts]
    else:
        if not (span[1].isdigit() and span[2].isdigit()) or len(span[1] + span[2]) > 12:
            raise InputError(f"--users {text!r}", hint=hint)
        low, high = int(span[1]), int(span[2])
        step = int((span[3] or "0")[:6]) or max(1, -(-(high - low) // (MOST_ROWS - 1)))
        if low > high or (high - low) // step > 1000:
            raise InputError(f"--users {text!r}", hint=hint)
        numbers = sorted({*range(low, high + 1, step), high})
    if min(numbers) < 1:
        raise InputError(f"--users {text!r}: at least one user", hint=hint)
    return sorted(set(numbers))


def loads_of(text: str) -> tuple[float, float]:
    """The ends of a span of loads; one that is left out is open."""
    span = _SPAN.fullmatch(text.strip())
    if span is None or span[3] or not (span[1] or span[2]) or "." in (span[1], span[2]):
        raise InputError(f"--from-loads {text!r}", hint="write 2..20, ..20, 2.. or ..half")
    low, high = float(span[1] or 0), float(span[2] or "inf")
    if low > high:
        raise InputError(
            f"--from-loads {text!r}: {low:g} is above {high:g}", hint="write the lower end first"
        )
    return low, high
