"""The report as one HTML file: opens without a network, follows light and dark, fits a phone."""

from planner.report.page.plan_page import plan_page
from planner.report.page.run_page import run_page

__all__ = ["plan_page", "run_page"]
