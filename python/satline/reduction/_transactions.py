"""Transactions in observations: completions, failures, and the exact mean number of users in a
transaction."""

from __future__ import annotations

import duckdb

from satline.reduction._filters import Filters
from satline.reduction._under_way import under_way
from satline.reduction._work import make_work


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
