"""Lets the tests here import what they share, and the made recordings of the reduction's."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "reduction")]
