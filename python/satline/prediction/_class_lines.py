"""What a transaction of each class took, and how that changes with load."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from satline.prediction._accounts import Accounts
from satline.prediction._demands import Blocks
from satline.prediction._network import Floats
from satline.prediction._trend import LEAST, LEAST_CLASSES, slope, sure


@dataclass(frozen=True)
class Lines:
    """A measure of a transaction by class; arrays of shape (draws, classes).

    mean
        Over the loads seen; change: its slope over load, 0 where it does not surely change; centre: the mean
        load.
    done
        Transactions of each class.
    """

    mean: Floats
    change: Floats
    centre: Floats
    done: Floats

    def at(self, users: float | Floats | None) -> Floats:
        """The measure with so many users, by draw; ``None``: at the loads seen."""
        if users is None:
            return self.mean
        load = np.broadcast_to(np.asarray(users, dtype=np.float64), self.mean.shape[:1])[:, None]
        return np.asarray(np.maximum(self.mean + self.change * (load - self.centre), LEAST * self.mean))

    def times(self, users: float | Floats | None) -> Floats:
        """The same over that of the mean transaction; 1 where there is none."""
        return relative(self.at(users), self.done)


def lines(accounts: Accounts, name: str, blocks: Blocks, *, changes: bool) -> Lines:
    """The lines of a measure of the accounts; changes: it may change with load."""
    amounts, done = (
        np.stack([blocks.drawn(v) for v in values.sum(axis=0)], axis=2)
        for values in (accounts.sums[name], accounts.done)
    )
    count = done.sum(axis=1)
    mean = amounts.sum(axis=1) / np.maximum(count, 1e-300)
    change, centre = np.zeros_like(mean), np.zeros_like(mean)
    if changes and len(blocks.load) >= LEAST_CLASSES:
        for c in range(mean.shape[1]):
            each = amounts[:, :, c] / np.maximum(done[:, :, c], 1e-300)
            found, centre[:, c] = slope(each, blocks.load, done[:, :, c])
            change[:, c] = found if sure(found) else 0.0
    return Lines(mean, change, centre, count)


def relative(each: Floats, done: Floats) -> Floats:
    """Over the mean by the classes' transactions; both of shape (draws, classes)."""
    total = np.maximum(done.sum(axis=1, keepdims=True), 1e-300)
    mean = (each * done).sum(axis=1, keepdims=True) / total
    return np.asarray(np.where(mean > 0, each / np.maximum(mean, 1e-300), 1.0))
