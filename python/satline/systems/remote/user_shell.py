"""A user's line to another host: the command that stands in place of the workload's shell.

Usage: python3 user_shell.py PARAMETERS.json COMMAND...       with SATLINE_USER in the environment

It becomes an SSH client on a shared connection, which runs COMMAND on a terminal there. Standard library
only, and nothing of Satline: it starts once for each user.
"""

import json
import os
import shlex
import sys
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

SENT = ("PS0", "PS1", "TERM")


def client(
    parameters: Mapping[str, Any], environment: Mapping[str, str], command: Sequence[str]
) -> list[str]:
    """The SSH client's words for one user.

    Parameters
    ----------
    parameters
        ``clients``: one list of words for each connection. ``enter``: script through which users go in there.
        ``users``: directory there for the users' own. ``environment``: variables as they are there.
    """
    user = environment.get("SATLINE_USER", "user")
    digits = "".join(sign for sign in user if sign.isdecimal())
    number = int(digits) if digits else zlib.crc32(user.encode())
    words = parameters["clients"][number % len(parameters["clients"])]
    variables = {
        name: value for name, value in environment.items() if name in SENT or name.startswith("SATLINE_")
    }
    variables.update(parameters["environment"])
    variables["SATLINE_WORK"] = (
        parameters["users"] + "/" + "".join(s if s.isalnum() or s in "-_" else "_" for s in user)
    )
    there = ["exec", "env", *(f"{name}={value}" for name, value in sorted(variables.items()))]
    return [*words, shlex.join([*there, "sh", parameters["enter"], *command])]


def main() -> None:
    """Become the client."""
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123
        parameters = json.load(file)
    words = client(parameters, dict(os.environ), sys.argv[2:])
    os.execvp(words[0], words)


if __name__ == "__main__":
    main()
