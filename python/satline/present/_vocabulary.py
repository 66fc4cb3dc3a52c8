"""What tables and plots call each variable: the catalogue's labels, in Linux's words or in those of VM.

Pages and commands about a recording of a virtual-machine system are made inside `in_words_of`; all others say
what Linux says. Which words it is belongs to the page that is being written, not to each of the hundred calls
that name a variable on it, so it is a context variable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from satline.catalogue import catalogue
from satline.diagnosis import vm_words

_VM: ContextVar[bool] = ContextVar("vm_words", default=False)


@contextmanager
def in_words_of(*descriptions: Mapping[str, Any]) -> Iterator[None]:
    """Within it, variables have the words of the systems with these descriptions (`recording.toml`).

    Of several systems the words of Linux, unless all are virtual-machine systems.
    """
    before = _VM.set(bool(descriptions) and all(map(vm_words, descriptions)))
    try:
        yield
    finally:
        _VM.reset(before)


def label(variable: str) -> str:
    """The catalogue's label of a variable; empty where it has none."""
    return _labels(_VM.get()).get(variable, "")


@cache
def _labels(vm: bool) -> dict[str, str]:
    every = catalogue()
    columns = every.table("system").columns
    return {v.name: (vm and v.vm_label) or v.label for v in (*columns, *every.derived()) if v.label}
