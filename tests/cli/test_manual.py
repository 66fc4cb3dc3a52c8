"""The manual pages: one for each command, with its help, in sound roff; the guide of the command line."""

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from satline.cli import commands, run
from satline.cli.lazy import LazyGroup
from satline.cli.manual import make_pages
from satline.cli.tree import FORMER, GROUPS, SECTIONS, Group

GUIDE = Path(__file__).parents[2] / "docs/guides/command-line.md"


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return dict(make_pages(commands))


def test_there_is_a_page_for_each_command_that_help_shows(pages: dict[str, str]) -> None:
    wanted = {"satline"}
    for section in SECTIONS:
        for name, entry in section.entries.items():
            wanted.add(f"satline-{name}")
            if isinstance(entry, Group):
                wanted |= {
                    f"satline-{name}-{inner}" for inner, one in entry.commands.items() if not one.hidden
                }
    assert {*pages} == wanted


def test_a_page_has_what_help_has(pages: dict[str, str]) -> None:
    page = pages["satline-analyse-predict"]
    for part in (
        ".SH NAME\nsatline\\-analyse\\-predict \\- Predict",
        ".SH SYNOPSIS\n.B satline analyse predict\n[OPTIONS] [RECORDING]",
        "\\fB\\-\\-what\\-if CHANGE\\fR\nAfter a change",
        ".SH EXAMPLES\n.nf\n",
        ".SH WHAT CAN BE CHANGED\n.nf\n",
        ".SH EXIT STATUS",
        "\\fBsatline\\-analyse\\fR(1)",
    ):
        assert part in page
    assert ".BR satline\\-analyse\\-predict (1)\n" in pages["satline-analyse"]
    # Hidden and former options are not told.
    assert "\\-\\-plots" not in pages["satline-report"]
    assert "\\-\\-out " not in pages["satline-study"]


def test_text_is_no_command_of_roff() -> None:
    group = LazyGroup("satline", (), help="Back\\slash.\n\n.so /etc/passwd\n\n'quoted'\n\n\b\n.fi\n  -x")
    text = dict(make_pages(group))["satline"]
    assert "Back\\(rsslash." in text
    assert "\n\\&.so /etc/passwd\n" in text
    assert "\n\\&'quoted'\n" in text
    assert "\n.nf\n\\&.fi\n  \\-x\n.fi\n" in text


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not here")
def test_groff_has_nothing_to_say_of_the_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["man", "-o", str(tmp_path / "man1")]) == 0
    assert "pages" in capsys.readouterr().out
    files = sorted(map(str, (tmp_path / "man1").iterdir()))
    assert len(files) > 60
    done = subprocess.run(
        ["groff", "-k", "-man", "-Tutf8", "-ww", "-z", *files], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_directory_that_cannot_be_made_is_wrong_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert run(["man", "-o", str(tmp_path / "file" / "man1")]) == 2
    assert "hint: name a directory" in capsys.readouterr().err


def test_the_guide_lists_every_former_name() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `satline (\S+)` \| `satline ([^`]+)` \|$", text, re.M))
    assert listed == {former: " ".join(present) for former, present in FORMER.items()}
    for name in GROUPS:
        assert f"| `{name}` |" in text


def test_every_command_of_the_guide_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click.Command, "invoke", lambda _command, _context: None)
    lines = re.findall(r"^satline ([^>#\n]+)", GUIDE.read_text(encoding="utf-8"), re.M)
    assert len(lines) == 4
    for line in lines:
        assert run(line.split()) == 0
