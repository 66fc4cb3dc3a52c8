"""What a prediction by class yields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from satline.diagnosis import Estimate


@dataclass(frozen=True)
class Chain:
    """Users who are alike.

    part
        What part of all users they are.
    mix
        What part of their transactions is of each class.
    """

    name: str
    part: float
    think_s: Estimate
    mix: tuple[float, ...]


@dataclass(frozen=True)
class TransactionClass:
    """What a transaction of one class needs.

    part
        What part of all transactions these are.
    demand_s
        Service demand on each of the stations, in their order, seconds.
    first_part
        What part of its processor time goes before all other; ``None``: all wait alike.
    elsewhere_s
        Delay beyond its demands and their queues.
    """

    name: str
    part: float
    transactions: int
    demand_s: tuple[Estimate, ...]
    first_part: float | None
    elsewhere_s: Estimate


@dataclass(frozen=True)
class Level:
    """Throughput (per second) and response time of a class, or of all; measured where that was recorded."""

    throughput: Estimate
    response_s: Estimate
    measured_throughput: Estimate | None = None
    measured_response_s: Estimate | None = None


@dataclass(frozen=True)
class ClassRow:
    """The system at one number of users.

    classes
        In the order of the classes.
    method
        How the estimate was solved: ``exact`` or ``linearizer``.
    """

    users: int
    total: Level
    classes: tuple[Level, ...]
    method: str


@dataclass(frozen=True)
class ClassScenario:
    """The system as it is, or after a change."""

    name: str
    saturation_users: Estimate
    bend_users: Estimate
    first: str
    rows: tuple[ClassRow, ...]
    more_users: Estimate | None = None


@dataclass(frozen=True)
class ByClass:
    """The answer by class.

    outcome
        ``cannot-tell``: see `reasons` and `advice`; nothing else is filled in then.
    stations
        What the demands are on; by_accounts: are those of each by the transactions' own accounts, or else by
        regression.
    joined
        Classes that could not be told apart, and are one here.
    interactive_first
        Work in Q1 goes before work in Q2.
    waited_page, waited_io
        What part of the devices' busy time transactions wait for, of paging and of other I/O; above 1 where
        they wait for longer than devices are busy for them; ``None``: their waits were not recorded.
    """

    outcome: Literal["predicted", "cannot-tell"]
    reasons: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    stations: tuple[str, ...] = ()
    by_accounts: tuple[bool, ...] = ()
    joined: tuple[tuple[str, ...], ...] = ()
    chains: tuple[Chain, ...] = ()
    classes: tuple[TransactionClass, ...] = ()
    interactive_first: bool = False
    waited_page: Estimate | None = None
    waited_io: Estimate | None = None
    base: ClassScenario | None = None
    scenarios: tuple[ClassScenario, ...] = ()
    warnings: tuple[str, ...] = ()
