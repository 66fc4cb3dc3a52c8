"""Building blocks of a load: a mix of classes of commands, distributions of think and typing times, an order
[AW79].

A TOML file that `fit` writes and a person may write or change; every figure has how many it is from and its
95 % interval where it was measured.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tomli_w
from pydantic import BaseModel, ConfigDict, Field, model_validator

from satline.problems import read_toml
from satline.stats import normal_cdf
from satline.workload._statistics import Floats

Positive = Annotated[float, Field(ge=0, le=86400, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Size = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Distribution(_Part):
    """A distribution of seconds.

    quantiles_seconds
        Of ``table``: the inverse distribution function at equally spaced probabilities from 0 to 1, linear
        between.
    """

    distribution: Literal["fixed", "exponential", "lognormal", "table"]
    mean_seconds: Positive
    sd_seconds: Positive | None = None
    quantiles_seconds: list[Positive] | None = Field(default=None, min_length=2, max_length=1001)
    low_seconds: Positive | None = None
    high_seconds: Positive | None = None
    count: int | None = Field(default=None, ge=0)
    chosen: str = ""

    @model_validator(mode="after")
    def _whole(self) -> Distribution:
        if (self.quantiles_seconds is not None) != (self.distribution == "table"):
            raise ValueError("quantiles_seconds belongs to table, which needs it")
        if self.distribution == "lognormal" and self.sd_seconds is None:
            raise ValueError("lognormal needs sd_seconds")
        if self.quantiles_seconds is not None and sorted(self.quantiles_seconds) != self.quantiles_seconds:
            raise ValueError("quantiles_seconds must not fall")
        return self

    def cdf(self, seconds: Floats) -> Floats:
        """P(X ≤ seconds)."""
        if self.distribution == "table":
            quantiles = np.asarray(self.quantiles_seconds)
            probabilities = np.linspace(0, 1, len(quantiles))
            # Equal quantiles are a step: the highest probability counts.
            values, last = np.unique(quantiles[::-1], return_index=True)
            at = np.interp(seconds, values, probabilities[::-1][last], left=0.0, right=1.0)
            return np.asarray(at, dtype=float)
        if self.distribution == "exponential" and self.mean_seconds > 0:
            return -np.expm1(-np.maximum(seconds, 0) / self.mean_seconds)
        if self.distribution == "lognormal" and self.sd_seconds and self.mean_seconds > 0:
            mu, sigma = self._lognormal()
            return normal_cdf((np.log(np.maximum(seconds, 1e-300)) - mu) / sigma)
        return (seconds >= self.mean_seconds).astype(float)

    def draw(self, random: np.random.Generator, count: int) -> Floats:
        """Draws as the emulator makes them, s."""
        if self.distribution == "table":
            quantiles = np.asarray(self.quantiles_seconds)
            at = np.linspace(0, 1, len(quantiles))
            return np.asarray(np.interp(random.random(count), at, quantiles), dtype=float)
        if self.distribution == "exponential":
            return random.exponential(self.mean_seconds, count)
        if self.distribution == "lognormal" and self.sd_seconds and self.mean_seconds > 0:
            return random.lognormal(*self._lognormal(), count)
        return np.full(count, self.mean_seconds)

    def _lognormal(self) -> tuple[float, float]:
        """mu and sigma: sigma² = ln(1 + sd²/mean²), mu = ln(mean) − sigma²/2."""
        assert self.sd_seconds is not None
        square = np.log1p((self.sd_seconds / self.mean_seconds) ** 2)
        return float(np.log(self.mean_seconds) - square / 2), float(np.sqrt(square))


class Mean(_Part):
    """A mean with its interval and the number it is from."""

    mean: Size
    low: Size | None = None
    high: Size | None = None
    count: int | None = Field(default=None, ge=0)


class Typing(_Part):
    """Typing: characters in a second, and the standard deviation of the time between keys ÷ its mean."""

    characters_per_second: Annotated[float, Field(ge=0, le=1e6)] = 8.0
    variation: Annotated[float, Field(ge=0, le=10)] = 0.3
    count: int | None = Field(default=None, ge=0)


class InnerLine(_Part):
    """A line that a program reads, and the prompt that stands before it."""

    input: str
    prompt: str


class Input(_Part):
    """A line typed in a class, how often, and what is typed to the program it starts."""

    input: str
    count: int = Field(default=1, ge=1)
    dialogue: list[InnerLine] = []


class Class(_Part):
    """A class of input lines; ``share`` is of all lines, ``inner`` says that programs read them."""

    name: str = Field(min_length=1)
    share: Share
    low: Share | None = None
    high: Share | None = None
    count: int | None = Field(default=None, ge=0)
    inner: bool = False
    characters: Mean | None = None
    output_bytes: Mean | None = None
    input: list[Input] = []


class Context(_Part):
    """What follows the last one or two classes, how often."""

    after: list[str] = Field(min_length=1, max_length=2)
    next: dict[str, Annotated[int, Field(ge=0)]]


class Order(_Part):
    """In which order classes come: Markov of order 0 (none), 1 or 2."""

    order: Literal[0, 1, 2] = 0
    bic: list[float] = []
    chosen: str = ""
    context: list[Context] = []


class Blocks(_Part):
    """The whole file."""

    name: str = Field(min_length=1)
    sessions: int | None = Field(default=None, ge=0)
    lines: int | None = Field(default=None, ge=0)
    notes: list[str] = []
    think: Distribution
    typing: Typing = Typing()
    characters: Mean | None = None
    output_bytes: Mean | None = None
    order: Order = Order()
    klass: list[Class] = Field(alias="class", min_length=1)

    @model_validator(mode="after")
    def _mix(self) -> Blocks:
        names = [one.name for one in self.klass]
        if len(set(names)) != len(names):
            raise ValueError("class: two classes have one name; name each differently")
        if abs(sum(one.share for one in self.klass) - 1) > 0.005:
            total = sum(one.share for one in self.klass)
            raise ValueError(f"class: the shares add up to {total:.4g}; they must make 1")
        if not any(one.share > 0 and not one.inner for one in self.klass):
            raise ValueError("class: no class of the shell has a share above 0")
        known = set(names)
        for context in self.order.context:
            if len(context.after) > self.order.order or {*context.after, *context.next} - known:
                raise ValueError(f"order.context: {context.after} names unknown classes or is too long")
        return self


def read_blocks(path: Path) -> Blocks:
    """Read and check a blocks file.

    Raises
    ------
    InputError
        It cannot be read, or says what blocks cannot say: all at once, each with its line.
    """
    hint = "`satline workload fit SESSION` writes such files, and the guide shows every key"
    return read_toml(path, Blocks, kind="blocks file", name_one="name a file of blocks", hint=hint)[1]


def blocks_toml(blocks: Blocks) -> str:
    """The file's text."""
    return tomli_w.dumps(_rounded(blocks.model_dump(by_alias=True, exclude_none=True, exclude_defaults=True)))


def write_private(path: Path, text: str) -> None:
    """Write a file that its owner alone may read: it holds what somebody typed."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def _rounded(value: Any) -> Any:
    """Six significant digits are more than any measurement here has."""
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.6g}")
    return value
