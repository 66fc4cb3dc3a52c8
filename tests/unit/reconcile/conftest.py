"""Makes the made studies of the diagnosis' tests, and the made recordings of the reduction's, importable."""

import sys
from pathlib import Path

for part in ("reduction", "diagnosis"):
    sys.path.insert(0, str(Path(__file__).parents[1] / part))
