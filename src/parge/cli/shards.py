"""What commands with ``--sharded`` have in common: the files of edges, from the options."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parge.cli.options import columns_of
from parge.errors import InputError
from parge.io.places import is_url, shown_name

if TYPE_CHECKING:
    from parge.cluster.source import Source


def sharded_source(options: dict[str, Any]) -> "Source":
    """Take GRAPH and how it is read out of `options`; return the files that shards read."""
    from parge.cluster.source import Source, edge_files  # most commands hold the graph
    from parge.columns import Wanted

    if options.pop("features") is not None:
        raise InputError("--features needs the whole graph in one process. Omit it, or omit --sharded.")
    graph, vertices = options.pop("graph"), options.pop("vertices")
    known = vertices if vertices is None or isinstance(vertices, int) else str(vertices)
    if isinstance(known, str) and is_url(known):
        raise InputError("With --sharded, --vertices is a file that all machines see, not a URL. Mount or copy it.")
    if is_url(graph):
        return Source((), known, Wanted(**columns_of(options)), str(graph))
    return Source(edge_files(Path(graph)), known, Wanted(**columns_of(options)))


def given_args() -> list[str]:
    """Return the arguments of the command line, for `parge status`: a run folder keeps them without secrets of URLs."""
    given = click.get_current_context().find_root().obj
    return [shown_name(arg) for arg in given] if isinstance(given, list) else []


@contextmanager
def here(source: "Source") -> "Iterator[Source]":
    """Yield the source with local files: those of a URL are fetched, and removed afterwards."""
    from parge.cluster.source import edge_files
    from parge.io.places import fetched

    if source.url is None:
        yield source
        return
    with fetched(source.url) as path:
        yield replace(source, files=edge_files(path), url=None)
