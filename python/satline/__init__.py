"""Satline: how many users a shared machine carries, what holds it back, and what to do about it.

    import satline

    recording = satline.open("host.satline")    # or an archive of sar, PCP, atop, Prometheus, …
    recording.diagnose()                        # where it saturates, and what holds it back
    recording.reduce(variables=["total_cpu"]).to_pandas()

docs/guides/python.md is the guide. Everything is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from satline.api import OpenRecording as OpenRecording
    from satline.api import compare as compare
    from satline.api import open_recording as open
    from satline.api import simulate as simulate
    from satline.api import simulate_recording as simulate_recording
    from satline.api import study as study
    from satline.errors import InputError as InputError
    from satline.errors import SatlineError as SatlineError
    from satline.reduction import Filters as Filters

__version__ = "0.1.0"

# Public name → the package that has it, and its name there.
_PUBLIC = {
    "Filters": ("satline.reduction", "Filters"),
    "InputError": ("satline.errors", "InputError"),
    "OpenRecording": ("satline.api", "OpenRecording"),
    "SatlineError": ("satline.errors", "SatlineError"),
    "compare": ("satline.api", "compare"),
    "open": ("satline.api", "open_recording"),
    "simulate": ("satline.api", "simulate"),
    "simulate_recording": ("satline.api", "simulate_recording"),
    "study": ("satline.api", "study"),
}

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


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for, and keep it."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    package, inner = _PUBLIC[name]
    found = globals()[name] = getattr(import_module(package), inner)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
