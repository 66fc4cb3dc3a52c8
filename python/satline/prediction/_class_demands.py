"""What a transaction of each class needs of each resource, as a multiple of what the mean transaction needs.

By the transactions' own accounts, where they carry them: processor time by class; and of a device's busy time
its paging part by the pages that were read for each class, the rest by the I/Os that each asked for.

Else by regression of what was in use on what was done of each class, U = a + Σ_c D_c X_c with D_c ≥ 0
(non-negative least squares [Lawson and Hanson 1974]), over whole blocks of successive observations. X_c are
not completions: the work of a long transaction would then count in a block where it was not, which flattens
the slopes. Each transaction counts in a block for the part of its time that lies there. The error of D_c is
by the same draws of blocks as all others. The total is that of `_demands`, background included; only its
division among the classes is from here. Classes whose part of the work hardly varies from block to block
cannot be told apart, and are joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from satline.prediction._accounts import Accounts
from satline.prediction._class_lines import Lines, lines, relative
from satline.prediction._demands import Blocks, Demand
from satline.prediction._network import Floats
from satline.prediction._signals import CAP, DEVICE, PROCESSORS, QUOTA, Resource, Signals

WIDE_OF_ITSELF, WIDE_OF_MEAN = 1.0, 0.5
LEAST_BLOCKS = 20


@dataclass(frozen=True)
class Division:
    """How the demands divide among the classes; arrays are by draw, draw 0 what was observed.

    accounts
        With classes joined that could not be told apart.
    done
        Transactions, shape (draws, chains, classes).
    processor, pages, ios
        Processor time, pages read and I/Os of a transaction; ``None``: not known.
    regressed
        Of each resource that the accounts do not tell of, each class's demand over the mean one, shape
        (draws, classes); ``None``: they do.
    joined
        Classes that could not be told apart.
    """

    accounts: Accounts
    done: Floats
    processor: Lines | None
    pages: Lines | None
    ios: Lines | None
    regressed: tuple[Floats | None, ...]
    joined: tuple[tuple[str, ...], ...] = ()

    @property
    def mix(self) -> Floats:
        """What part of each chain's transactions each class is: shape (draws, chains, classes)."""
        total = self.done.sum(axis=2, keepdims=True)
        return np.asarray(self.done / np.maximum(total, 1e-300))

    def at(self, users: float | Floats | None) -> Times:
        """How they divide with so many users; ``None``: at the loads seen."""
        return Times(
            users,
            self.regressed,
            None if self.processor is None else self.processor.times(users),
            None if self.pages is None else self.pages.at(users),
            None if self.ios is None else self.ios.at(users),
            self.done.sum(axis=1),
        )


class Times:
    """How the demands divide with so many users: see `Division`."""

    def __init__(
        self,
        users: float | Floats | None,
        regressed: tuple[Floats | None, ...],
        processor: Floats | None,
        pages: Floats | None,
        ios: Floats | None,
        done: Floats,
    ) -> None:
        self.users, self.regressed, self.processor = users, regressed, processor
        self.pages = None if pages is None else relative(pages, done)
        self.ios = None if ios is None else relative(ios, done)
        # as many requests for a page as for an I/O
        self.reads = None if pages is None or ios is None else relative(pages + ios, done)

    def of(self, number: int, demand: Demand) -> tuple[Floats, Floats | None]:
        """Each class's demand on resource `number` over the mean one, and what part of it is paging (``None``
        of processors): shape (draws, classes)."""
        known = self.regressed[number]
        device = demand.name not in (PROCESSORS, QUOTA)
        share = demand.paging_part(self.users)[:, None] if device else None
        if known is not None:
            return known, None if share is None else np.broadcast_to(np.nan_to_num(share), known.shape)
        if share is None:
            assert self.processor is not None
            return self.processor, None
        assert self.pages is not None
        assert self.ios is not None
        assert self.reads is not None
        if not np.isfinite(share).all():
            return self.reads, np.zeros_like(self.reads)
        paged = share * self.pages
        times = paged + (1 - share) * self.ios
        return times, paged / np.maximum(times, 1e-300)


