"""Commands that read logs of jobs."""
