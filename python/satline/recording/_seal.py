"""The last line of recording.toml and sources/*.toml: which recording it belongs to, and the checksum of what
stands before.

`# recording=<id> crc32=<checksum>`; the checksum is the CRC-32 of all bytes up to the `=` before it.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from satline.errors import InputError

# `checksums` of recording.toml: its files carry checksums. Without that key it is of a version before.
CHECKSUMS = 1
_LINE = re.compile(r"# recording=(?P<recording>[0-9A-Za-z]{1,64}|-) crc32=(?P<crc32>[0-9a-f]{8})\n")
_BEGINS = "# recording="


@dataclass(frozen=True)
class Seal:
    """The recording that a description says it belongs to."""

    recording: str


def sealed(text: str, recording: str) -> str:
    """A description's text with its last line."""
    owner = recording if recording.isascii() and recording.isalnum() and len(recording) <= 64 else "-"
    words = f"{text}# recording={owner} "
    return f"{words}crc32={zlib.crc32(words.encode()):08x}\n"


def check_seal(file: Path, text: str) -> Seal | None:
    """The last line of a description; None where it has none.

    Raises
    ------
    InputError
        If the text is not the one that the line was made for.
    """
    start = text.rfind("\n", 0, -1) + 1
    match = _LINE.fullmatch(text, start)
    if match is None:
        if _BEGINS in text and text.rfind("\n" + _BEGINS) >= 0:
            raise damaged(file, "something follows the checksum at its end, or the checksum is damaged")
        return None
    words = text[: match.start("crc32") - len("crc32=")]
    if zlib.crc32(words.encode()) != int(match["crc32"], 16):
        raise damaged(file, "its checksum is wrong")
    return Seal(match["recording"])


def damaged(file: Path, why: str) -> InputError:
    """A description that is not as it was written."""
    return InputError(
        f"{file}: damaged, or changed by hand: {why}",
        hint="bring it back from a copy; `satline recording seal` accepts it as it is",
    )