def divide(
    accounts: Accounts, chosen: Signals, blocks: Blocks, demands: Sequence[Demand], first: Demand
) -> Division | str:
    """Divide the demands among the classes.

    Parameters
    ----------
    first
        The demand that decides whether classes can be told apart, where it is not known by accounts.

    Returns
    -------
    Why they cannot be divided, if so.
    """
    resources = {r.name: r for r in chosen.resources}
    groups = [[k] for k in range(len(accounts.classes))]
    known = [_by_accounts(d, accounts) for d in demands]
    if not all(known):
        if blocks.length.astype(bool).sum() < LEAST_BLOCKS:
            return "the transactions have no accounts of their own, and too few observations to regress on"
        decisive = first if not known[list(demands).index(first)] else demands[known.index(False)]
        groups = _told_apart(accounts, chosen, blocks, decisive, resources[decisive.name])
    made = accounts.joined(groups)
    if len(made.classes) < 2:
        names = ", ".join(accounts.classes)
        return f"{names} cannot be told apart: their parts of the work hardly vary"
    count = np.stack([blocks.drawn(v).sum(axis=1) for v in made.done.sum(axis=0)], axis=1)
    regressed = tuple(
        None if told else relative(_regressed(made, chosen, blocks, d, resources[d.name]), count)
        for d, told in zip(demands, known, strict=True)
    )

    def of(name: str, changes: bool) -> Lines | None:
        return lines(made, name, blocks, changes=changes) if name in made.sums else None

    return Division(
        made,
        _drawn(made.done, blocks),
        of("cpu_s", True),
        of("page_reads", True),
        of("ios", False),
        regressed,
        tuple(tuple(accounts.classes[k] for k in g) for g in groups if len(g) > 1),
    )


def _by_accounts(demand: Demand, accounts: Accounts) -> bool:
    """Do the transactions' accounts tell of this resource?"""
    if demand.name in (PROCESSORS, QUOTA):
        return "cpu_s" in accounts.sums
    return (demand.name == CAP or demand.name.startswith(DEVICE)) and {"page_reads", "ios"} <= set(
        accounts.sums
    )


def _drawn(values: Floats, blocks: Blocks) -> Floats:
    """Sums by draw of values of shape (chains, classes, observations): shape (draws, chains, classes)."""
    return np.stack([np.stack([blocks.drawn(v).sum(axis=1) for v in row], axis=1) for row in values], axis=1)


def _regressed(
    accounts: Accounts, chosen: Signals, blocks: Blocks, demand: Demand, resource: Resource
) -> Floats:
    """Demand of each class by non-negative least squares: shape (draws, classes)."""
    from scipy.optimize import nnls

    used = resource.used if resource.own is None else np.nan_to_num(resource.own)
    here = blocks.length.ravel() > 0
    seconds = blocks.length.ravel()[here]
    busy = blocks.totals(chosen.seconds * used).ravel()[here]
    done = np.stack([blocks.totals(v).ravel()[here] for v in accounts.sums["under_way"].sum(axis=0)], axis=1)
    # a sum of so many demands varies as their number
    scale = 1 / np.maximum(done.sum(axis=1), 1.0)
    draws = len(blocks.weight)
    root = np.sqrt(blocks.weight.reshape(draws, -1)[:, here] * scale)
    background = np.zeros(draws) if resource.own is not None else demand.background[:draws]
    left = root * (busy - background[:, None] * seconds)
    return np.stack([nnls(w[:, None] * done, y)[0] for w, y in zip(root, left, strict=True)])


def _told_apart(
    accounts: Accounts, chosen: Signals, blocks: Blocks, demand: Demand, resource: Resource
) -> list[list[int]]:
    """Groups of classes whose demands are known well enough: within half of themselves, or a quarter of the
    mean. One that is not is joined to the class that its error goes against most."""
    groups = [[k] for k in range(len(accounts.classes))]
    while len(groups) > 1:
        made = accounts.joined(groups)
        draws = _regressed(made, chosen, blocks, demand, resource)
        count = made.done[:, :, blocks.good].sum(axis=(0, 2))
        mean = float(draws[0] @ count / count.sum())
        low, high = np.percentile(draws[1:], [2.5, 97.5], axis=0)
        allowed = np.maximum(WIDE_OF_ITSELF * draws[0], WIDE_OF_MEAN * mean)
        excess = (high - low) / np.maximum(allowed, 1e-300)
        worst = int(excess.argmax())
        if excess[worst] <= 1:
            break
        errors = draws[1:] - draws[1:].mean(axis=0)
        against = errors[:, worst] @ errors / np.maximum(np.sqrt((errors**2).sum(axis=0)), 1e-300)
        against[worst] = np.inf
        other = int(against.argmin())
        both = sorted([*groups[worst], *groups[other]])
        groups = sorted([g for k, g in enumerate(groups) if k not in (worst, other)] + [both])
    return groups
