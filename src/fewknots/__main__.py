"""`python -m fewknots` is the command `fewknots`."""

from .cli import main

main()
