"""Whom a study tells how it goes, and what it says of its conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

from satline.experiment.sizes import format_size

if TYPE_CHECKING:
    from satline.experiment.adaptive.driver import Outlook
    from satline.experiment.emulator import Progress
    from satline.systems import Conditions


class View(Protocol):
    """Shows how a study goes."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def note(self, text: str) -> None:
        """A line that stays."""
        ...

    def show(self, progress: Progress) -> None:
        """The state now."""
        ...

    def decided(self, outlook: Outlook) -> None:
        """What a search knows, and what it runs next."""
        ...


def limits_in_words(conditions: Conditions) -> list[str]:
    """One line for the limits in force, one for each that could not be set."""
    words = []
    for name, value in conditions.limits.items():
        shown = format_size(value) if "bytes" in name else f"{value:g}"
        words.append(f"{name.replace('_bytes', '').replace('_', ' ')} {shown}")
    lines = [f"limits of the load: {', '.join(words) if words else 'none'}"]
    if conditions.knobs:
        turned = ", ".join(f"{name} {value}" for name, value in conditions.knobs.items())
        lines.append(f"knobs of the host: {turned.replace('_', ' ')}")
    lines += [f"not set: {name}: {why}" for name, why in conditions.not_set.items()]
    return lines


def clock(seconds: float) -> str:
    """``m:ss``, or ``h:mm:ss``.

    >>> clock(75), clock(3675), clock(-1)
    ('1:15', '1:01:15', '0:00')
    """
    whole = max(0, round(seconds))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
