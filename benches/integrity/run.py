"""How many corruptions of a recording pass silently, beside SQLite and PCP; and what the checksums cost.

python benches/integrity/run.py --corruptions 2000

Corruptions of a recorded day: bits flipped, files cut, zeroed blocks, files deleted, files swapped with those
of another recording of the same host; in tables at rest, segments, descriptions, the manifest and the
ledgers. One is silent when `check` calls the recording sound and warns of nothing, or when an analysis of the
changed table opens as if nothing were. The same kinds of corruption are made to an SQLite database with the
same rows (`PRAGMA integrity_check`) and, where PCP is installed, to an archive of the same counters
(`pmlogcheck`).
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa

from satline.errors import InputError
from satline.recording import (
    MANIFEST,
    Recording,
    RecordingWriter,
    check,
    compact,
    describe,
    write_parquet_table,
)

SECOND = 10**9
BEGIN = 1_700_000_000 * SECOND
PCP_PYTHON = "/usr/bin/python3"
KINDS = ("bit", "cut", "zeros", "deleted", "swapped")


def rows(samples: int, seed: int) -> dict[str, pa.Table]:
    """A host's readings, a second apart: system, two processors, six users."""
    draw = np.random.default_rng(seed)
    times = np.arange(samples, dtype=np.int64) * SECOND

    def rising(n: int, scale: float) -> np.ndarray:
        return np.cumsum(draw.exponential(scale, (samples, n)).astype(np.int64), axis=0)

    def table(entity: str | None, names: list[str], columns: dict[str, float]) -> pa.Table:
        n = len(names)
        content = {"time_ns": np.repeat(BEGIN + times, n), "monotonic_ns": np.repeat(times, n)}
        if entity is not None:
            content[entity] = np.tile(np.array(names, dtype=object), samples)
        content |= {c: rising(n, scale).reshape(-1) for c, scale in columns.items()}
        if entity is None:
            content["sample"] = np.arange(samples)
        return pa.table(content)

    users = [f"user{k}" for k in range(6)]
    return {
        "system": table(None, ["-"], {"forks": 20, "context_switches": 9000, "interrupts": 4000}),
        "processor": table("processor", ["0", "1"], {"user_us": 3e5, "system_us": 1e5, "idle_us": 5e5}),
        "user": table(
            "user", users, {"cpu_us": 5e4, "read_bytes": 2e4, "write_bytes": 3e4, "run_delay_us": 2e3}
        ),
    }


