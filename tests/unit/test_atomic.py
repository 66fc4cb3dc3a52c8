"""Files are replaced whole, with the permissions that the umask leaves; cells of CSV are no formulas."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

from satline.atomic import replace_file
from satline.present.html import write_page
from satline.recording import RecordingWriter, compact, describe
from satline.spreadsheet import Writer, harmless


@pytest.fixture
def private() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_replaced_and_nothing_is_left(tmp_path: Path) -> None:
    file = tmp_path / "a"
    replace_file(file, b"one")
    replace_file(file, b"two")
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert file.read_bytes() == b"two"
    (tmp_path / "directory").mkdir()
    with pytest.raises(OSError, match="directory"):
        replace_file(tmp_path / "directory", b"three")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "directory"]


@pytest.mark.usefixtures("private")
def test_nothing_of_a_recording_or_report_is_for_others_where_the_umask_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.satline"
    describe.create(path, "test")
    with RecordingWriter(path, "monitor") as writer:
        writer.write_rows("system", [{"sample": n} for n in range(3)])
    describe.write_source(path, "monitor", {"end_reason": "complete"})
    describe.end(path, "complete")
    compact(path)
    write_page(tmp_path / "report.html", "<p>")
    files = list(tmp_path.rglob("*"))
    assert len(files) > 8
    assert [p for p in files if mode(p) & 0o077] == []


@pytest.mark.parametrize(
    "cell", ["=1+1", "+a", "-x", "@SUM(A1)", "\t=1", "\r=1", "=cmd|'/C calc'!A1", "-1+1|x"]
)
def test_a_text_that_would_be_a_formula_is_text(cell: str) -> None:
    assert harmless(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "ann", "-1", "+2.5e-3", "-.5", "a=b", -1, 2.5, None])
def test_numbers_and_other_texts_stay(cell: object) -> None:
    assert harmless(cell) is cell


def test_rows_are_written_with_harmless_cells() -> None:
    text = StringIO()
    Writer(text).writerows([["user", "cpu"], ["=b", -1]])
    assert text.getvalue() == "user,cpu\n'=b,-1\n"
