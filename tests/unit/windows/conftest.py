"""Lets the tests here import the made recordings of the reduction's."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "reduction")]
