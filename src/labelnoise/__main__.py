"""`python -m labelnoise` is the command `labelnoise`."""

from labelnoise.cli import main

if __name__ == "__main__":
    main()
