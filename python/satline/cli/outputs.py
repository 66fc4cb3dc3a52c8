"""Where results go: the options of all commands that write or print them, spelled alike.

`-o`/`--output` names what a command makes; `--json` and `--csv` print in another form; `--html`,
`--markdown`, `--svg` and `--png` write pages and pictures. Spellings of before are taken too, and shown
nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satline.cli.declared import option

if TYPE_CHECKING:
    from satline.present import Block, Plot


class OutputOption(click.Option):
    """An option of this file.

    Parameters
    ----------
    former
        Spellings that are taken and not shown.
    """

    def __init__(self, *arguments: Any, former: Sequence[str] = (), **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.former = tuple(former)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Make the parser know the former spellings; help and completion know only the others."""
        shown = self.opts
        self.opts = [*shown, *self.former]
        try:
            super().add_to_parser(parser, ctx)
        finally:
            self.opts = shown


def output_option(
    text: str, *, metavar: str = "FILE", required: bool = False, former: Sequence[str] = ("--out",)
) -> Any:
    """`-o`, `--output`: what the command makes."""
    return _option(text, "-o", "--output", former=former, metavar=metavar, required=required)


def json_option(text: str = "Print JSON.") -> Any:
    """`--json`: the result as JSON on standard output."""
    return option(text, "--json", cls=OutputOption)


def csv_option(text: str) -> Any:
    """`--csv`: the result as CSV on standard output."""
    return option(text, "--csv", cls=OutputOption)


def html_option(text: str, *more: str, former: Sequence[str] = ()) -> Any:
    """`--html`: a page that needs no network; `more`: other spellings, where the page is what is made."""
    kind = click.Path(path_type=Path, dir_okay=False)
    return _option(text, *more, "--html", former=former, metavar="FILE", type=kind)


def markdown_option(text: str) -> Any:
    """`--markdown`: a page as Markdown, with its figures beside it."""
    return _option(text, "--markdown", former=("--page",), metavar="FILE")


def picture_option(kind: str, *, former: Sequence[str] = ()) -> Any:
    """`--svg` or `--png`: the plots; see `picture_files`."""
    text = f"Write the plots: PATH is a file that ends in .{kind}, or a directory with one file per plot."
    return _option(text, f"--{kind}", former=former, metavar="PATH")


def _option(text: str, *spellings: str, **settings: Any) -> Any:
    return option(text, *spellings, cls=OutputOption, **{"type": click.Path(path_type=Path), **settings})


def print_json(kind: str, *parts: Any, one_line: bool = False, **more: Any) -> None:
    """Print a result as the document of this kind; see `satline.present.documents`."""
    from satline.present.documents import document, text

    click.echo(text(document(kind, *parts, **more), one_line=one_line))


def print_text(blocks: Iterable[Block]) -> None:
    """Print a result as text, no wider than the terminal."""
    from rich.console import Console

    from satline.present import print_blocks

    print_blocks(blocks, Console(highlight=False))


JSON = json_option()
SVG = picture_option("svg")
PNG = picture_option("png")


def picture_files(path: Path, names: Sequence[str], kind: str, *, several: bool = False) -> list[Path]:
    """Where each picture goes.

    A `path` that ends in `.kind` is a file; where there are several pictures, or `several` calls for one
    path, each has its name behind the file's. Every other path is a directory, which is made.

    Raises
    ------
    InputError
        The directory cannot be made.
    """
    from satline.errors import InputError

    if path.suffix == f".{kind}" and not path.is_dir():
        if len(names) == 1 and not several:
            return [path]
        return [path.with_name(f"{path.stem}-{name}{path.suffix}") for name in names]
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}", hint=f"name a file that ends in .{kind}, or a directory"
        ) from None
    return [path / f"{name}.{kind}" for name in names]


def write_pictures(
    plots: Sequence[Plot], path: Path, kind: str, *, ppi: int = 192, lead: str = "", several: bool = False
) -> list[Path]:
    """Write plots as SVG or PNG (`ppi`: pixels per inch); returns the files.

    lead
        Stands before each plot's name.
    """
    from satline.present import picture, png
    from satline.present.html import write_page

    files = picture_files(path, [lead + plot.name for plot in plots], kind, several=several)
    for plot, file in zip(plots, files, strict=True):
        write_page(file, picture(plot) if kind == "svg" else png(plot, ppi=ppi))
    return files
