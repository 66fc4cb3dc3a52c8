"""What the tests of PCP archives share: importing one, and making one."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from imports import read_into

from satline.importers._importer import Options
from satline.importers.pcp import IMPORTER as PCP
from satline.recording import Recording

PYTHON = "/usr/bin/python3"

needs_tool = pytest.mark.skipif(shutil.which("pmdumplog") is None, reason="pmdumplog (PCP) is not installed")


def can_make_archives() -> bool:
    try:
        done = subprocess.run([PYTHON, "-c", "from pcp import pmi; import cpmapi"], capture_output=True)
    except OSError:
        return False
    return done.returncode == 0


needs_bindings = pytest.mark.skipif(not can_make_archives(), reason="PCP's Python bindings are not installed")


def imported(source: Path, target: Path, options: Options | None = None) -> Recording:
    return read_into(PCP.read, source, target, options)


def ns(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp()) * 10**9


METRICS = {
    "kernel.all.uptime": ["u32", "instant", "s", None],
    "kernel.all.pswitch": ["u64", "counter", "count", None],
    "kernel.percpu.cpu.idle": ["u64", "counter", "ms", "cpu"],
    "disk.dev.read_bytes": ["u32", "counter", "KiB", "disk"],
}
PROCESSES = {
    "proc.psinfo.utime": ["u64", "counter", "ms", "proc"],
    "proc.psinfo.stime": ["u64", "counter", "ms", "proc"],
    "proc.psinfo.start_time": ["u64", "discrete", "ms", "proc"],
    "proc.psinfo.sname": ["string", "instant", "none", "proc"],
    "proc.id.uid_nm": ["string", "discrete", "none", "proc"],
}
T0 = 1_700_000_000


def make(path: Path, metrics: dict[str, Any], instances: dict[str, Any], records: list[Any]) -> Path:
    job = {"path": str(path), "host": "made", "metrics": metrics, "instances": instances, "records": records}
    script = Path(__file__).with_name("_make_pcp_archive.py")
    subprocess.run([PYTHON, str(script)], input=json.dumps(job), text=True, check=True, capture_output=True)
    return path


def machine(k: int, uptime: int, **more: Any) -> list[Any]:
    values = {"kernel.all.uptime": uptime, "kernel.all.pswitch": uptime * 100}
    return [T0 + 10 * k, values | {"kernel.percpu.cpu.idle": {"cpu0": uptime * 900}} | more]
