"""The paper's six data sets from a local copy under their usual file names, or what stands for them here.

| data set | looked for in the data folder (and one folder below) | from |
|---|---|---|
| BlogCatalog | BlogCatalog-dataset/data/{nodes,edges,group-edges}.csv, blogcatalog.mat, blogcatalog.edges.gz | ASU |
| Flickr | Flickr-dataset/data/{nodes,edges,group-edges}.csv, flickr.mat | ASU |
| Arxiv | ca-AstroPh.txt[.gz], CA-AstroPh.txt[.gz], ca-AstroPh.edges.gz | SNAP |
| Youtube | soc-youtube.mtx[.gz] | networkrepository.com |
| Wikipedia | wiki-topcats.txt[.gz], wiki-topcats-categories.txt[.gz] | SNAP |
| LiveJournal | com-lj.ungraph.txt[.gz], com-lj.top5000.cmty.txt[.gz] | SNAP |

Vertices and edges are counted and compared with what is published; a file that differs is refused.
"""

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import parge
from parge.evaluate.labels import Labels, read_labels
from parge.graph.generate import planted

# Labels of the two large graphs are their largest communities, as many as Tang and Liu's YouTube has groups.
LARGEST_COMMUNITIES = 47


@dataclass(frozen=True, eq=False)
class Data:
    """A graph to run an experiment on.

    Parameters
    ----------
    name : str
        Of the file it came from.
    stands_for : str
        The paper's data set.
    labels : Labels, optional
    note : str
        How it differs from the paper's, for people; empty where it does not.
    """

    name: str
    stands_for: str
    graph: parge.Graph = field(repr=False)
    labels: Labels | None = field(default=None, repr=False)
    note: str = ""

    @property
    def metadata(self) -> dict[str, Any]:
        """Name and counts, for a record of the run."""
        n_labels = 0 if self.labels is None else int(self.labels.classes.size)
        return {
            "name": self.name,
            "stands_for": self.stands_for,
            "vertices": self.graph.n_vertices,
            "edges": self.graph.n_edges,
            "labels": n_labels,
            "note": self.note,
        }


class WrongCountsError(SystemExit):
    """A file whose vertices or edges are not those of the data set that it is named after."""


@dataclass(frozen=True)
class Counts:
    """What a data set must have: vertices exactly; undirected edges without self loops, within a range."""

    vertices: int
    edges: tuple[int, int]

    def check(self, name: str, graph: parge.Graph) -> None:
        """Raise where the graph has other counts."""
        low, high = self.edges
        if graph.n_vertices == self.vertices and low <= graph.n_edges <= high:
            return
        wanted = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        raise WrongCountsError(
            f"{name} has {self.vertices:,} vertices and {wanted} edges (undirected, no self loops); the local copy has "
            f"{graph.n_vertices:,} and {graph.n_edges:,}. Is the download whole, and is it that data set?"
        )


def exactly(vertices: int, edges: int) -> Counts:
    """Return counts without a range."""
    return Counts(vertices, (edges, edges))


# Arxiv: 198,110 published edges include 60 self loops. Wikipedia: 28,511,807 published links are directed; 21.5 % of
# them (SuiteSparse's pattern symmetry) run both ways, which leaves 25.4 to 25.5 M edges.
COUNTS = {
    "BlogCatalog": exactly(10_312, 333_983),
    "Flickr": exactly(80_513, 5_899_882),
    "Arxiv": exactly(18_772, 198_050),
    "Youtube": exactly(495_957, 1_936_748),
    "Wikipedia": Counts(1_791_489, (25_400_000, 25_500_000)),
    "LiveJournal": exactly(3_997_962, 34_681_189),
}


def load(stands_for: str, folder: Path) -> Data:
    """Return the paper's data set from its local copy, or what stands for it here."""
    return local(stands_for, folder) or substitute(stands_for)


def local(name: str, folder: Path) -> Data | None:
    """Return the paper's own data set, its counts checked, or None where there is no local copy."""
    for reader, names in _READERS[name]:
        path = find(folder, names)
        if path is not None:
            data = reader(name, path)
            COUNTS[name].check(name, data.graph)
            return data
    return None


# Where a data set is not at hand, a generated graph of its mean degree with a tenth of its vertices (Flickr), a
# fiftieth (Youtube), a hundredth (LiveJournal) or half of that (Wikipedia), so that every cell has five seeds.
SIZES = {
    "BlogCatalog": (10_312, 333_983),
    "Flickr": (8_051, 589_988),
    "Arxiv": (18_772, 198_050),
    "Youtube": (9_919, 38_735),
    "Wikipedia": (8_957, 127_250),
    "LiveJournal": (39_980, 346_812),
}


