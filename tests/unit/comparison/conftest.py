import sys
from pathlib import Path

# The synthetic pairs of the bench.
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benches" / "comparison"))
