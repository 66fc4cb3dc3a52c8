"""From a recording's window to what the search for the knee is given: throughput by blocks, and the rest.

    recording = Recording.open(path)
    about = About.of(recording)                  # once
    parts = window_of(recording.connect(), step, about=about)
    if parts is not None:
        search.add(Window(**parts.fields()))

The throughput is of lines per second. A line counts as what one of its class takes at light load, divided by
the mean of that over the stated mix (decision 18), so that the unit stays a line; with `work={}` each counts
as one. It is corrected by `variates.corrected`. What the lines of a class take at light load comes from the
lightest windows of the recording: `light_work`. A caller that adds windows one by one keeps what it got after
the first, and gives it from then on, so that windows stay comparable.

A window may be asked for as soon as it has ended, or later: lines under way count as those of their kind that
lasted as long, so that both agree in the mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from satline.windows.stated import Stated
from satline.windows.steady import window_steadiness

if TYPE_CHECKING:
    import duckdb

    from satline.reduction import Source
    from satline.windows.variates import Corrected, Cycles, Floats

# So many completions of a class, those at the least loads, tell what one of it takes at light load.
LIGHT_COMPLETIONS = 10
LEAST_BLOCK_S = 0.5
MOST_BLOCKS = 20
LEAST_BLOCKS = 5

Work = Mapping[tuple[str, str], float]
Row = tuple[Any, ...]


@dataclass(frozen=True)
class About:
    """What is known of a study beside its tables.

    stated
        Of its workload; without it neither think times nor commands can be held against what they should be.
    processors, cgroup, quota
        The load's: numbers, control group and limit, in processors; ``None``: all, none of its own, no limit.
    """

    stated: Stated | None = None
    processors: tuple[int, ...] | None = None
    cgroup: str | None = None
    quota: float | None = None

    @classmethod
    def of(cls, recording: Source, with_workload: bool = True) -> About:
        """As the recording's description has it.

        Raises
        ------
        InputError
            Its workload is none of the emulator's: without it (`with_workload`) less is corrected.
        """
        study = (recording.description.get("study") or {}) if with_workload else {}
        system = recording.description.get("system_under_test") or {}
        text = study.get("workload")
        processors = system.get("processors")
        quota = (system.get("limits") or {}).get("cpu_quota_processors")
        return cls(
            Stated.read(text) if text else None,
            tuple(processors) if isinstance(processors, list) else None,
            system.get("cgroup"),
            None if quota is None else float(quota),
        )


@dataclass(frozen=True)
class _Step:
    """A step of one of the emulator's runs into a recording; run ``None``: it has one run."""

    number: int
    run: int | None

    def where(self, further: int = 0) -> str:
        """In SQL: rows of it, or of so many steps later."""
        run = "" if self.run is None else f" AND run = {int(self.run)}"
        return f"step = {int(self.number) + further}{run}"

    @property
    def where_run(self) -> str:
        """In SQL: rows of its run."""
        return "true" if self.run is None else f"run = {int(self.run)}"


@dataclass(frozen=True)
class Parts:
    """The fields of `satline.knee.Window` for one window, and how they came about.

    users, begin_s, block_s, throughput, reactions_s, waiting, taken, settled, spread_is_error
        As there.
    corrected
        Throughput before and after, the elasticity used, what was drawn against what is stated.
    cut_s
        Seconds left out at the window's begin because it was not yet steady.
    """

    users: int
    begin_s: float
    block_s: float
    throughput: Floats
    reactions_s: Floats
    waiting: float | None
    taken: float | None
    settled: bool
    spread_is_error: bool
    corrected: Corrected = field(metadata={"beside": True})
    cut_s: float = field(default=0.0, metadata={"beside": True})

    def fields(self) -> dict[str, Any]:
        """The keywords of `satline.knee.Window`."""
        return {f.name: getattr(self, f.name) for f in fields(self) if not f.metadata.get("beside")}


