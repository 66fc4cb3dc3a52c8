"""Network blamed, host guilty.

What: the network is clean; what takes the time is the host.
Why: a server that waits for a processor answers late, and from outside that looks like a slow network.
Signs: no discards or errors on the interfaces in use, while the server or its users wait for processors;
several streams together do only slightly better than one.
False readings: losses beyond the host's own interfaces are not among its counters.
Remedy: look at delayed-acknowledge and blocking timers, then at processors.
References: [Bitner].
"""

from __future__ import annotations

from satline.diagnosis._results import Finding
from satline.diagnosis._use import LOOPBACK
from satline.diagnosis.rules._context import Context, Measure
from satline.diagnosis.rules._rule import Rule

RULE = Rule(
    name="network_blamed",
    title="the network is not to blame, the host is",
    component="none",
    needs=("device_error_rate", "device_rate", "share_cpu_wait", "pressure_cpu"),
    remedies=(
        "Look at timers first: delayed acknowledgement against Nagle's algorithm (TCP_NODELAY, quick "
        "acknowledgement), and intervals at which the server polls.",
        "Then at what holds the host back: see the other findings.",
    ),
    false_readings=("Losses beyond the host's own interfaces are not counted here.",),
    references=("[Bitner]",),
    vm_remedies=(
        "Look at the adapter's blocking timer and at delayed acknowledgement.",
        "Then at the processors, and at the share of the stack's virtual machine.",
    ),
)
USED, CLEAN = 50.0, 1e-4


def judge(context: Context) -> Finding:
    """Holds when the interfaces carry traffic with hardly an error and users or tasks wait for processors. It
    is a remark: it says where not to look."""
    interfaces = [
        name
        for name in context.entities("device_error_rate")
        if name not in LOOPBACK and context.high(f"device_rate:{name}") is not None
    ]
    if not interfaces:
        return RULE.blind(context, "device_error_rate")
    rate = {name: context.high(f"device_rate:{name}") or Measure(0, 0) for name in interfaces}
    errors = {name: context.high(f"device_error_rate:{name}") or Measure(0, 0) for name in interfaces}
    used = [name for name in interfaces if rate[name].low > USED]
    if not used:
        return RULE.finding("does-not-hold", "the network is hardly used")
    dirty = [name for name in used if errors[name].value > CLEAN * rate[name].value]
    evidence = [
        context.evidence(f"device_error_rate:{name}", f"at most {CLEAN:g} of the packets", name not in dirty)
        for name in used[:4]
    ]
    if dirty:
        name = max(dirty, key=lambda n: errors[n].value)
        return RULE.finding(
            "does-not-hold",
            f"{name} has {errors[name].value:.2g} errors and drops each second",
            evidence=evidence,
        )
    wait, least, of = _wait(context)
    if wait is None:
        return RULE.blind(context, "share_cpu_wait", "pressure_cpu")
    waits = wait.value >= least and wait.low > least / 2
    share = context.share("user_cpu_wait")
    evidence.append(context.evidence(of, f"at least {least:g}", waits, value=share or wait))
    if not waits:
        return RULE.finding("does-not-hold", "nothing much waits for processors either", evidence=evidence)
    text = f"{', '.join(used)} without errors, while "
    if share is not None:
        text += f"users wait for a processor in {wait.value:.0%} of their transaction time"
    else:
        text += f"tasks wait for a processor {wait.value:.0%} of the time"
    return RULE.finding("holds", text, strength=0.15, evidence=evidence)


def _wait(context: Context) -> tuple[Measure | None, float, str]:
    """Wait for processors at the top of the range: of users' time where known, else of real time."""
    share = context.share("user_cpu_wait")
    if share is not None:
        return share, 0.3, "share_cpu_wait"
    return context.high("pressure_cpu"), 0.5, "pressure_cpu"