def substitute(stands_for: str) -> Data:
    """Return a planted graph in the place of a data set."""
    return generated(stands_for, *SIZES[stands_for])


def generated(stands_for: str, n_vertices: int, n_edges: int) -> Data:
    """Return a planted graph with overlapping communities as labels."""
    made = planted(n_vertices, n_edges, communities=47, mixing=0.5, labels_per_vertex=1.5, seed=1)
    vertices = np.repeat(np.arange(n_vertices), np.diff(made.labels.indptr))
    labels = Labels.from_pairs(vertices, made.labels.labels.astype(np.int64))
    name = f"planted-{n_vertices}-{n_edges}"
    return Data(name, stands_for, made.graph, labels, f"a generated graph of planted communities, not {stands_for}")


def find(folder: Path, names: tuple[str, ...]) -> Path | None:
    """Return the first of these files that is in the folder or one folder below it.

    >>> find(Path("/nowhere"), ("a.txt",)) is None
    True
    """
    for name in names:
        for path in (folder / name, *sorted(folder.glob(f"*/{name}"))):
            if path.exists():
                return path
    return None


def _zipped(*names: str) -> tuple[str, ...]:
    return tuple(name + suffix for name in names for suffix in ("", ".gz"))


def _shared(name: str, path: Path) -> Data:
    """Read NAME.edges.gz, vertices 0..n-1, with NAME.labels.gz beside it where there is one."""
    vertices = COUNTS[name].vertices if name in ("BlogCatalog", "Arxiv") else None
    stem = path.name.removesuffix(".edges.gz")
    labels = path.with_name(f"{stem}.labels.gz")
    graph = parge.read(path, vertices=vertices)
    return Data(stem, name, graph, read_labels(labels, label_column="all") if labels.exists() else None)


def _asu(name: str, path: Path) -> Data:
    """Read the CSV files of the ASU Social Computing Data Repository, of which `path` has the edges."""
    graph = parge.read(path, vertices=path.with_name("nodes.csv"))
    return Data(name, name, graph, read_labels(path.with_name("group-edges.csv")))


def _mat(name: str, path: Path) -> Data:
    """Read a .mat file as DeepWalk and NetMF distribute them: `network`, and the vertices' labels in `group`."""
    from scipy.io import loadmat

    group = loadmat(path, variable_names=["group"])["group"].tocoo()
    labels = Labels.from_pairs(group.row.astype(np.int64), group.col.astype(np.int64))
    return Data(name, name, parge.read(path), labels)


def _edges(name: str, path: Path) -> Data:
    return Data(name, name, parge.read(path))


def _with_communities(*names: str) -> Callable[[str, Path], Data]:
    def read(name: str, path: Path) -> Data:
        groups = find(path.parent, names)
        labels = None if groups is None else largest_communities(groups)
        note = f"labels: its {LARGEST_COMMUNITIES} largest communities; the paper does not say which it used"
        return Data(name, name, parge.read(path), labels, "" if labels is None else note)

    return read


def largest_communities(path: Path, count: int = LARGEST_COMMUNITIES) -> Labels:
    """Return the largest communities of a file with one per line, as labels: members, after an optional ``name;``."""
    ranked = sorted(_communities(path), key=len, reverse=True)[:count]
    vertices = np.concatenate([np.array(members, np.int64) for members in ranked])
    return Labels.from_pairs(vertices, np.repeat(np.arange(len(ranked)), [len(members) for members in ranked]))


def _communities(path: Path) -> Iterator[list[str]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        for line in file:
            yield line.rpartition(";")[2].split()


_Readers = list[tuple[Callable[[str, Path], Data], tuple[str, ...]]]

_READERS: dict[str, _Readers] = {
    "BlogCatalog": [
        (_asu, ("BlogCatalog-dataset/data/edges.csv",)),
        (_mat, ("blogcatalog.mat",)),
        (_shared, ("blogcatalog.edges.gz",)),
    ],
    "Flickr": [(_asu, ("Flickr-dataset/data/edges.csv",)), (_mat, ("flickr.mat",))],
    "Arxiv": [(_edges, _zipped("ca-AstroPh.txt", "CA-AstroPh.txt")), (_shared, ("ca-AstroPh.edges.gz",))],
    "Youtube": [(_edges, _zipped("soc-youtube.mtx"))],
    "Wikipedia": [
        (_with_communities(*_zipped("wiki-topcats-categories.txt")), _zipped("wiki-topcats.txt")),
    ],
    "LiveJournal": [
        (_with_communities(*_zipped("com-lj.top5000.cmty.txt", "com-lj.all.cmty.txt")), _zipped("com-lj.ungraph.txt")),
    ],
}
