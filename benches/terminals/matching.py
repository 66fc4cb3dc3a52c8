"""Which recorded line is which typed one, and by how much their times differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from emulated import Typed

# A line is recorded at the instant at which it is written; where it is handed on, a little later.
WITHIN_NS = 1_000_000_000
# A line that may be wrong by more says so.
MARKED_US = 5000


@dataclass(frozen=True)
class Row:
    """A row of table transaction."""

    terminal: str
    session: int
    sent_ns: int
    reaction_us: int | None
    response_us: int | None
    name: str
    outcome: str
    typed_ahead: int
    uncertain_us: int
    user: str

    @property
    def marked(self) -> bool:
        """Says of itself that its times are not those of one line."""
        return self.outcome != "ok" or self.typed_ahead > 0 or self.uncertain_us > MARKED_US


@dataclass(frozen=True)
class Pair:
    typed: Typed
    row: Row | None

    @property
    def first_ms(self) -> float | None:
        """Typist's time to the first output − the recorded one."""
        if self.row is None or self.typed.first_ns is None or self.row.reaction_us is None:
            return None
        return (self.typed.first_ns - self.typed.sent_ns) / 1e6 - self.row.reaction_us / 1e3

    @property
    def prompt_ms(self) -> float | None:
        """Typist's time to the prompt − the recorded one."""
        if self.row is None or self.typed.prompt_ns is None or self.row.response_us is None:
            return None
        return (self.typed.prompt_ns - self.typed.sent_ns) / 1e6 - self.row.response_us / 1e3


def rows_of(recording: Path) -> list[Row]:
    """All lines of a recording, by time."""
    from satline.recording import Recording

    connection = Recording.open(recording).connect(tables=["transaction"])
    found = connection.execute(
        "SELECT terminal, session::BIGINT, monotonic_ns, reaction_us, response_us, class, outcome,"
        ' typed_ahead, uncertain_us, "user" FROM transaction WHERE terminal IS NOT NULL ORDER BY monotonic_ns'
    ).fetchall()
    connection.close()
    return [Row(*row) for row in found]


def match(typed: Sequence[Typed], rows: Sequence[Row]) -> tuple[list[Pair], list[Row]]:
    """Each typed line with the nearest row of its terminal that no other has, and the rows left over."""
    left: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        left[row.terminal].append(row)
    pairs = []
    for line in sorted(typed, key=lambda line: line.sent_ns):
        near = [r for r in left[line.terminal] if abs(r.sent_ns - line.sent_ns) <= WITHIN_NS]
        row = min(near, key=lambda r: abs(r.sent_ns - line.sent_ns), default=None)
        if row is not None:
            left[line.terminal].remove(row)
        pairs.append(Pair(line, row))
    return pairs, [row for rest in left.values() for row in rest]
