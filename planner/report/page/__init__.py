"""The report as one HTML file: it opens without a network, follows light and dark mode, and fits a phone."""

from planner.report.page.plan_page import PAGE_STEPS as PLAN_PAGE_STEPS
from planner.report.page.plan_page import plan_page, refusal_page
from planner.report.page.spark_page import spark_page

__all__ = ["PLAN_PAGE_STEPS", "plan_page", "refusal_page", "spark_page"]
