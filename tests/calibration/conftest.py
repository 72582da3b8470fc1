"""Makes `made_up_clusters` importable in the calibration tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
