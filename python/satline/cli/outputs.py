"""Where results go: the options of all commands that write or print them, spelled alike.

`-o`/`--output` names what a command makes; `--json` and `--csv` print in another form; `--html`,
`--markdown`, `--svg` and `--png` write pages and pictures. Spellings of before are taken too, and shown
nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from satline.present import Plot

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Command], Command]


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
) -> Decorator[Any]:
    """`-o`, `--output`: what the command makes; the command gets `output`."""
    return click.option(
        "-o",
        "--output",
        cls=OutputOption,
        former=former,
        type=click.Path(path_type=Path),
        metavar=metavar,
        required=required,
        help=text,
    )


def json_option(text: str = "Print JSON.") -> Decorator[Any]:
    """`--json`, as `as_json`: the result as JSON on standard output."""
    return click.option("--json", "as_json", cls=OutputOption, is_flag=True, help=text)


def csv_option(text: str) -> Decorator[Any]:
    """`--csv`, as `as_csv`: the result as CSV on standard output."""
    return click.option("--csv", "as_csv", cls=OutputOption, is_flag=True, help=text)


def html_option(text: str, *more: str, former: Sequence[str] = ()) -> Decorator[Any]:
    """`--html`: a page that needs no network; `more`: other spellings, where the page is what is made."""
    return click.option(
        *more,
        "--html",
        "html",
        cls=OutputOption,
        former=former,
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help=text,
    )


def markdown_option(text: str) -> Decorator[Any]:
    """`--markdown`: a page as Markdown, with its figures beside it."""
    return click.option(
        "--markdown",
        cls=OutputOption,
        former=("--page",),
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=text,
    )


def picture_option(kind: str, *, former: Sequence[str] = ()) -> Decorator[Any]:
    """`--svg` or `--png`: the plots; see `picture_files`."""
    return click.option(
        f"--{kind}",
        cls=OutputOption,
        former=former,
        type=click.Path(path_type=Path),
        metavar="PATH",
        help=f"Write the plots: PATH is a file that ends in .{kind}, or a directory with one file per plot.",
    )


def print_json(kind: str, *parts: Any, one_line: bool = False, **more: Any) -> None:
    """Print a result as the document of this kind; see `satline.present.documents`."""
    from satline.present.documents import document, text

    click.echo(text(document(kind, *parts, **more), one_line=one_line))


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
