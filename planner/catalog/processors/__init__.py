"""Processors of types: measured speed, assumed power, and credits of burstable ones."""
