"""What a diagnosis yields: a saturation verdict, ranked findings, and what could not be seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["not-saturated", "saturated", "partly-known", "nongranular"]
Room = Literal["room", "short at times", "short", "unknown"]
Bound = Literal["carried", "at least", "at most", "free", "level"]
State = Literal["holds", "does-not-hold", "cannot-judge"]


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval, in `unit`.

    high
        Infinite (null in JSON) without an upper limit.
    """

    value: float
    low: float
    high: float
    unit: str


@dataclass(frozen=True)
class UslFit:
    """The universal scalability law X(N) = λN / (1 + σ(N − 1) + κN(N − 1)), fitted to throughput by load.

    rate
        λ, throughput of a user alone.
    contention, coherency
        σ and κ.
    peak
        Load of its greatest throughput, √((1 − σ)/κ); ``None``: it has none. Without an upper limit where
        more than one in 40 of the fits has none.
    peak_in_range
        The peak's interval ends inside the loads seen; otherwise the peak is extrapolated, and not claimed.
    better_than_broken_line
        It leaves less of the levels unexplained than the broken line.
    """

    rate: Estimate
    contention: Estimate
    coherency: Estimate
    peak: Estimate | None
    peak_in_range: bool
    better_than_broken_line: bool


@dataclass(frozen=True)
class Saturation:
    """Is it saturated, and at what load [Bard].

    outcome
        not-saturated: in the range seen; saturated: at `at`; partly-known: the curve alone does not tell, see
        `bend`, `chance`, `carries`, `reasons` and `advice`; nongranular: a few batch users are the load.
    at
        Saturation load in users with its interval; only when saturated.
    throughput_variable
        The variable judged (completed transactions per second where there are any, else problem-state
        processors).
    throughput_at
        Throughput at saturation.
    slope_before, slope_after
        Throughput per user below and above the breakpoint.
    range_low, range_high
        The loads seen.
    retrograde
        Slope beyond saturation, only where throughput surely falls there; peak: load of greatest throughput.
    usl
        The universal scalability law fitted to the same loads; ``None`` where it does not apply: load is not
        that of a study.
    bend
        Where throughput bends most likely, with the interval of the place (infinite where the range seen does
        not bound it), also where neither is sure that it bends nor why; ``None`` where no line could be
        fitted.
    chance
        Chance that it saturates within the range seen, as far as throughput against load tells; ``None``
        where nothing tells.
    carries
        Load up to which throughput surely still rises with the load; ``None`` where nothing tells.
    regimes
        Where the system changed during the recording: the verdict before the change and after it; where a
        bend rests on one episode: the verdict without it.
    flat
        Throughput of the heaviest third of the loads by that of the lightest, where it surely differs by no
        more than a quarter: the load does not drive it, or the lightest load seen saturates it already.
    left
        What others left of the CPU; ``None`` where they took little, or the CPU does not limit.
    """

    outcome: Outcome
    load_axis: str
    range_low: float | None
    range_high: float | None
    throughput_variable: str | None
    at: Estimate | None = None
    throughput_at: Estimate | None = None
    slope_before: Estimate | None = None
    slope_after: Estimate | None = None
    reasons: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    retrograde: Estimate | None = None
    peak: Estimate | None = None
    usl: UslFit | None = None
    bend: Estimate | None = None
    chance: float | None = None
    carries: float | None = None
    regimes: tuple[Saturation, ...] = ()
    flat: Estimate | None = None
    left: LeftCpu | None = None


@dataclass(frozen=True)
class ResourceUse:
    """How full one resource was over the whole recording.

    mean, high95, most
        Part in use: mean by time with its interval, what it exceeded in 5 % of the time, and the greatest
        observation; ``None`` where nothing says how full it was.
    limit
        Use from which on it counts as short.
    short
        Part of the time in which it was short.
    waited
        Part of the time in which it was short and something was seen to wait for it; ``None``: no signal of
        waiting was recorded.
    headroom
        By what factor its load may grow until its 95th percentile reaches the limit; ``None`` where its use
        does not grow in proportion to load, or was recorded only in part.
    lower_bound
        Only a part of its use was recorded: the true use is at least this.
    of
        What was measured.
    seen
        Part of the time observed in which it was recorded; the other figures are of that part.
    upper_bound
        A bound on its use was recorded, not the use itself: the true use is at most this, and the headroom
        at least as told.
    """

    resource: str
    component: str
    mean: Estimate | None
    high95: float | None
    most: float | None
    limit: float
    short: float
    waited: float | None
    headroom: float | None
    lower_bound: bool
    of: str
    seen: float = 1.0
    upper_bound: bool = False


