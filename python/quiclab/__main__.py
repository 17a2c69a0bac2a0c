"""`python -m quiclab` is the command line."""

if __name__ == "__main__":  # worker processes also import this file, without a command line
    from quiclab.cli import main

    main()
