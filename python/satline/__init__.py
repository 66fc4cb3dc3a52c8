"""Satline: how many users a shared machine carries, what holds it back, and what to do about it.

    import satline

    recording = satline.open("host.satline")    # or an archive of sar, PCP, atop, Prometheus, …
    recording.diagnose()                        # where it saturates, and what holds it back
    recording.reduce(variables=["total_cpu"]).to_pandas()

docs/guides/python.md is the guide. Everything is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from satline.lazy import lazy_names

if TYPE_CHECKING:
    from satline.api import OpenRecording, compare, simulate, simulate_recording, study
    from satline.api import open_recording as open
    from satline.errors import InputError, SatlineError
    from satline.reduction import Filters

__version__ = "0.2.0"

__all__ = [
    "Filters",
    "InputError",
    "OpenRecording",
    "SatlineError",
    "__version__",
    "compare",
    "open",
    "simulate",
    "simulate_recording",
    "study",
]

__getattr__ = lazy_names(
    __name__,
    {
        "api": "OpenRecording, compare, open_recording as open, simulate, simulate_recording, study",
        "errors": "InputError, SatlineError",
        "reduction": "Filters",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
