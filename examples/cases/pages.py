"""Keep what the walk-throughs show what the commands print: ``python examples/cases/pages.py [PAGE …]``.

A block of a page that is fenced as ``console`` holds commands, each after ``$``, and below each what it
prints. The commands of a page run in its order in an empty directory; `| head -n N` is known, no other shell.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "guides" / "cases"
_BLOCK = re.compile(r"(?ms)^```console\n(.*?)^```$")
_HEAD = re.compile(r"(.*?)(?:\s*\|\s*head -n (\d+))?")
COLUMNS = "100"


def case(name: str) -> ModuleType:
    """The generator of a case."""
    file = ROOT / "examples" / "cases" / name / "make.py"
    spec = importlib.util.spec_from_file_location(f"case_{name.replace('-', '_')}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rendered(page: Path) -> str:
    """The page with the outputs that its commands have now."""
    with tempfile.TemporaryDirectory() as directory, _inside(Path(directory)):
        return _BLOCK.sub(lambda m: _block(m.group(1), Path(directory)), page.read_text(encoding="utf-8"))


def _block(text: str, directory: Path) -> str:
    lines = []
    for command in (line for line in text.splitlines() if line.startswith("$ ")):
        printed = _output(command[2:], directory).splitlines()
        lines += [command, *printed]
        if printed and _HEAD.fullmatch(command).group(2) is not None:  # type: ignore[union-attr]
            lines.append("…")
    return "```console\n" + "\n".join(line.rstrip() for line in lines) + "\n```"


def _output(command: str, directory: Path) -> str:
    from satline.cli import run

    found = _HEAD.fullmatch(command)
    assert found is not None
    program, *words = shlex.split(found.group(1))
    if program == "python":
        file, output = Path(words[0]), Path(words[1])
        case(file.parent.name).make(output)
        return ""
    if program != "satline":
        raise ValueError(f"{command}: only python and satline are known")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = run([str(ROOT / w) if w.startswith("examples/") else w for w in words])
    if code:
        raise ValueError(f"{command}: ended with {code}")
    text = printed.getvalue()
    for root in (directory, directory.resolve()):
        text = text.replace(f"{root}/", "")
    lines = text.splitlines()
    return "\n".join(lines if found.group(2) is None else lines[: int(found.group(2))])


@contextlib.contextmanager
def _inside(directory: Path) -> Iterator[None]:
    before, columns = Path.cwd(), os.environ.get("COLUMNS")
    os.chdir(directory)
    os.environ["COLUMNS"] = COLUMNS
    try:
        yield
    finally:
        os.chdir(before)
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns


if __name__ == "__main__":
    for page in [Path(a).resolve() for a in sys.argv[1:]] or sorted(PAGES.glob("*.md")):
        page.write_text(rendered(page), encoding="utf-8")
        print(page)
