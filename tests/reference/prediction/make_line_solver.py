"""Makes line_solver.json: closed networks solved exactly by LINE 3.0.8, an independent program.

    python -m venv oracle
    oracle/bin/pip install line-solver==3.0.8
    oracle/bin/python tests/reference/prediction/make_line_solver.py

Every demand is one visit at a station that shares its time among all who are there: LINE's figures per
station are then residence times as they stand. Only its exact method is used.
"""

from __future__ import annotations

import json
from pathlib import Path

from line_solver import MVA, ClosedClass, Delay, Exp, Network, Queue, SchedStrategy

# Name: users and think time of each class; demands by class, and servers, of each station.
CASES = {
    "central server at its knee": {
        "users": [100],
        "think_s": [10.0],
        "demand_s": [[0.1], [0.0675], [0.0675], [0.0675], [0.0675]],
        "servers": [1, 1, 1, 1, 1],
    },
    "central server far beyond": {
        "users": [300],
        "think_s": [10.0],
        "demand_s": [[0.1], [0.0675], [0.0675], [0.0675], [0.0675]],
        "servers": [1, 1, 1, 1, 1],
    },
    "two classes": {
        "users": [12, 5],
        "think_s": [4.0, 0.5],
        "demand_s": [[0.2, 0.9], [0.35, 0.1], [0.05, 0.4]],
        "servers": [1, 1, 1],
    },
    "three classes, no think time for one": {
        "users": [4, 3, 6],
        "think_s": [1.0, 0.0, 3.0],
        "demand_s": [[0.2, 0.5, 0.1], [0.3, 0.1, 0.6]],
        "servers": [1, 1],
    },
    "three processors and a disk": {
        "users": [30],
        "think_s": [5.0],
        "demand_s": [[0.6], [0.15]],
        "servers": [3, 1],
    },
    "four processors, two classes": {
        "users": [8, 6],
        "think_s": [2.0, 1.0],
        "demand_s": [[0.8, 0.8], [0.1, 0.3]],
        "servers": [4, 1],
    },
}


def solved(case: dict) -> dict:
    """Throughput of each class, and residence at each station by class."""
    model = Network("case")
    delay = Delay(model, "think")
    queues = [Queue(model, f"station {k}", SchedStrategy.PS) for k in range(len(case["demand_s"]))]
    for queue, servers in zip(queues, case["servers"], strict=True):
        queue.set_number_of_servers(servers)
    classes = [ClosedClass(model, f"class {c}", users, delay, 0) for c, users in enumerate(case["users"])]
    routes = model.init_routing_matrix()
    for c, one in enumerate(classes):
        think = max(case["think_s"][c], 1e-12)
        delay.set_service(one, Exp(1 / think))
        for queue, demand in zip(queues, case["demand_s"], strict=True):
            queue.set_service(one, Exp(1 / demand[c]))
        ring = [delay, *queues]
        for here, there in zip(ring, [*ring[1:], ring[0]], strict=True):
            routes.set(one, one, here, there, 1.0)
    model.link(routes)
    table = MVA(model, method="exact").avg_table()
    throughput, residence = {}, {}
    for _, row in table.iterrows():
        c, place = str(row["JobClass"]), str(row["Station"])
        if place == "think":
            throughput[c] = float(row["Tput"])
        else:
            residence.setdefault(place, {})[c] = float(row["RespT"])
    names = [f"class {c}" for c in range(len(case["users"]))]
    return {
        "throughput": [throughput[n] for n in names],
        "residence_s": [[residence[f"station {k}"][n] for n in names] for k in range(len(queues))],
    }


def main() -> None:
    """Solve all and write them beside this file."""
    made = {name: {**case, **solved(case)} for name, case in CASES.items()}
    path = Path(__file__).with_name("line_solver.json")
    lines = [f"{json.dumps(name)}: {json.dumps(case)}" for name, case in made.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
