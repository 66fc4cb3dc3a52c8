"""Rates, paces and pictures of frames made by hand."""

from __future__ import annotations

import io
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from satline.present.watching._keys import FRAMES_PER_S, Pace
from satline.present.watching._letters import FRAMES, STATES, Room, by_state, shrunk, sparkline, thinned
from satline.present.watching._picture import LEAST_HEIGHT, LEAST_WIDTH, picture
from satline.simulation.watching import Frame, History, Machine, Rates

from .fake_watch import frame_line, machine_line


def past(count: int, /, **of: Any) -> tuple[Machine, History]:
    head, history = machine_line(**of), History()
    for number in range(count):
        history.add(Frame.from_line(frame_line(head, 2.0 * number, wanted=head["users"] - 1)))
    return Machine.from_line(head), history


def drawn(lines: list[Text], room: Room, colours: bool = True) -> str:
    console = Console(
        record=True,
        width=room.width,
        height=room.height,
        file=io.StringIO(),
        force_terminal=True,
        color_system="standard" if colours else None,
    )
    for line in lines:
        console.print(line, no_wrap=True, crop=True)
    return console.export_text()


def test_rates_are_differences_of_counters() -> None:
    _, history = past(12)
    rates = history.rates()
    assert rates is not None
    assert (rates.seconds, rates.mpl, rates.eligible) == (22.0, 4.0, 2.0)
    assert (rates.problem, rates.page_wait) == (pytest.approx(0.2), pytest.approx(0.2))
    assert (rates.throughput_per_s, rates.page_reads_per_s, rates.steals_per_s) == (1.0, 70.0, 20.0)
    assert rates.response_s == pytest.approx(3.0)
    assert rates.interactive_response_s == pytest.approx(2.0)
    assert [(one.busy, one.queue, one.pages_per_s, one.ios_per_s) for one in rates.devices] == [
        (0.5, 3.0, 20.0, 10.0)
    ] * 7
    assert rates.channels == (0.25,) * 7
    assert len(history.points) == 2


def test_without_time_or_transactions_there_is_no_rate() -> None:
    _, history = past(1)
    assert history.rates() is None
    head = machine_line()
    quiet = frame_line(head, 1.0) | {"transactions": 0, "interactive_transactions": 0}
    rates = Rates.between(history.now, Frame.from_line(quiet))
    assert rates is not None
    assert (rates.response_s, rates.interactive_response_s) == (None, None)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 60), (120, 40), (60, 16), (20, 5), (81, 17)])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "iso-8859-1"])
@pytest.mark.parametrize("of", [{}, {"frames": 3500, "users": 310, "devices": 24}, {"frames": 1, "users": 1}])
def test_a_picture_fits_whatever_names_there_are(
    width: int, height: int, encoding: str, of: dict[str, int]
) -> None:
    room = Room(width, height, encoding)
    for count in (1, 40):
        machine, history = past(count, **of)
        lines = picture(machine, history, Pace(), room)
        shown = drawn(lines, room)
        assert len(lines) <= height
        assert all(line.cell_len <= width for line in lines)
        assert len(shown.splitlines()) == len(lines)
        assert not [one for one in shown if unicodedata.category(one) in ("Cc", "Cf") and one != "\n"]
        shown.encode(encoding)


def test_a_picture_shows_what_there_is_also_without_colours() -> None:
    machine, history = past(40)
    room = Room(80, 24)
    shown = drawn(picture(machine, history, Pace(pace=20, paused=True), room), room, colours=False)
    assert len(shown.splitlines()) == 24
    assert history.now.map[:39] in shown
    # 16 letters, 11 of each and one more of the first four.
    for text in (
        "180 frames",
        "in queue 48",
        "out of queue 44",
        "shared 33",
        "coming in 11",
        "free 11",
        "×20",
    ):
        assert text in shown, text
    assert "flush list 11" in shown
    # 29 users, 11 letters.
    for text in (
        "page wait 5",
        "eligible 5",
        "dormant 2",
        "Q1 12",
        "Q2 10",
        "PAUSED",
        "MPL               4.00",
    ):
        assert text in shown, text
    assert "problem 20 %" in shown
    assert "in queue 440!" in shown, "20 pages for each of 22"
    assert "users one by one" not in shown
    large = Room(200, 60)
    text = drawn(picture(machine, history, Pace(), large), large)
    assert "users one by one" in text
    assert text.count("5/20") == 29


def test_the_last_picture_has_no_keys_and_no_empty_lines() -> None:
    machine, history = past(3)
    lines = picture(machine, history, Pace(), Room(80, 60), keys=None)
    assert not any("quit" in line.plain for line in lines)
    assert all(line.plain.strip() for line in lines)


def test_a_terminal_too_small_is_told() -> None:
    machine, history = past(1)
    (line,) = picture(machine, history, Pace(), Room(LEAST_WIDTH - 1, LEAST_HEIGHT))
    assert "larger" in line.plain


@given(st.text(alphabet="qwodstkf.<>QWODST", min_size=1, max_size=400), st.integers(1, 50))
def test_groups_are_shown_by_their_most_frequent_letter(map_: str, group: int) -> None:
    cells = thinned(map_, group)
    assert len(cells) == -(-len(map_) // group)
    for number, letter in enumerate(cells):
        part = map_[number * group : (number + 1) * group]
        assert part.count(letter) == max(part.count(one) for one in part)


@given(st.text(alphabet="rcpieRCPIEd-", max_size=400), st.integers(1, 100))
def test_the_bar_keeps_proportions(users: str, cells: int) -> None:
    bar = by_state(users)
    assert sorted(bar) == sorted(users.replace("-", ""))
    short = shrunk(bar, cells)
    assert len(short) == min(len(bar), cells)
    for letter in STATES:
        share = bar.lower().count(letter) * len(short) / max(1, len(bar))
        assert abs(short.lower().count(letter) - share) <= 1


@given(st.lists(st.floats(0, 1e9), max_size=30), st.integers(0, 20))
def test_a_sparkline_is_as_long_as_it_should_be(values: list[float], cells: int) -> None:
    assert len(sparkline(values, cells, " .:#")) == cells
    if values and cells and max(values[-cells:]) >= 1:
        assert "#" in sparkline(values, cells, " .:#")


@settings(max_examples=50)
@given(st.text(alphabet=" .+-=_uUxq\x1b", max_size=40))
def test_keys_change_the_pace_and_never_spoil_it(keys: str) -> None:
    pace = Pace()
    pace.press(keys)
    assert 0 < pace.interval_s < 1e5
    assert pace.quit == ("q" in keys)
    assert pace.users == keys.count("U") - keys.count("u")
    assert pace.steps == 0 or pace.paused


def test_keys() -> None:
    pace = Pace()
    pace.press("+")
    assert (pace.pace, pace.interval_s) == (20.0, 20.0 / FRAMES_PER_S)
    pace.press("----")
    assert pace.pace == 1.0
    pace.press(" ..")
    assert (pace.paused, pace.steps) == (True, 2)
    pace.press(" ")
    assert (pace.paused, pace.steps) == (False, 0)
    odd = Pace(7.0)
    odd.press("+")
    assert odd.pace == 10.0


def test_every_letter_has_a_name_and_a_look() -> None:
    assert all(one.name and one.style for one in (*FRAMES.values(), *STATES.values()))
