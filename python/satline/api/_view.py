"""What a study tells of its progress, passed on to a callback."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from satline.experiment import Outlook, Progress


class CallbackView:
    """A `satline.experiment.View` that calls a function with the part done and a line of words."""

    def __init__(self, said: Callable[[float | None, str], None]) -> None:
        self._said = said

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def note(self, text: str) -> None:
        """A line that the study says."""
        self._said(None, text)

    def show(self, progress: Progress) -> None:
        """The state now."""
        from satline.present.progress import summary

        part = progress.elapsed_s / progress.total_s if progress.total_s > 0 else None
        self._said(part, summary(progress))

    def decided(self, outlook: Outlook) -> None:
        """What a search knows, and what it runs next."""
        from satline.present.search import decision_lines

        for line in decision_lines(outlook):
            self._said(None, line)
