"""``python -m parge`` is the command line."""

from parge.cli import main

main()
