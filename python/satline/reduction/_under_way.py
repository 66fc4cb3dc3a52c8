"""How long transactions were under way in each observation."""

from __future__ import annotations


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
