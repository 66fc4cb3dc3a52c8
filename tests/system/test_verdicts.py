"""A shipped study names what it was built to saturate: on a busy machine it may say that it cannot tell, but
it may not name anything else."""

import json
import os

import pytest

from .conftest import Satline

pytestmark = [pytest.mark.system, pytest.mark.slow]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: the load's limits are set by control groups")
@pytest.mark.parametrize(
    ("study", "component"),
    [("one-server", "server")],
)
def test_a_shipped_study_names_nothing_else(satline: Satline, study: str, component: str) -> None:
    arguments = ("study", study, "--json", "--out", str(satline.recording), "--scratch", str(satline.scratch))
    process = satline.start(*arguments)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    diagnosis = json.loads(output[output.index("\n{") :])["diagnosis"]
    outcome = diagnosis["saturation"]["outcome"]
    assert outcome in {"saturated", "cannot-tell"}, diagnosis["headline"]
    named = [finding["component"] for finding in diagnosis["findings"]]
    if outcome == "saturated":
        assert named[:1] == [component], diagnosis["headline"]
    else:
        # Without saturation nothing is named; remarks, as on compute-bound work of others, name no component.
        assert set(named) <= {"none"}, diagnosis["headline"]
