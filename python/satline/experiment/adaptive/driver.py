"""Drives a search on a running emulator: looks at each window, decides, tells it the next step.

Where there is a processor beside the load's, it looks shortly before a window ends, so that nobody is held:
the decision is made without the last moments of one window, and the next one has them. Elsewhere it looks
when the window is over, and users are held meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from satline.experiment.adaptive import Diary
from satline.experiment.adaptive.plan import SearchPlan, StepTimes
from satline.experiment.adaptive.resume import window_is_there
from satline.experiment.emulator import Progress, StepLine
from satline.windows import Measured, measured

if TYPE_CHECKING:
    from satline.experiment.search import Decision
    from satline.knee import Posterior

# The monitor writes once a second; on a host that is short of everything later.
PATIENCE_S = 2.0
# How long before a window's end it looks, at first; then as its looks took, and a half.
LEAD_S, SLACK = 1.5, 1.5
MOST_LEAD = 0.5  # of the window
# So many looks in a row may fail before the study ends with the error.
MOST_FAILURES = 3


class Listener(Protocol):
    """What a running emulator takes."""

    def tell(self, line: str) -> None:
        """A line on its standard input."""
        ...


@dataclass(frozen=True)
class Outlook:
    """What is known after a decision, for those who watch.

    step
        Number of the step that was decided, from 1 within this run.
    seconds
        Time that all steps may take.
    """

    plan: SearchPlan
    measured: Measured
    decision: Decision
    posterior: Posterior | None
    step: int
    seconds: float


@dataclass
class Adaptive:
    """A search under way.

    Attributes
    ----------
    plan
        What it may do.
    times
        How long the parts of steps take.
    before_s, runs, earlier
        Time that the steps of earlier runs into this recording took; number of these runs of the emulator;
        their decisions.
    show
        Called after each decision.
    ahead
        It may look while a window is under way.
    took_s
        How long each look and decision took.
    failures
        What looks failed by, in words. A look that fails costs a step, not the study: the step is run again,
        and the next look reads all windows anew.
    """

    plan: SearchPlan
    times: StepTimes
    recording: Path
    show: Callable[[Outlook], None]
    before_s: float = 0.0
    runs: int = 0
    earlier: Sequence[Mapping[str, Any]] = ()
    clock: Callable[[], float] = time.monotonic
    ahead: bool = True
    took_s: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    why: str = ""

    def __post_init__(self) -> None:
        self._told = 0
        self._users: int | None = None
        self._next: StepLine | None = None
        self._window_since: float | None = None
        self._waits_since: float | None = None
        self._began = self.clock()
        self._ended = False
        self._failed = 0
        self._diary = Diary(self.recording, self.earlier)

    def first(self) -> StepLine | None:
        """The first step; ``None``: enough is known, and nothing needs to run."""
        import satline.reduction  # noqa: F401  # now, and not while users are held

        self._decide(self._look() if self.before_s else Measured((), False), self.before_s)
        return self._next

    def begin(self) -> None:
        """The emulator has been started with the first step."""
        self._began = self.clock()

    def follow(self, progress: Progress | None, emulator: Listener) -> None:
        """Look at the emulator's progress, and tell it the next step when it waits for one."""
        if progress is not None and progress.step == self._told:
            if progress.phase == "window" and self._window_since is None:
                self._window_since = self.clock()
            if progress.phase == "hold" and self._waits_since is None:
                self._waits_since = self.clock()
        if self._ended or not (self._nearly_over() or self._over()):
            return
        from satline.recording import DiskFullError

        began, told = self.clock(), self._told
        try:
            self._ended = self._decide(self._look(), self._elapsed_at_end(), emulator).users is None
            self._failed = 0
        except DiskFullError:
            raise
        except Exception as error:  # any: what was measured so far must not be lost by one look
            self._again(error, told, emulator)
        self.took_s.append(self.clock() - began)
        self._waits_since = self._window_since = None

    def _again(self, error: Exception, told: int, emulator: Listener) -> None:
        """After a look that failed: the same step once more, unless the next one was told before that."""
        self._failed += 1
        if self._failed >= MOST_FAILURES or self._next is None:
            raise error
        self.failures.append(f"{type(error).__name__}: {error}")
        if self._told == told:
            self._next = self.times.step(self._users, self._next.users, self._next.window_s)
            self._told += 1
            emulator.tell(self._next.words)

    def _nearly_over(self) -> bool:
        if not self.ahead or self._window_since is None or self._next is None:
            return False
        lead = max([LEAD_S, *(SLACK * took for took in self.took_s[-2:])])
        window_s = self._next.window_s
        return self.clock() - self._window_since >= window_s - min(lead, MOST_LEAD * window_s)

    def _over(self) -> bool:
        if self._waits_since is None:
            return False
        return self.clock() - self._waits_since >= PATIENCE_S or self._there()

    def _elapsed_at_end(self) -> float:
        """Time of the steps when this window will be over."""
        left = 0.0
        if self._waits_since is None and self._window_since is not None and self._next is not None:
            left = max(0.0, self._next.window_s - (self.clock() - self._window_since))
        return self.before_s + self.clock() - self._began + left

    def _there(self) -> bool:
        from satline.recording import Recording

        return window_is_there(Recording.open(self.recording), self.runs + 1, self._told)

    def _look(self) -> Measured:
        from satline.recording import Recording

        return measured(Recording.open(self.recording), counted=self.plan.counted)

    def _decide(self, seen: Measured, elapsed_s: float, emulator: Listener | None = None) -> Decision:
        from satline.experiment.search import Search

        # Work is counted by what is known of each kind of command, which changes earlier windows, too.
        search = Search(self.plan.settings(self.times), self.plan.seed)
        for window in seen.windows:
            search.add(window)
        decision = search.decide(elapsed_s)
        if decision.users is None:
            self._next, self.why = None, decision.why
        else:
            self._next = self.times.step(self._users, decision.users, decision.window_s)
            self._told += 1
            self._users = decision.users
        if emulator is not None:
            emulator.tell("end" if self._next is None else self._next.words)
        self._diary.note(decision)
        self.show(Outlook(self.plan, seen, decision, search.posterior, self._told, self.plan.seconds))
        return decision

    def in_time(self, progress: Progress) -> Progress:
        """The progress with the time that all steps may take in place of the steps known so far."""
        return replace(
            progress,
            elapsed_s=self.before_s + progress.elapsed_s,
            total_s=max(self.plan.seconds, self.before_s + progress.elapsed_s),
            steps=0,
        )
