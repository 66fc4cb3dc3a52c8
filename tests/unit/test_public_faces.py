"""Packages import each other's public names only: what its `__init__` or a public module has."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from satline.errors import InputError
from satline.lazy import lazy_names

SOURCE = Path(__file__).parents[2] / "python" / "satline"


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


def test_no_file_imports_another_packages_private_names() -> None:
    found = [
        f"{name}: {'.'.join(parts)}"
        for package, name, path in files()
        for parts in imported(path)
        if package_of(parts[0]) != package
        if any(part.startswith("_") and not part.startswith("__") for part in parts)
    ]
    assert not found, f"private imports; export the name from its package instead: {found}"


def test_every_public_name_of_a_package_is_there() -> None:
    for path in sorted(SOURCE.rglob("__init__.py")):
        package = import_module(".".join(("satline", *path.parent.relative_to(SOURCE).parts)))
        missing = [name for name in getattr(package, "__all__", []) if not hasattr(package, name)]
        assert not missing, package


def test_what_benches_import_is_there() -> None:
    """Nothing else tries them after a change of names: a bench runs for minutes or days. All are public."""
    for path in sorted((SOURCE.parents[1] / "benches").rglob("*.py")):
        for parts in imported(path):
            assert not any(part.startswith("_") for part in parts), f"{path}: a private name: {parts}"
            *module, name = ("satline", *parts)
            found = hasattr(import_module(".".join(module)), name) or find_spec(".".join([*module, name]))
            assert found, f"{path}: {'.'.join(parts)}"


def test_a_name_that_is_loaded_when_asked_for() -> None:
    load = lazy_names("satline", {"errors": "SatlineError, InputError as Wrong"})
    assert load("Wrong") is InputError
    with pytest.raises(AttributeError, match="module 'satline' has no attribute 'InputError'"):
        load("InputError")


FACES = {"present", "api", "cli"}
BELOW = {
    "recording", "outside", "importers", "simulation", "workload", "traces", "swapper", "systems",
    "reduction", "live", "windows", "knee", "diagnosis", "comparison", "correlation", "history",
    "prediction", "scalability", "reconcile", "experiment",
}  # fmt: skip


def test_sources_analyses_and_experiments_know_nothing_of_presentation() -> None:
    assert {path.parent.name for path in SOURCE.glob("*/__init__.py")} == BELOW | FACES
    found = [
        f"{name}: {'.'.join(parts)}"
        for package, name, path in files()
        for parts in imported(path)
        if package not in FACES | {"__init__"} and parts[0] in FACES
    ]
    assert not found, f"a result is shown by `present`, which a face calls: {found}"


def test_presentation_knows_nothing_of_the_faces() -> None:
    found = [
        name
        for package, name, path in files()
        for parts in imported(path)
        if package == "present" and parts[0] in FACES - {"present"}
    ]
    assert not found


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
