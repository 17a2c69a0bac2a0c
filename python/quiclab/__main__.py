"""`python -m quiclab` is the command line."""

from quiclab.cli import main

if __name__ == "__main__":
    main()
