"""Both page and I/O wait.

What: users wait for pages and for other I/O, and neither is small.
Why: with both outstanding, a cure of one leaves the other; the processors get busier only by as much as the
one took.
Signs: page wait and I/O wait both significant at saturation.
False readings: a split that rests on a page share near a half says that both are there only as surely as that
share is known.
Remedy: improving one helps; both are needed to remove the wait.
References: [Bard].
"""

from __future__ import annotations

from satline.diagnosis._results import Finding
from satline.diagnosis.rules._context import Context
from satline.diagnosis.rules._live import waiters
from satline.diagnosis.rules._rule import Rule
from satline.diagnosis.rules._wait import cap_note, device_evidence, wait_at_saturation

RULE = Rule(
    name="page_and_io_wait",
    title="both page and I/O wait",
    component="paging and io",
    needs=("share_page_wait", "share_io_wait", "page_wait", "io_wait", "page_share"),
    remedies=(
        "Move swap and files to different devices, so that neither waits for the other.",
        "Give the file cache and the users more memory: it helps both.",
        "Then take the remedies of paging bound and of I/O bound; one of them alone removes only its part.",
    ),
    false_readings=(
        "Page and I/O wait are told apart by what was read: where the page share is near a half, the parts "
        "are the least sure.",
    ),
    references=("[Bard]",),
    vm_remedies=(
        "Move user minidisks off the paging devices and their channels.",
        "More main storage, and then the remedies of I/O bound; one of them alone removes only its part.",
    ),
    single_class=True,
)
EACH, LIKE = 0.2, 0.5


def judge(context: Context) -> Finding:
    """Holds when page wait and I/O wait are each surely a significant part of users' time at saturation, and
    the smaller at least half of the larger."""
    unfit = RULE.unfit(context)
    if unfit is not None:
        return unfit
    page = wait_at_saturation(context, "user_page_wait", "page_wait")
    io = wait_at_saturation(context, "user_io_wait", "io_wait")
    if page is None or io is None:
        return RULE.blind(context, "share_page_wait", "share_io_wait")
    if context.high("page_share") is None and context.basis != "periods":
        return RULE.blind(context, "page_share")
    evidence = [
        wait.evidence_that(f"at least {EACH:g}, and surely above {EACH / 2:g}", wait.surely(EACH))
        for wait in (page, io)
    ]
    # A cure of the larger one that would leave little is no case of both.
    alike = min(page.value, io.value) >= LIKE * max(page.value, io.value)
    both = page.surely(EACH) and io.surely(EACH) and alike
    text = f"page wait is {page.value:.0%} and I/O wait {io.value:.0%} of {page.of}"
    if not both or page.of != io.of:
        return RULE.finding("does-not-hold", text, evidence=evidence)
    if context.basis == "periods":
        for kind, what in (("page", "pages"), ("io", "other I/O")):
            who = waiters(context, kind)
            text += f"; for {what} wait {who}" if who else ""
    evidence += device_evidence(context)
    remedy, note = cap_note(context, evidence)
    return RULE.finding(
        "holds", text + note, strength=page.value + io.value, evidence=evidence, first_remedies=remedy
    )
