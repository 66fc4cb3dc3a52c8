"""One user locks out others.

What: what one user does to a shared server makes the others wait.
Why: it holds what they need, a lock, a table or the server's only thread, for as long as its requests last.
Signs: the others' response time follows one user's activity at equal load, and no other user's as much; the
time goes into waiting for another process, not for a processor. Where the kernel told who holds the locks
that users wait for (`satline record --waits`): one user holds them most of the time that the others wait.
False readings: everybody's activity grows with load, and response with it: only what is left at equal load
counts. A user whose work takes the processors slows the others too, but they then wait for processors.
Remedy: fix that application, for example commit more often; open windows in the server.
References: [Bitner].
"""

from __future__ import annotations

import numpy as np

from satline.diagnosis._histories import Histories
from satline.diagnosis._partial import Floats, Partial, ranks
from satline.diagnosis._results import Finding
from satline.diagnosis._told import LOCKS, Blame, waiting_words
from satline.diagnosis.rules._context import Context
from satline.diagnosis.rules._kernel import blame_facts, told_of
from satline.diagnosis.rules._live import inside, ratio_over
from satline.diagnosis.rules._rule import Rule
from satline.diagnosis.rules._short import users_held
from satline.stats import false_discoveries

RULE = Rule(
    name="one_user_locks_out",
    title="one user locks out others",
    component="server",
    needs=("response", "share_other", "user_cpu_wait"),
    remedies=(
        "See what that user's application holds while it runs: commit more often, shorter requests, no lock "
        "over "
        "a pause for thought.",
        "Let the server take others' requests in between: time limits, queues by user, more threads.",
        "Run that work when the others are away.",
    ),
    false_readings=(
        "Two users who always work together cannot be told apart; neither can a user and the job that it "
        "reacts "
        "to.",
    ),
    references=("[Bitner]",),
    vm_remedies=(
        "Fix that application: commit more often.",
        "Open windows in the server, in which it takes others' requests.",
    ),
)
LEAST_USERS = 4


# The holder's part of what the others wait; that any of four or more would have is a third at most.
MOST, SURELY = 0.6, 0.4
# The others wait for at least so much of the time; they are held back by it where it is so much of the time
# that they run or wait.
LEAST_WAIT, MUCH = 0.1, 0.3


def judge(context: Context) -> Finding:
    """Holds when the kernel told that one user holds what the others wait for, or when their responses follow
    its activity."""
    told = _by_kernel(context)
    if told is not None and told.state == "holds":
        return told
    found = _by_activity(context)
    return told if told is not None and found.state == "cannot-judge" else found


def _by_kernel(context: Context) -> Finding | None:
    """By who ended the waits for locks; ``None``: that was not told.

    One holds them for surely more than `SURELY` of what at least three others wait, who wait for at least a
    tenth of the time.
    """
    kernel, held = told_of(context), users_held(context)
    if kernel is None or held is None:
        return None
    where = inside(context, context.top)
    pairs = [pair for pair in kernel.pairs if pair.cause in LOCKS and pair.user != pair.holder]
    amount: dict[str, float] = {}
    for pair in pairs:
        amount[pair.holder] = amount.get(pair.holder, 0.0) + float(pair.seconds[where].sum())
    holder = max(amount, key=lambda user: amount[user], default="")
    shares = kernel.shares(LOCKS, where)
    of_it = [pair for pair in pairs if pair.holder == holder and float(pair.seconds[where].sum()) > 0]
    waiting = sorted({p.user for p in of_it if shares[p.user] >= LEAST_WAIT}, key=lambda u: -shares[u])
    if len(waiting) < LEAST_USERS - 1:
        few = f"{len(waiting)} users wait" if len(waiting) != 1 else "one user waits"
        return RULE.finding(
            "does-not-hold", f"{few} for {LEAST_WAIT:.0%} of the time or more for locks that one other holds"
        )
    others = [pair for pair in pairs if pair.user in waiting]
    every = np.sum([pair.seconds for pair in others], axis=0)
    by_one = np.sum([pair.seconds for pair in others if pair.holder == holder], axis=0)
    part = ratio_over(context, by_one, every, where)
    blame = Blame(
        tuple(waiting),
        float(np.mean([shares[user] for user in waiting])),
        kernel.holders(waiting, LOCKS, where),
    )
    causes = kernel.main(LOCKS, waiting, where)
    words, facts = waiting_words(blame, causes), blame_facts(context, blame, causes)
    if part is None or part.value < MOST or part.low <= SURELY:
        return RULE.finding(
            "does-not-hold", f"{words}: no one user holds them most of the time", evidence=facts
        )
    own = [held.users[user] for user in waiting if user in held.users]
    seconds = context.reduction.seconds
    wanted = np.sum([one.wanted for one in own], axis=0) * seconds
    locked = ratio_over(context, np.sum([one.lock for one in own], axis=0) * seconds, wanted, where)
    much = locked is not None and locked.value >= MUCH and locked.low > MUCH / 2
    return RULE.finding(
        "holds",
        words,
        strength=part.value * locked.value if locked is not None and much else 0.4,
        evidence=facts,
        remark=not (much and context.saturated),
    )


