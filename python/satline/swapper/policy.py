"""A policy file, as the daemon reads it: the daemon alone knows what one may say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from satline.outside import parse_json
from satline.swapper.program import answer


@dataclass(frozen=True)
class Policy:
    """What a policy file says.

    tables
        Every key with its value: what the file states, else the default; None: absent.
    meanings
        (key, what it means), in the order of the reference; a key of a table is `prepage.sets`.
    """

    tables: dict[str, Any]
    meanings: tuple[tuple[str, str], ...]


def read_policy(path: Path) -> Policy:
    """The policy in a file.

    Raises
    ------
    InputError
        It cannot be read or says what cannot be: all problems at once, each with its line.
    """
    said = parse_json(answer("check", "--meanings", str(path)))
    return Policy(said["policy"], tuple((key, meaning) for key, meaning in said["meanings"]))
