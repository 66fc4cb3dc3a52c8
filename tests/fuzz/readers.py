"""Files of every kind that Satline reads from outside, and the commands that read them.

A file is made of a whole one by mutation; whatever it holds then, a command ends with 0, 1 or 2, within
seconds, and says what is wrong. Samples of collectors whose tools are not installed are left out.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from recordings import without_checksums

from satline import share
from satline.cli import run
from satline.errors import SatlineError
from satline.recording import RecordingWriter, compact, describe, write_parquet_table

SADC = Path("/usr/lib/sysstat/sadc")
SECOND = 10**9
_HOSTILE = (
    b"[" * 3000, b"]" * 3000, b"{" * 3000, b"a." * 3000, b"1" * 5000, b"-9223372036854775808", b"1e999",
    b"nan", b"\0", b"\xff\xfe", b"\n\n", b'"""', b"'", b"\\u0000", b"\x1b[31m", b"=cmd|'/C'!A1", b"9" * 30,
    b"\r", b",,,,,,,",
)  # fmt: skip


@dataclass(frozen=True)
class Reader:
    """Something that reads files from outside.

    Attributes
    ----------
    make
        Makes a whole sample at this path: a file or a directory.
    commands
        Commands to run on a mutated copy of it; `{}` is its path, `{out}` a place for output.
    reads
        A function that reads it, where a command would do more than that.
    """

    name: str
    make: Callable[[Path], None]
    commands: Sequence[Sequence[str]]
    suffix: str = ""
    reads: Callable[[Path], object] | None = None


def mutate(data: bytes, draw: random.Random) -> bytes:
    """Change a few places: bits, bytes, cuts, repeats, what is hostile to a parser."""
    content = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 4, 16))):
        at = draw.randrange(len(content) + 1)
        kind = draw.randrange(7)
        if kind == 0 and at < len(content):
            content[at] ^= 1 << draw.randrange(8)
        elif kind == 1 and at < len(content):
            content[at] = draw.choice((0, 255, 127, 128, draw.randrange(256)))
        elif kind == 2:
            del content[at:]
        elif kind == 3:
            del content[at : at + draw.choice((1, 4, 64, 1000))]
        elif kind == 4:
            content[at:at] = content[at : at + draw.choice((1, 8, 300))] * draw.choice((1, 3))
        elif kind == 5:
            content[at:at] = draw.choice(_HOSTILE)
        else:
            content[at : at + 8] = draw.choice((b"\xff" * 8, b"\0" * 8, b"\x7f" + b"\xff" * 7))
    return bytes(content)


def mutated(sample: Path, target: Path, draw: random.Random) -> Path:
    """A copy of a sample with one of its files mutated; returns that file."""
    if sample.is_dir():
        shutil.copytree(sample, target)
        files = sorted(
            p for p in target.rglob("*") if p.is_file() and p.stat().st_size and "reserve" not in p.name
        )
    else:
        shutil.copyfile(sample, target)
        files = [target]
    file = draw.choice(files)
    file.write_bytes(mutate(file.read_bytes(), draw))
    return file


def read(reader: Reader, path: Path, out: Path) -> list[int]:
    """Run the reader's commands; their exit codes."""
    codes = []
    for number, command in enumerate(reader.commands):
        words = [
            w.replace("{out}", str(out / f"out{number}.satline")).replace("{}", str(path)) for w in command
        ]
        codes.append(run(words))
    if reader.reads is not None:
        try:
            reader.reads(path)
            codes.append(0)
        except SatlineError as error:
            codes.append(error.exit_code)
    return codes


# ---------------------------------------------------------------------------------------- samples


def _rows(writer: RecordingWriter, samples: range) -> None:
    for n in samples:
        at = {"time_ns": 1_700_000_000 * SECOND + n * SECOND, "monotonic_ns": n * SECOND}
        writer.write_rows("system", [{**at, "sample": n, "forks": 3 * n, "mem_total_bytes": 1 << 30}])
        cpu = {"user_us": n * 400_000, "system_us": n * 100_000, "idle_us": n * 500_000}
        writer.write_rows("processor", [{**at, "processor": "0", **cpu}])
        users = [{**at, "user": u, "cpu_us": n * k, "processes": 2} for u, k in (("ann", 300_000), ("=b", 9))]
        writer.write_rows("user", users)


