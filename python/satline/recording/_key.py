"""The key that pseudonyms are made with: a file, and the two secrets that are made of it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import secrets
import stat
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from satline.errors import InputError
from satline.extras import optional_library

_FORM = re.compile(rb"satline-key-1 (?P<secret>[0-9a-f]{64})\n?")
PURPOSE = "names are turned into pseudonyms and back with it"
_PREFIX = "p-"
# 60 bits: of a million names two have one pseudonym once in two million keys, and that is an error.
_CHARACTERS = 12
PSEUDONYM = re.compile(rf"(?<![A-Za-z0-9-]){_PREFIX}[a-z2-7]{{{_CHARACTERS}}}(?![a-z2-7])")


@dataclass(frozen=True)
class Key:
    """A secret of 32 bytes; pseudonyms and the sealed names are made with two keys derived from it.

    Derivation: HKDF-SHA-256 (RFC 5869) without salt, info `satline pseudonyms 1`: 32 bytes for HMAC-SHA-256,
    64 bytes for AES-256-SIV (RFC 5297).
    """

    secret: bytes = field(repr=False)

    @cached_property
    def _derived(self) -> bytes:
        hashes = optional_library("cryptography.hazmat.primitives.hashes", PURPOSE)
        hkdf = optional_library("cryptography.hazmat.primitives.kdf.hkdf", PURPOSE)
        made = hkdf.HKDF(hashes.SHA256(), length=96, salt=None, info=b"satline pseudonyms 1")
        derived: bytes = made.derive(self.secret)
        return derived

    @property
    def id(self) -> str:
        """Says which key it was, and nothing of what it is: 16 hexadecimal digits."""
        return self._mac(b"id", b"").hex()[:16]

    def pseudonym(self, name: str) -> str:
        """The pseudonym of a name: the same for the same name and key."""
        text = base64.b32encode(self._mac(b"name", name.encode("utf-8", "surrogatepass"))).decode().lower()
        return _PREFIX + text[:_CHARACTERS]

    def hash(self, what: str, text: str) -> str:
        """Another keyed hash, of 128 bits, in hex: of identifiers that are no names."""
        return self._mac(what.encode(), text.encode()).hex()[:32]

    def _mac(self, what: bytes, text: bytes) -> bytes:
        return hmac.new(self._derived[:32], what + b"\0" + text, hashlib.sha256).digest()

    @cached_property
    def cipher(self) -> Any:
        """AES-256-SIV: deterministic, so that a file of names is the same however often it is made."""
        return optional_library("cryptography.hazmat.primitives.ciphers.aead", PURPOSE).AESSIV(
            self._derived[32:]
        )


def make_key(file: Path) -> Key:
    """Make a new key in a new file that only its owner may read.

    Raises
    ------
    InputError
        If there is such a file, or it cannot be made.
    """
    secret = secrets.token_bytes(32)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(file, flags, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(b"satline-key-1 " + secret.hex().encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
    except FileExistsError as error:
        raise InputError(f"{file}: is there already", hint="leave --make-key out to use it") from error
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}", hint="choose a place where you may write") from error
    return Key(secret)


def read_key(file: Path) -> Key:
    """Read a key.

    Raises
    ------
    InputError
        If it is no key, or others may read it.
    """
    try:
        with file.open("rb") as stream:
            found = os.fstat(stream.fileno())
            data = stream.read(256)
    except FileNotFoundError as error:
        raise InputError(f"{file}: no such file", hint="--make-key makes a key") from error
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}", hint="give the file of the key") from error
    if stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) & 0o077:
        raise InputError(f"{file}: others may read this key", hint=f"chmod 600 {file}")
    match = _FORM.fullmatch(data)
    if match is None:
        raise InputError(
            f"{file}: not a key", hint="one is a line: satline-key-1 and 64 hexadecimal digits; --make-key"
        )
    return Key(bytes.fromhex(match["secret"].decode()))
