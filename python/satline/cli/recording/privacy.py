"""`satline recording pseudonymise|reveal|prune`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from satline.cli.declared import argument, command, option
from satline.cli.options import RECORDING
from satline.cli.outputs import JSON, print_json
from satline.errors import InputError

KEY = option(
    "Key file, readable only by its owner.",
    "--key",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
)


@command("""\b
Examples:
  satline recording pseudonymise a.satline b.satline --key k.key --make-key
  satline recording pseudonymise a.satline b.satline --key k.key
""")
def pseudonymise(
    recording: Path = RECORDING,
    copy: Path = argument(),
    key_file: Path = KEY,
    make_key: bool = option("Make a new key in that file."),
    without_names: bool = option("Do not include the encrypted names: the key can then only test guesses."),
    keep_files: bool = option(
        "Keep a study's files, scripts and classes as they are; its results then stay as exact."
    ),
    as_json: bool = JSON,
) -> None:
    """Make COPY of RECORDING in which users, control groups, commands, hosts and paths are keyed hashes.

    Figures and times are unchanged, and analyses give the same results. With the same key, a name always gets
    the same pseudonym, so copies of several recordings can be compared. Annotations, errors and a study's
    files are hashed or left out as a whole. docs/guides/privacy.md says what is kept.
    """
    from satline import recording as recordings
    from satline.present import visible

    recordings.Recording.open(recording)
    if copy.exists():
        raise InputError(f"{copy}: is there already", hint="choose another name, or delete it")
    key = recordings.make_key(key_file) if make_key else recordings.read_key(key_file)
    done = recordings.pseudonymise(recording, copy, key, keep_files=keep_files, with_names=not without_names)
    if as_json:
        print_json(
            "recording-pseudonymise",
            path=done.path,
            key=key.id,
            names=done.names,
            rows=done.rows,
            left_out=done.left_out,
            original_signed=done.signed,
        )
        return
    if make_key:
        click.echo(f"new key: {visible(key_file)}; who has it can read the names: keep it to yourself")
    for what in done.left_out:
        click.echo(f"left out: {visible(what)}")
    if done.signed:
        click.echo("the signature is of the original, and not in the copy: `satline recording sign` signs it")
    click.echo(f"{visible(copy)}: {sum(done.rows.values()):,} rows, {done.names:,} names replaced")


@command("""\b
Examples:
  satline recording reveal a.satline --key k.key
  satline recording reveal a.satline --key k.key p-k3v7q2m9xw4t
  satline info a.satline | satline recording reveal a.satline --key k.key -
""")
def reveal(
    recording: Path = RECORDING,
    key_file: Path = KEY,
    pseudonyms: tuple[str, ...] = argument(),
    as_json: bool = JSON,
) -> int:
    """Print the names behind pseudonyms of RECORDING; with `-`, restore them in standard input.

    The exit code is 1 if one of the given pseudonyms is unknown.
    """
    from satline.present import visible
    from satline.recording import NAMES, read_key, read_names, with_names

    key = read_key(key_file)
    if pseudonyms == ("-",):
        names = {k: visible(v) for k, v in read_names(recording / NAMES, key).items()}
        for line in sys.stdin:
            click.echo(with_names(line, names), nl=False)
        return 0
    found = read_names(recording / NAMES, key, pseudonyms or None)
    if as_json:
        print_json("recording-reveal", names=found)
    else:
        for pseudonym, name in sorted(found.items(), key=lambda pair: pair[1]):
            click.echo(f"{pseudonym}  {visible(name)}")
    unknown = [p for p in pseudonyms if p not in found]
    for pseudonym in unknown:
        click.echo(f"not known: {visible(pseudonym)}", err=True)
    return 1 if unknown else 0
