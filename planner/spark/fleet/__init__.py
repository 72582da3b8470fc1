"""Many event logs at once: where they lie, one row for each application, and what becomes of a job over weeks."""
