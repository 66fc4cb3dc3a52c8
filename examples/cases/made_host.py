"""What the cases share: a host whose counters follow from queueing formulas, written as a recording."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from satline.catalogue import catalogue
from satline.errors import InputError
from satline.recording import describe, write_parquet_table

Floats = NDArray[np.float64]
MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
GIB = 1 << 30


class Host:
    """A host in even samples. Rates are per second, for each of the `n` intervals between samples.

    Parameters
    ----------
    days, step_s
        Length of the recording, and of an interval.
    processors
        Their number.
    """

    def __init__(self, seed: int, *, days: float = 5, step_s: float = 240, processors: int = 1) -> None:
        self.random = np.random.default_rng(seed)
        self.n = round(days * 86_400 / step_s)
        self.step_s, self.processors = step_s, processors
        self.hour = (np.arange(self.n) + 0.5) * step_s / 3600 % 24
        self._columns: dict[str, dict[str, dict[str, NDArray[Any]]]] = {}
        self._transactions: list[tuple[str, Floats, Floats]] = []
        self._probes: list[tuple[float, str, int]] = []

    def day(self, night: float = 0.1) -> Floats:
        """The daily course: `night` at 3 h, 1 at the heights of morning and afternoon, a dip at noon."""
        hill = np.exp(-(((self.hour - 10.5) / 2.2) ** 2)) + np.exp(-(((self.hour - 15) / 2.4) ** 2))
        return night + (1 - night) * np.minimum(1.0, hill)

    def drift(self, spread: float = 0.3, memory_s: float = 3600) -> Floats:
        """A factor around 1 that forgets itself in `memory_s`: exp of a first-order autoregression."""
        keep = np.exp(-self.step_s / memory_s)
        noise = self.random.normal(0, spread * np.sqrt(1 - keep**2), self.n)
        level = np.empty(self.n)
        level[0] = self.random.normal(0, spread)
        for k in range(1, self.n):
            level[k] = keep * level[k - 1] + noise[k]
        return np.exp(level)

    def around(self, values: Floats, spread: float = 0.05) -> Floats:
        """`values` with a scatter of their own in each interval."""
        return values * self.random.lognormal(0, spread, self.n)

    def spells(self, every_s: float, length_s: float, when: Floats | None = None) -> NDArray[np.bool_]:
        """In a spell or not: on and off for exponential times, begun only where `when` is above a half."""
        found = np.zeros(self.n, dtype=bool)
        on = False
        for k in range(self.n):
            if on:
                on = self.random.random() > self.step_s / length_s
            elif when is None or when[k] > 0.5:
                on = self.random.random() < self.step_s / every_s
            found[k] = on
        return found

    def count(self, table: str, entity: str, **rates: Floats | float) -> None:
        """Counters of an entity that grow by these rates; NaN: not reported then."""
        for name, rate in rates.items():
            gained = np.broadcast_to(np.asarray(rate, dtype=np.float64), (self.n,)) * self.step_s
            total = np.concatenate([[0.0], np.cumsum(np.nan_to_num(gained))])
            gone = np.isnan(np.concatenate([gained[:1], gained]))
            self._put(table, entity, name, np.where(gone, np.nan, np.rint(total)))

    def level(self, table: str, entity: str, **values: Floats | float) -> None:
        """Levels of an entity; whole numbers."""
        for name, value in values.items():
            full = np.broadcast_to(np.asarray(value, dtype=np.float64), (self.n,))
            self._put(table, entity, name, np.rint(np.concatenate([full[:1], full])))

    def text(self, table: str, entity: str, **values: str) -> None:
        """The same words in each row of an entity."""
        for name, value in values.items():
            self._put(table, entity, name, np.full(self.n + 1, value, dtype=object))

    def transactions(self, user: str, rate: Floats, response_s: Floats) -> Floats:
        """Transactions of a user: Poisson by `rate`, exponential about `response_s`. Returns how many began
        in each interval."""
        begun = self.random.poisson(rate * self.step_s)
        at = np.repeat(np.arange(self.n), begun)
        start = (at + self.random.random(len(at))) * self.step_s
        self._transactions.append((user, start, self.random.exponential(response_s[at])))
        return begun.astype(np.float64)

    def probe(self, kind: str, every_s: float, elapsed_s: Callable[[int], float]) -> None:
        """A thermometer: a probe of fixed work, by the number of the interval in which it runs."""
        for k in range(0, self.n, max(1, round(every_s / self.step_s))):
            self._probes.append(((k + 0.5) * self.step_s, kind, round(elapsed_s(k) * 1e6)))

    def processor(self, number: int, *, user: Floats, system: Floats, io_wait: Floats | float = 0.0) -> None:
        """A processor by its parts in problem and supervisor state and waiting for I/O; the rest is idle."""
        busy = np.minimum(1.0, user + system)
        user = np.minimum(user, busy)
        waiting = np.minimum(1.0 - busy, io_wait)
        self.count(
            "processor",
            str(number),
            user_us=user * 1e6,
            system_us=(busy - user) * 1e6,
            iowait_us=waiting * 1e6,
            idle_us=(1.0 - busy - waiting) * 1e6,
            **dict.fromkeys(("nice_us", "irq_us", "steal_us", "guest_us"), 0.0),
        )

    def _put(self, table: str, entity: str, name: str, values: NDArray[Any]) -> None:
        self._columns.setdefault(table, {}).setdefault(entity, {})[name] = values

    def write(self, path: Path, name: str, *, notes: dict[float, str] | None = None) -> Path:
        """Write the recording; `notes`: annotations by second."""
        describe.create(
            path,
            f"examples/cases/{name}",
            host={"name": name, "processors": self.processors, "memory_bytes": 16 * GIB, "page_bytes": 4096},
            system_under_test={"kind": "made", "vocabulary": "vm"},
            created=MONDAY,
        )
        interval = {"interval_ms": self.step_s * 1000, "samples": self.n + 1, "samples_lost": 0}
        describe.write_source(
            path, "monitor", {"version": "made", "sampling": interval, "users": {"definition": "uid"}}
        )
        for second, text in (notes or {}).items():
            describe.annotate(path, text, time=MONDAY + timedelta(seconds=second))
        self._columns.setdefault("system", {}).setdefault("", {})["sample"] = np.arange(self.n + 1.0)
        for table, entities in self._columns.items():
            write_parquet_table(path, table, self._rows(table, entities))
        self._write_probes(path)
        self._write_transactions(path)
        describe.end(path, "complete", ended=MONDAY + timedelta(seconds=self.n * self.step_s))
        return path

    def _rows(self, table: str, entities: dict[str, dict[str, NDArray[Any]]]) -> pa.Table:
        """Sample by sample, the entities in turn."""
        absent = np.full(self.n + 1, np.nan)
        columns: dict[str, Any] = {}
        for name in dict.fromkeys(c for of in entities.values() for c in of):
            several = [of.get(name, absent) for of in entities.values()]
            columns[name] = np.stack(several, axis=1).ravel()
        if table != "system":
            columns[table] = list(entities) * (self.n + 1)
        moments = np.repeat(np.arange(self.n + 1) * self.step_s, len(entities))
        return _table(table, moments, columns)

    def _write_probes(self, path: Path) -> None:
        if not self._probes:
            return
        moments, kinds, elapsed = zip(*sorted(self._probes), strict=True)
        columns = {"thermometer": list(kinds), "elapsed_us": list(elapsed)}
        write_parquet_table(path, "thermometer", _table("thermometer", np.array(moments), columns))

    def _write_transactions(self, path: Path) -> None:
        if not self._transactions:
            return
        start = np.concatenate([s for _, s, _ in self._transactions])
        response = np.concatenate([r for _, _, r in self._transactions])
        names = pa.array([u for u, _, _ in self._transactions])
        number = np.repeat(np.arange(len(names)), [len(s) for _, s, _ in self._transactions])
        order = np.argsort(start, kind="stable")
        length = len(order)
        taken = np.rint(response[order] * 1e6).astype(np.int64)
        columns = {
            "user": names.take(pa.array(number[order])),
            "outcome": pa.repeat("ok", length),
            "phase": pa.repeat("window", length),
            "response_us": taken,
        }
        write_parquet_table(path, "transaction", _table("transaction", start[order], columns))


def _table(table: str, moments: Floats, columns: dict[str, Any]) -> pa.Table:
    schema = catalogue().table(table).arrow_schema()
    monotonic = np.rint(moments * 1e9).astype(np.int64)
    given = {"time_ns": monotonic + round(MONDAY.timestamp() * 1e9), "monotonic_ns": monotonic, **columns}
    return pa.table({n: _column(v, schema.field(n).type) for n, v in given.items()})


def _column(values: Any, kind: pa.DataType) -> pa.Array:
    """A column of the catalogue's type; NaN becomes null."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return pa.array(values, from_pandas=True).cast(kind)
    return pa.array(values, type=kind)


