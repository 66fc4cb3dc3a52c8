"""The policy file: what it takes, what it refuses, and what it says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from satline.errors import InputError
from satline.swapper import explain_policy, read_policy

EXAMPLE = Path(__file__).parents[3] / "examples/swapper/policy.toml"


def policy(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(text)
    return path


def test_the_shipped_example_is_a_policy() -> None:
    found = read_policy(EXAMPLE)
    assert found.tables["watch"][0]["cgroup"] == "/user.slice/user-*.slice"
    assert found.tables["prepage"]["whole"] is None


def test_all_that_is_wrong_is_said_at_once_with_lines(tmp_path: Path) -> None:
    path = policy(tmp_path, '[[watch]]\npid = 1\n[queue_drop]\nidle_second = 3\n[swap_out]\norder = "any"\n')
    with pytest.raises(InputError) as caught:
        read_policy(path)
    for place in ("toml:2:", "toml:4:", "toml:6:"):
        assert place in caught.value.message, caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "watch = []\n",
        "[[watch]]\n",
        '[[watch]]\npid = 5\ncommand = "x"\n',
        "[[watch]]\npid = 5\nuid = 7\n",
        '[[watch]]\ncgroup = "/a/../b"\n',
        "[[watch]]\npid = 5\n[storage]\nlow = 0.5\nhigh = 0.2\n",
        "[[watch]]\npid = 5\n[storage]\nlow = 1.5\n",
        '[[watch]]\npid = 5\n[tiers]\nzram = ["../sda"]\n',
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError):
        read_policy(policy(tmp_path, text))


def test_reading_everything_needs_a_bound_and_measured_figures(tmp_path: Path) -> None:
    start = "[[watch]]\npid = 5\n[prepage.whole]\n"
    bound, rate, service = (
        "max_bytes = 1000000\n",
        "device_bytes_per_second = 100000000\n",
        "device_service_us = 9000\n",
    )
    for part in (bound, rate, service, bound + rate, bound + service, rate + service):
        with pytest.raises(InputError):
            read_policy(policy(tmp_path, start + part))
    whole = read_policy(policy(tmp_path, start + bound + rate + service)).tables["prepage"]["whole"]
    assert whole["device_service_us"] == 9000


def test_every_key_is_explained() -> None:
    lines = explain_policy(read_policy(EXAMPLE))
    keys = [line.split(" = ")[0] for line in lines]
    assert "watch 1: cgroup" in keys
    assert "prepage.share_of_free_storage" in keys
    assert len(keys) == len(set(keys))
    for line in lines:
        assert len(line.split(": ", 1)[1]) > 10, line
