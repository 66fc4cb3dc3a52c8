"""Builds the shim (shim.c), and runs programs under it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from satline.systems.binaries import find_binary

TREE = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).with_name("shim.c")


def compiler() -> str | None:
    """The C compiler of this host, if there is one."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


@lru_cache
def library() -> Path:
    """The shim, built once for each version of its source and shared by all who test at once."""
    text = SOURCE.read_bytes()
    name = f"satline-shim-{os.geteuid()}-{hashlib.sha256(text).hexdigest()[:16]}.so"
    built = Path(tempfile.gettempdir()) / name
    if not (built.exists() and built.stat().st_uid == os.geteuid()):
        command = compiler()
        assert command is not None
        with tempfile.TemporaryDirectory() as place:
            made = Path(place) / name
            words = [command, "-O1", "-Wall", "-Wextra", "-shared", "-fPIC", "-o", str(made), str(SOURCE)]
            subprocess.run([*words, "-ldl", "-lpthread"], check=True)
            shutil.copyfile(made, built.with_suffix(f".{os.getpid()}"))
        built.with_suffix(f".{os.getpid()}").rename(built)
    return built


def environment(root: Path, **settings: str | Path) -> dict[str, str]:
    """Of a program under the shim, which looks at files below `root`; the settings are those of shim.c."""
    path = os.pathsep.join([str(TREE / "python"), *(p for p in sys.path if p and p != str(TREE / "python"))])
    told = {f"SATLINE_SHIM_{name.upper()}": str(value) for name, value in settings.items()}
    return {
        **os.environ,
        "PYTHONPATH": path,
        "LD_PRELOAD": str(library()),
        "SATLINE_SHIM_ROOT": str(root.resolve()),
        **told,
    }


def monitor(recording: Path, duration: str, *options: str) -> list[str]:
    """The command of a short recording by the monitor."""
    words = [str(find_binary("satline-monitor")), "--recording", str(recording), "--interval", "100ms"]
    return [*words, "--duration", duration, "--source", "proc", "--no-delay-accounting", *options]


def run(
    command: Sequence[str], env: dict[str, str], timeout_s: float = 300.0
) -> subprocess.CompletedProcess[str]:
    """Run to its end; a program that hangs is killed and raises."""
    return subprocess.run(
        command, env=env, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
