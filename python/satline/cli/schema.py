"""`satline schema`: the JSON Schema of what the commands print with `--json`."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from satline.cli.declared import argument, command


def _kinds(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from satline.present.schemas import KINDS

    del context, parameter
    return [CompletionItem(name, help=one.about) for name, one in KINDS.items() if name.startswith(begun)]


@command("""\b
Examples:
  satline schema                               the kinds of documents
  satline schema diagnose                      the keys of one, as JSON Schema
  satline schema info | jq '.properties | keys'
""")
def schema(kind: str | None = argument(shell_complete=_kinds)) -> None:
    """List the kinds of documents that commands print with --json, or print the JSON Schema of KIND.

    Each document is an object that begins with "format", the version of all documents, and "kind", which
    command's it is. Every key that a schema names is always there; null means not known, or not finite. A
    later version of Satline may add keys. "format" rises when a key goes or changes its meaning.

    The schemas are of JSON Schema's draft 2020-12. docs/reference/json.md has all of them as a page.
    """
    from satline.present.schemas import KINDS
    from satline.present.schemas import schema as made

    if kind is None:
        width = max(map(len, KINDS))
        for name, one in KINDS.items():
            click.echo(f"{name:{width}}  {one.about}")
        return
    if kind not in KINDS:
        from difflib import get_close_matches

        from satline.errors import InputError

        # A part of a name counts more than letters alike.
        close = [n for n in KINDS if len(kind) > 2 and kind in n] or get_close_matches(kind, KINDS, n=3)
        hint = f"did you mean {' or '.join(close[:3])}?" if close else "`satline schema` lists the kinds"
        raise InputError(f"there is no kind {kind}", hint=hint)
    from satline.present.documents import text

    click.echo(text(made(kind)))
