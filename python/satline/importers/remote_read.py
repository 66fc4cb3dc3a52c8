"""An answer of Prometheus' remote read, kept in a file: ReadResponse with samples, snappy-compressed or not.

The streamed answer (chunks in Prometheus' own encoding) is another format, and is not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from satline.errors import InputError
from satline.importers._importer import Importer, Options
from satline.importers._node_exporter import import_collection, wanted
from satline.importers._series import Collection
from satline.importers._sink import Floats, Integers, Sink

_HEAD = 4096
# Snappy cannot make more than this of a byte: a greater stated length is a lie.
_MOST_GROWTH = 32
_HINT = (
    "keep the whole body of an answer of type SAMPLES; or get OpenMetrics of it with promtool tsdb "
    "dump-openmetrics"
)


def recognise(source: str) -> float:
    """How surely this is such an answer: the field of results comes first, and a series' name is near."""
    try:
        with Path(source).open("rb") as file:
            head = file.read(_HEAD)
        return 0.8 if b"__name__" in head and (head[:1] == b"\n" or _is_snappy(head)) else 0.0
    except OSError:
        return 0.0


def _is_snappy(head: bytes) -> bool:
    try:
        _, place = _varint(head, 0)
        tag = head[place]
        longer = max(0, (tag >> 2) - 59)
        return tag & 3 == 0 and head[place + 1 + longer] == 0x0A
    except (IndexError, ValueError):
        return False


def read(source: str, options: Options, sink: Sink) -> None:
    """Read the answer in a file."""
    path = Path(source)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", hint="name a file that you may read") from error
    collection, needed = Collection(), wanted(options.mapping)
    try:
        if data[:1] != b"\n":
            data = _unsnapped(data)
        for number, _, result in _fields(data):
            if number == 1:
                for kind, _, series in _fields(result):
                    if kind == 1:
                        _series(series, collection, needed)
    except (IndexError, OverflowError, ValueError, OSError) as error:
        raise InputError(
            f"{path}: no answer of remote read, or only part of one: {error}", hint=_HINT
        ) from error
    sink.origin(format="remote-read", files=[str(path)])
    import_collection(collection, options, sink, source)


def _unsnapped(data: bytes) -> bytes:
    import pyarrow as pa

    length, _ = _varint(data, 0)
    if length > _MOST_GROWTH * len(data) + 64:
        raise ValueError("its stated length is impossible")
    return bytes(pa.Codec("snappy").decompress(data, length, asbytes=True))


def _series(data: bytes, collection: Collection, needed: frozenset[str]) -> None:
    labels: dict[str, str] = {}
    start = None
    for number, place, value in _fields(data):
        if number == 1:
            pair = {n: v.decode("utf-8", "replace") for n, _, v in _fields(value)}
            labels[pair.get(1, "")] = pair.get(2, "")
        elif number == 2:
            start = place
            break
    name = labels.pop("__name__", "")
    if start is not None and name in needed:
        collection.add(name, labels, *_samples(data, start))


def _samples(data: bytes, place: int) -> tuple[Integers, Floats]:
    """The samples from `place` on. Successive ones mostly have one length: these are read at once."""
    times: list[Integers] = []
    values: list[Floats] = []
    whole = np.frombuffer(data, dtype=np.uint8)
    while place < len(data):
        if data[place] != 0x12:
            break  # exemplars, histograms
        length = data[place + 1]
        stride = length + 2
        rows = whole[place : place + (len(data) - place) // stride * stride].reshape(-1, stride)
        alike = np.zeros(len(rows), dtype=bool)
        if length > 10 and len(rows):
            same = (
                (rows[:, 0] == 0x12) & (rows[:, 1] == length) & (rows[:, 2] == 0x09) & (rows[:, 11] == 0x10)
            )
            alike = same & (rows[:, 12:-1] >= 0x80).all(axis=1) & (rows[:, -1] < 0x80)
        count = len(alike) if alike.all() else int(np.argmin(alike))
        if count:
            block = rows[:count]
            values.append(block[:, 3:11].copy().view("<f8")[:, 0])
            shifts = np.arange(stride - 12, dtype=np.int64) * 7
            times.append(((block[:, 12:].astype(np.int64) & 0x7F) << shifts).sum(axis=1))
            place += count * stride
            continue
        length, begin = _varint(data, place + 1)
        place = begin + length
        value, time = 0.0, 0
        for number, at, content in _fields(data[begin:place]):
            if number == 1:
                value = float(np.frombuffer(content, dtype="<f8")[0])
            elif number == 2:
                time, _ = _varint(data[begin:place], at + 1)
        times.append(np.array([time]))
        values.append(np.array([value]))
    return np.concatenate(times), np.concatenate(values)


def _fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Number, place and content of each field; a number's content is empty."""
    place = 0
    while place < len(data):
        start = place
        key, place = _varint(data, place)
        kind, content = key & 7, b""
        if kind == 0:
            _, place = _varint(data, place)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
            content, place = data[place : place + length], place + length
        elif kind == 2:
            length, place = _varint(data, place)
            content, place = data[place : place + length], place + length
        else:
            raise ValueError(f"unknown field at byte {start}")
        if place > len(data):
            raise ValueError(f"cut off at byte {start}")
        yield key >> 3, start, content


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 0x7F) << shift
        place += 1
        if byte < 0x80:
            return value, place
        shift += 7
        if shift > 63:
            raise ValueError(f"no number at byte {place}")


IMPORTER = Importer(
    "remote-read",
    "an answer of Prometheus' remote read, with samples",
    recognise,
    read,
    examples=("satline import answer.snappy",),
    mapping=True,
)
