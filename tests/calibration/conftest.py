"""Lets the calibration tests share `made_up_clusters`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
