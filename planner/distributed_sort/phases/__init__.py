"""The phases of a sort: sampling, map and shuffle, reduce."""
