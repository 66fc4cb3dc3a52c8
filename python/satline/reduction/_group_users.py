"""An observation for each user: the tables of a reduction with a row for each user and observation.

The formulas of the catalogue add up over users. For a single one they hold as they stand, if the tables of
users and transactions have only that one's numbers.
"""

from __future__ import annotations

from functools import cache

import duckdb

from satline.reduction._observations import differenced
from satline.reduction._periods import Plan, whole
from satline.reduction._variables import Derived, Variables, variables

# Counted for all users together: of one user's nothing is known.
_TOGETHER = ("d_transactions", "d_transaction_us")


@cache
def user_variables() -> frozenset[str]:
    """Variables that can be told for one user: what they are made of holds for a part of the users too."""
    catalogue = variables()
    derived = {d.name for d in catalogue.derived}

    def bases(d: Derived) -> frozenset[str]:
        """What the formula is made of in the end."""
        return frozenset(n for one in catalogue.closure([d]) for n in one.names) - derived

    own = {f"d_user_{c}" for c in catalogue.counters["user"]} | {
        f"user_{c}" for c in catalogue.levels["user"]
    }
    own |= {"transactions_completed", "transactions_failed", "transaction_seconds"}
    page_share = catalogue.find("page_share")
    shared = {"period_s", "processors", "d_cgroup_quota_throttled_us", *_TOGETHER}
    shared |= bases(page_share) if page_share is not None else set()
    found = {d.name for d in catalogue.of("") if bases(d) & own and bases(d) <= own | shared}
    return frozenset(found | {d.name for d in catalogue.of("transaction")})


def expand(
    connection: duckdb.DuckDBPyConnection,
    catalogue: Variables,
    the_plan: Plan,
    users: str,
    scopes: dict[str, frozenset[str]],
) -> list[str]:
    """Replaces the tables satline_…, so that a user's observation is an observation. Returns the users.

    Table satline_each has the number of each observation's user, from 0.

    Parameters
    ----------
    users
        Condition on the rows of table user.
    scopes
        The tables made, with the columns needed of each.
    """
    run = connection.execute
    present = []
    if "user" in scopes:
        _each_user(connection, catalogue, the_plan, users, scopes["user"])
        present.append('SELECT DISTINCT obs, "user" FROM satline_user_each')
    if "transaction" in scopes:
        present.append("""
            SELECT o.obs, w."user" FROM satline_observation o JOIN (
                SELECT run, "user", min(monotonic_ns) AS first, max(ended) AS last FROM satline_work
                GROUP BY run, "user") w ON o.run = w.run AND o.t1 > w.first AND o.t0 < w.last""")
    if not present:
        present.append('SELECT obs, NULL::VARCHAR AS "user" FROM satline_observation WHERE FALSE')
    run(f"""
        CREATE OR REPLACE TEMP TABLE satline_each AS
        SELECT row_number() OVER (ORDER BY "user", old) AS obs, old, "user",
            dense_rank() OVER (ORDER BY "user") - 1 AS member
        FROM (SELECT obs AS old, "user" FROM ({" UNION ".join(present)}))
    """)
    if "transaction" in scopes:
        _each_transaction(connection)
    for table in ("observation", "processor", "cgroup", "swapper"):
        if table == "observation" or table in scopes:
            run(f"""
                CREATE OR REPLACE TEMP TABLE satline_{table} AS
                SELECT e.obs, t.* EXCLUDE (obs) FROM satline_each e JOIN satline_{table} t ON e.old = t.obs
                ORDER BY e.obs
            """)
    columns = run("SELECT column_name FROM (DESCRIBE satline_observation)").fetchall()
    for name in _TOGETHER:
        if (name,) in columns:
            run(f"UPDATE satline_observation SET {name} = NULL")
    if "user" in scopes:
        run("""
            CREATE OR REPLACE TEMP TABLE satline_user AS
            SELECT e.obs, u.* EXCLUDE (obs, "user") FROM satline_each e
            JOIN satline_user_each u ON e.old = u.obs AND e."user" = u."user"
        """)
    names = run('SELECT DISTINCT member, "user" FROM satline_each ORDER BY member').fetchall()
    return [str(name) for _, name in names]


def _each_user(
    connection: duckdb.DuckDBPyConnection,
    catalogue: Variables,
    the_plan: Plan,
    users: str,
    columns: frozenset[str],
) -> None:
    """Table satline_user_each: the columns of satline_user, by user."""
    wanted = columns | {"cpu_us", "processes"}
    counters = tuple(c for c in catalogue.counters["user"] if c in wanted)
    levels = tuple(c for c in catalogue.levels["user"] if c in wanted)
    source = differenced("user", the_plan.interval_s, ("user",), counters, levels, users)
    sums = (
        *whole(counters, "user_"),
        *(f'avg("{c}") AS "user_{c}"' for c in levels),
        "(sum(d_cpu_us) > 0)::DOUBLE AS users_with_cpu",
        "sum(d_cpu_us)::DOUBLE AS user_cpu_largest_us",
    )
    connection.execute(
        f'CREATE OR REPLACE TEMP TABLE satline_user_each AS SELECT obs, "user", {", ".join(sums)}'
        f' FROM ({source}) GROUP BY obs, "user"'
    )


def _each_transaction(connection: duckdb.DuckDBPyConnection) -> None:
    """satline_transaction and satline_completion by user; nothing of a user without any transaction."""
    connection.execute("""
        CREATE OR REPLACE TEMP TABLE satline_completion AS
        SELECT e.obs, c.* EXCLUDE (obs) FROM satline_completion c
        JOIN satline_each e ON e.old = c.obs AND e."user" = c."user" ORDER BY e.obs
    """)
    connection.execute("""
        CREATE OR REPLACE TEMP TABLE satline_transaction AS
        WITH spent AS (
            SELECT o.obs AS old, w."user",
                sum(least(w.ended, o.t1) - greatest(w.monotonic_ns, o.t0)) / 1e9 AS seconds
            FROM satline_work w JOIN satline_observation o ON w.monotonic_ns < o.t1 AND w.ended > o.t0
            GROUP BY o.obs, w."user"),
        done AS (
            SELECT obs, count(*) FILTER (outcome IN ('ok', 'unexpected')) AS done,
                count(*) FILTER (outcome NOT IN ('ok', 'unexpected')) AS failed
            FROM satline_completion GROUP BY obs)
        SELECT e.obs, coalesce(d.done, 0)::DOUBLE AS transactions_completed,
            coalesce(d.failed, 0)::DOUBLE AS transactions_failed,
            coalesce(s.seconds, 0)::DOUBLE AS transaction_seconds
        FROM satline_each e LEFT JOIN spent s ON s.old = e.old AND s."user" = e."user"
        LEFT JOIN done d ON d.obs = e.obs
        WHERE e."user" IN (SELECT "user" FROM satline_work)
    """)
