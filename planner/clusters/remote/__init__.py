"""Machines reached by SSH: connection, software, wheels."""