def _by_activity(context: Context) -> Finding:
    """Holds when, of at least four users, surely one alone has an activity that others' response and their
    wait for another process follow at equal load. It needs no saturation, but is a remark unless users mostly
    wait so."""
    if context.history is None or context.course("user_other") is None:
        return RULE.blind(context, "share_other")
    responses = context.history.responses
    if not responses:
        return RULE.blind(context, "response")
    activity = context.history.counters("user", '"user"', ("cpu_us",), "left(\"user\", 1) <> '_'")
    if not activity:
        return RULE.blind(context, "user_run")
    tried = _correlations(context, context.history)
    if len(tried) < LEAST_USERS:
        return RULE.finding(
            "cannot-judge",
            f"the activity of only {len(tried)} users could be held against the others' response",
            missing=("more users, or a longer recording",),
        )
    sure = false_discoveries([p.p for _, p in tried]) <= 0.01
    order = sorted(range(len(tried)), key=lambda k: -tried[k][1].value)
    first, second = tried[order[0]], tried[order[1]]
    user, found = first
    alone = bool(sure[order[0]]) and found.low > 0.3 and found.low > second[1].value
    name = f"others' response ~ user_run:{user}"
    evidence = [
        context.partial_evidence(name, found, "surely above 0.3, and above every other user's", alone),
        context.partial_evidence(
            f"others' response ~ user_run:{second[0]}", second[1], "the next user's is less", alone
        ),
    ]
    if not alone:
        return RULE.finding(
            "does-not-hold", "others' response follows no single user's activity", evidence=evidence
        )
    own = ranks(activity[user]["cpu_us"] / context.reduction.seconds)
    waits = {name: _follows(context, own, name) for name in ("user_other", "user_cpu_wait")}
    other, processor = waits["user_other"], waits["user_cpu_wait"]
    for name, partial in waits.items():
        if partial is not None:
            supports = (partial.low > 0) == (name == "user_other")
            evidence.append(
                context.partial_evidence(
                    f"{name} ~ user_run:{user}", partial, "the wait is for another process", supports
                )
            )
    if other is None or other.low <= 0 or (processor is not None and processor.value > other.value):
        return RULE.finding(
            "does-not-hold",
            f"others' response follows what {user} does, but not by a wait for another process",
            evidence=evidence,
        )
    share = context.share("user_other")
    limits = context.saturated and share is not None and share.low >= 0.3
    return RULE.finding(
        "holds",
        f"at equal load the others' response follows what {user} does (r = {found.value:.2f}), and they "
        "wait for"
        " another process",
        strength=share.value * found.value if share is not None and limits else 0.4,
        evidence=evidence,
        remark=not limits,
    )


def _correlations(context: Context, history: Histories) -> list[tuple[str, Partial]]:
    """Each user's activity against the response of all others, at equal load. Ranks: no outlier decides."""
    activity = history.counters("user", '"user"', ("cpu_us",), "left(\"user\", 1) <> '_'")
    length = len(context.reduction.number)
    done, seconds = np.zeros(length), np.zeros(length)
    for course in history.responses.values():
        done += np.nan_to_num(course["done"])
        seconds += np.nan_to_num(course["seconds"])
    found = []
    for user, course in activity.items():
        own = history.responses.get(user)
        others = (done, seconds) if own is None else _less(done, seconds, own)
        with np.errstate(divide="ignore", invalid="ignore"):
            response = np.where(others[0] > 0, others[1] / others[0], np.nan)
        rate = ranks(course["cpu_us"] / context.reduction.seconds)
        partial = context.partial(rate, ranks(response), single=True)
        if partial is not None:
            found.append((user, partial))
    return found


def _less(done: Floats, seconds: Floats, own: dict[str, Floats]) -> tuple[Floats, Floats]:
    return done - np.nan_to_num(own["done"]), seconds - np.nan_to_num(own["seconds"])


def _follows(context: Context, own: Floats, variable: str) -> Partial | None:
    course = context.course(variable)
    return None if course is None else context.partial(own, ranks(course), single=True)
