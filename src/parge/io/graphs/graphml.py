"""GraphML files, streamed: only ids and weights are kept, never a tree of elements."""

from collections import Counter
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from parge.columns import ALL_FOUND, Wanted
from parge.errors import InputError
from parge.graph.build import assemble, number_integers, number_strings
from parge.graph.convert import missing_notice, unread_notice
from parge.graph.graph import Graph
from parge.graph.vertices import add_vertices
from parge.ids import STRING, parse_ids
from parge.io.files import foreign_errors, open_bytes
from parge.memory import refuse_over_budget
from parge.show.text import count

_AT_ONCE = 2**20

# Types of attributes that could be weights.
_NUMBERS = {"int", "long", "float", "double"}

# A tag is kept by the parser until it ends, and the text of a weight by us.
_LONGEST_TAG, _LONGEST_NUMBER = 16 * _AT_ONCE, 100

# Of a name of a vertex or of an end of an edge: a string of Python, its place, and what numbering makes of it.
_NAME_BYTES = 200


def read_graphml(path: Path, wanted: Wanted = ALL_FOUND) -> Graph:
    """Read the graph of a GraphML file; the edge attribute called ``weight``, or as asked for, gives the weights.

    Documents with a document type are refused: entities that expand to gigabytes, or to other files, are declared
    in it, and no graph needs one.
    """
    found = _Elements(path, wanted.weight or "weight")
    with open_bytes(path) as file, foreign_errors(path, "GraphML"):
        try:
            n_read = 0
            while data := file.read(_AT_ONCE):
                found.parser.Parse(data, False)
                n_read += len(data)
                found.check_sizes(n_read)
            found.parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise InputError(
                f"{path}, line {error.lineno:,}: not well-formed XML ({expat.errors.messages[error.code]}). Is the "
                "file complete?"
            ) from None
    if wanted.weight is not None:
        found.check_weight()
    return found.graph(weighted=wanted.weighted)


