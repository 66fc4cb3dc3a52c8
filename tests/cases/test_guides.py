"""Guides that show what is said of a simulated recording are held to it: the recording is made anew.

The walk-throughs of docs/guides/cases are held word for word by `test_pages`. What guides tell of live hosts
(docs/guides/guest.md, studies.md, the four studies of predicting.md) rests on recordings that are not
shipped, and cannot be held.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from pages import PAGES

from satline.cli import run
from satline.diagnosis import Diagnosis, diagnose
from satline.recording import Recording

pytestmark = pytest.mark.slow

GUIDES = PAGES.parent
CASE_STUDY, PREDICTING = GUIDES / "case-study-155.md", GUIDES / "predicting.md"
# Guides whose recordings are made here, and those that show a command but quote no answer.
HELD = {CASE_STUDY, PREDICTING}
QUOTING_NOTHING = {GUIDES / "simulating.md"}
RECORDS = re.compile(r"^\s*\$?\s*(satline simulate .*--record \S+)", re.M)
NUMBER = re.compile(r"\d+(?:\.\d+)?")
QUOTED = re.compile(r'"([^"]+)"')


def recorded(page: Path, name: str, directory: Path, **replaced: str) -> Path:
    """The recording of a page, by the command that it shows."""
    (command,) = {c for c in RECORDS.findall(page.read_text(encoding="utf-8")) if c.endswith(name)}
    words = [replaced.get(word, word) for word in shlex.split(command)[1:]]
    words[-1] = str(directory / words[-1])
    assert run(words) == 0
    return Path(words[-1])


def assert_alike(said: str, shown: str) -> None:
    """The same words, and numbers but for what another numeric library may change."""
    words = [" ".join(NUMBER.sub("0", text).split()) for text in (said, shown)]
    assert words[0] == words[1]
    numbers = [[float(n) for n in NUMBER.findall(text)] for text in (said, shown)]
    assert numbers[0] == pytest.approx(numbers[1], rel=0.02, abs=0.02)


def assert_says(said: str, quoted: str) -> None:
    """What is said holds the quoted words."""
    form = r"\s+".join(re.escape(word) for word in NUMBER.sub("0", quoted).split())
    flat = " ".join(said.split())
    found = re.search(form, NUMBER.sub("0", flat))
    assert found is not None, f"{quoted!r} is not in {flat!r}"
    # The same place in the text with its numbers: as many of them stand before it.
    before = len(NUMBER.findall(NUMBER.sub("0", flat)[: found.start()]))
    numbers = [float(n) for n in NUMBER.findall(quoted)]
    assert [float(n) for n in NUMBER.findall(flat)][before : before + len(numbers)] == pytest.approx(
        numbers, rel=0.02, abs=0.02
    )


def test_every_guide_that_records_a_simulated_system_is_held() -> None:
    recording = {page for page in GUIDES.glob("*.md") if RECORDS.search(page.read_text(encoding="utf-8"))}
    assert recording == HELD | QUOTING_NOTHING


@pytest.mark.parametrize(
    ("machine", "row", "outcome"),
    [("155-II-1mb", "week, 1 MB", "saturated"), ("155-II-1.5mb", "week, 1.5 MB", "partly-known")],
)
def test_the_case_study_names_what_the_diagnosis_of_its_week_names(
    machine: str, row: str, outcome: str, tmp_path: Path
) -> None:
    path = recorded(CASE_STUDY, "week.satline", tmp_path, **{"155-II-1mb": machine})
    answer: Diagnosis = diagnose(Recording.open(path))
    assert answer.saturation.outcome == outcome
    text = CASE_STUDY.read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {row} |")]
    (quoted,) = QUOTED.findall(line)
    assert_says(answer.headline, quoted)
    if outcome == "saturated":
        # The page reasons from these: what comes second, and what it would bring.
        first, second = [f for f in answer.findings if f.component != "none"][:2]
        assert (first.rule, second.rule) == ("cpu_bound", "drum_overflow")
        assert first.signs == 0
        assert second.gain is not None
        assert_alike(f"{second.gain[1]:.0%}, {second.gain[2]:.0%}", "2%, 2%")


def test_predictions_by_class_are_what_the_guide_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recorded(PREDICTING, "mixed.satline", tmp_path)
    capsys.readouterr()
    assert run(["predict", str(path), "--from-loads", "..half", "--by-class", "--users", "16,24"]) == 0
    said = capsys.readouterr().out
    text = PREDICTING.read_text(encoding="utf-8")
    (shown,) = re.findall(r"(?ms)^```\n(By class\n.*?)^```$", text)
    said = "\n".join(line.rstrip() for line in said.splitlines())
    at = said.index("By class\n")
    assert_alike(said[at:][: len(shown)].rstrip(), shown.rstrip())


def test_where_model_and_measurement_differ_the_guide_shows_what_both_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recorded(PREDICTING, "try.satline", tmp_path)
    capsys.readouterr()
    assert run(["predict", str(path)]) == 0
    said = capsys.readouterr().out
    text = PREDICTING.read_text(encoding="utf-8")
    (shown,) = re.findall(r"(?ms)^```\n(By the model .*?)^```$", text)
    assert_alike(said[: len(shown)], shown)
    assert run(["diagnose", str(path)]) == 0
    answer = capsys.readouterr().out
    assert answer.startswith("Saturates at 18.6 users")
    assert "paging bound, very likely" in answer
    said = "Differs: satline analyse predict says 26.8 [25.8, 27.8], processors first"
    assert said in " ".join(answer.split())
