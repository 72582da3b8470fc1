"""Compute Engine: machines of Google Cloud, by its SDK google-cloud-compute (extra `gcp`)."""
