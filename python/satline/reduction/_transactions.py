"""Transactions in observations: completions, failures, the exact mean number of users in a transaction.

Also the work that completed ones bring: each counts as what one of its class takes at light load.
"""

from __future__ import annotations

import duckdb

from satline.reduction._filters import Filters

# So many completions of a class, those at the least loads, tell what one of it takes at light load.
LIGHT_COMPLETIONS = 10


def make_transactions(connection: duckdb.DuckDBPyConnection, filters: Filters) -> bool:
    """Tables satline_completion (one row per completed transaction in an observation) and
    satline_transaction (one row per observation).

    A transaction that never completed lasts until its user's next line at that terminal began to be thought
    of, or to the end of the readings; one that was cut off with a terminal of the host until what was seen of
    it last. Returns False when the recording holds no transactions.
    """
    row = connection.execute("SELECT count(*) FROM transaction").fetchone()
    present = bool(row and row[0])
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE satline_work AS
        SELECT *, coalesce(monotonic_ns + response_us * 1000,
            CASE WHEN outcome = 'cut' AND terminal IS NOT NULL
                THEN monotonic_ns + coalesce(reaction_us, 0) * 1000 END,
            lead(monotonic_ns - (coalesce(think_us, 0) + coalesce(typing_us, 0)) * 1000) OVER w,
            greatest(monotonic_ns, (SELECT max(t1) FROM satline_observation))) AS ended
        FROM transaction WHERE {filters.user_sql()}
        WINDOW w AS (PARTITION BY run, "user", terminal ORDER BY monotonic_ns)
    """)
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE satline_completion AS
        SELECT o.obs, w.* FROM satline_work w ASOF JOIN satline_observation o ON w.ended > o.t0
        WHERE w.ended <= o.t1 AND w.phase IS DISTINCT FROM 'logon' AND w.outcome NOT IN ('cut', 'interrupted')
            AND {filters.transaction_sql()}
    """)
    make_work(connection, filters)
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE satline_transaction AS
        WITH inside AS ({under_way()}),
        counts AS (
            SELECT obs, count(*) FILTER (outcome IN ('ok', 'unexpected')) AS done,
                count(*) FILTER (outcome NOT IN ('ok', 'unexpected')) AS failed
            FROM satline_completion GROUP BY obs)
        SELECT obs, coalesce(done, 0)::DOUBLE AS transactions_completed,
            coalesce(failed, 0)::DOUBLE AS transactions_failed, inside_s AS transaction_seconds,
            transaction_work_seconds, transaction_work_alone, transaction_work_here
        FROM inside LEFT JOIN counts USING (obs) LEFT JOIN satline_class_work USING (obs)
    """)
    if not present:
        connection.execute("DELETE FROM satline_transaction")
    return present


def under_way(kind: str = "''", where: str = "TRUE") -> str:
    """SELECT of obs, kind and inside_s: the integral over the observation of the number of transactions of
    satline_work that were under way, by `kind`, an expression in its columns.

    Integral to T of that number: Σ (T − begin) over those begun − Σ (T − end) over those ended.
    """
    return f"""
        WITH steps AS (
            SELECT kind, t, sum(s) AS s, sum(s * t) AS st FROM (
                SELECT {kind} AS kind, unnest([1, -1]) AS s,
                    unnest([monotonic_ns, greatest(ended, monotonic_ns)]) // 1000 AS t
                FROM satline_work WHERE {where})
            GROUP BY kind, t),
        sums AS (
            SELECT kind, t, sum(s) OVER w AS n, sum(st) OVER w AS nt FROM steps
            WINDOW w AS (PARTITION BY kind ORDER BY t)),
        kinds AS (SELECT kind FROM steps UNION SELECT ''),
        bounds AS (
            SELECT obs, kind, t0 // 1000 AS moment, -1 AS sign FROM satline_observation, kinds
            UNION ALL SELECT obs, kind, t1 // 1000, 1 FROM satline_observation, kinds)
        SELECT obs, b.kind, sum(sign * coalesce(n * moment - nt, 0))::DOUBLE / 1e6 AS inside_s
        FROM bounds b ASOF LEFT JOIN sums s ON b.kind = s.kind AND b.moment >= s.t GROUP BY ALL"""


def make_work(connection: duckdb.DuckDBPyConnection, filters: Filters) -> None:
    """Table satline_class_work, one row per observation, from satline_work and satline_completion.

    With w_c the seconds that one of class c takes at light load, Z_c the mean pause before one, and of the
    observation n_c the completed ones and L_c the seconds that some were under way, whether they ever ended
    or not:

    transaction_work_seconds
        Σ w_c n_c
    transaction_work_alone, transaction_work_here
        Σ w_c n_c (Z_c + w_c) and Σ w_c (n_c Z_c + L_c). By Little's law L_c ÷ n_c is the response time.

    What never completes at any load takes at least as long as it was under way. Without intended loads all
    are null, and so is an observation in which a class completes of which nothing is known.
    """
    known = connection.execute("SELECT count(users) FROM satline_completion").fetchone()
    if not known or not known[0]:
        # An imported log has no intended loads, and may have ever so many classes.
        columns = (f"NULL::DOUBLE AS transaction_work_{name}" for name in ("seconds", "alone", "here"))
        connection.execute(f"""
            CREATE OR REPLACE TEMP TABLE satline_class_work AS
            SELECT obs, {", ".join(columns)} FROM satline_observation LIMIT 0
        """)
        return
    where = f"phase IS DISTINCT FROM 'logon' AND {filters.transaction_sql()}"
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE satline_class AS
        WITH began AS (
            SELECT coalesce(class, '') AS kind,
                avg(coalesce(think_us, 0) + coalesce(typing_us, 0)) / 1e6 AS pause_s,
                avg(ended - monotonic_ns) / 1e9 AS under_way_s
            FROM satline_work WHERE users IS NOT NULL AND {where} GROUP BY ALL),
        done AS (
            SELECT coalesce(class, '') AS kind, users, response_us,
                count(*) OVER (PARTITION BY class ORDER BY users) AS up_to,
                count(*) OVER (PARTITION BY class) AS of_all
            FROM satline_completion WHERE outcome IN ('ok', 'unexpected') AND users IS NOT NULL),
        light AS (
            SELECT kind, min(users) AS light FROM done
            WHERE up_to >= least({LIGHT_COMPLETIONS}, of_all) GROUP BY kind),
        alone AS (
            SELECT kind, avg(response_us) / 1e6 AS work_s
            FROM done JOIN light USING (kind) WHERE users <= light GROUP BY kind)
        SELECT kind, coalesce(work_s, under_way_s) AS work_s, pause_s FROM began LEFT JOIN alone USING (kind)
    """)
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE satline_class_work AS
        WITH inside AS ({under_way("coalesce(class, '')", where)}),
        counts AS (
            SELECT obs, coalesce(class, '') AS kind, count(*) AS done
            FROM satline_completion WHERE outcome IN ('ok', 'unexpected') GROUP BY ALL),
        each AS (
            SELECT obs, work_s, pause_s, inside_s, coalesce(done, 0) AS done
            FROM inside LEFT JOIN counts USING (obs, kind) LEFT JOIN satline_class USING (kind)),
        known AS (
            SELECT obs, sum(work_s * done) AS work, sum(work_s * done * (pause_s + work_s)) AS alone,
                sum(work_s * (done * pause_s + inside_s)) AS here,
                coalesce(bool_or(done > 0 AND work_s IS NULL), FALSE) AS is_lacking
            FROM each GROUP BY obs)
        SELECT obs, CASE WHEN NOT is_lacking THEN work END AS transaction_work_seconds,
            CASE WHEN NOT is_lacking THEN alone END AS transaction_work_alone,
            CASE WHEN NOT is_lacking THEN here END AS transaction_work_here
        FROM known
    """)
