"""Commands that pass plans to other platforms and to pipelines."""