@dataclass(frozen=True)
class Carried:
    """A bound on something whose capacity is not known; never a utilisation.

    kind
        carried: a rate or amount that was sustained over `over_s`: the capacity is no less than `extreme`,
        and in 95 % of the time no more than `relative` of that was asked for; what could be carried beyond
        is not known. at least, at most: each true value is no less, no more. free: so much was not in use.
        level: how many there were, which bounds nothing.
    what, unit
        Of what, in which unit.
    mean
        By time.
    usual
        Not exceeded for 95 % of the time; of what is free: not fallen below for 95 % of it.
    extreme
        The greatest mean over an observation, of what is free the least; those much shorter than usual are
        left out.
    over_s
        Length of that observation.
    relative
        usual / extreme; only of what was carried, in three observations or more.
    observations
        How many it rests on.
    seen
        Part of the time observed in which it was recorded.
    needs
        What would have to be recorded to know its use; empty: nothing would tell.
    alike
        How many disks, or interfaces, there are of which as much is known; those that did most are listed.
    """

    resource: str
    component: str
    kind: Bound
    what: str
    unit: str
    mean: float
    usual: float
    extreme: float
    over_s: float
    relative: float | None
    observations: int
    seen: float
    needs: str
    alike: int = 1


@dataclass(frozen=True)
class Likely:
    """A component that may be what holds the load back, and the chance of that, 0 … 1."""

    component: str
    resource: str
    chance: float


@dataclass(frozen=True)
class Standing:
    """What is known from utilisation, queueing and waits alone, without any knee.

    state
        room: nothing that was recorded was short; short at times; short: most of the time; unknown: nothing
        that was recorded says how full anything was.
    uses
        Every recorded resource, the shortest first, then the fullest.
    headroom
        By what factor load may grow before the first recorded resource is short: by the 95th percentiles of
        use; low: by the greatest use seen, high: by the mean. ``None`` where nothing tells.
    short
        Part of the time in which any resource was short.
    likely
        What held the load back while something was short, likeliest first; the chances leave a part for what
        was not recorded.
    seconds, seen
        Time observed, and its part of the time from the first to the last reading.
    when
        When it was short, in words; empty where that is no matter of the hour, or cannot be told.
    observations
        How many it rests on.
    next_step
        The one thing to record, or to do, next.
    known
        In words, where the state is unknown: levels, and rates without a capacity.
    carried
        Bounds on what was recorded of resources whose use is not known.
    """

    state: Room
    uses: tuple[ResourceUse, ...]
    headroom: Estimate | None
    short: float
    likely: tuple[Likely, ...]
    seconds: float
    seen: float
    when: str
    observations: int
    next_step: str = ""
    known: tuple[str, ...] = ()
    carried: tuple[Carried, ...] = ()


@dataclass(frozen=True)
class LeftCpu:
    """What others left of the CPU where that is what saturates.

    part
        Of the processor capacity, at the load of saturation.
    low, high
        Over the loads that it limited.
    whole
        The load of saturation on a whole CPU; ``None``: not known.
    seen
        False: what was left at the load of saturation is not known, only what was left at heavier ones.
    """

    part: float
    low: float
    high: float
    whole: Estimate | None = None
    seen: bool = True

    @property
    def uneven(self) -> bool:
        """Did it vary by more than a third?"""
        return self.high - self.low > self.part / 3


@dataclass(frozen=True)
class Evidence:
    """One observed fact for or against a finding: what was looked at, where, the number, what it was held
    against."""

    variable: str
    unit: str
    load: str
    value: float | None
    error: float | None
    threshold: str
    supports: bool


@dataclass(frozen=True)
class Finding:
    """One rule's judgement.

    strength
        0 … 1; findings are ranked by it. 0 unless the state is holds.
    component
        What the finding names: processor, supervisor, storage, admission, paging, io, paging and io, cache,
        lock, quota, server; none: it is a remark, and nothing that limits the load.
    gain
        The upgrade that would bring most of those it asks for, by what part it would raise the work done at
        the heaviest load, by a model of the recording, and the standard error of that part; ``None`` where no
        model can tell.
    chance
        Chance that one of the upgrades that it asks for brings nearly as much as the best one would; ``None``
        with `gain`.
    signs
        Strength of its signs alone, 0 … 1, where a model weighed it; 0: by its signs it would not hold.
        ``None`` where no model can tell: then the strength is that of the signs.
    """

    rule: str
    title: str
    component: str
    state: State
    strength: float
    summary: str
    evidence: tuple[Evidence, ...] = ()
    remedies: tuple[str, ...] = ()
    false_readings: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    gain: tuple[str, float, float] | None = None
    chance: float | None = None
    signs: float | None = None


