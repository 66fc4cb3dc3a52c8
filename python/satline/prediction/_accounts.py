"""What the transactions of each class took in each observation, and which users are alike.

A closed network of several classes needs to know who changes between them. A user whose transactions are now
of one class and now of another is one customer who changes class, and users who are alike in that are one
**chain**: their number is fixed, and not that of the customers of a class [Baskett, Chandy, Muntz, Palacios
1975]. Users who always run one class are a chain of that class. Which it is the recording tells: users with
the same script are alike; where those of a script (or all, without scripts) each keep to one class, each
class is a chain.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import duckdb
import numpy as np
import pyarrow as pa

from satline.diagnosis import ROUNDING_NS, Histories, Integers
from satline.prediction._network import Floats
from satline.prediction._signals import LEAST_KNOWN
from satline.reduction import Filters, Reduction, Source, numbers_table

KEEPS = 0.95
FEW = 5
LEAST_DONE = 20
MOST_CHAINS, MOST_CLASSES = 4, 8
LATER = 0.01
OTHERS = "others"
NAMELESS = "transactions"
SUMS = {
    "response_s": "response_us / 1e6",
    "cpu_s": "cpu_us / 1e6",
    "run_delay_s": "run_delay_us / 1e6",
    "page_wait_s": "page_wait_us / 1e6",
    "io_wait_s": "io_wait_us / 1e6",
    "page_reads": "page_reads",
    "ios": "ios",
}


@dataclass(frozen=True)
class Accounts:
    """Sums over the transactions that ended in each observation.

    chains, classes
        Names.
    done
        How many ended: shape (chains, classes, observations).
    sums
        By measure of `SUMS`, of the same shape; one that most transactions lack is not there. With queues
        also ``first_s``, processor time before the end of Q1, and of transactions that ended in Q1
        ``quick_cpu_s``, ``quick_delay_s`` and ``quick_bursts``, how often they ran until they waited for a
        page or an I/O; ``bursts`` are those of all. Without accounts of processor time and reads
        ``under_way``, transactions by the part of their time that lies in each observation.
    part
        What part of the users at each load class each chain is: shape (chains, load classes).
    """

    chains: tuple[str, ...]
    classes: tuple[str, ...]
    done: Floats
    sums: Mapping[str, Floats]
    part: Floats

    def joined(self, groups: Sequence[Sequence[int]]) -> Accounts:
        """The same with classes joined, each group one."""

        def added(values: Floats) -> Floats:
            return np.stack([values[:, list(g)].sum(axis=1) for g in groups], axis=1)

        names = tuple(" + ".join(self.classes[k] for k in g) for g in groups)
        sums = {name: added(values) for name, values in self.sums.items()}
        return replace(self, classes=names, done=added(self.done), sums=sums)


def accounts(
    recording: Source, reduction: Reduction, number: Integers, filters: Filters | None = None
) -> Accounts | None:
    """Take the transactions' accounts from a recording.

    Parameters
    ----------
    number
        Load class of each observation, −1 for those that do not count.

    Returns
    -------
    ``None`` where no transaction ended in these observations.
    """
    histories = Histories(recording, reduction)
    connection = histories.connection
    places = np.arange(len(number))
    connection.register("class_place", numbers_table({"place": places, "number": np.asarray(number)}))
    users = (filters or Filters()).user_sql()
    known = {
        row[0] for row in connection.execute("SELECT column_name FROM (DESCRIBE transaction)").fetchall()
    }
    wanted = ("think_us", "typing_us", "interactive", *(f.split()[0] for f in SUMS.values()))
    columns = ", ".join(f'"{c}"' if c in known else f'NULL::BIGINT AS "{c}"' for c in dict.fromkeys(wanted))
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE class_span AS
        SELECT "user", script, class, {columns}, monotonic_ns - {ROUNDING_NS} AS begun,
            monotonic_ns + response_us * 1000 - {ROUNDING_NS} AS t
        FROM transaction WHERE response_us IS NOT NULL AND outcome IN ('ok', 'unexpected')
            AND phase IS DISTINCT FROM 'logon' AND {users}""")
    connection.execute("""
        CREATE OR REPLACE TEMP TABLE class_work AS
        SELECT o.place, p.number, e.* EXCLUDE (begun, t) FROM class_span e
        ASOF JOIN history_observation o ON e.t > o.t0
        JOIN class_place p ON p.place = o.place WHERE e.t <= o.t1 AND p.number >= 0""")
    seen = connection.execute(
        'SELECT "user", script, class, count(*) FROM class_work GROUP BY ALL ORDER BY ALL'
    ).fetchall()
    if not seen:
        return None
    chain_of, chains = _chains(seen)
    class_of, classes = _classes(seen)
    connection.register(
        "class_kind",
        pa.table(
            {
                "user": pa.array([row[0] for row in seen], pa.string()),
                "script": pa.array([row[1] for row in seen], pa.string()),
                "class": pa.array([row[2] for row in seen], pa.string()),
                "chain": pa.array([chain_of[row[0]] for row in seen], pa.int64()),
                "kind": pa.array([class_of[_label(row)] for row in seen], pa.int64()),
            }
        ),
    )
    shape = len(chains), len(classes), len(number)
    done, sums = _sums(connection, shape)
    if not {"cpu_s", "page_reads", "ios"} <= sums.keys():
        sums["under_way"] = _under_way(connection, shape)
    part = _parts(connection, len(chains), number, reduction.load_axis == "users")
    return Accounts(chains, classes, done, sums, part)


