"""What the site has beside the pages of docs/: commands, Python packages, files that pages link to.

A hook of mkdocs: it calls the functions `on_…`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from satline.cli import commands
from satline.cli.described import EXIT_STATUS, Described, describe
from satline.cli.tree import GROUPS

ROOT = Path(__file__).parent.parent
# Pages of the project that are kept outside of docs/.
ALSO = {
    "notebooks/README.md": "notebooks.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
}
ASSETS = ("site.css", "iframe-worker.js")
# What `satline` offers, then the packages whose results it shows.
PACKAGES = {
    "satline.api": "Results",
    "satline.recording": "Recordings",
    "satline.reduction": "Reduction",
    "satline.diagnosis": "Diagnosis",
    "satline.comparison": "Comparison",
    "satline.correlation": "Correlation",
    "satline.prediction": "Prediction",
    "satline.simulation": "Simulation",
    "satline.experiment": "Studies and designs",
}
FACE = "python/satline.md"
LINK = re.compile(r"(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")
LANGUAGES = {".rs": "rust", ".py": "python", ".toml": "toml"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the lists of the navigation that are made from what is there."""
    made: dict[str, list[Any]] = {
        "Commands": _commands_nav(),
        "Python": [{"satline": FACE}, *({title: _python_page(name)} for name, title in PACKAGES.items())],
        "How it works": [
            *_listed("concepts", without={"paging-laboratory.md"}),
            {"How it was validated": _listed("validation")},
        ],
        "Reference": [
            *_listed("reference"),
            {"Decisions": _listed("decisions")},
            {"Working on it": "contributing.md"},
            {"Changes": "changes.md"},
        ],
        "The laboratory's predictions": _listed("reference/laboratory"),
    }
    _fill(config.nav or [], made)
    return config


def _fill(nav: list[Any], made: dict[str, list[Any]]) -> None:
    for entry in nav:
        for title, pages in entry.items() if isinstance(entry, dict) else ():
            if isinstance(pages, list):
                pages += made.get(title, []) if not pages else []
                _fill(pages, made)


def _listed(folder: str, without: Collection[str] = ()) -> list[str]:
    """The pages of a folder of docs/, its own page first."""
    names = {page.name for page in (ROOT / "docs" / folder).glob("*.md")}.difference(without)
    return [f"{folder}/{name}" for name in sorted(names, key=lambda name: (name != "README.md", name))]


def _commands_nav() -> list[Any]:
    groups: dict[str, list[str]] = {}
    daily: list[str] = []
    for command in describe(commands):
        words = command.path.split()
        if words[0] == command.path:
            daily.append(_command_page(command.path))
        elif words[1] in GROUPS:
            groups.setdefault(words[1], []).append(_command_page(command.path))
        else:
            daily.append(_command_page(command.path))
    return ["guides/command-line.md", *daily, *({name: pages} for name, pages in groups.items())]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made, and the files of which only the site has need."""
    made = {name: (ROOT / path).read_text("utf-8") for path, name in ALSO.items()}
    linked = {path for own, name in ALSO.items() for path in _outside(own, made[name])}
    for page in files.documentation_pages():
        linked.update(_outside(f"docs/{page.src_uri}", page.content_string))
    made |= {_source_page(path): source_text(path) for path in linked.difference(ALSO)}
    made |= {_command_page(command.path): command_text(command) for command in describe(commands)}
    made |= {FACE: face_text()}
    made |= {_python_page(name): package_text(name, title) for name, title in PACKAGES.items()}
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    for name in ASSETS:
        files.append(File.generated(config, f"assets/{name}", abs_src_path=str(Path(__file__).parent / name)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links that lead out of docs/ lead to the pages made from what they name."""
    del config, files
    if page.file.src_uri == "index.md":
        page.meta["hide"] = ["navigation", "toc"]
    own = {name: path for path, name in ALSO.items()}.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    return LINK.sub(lambda link: _led(link, page.file.src_uri, own), markdown)


