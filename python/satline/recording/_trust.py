"""Seal a recording as it is, sign it, verify the signature."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from satline.atomic import replace_file
from satline.errors import InputError, SatlineError
from satline.recording import describe
from satline.recording._files import layout, sync_directory
from satline.recording._integrity import look, missing
from satline.recording._ledger import read_ledgers
from satline.recording._manifest import (
    FILE,
    BrokenManifest,
    Entry,
    Gone,
    changed,
    digest,
    load,
    table_entry,
)
from satline.recording._open import Recording
from satline.recording._sealed_names import FILE as NAMES

SIGNATURE = f"{FILE}.sig"
NAMESPACE = "satline-recording"
_SECONDS = 60


@dataclass
class Sealed:
    """What sealing accepted.

    Attributes
    ----------
    taken
        Files at rest that were in no manifest, or were not as it said: its lines are of what is there now.
    lost
        What is missing, noted as lost.
    """

    taken: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def seal(path: Path | str) -> Sealed:
    """Accept a recording as it is: checksums of all that is there, and a note of what is missing.

    What cannot be read stays refused: delete it first, so that it counts as lost.

    Raises
    ------
    InputError
        If there is no recording, it is no TOML, or a file at rest cannot be read.
    """
    path = Path(path)
    describe.reseal(path)
    done = Sealed()
    try:
        load(path)
    except BrokenManifest:
        # What it said is not known any more: it is made anew of what is there.
        aside = path / f"{FILE}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%S}"
        (path / FILE).rename(aside)
        done.lost.append(f"{aside.name}: the manifest; which tables are missing is not known")
    recording = Recording.open(path)
    identity = str(recording.description.get("recording", {}).get("id", ""))
    when = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
    seen = look(path, layout)
    wrong = missing(path, seen, checksummed=True, identity=identity, ended=False)
    with changed(path) as manifest:
        manifest.recording = identity
        for file in layout(path).rest:
            place = file.path.relative_to(path).as_posix()
            known = manifest.files.get(place)
            if known is None or (known.bytes, known.crc32, known.sha256) != digest(file.path):
                manifest.files[place] = table_entry(path, file.path)
                done.taken.append(place)
        for one in wrong:
            place = one.path.relative_to(path).as_posix()
            if not one.what.startswith("missing:"):
                continue
            entry = manifest.files.pop(place, None)
            if entry is not None:
                manifest.gone[place] = Gone(entry, f"lost, accepted {when}")
            elif one.path.suffix == ".seg" and one.table is not None:
                writer, run, sequence = one.path.stem.rsplit("-", 2)
                pair = (int(sequence), int(sequence))
                manifest.lost.setdefault((one.table, writer, int(run)), []).append(pair)
            elif one.path.suffix == ".ledger":
                writer, _, run = one.path.stem.rpartition("-")
                manifest.ledgers.discard((writer, int(run)))
            else:
                continue
            done.lost.append(str(one))
    return done


def sign(path: Path | str, key: Path) -> Path:
    """Sign a recording with an SSH key: its manifest then has the SHA-256 of every file.

    Parameters
    ----------
    key
        A private key, or a public one whose private part the agent has.

    Returns
    -------
    Path
        The signature, `manifest.jsonl.sig` in the recording.

    Raises
    ------
    InputError
        If something of the recording is missing or damaged, it has not ended, or the key cannot sign.
    """
    path = Path(path)
    recording = Recording.open(path)
    if not recording.ended:
        raise InputError(
            f"{path}: has not ended", hint="sign it when it has; `satline recording check` says more"
        )
    found = recording.wrong()
    if found:
        raise InputError(str(found[0]), hint="only a whole recording can be signed")
    with changed(path) as manifest:
        manifest.sealed = {place: Entry(place, *digest(path / place)) for place in _others(path)}
    (path / SIGNATURE).unlink(missing_ok=True)
    done = _ssh_keygen("-Y", "sign", "-q", "-f", str(key), "-n", NAMESPACE, data=(path / FILE).read_bytes())
    if done.returncode or b"SSH SIGNATURE" not in done.stdout:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise InputError(
            f"{key}: cannot sign: {words[-1] if words else 'no reason given'}",
            hint="give a private SSH key without passphrase, or one that ssh-agent holds",
        )
    replace_file(path / SIGNATURE, done.stdout)
    sync_directory(path)
    return path / SIGNATURE


def verify(path: Path | str, signers: Path, identity: str | None = None) -> str:
    """Verify a recording's signature, and that every file is as it was signed.

    Parameters
    ----------
    signers
        A file of allowed signers, as of ssh-keygen(1): a line for each, a name and a public key.
    identity
        The name that must have signed; None: any of the file.

    Returns
    -------
    str
        Whose signature it is.

    Raises
    ------
    InputError
        If there is no signature, it is not valid, or a file is missing, new or not as it was signed.
    """
    path = Path(path)
    manifest = load(path)
    if manifest is None or not (path / SIGNATURE).exists():
        raise InputError(f"{path}: is not signed", hint="`satline recording sign` signs it")
    data = (path / FILE).read_bytes()
    name = identity or _signer(path, signers)
    done = _ssh_keygen(
        "-Y",
        "verify",
        "-f",
        str(signers),
        "-I",
        name,
        "-n",
        NAMESPACE,
        "-s",
        str(path / SIGNATURE),
        data=data,
    )
    if done.returncode:
        raise InputError(
            f"{path / SIGNATURE}: not a valid signature of {name} for this manifest",
            hint="the recording was changed after it was signed, or another key signed it",
        )
    at_rest = [f.path.relative_to(path).as_posix() for f in layout(path).rest]
    present = {*at_rest, *_others(path)}
    stated = manifest.files | manifest.sealed
    for place in sorted(present | stated.keys()):
        if place not in stated:
            raise InputError(
                f"{path / place}: was not there when it was signed", hint="it is not what was signed"
            )
        if place not in present:
            raise InputError(f"{path / place}: is missing; it was signed", hint="it is not what was signed")
        entry = stated[place]
        if (entry.bytes, entry.crc32, entry.sha256) != digest(path / place):
            raise InputError(f"{path / place}: is not as it was signed", hint="it is not what was signed")
    return name


def _others(path: Path) -> list[str]:
    """All that is part of a recording and not at rest, by its place."""
    found = [path / "recording.toml", *(path / "sources").glob("[a-z]*.toml")]
    found += [s.path for s in layout(path).segments]
    found += [ledger.path for ledger in read_ledgers(path).values()]
    found += [p for p in (path / "trace").glob("*.gz") if p.is_file()]
    found += [p for p in [path / NAMES] if p.is_file()]
    return sorted(p.relative_to(path).as_posix() for p in found)


def _signer(path: Path, signers: Path) -> str:
    done = _ssh_keygen("-Y", "find-principals", "-s", str(path / SIGNATURE), "-f", str(signers), data=b"")
    names = done.stdout.decode(errors="replace").split()
    if done.returncode or not names:
        raise InputError(
            f"{path / SIGNATURE}: signed by none of {signers}",
            hint="the file has a line for each signer: a name, the type of the key, the key",
        )
    return names[0]


def _ssh_keygen(*arguments: str, data: bytes) -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise InputError(
            "ssh-keygen: not found; it makes and verifies signatures", hint="install openssh-client"
        )
    try:
        return subprocess.run(
            [program, *arguments], input=data, capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise SatlineError(
            "ssh-keygen did not answer", hint="a key with a passphrase must be in ssh-agent"
        ) from None
