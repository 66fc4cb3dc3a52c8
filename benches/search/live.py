"""The live part of `noise.py`: runs of the emulator alone, draws of both kinds in turn."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from satline.systems.binaries import find_binary

ROOT = Path(__file__).resolve().parents[2]
WORKLOAD = ROOT / "workloads/mixed-interactive.toml"
DRAWS = ("independent", "stratified")


def drive(directory: Path, rounds: int, users: list[int], window_s: int, seed: int, processor: int) -> None:
    """So many pairs of runs, the order within each pair changing; recordings go into `directory`."""
    data = directory / "data"
    data.mkdir(parents=True, exist_ok=True)
    programs = ROOT / "workloads/programs"
    made = [sys.executable, str(programs / "make_files.py"), str(data), "1", "2000000", "text", "--text"]
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
    environment = {
        "SATLINE_DATA": data.absolute(),
        "SATLINE_SHARE": ROOT / "workloads",
        "SATLINE_PYTHON": os.path.realpath(sys.executable),
    }
    for number in range(rounds):
        for how in DRAWS if number % 2 else DRAWS[::-1]:
            out = directory / f"{how}-{seed + number}.satline"
            if out.exists():
                continue
            command = [str(find_binary("satline-terminal")), "run", "--workload", str(WORKLOAD)]
            command += ["--recording", str(out), "--draws", how, "--seed", str(seed + number)]
            command += ["--steps", ",".join(map(str, users)), "--ramp", "1s", "--warmup", "2s"]
            command += ["--window", f"{window_s}s", "--affinity", str(processor)]
            for name, value in environment.items():
                command += ["--env", f"{name}={value}"]
            subprocess.run(command, check=True)
