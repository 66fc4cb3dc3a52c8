"""The work that completed transactions bring: each counts as what one of its class takes at light load."""

from __future__ import annotations

import duckdb

from satline.reduction._filters import Filters
from satline.reduction._under_way import under_way

# So many completions of a class, those at the least loads, tell what one of it takes at light load.
LIGHT_COMPLETIONS = 10


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
