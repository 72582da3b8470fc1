"""Commands that give plans to other platforms and to pipelines."""
