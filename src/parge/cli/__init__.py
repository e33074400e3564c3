"""The command line: arguments become a Plan, a Plan becomes files; nothing else happens here."""

from parge.cli.main import main

__all__ = ["main"]
