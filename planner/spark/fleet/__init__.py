"""Many event logs at once: where they are, one row for each application, and trends of a job over weeks."""
