"""A false `satline-machine`: a queue whose series have a warm-up and autocorrelated noise.

It imports nothing that is slow. SLOW_S in the environment makes each run take so long; HELD is one that
does not end, "USERS REPLICATION", as long as whoever started it lives.
"""

import json
import os
import random
import sys
import time
from pathlib import Path


def options(words):
    found = {"set": {}, "files": []}
    words = iter(words)
    for word in words:
        if word == "--set":
            key, _, value = next(words).partition("=")
            found["set"][key] = value
        elif word in ("--json", "--progress", "--schedule"):
            found[word] = True
        elif word.startswith("--"):
            found[word] = next(words)
        else:
            found["files"].append(word)
    return found


def main():
    words = sys.argv[1:]
    if words == ["--version"]:
        print("satline-machine 0.0.0-false")
        return 0
    if words[0] == "explain":
        print(f"explained: {' '.join(word.rpartition('/')[2] for word in words[1:])}\x1b[31m")
        return 0
    asked = options(words[1:])
    for key in asked["set"]:
        if key not in ("processors.speed", "storage.pageable_frames"):
            print(
                f"error: --set {key}: there is no such key\nhint: did you mean processors.speed?",
                file=sys.stderr,
            )
            return 2
    steps = [int(n) for n in asked.get("--users", "10").split(",")]
    length, period = float(asked["--step-seconds"]), float(asked["--sample-seconds"])
    speed = float(asked["set"].get("processors.speed", "1"))
    series = {"time_s": [], "step": [], "throughput_per_s": [], "interactive_throughput_per_s": []}
    series |= {"response_s": [], "mpl": [], "eligible": [], "in_transaction": [], "problem_fraction": []}
    slow = float(os.environ.get("SLOW_S", "0"))
    print(json.dumps({"done": 0.25, "time_s": 1.0, "events": 10}), file=sys.stderr, flush=True)
    time.sleep(slow)
    parent = os.getppid()
    while os.environ.get("HELD") == f"{asked.get('--users')} {asked.get('--replication')}":
        if os.getppid() != parent:
            return 1
        time.sleep(0.02)
    shown = []
    for number, users in enumerate(steps):
        # The noise does not depend on the speed: common random numbers.
        draw = random.Random(f"{asked['--seed']} {asked['--replication']} {users}")
        capacity, noise = 0.5 * speed, 0.0
        for sample in range(int(length / period)):
            noise = 0.7 * noise + draw.gauss(0, 0.02)
            warm = 1 - 0.9 * 0.9**sample
            rate = min(users / 20, capacity) * warm * (1 + noise)
            response = (1 + max(0.0, users / 20 - capacity) * 40) * warm * (1 + noise) / speed
            series["time_s"].append((sample + 1) * period + number * length)
            series["step"].append(number)
            series["throughput_per_s"].append(rate)
            series["interactive_throughput_per_s"].append(rate * 0.75)
            series["response_s"].append(response if draw.random() < 0.9 else None)
            series["in_transaction"].append(rate * response)
            series["mpl"].append(min(6.0, rate * response))
            series["eligible"].append(max(0.0, rate * response - 6))
            series["problem_fraction"].append(rate / capacity)
        measures = {name: 1.5 for name in series if name not in ("time_s", "step")}
        shown.append({"users": users, "from_s": 0, "window_from_s": 0, "to_s": length, "measures": measures})
    print(json.dumps({"done": 1.0, "time_s": 1.0, "events": 10}), file=sys.stderr, flush=True)
    if "--record" in asked:
        Path(asked["--record"]).mkdir()
    print(
        json.dumps(
            {"machine": "drum", "workload": "load", "events": 1000 + int(asked["--replication"])}
            | {"cpu_s": time.process_time(), "unverified": ["devices.drum.rotation_ms"]}
            | {"not_modelled": ["locks"]}
            | {"steps": shown, "series": series}
        )
    )
    return 0


sys.exit(main())
