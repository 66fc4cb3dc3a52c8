"""A shipped study names what it was built to saturate: on a busy machine it may say that it cannot tell, but
it may not name anything else."""

import json
import os
import re

import pytest

from satline.experiment.study import find_study

from .conftest import Satline

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.alone]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: the load's limits are set by control groups")
@pytest.mark.parametrize(
    ("study", "users", "component"),
    [("one-server", [1, 4, 8, 12, 18], "server")],
)
def test_a_shipped_study_names_nothing_else(
    satline: Satline, study: str, users: list[int], component: str
) -> None:
    # With fewer and shorter steps than it ships with: what saturates is the same, less is known of where.
    text = find_study(study).read_text()
    for key, value in (("users", users), ("window_seconds", 8)):
        text, count = re.subn(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
        assert count == 1
    fewer = satline.scratch.parent / f"{study}.toml"
    fewer.write_text(text)
    places = ("--out", str(satline.recording), "--scratch", str(satline.scratch))
    arguments = ("study", str(fewer), "--grid", "--json", *places)
    process = satline.start(*arguments)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    diagnosis = json.loads(output[output.index("\n{") :])["diagnosis"]
    outcome = diagnosis["saturation"]["outcome"]
    assert outcome in {"saturated", "partly-known"}, diagnosis["headline"]
    named = [finding["component"] for finding in diagnosis["findings"]]
    if outcome == "saturated":
        assert named[:1] == [component], diagnosis["headline"]
    else:
        # Without saturation nothing is named; remarks, as on compute-bound work of others, name no component.
        assert set(named) <= {"none"}, diagnosis["headline"]
