"""The receipt: advice and predictions paired with the runs that followed."""
