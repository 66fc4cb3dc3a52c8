"""Exact results against those of an independent program; make_line_solver.py says how they were made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from satline.prediction import (
    CustomerClass,
    Network,
    Station,
    exact_classes,
    exact_single,
    linearizer,
    schweitzer,
)

CASES: dict[str, Any] = json.loads(Path(__file__).with_name("line_solver.json").read_text(encoding="utf-8"))


def network(case: dict[str, Any]) -> Network:
    classes = zip(case["users"], case["think_s"], strict=True)
    stations = zip(case["demand_s"], case["servers"], strict=True)
    return Network(
        tuple(CustomerClass(f"class {c}", n, z) for c, (n, z) in enumerate(classes)),
        tuple(Station(f"station {k}", tuple(d), servers=m) for k, (d, m) in enumerate(stations)),
    )


@pytest.mark.parametrize("name", CASES)
def test_exact_results_agree(name: str) -> None:
    case = CASES[name]
    made = exact_classes(network(case))
    assert made.throughput == pytest.approx(case["throughput"], rel=1e-9)
    assert pytest.approx(np.array(case["residence_s"]), rel=1e-9) == made.residence_s.T


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if len(c["users"]) == 1])
def test_exact_results_of_one_class_agree(name: str) -> None:
    case = CASES[name]
    made = exact_single(network(case))
    assert made.throughput == pytest.approx(case["throughput"], rel=1e-9)
    assert pytest.approx(np.array(case["residence_s"]), rel=1e-9) == made.residence_s.T


def test_bard_and_schweitzer_is_eight_percent_off_at_the_knee() -> None:
    case = CASES["central server at its knee"]
    response = sum(r[0] for r in case["residence_s"])
    assert schweitzer(network(case)).response_s[0] / response - 1 == pytest.approx(0.08, abs=0.005)
    assert abs(linearizer(network(case)).response_s[0] / response - 1) < 0.02