def window_of(
    connection: duckdb.DuckDBPyConnection,
    step: int,
    *,
    run: int | None = None,
    about: About | None = None,
    work: Work | None = None,
    elasticity: float | None = None,
    blocks: int | None = None,
    warm_up: bool = False,
) -> Parts | None:
    """The window of a step of a connected recording; ``None`` where it has none that ended.

    Parameters
    ----------
    run
        Of the emulator's runs into this recording, the number; ``None``: it has one.
    about
        `About.of` the recording.
    work
        Seconds that a line of (script, class) takes at light load; ``None``: `light_work`. Empty: each line
        counts as one, and the mix is not corrected.
    elasticity
        Of throughput in users at this load, where the caller knows a curve: 1 at light load, 0 where
        saturated. ``None``: by a model of a closed system.
    blocks
        Into how many the window is cut. Default: 5 to 20, of a second or more where it is long enough.
    warm_up
        Use the warm-up too, as far as it is steady: from the ramp's end on, twice what MSER-5 finds is left
        out, half at most. Where it cannot tell, the window is as stated; where that has a trend
        (`window_steadiness`) it is not settled.
    """
    which = _Step(step, run)
    bounds = connection.execute(
        "SELECT max(monotonic_ns) FILTER (event = 'window-start'), max(monotonic_ns) FILTER "
        f"(event = 'window-end'), max(users) FROM event WHERE {which.where()} AND source = 'terminal'"
    ).fetchone()
    if bounds is None or None in bounds or bounds[1] <= bounds[0]:
        return None
    users, known = int(bounds[2]), about or About()
    light = light_work(connection) if work is None else dict(work)
    asked = (connection, which, users, known, light, elasticity)
    begin_ns = _ramp_end(connection, which, bounds[0]) if warm_up else bounds[0]
    if begin_ns >= bounds[0]:
        return _between((bounds[0], bounds[1]), blocks, *asked)
    cut_ns = _steady_from((begin_ns, bounds[1]), *asked)
    if cut_ns is None:
        steady = window_steadiness(connection, step, run).steady
        return replace(_between((bounds[0], bounds[1]), blocks, *asked), settled=steady is not False)
    found = _between((cut_ns, bounds[1]), blocks, *asked)
    return replace(found, cut_s=(cut_ns - begin_ns) / 1e9)


def _ramp_end(connection: duckdb.DuckDBPyConnection, step: _Step, start_ns: int) -> int:
    """When the ramp was over: the first line of the warm-up was sent, and all had logged on."""
    row = connection.execute(
        f"""
        SELECT (SELECT min(monotonic_ns) FROM transaction WHERE {step.where()} AND phase = 'warmup'),
            (SELECT max(monotonic_ns) FROM event WHERE {step.where()} AND event = 'logged-on')
        """
    ).fetchone()
    if row is None or row[0] is None:
        return start_ns
    return min(start_ns, max(int(at) for at in row if at is not None))


def _steady_from(
    between: tuple[int, int],
    connection: duckdb.DuckDBPyConnection,
    step: _Step,
    users: int,
    about: About,
    light: Work,
    elasticity: float | None,
) -> int | None:
    """From when on throughput and response are steady; ``None``: they are not, or it is too short to tell."""
    import numpy as np

    from satline.simulation import mser

    seconds = (between[1] - between[0]) / 1e9
    count = int(seconds / LEAST_BLOCK_S)
    if count < 2 * LEAST_BLOCKS:
        return None
    parts = _between(between, count, connection, step, users, about, light, elasticity)
    rows = _rows(connection, *between)
    ended = np.array(
        [(row[3] + row[7] * 1000 - between[0]) / 1e9 for row in rows if row[8]], dtype=np.float64
    )
    logs = np.log([max(row[7], 1) for row in rows if row[8]])
    place = (ended / seconds * count).astype(np.int64)
    inside = (ended >= 0) & (place < count)
    number = np.bincount(place[inside], minlength=count)
    response = np.full(count, np.nan)
    total = np.bincount(place[inside], weights=logs[inside], minlength=count)
    response[number > 0] = total[number > 0] / number[number > 0]
    found = [mser(series) for series in (parts.throughput, response)]
    if not all(one.valid for one in found):
        return None
    cut = min(2 * max(one.batches for one in found), count // 2)
    return between[0] + round(cut * (between[1] - between[0]) / count)


def light_work(connection: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], float]:
    """Seconds that a line of (script, class) takes at light load: the mean of the first ten or more of it in
    windows, by the steps' users (decision 18). Classes that were not yet answered are absent."""
    rows = connection.execute(f"""
        WITH done AS (
            SELECT coalesce(script, '') AS script, coalesce(class, '') AS class, users, response_us,
                count(*) OVER (PARTITION BY script, class ORDER BY users) AS up_to,
                count(*) OVER (PARTITION BY script, class) AS of_all
            FROM transaction WHERE phase = 'window' AND outcome IN ('ok', 'unexpected')
                AND response_us IS NOT NULL AND users IS NOT NULL),
        light AS (
            SELECT script, class, min(users) AS light FROM done
            WHERE up_to >= least({LIGHT_COMPLETIONS}, of_all) GROUP BY ALL)
        SELECT script, class, avg(response_us) / 1e6 FROM done JOIN light USING (script, class)
        WHERE users <= light GROUP BY ALL ORDER BY ALL
    """).fetchall()
    return {(script, kind): float(seconds) for script, kind, seconds in rows}


