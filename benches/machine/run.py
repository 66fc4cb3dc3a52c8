"""What the simulated machine's engine and devices can do, beside peers and published figures.

    python benches/machine/run.py [--json] [--rounds 5] [--seconds 60000] [--whole-seconds 600]

1. Events per processor second on the closed central-server model (100 customers who think 10 s, a CPU of
   10 ms, four disks of 30 ms, 10 bursts and 9 disk visits between thoughts; exponential, first come first
   served): Satline's engine with its random streams and exact counters, a hand-rolled loop over the
   standard heap without either, the crate desque, and SimPy where it is installed. All count the same
   events: ends of thinking and of services. Each runs for few and for many simulated seconds; the
   difference leaves the start out. Medians of the rounds.
2. The same of a whole machine, in the same rounds: the 3081D with its 310 users, audited every 10 s; without
   its start too.
3. The same of multiprocessors: the 3033 MP with its locks and signals, and with 4 and 8 processors; storage
   and devices in proportion to the users.
4. The open check of the 3380: response times of demand and block paging beside the published ones, and
   what other placements of the pages would give.

Build first: cargo build --release -p satline-machine --examples
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EXAMPLES = ROOT / "target/release/examples"
PEERS = ROOT / "target/machine-peers"
OURS = "satline-machine"
# What the whole machine is to reach: events per processor second, and simulated seconds per processor second.
WHOLE_GOALS = {"events_per_processor_s": 5e6, "times_real_time": 300.0}
# Multiprocessors with locks: processors, users. The first is to reach so many events per processor second. An
# event of the last is to cost at most so many times one of the second, which has its users and storage.
MULTIPROCESSORS = ((2, 310), (2, 1240), (4, 1240), (8, 1240))
# Groups of that machine's devices, so many for each 155 users, as it has them: with fewer they would wait.
DEVICES = {"drum": 1, "page-pack": 2, "pack-a": 4, "pack-b": 4}
USERS_SERVED = 155
MULTIPROCESSOR_GOALS = {"events_per_processor_s": 4e6, "cost_of_eight": 1.5}
# Of the peers' rates, that ours is to reach.
GOALS = {"hand-rolled": 0.75, "desque": 1.0}
# SimPy is so slow that it gets a part of the simulated seconds.
SIMPY_PART = 0.02


def run(command: list[str]) -> tuple[float, dict[str, float]]:
    """Run a command and return its processor time, s, and what it printed."""
    with tempfile.TemporaryFile() as output:
        actions = [(os.POSIX_SPAWN_DUP2, output.fileno(), 1)]
        pid = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
        if status != 0:
            raise SystemExit(f"error: {' '.join(command)} ended with status {status}\nhint: run it by hand")
        output.seek(0)
        return usage.ru_utime + usage.ru_stime, json.loads(output.read())


def build_peers() -> None:
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--target-dir", str(PEERS)]
    if subprocess.run(command, cwd=HERE / "peer", check=False).returncode != 0:
        raise SystemExit("error: the peers could not be built\nhint: cargo must reach its registry once")


def rates(
    seconds: float, whole_s: float, rounds: int
) -> tuple[dict[str, list[float]], dict[str, float], dict[str, list[float]]]:
    """Of each program: events per processor second by round; throughput. Of the whole machine: its rates."""
    programs = {
        OURS: ([str(EXAMPLES / "central_server")], seconds),
        "hand-rolled": ([str(PEERS / "release/hand_rolled")], seconds),
        "desque": ([str(PEERS / "release/desque_model")], seconds),
    }
    if importlib.util.find_spec("simpy"):
        simpy = [sys.executable, str(HERE / "simpy_model.py")]
        programs["SimPy"] = (simpy, seconds * SIMPY_PART)
    found: dict[str, list[float]] = {name: [] for name in programs}
    throughput = {}
    whole: dict[str, list[float]] = {name: [] for name in WHOLE_GOALS}
    for _ in range(rounds):
        # In turns, so that a busy moment of the host meets all of them.
        for name, (command, length) in programs.items():
            few_s, few = run([*command, str(length / 10)])
            many_s, many = run([*command, str(length)])
            found[name].append((many["events"] - few["events"]) / (many_s - few_s))
            throughput[name] = many["throughput_per_s"]
        _, machine = run([str(EXAMPLES / "whole_machine"), str(whole_s)])
        for name, values in whole.items():
            values.append(machine[name])
    return found, throughput, whole


def multiprocessors(seconds: float, rounds: int) -> dict[tuple[int, int], list[float]]:
    """Events per processor second by number of processors and users, in turns."""
    found: dict[tuple[int, int], list[float]] = {case: [] for case in MULTIPROCESSORS}
    for _ in range(rounds):
        for processors, users in MULTIPROCESSORS:
            times = users // USERS_SERVED
            # As many events in each.
            command = [str(EXAMPLES / "whole_machine"), str(seconds * 2 / times)]
            command += [str(ROOT / "machines/3033-MP.toml"), str(ROOT / "workloads/simulated/tso310.toml")]
            command += [str(users), f"processors.count={processors}", "multiprocessor.signal=true"]
            command += [f'processor=[{{ role = "symmetric", count = {processors} }}]']
            command += [f"storage.pageable_frames={1700 * times}", f"storage.bytes={2**23 * times}"]
            command += [f"device.{name}.count={each * times}" for name, each in DEVICES.items()]
            _, machine = run(command)
            found[processors, users].append(machine["events_per_processor_s"])
    return found


def open_check() -> list[dict[str, object]]:
    done = subprocess.run([str(EXAMPLES / "open_check")], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def print_rates(found: dict[str, list[float]], throughput: dict[str, float]) -> None:
    median = {name: statistics.median(values) for name, values in found.items()}
    print("Million events per processor second, closed central-server model; medians")
    for name, value in median.items():
        ratio = median[OURS] / value
        low, high = min(found[name]) / 1e6, max(found[name]) / 1e6
        print(
            f"  {name:16}{value / 1e6:7.2f}  ({low:.2f} to {high:.2f})   ours is {ratio:6.2f} times it"
            f"   X = {throughput[name]:.3f}/s"
        )
    if "SimPy" not in median:
        print("  SimPy           skipped: not installed here (pip install simpy)")
    for peer, goal in GOALS.items():
        ratio = median[OURS] / median[peer]
        print(f"  goal, at least {goal} times {peer}: {'met' if ratio >= goal else 'NOT met'} ({ratio:.2f})")


def print_whole(whole: dict[str, list[float]]) -> None:
    print("\nThe whole machine: 3081D, 310 users, per second of processor time; medians")
    for name, unit, scale in (
        ("events_per_processor_s", "million events", 1e6),
        ("times_real_time", "simulated s", 1.0),
    ):
        values = [value / scale for value in whole[name]]
        median, goal = statistics.median(values), WHOLE_GOALS[name] / scale
        print(
            f"  {unit:16}{median:7.2f}  ({min(values):.2f} to {max(values):.2f})"
            f"   goal, at least {goal:g}: {'met' if median >= goal else 'NOT met'}"
        )


def print_multiprocessors(found: dict[tuple[int, int], list[float]]) -> None:
    print("\nMultiprocessors: 3033 MP with locks, million events per second of processor time; medians")
    median = {case: statistics.median(values) / 1e6 for case, values in found.items()}
    for case, value in median.items():
        low, high = min(found[case]) / 1e6, max(found[case]) / 1e6
        print(f"  {case[0]} processors, {case[1]:4} users{value:11.2f}  ({low:.2f} to {high:.2f})")
    goal, most = (MULTIPROCESSOR_GOALS[name] for name in ("events_per_processor_s", "cost_of_eight"))
    two, same, _, eight = median.values()
    verdict = "met" if two >= goal / 1e6 else "NOT met"
    print(f"  goal, at least {goal / 1e6:g} with 2 processors: {verdict}")
    verdict = "met" if same / eight <= most else "NOT met"
    print(
        f"  goal, an event with 8 at most {most:g} of one with 2, of as many users: {verdict}"
        f" ({same / eight:.2f})"
    )
    print(
        f"  of one with 2 and a quarter of the users and storage, which fit a cache better: {two / eight:.2f}"
    )


def print_check(cases: list[dict[str, object]]) -> None:
    print("\nOpen check of the 3380: response per start-I/O, ms, with its 95 % interval")
    print(f"  {'':40}{'published':>9}{'model':>8}{'±':>6}{'off':>8}")
    for counts in (True, False):
        if not counts:
            print("  with other assumptions (not part of the check):")
        for case in (case for case in cases if case["in_check"] is counts):
            published, response = float(case["published_ms"]), float(case["response_ms"])
            half = case["interval_95_ms"][1] - response
            off = response / published - 1
            verdict = ("  passes" if abs(off) <= case["tolerance"] else "  FAILS") if counts else ""
            print(f"  {case['case']:40}{published:9.1f}{response:8.2f}{half:6.2f}{off:+8.1%}{verdict}")
    missing = ", ".join(cases[0]["unverified"])
    print(f"  Figures of the device file without a known source: {missing}.")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60_000, help="simulated seconds of each run")
    parser.add_argument(
        "--whole-seconds", type=float, default=600, help="simulated seconds of each run of the whole machine"
    )
    options = parser.parse_args()
    for program in (EXAMPLES / name for name in ("central_server", "whole_machine", "open_check")):
        if not program.exists():
            raise SystemExit(
                f"error: {program} is not built\nhint: {(__doc__ or '').strip().splitlines()[-1]}"
            )
    build_peers()
    found, throughput, whole = rates(options.seconds, options.whole_seconds, options.rounds)
    several = multiprocessors(options.whole_seconds, options.rounds)
    cases = open_check()
    if options.json:
        median = {name: statistics.median(values) for name, values in found.items()}
        ratios = {name: median[OURS] / value for name, value in median.items()}
        result = {
            "events_per_cpu_second": median,
            "rounds": found,
            "ours_to": ratios,
            "goals": GOALS,
            "throughput_per_s": throughput,
            "whole_machine": {name: statistics.median(values) for name, values in whole.items()},
            "whole_machine_rounds": whole,
            "whole_machine_goals": WHOLE_GOALS,
            "multiprocessors": [
                {"processors": case[0], "users": case[1], "events_per_cpu_second": statistics.median(values)}
                for case, values in several.items()
            ],
            "multiprocessor_goals": MULTIPROCESSOR_GOALS,
            "open_check": cases,
        }
        print(json.dumps(result, indent=1))
        return
    print_rates(found, throughput)
    print_whole(whole)
    print_multiprocessors(several)
    print_check(cases)


if __name__ == "__main__":
    main()
