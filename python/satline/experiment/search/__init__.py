"""What a study runs next, and why: loads are placed where they narrow the answer most per second.

    search = Search(Settings(most_users=200, seconds=300))
    while (decision := search.decide(elapsed_s)).users is not None:
        search.add(observe(decision.users, decision.window_s))

How it works: docs/concepts/search.md.
"""

from satline.experiment.search._plan import Candidate
from satline.experiment.search._search import Decision, Known, Search, Settings, usual_overhead
from satline.experiment.search.targets import TARGETS, Headroom, Knee, Percentile, Target, Throughput
from satline.knee import Window

__all__ = [
    "TARGETS",
    "Candidate",
    "Decision",
    "Headroom",
    "Knee",
    "Known",
    "Percentile",
    "Search",
    "Settings",
    "Target",
    "Throughput",
    "Window",
    "usual_overhead",
]
