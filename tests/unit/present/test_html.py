"""The HTML report: self-contained, escaped, complete."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from satline.diagnosis import Diagnosis, Evidence, Outcome, Unseen
from satline.errors import InputError
from satline.present.html import render, write_report
from satline.reduction import BusyTask, Curves, Reduction

pytestmark = pytest.mark.slow

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Elements, attributes and text of a page; fails on elements that do not close in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def page(made_results: Callable[[], tuple[Any, Curves, Diagnosis]]) -> str:
    return render(*made_results())


def test_the_page_holds_the_whole_answer(page: str, diagnosis: Diagnosis) -> None:
    text = Page(page).text
    for part in (
        diagnosis.headline,
        "First remedy: Defer compute-bound background work.",
        "It saturates at 6.1 (5.4 to 6.9) users logged on",
        "Made of 840 observations of 1 s in 7 load classes.",
        "1. The processors are the bottleneck",
        "very strong (0.86)",
        "processors busy, 12 users: 98.10 ± 0.40 % of capacity (sign: at least 90 %)",
        "a background job keeps the processors busy at every load",
        "I/O wait is 1 %.",
        "Cannot judge: There is one swap device.",
        "/proc/pressure/irq does not exist",
        "the emulator was late at 12 users",
        "Limits in force memory 768 MiB",
        "Limits stated that could not be set swap swapon is not permitted",
        "lateness 99th percentile 400 µs",
        "cost cpu 1.2 s",
        "methods run delay schedstat",
        "seed 7",
        "second disk",
        "Meaning of problem_state.",
    ):
        assert part in text, part


def test_the_study_file_is_there_line_by_line(page: str) -> None:
    assert "<pre>seed = 7\n[users]\n</pre>" in page


def test_nothing_is_fetched_and_nothing_runs(page: str) -> None:
    elements = Page(page).elements
    assert not {"script", "link", "img", "iframe", "object", "embed", "base", "form"} & {
        t for t, _ in elements
    }
    for tag, attributes in elements:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            assert name != "style", (tag, value)
            if name in ("href", "src", "xlink:href", "action"):
                assert (value or "").startswith("#"), (tag, value)
    assert "http://" not in page
    assert "https://" not in page
    assert "url(" not in page
    assert "@import" not in page


def test_the_policy_forbids_all_but_the_one_style_sheet(page: str) -> None:
    style = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert len(style) == 1
    digest = base64.b64encode(hashlib.sha256(style[0].encode()).digest()).decode()
    metas = [a for tag, a in Page(page).elements if tag == "meta"]
    policy = next(a["content"] for a in metas if a.get("http-equiv") == "Content-Security-Policy")
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@pytest.mark.parametrize("outcome", ["saturated", "not-saturated", "partly-known", "nongranular"])
def test_every_outcome_has_its_page(
    recording: Any, curves: Curves, diagnosis_of: Callable[..., Diagnosis], outcome: Outcome
) -> None:
    diagnosis = diagnosis_of(outcome)
    page = Page(render(recording, curves, diagnosis))
    assert diagnosis.headline in page.text
    assert ("p", {"class": f"chip {outcome}"}) in page.elements
    if outcome != "saturated":
        assert "record two more steps above 12 users" in page.text
        assert "No rule holds" in page.text


def test_hostile_names_show_as_text(
    recording: Any, curves: Curves, diagnosis: Diagnosis, hostile: str
) -> None:
    evidence = Evidence(f"device_busy:{hostile}", "fraction", hostile, 0.5, None, hostile, True)
    finding = replace(
        diagnosis.findings[0],
        title=hostile,
        component=hostile,
        summary=hostile,
        evidence=(evidence,),
        remedies=(hostile,),
        missing=(hostile,),
    )
    diagnosis = replace(
        diagnosis,
        recording=hostile,
        headline=hostile,
        findings=(finding,),
        others=(replace(finding, state="does-not-hold"),),
        unseen=(Unseen(hostile, hostile, hostile, (hostile,)),),
        warnings=(hostile,),
        conditions={hostile: hostile},
    )
    recording.description["host"]["name"] = hostile
    recording.description["study"]["source"] = f"{hostile}\n"
    recording.sources[hostile] = {hostile: hostile, "methods": {hostile: [hostile]}}
    page = render(recording, with_tasks(curves, hostile), diagnosis)
    assert "\x1b" not in page
    assert "\u202e" not in page
    parsed = Page(page)
    assert "script" not in {tag for tag, _ in parsed.elements}
    shown = "<script>alert(1)</script>\\x1b[31m[red]\\u202ex"
    assert parsed.text.count(shown) > 20


def with_tasks(curves: Curves, name: str) -> Reduction:
    nothing = np.zeros(0)
    return Reduction(
        load_axis=curves.load_axis,
        observation_s=curves.observation_s,
        classes=curves.classes,
        curves=curves.curves,
        missing=curves.missing,
        settings=None,  # type: ignore[arg-type]
        observations={},
        load=nothing,
        number=nothing.astype(np.int64),
        batches=nothing.astype(np.int64),
        seconds=nothing,
        tasks=(BusyTask(load_class=6, name=name, user="anna", tid=4242, cpu=0.97, run_delay=0.01),),
    )


def test_the_busiest_threads_are_named(recording: Any, curves: Curves, diagnosis: Diagnosis) -> None:
    text = Page(render(recording, with_tasks(curves, "indexer"), diagnosis)).text
    assert re.search(r"12\s*indexer\s*anna\s*4242\s*0\.97", text), "the row of the busiest thread"


def test_a_missing_variable_has_a_note_in_place_of_its_chart(
    recording: Any, curves_without: Callable[..., Curves], diagnosis: Diagnosis
) -> None:
    curves = curves_without({"response"}, {"response": "the recording holds no transactions"})
    page = render(recording, curves, diagnosis)
    figure = page[page.index('id="plot-response"') : page.index('id="plot-reaction"')]
    assert "Missing: response time (the recording holds no transactions)." in figure
    assert "<svg" not in figure
    assert "<svg" in page[page.index('id="plot-reaction"') :]


def test_a_recording_without_anything_still_has_a_page(
    recording: Any, curves: Curves, diagnosis: Diagnosis
) -> None:
    recording.description = {"host": "not a table", "annotation": 3, "study": {"source": 5}}
    recording.sources = {}
    empty = replace(curves, classes=(), curves={})
    bare = replace(diagnosis, findings=(), others=(), unseen=(), warnings=(), conditions={})
    page = render(recording, empty, bare)
    assert "<svg" not in page
    assert "Every signal that the rules ask for was there." in Page(page).text


def test_the_page_stays_small(page: str) -> None:
    assert len(page.encode()) < 500_000


def test_the_file_is_replaced_in_one_step(
    tmp_path: Path, recording: Any, curves: Curves, diagnosis: Diagnosis
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")
    write_report(path, recording, curves, diagnosis)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_a_place_that_cannot_be_written_is_wrong_input(
    tmp_path: Path, recording: Any, curves: Curves, diagnosis: Diagnosis
) -> None:
    with pytest.raises(InputError, match=r"cannot write the report .*nowhere/report\.html") as caught:
        write_report(tmp_path / "nowhere" / "report.html", recording, curves, diagnosis)
    assert caught.value.hint


def test_a_full_diagnosis_shows_curve_waits_remarks_and_rules_not_judged(
    recording: Any, curves: Curves, full_diagnosis: Diagnosis
) -> None:
    page = render(recording, curves, full_diagnosis)
    parsed = Page(page)
    assert "script" not in {tag for tag, _ in parsed.elements}
    assert "\x1b" not in page
    for part in (
        "Beyond it throughput surely falls: −0.12 per second and user (−0.2 to −0.05).",
        "extrapolated, and not claimed",
        "Remarks, which name no bottleneck",
        "One user is most of the load",
        "The fast swap device is full; The slow swap device is full Cannot judge: There is one swap device.",
        "users logged on running, % waiting for a processor, % waiting for I/O, %",
        "1–2 62.0 ± 3.0 21 –",
        "(running 40 %, for a processor 31 %)",
    ):
        assert part in parsed.text, part
    assert "2. One user" not in parsed.text, "a remark has no rank among the findings"
