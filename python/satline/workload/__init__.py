"""Workloads from real sessions: recorded, taken apart, fitted, and generated again at any size [AW79].

A session (what one person typed and got, with times) becomes a script with its own think times; many sessions
become building blocks (a mix, distributions, an order), and blocks become a workload for the emulator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from satline.lazy import lazy_names

if TYPE_CHECKING:
    from satline.workload._blocks import Blocks, Class, Input, blocks_toml, read_blocks, write_private
    from satline.workload._classes import read_mapping
    from satline.workload._emulator import check
    from satline.workload._extract import extract, open_terminal
    from satline.workload._fit import fit
    from satline.workload._generate import USUAL_LENGTH, Draws, draw, generate
    from satline.workload._goodness import Test, compare, draws_of_recording, shares
    from satline.workload._recorder import record
    from satline.workload._replay import replay
    from satline.workload._session import Session, read_session, write_session

__all__ = [
    "USUAL_LENGTH",
    "Blocks",
    "Class",
    "Draws",
    "Input",
    "Session",
    "Test",
    "blocks_toml",
    "check",
    "compare",
    "draw",
    "draws_of_recording",
    "extract",
    "fit",
    "generate",
    "open_terminal",
    "read_blocks",
    "read_mapping",
    "read_session",
    "record",
    "replay",
    "shares",
    "write_private",
    "write_session",
]

# Recording a session needs none of what fits and tests workloads.
__getattr__ = lazy_names(
    __name__,
    {
        "_blocks": "Blocks, Class, Input, blocks_toml, read_blocks, write_private",
        "_classes": "read_mapping",
        "_emulator": "check",
        "_extract": "extract, open_terminal",
        "_fit": "fit",
        "_generate": "Draws, USUAL_LENGTH, draw, generate",
        "_goodness": "Test, compare, draws_of_recording, shares",
        "_recorder": "record",
        "_replay": "replay",
        "_session": "Session, read_session, write_session",
    },
)
