"""`satline completion`: scripts that make a shell complete commands, options and names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from satline.cli.declared import argument, command

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


@command("""\b
Examples:
  satline completion bash > ~/.local/share/bash-completion/completions/satline
  satline completion zsh > "${fpath[1]}/_satline"
  satline completion fish > ~/.config/fish/completions/satline.fish
""")
def completion(shell: str = argument(type=click.Choice(["bash", "zsh", "fish"]))) -> None:
    """Print the script with which SHELL completes the commands of satline, their options, and the names of
    shipped studies, reports, machines and workloads.

    The shell reads the script at startup, from the locations in the examples; `source <(satline completion
    bash)` enables it for this session only.
    """
    from satline.cli import commands

    made = get_completion_class(shell)
    assert made is not None
    # What click calls the variable that a script sets when it asks: derived from the program's name.
    click.echo(made(commands, {}, "satline", "_SATLINE_COMPLETE").source())


def names_in(*directories: Callable[[], Path]) -> Complete:
    """Completes the names of TOML files in `directories`, and files, since those may be named too."""

    def complete(
        _context: click.Context, _parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        names = {file.stem for directory in directories for file in directory().glob("*.toml")}
        # bash forgets what was before a file.
        found = [CompletionItem(incomplete, type="file")]
        return found + [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]

    return complete


def shipped(*parts: str) -> Callable[[], Path]:
    """The directory of shipped files, such as ``studies``, ``simulated``."""

    def directory() -> Path:
        from satline import share

        return share.path(parts[0]).joinpath(*parts[1:])

    return directory


def report_definitions() -> Path:
    """Where the definitions of reports are; found without importing what draws them."""
    return Path(__file__).parents[1] / "present" / "definitions"
