"""The diagnosis in a terminal."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from satline.diagnosis import Diagnosis, Evidence, Implausible, Outcome, Unseen
from satline.present import curves_table, print_diagnosis, print_table
from satline.present.terminal import unseen_words
from satline.reduction import Curves


def shown(diagnosis: Diagnosis, *, width: int = 80, terminal: bool = False) -> str:
    file = io.StringIO()
    print_diagnosis(diagnosis, Console(file=file, width=width, force_terminal=terminal, _environ={}))
    return file.getvalue()


def flat(text: str) -> str:
    return " ".join(text.split())


def test_the_verdict_comes_first(diagnosis: Diagnosis) -> None:
    assert shown(diagnosis).startswith("It saturates at 6.1 users (5.4 to 6.9), and the processors are")


def test_a_finding_shows_all_that_it_rests_on(diagnosis: Diagnosis) -> None:
    text = flat(shown(diagnosis))
    for part in (
        "It saturates at 6.1 (5.4 to 6.9) users logged on",
        "1. The processors are the bottleneck — very strong (0.86)",
        "✓ processors busy, 12 users: 98.10 ± 0.40 % of capacity (sign: at least 90 %)",
        "? load read rate, 12 users: not measured",
        "1. Defer compute-bound background work. 2. Raise the limit to two processors.",
        "a background job keeps the processors busy at every load",
        "The I/O subsystem is the bottleneck: I/O wait is 1 %.",
        "/proc/pressure/irq does not exist; it would have needed CONFIG_IRQ_TIME_ACCOUNTING",
        "the emulator was late at 12 users",
    ):
        assert part in text, part


@pytest.mark.parametrize("outcome", ["saturated", "not-saturated", "partly-known", "nongranular"])
@pytest.mark.parametrize("width", [40, 80, 200])
def test_every_outcome_fits_its_width(
    diagnosis_of: Callable[..., Diagnosis], outcome: Outcome, width: int
) -> None:
    text = shown(diagnosis_of(outcome), width=width)
    assert max(cell_len(line) for line in text.splitlines()) <= min(width, 100)
    assert all(line == line.rstrip() for line in text.splitlines())
    if outcome != "saturated":
        assert "the bars overlap" in text
        assert "record two more steps above 12 users" in flat(text)
        assert "No rule holds" in text


LEFT_OUT = (
    Implausible("user.io_delay_us", 3, 837.0, 2100.0, "a task cannot have gained so much"),
    Implausible("user.page_delay_us", 1, 695.0, 695.0, "a task cannot have gained so much"),
    Implausible("system.pressure_io_full_us", 1, None, None, ""),
    Implausible("system.pressure_io_some_us", None, None, None, ""),
)


def test_what_was_left_out_as_impossible_is_a_line_that_unfolds(diagnosis: Diagnosis) -> None:
    diagnosis = replace(diagnosis, implausible=LEFT_OUT)
    file = io.StringIO()
    print_diagnosis(diagnosis, Console(file=file, width=100), every=False)
    assert (
        "Left out as impossible: 3 values of user.io_delay_us, 1 value of user.page_delay_us, 1 value of"
        " system.pressure_io_full_us and values of 1 other signal (--all lists them)."
    ) in flat(file.getvalue())
    assert "837" not in file.getvalue()
    every = flat(shown(diagnosis))
    assert (
        "Left out as impossible – 3 values of user.io_delay_us, the largest 837 s, in all 2,100 s: a task"
        " cannot have gained so much – 1 value of user.page_delay_us"
    ) in every
    assert "– values of system.pressure_io_some_us" in every


def test_a_percent_sign_stays_with_its_number(diagnosis: Diagnosis) -> None:
    for width in range(40, 81):
        lines = [line.strip() for line in shown(diagnosis, width=width).splitlines()]
        assert not [line for line in lines if line.startswith("% of")]
        assert any("0.40 % of" in line or line.endswith("0.40 %") for line in lines)


def test_output_that_is_no_terminal_is_plain(diagnosis: Diagnosis) -> None:
    assert "\x1b" not in shown(diagnosis)
    assert "\x1b[1m" in shown(diagnosis, terminal=True)


def test_hostile_names_are_shown_and_not_obeyed(diagnosis: Diagnosis, hostile: str) -> None:
    finding = diagnosis.findings[0]
    evidence = Evidence(f"device_busy:{hostile}", "fraction", hostile, 0.5, None, hostile, True)
    diagnosis = replace(
        diagnosis,
        recording=hostile,
        headline=hostile,
        findings=(
            replace(finding, title=hostile, summary=hostile, evidence=(evidence,), remedies=(hostile,)),
        ),
        warnings=(hostile,),
        conditions={hostile: hostile},
    )
    text = shown(diagnosis, width=100)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\\x1b[31m[red]\\u202ex" in text
    coloured = shown(diagnosis, width=100, terminal=True)
    assert "\x1b[31m" not in coloured


def test_a_terminal_without_utf8_gets_plain_signs(diagnosis: Diagnosis) -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii", errors="strict")
    print_diagnosis(diagnosis, Console(file=file, width=80, _environ={}))
    file.flush()
    assert b"98.10 +/- 0.40 %" in raw.getvalue()


def test_a_table_of_curves(curves: Curves) -> None:
    file = io.StringIO()
    console = Console(file=file, width=100, _environ={})
    print_table(curves_table(curves, ["transaction_rate", "load_memory", "no_such_variable"]), console)
    text = file.getvalue()
    lines = [line.split() for line in text.splitlines()]
    assert ["1", "120", "0.500", "±", "0.025", "57.2", "±", "2.9"] in lines
    assert "MiB" in text
    assert "recorded)" in text


def test_a_table_shows_a_class_without_data_as_a_gap(curves: Curves) -> None:
    curve = curves.curves["mpl"]
    gap = replace(curve.points[0], mean=None)
    curves = replace(curves, curves={"mpl": replace(curve, points=(gap, *curve.points[1:]))})
    file = io.StringIO()
    print_table(curves_table(curves, ["mpl"]), Console(file=file, width=80, _environ={}))
    assert ["1", "120", "–"] in [line.split() for line in file.getvalue().splitlines()]


SATURATION = (
    "Beyond it throughput surely falls: −0.12 per second and user (−0.2 to −0.05).",
    "Throughput is greatest at 7 users (6.5 to 7.9).",
    "It describes the loads no better than the broken line.",
    "Its greatest throughput lies at 21.9 users (15 to 31), beyond the loads seen: extrapolated, and not"
    " claimed.",
)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_full_diagnosis_shows_curve_waits_remarks_and_rules_not_judged(
    full_diagnosis: Diagnosis, width: int
) -> None:
    text = shown(full_diagnosis, width=width)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    assert "\x1b" not in text
    words = flat(text)
    for part in SATURATION:
        assert part in words, part
    assert "Remarks, which name no bottleneck 1. One user is most of the load" in words
    assert "The fast swap device is full; The slow swap device is full: There is one swap device." in words
    assert "Where the users' time went" in words
    assert "Parts of the users' transaction time." in words
    assert "From sampled states: waiting for I/O." in words
    assert "(running 40 %, for a processor 31 %)" in words
    assert "waiting to be admitted" not in words, "no class has it"


def test_waits_have_a_row_for_each_load_and_no_zero_for_what_is_missing(full_diagnosis: Diagnosis) -> None:
    lines = shown(full_diagnosis).splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("Where the users' time went"))
    rows = [line.split() for line in lines[start:] if line.startswith(("1–2", "12 "))]
    assert rows[0][:1] + rows[0][1:4] == ["1–2", "62.0", "±", "3.0"]
    assert rows[0][-1] == "–"
    assert rows[1][-3:] == ["17.0", "±", "1.0"]


def test_what_one_thing_would_have_given_is_one_line() -> None:
    locks = "lock contention events"
    seen = unseen_words(
        (
            Unseen("lock_wait", "not recorded: lock_wait_us", locks, ("lock_bound",)),
            Unseen("forks", "/proc/stat has none", "another kernel"),
            Unseen("lock_spin", "not recorded: lock_spin_us", locks, ("lock_bound", "storage_manager_path")),
        )
    )
    assert len(seen) == 2
    assert seen[0].count(locks) == 1
    assert (
        "lock wait, all lock spin: not recorded" in seen[0] or "lock wait, lock spin: not recorded" in seen[0]
    )
    assert "lock_bound, storage_manager_path" in seen[0]
    assert "/proc/stat has none" in seen[1]
