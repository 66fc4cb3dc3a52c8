"""Without the libraries of an extra: what needs them names the extra, and all else goes on."""

import sys
from pathlib import Path

import pytest

from satline.errors import SatlineError
from satline.extras import NOT_DRAWN, MissingLibraryError, can_draw, optional_library
from satline.present import Line, Mark, Plot
from satline.present.html import drawn_plots
from satline.recording import make_key, read_key, read_names

PLOT = Plot(
    "throughput",
    "Throughput",
    "lines",
    "users",
    "1/s",
    rows=(("users", "1/s"), ("2", "3")),
    lines=(Line("commands", 0, (Mark(2.0, 3.0, None, None, "2", "3/s at 2 users"),)),),
    notes=("few readings",),
)


def forget(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)


@pytest.mark.parametrize(
    ("module", "extra"),
    [("vl_convert", "images"), ("altair", "images"), ("pandas", "pandas"), ("cryptography.x", "pseudonyms")],
)
def test_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch, module: str, extra: str) -> None:
    forget(monkeypatch, module)
    with pytest.raises(MissingLibraryError) as caught:
        optional_library(module, "it is needed here", "do without")
    assert "is not installed: it is needed here" in caught.value.message
    assert caught.value.hint == f"pip install 'satline[{extra}]'; do without"
    assert isinstance(caught.value, SatlineError)


def test_what_is_there_is_given() -> None:
    assert optional_library("json.decoder").JSONDecoder is not None


def test_a_page_without_pictures_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    forget(monkeypatch, "vl_convert")
    assert not can_draw()
    ((plot, picture),) = drawn_plots([PLOT])
    assert picture is None
    assert plot.notes == ("few readings", NOT_DRAWN)
    assert plot.rows == PLOT.rows


def test_a_key_is_made_without_the_library_and_used_with_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    forget(monkeypatch, "cryptography", "cryptography.exceptions")
    file = tmp_path / "k.key"
    assert make_key(file) == read_key(file)
    with pytest.raises(MissingLibraryError, match="cryptography is not installed") as caught:
        read_names(tmp_path / "names.sealed", read_key(file))
    assert "satline[pseudonyms]" in caught.value.hint
