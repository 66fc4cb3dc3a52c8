"""What holds for all tests."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))
import skipped

# What a bench measures, tests try too.
sys.path += [str(Path(__file__).parents[1] / "benches" / bench) for bench in ("monitor", "terminals")]

# As the commands do (satline.cli); before any test imports NumPy, and for all that tests start.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# On a busy machine an example may take any time, and no test asserts how long. The examples are the same in
# each run, so that a change is blamed for what it breaks and nothing else; `make fuzz` looks for others.
settings.register_profile(
    "any machine",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="SATLINE_OTHER_EXAMPLES" not in os.environ,
)
settings.load_profile("any machine")


@pytest.fixture(autouse=True, scope="session")
def documents_are_as_their_schemas_say() -> Iterator[None]:
    """Whatever JSON a command prints in any test is held against its published schema."""
    from documents import hold

    from satline.present import documents

    made = documents.document
    documents.document = lambda *parts, **more: hold(made(*parts, **more))
    yield
    documents.document = made


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make test` looks for what must be alone in one folder only: elsewhere it would never run."""
    for item in items:
        if item.get_closest_marker("alone") and Path(__file__).parent / "system" not in item.path.parents:
            raise pytest.UsageError(f"{item.nodeid}: a test that is `alone` belongs in tests/system")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line for each reason for which tests were skipped; `make test` gathers those of all its parts."""
    if hasattr(terminalreporter.config, "workerinput"):
        return  # whoever started this worker says it
    reasons = skipped.of_reports(terminalreporter.stats.get("skipped", ()))
    if file := os.environ.get("SATLINE_SKIPPED"):
        skipped.write(reasons, Path(file))
    elif reasons:
        terminalreporter.section("skipped")
        for line in skipped.lines(reasons):
            terminalreporter.line(line)
