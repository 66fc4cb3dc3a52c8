"""What a workload file states of its users' draws: think times' means and the mix of commands by script."""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from satline.errors import InputError
from satline.outside import parse_toml

# The emulator's own where the file says nothing.
DEFAULT_THINK: Mapping[str, Any] = {
    "distribution": "exponential",
    "mean_seconds": 2.0,
    "minimum_seconds": 0.1,
    "maximum_seconds": 20.0,
}


@dataclass(frozen=True)
class Stated:
    """Of a workload file.

    shares
        By script, the part of its lines that each class is of.
    think_s
        By script, the mean think time before a line, s.
    """

    shares: Mapping[str, Mapping[str, float]]
    think_s: Mapping[str, float]

    @classmethod
    def read(cls, text: str) -> Stated:
        """From the text of the file, which the emulator has checked.

        Raises
        ------
        InputError
            If it is not such a file.
        """
        try:
            file = parse_toml(text)
            arrives = "arrivals" in file
            shares: dict[str, dict[str, float]] = {}
            think_s: dict[str, float] = {}
            for script in file["script"]:
                weighted = script.get("order", "weighted") == "weighted"
                commands = script["command"]
                weights = [float(c.get("weight", 1.0)) if weighted else 1.0 for c in commands]
                total = sum(weights)
                of: dict[str, float] = {}
                mean = 0.0
                for command, weight in zip(commands, weights, strict=True):
                    of[command["class"]] = of.get(command["class"], 0.0) + weight / total
                    think = command.get("think", file.get("think", DEFAULT_THINK))
                    mean += weight / total * mean_think_s(think)
                shares[script["name"]] = of
                if not arrives:
                    think_s[script["name"]] = mean
        except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise InputError(
                f"this is no workload file of the emulator: {error}",
                hint="`satline-terminal check FILE` says what is wrong with one",
            ) from error
        return cls(shares, think_s)


def mean_think_s(key: Mapping[str, Any]) -> float:
    """Mean of a key ``think``, s: draws beyond its bounds are taken as the bounds.

    Raises
    ------
    KeyError, ValueError
        It is none.
    """
    low, high = float(key.get("minimum_seconds", 0.0)), float(key.get("maximum_seconds", 86_400.0))
    kind = key["distribution"]
    if kind == "table":
        return _table(key["quantiles_seconds"], low, high)
    mean = float(key["mean_seconds"])
    sd = float(key.get("sd_seconds", 0.0))
    if kind == "fixed" or mean == 0.0 or (kind == "lognormal" and sd == 0.0):
        return min(max(mean, low), high)
    if kind == "exponential":
        # E max(a, min(b, Z)) = a + ∫ from a to b of P(Z > z) dz.
        return low + mean * (math.exp(-low / mean) - math.exp(-high / mean))
    if kind != "lognormal":
        raise ValueError(f"unknown distribution {kind!r}")
    sigma = math.sqrt(math.log1p((sd / mean) ** 2))
    mu = math.log(mean) - sigma**2 / 2

    def below(x: float, shift: float) -> float:
        return 0.5 * math.erfc(-(math.log(x) - mu - shift) / sigma / math.sqrt(2)) if x > 0 else 0.0

    inside = mean * (below(high, sigma**2) - below(low, sigma**2))
    return low * below(low, 0.0) + inside + high * (1.0 - below(high, 0.0))


def _table(quantiles: Sequence[float], low: float, high: float) -> float:
    """Mean of straight lines between quantiles, cut: ∫ clip over each piece."""

    def area(x: float) -> float:
        """∫ from 0 to x of clip(z) dz."""
        part = low * min(x, low)
        part += (min(max(x, low), high) ** 2 - low**2) / 2
        return part + high * max(0.0, x - high)

    total = 0.0
    for a, b in itertools.pairwise(quantiles):
        total += (area(b) - area(a)) / (b - a) if b > a else min(max(a, low), high)
    return total / (len(quantiles) - 1)
