"""Packages import each other's public names only. Those that still reach into another's private modules are
listed with their number of such imports: a number that falls is lowered here, and none may rise."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "python" / "satline"
# The command line, all of its files together, and then file by file.
KNOWN = {
    "cli": 205,
    "comparison/_blocks.py": 1,
    "comparison/_observations.py": 1,
    "comparison/_periods.py": 1,
    "comparison/expansion.py": 1,
    "correlation/_read.py": 14,
    "diagnosis/rules/_context.py": 1,
    "experiment/designed/_page.py": 2,
    "experiment/variance/_plots.py": 1,
    "history/_store.py": 1,
    "prediction/_accounts.py": 3,
    "prediction/_bend.py": 1,
    "prediction/_demands.py": 1,
    "prediction/_model.py": 1,
    "prediction/_predict.py": 7,
    "prediction/_signals.py": 4,
    "report/_stacked.py": 1,
    "report/_words.py": 6,
    "report/history.py": 1,
    "simulation/_figures.py": 1,
    "simulation/_show.py": 1,
    "simulation/_tables.py": 1,
    "simulation/calibration/_show.py": 1,
    "systems/remote/fetch.py": 6,
}


def imported(path: Path) -> Iterator[tuple[str, ...]]:
    """What a file imports of Satline, as its parts below `satline`: ("report", "_escape", "visible")."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [f"{node.module}.{name.name}" for name in node.names]
        elif isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        for parts in (tuple(name.split(".")) for name in names):
            if parts[0] == "satline" and len(parts) > 1:
                yield parts[1:]


def package_of(name: str) -> str:
    """The package of a file's or module's first part."""
    return name.removesuffix(".py")


def files() -> Iterator[tuple[str, str, Path]]:
    """Package, name relative to the source and path of every file."""
    for path in sorted(SOURCE.rglob("*.py")):
        inner = path.relative_to(SOURCE)
        yield package_of(inner.parts[0]), inner.as_posix(), path


def offences() -> Counter[str]:
    """Imports of other packages' private names and modules, by file."""
    found: Counter[str] = Counter()
    for package, name, path in files():
        for parts in imported(path):
            private = any(part.startswith("_") and not part.startswith("__") for part in parts)
            if private and package_of(parts[0]) != package:
                found["cli" if package == "cli" else name] += 1
    return found


def test_no_further_file_imports_another_packages_private_names() -> None:
    found = offences()
    more = {name: count for name, count in found.items() if count > KNOWN.get(name, 0)}
    assert not more, f"more private imports than before: {more}; export the name from its package instead"
    fewer = {name: found[name] for name, count in KNOWN.items() if found[name] < count}
    assert not fewer, f"fewer than listed, which is good: write these numbers into KNOWN: {fewer}"


def test_nothing_imports_the_face_for_researchers_but_the_package_itself() -> None:
    users = {
        name for package, name, path in files() for parts in imported(path) if parts[0] == "api" != package
    }
    assert users == {"__init__.py"}


def test_the_face_for_researchers_stands_beside_the_command_line() -> None:
    faces = {parts for package, _, path in files() if package == "api" for parts in imported(path)}
    assert not [parts for parts in faces if package_of(parts[0]) == "cli"]
    assert not [parts for parts in faces if any(p.startswith("_") for p in parts) and parts[0] != "api"]


def test_every_package_is_listed_for_those_who_work_on_it() -> None:
    page = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = {line.split()[0] for line in page.splitlines() if line.startswith(("python/", "crates/"))}
    packages = {f"python/satline/{path.parent.name}" for path in SOURCE.glob("*/__init__.py")}
    crates = {f"crates/{path.parent.name}" for path in (SOURCE.parents[1] / "crates").glob("*/Cargo.toml")}
    assert packages | crates == listed