@dataclass(frozen=True)
class Together:
    """Two upgrades that are worth more together, by a model of the recording.

    kinds, words
        Which, and what each is; the one that brings more alone comes first.
    titles
        What the findings that ask for them are called.
    how
        only together: neither alone brings half of what both do together; adds up: the second adds much to
        the first.
    gain, error
        Part by which both raise the work done at the heaviest load, and its standard error.
    alone
        What each brings alone.
    """

    kinds: tuple[str, str]
    words: tuple[str, str]
    titles: tuple[str, str]
    how: Literal["only together", "adds up"]
    gain: float
    error: float
    alone: tuple[float, float]


@dataclass(frozen=True)
class Unseen:
    """A signal that was not there: what, why, what it would have needed, which rules lost by it."""

    signal: str
    reason: str
    would_need: str
    rules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Implausible:
    """Gains of a signal that its monitor left out because they cannot be.

    count
        How many.
    largest_s, sum_s
        The largest of them, and all together. ``None``: the recording does not say.
    """

    signal: str
    count: int | None
    largest_s: float | None
    sum_s: float | None
    reason: str


@dataclass(frozen=True)
class Alarm:
    """A stretch of time in which a probe took much longer than is usual for it, several times in succession.

    probe
        Its name: trivial, io, compute, paging, mixed.
    begins_s, ends_s
        Seconds since 1970 UTC; since the recording's first reading where it has no clock.
    clock
        Whether these are times of day.
    took_us, slowest_us, usual_us
        Median and greatest of the means per observation in it, and what is usual.
    processors_full
        Part of it in which the processors were full: then a probe of something else waits for them.
    """

    probe: str
    begins_s: float
    ends_s: float
    clock: bool
    took_us: float
    slowest_us: float
    usual_us: float
    processors_full: float


@dataclass(frozen=True)
class WaitPart:
    """One part of users' time in a load class: its share with its standard error; ``None`` where missing.

    method
        ``accumulators`` (times that add up), ``sampled states`` (tasks counted at each sample) or ``what is
        left``.
    """

    part: str
    share: float | None
    error: float | None
    method: str


@dataclass(frozen=True)
class WaitingUser:
    """One of the users that waited most in a load class: each as a part of real time, over all tasks."""

    user: str
    run: float | None
    cpu_wait: float | None
    block_wait: float | None
    eligible: float | None


@dataclass(frozen=True)
class HeldUp:
    """Users who wait for others, as the kernel told it (`satline record --waits`).

    cause
        file_lock, mutex (locks between threads), local (answers of a server within the host).
    users
        Those that wait, the one that waits most first.
    share
        Mean part of the time for which each of them waits.
    holders, parts
        Who ended their waits, in words, the most first, and for what part of them; empty: nobody known.
    """

    cause: str
    users: tuple[str, ...]
    share: float
    holders: tuple[str, ...]
    parts: tuple[float, ...]


@dataclass(frozen=True)
class WaitShares:
    """Where the users' time went in one load class.

    of
        ``transaction time``, or ``time run or waiting`` where there were no transactions.
    parts
        run, cpu_wait, page_wait, io_wait, throttled, eligible, other; lock_wait where the kernel told waits
        for locks, which are then not among the others.
    users
        Those that waited most, first the one that waited most; empty where users were not recorded.
    held_up
        Who waited for whom; empty where that was not told, or nobody did.
    """

    load_low: float
    load_high: float
    of: str
    parts: tuple[WaitPart, ...]
    users: tuple[WaitingUser, ...] = ()
    held_up: tuple[HeldUp, ...] = ()


@dataclass(frozen=True)
class Diagnosis:
    """The whole answer for one recording.

    headline
        One sentence: the verdict and, where one is named, the bottleneck.
    findings
        Those that hold, strongest first.
    others
        Rules that do not hold or could not be judged, with why.
    warnings
        What weakens the answer: damaged tail, lost samples, late emulator, drifting conditions.
    waits
        Where the users' time went, by load class.
    standing
        How full every recorded resource was, what was short when, and the headroom.
    together
        Two upgrades that are worth more together; ``None``: none are, or no model can tell.
    implausible
        Values that were left out of the readings because they cannot be.
    alarms
        When probes took much longer than usual, in the order of time.
    """

    recording: str
    headline: str
    saturation: Saturation
    findings: tuple[Finding, ...]
    others: tuple[Finding, ...]
    unseen: tuple[Unseen, ...]
    warnings: tuple[str, ...] = ()
    conditions: dict[str, str] = field(default_factory=dict)
    waits: tuple[WaitShares, ...] = ()
    standing: Standing | None = None
    together: Together | None = None
    implausible: tuple[Implausible, ...] = ()
    alarms: tuple[Alarm, ...] = ()
