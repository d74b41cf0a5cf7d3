"""`python -m toolplan`."""

from toolplan.cli import main

if __name__ == "__main__":
    main()
