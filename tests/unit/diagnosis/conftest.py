"""Makes the helpers beside these tests, and the made recordings of the reduction's, importable."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "reduction")]
