"""The paper's tables and figures, computed again: ``python -m benchmarks.paper`` (``make bench-paper``)."""
