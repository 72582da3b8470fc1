"""Instruments: what machines, disks and networks really do."""
