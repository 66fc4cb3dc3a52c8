"""Transactions in observations: completions, failures, and the exact mean number of users in a
transaction."""

from __future__ import annotations

import duckdb

from satline.reduction._filters import Filters

# So many completions of a class, those at the least loads, tell what one of it takes at light load.
LIGHT_COMPLETIONS = 10


def make_transactions(connection: duckdb.DuckDBPyConnection, filters: Filters) -> bool:
    """Tables satline_completion (one row per completed transaction in an observation) and
    satline_transaction (one row per observation).

    A transaction that never completed lasts until its user's next line began to be thought of, or to the end
    of the readings. Returns False when the recording holds no transactions.
    """
    row = connection.execute("SELECT count(*) FROM transaction").fetchone()
    present = bool(row and row[0])
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE satline_work AS
        SELECT *, coalesce(monotonic_ns + response_us * 1000,
            lead(monotonic_ns - (coalesce(think_us, 0) + coalesce(typing_us, 0)) * 1000) OVER w,
            greatest(monotonic_ns, (SELECT max(t1) FROM satline_observation))) AS ended
        FROM transaction WHERE {filters.user_sql()}
        WINDOW w AS (PARTITION BY run, "user" ORDER BY monotonic_ns)
    """)
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE satline_completion AS
        SELECT o.obs, w.* FROM satline_work w ASOF JOIN satline_observation o ON w.ended > o.t0
        WHERE w.ended <= o.t1 AND w.phase IS DISTINCT FROM 'logon' AND w.outcome <> 'cut'
            AND {filters.transaction_sql()}
    """)
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE satline_class_work AS
        WITH seen AS (
            SELECT class, users, response_us, count(*) OVER (PARTITION BY class ORDER BY users) AS up_to,
                count(*) OVER (PARTITION BY class) AS of_all
            FROM satline_completion WHERE outcome IN ('ok', 'unexpected') AND users IS NOT NULL)
        SELECT class, avg(response_us) / 1e6 AS work_s FROM seen
        WHERE users <= (SELECT min(users) FROM seen s
            WHERE s.class IS NOT DISTINCT FROM seen.class AND up_to >= least({LIGHT_COMPLETIONS}, of_all))
        GROUP BY class
    """)
    # Integral to T of the number in a transaction: Σ (T − begin) over those begun − Σ (T − end) over those
    # ended.
    connection.execute("""
        CREATE OR REPLACE TEMP TABLE satline_transaction AS
        WITH steps AS (
            SELECT t, sum(s) AS s, sum(s * t) AS st FROM (
                SELECT monotonic_ns // 1000 AS t, 1 AS s FROM satline_work
                UNION ALL SELECT greatest(ended, monotonic_ns) // 1000, -1 FROM satline_work) GROUP BY t),
        sums AS (SELECT t, sum(s) OVER (ORDER BY t) AS n, sum(st) OVER (ORDER BY t) AS nt FROM steps),
        bounds AS (SELECT obs, t0 // 1000 AS moment, -1 AS sign FROM satline_observation
            UNION ALL SELECT obs, t1 // 1000, 1 FROM satline_observation),
        integrals AS (
            SELECT obs, sum(sign * coalesce(n * moment - nt, 0))::DOUBLE / 1e6 AS transaction_seconds
            FROM bounds ASOF LEFT JOIN sums ON bounds.moment >= sums.t GROUP BY obs),
        pause AS (
            SELECT coalesce(avg(coalesce(think_us, 0) + coalesce(typing_us, 0)), 0) / 1e6 AS think_s
            FROM satline_completion),
        counts AS (
            SELECT obs, count(*) FILTER (outcome IN ('ok', 'unexpected')) AS done,
                count(*) FILTER (outcome NOT IN ('ok', 'unexpected')) AS failed,
                sum(work_s) FILTER (outcome IN ('ok', 'unexpected')) AS work_s,
                sum(work_s * (think_s + work_s)) FILTER (outcome IN ('ok', 'unexpected')) AS work_alone,
                sum(work_s * (think_s + response_us / 1e6))
                    FILTER (outcome IN ('ok', 'unexpected')) AS work_here
            FROM satline_completion c
            LEFT JOIN satline_class_work w ON c.class IS NOT DISTINCT FROM w.class, pause GROUP BY obs)
        SELECT obs, coalesce(done, 0)::DOUBLE AS transactions_completed,
            coalesce(failed, 0)::DOUBLE AS transactions_failed, transaction_seconds,
            CASE WHEN (SELECT count(*) > 0 FROM satline_class_work) THEN coalesce(work_s, 0) END
                AS transaction_work_seconds,
            work_alone AS transaction_work_alone, work_here AS transaction_work_here
        FROM integrals LEFT JOIN counts USING (obs)
    """)
    if not present:
        connection.execute("DELETE FROM satline_transaction")
    return present
