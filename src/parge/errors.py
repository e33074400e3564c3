"""The errors a user can meet; every message says what was asked, what was found, and what to do."""


class PargeError(Exception):
    """A failure while running; the command line exits with its `exit_code`."""

    exit_code = 1


class InputError(PargeError, ValueError):
    """Input, or an option, that cannot be used as given."""

    exit_code = 2


class InfeasibleError(InputError):
    """A plan whose limits cannot be kept on this graph, known before any work starts."""


class MissingExtraError(InputError, ImportError):
    """A feature whose optional dependency is not installed."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(f"{feature} needs {package}, which is not installed: pip install 'parge[{extra}]'")


class TechniqueError(PargeError):
    """A technique that failed on a subgraph, or answered with something that is not an embedding."""
