"""The state of a sort job: nodes, ledger, pending tasks, losses."""
