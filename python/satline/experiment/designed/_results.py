"""What the runs of a design yielded: one row for each run and class of commands.

Interactions of one run are not independent of each other, so that a run is one number: a mean, a percentile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from satline.experiment.designs import Plan, Run

if TYPE_CHECKING:
    import duckdb

ALL = "all"
MEASURES = {
    "reaction_s": "mean reaction, s",
    "reaction_p90_s": "90 % of reactions within, s",
    "response_s": "mean response, s",
    "response_p90_s": "90 % of responses within, s",
    "interactions_per_minute": "interactions per minute",
    "satisfaction": "satisfaction, part",
}


@dataclass(frozen=True)
class Figures:
    """One run, one class of commands (`ALL`: all of them).

    reaction_s, response_s, …_p90_s
        Means and 90th percentiles of the interactions that began in the measured window; ``None``: none.
        A command that answers nothing reacts with its prompt.
    failed, unanswered
        Of them: those that failed, and those that had no answer when the run ended; neither is in the means.
    satisfaction
        Part of them whose reaction came in time; what failed or had no answer was not in time.
    """

    class_name: str
    users: int | None
    interactions: int
    failed: int
    unanswered: int
    reaction_s: float | None
    reaction_p90_s: float | None
    response_s: float | None
    response_p90_s: float | None
    interactions_per_minute: float
    satisfaction: float | None


@dataclass(frozen=True)
class RunResult:
    """A run of the plan and its figures, by class; its recording, flags and seed."""

    run: Run
    recording: Path
    flags: tuple[str, ...]
    seed: int | None
    figures: tuple[Figures, ...]


def measured_step(connection: duckdb.DuckDBPyConnection) -> int | None:
    """The last step that has a whole measured window."""
    row = connection.execute("SELECT max(step) FROM event WHERE event = 'window-end'").fetchone()
    return None if row is None or row[0] is None else int(row[0])


def figures_of(recording: Path, within_s: float) -> list[Figures]:
    """The figures of a run's last measured window, `ALL` first, then the classes by name."""
    from satline.recording import Recording

    with Recording.open(recording).connect(tables=["event", "transaction"]) as connection:
        step = measured_step(connection)
        if step is None:
            return []
        rows = connection.execute(
            f"""
            WITH bounds AS (SELECT (max(monotonic_ns) FILTER (event = 'window-end')
                    - max(monotonic_ns) FILTER (event = 'window-start')) / 6e10 AS minutes
                FROM event WHERE step = $step),
            own AS (SELECT class, users, outcome = 'cut' AS cut,
                    outcome NOT IN ('ok', 'unexpected') AS failed,
                    coalesce(reaction_us, response_us) / 1e6 AS reaction,
                    response_us / 1e6 AS response
                FROM transaction WHERE phase = 'window' AND step = $step)
            SELECT CASE WHEN grouping(class) = 1 THEN NULL ELSE coalesce(class, '–') END AS name,
                any_value(users), count(*), count(*) FILTER (failed AND NOT cut), count(*) FILTER (cut),
                CASE WHEN $reacts THEN avg(reaction) FILTER (NOT failed) END,
                CASE WHEN $reacts THEN quantile_cont(reaction, 0.9) FILTER (NOT failed) END,
                avg(response) FILTER (NOT failed), quantile_cont(response, 0.9) FILTER (NOT failed),
                count(*) FILTER (NOT failed) / any_value(minutes),
                count(*) FILTER (NOT failed AND reaction <= {within_s!r})::DOUBLE / nullif(count(*), 0)
            FROM own CROSS JOIN bounds GROUP BY GROUPING SETS ((), (class)) ORDER BY name NULLS FIRST
            """,
            {"step": step, "reacts": _reacts(connection)},
        ).fetchall()
    return [Figures(ALL if row[0] is None else row[0], *row[1:]) for row in rows if row[2]]


def _reacts(connection: duckdb.DuckDBPyConnection) -> bool:
    """Does the recording tell reactions at all? One of a simulated machine does not."""
    row = connection.execute("SELECT count(reaction_us) FROM transaction").fetchone()
    return bool(row and row[0])


def results_of(
    plan: Plan, recording: Callable[[Run], Path], done: Callable[[Run], bool], within_s: float
) -> list[RunResult]:
    """Of every run that is done."""
    from satline.recording import describe

    found = []
    for run in plan.runs:
        if not done(run):
            continue
        path = recording(run)
        description = describe.read(path)
        design = description.get("study", {}).get("design", {})
        seed = description.get("study", {}).get("seed", description.get("simulation", {}).get("seed"))
        flags = tuple(design.get("flags", ()))
        found.append(RunResult(run, path, flags, seed, tuple(figures_of(path, within_s))))
    return found


def classes(results: Iterable[RunResult]) -> list[str]:
    """The classes of commands, all together first."""
    names = {figures.class_name for result in results for figures in result.figures}
    return [*([ALL] if ALL in names else []), *sorted(names - {ALL})]
