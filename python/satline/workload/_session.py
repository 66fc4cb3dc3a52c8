"""A session: what one person typed and what came back, with think, typing and response times.

Think time is from the answer's end (the prompt stands) to the first key, typing from there to the line's end,
response from there to the next prompt [AW79]. The text of a line is read off the screen, never from the keys:
what was not shown is not in a session, also where a foreign recorder stored it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from satline.errors import InputError
from satline.problems import all_problems

Seconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=10**12)]


class Line(BaseModel):
    """One input line.

    think_s
        None: nobody can tell, as for a line typed before the prompt stood.
    characters
        Of the line as sent, its end included.
    program
        The class of the program that read it; None: the shell.
    prompt
        What stood on the screen's line before it, where a program read it.
    secret
        Something was typed without echo while it ran.
    full_screen
        It took the whole screen; what was typed in it is not known.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    klass: str = Field(alias="class", min_length=1)
    text: str
    think_s: Seconds | None = None
    typing_s: Seconds | None = None
    response_s: Seconds | None = None
    characters: Count
    output_bytes: Count | None = None
    status: int | None = None
    program: str | None = None
    prompt: str | None = None
    secret: bool = False
    full_screen: bool = False


class Session(BaseModel):
    """The lines of one recording, in order.

    keys
        ``typed``: the keys' own times; ``echo``: times of what the screen showed, in place of them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    format: Literal["satline-session-1"] = "satline-session-1"
    source: str
    keys: Literal["typed", "echo"]
    lines: list[Line]
    notes: list[str] = []

    def commands(self) -> list[list[Line]]:
        """Each command of the shell with the lines that its program read."""
        groups: list[list[Line]] = []
        for line in self.lines:
            if line.program is None or not groups:
                groups.append([line])
            else:
                groups[-1].append(line)
        return groups


def write_session(session: Session, path: Path) -> None:
    """Write it as JSON, readable by its owner only: lines may hold what nobody else should read."""
    import os

    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(session.model_dump_json(by_alias=True, indent=1) + "\n")


def read_session(path: Path) -> Session:
    """Read a session file.

    Raises
    ------
    InputError
        It cannot be read, or is no session.
    """
    hint = "`satline workload import-session RECORDING` makes sessions"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", hint="name a session") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not text", hint=hint) from None
    try:
        return Session.model_validate_json(text)
    except ValidationError as error:
        if any(problem["type"] == "json_invalid" for problem in error.errors()):
            raise InputError(f"{path}: not JSON: {error.errors()[0]['msg']}", hint=hint) from None
        raise all_problems(path, text, error, Session, kind="session", hint=hint) from None
