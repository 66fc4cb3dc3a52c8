"""Runs the emulator on a workload and reads back what it recorded."""

from __future__ import annotations

import io
import statistics
import struct
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa

FRAME = struct.Struct("<4sII")


def rows(recording: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a table of a recording that has just been written."""
    found: list[dict[str, Any]] = []
    for path in sorted((recording / "segments" / table).glob("*.seg")):
        data, at, stream = path.read_bytes(), 0, b""
        while at + FRAME.size <= len(data):
            _, length, _ = FRAME.unpack_from(data, at)
            stream += data[at + FRAME.size : at + FRAME.size + length]
            at += FRAME.size + length
        reader = pa.ipc.open_stream(io.BytesIO(stream))
        while True:
            try:
                found += reader.read_next_batch().to_pylist()
            except (StopIteration, pa.ArrowInvalid):
                break
    return found


def spread(values: list[float]) -> dict[str, float]:
    """Count, median, 99th percentile and maximum."""
    ordered = sorted(values)
    return {
        "n": len(ordered),
        "p50": statistics.median(ordered),
        "p99": ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))],
        "max": ordered[-1],
    }


def emulate(binary: Path, place: Path, name: str, workload: str, *options: str) -> Path:
    """Runs a workload and gives its recording."""
    (place / f"{name}.toml").write_text(workload)
    recording = place / f"{name}.satline"
    command = [str(binary), "run", "--workload", str(place / f"{name}.toml"), "--recording", str(recording)]
    subprocess.run([*command, "--directory", str(place / f"{name}-users"), *options], check=True)
    return recording


def stamps(text: str) -> list[tuple[int, int]]:
    """Pairs of times, ns."""
    return [(int(first), int(second)) for first, second in (line.split() for line in text.splitlines())]