_OF_KIND = """JOIN class_kind k ON w."user" IS NOT DISTINCT FROM k."user"
    AND w.script IS NOT DISTINCT FROM k.script AND w.class IS NOT DISTINCT FROM k.class"""
_JOINED = f"class_work w {_OF_KIND}"


def _sums(
    connection: duckdb.DuckDBPyConnection, shape: tuple[int, int, int]
) -> tuple[Floats, dict[str, Floats]]:
    """Transactions done, and the sums of what is known of them."""
    formulas = dict(SUMS)
    counts = ", ".join(f"count({f})" for f in formulas.values())
    row = connection.execute(f"SELECT count(*), count(interactive), {counts} FROM class_work").fetchone()
    assert row is not None
    total, queued, *of = row
    formulas = {n: f for (n, f), k in zip(formulas.items(), of, strict=True) if k >= LEAST_KNOWN * total}
    if queued >= LEAST_KNOWN * total and {"cpu_s", "run_delay_s"} <= formulas.keys():
        later = connection.execute(
            f"SELECT count(*), quantile_cont(cpu_us, {LATER}) FROM class_work WHERE interactive = 0"
        ).fetchone()
        if later is not None and later[0] >= max(LEAST_DONE, LATER * total) and later[0] < total:
            # no transaction that went on into Q2 took less than Q1 allows
            end = float(later[1])
            formulas["first_s"] = f"CASE WHEN interactive = 1 THEN cpu_us ELSE least(cpu_us, {end}) END / 1e6"
            formulas["quick_cpu_s"] = "CASE WHEN interactive = 1 THEN cpu_us ELSE 0 END / 1e6"
            formulas["quick_delay_s"] = "CASE WHEN interactive = 1 THEN run_delay_us ELSE 0 END / 1e6"
            if {"page_reads", "ios"} <= formulas.keys():
                formulas["bursts"] = "1 + page_reads + ios"
                formulas["quick_bursts"] = "CASE WHEN interactive = 1 THEN 1 + page_reads + ios ELSE 0 END"
    added = ", ".join(f"coalesce(sum(greatest({f}, 0)), 0)::DOUBLE AS {n}" for n, f in formulas.items())
    found = connection.execute(
        f"SELECT chain, kind, place, count(*)::DOUBLE AS done, {added} FROM {_JOINED} GROUP BY ALL"
    ).fetchnumpy()
    at = tuple(np.asarray(found[n], dtype=np.int64) for n in ("chain", "kind", "place"))

    def placed(name: str) -> Floats:
        values = np.zeros(shape)
        values[at] = np.asarray(found[name], dtype=np.float64)
        return values

    return placed("done"), {name: placed(name) for name in formulas}


