"""What is varied, as people write it: ranges of users, values of settings."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from satline.errors import InputError

MOST_USERS = 100_000
MOST_POINTS = 10_000


def parse_users(text: str) -> tuple[int, ...]:
    """``4,8`` and ``8..40/4`` and both together, in rising order.

    >>> parse_users("1,4..12/4")
    (1, 4, 8, 12)

    Raises
    ------
    InputError
        It is something else, or too many.
    """
    numbers: set[int] = set()
    for part in text.split(","):
        first, dots, rest = part.strip().partition("..")
        last, slash, step = rest.partition("/")
        try:
            low = int(first)
            high = int(last) if dots else low
            by = int(step) if slash else 1
        except ValueError:
            low, high, by = 0, 0, 0
        if not (1 <= low <= high <= MOST_USERS and by >= 1):
            raise InputError(f"--users {text!r}", hint="write numbers or ranges: 4,8 or 8..40/4")
        numbers.update(range(low, high + 1, by))
    return tuple(sorted(numbers))


def parse_set(text: str) -> tuple[str, str]:
    """``KEY=VALUE``.

    Raises
    ------
    InputError
        There is no = or no key.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--set {text!r}", hint="write --set storage.pageable_frames=200")
    return key.strip(), value.strip()


def parse_vary(text: str) -> tuple[str, tuple[str, ...]]:
    """``KEY=V1,V2,…``; whole numbers also as ranges, ``1..12/2``.

    >>> parse_vary("processors.speed=0.5,1")
    ('processors.speed', ('0.5', '1'))

    Raises
    ------
    InputError
        It is something else.
    """
    key, equals, values = text.partition("=")
    found: list[str] = []
    for value in values.split(","):
        if ".." in value:
            found += [str(n) for n in parse_users(value)]
        elif value.strip():
            found.append(value.strip())
    if not equals or not key.strip() or not found:
        raise InputError(f"--vary {text!r}", hint="write --vary storage.pageable_frames=200,400")
    return key.strip(), tuple(dict.fromkeys(found))


def combinations(vary: Mapping[str, Sequence[str]]) -> list[tuple[tuple[str, str], ...]]:
    """Every combination of the values, the last key changing fastest.

    Raises
    ------
    InputError
        There are more than anybody can want.
    """
    count = 1
    for values in vary.values():
        count *= len(values)
    if count > MOST_POINTS:
        raise InputError(f"{count} combinations of --vary", hint=f"at most {MOST_POINTS}")
    keys = list(vary)
    return [tuple(zip(keys, one, strict=True)) for one in itertools.product(*vary.values())]
