"""Arguments of public functions: as a script writes them for type checkers, and as a file of the user holds them."""
