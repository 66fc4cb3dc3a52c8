"""Variables are named in the words of the recorded system: Linux's, or those of virtual-machine systems."""

from __future__ import annotations

from satline.catalogue import catalogue
from satline.present import axis_words, in_words_of, variable_words

LINUX = {"system_under_test": {"kind": "this-host"}}
SIMULATED = {"system_under_test": {"kind": "simulated"}}


def test_linux_words_are_used_unless_the_system_is_a_virtual_machine_system() -> None:
    assert variable_words("problem_state") == "user time"
    with in_words_of(LINUX):
        assert variable_words("memory_used") == "memory used"
    with in_words_of(SIMULATED):
        assert variable_words("problem_state") == "problem state"
        assert variable_words("memory_used") == "main storage used"
        assert axis_words("active_users") == "active users"
    assert variable_words("problem_state") == "user time"


def test_beside_a_linux_host_a_simulated_machine_has_linux_words() -> None:
    with in_words_of(SIMULATED, LINUX):
        assert variable_words("supervisor_state") == "system time"
    with in_words_of(SIMULATED, SIMULATED):
        assert variable_words("supervisor_state") == "supervisor state"


def test_no_label_for_linux_has_a_word_of_mainframes() -> None:
    every = catalogue()
    labels = {v.name: v.label for v in (*every.table("system").columns, *every.derived()) if v.label}
    assert len(labels) > 100
    # Only simulated machines and archives of theirs have these.
    own = {n for n in labels if n.startswith(("storage_", "fast_", "slow_")) or "sio" in n}
    words = ("storage", "problem state", "supervisor", "drum", "dispatch")
    assert not {n: x for n, x in labels.items() if n not in own and any(w in x for w in words)}
