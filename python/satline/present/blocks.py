"""Results as blocks, which every face shows in its own way: a terminal, a page, Markdown, a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from satline.present._numbers import number

if TYPE_CHECKING:
    from satline.present._plot import Plot

Value: TypeAlias = str | int | float | None
Tone = Literal["plain", "strong", "quiet", "warning"]


@dataclass(frozen=True)
class Headline:
    """A title (`level` 1) or the heading of what follows (2)."""

    words: str
    level: int = 2


@dataclass(frozen=True)
class Note:
    """A sentence; `item`: one of a list."""

    words: str
    tone: Tone = "plain"
    item: bool = False


@dataclass(frozen=True)
class Tiles:
    """Names with a value each."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    unit
        Of its numbers; it stands in the heading.
    kind
        Text stands to the left and may be broken, numbers stand to the right.
    """

    head: str
    unit: str = ""
    kind: Literal["text", "number"] = "number"

    @property
    def heading(self) -> str:
        """The head with its unit."""
        return f"{self.head}, {self.unit}" if self.unit else self.head


@dataclass(frozen=True)
class Table:
    """Rows of values: text as it is shown, or numbers; ``None`` is missing."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]

    @classmethod
    def of(cls, rows: Sequence[Sequence[Value]], *, text: Iterable[int] = (0,)) -> Table:
        """The table of a heading row and the rows below it; `text`: the columns that hold no numbers."""
        head, *body = rows
        texts = {place % len(head) for place in text}
        columns = (Column(str(one), "", "text" if k in texts else "number") for k, one in enumerate(head))
        return cls(tuple(columns), tuple(tuple(row) for row in body))

    @property
    def headings(self) -> tuple[str, ...]:
        """The heading of each column."""
        return tuple(column.heading for column in self.columns)

    def cells(self) -> list[tuple[str, ...]]:
        """The rows as a person reads them."""
        return [tuple(map(shown, row)) for row in self.rows]


@dataclass(frozen=True)
class Curve:
    """A picture; where there are none it is the table of its numbers.

    file
        Where the picture lies, for a page that has it beside itself.
    """

    plot: Plot
    file: str = ""

    def table(self) -> Table | None:
        """The numbers behind the picture, if it has them."""
        return Table.of(self.plot.rows) if len(self.plot.rows) > 1 else None


Block: TypeAlias = Headline | Note | Tiles | Table | Curve


def listed(heading: str, texts: Iterable[str]) -> Iterator[Block]:
    """A list below its heading; nothing where there is nothing in it."""
    items = [Note(text, item=True) for text in texts]
    if items and heading:
        yield Headline(heading)
    yield from items


def shown(value: Value) -> str:
    """A value of a table as text."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else number(value, digits=4)
