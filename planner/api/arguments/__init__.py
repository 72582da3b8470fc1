"""Arguments of public functions, as a script writes them for type checkers."""
