"""`satline study`: which steps are run, and what is refused before anything starts."""

from pathlib import Path

import pytest

from satline.cli import run

STUDY = """title = "t"
workload = "compute"
[load]
"""


def test_the_help_teaches_and_fits(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["study", "--help"]) == 0
    shown = capsys.readouterr().out
    for words in (
        "--within",
        "--for",
        "--most",
        "--target",
        "--grid",
        "--resume",
        "--explain",
        "90% within 2s",
    ):
        assert words in shown
    options = shown.partition("Examples:")[0]
    assert all(len(line) <= 80 for line in options.splitlines())


@pytest.mark.parametrize(
    ("load", "arguments", "error", "hint"),
    [
        ("users = [1, 2]", ["--target", "fast"], '"fast" is no target; write one of "knee"', "--help"),
        ("users = [1, 2]", ["--within", "0%"], "is not above 0 and at most 200%", "--help"),
        ("users = [1, 2]", ["--for", "5s"], "is not between 10 s and 24 h", "--help"),
        ("users = [1, 2]", ["--for", "soon"], "is no length of time; write 90s, 5min or 1h", "--help"),
        ("users = [1, 2]", ["--grid", "--most", "3"], "are of a search", "leave one or the other out"),
        ("most_users = 3", ["--grid"], "it states no steps", "users = [1, 2, 4, 8]"),
        (
            'users = [1, 2]\nuntil = "peak"',
            ["--most", "3"],
            "runs the steps that it states",
            "leave precision",
        ),
        ("users = [1, 2]", ["--resume", "r", "--out", "o"], "--output makes one", "leave one of them out"),
        ("most_users = 3", ["--resume", "r"], "no such recording", "a directory NAME.satline"),
        ("most_users = 3", ["--explain", "r"], "runs no study", "leave the study's name out"),
        ("users = [1]\n[trace]\nstep = 2", [], "no step 2 in load.users", "shipped studies"),
        ("most_users = 3\n[trace]", [], "is not known beforehand", "write step = N"),
        ("most_users = 3\nleast_users = 4", [], "most_users: 3, but least_users is 4", "shipped studies"),
    ],
)
def test_what_cannot_be_is_told_with_its_remedy(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    load: str,
    arguments: list[str],
    error: str,
    hint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.toml").write_text(f"{STUDY}{load}\n")
    assert run(["study", "x.toml", *arguments]) == 2
    said = capsys.readouterr().err
    assert error in said
    assert hint in said.partition("hint: ")[2]
    assert sorted(tmp_path.iterdir()) == [tmp_path / "x.toml"]