def recording(path: Path, samples: int, seed: int, *, at_rest: bool) -> None:
    """A recording of those rows that has ended."""
    describe.create(path, "bench", host={"name": "drum", "processors": 2})
    with RecordingWriter(path, "monitor", segment_bytes=1 << 16) as writer:
        for table, content in rows(samples, seed).items():
            step = max(1, content.num_rows // 40)
            for first in range(0, content.num_rows, step):
                writer.write_rows(table, content.slice(first, step))
    sampling = {"interval_ms": 1000, "samples": samples, "samples_lost": 0}
    describe.write_source(path, "monitor", {"end_reason": "complete", "sampling": sampling})
    describe.end(path, "complete")
    if at_rest:
        compact(path)


def corrupt(file: Path, kind: str, other: Path | None, draw: random.Random) -> bool:
    """Corrupt a file; false if it would be as it was."""
    data = file.read_bytes()
    if kind == "deleted":
        file.unlink()
        return True
    if kind == "swapped":
        if other is None or not other.exists() or other.read_bytes() == data:
            return False
        shutil.copyfile(other, file)
        return True
    changed = bytearray(data)
    at = draw.randrange(len(changed))
    if kind == "bit":
        changed[at] ^= 1 << draw.randrange(8)
    elif kind == "cut":
        del changed[at:]
    else:
        changed[at : at + 512] = bytes(len(changed[at : at + 512]))
    if bytes(changed) == data:
        return False
    file.write_bytes(bytes(changed))
    return True


def noticed(path: Path) -> tuple[bool, bool]:
    """Whether `check` says that something is wrong, and whether an analysis is refused or warned."""
    try:
        report = check(path)
        told = bool(report.problems or report.warnings)
    except InputError:
        told = True
    try:
        opened = Recording.open(path)
        connection = opened.connect()
        connection.close()
        refused = bool(opened.damage)
    except InputError:
        refused = True
    return told, refused


def part_of(file: Path, path: Path) -> str:
    """Which kind of file it is."""
    place = file.relative_to(path).parts
    if place[0] == "tables":
        return "tables"
    if file.suffix == ".seg":
        return "segments"
    if file.suffix == ".ledger":
        return "ledgers"
    return "manifest" if file.name == MANIFEST else "descriptions"


def of_satline(count: int, samples: int, seed: int, place: Path) -> bool:
    """Corrupt recordings; print a line for each kind of file; whether none passed."""
    pairs = {}
    for name, at_rest in (("rest", True), ("live", False)):
        for which in (0, 1):
            recording(place / f"{name}{which}.satline", samples, seed + which, at_rest=at_rest)
        pairs[name] = (place / f"{name}0.satline", place / f"{name}1.satline")
    draw = random.Random(seed)
    made: Counter[str] = Counter()
    silent: Counter[str] = Counter()
    unchecked: Counter[str] = Counter()
    while sum(made.values()) < count:
        base, other = pairs[draw.choice(("rest", "rest", "live"))]
        target = place / "corrupt.satline"
        shutil.copytree(base, target)
        files = [
            p for p in sorted(target.rglob("*")) if p.is_file() and p.name[0] != "." and p.name != "reserve"
        ]
        # Each kind of file as often as another, however many there are of it.
        kinds = sorted({part_of(f, target) for f in files})
        chosen = draw.choice(kinds)
        file = draw.choice([f for f in files if part_of(f, target) == chosen])
        kind = draw.choice(KINDS)
        if corrupt(file, kind, other / file.relative_to(target), draw):
            part = f"{chosen}, {kind}"
            told, refused = noticed(target)
            made[part] += 1
            silent[part] += not told
            unchecked[part] += not (told and refused) and chosen in ("tables", "segments", "descriptions")
            if not told or (not refused and chosen in ("tables", "segments", "descriptions")):
                print(f"  passed: {part} of {file.relative_to(target)}, check {told}, analysis {refused}")
        shutil.rmtree(target)
    for part in sorted(made):
        print(
            f"  {part:24} {made[part]:5} made, {silent[part]:3} passed check, {unchecked[part]:3} an analysis"
        )
    total, passed = sum(made.values()), sum(silent.values())
    print(
        f"satline recording check: {passed} of {total} corruptions passed silently;"
        f" {sum(unchecked.values())} an analysis"
    )
    return passed == 0 and sum(unchecked.values()) == 0


def of_sqlite(count: int, samples: int, seed: int, place: Path) -> None:
    """The same rows in SQLite, and its integrity_check."""
    base = place / "rows.db"
    database = sqlite3.connect(base)
    for name, table in rows(samples, seed).items():
        columns = ", ".join(f'"{c}"' for c in table.column_names)
        marks = ", ".join("?" * table.num_columns)
        database.execute(f'CREATE TABLE "{name}" ({columns})')
        lines = zip(*(c.to_pylist() for c in table.columns), strict=True)
        database.executemany(f'INSERT INTO "{name}" VALUES ({marks})', lines)
    database.commit()
    database.close()
    draw, made, silent = random.Random(seed), 0, 0
    while made < count:
        target = place / "corrupt.db"
        shutil.copyfile(base, target)
        if not corrupt(target, draw.choice(KINDS[:3]), None, draw):
            continue
        made += 1
        try:
            opened = sqlite3.connect(f"file:{target}?mode=ro", uri=True)
            said = opened.execute("PRAGMA integrity_check").fetchall()
            silent += said == [("ok",)]
            opened.close()
        except sqlite3.DatabaseError:
            pass
    print(
        f"SQLite {sqlite3.sqlite_version}, PRAGMA integrity_check:"
        f" {silent} of {made} (bits, cuts, zeros) passed silently"
    )


def of_pcp(count: int, samples: int, seed: int, place: Path) -> None:
    """The counters of table user in a PCP archive, and pmlogcheck."""
    script = Path(__file__).parents[2] / "tests" / "unit" / "importers" / "_make_pcp_archive.py"
    if shutil.which("pmlogcheck") is None:
        print("pmlogcheck: not installed")
        return
    user = rows(samples, seed)["user"].to_pylist()
    records = []
    for n in range(samples):
        now = user[6 * n : 6 * n + 6]
        values = {
            c: {r["user"]: r[k] for r in now}
            for c, k in (("bench.cpu", "cpu_us"), ("bench.read", "read_bytes"))
        }
        records.append([1_700_000_000 + n, values])
    metrics = {m: ["u64", "counter", "count", "user"] for m in ("bench.cpu", "bench.read")}
    base = place / "pcp"
    base.mkdir()
    instances = {"user": {f"user{k}": k for k in range(6)}}
    job = {
        "path": str(base / "a"),
        "host": "drum",
        "metrics": metrics,
        "instances": instances,
        "records": records,
    }
    done = subprocess.run([PCP_PYTHON, script], input=json.dumps(job), text=True, capture_output=True)
    if done.returncode:
        print("pmlogcheck: PCP's Python bindings are not installed, so no archive could be made")
        return
    draw, made, silent = random.Random(seed), 0, 0
    while made < count:
        target = place / "corrupt-pcp"
        shutil.copytree(base, target)
        file = draw.choice(sorted(target.iterdir()))
        if corrupt(file, draw.choice(KINDS[:4]), None, draw):
            made += 1
            try:
                said = subprocess.run(["pmlogcheck", target / "a"], capture_output=True, timeout=10)
                silent += said.returncode == 0 and not said.stdout and not said.stderr
            except subprocess.TimeoutExpired:
                pass
        shutil.rmtree(target)
    print(f"pmlogcheck: {silent} of {made} (bits, cuts, zeros, deleted files) passed silently")


def opening(megabytes: int, repeats: int, place: Path) -> None:
    """Opening a recording of so many MB, with and without its checksums compared."""
    path = place / "large.satline"
    describe.create(path, "bench", host={})
    draw, size, day = np.random.default_rng(3), 0, 0
    while size < megabytes << 20:
        n = 400_000
        times = (np.arange(n, dtype=np.int64) + day * n) * (SECOND // 10)
        table = {"time_ns": times, "monotonic_ns": times, "user": np.resize(["ann", "bert", "carl"], n)}
        table |= {
            c: draw.integers(0, 1 << 40, n) for c in ("cpu_us", "read_bytes", "write_bytes", "run_delay_us")
        }
        size += sum(f.stat().st_size for f in write_parquet_table(path, "user", pa.table(table)))
        day += 1
    describe.end(path, "complete")
    script = (
        "import sys, time, duckdb, pyarrow\nfrom satline.recording import Recording\n"
        "import satline.recording._integrity, concurrent.futures\n"
        "Recording.open(sys.argv[1])\n"
        "begun = time.perf_counter()\nopened = Recording.open(sys.argv[1])\n"
        "c = opened.connect() if sys.argv[2] == 'checked' else opened.connect_unchecked()\n"
        "print(time.perf_counter() - begun)"
    )
    seconds: dict[str, list[float]] = {"unchecked": [], "checked": []}
    for _ in range(repeats):
        for how, found in seconds.items():
            done = subprocess.run(
                [sys.executable, "-c", script, path, how], capture_output=True, text=True, check=True
            )
            found.append(float(done.stdout))
    middle = {how: 1000 * statistics.median(found) for how, found in seconds.items()}
    print(
        f"opening {size / (1 << 20):.0f} MB in memory: {middle['unchecked']:.0f} ms without,"
        f" {middle['checked']:.0f} ms with checksums:"
        f" +{middle['checked'] - middle['unchecked']:.0f} ms (median of {repeats})"
    )
    begun = time.perf_counter()
    check(path)
    print(f"`check` of it, SHA-256 and all: {time.perf_counter() - begun:.2f} s")


def writing(repeats: int, place: Path) -> None:
    """CPU time of recording and compaction: of a day of a second's samples, with this Satline."""
    spent = []
    for n in range(repeats):
        begun = resource.getrusage(resource.RUSAGE_SELF)
        recording(place / f"w{n}.satline", 20_000, n, at_rest=True)
        ended = resource.getrusage(resource.RUSAGE_SELF)
        spent.append(ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime)
        shutil.rmtree(place / f"w{n}.satline")
    print(f"writing and compacting 20,000 samples from Python: {statistics.median(spent):.2f} s of CPU time")


def main() -> int:
    """Run it all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corruptions", type=int, default=2000)
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="satline-integrity-") as scratch:
        place = Path(scratch)
        sound = of_satline(options.corruptions, options.samples, options.seed, place)
        of_sqlite(options.corruptions // 4, options.samples, options.seed, place)
        of_pcp(options.corruptions // 8, options.samples, options.seed, place)
        opening(options.megabytes, options.repeats, place)
        writing(3, place)
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