def _between(
    between: tuple[int, int],
    blocks: int | None,
    connection: duckdb.DuckDBPyConnection,
    step: _Step,
    users: int,
    about: About,
    light: Work,
    elasticity: float | None,
) -> Parts:
    import numpy as np

    from satline.windows.variates import corrected

    begin_ns, end_ns = between
    rows = _rows(connection, begin_ns, end_ns)
    cycles = _cycles(connection, rows, step, between, users, about.stated, light)
    seconds = (end_ns - begin_ns) / 1e9
    count = blocks or int(min(MOST_BLOCKS, max(LEAST_BLOCKS, seconds)))
    count = max(1, min(count, int(seconds / LEAST_BLOCK_S)))
    left = left_of(connection, np.linspace(begin_ns, end_ns, count + 1), about)
    found = corrected(cycles, 0.0, seconds, count, users, elasticity=elasticity, left=left)
    inside = [row for row in rows if begin_ns <= row[3] < end_ns and row[8]]
    reactions = np.array([row[6] / 1e6 for row in inside if row[6] is not None], dtype=np.float64)
    began = connection.execute(
        "SELECT min(monotonic_ns) FROM event WHERE event = 'step' AND source = 'terminal'"
    ).fetchone()
    return Parts(
        users=users,
        begin_s=(begin_ns - (began[0] if began and began[0] is not None else begin_ns)) / 1e9,
        block_s=seconds / count,
        throughput=found.throughput,
        reactions_s=reactions,
        waiting=_waiting(inside, light),
        taken=None if left is None else float(1 - left.mean()),
        settled=True,
        spread_is_error=True,
        corrected=found,
    )


def _rows(connection: duckdb.DuckDBPyConnection, begin_ns: int, end_ns: int) -> list[Row]:
    """Lines any part of whose cycle lies within, in the order of users and time: user, script, class, when it
    was sent, think and pause (us), reaction, response, whether it counts, and the end of the line before."""
    return connection.execute(
        """
        WITH line AS (
            SELECT "user", coalesce(script, '') AS script, coalesce(class, '') AS class, monotonic_ns, phase,
                think_us, coalesce(think_us, 0) + coalesce(typing_us, 0) + greatest(0,
                    coalesce(lateness_us, 0)) AS pause_us, reaction_us, response_us, outcome,
                lag(monotonic_ns + response_us * 1000) OVER w AS before_ns, lag(phase) OVER w AS before_phase
            FROM transaction WINDOW w AS (PARTITION BY run, "user" ORDER BY monotonic_ns))
        SELECT "user", script, class, monotonic_ns, think_us, pause_us, reaction_us, response_us,
            outcome IN ('ok', 'unexpected') AND response_us IS NOT NULL, before_ns,
            before_phase IS NULL OR before_phase = 'logon' OR before_ns IS NULL, outcome = 'cut'
        FROM line WHERE phase <> 'logon' AND monotonic_ns + coalesce(response_us, 0) * 1000 >= $begin
            AND coalesce(before_ns, monotonic_ns - pause_us * 1000) <= $end
        ORDER BY "user", monotonic_ns
        """,
        {"begin": begin_ns, "end": end_ns},
    ).fetchall()


