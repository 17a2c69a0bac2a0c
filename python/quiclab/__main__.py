"""`python -m quiclab` is the command line."""

if __name__ == "__main__":  # worker processes import this file, too, and need no command line
    from quiclab.cli import main

    main()
