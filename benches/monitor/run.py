"""What the monitor costs, beside a bare loop and other monitors, and whether it loses samples under load.

    python benches/monitor/run.py [--json] [--processes 2000] [--rounds 3] [--load-seconds 60]

In one run, on the same processes:

1. Processor time per sample with so many sleeping processes: the floor (`examples/floor.rs` reads stat
   and schedstat of all with kept descriptors and does nothing with them), satline-monitor as it is, by
   /proc alone, with waits by cause and with terminals, the task iterator alone (`examples/iterator.rs`), and
   `atop -w` and `pidstat` where they are installed. Each is run for few and for many samples; the
   difference of their processor times, by the kernel's account of the ended process, divided by the
   difference in samples leaves the start out. Medians of the rounds.
2. Bytes per sample at rest, on the host as it is without those processes: `satline.recording.compact`.
3. What --waits adds to a context switch with its wakeup, in processor time of two processes that hand a byte
   to and fro (`examples/switches.rs`).
4. Samples lost and lateness at 100 ms with twenty busy processes on the first two processors (unless that is
   to last 0 seconds).

Build first: cargo build --release -p satline-monitor --bins --examples
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
RELEASE = ROOT / "target/release"
INTERVAL_S = 0.5
MONITORS: dict[str, list[str]] = {
    "satline-monitor": [],
    "… --source proc": ["--source", "proc"],
    "… --waits": ["--waits"],
    "… --waits --terminals": ["--waits", "--terminals"],
}


@contextmanager
def processes(count: int, command: list[str]) -> Iterator[None]:
    """Start so many copies of a command and end them, and only them, afterwards."""
    pids: list[int] = []
    try:
        for _ in range(count):
            pids.append(os.posix_spawnp(command[0], command, os.environ))
        time.sleep(1)
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        for pid in pids:
            os.waitpid(pid, 0)


def cpu_ms(command: list[str]) -> float:
    """Run a command to its end and return its processor time, ms."""
    null = os.open(os.devnull, os.O_WRONLY)
    actions = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (1, 2)]
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
    os.close(null)
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        raise SystemExit(f"error: {' '.join(command)} ended with status {status}\nhint: run it by hand")
    return (usage.ru_utime + usage.ru_stime) * 1000


def per_sample_ms(command: Callable[[int], list[str]], few: int, many: int) -> float:
    return (cpu_ms(command(many)) - cpu_ms(command(few))) / (many - few)


def monitor(recording: Path, samples: int, interval_s: float, *more: str) -> list[str]:
    # The first sample is at once, the last at the end of the duration.
    duration_ms = round((samples - 1) * interval_s * 1000 + 1)
    given = ["--recording", str(recording), "--interval", f"{round(interval_s * 1000)}ms"]
    return [str(RELEASE / "satline-monitor"), *given, "--duration", f"{duration_ms}ms", *more]


def cost(directory: Path, rounds: int) -> dict[str, list[float]]:
    """Processor time per sample, ms, of each program in each round."""
    names = iter(range(1_000_000))
    programs: dict[str, tuple[Callable[[int], list[str]], int, int]] = {
        "floor": (lambda n: [str(RELEASE / "examples/floor"), str(n), str(round(INTERVAL_S * 1000))], 4, 24),
        "iterator": (
            lambda n: [str(RELEASE / "examples/iterator"), str(n), str(round(INTERVAL_S * 1000))],
            4,
            24,
        ),
    }
    for name, more in MONITORS.items():
        programs[name] = (
            lambda n, more=more: monitor(directory / f"{next(names)}.satline", n, INTERVAL_S, *more),
            4,
            24,
        )
    if shutil.which("atop"):
        # atop takes whole seconds only.
        programs["atop -w"] = (
            lambda n: ["atop", "-w", str(directory / f"{next(names)}.atop"), "1", str(n)],
            2,
            8,
        )
    if shutil.which("pidstat"):
        programs["pidstat"] = (lambda n: ["pidstat", "-u", "-r", "-d", "1", str(n)], 2, 8)
    found: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, (command, few, many) in programs.items():
            found[name].append(per_sample_ms(command, few, many))
    return found


def switches(directory: Path, rounds: int) -> dict[str, list[float]]:
    """ns of processor time of a context switch, without a monitor and with --waits, by turns."""
    found: dict[str, list[float]] = {"without": [], "with --waits": []}
    program = str(RELEASE / "examples/switches")

    def measured() -> float:
        return float(subprocess.run([program], check=True, capture_output=True, text=True).stdout)

    for number in range(rounds):
        found["without"].append(measured())
        recording = directory / f"switches-{number}.satline"
        command = [str(RELEASE / "satline-monitor"), "--recording", str(recording), "--waits"]
        witness = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not list(recording.glob("segments/user/*.seg")):
                if witness.poll() is not None:
                    raise SystemExit("error: satline-monitor --waits ended\nhint: run it by hand")
                time.sleep(0.1)
            found["with --waits"].append(measured())
        finally:
            witness.terminate()
            witness.wait()
    return found


def at_rest(directory: Path, samples: int) -> dict[str, float]:
    """Bytes per sample of a compacted recording of this host, at 100 ms."""
    from satline.recording import compact

    recording = directory / "rest.satline"
    cpu_ms(monitor(recording, samples, 0.1))
    compact(recording, keep_open=False)
    size = sum(path.stat().st_size for path in recording.rglob("*.parquet"))
    return {"samples": samples, "bytes_per_sample": size / samples}


def under_load(directory: Path, seconds: float) -> dict[str, float]:
    """Lost samples and lateness at 100 ms with twenty busy processes on two processors."""
    recording = directory / "load.satline"
    two = ",".join(str(n) for n in sorted(os.sched_getaffinity(0))[:2])
    busy = ["taskset", "-c", two, "sh", "-c", "while :; do :; done"]
    with processes(20, busy):
        cpu_ms(monitor(recording, round(seconds * 10), 0.1))
        load_average = os.getloadavg()[0]
    sampling = tomllib.loads((recording / "sources/monitor.toml").read_text())["sampling"]
    lateness = {f"lateness_{key}_us": value for key, value in sampling["lateness_us"].items()}
    counts = {"samples": sampling["samples"], "samples_lost": sampling["samples_lost"]}
    return {**counts, **lateness, "load_average_1": load_average}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--processes", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--load-seconds", type=float, default=60)
    options = parser.parse_args()
    for program in (
        RELEASE / "satline-monitor",
        RELEASE / "examples/floor",
        RELEASE / "examples/iterator",
        RELEASE / "examples/switches",
    ):
        if not program.exists():
            raise SystemExit(
                f"error: {program} is not built\nhint: {(__doc__ or '').strip().splitlines()[-1]}"
            )
    with tempfile.TemporaryDirectory(prefix="satline-bench-") as name:
        directory = Path(name)
        rest = at_rest(directory, 300)
        by_switch = switches(directory, 2 * options.rounds + 1)
        with processes(options.processes, ["sleep", "86400"]):
            costs = cost(directory, options.rounds)
        load = under_load(directory, options.load_seconds) if options.load_seconds > 0 else None
    added = statistics.median(by_switch["with --waits"]) - statistics.median(by_switch["without"])
    median = {name: statistics.median(values) for name, values in costs.items()}
    ratio = {name: value / median["floor"] for name, value in median.items()}
    result = {
        "processes": options.processes,
        "cpu_per_sample_ms": median,
        "rounds_ms": costs,
        "ratio_to_floor": ratio,
        "at_rest": rest,
        "switch_ns": by_switch,
        "switch_added_ns": added,
        "load": load,
    }
    if options.json:
        print(json.dumps(result, indent=1))
        return
    rounds, count = options.rounds, options.processes
    print(f"Processor time per sample at {count} sleeping processes, median of {rounds} rounds")
    for name, value in median.items():
        each = ", ".join(f"{v:.2f}" for v in costs[name])
        print(f"  {name:21} {value:8.2f} ms   {value / median['floor']:6.2f} × floor   ({each})")
    for name, goal in (("… --source proc", 1.3), ("iterator", 0.2), ("… --waits", 0.5)):
        met = "met" if ratio[name] <= goal else "NOT met"
        print(f"  goal, {name} at most {goal} × floor: {met} ({ratio[name]:.2f})")
    size = rest["bytes_per_sample"]
    met = "met" if size <= 2000 else "NOT met"
    print(f"Bytes per sample at rest ({rest['samples']:.0f} samples): {size:.0f}; goal at most 2,000: {met}")
    met = "met" if added <= 600 else "NOT met"
    each = "; ".join(f"{name} {', '.join(f'{v:.0f}' for v in ns)}" for name, ns in by_switch.items())
    print(f"Added by --waits to a context switch: {added:.0f} ns ({each}); goal at most 600: {met}")
    if load is None:
        return
    taken = load["samples"] + load["samples_lost"]
    print(
        f"At 100 ms under twenty busy processes (load average {load['load_average_1']:.1f}): "
        f"{load['samples_lost']:.0f} of {taken:.0f} samples lost; lateness median "
        f"{load['lateness_p50_us']:.0f}, p99 {load['lateness_p99_us']:.0f}, "
        f"max {load['lateness_max_us']:.0f} µs"
    )


if __name__ == "__main__":
    main()