def _cycles(
    connection: duckdb.DuckDBPyConnection,
    rows: list[Row],
    step: _Step,
    between: tuple[int, int],
    users: int,
    stated: Stated | None,
    light: Work,
) -> Cycles:
    """The cycles of these rows, seconds from the window's begin, and the open ones of users who are on."""
    import numpy as np

    from satline.windows.variates import Cycles

    nan = float("nan")
    begin_ns, end_ns = between
    kinds: dict[str, int] = {}
    scale, expected = _expected(stated, light, {row[1] for row in rows})
    columns: dict[str, list[Any]] = {name: [] for name in Cycles.__dataclass_fields__}

    names: dict[str, int] = {}

    def stayed(user: str) -> bool:
        number = _number(user)
        return next_users is not None and (number is None or number <= next_users)

    def add(user: str, script: str, **values: Any) -> None:
        work, light_s, think_s = expected[script]
        usual = {
            "user": names.setdefault(user, len(names)),
            "kind": kinds.setdefault(script, len(kinds)),
            "pause_s": nan,
            "think_s": nan,
            "expected_think_s": think_s,
            "work": work,
            "expected_work": work if light_s == light_s else nan,
            "light_s": nan,
            "expected_light_s": light_s,
            "paused": False,
            "known_s": nan,
        }
        for name, value in {**usual, **values}.items():
            columns[name].append(value)

    next_users, known_ns = _afterwards(connection, step, end_ns)
    last: dict[str, tuple[str, int]] = {}
    for row in rows:
        user, script, kind, sent_ns, think_us, pause_us, _, response_us, counts, before_ns, fresh, is_cut = (
            row
        )
        stays = before_ns is not None and 0 <= sent_ns - before_ns - pause_us * 1000 < 1e9
        began_ns = before_ns if stays else sent_ns - pause_us * 1000
        if response_us is None:
            if is_cut:
                # Who left hung up some time after the window.
                until_ns = max(known_ns if stayed(user) else end_ns, sent_ns)
                end = {"end_s": nan, "known_s": (until_ns - begin_ns) / 1e9}
                add(user, script, begin_s=(began_ns - begin_ns) / 1e9, **end)
            last.pop(user, None)
            continue
        took = light.get((script, kind), nan)
        # Without what one takes at light load it counts as expected.
        share = took / scale if took == took else expected[script][0]
        add(
            user,
            script,
            begin_s=(began_ns - begin_ns) / 1e9,
            end_s=(sent_ns + response_us * 1000 - begin_ns) / 1e9,
            pause_s=(sent_ns - began_ns) / 1e9,
            # The first after a log-on is anywhere within a think time.
            think_s=think_us / 1e6 if think_us is not None and not fresh else nan,
            work=share if counts else 0.0,
            light_s=took,
        )
        last[user] = (script, sent_ns + response_us * 1000)
    for user, (script, ended_ns) in last.items():
        number = _number(user)
        if ended_ns >= end_ns or (number is not None and number > users):
            continue
        add(
            user,
            script,
            begin_s=(ended_ns - begin_ns) / 1e9,
            end_s=nan,
            # Who leaves is off at once unless it waits, and then the line is recorded.
            paused=not stayed(user) and known_ns > end_ns,
            known_s=((known_ns if stayed(user) else end_ns) - begin_ns) / 1e9,
        )
    types = {"user": np.int64, "kind": np.int64, "paused": np.bool_}
    return Cycles(**{name: np.array(v, dtype=types.get(name, np.float64)) for name, v in columns.items()})


def _expected(
    stated: Stated | None, light: Work, scripts: set[str]
) -> tuple[float, dict[str, tuple[float, float, float]]]:
    """Seconds at light load that count as one line; by script what a line counts as, its response at light
    load and its think time, all in the mean, NaN where the workload does not say."""
    nan = float("nan")
    scale = line_seconds(stated, light) or 1.0
    if stated is None or not light:
        own = {s: [v for (name, _), v in light.items() if name == s] for s in scripts}
        counts = {s: sum(of) / len(of) / scale if of else 1.0 for s, of in own.items()}
        think = stated.think_s if stated is not None else {}
        return scale, {s: (counts[s], nan, think.get(s, nan)) for s in scripts}
    means = _means(stated, light)
    expected = {}
    for script in scripts:
        mean = means.get(script, nan)
        expected[script] = (mean / scale if mean == mean else 1.0, mean, stated.think_s.get(script, nan))
    return scale, expected


def line_seconds(stated: Stated | None, light: Work) -> float | None:
    """Seconds at light load that count as one line: the mean over the stated mix, else over the classes;
    ``None``: nothing is known of what lines take."""
    if not light:
        return None
    means = {} if stated is None else _means(stated, light)
    of = list((means or light).values())
    return sum(of) / len(of)


