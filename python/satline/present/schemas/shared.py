"""Parts of several documents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Named:
    """What has a name."""

    name: str


@dataclass(frozen=True)
class About(Named):
    """A name, and what it is."""

    about: str


@dataclass(frozen=True)
class Stored:
    """A directory, and the bytes in it."""

    path: Path
    bytes: int


@dataclass(frozen=True)
class Span:
    """From one moment to another, ISO 8601."""

    begins: str
    ends: str
