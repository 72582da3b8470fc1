"""Predictions with calibrated ranges from a few real runs, a physical model and a prior."""

from planner.calibration.experiment import NextRun
from planner.calibration.history import JobRow
from planner.calibration.prediction import COVERAGE
from planner.calibration.priors import MODELS
from planner.calibration.profile import DeadlineChoice, Profile, calibrate, cheapest_within

__all__ = ["COVERAGE", "MODELS", "DeadlineChoice", "JobRow", "NextRun", "Profile", "calibrate", "cheapest_within"]