def _means(stated: Stated, light: Work) -> dict[str, float]:
    """By script, seconds that a line of its stated mix takes at light load in the mean, where known."""
    means = {}
    for script, of in stated.shares.items():
        known = {kind: share for kind, share in of.items() if (script, kind) in light}
        # Of a class that was not seen yet the others must tell; where they are too few, nothing does.
        if (total := sum(known.values())) > 0.5:
            means[script] = sum(light[script, kind] * share for kind, share in known.items()) / total
    return means


def _afterwards(connection: duckdb.DuckDBPyConnection, step: _Step, end_ns: int) -> tuple[int | None, int]:
    """Users of the next step, ``None`` where there is none; up to when lines that ended are known."""
    row = connection.execute(
        f"""
        SELECT (SELECT max(users) FROM event
                WHERE event = 'step' AND {step.where(1)} AND source = 'terminal'),
            (SELECT max(monotonic_ns + coalesce(response_us, 0) * 1000) FROM transaction
                WHERE {step.where_run}),
            (SELECT max(monotonic_ns) FROM event WHERE source = 'terminal' AND {step.where_run})
        """
    ).fetchone()
    assert row is not None
    return (None if row[0] is None else int(row[0])), max(end_ns, *(at for at in row[1:] if at is not None))


def _number(user: str) -> int | None:
    """The number in a user's name: the first so many are logged on."""
    found = re.search(r"(\d+)$", user)
    return int(found[1]) if found else None


def _waiting(inside: list[Row], light: Work) -> float | None:
    """Part of the response time beyond what the lines would have taken at light load."""
    pairs = [
        (row[7] / 1e6, light[row[1], row[2]])
        for row in inside
        if row[7] is not None and (row[1], row[2]) in light
    ]
    total = sum(response for response, _ in pairs)
    return max(0.0, 1.0 - sum(alone for _, alone in pairs) / total) if total > 0 else None


def left_of(connection: duckdb.DuckDBPyConnection, edges_ns: Floats, about: About) -> Floats | None:
    """By interval, the part of the load's processor capacity that others left.

    Taken is what the hypervisor gave to others and, where the load has a control group of its own, what ran
    outside of it (`left_cpu` of the catalogue). Counters are interpolated between samples.
    ``None``: it was not recorded over all of the time.
    """
    import numpy as np

    where = ""
    if about.processors:
        where = f"WHERE processor IN ({', '.join(repr(str(int(p))) for p in about.processors)})"
    busy = connection.execute(f"""
        SELECT monotonic_ns, sum(steal_us), sum(user_us + coalesce(nice_us, 0) + system_us
            + coalesce(irq_us, 0) + coalesce(guest_us, 0)), count(*)
        FROM processor {where} GROUP BY monotonic_ns ORDER BY ALL
    """).fetchall()
    count = max((int(row[3]) for row in busy), default=0)
    allowed = count if about.processors is None else len(about.processors)
    capacity = min(allowed, about.quota or allowed)
    own = connection.execute(
        "SELECT monotonic_ns, cpu_us FROM cgroup WHERE cgroup = ? AND cpu_us IS NOT NULL ORDER BY 1",
        [about.cgroup],
    ).fetchall()
    whole = [row for row in busy if row[3] == count]
    if len(whole) < 2 or whole[0][0] > edges_ns[1] or whole[-1][0] < edges_ns[-2]:
        return None
    seconds = np.diff(edges_ns) / 1e9

    def gained(rows: list[Row], place: int) -> Floats | None:
        values = [row[place] for row in rows]
        if len(rows) < 2 or None in values:
            return None
        at = np.array([row[0] for row in rows], dtype=np.float64)
        gain: Floats = np.diff(np.interp(edges_ns, at, np.array(values, dtype=np.float64))) / 1e6 / seconds
        return np.maximum(gain, 0.0)

    stolen, used, load = gained(whole, 1), gained(whole, 2), gained(own, 1)
    if stolen is None and load is None:
        return None
    taken = np.zeros(len(seconds)) if stolen is None else stolen
    if load is not None and used is not None:
        taken = taken + np.maximum(used - load, 0.0)
    return np.clip(count - taken, 0.0, capacity) / capacity
