"""The report as one HTML file: it opens without a network, follows light and dark mode, and fits a phone."""

from planner.report.page.fleet_page import fleet_page
from planner.report.page.plan_page import PAGE_STEPS as PLAN_PAGE_STEPS
from planner.report.page.plan_page import plan_page, refusal_page
from planner.report.page.run_page import run_page
from planner.report.page.screen_page import screen_page
from planner.report.page.spark_page import spark_page

__all__ = ["PLAN_PAGE_STEPS", "fleet_page", "plan_page", "refusal_page", "run_page", "screen_page", "spark_page"]
