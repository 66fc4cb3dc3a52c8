"""The notebooks run: as plain scripts without a notebook library, and cell by cell as a notebook does."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
NOTEBOOKS = sorted(path for path in (ROOT / "notebooks").glob("*.py") if "# %%" in path.read_text())
# What a notebook says that it would not say without its analysis.
SAYS = {
    "compare_two_weeks": "at equal load",
    "designed_experiment": "significant: ",
    "from_archive_to_verdict": "Saturate",
    "sweep_of_a_machine": "155-II-1mb under cms: 15 points",
}


def cells(path: Path) -> list[str]:
    """The cells of code."""
    parts = path.read_text(encoding="utf-8").split("\n# %%")[1:]
    return [code for kind, _, code in (part.partition("\n") for part in parts) if "[markdown]" not in kind]


def test_each_notebook_is_listed_and_held_to_something() -> None:
    assert {path.stem for path in NOTEBOOKS} == set(SAYS)
    page = (ROOT / "notebooks" / "README.md").read_text(encoding="utf-8")
    assert all(f"({path.name})" in page for path in NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_cell_by_cell_and_each_cell_shows_what_it_ends_with(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.syspath_prepend(path.parent)
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = 0
    for number, cell in enumerate(cells(path), start=1):
        tree = ast.parse(cell, f"{path.name}, cell {number}")
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, path.name, "exec"), names)
        if last is not None:
            assert isinstance(last, ast.Expr)
            value = eval(compile(ast.Expression(last.value), path.name, "eval"), names)
            shown += displayed(value)
    assert shown >= 4
    assert SAYS[path.stem] in capsys.readouterr().out


def displayed(value: Any) -> bool:
    """Whether a notebook would show more of it than text; what would fail there fails here."""
    if hasattr(value, "_repr_html_"):
        assert value._repr_html_()
        return True
    if hasattr(value, "to_json"):  # an Altair chart
        assert '"$schema"' in value.to_json()
        return True
    return False


def test_a_notebook_is_a_plain_script(tmp_path: Path) -> None:
    path = ROOT / "notebooks" / "from_archive_to_verdict.py"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert SAYS[path.stem] in done.stdout
