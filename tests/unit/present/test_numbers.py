"""Numbers as a person reads them."""

from __future__ import annotations

import pytest

from satline.present import _numbers


@pytest.mark.parametrize(
    ("value", "unit", "error", "shown"),
    [
        (0.918, "processors", 0.031, "0.918 ± 0.031 processors"),
        (0.5, "fraction", None, "50\N{NO-BREAK SPACE}%"),
        (0.981, "fraction of capacity", 0.0044, "98.10 ± 0.44\N{NO-BREAK SPACE}% of capacity"),
        (1_500_000, "us", None, "1.5 s"),
        (812_000, "us", 14_000, "812 ± 14 ms"),
        (0.0004, "s", None, "400 µs"),
        (0.0, "s", None, "0 ms"),
        (805_306_368, "bytes", None, "768 MiB"),
        (2_097_152, "bytes/s", None, "2 MiB/s"),
        (12, "bytes", None, "12 bytes"),
        (-0.0041, "per second", None, "−0.0041 per second"),
        (12_345.0, "pages/s", None, "12,345 pages/s"),
        (3.0, "users", 0.0, "3 ± 0 users"),
        (6.0, "", None, "6"),
        (1.99997, "s", 0.00005, "2 ± 0.00005 s"),
        (None, "processors", None, "not measured"),
        (float("nan"), "processors", 0.1, "not measured"),
    ],
)
def test_quantities(value: float | None, unit: str, error: float | None, shown: str) -> None:
    assert _numbers.quantity(value, unit, error) == shown


def test_a_value_is_given_to_the_place_of_its_error() -> None:
    assert _numbers.quantity(3.14159, "", 0.0213) == "3.142 ± 0.021"
    assert _numbers.quantity(31415.9, "", 213.0) == "31,416 ± 213"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at least 0.4 of transaction time", "at least 40 % of transaction time"),
        ("near 1: the device is full", "near 100 %: the device is full"),
        ("below 0.25", "below 25 %"),
        ("less than 1.5 × that at light load", "less than 1.5 × that at light load"),
        ("less than 1 × that", "less than 1 × that"),
        ("at least 90 %", "at least 90 %"),
        ("10 users, 1.1, v1, 1,000", "10 users, 1.1, v1, 1,000"),
        ("0", "0 %"),
    ],
)
def test_fractions_in_words_become_percentages(text: str, shown: str) -> None:
    assert _numbers.percentages(text).replace("\N{NO-BREAK SPACE}", " ") == shown


def test_an_interval_keeps_one_scale() -> None:
    assert _numbers.interval(900.0, 700.0, 1200.0, "ms") == "0.9 s (0.7 to 1.2)"
    assert _numbers.interval(6.23, 5.6, 7.1, "users") == "6.23 users (5.6 to 7.1)"
    assert _numbers.interval(48.7, 40.0, float("inf"), "users") == "48.7 users (40 or more, no upper limit)"


def test_strength_has_words_and_its_number() -> None:
    words = [_numbers.strength_words(s).split(" (")[0] for s in (0.9, 0.7, 0.5, 0.3, 0.1)]
    assert words == ["very strong", "strong", "moderate", "weak", "very weak"]
    assert _numbers.strength_words(0.86).endswith("(0.86)")
