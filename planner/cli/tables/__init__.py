"""Commands on tables of many files."""
