"""Codecs of compressed text and of Spark's event logs."""
