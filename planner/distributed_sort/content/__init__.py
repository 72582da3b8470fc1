"""Records, text and tables: keys, splitters, blocks and checks."""