def live_recording(path: Path) -> None:
    """One whose segments were not compacted."""
    describe.create(path, "fuzz")
    with RecordingWriter(path, "monitor") as writer:
        _rows(writer, range(20))
    describe.write_source(
        path, "monitor", {"end_reason": "complete", "sampling": {"samples": 20, "interval_ms": 1000}}
    )
    describe.end(path, "complete")


def recording(path: Path) -> None:
    live_recording(path)
    compact(path)


def old_recording(path: Path) -> None:
    """One of before checksums: what is mutated reaches every parser."""
    recording(path)
    without_checksums(path)


def old_live_recording(path: Path) -> None:
    live_recording(path)
    without_checksums(path)


def _text(content: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(content) and None


def _shipped(kind: str, name: str) -> Callable[[Path], None]:
    return lambda path: shutil.copyfile(share.path(kind) / name, path) and None


SAR = (
    "Linux 6.1.0 (drum) \t11/21/26 \t_x86_64_\t(2 CPU)\n\n"
    + "00:00:01        CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
    + "".join(
        f"00:{m:02}:01        all      {m}.25      0.00      1.00      0.10      0.00     {90 - m}.65\n"
        for m in range(1, 30)
    )
)  # fmt: skip
CSV = "time,forks,mem_free_bytes\n" + "".join(f"2026-11-21T00:{m:02}:00Z,{m * 50},{m}\n" for m in range(30))
MAPPING = """[time]
column = "when"
format = "auto"
[[column]]
name = "load"
to = "system.mem_free_bytes"
factor = 1024
"""
RESULTS = "run,memory,response\n" + "".join(f"{n},{n % 2},{1 + n % 3}\n" for n in range(16))
PCP_PYTHON = "/usr/bin/python3"
METRICS = "".join(
    f'node_cpu_seconds_total{{cpu="0",mode="idle"}} {100 + m} {1_700_000_000 + 60 * m}\n'
    f'node_cpu_seconds_total{{cpu="0",mode="user"}} {m} {1_700_000_000 + 60 * m}\n'
    for m in range(20)
)
LOG = "".join(
    f'10.0.0.{m} - ann [14/Nov/2023:22:13:{m:02} +0000] "GET /x HTTP/1.1" 200 {m} "-" "-" 0.0{m}\n'
    for m in range(21, 39)
)  # fmt: skip
TABLE = "users,throughput\n" + "".join(f"{n},{n / (1 + 0.03 * n):.3f}\n" for n in range(1, 20))


def _sa(path: Path) -> None:
    subprocess.run([SADC, "-S", "ALL", "1", "2", path], check=True, stdout=subprocess.DEVNULL)


def _atop(path: Path) -> None:
    subprocess.run(
        ["atop", "-w", path, "1", "3"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def _packed(make: Callable[[Path], None]) -> Callable[[Path], None]:
    def packed(path: Path) -> None:
        make(path)
        path.write_bytes(gzip.compress(path.read_bytes()))

    return packed


def _parquet(path: Path) -> None:
    place = path.with_name("made")
    describe.create(place, "fuzz")
    rows = [
        {"time_ns": n * SECOND, "monotonic_ns": n * SECOND, "sample": n, "forks": 9 * n} for n in range(50)
    ]
    (file,) = write_parquet_table(place, "system", rows)
    shutil.copyfile(file, path)


def _can_make_pcp() -> bool:
    done = subprocess.run([PCP_PYTHON, "-c", "from pcp import pmi; import cpmapi"], capture_output=True)
    return done.returncode == 0


def _pcp(path: Path) -> None:
    path.mkdir()
    metrics = {
        "kernel.all.uptime": ["u32", "instant", "s", None],
        "kernel.all.pswitch": ["u64", "counter", "count", None],
        "kernel.percpu.cpu.idle": ["u64", "counter", "ms", "cpu"],
    }
    records = [
        [
            1_700_000_000 + 10 * k,
            {
                "kernel.all.uptime": 100 + 10 * k,
                "kernel.all.pswitch": 50 * k,
                "kernel.percpu.cpu.idle": {"cpu0": 9000 * k},
            },
        ]
        for k in range(8)
    ]
    job = {
        "path": str(path / "a"), "host": "made", "metrics": metrics, "instances": {"cpu": {"cpu0": 0}},
        "records": records,
    }  # fmt: skip
    script = Path(__file__).parent.parent / "unit" / "importers" / "_make_pcp_archive.py"
    subprocess.run([PCP_PYTHON, script], input=json.dumps(job), text=True, check=True, capture_output=True)


def _study(path: Path) -> object:
    from satline.experiment.study import read_study

    return read_study(path)


def _definition(path: Path) -> None:
    from satline.present import definition

    shutil.copyfile(sorted((Path(definition.__file__).parent / "definitions").glob("*.toml"))[0], path)


def _report(path: Path) -> object:
    from satline.present import definition

    return definition.read(path)


def _mapping(path: Path) -> object:
    from satline.importers._mapping import read_mapping

    return read_mapping(path)


def _history(path: Path) -> object:
    from satline.history import History

    place = path.with_suffix("")
    place.mkdir()
    shutil.copyfile(path, place / "history.toml")
    return History.open(place)


def _results(path: Path) -> object:
    from satline.experiment.variance import read_table

    return read_table(path)


def _blocks(path: Path) -> object:
    from satline.workload import read_blocks

    return read_blocks(path)


def _join(path: Path) -> object:
    from satline.importers import Options, join

    host = path.with_suffix(".satline")
    recording(host)
    return join.join(host, [path], "nginx", Options())


def _copied(path: Path) -> object:
    """A copy without names, and the same recording without its oldest days."""
    from satline.recording import Key, prune, pseudonymise

    done = pseudonymise(path, path.with_name(f"copy of {path.name}"), Key(bytes(32)))
    prune(path, max_bytes=1)
    return done


def _sealed(path: Path) -> None:
    from satline.recording import Key
    from satline.recording._sealed_names import sealed_names

    key = Key(bytes(32))
    path.write_bytes(sealed_names(key, {key.pseudonym(name): name for name in ("ann", "=b", "x" * 100)}))


def _names(path: Path) -> object:
    from satline.recording import Key, read_names

    return read_names(path, Key(bytes(32)))


def _key(path: Path) -> object:
    from satline.recording import read_key

    path.chmod(0o600)
    return read_key(path)


def readers() -> list[Reader]:
    """All whose tools are here."""
    of_recording = (
        ("recording", "check", "{}"), ("recording", "info", "{}"), ("info", "{}"), ("diagnose", "{}"),
    )  # fmt: skip
    imported = (("import", "{}", "-o", "{out}"),)
    found = [
        Reader("recording", recording, of_recording, ".satline"),
        Reader("recording without checksums", old_recording, of_recording, ".satline"),
        Reader("segments", live_recording, of_recording, ".satline"),
        Reader("segments without checksums", old_live_recording, of_recording, ".satline"),
        Reader("copy and pruning", recording, (), ".satline", _copied),
        Reader("copy and pruning without checksums", old_recording, (), ".satline", _copied),
        Reader("sealed names", _sealed, (), ".sealed", _names),
        Reader("key", _text(f"satline-key-1 {'0' * 64}\n"), (), ".key", _key),
        Reader("sar text", _text(SAR), imported, ".txt"),
        Reader("sar text, packed", _packed(_text(SAR)), imported, ".txt.gz"),
        Reader("csv", _text(CSV), imported, ".csv"),
        Reader("parquet", _parquet, imported, ".parquet"),
        Reader("metrics", _text(METRICS), imported, ".prom"),
        Reader("access log", _text(LOG), (), ".log", reads=_join),
        Reader("table of loads", _text(TABLE), (("diagnose", "{}"), ("predict", "{}")), ".csv"),
        Reader("results of a design", _text(RESULTS), (), ".csv", reads=_results),
        Reader("blocks", _shipped("workloads/blocks", "benchmark-32.toml"), (), ".toml", reads=_blocks),
        Reader("study", _shipped("studies", "light.toml"), (), ".toml", reads=_study),
        Reader("design", _shipped("studies", "paging-factorial.toml"), (), ".toml", reads=_study),
        Reader("report definition", _definition, (), ".toml", reads=_report),
        Reader("mapping", _text(MAPPING), (), ".toml", reads=_mapping),
        Reader("history", _text("format = 1\n[keep]\nfull_days = 30\n"), (), ".toml", reads=_history),
    ]
    if SADC.exists() and shutil.which("sadf"):
        found += [Reader("sa file", _sa, imported), Reader("sa file, packed", _packed(_sa), imported, ".gz")]
    if shutil.which("atop"):
        found += [
            Reader("atop log", _atop, imported),
            Reader("atop log, packed", _packed(_atop), imported, ".gz"),
        ]
    if shutil.which("pmdumplog") and Path(PCP_PYTHON).exists() and _can_make_pcp():
        found += [Reader("pcp archive", _pcp, (("import", "{}/a", "-o", "{out}"),))]
    return found
