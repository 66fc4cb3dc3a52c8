"""A Prometheus: its HTTP API, or its answers kept as JSON.

Raw samples are asked for (`query=SERIES[RANGE]`), not values at steps: they keep the times of the scrapes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from satline.errors import InputError
from satline.importers._importer import Importer, Options, compressed
from satline.importers._node_exporter import NEEDED, import_collection, wanted
from satline.importers._prometheus_client import Client, TooMuch
from satline.importers._prometheus_hosts import PLACES, Host, choose_host
from satline.importers._series import BROKEN, Collection
from satline.importers._sink import Sink

DEFAULT_RANGE = timedelta(days=1)
# Samples to ask for at once: about 15 MB of JSON.
SAMPLES = 500_000
SHORTEST_S, LONGEST_S, FIRST_S = 60.0, 86_400.0, 1800.0
HOST_STEPS = 200


def recognise(source: str) -> float:
    """A URL, or a file that begins as an answer of the API does."""
    if re.match(r"https?://", source):
        return 0.9
    try:
        path = Path(source)
        with compressed(path)(path, "rb") as file:
            head = file.read(4096).lstrip()
    except (*BROKEN, ValueError):
        return 0.0
    return 0.9 if head[:1] == b"{" and b'"resultType"' in head and b'"status"' in head else 0.0


def read(source: str, options: Options, sink: Sink) -> None:
    """Read from a server, or from a file of answers."""
    if re.match(r"https?://", source):
        client = Client.of(source)
        options = _with_range(options, sink)
        collection = _fetched(client, options, sink)
        name = client.base
    else:
        collection, name = Collection(), source
        for answer in _answers(Path(source), sink):
            add_answer(answer, collection, source, wanted(options.mapping))
    sink.origin(format="prometheus", files=[name])
    import_collection(collection, options, sink, name)


def add_answer(
    answer: Mapping[str, Any], collection: Collection, source: str, needed: frozenset[str] = NEEDED
) -> int:
    """Add the samples of one answer; returns how many there are in it.

    Raises
    ------
    InputError
        When the answer is an error, or of another shape.
    """
    if answer.get("status") != "success":
        raise InputError(
            f"{source}: an answer with an error: {str(answer.get('error', answer))[:200]}",
            hint="keep answers that succeeded",
        )
    count = 0
    try:
        for series in answer["data"]["result"]:
            labels = series["metric"]
            samples = series["values"] if "values" in series else [series["value"]]
            count += len(samples)
            if labels.get("__name__") in needed:
                times = [round(float(t) * 1000) for t, _ in samples]
                collection.add(labels["__name__"], labels, times, [float(v) for _, v in samples])
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        if isinstance(answer.get("data"), dict) and answer["data"].get("resultType") in ("scalar", "string"):
            return 0
        raise InputError(
            f"{source}: no answer of Prometheus' query API: {error!r}"[:300],
            hint="keep answers of /api/v1/query or /api/v1/query_range",
        ) from error
    return count


def _answers(path: Path, sink: Sink) -> Iterator[Mapping[str, Any]]:
    """The answers in a file, one after another."""
    try:
        with compressed(path)(path, "rt", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except BROKEN as error:
        raise InputError(f"{path}: cannot be read: {error}", hint="is the file whole?") from error
    decoder = json.JSONDecoder()
    place, number = 0, 0
    while (start := re.compile(r"\s*").match(text, place)) and (place := start.end()) < len(text):
        try:
            answer, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            where = f"{path}, answer {number + 1}, character {place}"
            if not number:
                raise InputError(f"{where}: no whole JSON: {error}", hint="keep whole answers") from error
            sink.damage(f"{where}: no whole JSON; it and what follows is left out")
            return
        if not isinstance(answer, dict):
            raise InputError(f"{path}: answer {number + 1} is no JSON object", hint="keep whole answers")
        number += 1
        yield answer


def _with_range(options: Options, sink: Sink) -> Options:
    end = options.end or datetime.now(UTC)
    start = options.start
    if start is None:
        start = end - DEFAULT_RANGE
        sink.note("only the last 24 hours of the server were imported: --from asks for more")
    return replace(options, start=start, end=end)


def _fetched(client: Client, options: Options, sink: Sink) -> Collection:
    assert options.start is not None
    assert options.end is not None
    first, last = options.start.timestamp(), options.end.timestamp()
    if not first < last:
        raise InputError(f"{client.base}: the time range is empty", hint="see --from and --to")
    host, alone = _host(client, options, first, last)
    collection = Collection()
    needed = wanted(options.mapping)
    queries = list(_queries(host, alone))
    if needed > NEEDED:
        queries.append(f"{{{_any('__name__', needed - NEEDED)}}}")
    for number, query in enumerate(queries):

        def progress(part: float, number: int = number) -> None:
            options.progress(0.95 * (number + part) / len(queries))

        _fetch(client, query, first, last, collection, needed, progress)
    for warning in client.warnings:
        sink.note(f"the server warned: {warning}")
    return collection


def _host(client: Client, options: Options, first: float, last: float) -> tuple[Host, bool]:
    """The host whose series are wanted, and whether the server has no other."""
    found = Collection()
    step = max(15.0, (last - first) / HOST_STEPS)
    query = '{__name__=~"node_uname_info|node_boot_time_seconds"}'
    add_answer(client.query_range(query, first, last, step), found, client.base)
    series = found.series()
    if not series:
        query = f"group by ({', '.join(('__name__', *PLACES))}) (container_cpu_usage_seconds_total)"
        add_answer(client.query_range(query, first, last, step), found, client.base)
        series = found.series()
    if not series:
        raise InputError(
            f"{client.base}: no series of node_exporter or cAdvisor from {options.start} to {options.end}",
            hint="is the time range (--from, --to) right?",
        )
    host = choose_host(series, options.host, client.base)
    return host, {s.label("instance") for s in series} == {s.label("instance") for s in host.series}


def _queries(host: Host, alone: bool) -> Iterator[str]:
    """Selectors of the host's series: its own, then those of its users."""
    instances = {s.label("instance") for s in host.series}
    node = next((s.label("nodename") for s in host.series if s.label("nodename")), host.name)
    own = [n for n in NEEDED if n.startswith("node_")]
    users = [n for n in NEEDED if not n.startswith("node_")]
    yield f"{{{_any('__name__', own)},{_any('instance', instances)}}}"
    if alone:
        yield f"{{{_any('__name__', users)}}}"
    else:
        bare = {re.sub(r":\d+$", "", at) for at in instances} | {node}
        places = "|".join(re.escape(x) for x in sorted(bare))
        yield f"{{{_any('__name__', users)},instance=~{_quoted(f'({places})(:[0-9]+)?')}}}"
        for label in ("node", "kubernetes_io_hostname"):
            yield f"{{{_any('__name__', users)},{label}={_quoted(node)}}}"


def _any(label: str, values: Iterable[str]) -> str:
    return f"{label}=~{_quoted('|'.join(re.escape(v) for v in sorted(values)))}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _fetch(
    client: Client,
    query: str,
    first: float,
    last: float,
    collection: Collection,
    needed: frozenset[str],
    progress: Callable[[float], None],
) -> None:
    """Raw samples of a selector in windows, each about as long as `SAMPLES` samples take."""
    at, length = first, FIRST_S
    while at < last:
        length = min(length, last - at)
        # From a little before: a range begins after its first instant in some versions.
        span = round(length * 1000) + 1
        try:
            answer = client.query(f"{query}[{span}ms]", at + length)
        except TooMuch:
            if length <= SHORTEST_S:
                raise
            length = max(SHORTEST_S, length / 4)
            continue
        count = add_answer(answer, collection, client.base, needed)
        at += length
        progress((at - first) / (last - first))
        length = min(LONGEST_S, max(SHORTEST_S, length * min(8.0, SAMPLES / max(1, count))))


IMPORTER = Importer(
    "prometheus",
    "Prometheus: HTTP API, or its answers as JSON",
    recognise,
    read,
    examples=("satline import http://localhost:9090 --host web1", "satline import answers.json"),
    mapping=True,
)
