"""`python -m bes`."""

from bes.cli import main

if __name__ == "__main__":  # worker processes import this file again
    main()
