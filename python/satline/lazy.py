"""Names of a package that are loaded when they are first asked for: a command loads only what it uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package.

    modules
        Module below the package → the names that it has, as an import has them: "View, summary as words".
    """
    homes: dict[str, tuple[str, str]] = {}
    for module, names in modules.items():
        for name in names.split(", "):
            inner, _, public = name.partition(" as ")
            homes[public or inner] = module, inner

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, inner = homes[name]
        return getattr(import_module(f"{package}.{module}"), inner)

    return load
