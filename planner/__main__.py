"""`python -m planner`: the command line, where the commands are not on the PATH."""

from planner.cli.entry import main

if __name__ == "__main__":
    main()