class _Elements:
    """Listens to the parser and keeps ids and weights."""

    def __init__(self, path: Path, weight: str) -> None:
        self._path = path
        self._weight = weight
        self._edge_attributes: dict[str, str] = {}
        self._n_given = 0
        self._open: list[str] = []
        self._n_graphs = 0
        self._n_text = 0
        self._directed = False
        self._n_directed = 0
        self._key_is_weight = False
        self._weight_keys: set[str] = set()
        self._default = 1.0
        self._vertices: list[str] = []
        self._ends: tuple[list[str], list[str]] = ([], [])
        self._weights: list[float] = []
        self._text: list[str] | None = None
        self._has_weights = False
        self._has_default = False
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters

    def check_sizes(self, n_read: int) -> None:
        """Refuse what is over the budget so far, and a tag that does not end."""
        waiting = n_read - max(0, self.parser.CurrentByteIndex)
        if waiting > _LONGEST_TAG:
            raise self._fail(f"a tag has more than {waiting:,} bytes. Is the file complete?")
        n_names = len(self._vertices) + 2 * len(self._weights)
        refuse_over_budget(
            _NAME_BYTES * n_names + 2 * self._n_text,
            f"{self._path} has {len(self._vertices):,} vertices and {len(self._weights):,} edges or more",
        )

    def graph(self, *, weighted: bool) -> Graph:
        """Build the graph from what was heard."""
        if not self._n_graphs:
            raise InputError(f"{self._path} has no <graph> element. Is it a GraphML file?")
        self._refuse_undeclared()
        ids = parse_ids(self._vertices)
        source, target = (_like(ids, end) for end in self._ends)
        notices: tuple[str, ...] = ()
        if self._n_directed:
            notices = (f"{count(self._n_directed, 'directed edge')} read as undirected",)
        weights = np.array(self._weights) if weighted and self._has_weights else None
        if weighted:
            notices += self._weight_notices()
        number = number_strings if ids.dtype == STRING else number_integers
        source, target, known, n_vertices = number(source, target)
        graph = assemble(source, target, weights, n_vertices=n_vertices, ids=known, notices=notices)
        return add_vertices(graph, ids)

    def check_weight(self) -> None:
        """Refuse an attribute that was asked for and that no edge has."""
        if not self._has_weights and self._ends[0]:
            there = ", ".join(map(repr, self._edge_attributes)) or "none"
            raise InputError(
                f"{self._path}: no edge has the attribute {self._weight!r}; attributes of edges are: {there}"
            )

    def _weight_notices(self) -> tuple[str, ...]:
        """Say what of weights was not found."""
        if self._has_weights:
            missing = len(self._weights) - self._n_given
            return missing_notice(missing, self._weight) if not self._has_default else ()
        return unread_notice([name for name, kind in self._edge_attributes.items() if kind in _NUMBERS])

    def _fail(self, what: str) -> InputError:
        return InputError(f"{self._path}, line {self.parser.CurrentLineNumber:,}: {what}")

    def _refuse_doctype(self, *_: Any) -> None:
        raise self._fail("a document type (DOCTYPE) is not accepted. Remove it; GraphML does not need one.")

    def _refuse_undeclared(self) -> None:
        declared = set(self._vertices)
        if len(declared) < len(self._vertices):
            twice = Counter(self._vertices).most_common(1)[0][0]
            raise InputError(f"{self._path}: two vertices have the id {twice!r}. Give every vertex a different id.")
        missing = next((name for end in self._ends for name in end if name not in declared), None)
        if missing is not None:
            raise InputError(
                f"{self._path}: an edge names the vertex {missing!r}, which no <node> element declares. Add one."
            )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        element = name.rpartition(" ")[2]
        if not self._open and element != "graphml":
            raise self._fail(f"a GraphML file starts with <graphml>; found <{element}>")
        self._open.append(element)
        if element == "key":
            of_edges = attributes.get("for", "all") in ("edge", "all")
            name = attributes.get("attr.name", "")
            if of_edges:
                self._edge_attributes[name] = attributes.get("attr.type", "")
            self._key_is_weight = of_edges and name == self._weight
            if self._key_is_weight:
                self._weight_keys.add(attributes.get("id", ""))
        elif element == "graph":
            self._n_graphs += 1
            if self._n_graphs > 1:
                raise self._fail("there is a second or nested <graph>. Keep one graph per file.")
            self._directed = attributes.get("edgedefault") == "directed"
        elif element == "node":
            self._vertices.append(self._attribute(attributes, "id", "node"))
        elif element == "edge":
            self._edge(attributes)
        elif element == "hyperedge":
            raise self._fail("hyperedges cannot be read. Replace them by edges.")
        elif element in ("data", "default") and self._of_weight(element, attributes):
            self._text = []

    def _of_weight(self, element: str, attributes: dict[str, str]) -> bool:
        """Return whether the text of this element is a weight."""
        parent = self._open[-2] if len(self._open) > 1 else ""
        if element == "data":
            return parent == "edge" and attributes.get("key") in self._weight_keys
        return parent == "key" and self._key_is_weight

    def _attribute(self, attributes: dict[str, str], name: str, element: str) -> str:
        value = attributes.get(name)
        self._n_text += len(value or "")
        if not value:
            raise self._fail(f"<{element}> has no {name}. Every vertex and both ends of an edge need an id.")
        return value

    def _edge(self, attributes: dict[str, str]) -> None:
        for end, name in zip(self._ends, ("source", "target"), strict=True):
            end.append(self._attribute(attributes, name, "edge"))
        self._weights.append(self._default)
        directed = attributes.get("directed")
        self._n_directed += self._directed if directed is None else directed == "true"

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)
            if len(self._text) > _LONGEST_NUMBER:  # pieces of text, of which a line break begins a new one
                raise self._fail("the text of a weight is too long. Write one number.")

    def _end(self, name: str) -> None:
        element = self._open.pop()
        if self._text is None or element not in ("data", "default"):
            return
        weight = self._number("".join(self._text))
        self._text = None
        if element == "default":
            self._default = weight
            self._has_default = True
        else:
            self._weights[-1] = weight
            self._n_given += 1
        self._has_weights = True

    def _number(self, text: str) -> float:
        try:
            weight = float(text)
        except ValueError:
            raise self._fail(f"the weight {text.strip()[:80]!r} is not a number") from None
        if not 0 <= weight < np.inf:
            raise self._fail(f"the weight {weight} must be a finite number of at least 0")
        return weight


def _like(ids: Any, names: list[str]) -> Any:
    """Return names as integers where the declared ids are."""
    strings = np.array(names, STRING)
    return strings if ids.dtype == STRING else strings.astype(np.int64)
