"""The library: each command of the shell is one call of a function here."""