def _under_way(connection: duckdb.DuckDBPyConnection, shape: tuple[int, int, int]) -> Floats:
    """Transactions under way in each observation, each for the part of its time that lies there."""
    found = connection.execute(
        f"""SELECT chain, kind, o.place,
            sum((least(w.t, o.t1) - greatest(w.begun, o.t0))::DOUBLE / greatest(w.t - w.begun, 1)) AS part
        FROM class_span w JOIN history_observation o ON o.t1 > w.begun AND o.t0 < w.t
        JOIN class_place p ON p.place = o.place {_OF_KIND} WHERE p.number >= 0 GROUP BY ALL"""
    ).fetchnumpy()
    values = np.zeros(shape)
    at = tuple(np.asarray(found[n], dtype=np.int64) for n in ("chain", "kind", "place"))
    values[at] = np.asarray(found["part"], dtype=np.float64)
    return values


def _parts(connection: duckdb.DuckDBPyConnection, chains: int, number: Integers, closed: bool) -> Floats:
    """What part of the users at each load class each chain is: in a study those who were there; elsewhere
    users come and go, and each counts for the time that it was in a transaction or before one."""
    labels = np.unique(number[number >= 0])
    rows = connection.execute(
        f"""SELECT number, chain, count(DISTINCT w."user"), count(think_us) / count(*),
            sum(coalesce(think_us, 0) + coalesce(typing_us, 0) + response_us)::DOUBLE
        FROM {_JOINED} GROUP BY ALL"""
    ).fetchall()
    timed = not closed and all(row[3] >= LEAST_KNOWN for row in rows)
    part = np.zeros((chains, len(labels)))
    for at, chain, users, _, seconds in rows:
        part[chain, np.searchsorted(labels, at)] = seconds if timed else users
    total = part.sum(axis=0)
    everywhere = part.sum(axis=1, keepdims=True) / part.sum()
    return np.asarray(np.where(total > 0, part / np.maximum(total, 1e-300), everywhere))


Row = tuple[str, str | None, str | None, int]


def _label(row: Row) -> str:
    return row[2] or row[1] or NAMELESS


def _classes(seen: Sequence[Row]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Number of each class by its name, most frequent first; rare ones are one class."""
    counts: Counter[str] = Counter()
    for row in seen:
        counts[_label(row)] += row[3]
    ranked = [name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    kept = [name for name in ranked[: MOST_CLASSES - 1] if counts[name] >= LEAST_DONE] or ranked[:1]
    rare = [name for name in ranked if name not in kept]
    if len(rare) == 1 and counts[rare[0]] >= LEAST_DONE:
        kept, rare = [*kept, *rare], []
    names = (*kept, OTHERS) if rare else tuple(kept)
    return {name: kept.index(name) if name in kept else len(kept) for name in ranked}, names


def _chains(seen: Sequence[Row]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Number of each user's chain, and the names of the chains."""
    scripts: dict[str, Counter[str]] = defaultdict(Counter)
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for row in seen:
        scripts[row[0]][row[1] or ""] += row[3]
        kinds[row[0]][_label(row)] += row[3]
    one_script = all(_keeps(c) for c in scripts.values())
    group = {user: c.most_common(1)[0][0] if one_script else "" for user, c in scripts.items()}
    several = len(set(group.values())) > 1
    name: dict[str, str] = {}
    for script in sorted(set(group.values())):
        members = [u for u in group if group[u] == script]
        judged = [u for u in members if kinds[u].total() >= FEW] or members
        first = {u: kinds[u].most_common(1)[0][0] for u in members}
        apart = sum(_keeps(kinds[u]) for u in judged) >= KEEPS * len(judged)
        split = apart and len({first[u] for u in members}) > 1
        for user in members:
            whole = script or "users"
            name[user] = (f"{whole}, {first[user]}" if several else first[user]) if split else whole
    sizes = Counter(name.values())
    ranked = [n for n, _ in sorted(sizes.items(), key=lambda item: (-item[1], item[0]))]
    kept = ranked if len(ranked) <= MOST_CHAINS else ranked[: MOST_CHAINS - 1]
    names = tuple(kept) if len(kept) == len(ranked) else (*kept, OTHERS)
    return {u: kept.index(n) if n in kept else len(kept) for u, n in name.items()}, names


def _keeps(counts: Counter[str]) -> bool:
    return counts.most_common(1)[0][1] >= KEEPS * counts.total()
