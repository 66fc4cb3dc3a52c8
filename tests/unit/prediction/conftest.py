"""Made recordings and studies of other tests are importable here, in whatever import mode pytest runs in."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
for part in ("reduction", "diagnosis"):
    sys.path.insert(0, str(Path(__file__).parents[1] / part))