def closed(stations: dict[str, float], think_s: float, most: int) -> dict[str, Floats]:
    """Exact mean value analysis of a closed network, for 0 … `most` users.

    R_k(N) = D_k (1 + Q_k(N − 1));  X(N) = N / (Z + Σ R_k);  Q_k = X R_k     (Reiser and Lavenberg 1980)

    Parameters
    ----------
    stations
        Demand D of each station in s; a name that ends in ``+`` is a delay without a queue.

    Returns
    -------
    ``rate``, ``response`` (s), and of each station the time spent there (s), by the number of users.
    """
    found = {name: np.zeros(most + 1) for name in ("rate", "response", *stations)}
    queue = dict.fromkeys(stations, 0.0)
    for name, demand in stations.items():
        found[name][0] = demand
    found["response"][0] = sum(stations.values())
    for users in range(1, most + 1):
        spent = {k: d if k.endswith("+") else d * (1 + queue[k]) for k, d in stations.items()}
        whole = sum(spent.values())
        rate = users / (think_s + whole)
        queue = {k: rate * r for k, r in spent.items()}
        found["rate"][users], found["response"][users] = rate, whole
        for k, r in spent.items():
            found[k][users] = r
    return found


def main(make: Callable[[Path, int, bool], Path], doc: str) -> None:
    """The command line of a case: ``make.py [--seed N] [--healthy] OUTPUT``."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("output", type=Path, help="the recording to make, such as case.satline")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--healthy", action="store_true", help="the same system without the fault")
    asked = parser.parse_args()
    try:
        make(asked.output, asked.seed, asked.healthy)
    except InputError as error:
        parser.exit(2, f"error: {error.message}\nhint: {error.hint}\n")
