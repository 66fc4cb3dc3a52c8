"""`names.sealed`: the names that pseudonyms stand for, which only the key opens.

A line for each: the pseudonym, and its name under AES-256-SIV with the pseudonym as associated data, in
base64. Names are padded, so that their lengths do not show: to a multiple of 32 bytes, with their own length
before them.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from satline.errors import InputError
from satline.extras import optional_library
from satline.recording._key import PSEUDONYM, PURPOSE, Key

FILE = "names.sealed"
_LINE = re.compile(rb"(?P<pseudonym>p-[a-z2-7]{12}) (?P<sealed>[A-Za-z0-9+/]{1,12000}={0,2})")
_HEAD = "satline-names-1 key="
_PAD = 32
# Of a longer text, the beginning.
_MOST_BYTES = 8000
_MAX_FILE_BYTES = 256 << 20


def sealed_names(key: Key, names: Mapping[str, str]) -> bytes:
    """The file's content: a head that says which key, and a line for each name."""
    lines = [f"{_HEAD}{key.id}"]
    for pseudonym in sorted(names):
        name = names[pseudonym].encode("utf-8", "replace")[:_MOST_BYTES]
        padded = len(name).to_bytes(4, "big") + name
        padded += bytes(-len(padded) % _PAD)
        sealed = key.cipher.encrypt(padded, [pseudonym.encode()])
        lines.append(f"{pseudonym} {base64.b64encode(sealed).decode()}")
    return ("\n".join(lines) + "\n").encode()


def read_names(file: Path, key: Key, wanted: Iterable[str] | None = None) -> dict[str, str]:
    """Names by pseudonym.

    Parameters
    ----------
    wanted
        Only these pseudonyms; None: all.

    Raises
    ------
    InputError
        If there is no such file, it was made with another key, or a line is damaged.
    """
    wrong_tag = optional_library("cryptography.exceptions", PURPOSE).InvalidTag
    try:
        with file.open("rb") as stream:
            lines = stream.read(_MAX_FILE_BYTES).split(b"\n")
    except OSError as error:
        raise InputError(
            f"{file}: {error.strerror}", hint="the recording was made without it, or is not pseudonymised"
        ) from error
    if lines[0] != f"{_HEAD}{key.id}".encode():
        raise InputError(
            f"{file}: not made with this key", hint=f"its first line says with which; this is {key.id}"
        )
    only = None if wanted is None else frozenset(wanted)
    found: dict[str, str] = {}
    for number, line in enumerate(lines[1:-1], start=2):
        match = _LINE.fullmatch(line)
        pseudonym = match["pseudonym"].decode() if match else ""
        if match is not None and only is not None and pseudonym not in only:
            continue
        try:
            if match is None:
                raise ValueError("no such line")
            padded = key.cipher.decrypt(base64.b64decode(match["sealed"]), [pseudonym.encode()])
            found[pseudonym] = padded[4 : 4 + int.from_bytes(padded[:4], "big")].decode("utf-8", "replace")
        except (ValueError, wrong_tag, binascii.Error) as error:
            raise InputError(f"{file}: line {number} is damaged", hint="bring it back from a copy") from error
    return found


def with_names(text: str, names: Mapping[str, str]) -> str:
    """A text, such as a report, with names in place of the pseudonyms that are known."""
    return PSEUDONYM.sub(lambda match: names.get(match[0], match[0]), text)
