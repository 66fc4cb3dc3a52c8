"""Signals: one raises, the others wait, none is lost."""

import os
import signal
from collections.abc import Iterator

import pytest

from satline.interruption import SIGNALS, Interrupted, signals_held, signals_interrupt


@pytest.fixture
def arrived() -> Iterator[list[int]]:
    """The signals that come to what is outside of all blocks."""
    numbers: list[int] = []
    old = {number: signal.signal(number, lambda number, _: numbers.append(number)) for number in SIGNALS}
    yield numbers
    for number, handler in old.items():
        signal.signal(number, handler)


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_raises_and_later_ones_do_not(number: int, arrived: list[int]) -> None:
    noted: list[str] = []

    def run() -> None:
        with signals_interrupt():
            try:
                send(number)
                noted.append("nothing was raised")
            finally:
                send(signal.SIGINT)
                noted.append("undone")

    with pytest.raises(Interrupted) as caught:
        run()
    assert caught.value.number == number
    assert noted == ["undone"]
    assert arrived == []
    send(number)
    assert arrived == [number]  # all is as it was


def test_one_that_comes_while_held_is_raised_when_all_that_hold_have_ended(arrived: list[int]) -> None:
    noted: list[str] = []

    def run() -> None:
        with signals_interrupt():
            with signals_held():
                with signals_held():
                    send(signal.SIGTERM)
                    send(signal.SIGINT)
                    noted.append("inner")
                noted.append("outer")
            noted.append("after")

    with pytest.raises(Interrupted) as caught:
        run()
    assert noted == ["inner", "outer"]
    assert caught.value.number == signal.SIGTERM
    assert arrived == []


def fail_beside_a_signal() -> None:
    with signals_interrupt(), signals_held():
        send(signal.SIGINT)
        raise ValueError("disk")


def test_an_error_while_held_is_told(arrived: list[int]) -> None:
    with pytest.raises(ValueError, match="disk"):
        fail_beside_a_signal()
    assert arrived == []


def test_from_hold_on_they_wait_to_be_taken(arrived: list[int]) -> None:
    with signals_interrupt() as signals:
        signals.hold()
        with signals_held():
            send(signal.SIGHUP)
        send(signal.SIGINT)
        assert signals.take() == signal.SIGHUP
        assert signals.take() is None
    assert arrived == []


def test_one_that_nobody_took_goes_to_the_block_around(arrived: list[int]) -> None:
    noted: list[str] = []

    def run() -> None:
        with signals_interrupt():
            with signals_interrupt() as signals:
                signals.hold()
                send(signal.SIGTERM)
                noted.append("within")
            noted.append("after")

    with pytest.raises(Interrupted) as caught:
        run()
    assert caught.value.number == signal.SIGTERM
    assert noted == ["within"]
    assert arrived == []


def test_beside_an_error_it_waits_in_the_block_around(arrived: list[int]) -> None:
    with signals_interrupt() as around:
        with pytest.raises(ValueError, match="disk"):
            fail_beside_a_signal()
        assert around.take() == signal.SIGINT
    assert arrived == []


def test_one_that_nobody_took_goes_to_the_program(arrived: list[int]) -> None:
    with signals_interrupt() as signals:
        signals.hold()
        send(signal.SIGTERM)
        assert arrived == []
    assert arrived == [signal.SIGTERM]


def test_what_nohup_started_outlives_its_terminal() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_interrupt():
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        with pytest.raises(Interrupted), signals_interrupt():
            os.kill(os.getpid(), signal.SIGTERM)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
