"""Classes of commands: by the first word, or by a mapping file.

```toml
other = "miscellaneous"        # for what none names; default: the first word itself
[classes]
edit = ["vi", "ed", "sed *-i"] # words, or patterns of whole lines with * and ?
compile = ["cc", "make"]
```
"""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from satline.problems import read_toml

# Words before the command itself.
_BEFORE = {"sudo", "time", "nohup", "nice", "exec", "command", "builtin", "env", "!", "then", "do", "{", "("}
_LONGEST = 40


class Mapping(BaseModel):
    """What a mapping file says."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    other: str | None = None
    classes: dict[str, list[str]] = {}

    def of(self, line: str) -> str:
        """The class of a line."""
        word = first_word(line)
        for name, patterns in self.classes.items():
            for pattern in patterns:
                if pattern == word or (set(" *?") & set(pattern) and fnmatch.fnmatchcase(line, pattern)):
                    return name
        return self.other if self.other is not None else word


def read_mapping(path: Path | None) -> Mapping:
    """The mapping of a file; without one each first word is a class.

    Raises
    ------
    InputError
        The file is not a mapping: all problems at once.
    """
    if path is None:
        return Mapping()
    hint = 'write [classes] and below it edit = ["vi", "ed"]'
    return read_toml(path, Mapping, kind="mapping", name_one="name a mapping file", hint=hint)[1]


def first_word(line: str) -> str:
    """The name of the program that a line starts, as far as it can be told without being a shell."""
    for word in re.split(r"[\s;|&<>]+", line.strip()):
        bare = word.strip("\"'(){}")
        if bare and word not in _BEFORE and not re.match(r"[A-Za-z_]\w*=", word) and not bare.startswith("-"):
            name = re.sub(r"[^\w.+-]", "", bare.rstrip("/").rsplit("/", 1)[-1])
            return name[:_LONGEST] or "other"
    return "other"
