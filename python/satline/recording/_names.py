"""Names → pseudonyms, by the rules of the catalogue."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from satline.catalogue import NameRule, catalogue
from satline.errors import SatlineError
from satline.recording._key import Key

# A path in a sentence; what stands in it says nothing of anybody.
_PATH = re.compile(r"(?<![^\s:;,='\"`()\[\]])/[^\s:;,='\"`()\[\]]+")
_KERNEL_PATH = re.compile(r"/(proc|sys)(?!/fs/cgroup)(/[a-z_0-9.-]+)*/?|/dev/(null|zero|kmsg)|/")
# Shorter names, such as a device's, are also words; numbers are also figures.
_LEAST_NAME = 3
TEXT = "text"
EMULATED = "emulated"


@dataclass(frozen=True)
class _Compiled:
    """A rule whose expressions are compiled."""

    rule: NameRule
    keep: re.Pattern[str] | None
    tail: re.Pattern[str] | None
    suffix: re.Pattern[str] | None


@dataclass
class Pseudonymiser:
    """Replaces names; remembers what it replaced.

    Attributes
    ----------
    rules
        Those of the catalogue.
    emulated
        Users are Satline's own, emulated or simulated: its numbers for them stand.
    as_they_are
        Rules of which everything stands.
    names
        By pseudonym, the name that it stands for.
    """

    key: Key
    rules: Mapping[str, NameRule] = field(default_factory=lambda: catalogue().names)
    emulated: bool = False
    as_they_are: frozenset[str] = frozenset()
    names: dict[str, str] = field(default_factory=dict)
    _done: dict[tuple[str, str], str] = field(default_factory=dict)
    _known_of: int = 0
    _known_names: re.Pattern[str] | None = None

    def replace(self, text: str, rule: str) -> str:
        """What stands in place of a text; `rule` is a name in the catalogue's [names], empty: `text`."""
        if rule == "sentence":
            return self._sentence(text)  # which names it holds is known once all others were met
        known = self._done.get((text, rule))
        if known is None:
            known = self._done[(text, rule)] = self._replace(text, rule or TEXT)
        return known

    def event_text(self, event: str, text: str) -> str:
        """What stands in place of the text of an event."""
        rule = self.rules["event-text"].events.get(event, TEXT)
        if event == "swap-state":
            user, tab, states = text.partition("\t")
            words = states.split("\t")
            return self.replace(user, rule) + tab + "\t".join(self.replace(w, "word") for w in words)
        if rule == "device":
            # As `sda (block)`.
            name, bracket, kind = text.rpartition(" (")
            if bracket and self.replace(kind.removesuffix(")"), "word") == kind.removesuffix(")"):
                return self.replace(name, rule) + bracket + kind
        return self.replace(text, rule)

    def _replace(self, text: str, name: str) -> str:
        if not text or name in self.as_they_are:
            return text
        compiled = self._compiled.get(name, self._compiled[TEXT])
        return self._parts(text, compiled)

    def _parts(self, text: str, by: _Compiled) -> str:
        if self._stands(text, by):
            return text
        tail = ""
        if by.tail is not None and (match := by.tail.fullmatch(text)) is not None:
            text, tail = match[1], match[2]
            if self._stands(text, by):
                return text + tail
        return self._split(text, by, by.rule.split) + tail

    def _split(self, text: str, by: _Compiled, signs: str) -> str:
        if not text or self._stands(text, by):
            return text
        if signs:
            return signs[0].join(self._split(part, by, signs[1:]) for part in text.split(signs[0]))
        suffix = ""
        if by.suffix is not None and (match := by.suffix.fullmatch(text)) is not None:
            text, suffix = match[1], match[2]
        # Names that begin with _ are not users, and stay so.
        mark = "_" if by.rule.name == "name" and text.startswith("_") and len(text) > 1 else ""
        return mark + self._one(text[len(mark) :]) + suffix

    def _stands(self, text: str, by: _Compiled) -> bool:
        if by.keep is not None and by.keep.fullmatch(text) is not None:
            return True
        return self.emulated and by.rule.name == "name" and self._numbered.fullmatch(text) is not None

    def _one(self, name: str) -> str:
        made = self.key.pseudonym(name)
        if self.names.setdefault(made, name) != name:
            raise SatlineError(
                f"two names have the pseudonym {made}",
                hint="use another key: by chance these two collide",
            )
        return made

    def _sentence(self, text: str) -> str:
        text = _PATH.sub(lambda m: self._path(m[0]), text)
        known = self._known
        return text if known is None else known.sub(lambda m: self.key.pseudonym(m[0]), text)

    @property
    def _known(self) -> re.Pattern[str] | None:
        """Any name that was replaced so far, as a word."""
        if self._known_of != len(self.names):
            self._known_of = len(self.names)
            words = [n for n in self.names.values() if len(n) >= _LEAST_NAME and not n.isdigit()]
            any_of = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
            # What a path has become is left alone.
            self._known_names = re.compile(rf"(?<!\w)(?<!p-)(?:{any_of})(?!\w)") if words else None
        return self._known_names

    def _path(self, path: str) -> str:
        if _KERNEL_PATH.fullmatch(path):
            return path
        return self._split(path, self._compiled["name"], "/")

    @cached_property
    def _compiled(self) -> dict[str, _Compiled]:
        def compiled(expression: str, ending: bool = False) -> re.Pattern[str] | None:
            if not expression:
                return None
            return re.compile(rf"(?s:(.+?))({expression})" if ending else expression)

        return {
            name: _Compiled(r, compiled(r.keep), compiled(r.tail, True), compiled(r.suffix, True))
            for name, r in self.rules.items()
        }

    @cached_property
    def _numbered(self) -> re.Pattern[str]:
        return re.compile(self.rules[EMULATED].keep)
