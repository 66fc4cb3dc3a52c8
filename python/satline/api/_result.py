"""What all results of the API have in common."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from satline.api._columns import Tabular, rows_html
from satline.api._html import html_lines

if TYPE_CHECKING:
    import pyarrow as pa

Answer = TypeVar("Answer")


class Result(Tabular, Generic[Answer]):
    """An analysis's answer, as a table, a chart and a few lines.

    Attributes
    ----------
    result
        The answer as the analysis gave it: a dataclass with everything that is known.
    """

    def __init__(self, result: Answer) -> None:
        self.result = result

    def to_arrow(self) -> pa.Table:
        """The rows as a `pyarrow.Table`; see `Tabular.to_arrow`."""
        return self._rows

    def plot(self) -> Any:
        """An `altair.Chart` of the answer's curve."""
        raise NotImplementedError

    def lines(self) -> list[str]:
        """The answer in a few lines of text, the most important first."""
        raise NotImplementedError

    @cached_property
    def _rows(self) -> pa.Table:
        return self._table()

    def _table(self) -> pa.Table:
        raise NotImplementedError

    def __repr__(self) -> str:
        from satline.present import visible

        return "\n  ".join(visible(line) for line in self.lines())

    def _repr_html_(self) -> str:
        return html_lines(self.lines()) + rows_html(self._rows)