def _led(link: re.Match[str], page: str, own: str) -> str:
    if ":" in link[1]:
        return link[0]
    target = os.path.normpath(PurePosixPath(own).parent / link[1])
    if target.startswith("docs/"):
        inside = target.removeprefix("docs/")
    elif (ROOT / target).is_file():
        inside = ALSO.get(target) or _source_page(target)
    else:
        return link[0]
    return os.path.relpath(inside, PurePosixPath(page).parent) + (link[2] or "")


def _outside(path: str, text: str) -> Iterator[str]:
    """The files outside of docs/ to which this page of the project links."""
    for link in LINK.finditer(text):
        target = os.path.normpath(PurePosixPath(path).parent / link[1])
        if ":" not in link[1] and not target.startswith("docs/") and (ROOT / target).is_file():
            yield target


def _source_page(path: str) -> str:
    return f"source/{path}.md"


def source_text(path: str) -> str:
    """A file that is no page, as a page, which search leaves out."""
    text = (ROOT / path).read_text("utf-8")
    language = LANGUAGES.get(Path(path).suffix, "text")
    return f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n````{language}\n{text}````\n"


def _command_page(path: str) -> str:
    return f"commands/{path.replace(' ', '-')}.md"


def command_text(command: Described) -> str:
    """The page of a command, with what its manual page has."""
    name = command.path.replace(" ", "-")
    lines = [f"# {command.path}", "", f"{command.short}.", ""]
    lines += ["```", f"{command.path} {command.usage}", "```", ""]
    for paragraph in command.text:
        if paragraph.as_it_is:
            lines += ["```", *paragraph.lines, "```", ""]
        else:
            lines += [*map(_prose, paragraph.lines), ""]
    for title, entries in command.commands:
        lines += [f"## {title}", "", "| | |", "|---|---|"]
        lines += [f"| [`{inner}`]({name}-{inner}.md) | {_prose(short)} |" for inner, short in entries]
        lines.append("")
    for title, rest in command.ends:
        lines += [f"## {title}", "", "```", *(line.removeprefix("  ") for line in rest), "```", ""]
    lines += ["## Options", "", "| | |", "|---|---|"]
    lines += [f"| <code>{_cell(names)}</code> | {_prose(meaning)} |" for names, meaning in command.options]
    lines += ["", "## Exit status", "", "| | |", "|---|---|"]
    lines += [f"| {status} | {meaning} |" for status, meaning in EXIT_STATUS]
    if command.above:
        above = (f"[{one}]({one.replace(' ', '-')}.md)" for one in command.above)
        lines += ["", f"See also {', '.join(above)}."]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Text for a cell, of signs that have no meaning in Markdown."""
    return re.sub(r"[*_\[\]{}|\\<>&]", lambda sign: f"&#{ord(sign[0])};", " ".join(text.split()))


def _prose(text: str) -> str:
    """Running text of a help: what stands in `backticks` is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _cell(text))


def _python_page(package: str) -> str:
    return f"python/{package}.md"


def face_text() -> str:
    """The page of `satline` itself: its functions, and the class of what `satline.open` returns."""
    lines = ["# satline", "", "[The guide](../guides/python.md) shows these at work.", ""]
    lines += ["::: satline", "    options:", "      members: []", "      show_root_heading: false", ""]
    first = ("open", "OpenRecording")
    for name in (*first, *(one for one in import_module("satline").__all__ if one not in first)):
        if not name.startswith("_"):
            lines += [f"::: satline.{name}", ""]
    return "\n".join(lines)


def package_text(package: str, title: str) -> str:
    """The page of a package: everything that its `__init__` exports."""
    lines = [f"# {title}: `{package}`", "", f"::: {package}", "    options:", "      members: []"]
    lines += ["      show_root_heading: false", ""]
    for name in import_module(package).__all__:
        lines += [f"::: {package}.{name}", ""]
    return "\n".join(lines)
