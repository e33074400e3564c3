"""What a decomposition holds, loses and will need: the answer of `parge plan`, and the start of `embed`'s."""

from dataclasses import dataclass

from parge.decompose.decomposition import Decomposition
from parge.landmarks.base import LandmarkTechnique
from parge.memory import Footprint
from parge.result import EdgeCounts, Part
from parge.techniques.base import Technique
from parge.values import Value


@dataclass(frozen=True)
class Summary(Value):
    """A decomposition in numbers: `edge_counts` says where the edges are, `lost_edges` the share of lost ones."""

    vertices: int
    edges: int
    dim: int
    technique: str
    anchors: int
    edge_counts: EdgeCounts
    lost_edges: float
    parts: tuple[Part, ...]
    warnings: tuple[str, ...]
    notices: tuple[str, ...]


def footprint_of(technique: Technique, decomposition: Decomposition) -> Footprint:
    """Return what a worker needs of memory at most, for subgraphs as these are."""
    around = decomposition.contexts
    if around is not None and isinstance(technique, LandmarkTechnique):
        return technique.landmark_footprint(around.n_landmarks)
    return technique.footprint_for(decomposition.graph)


def summarise(decomposition: Decomposition, technique: Technique, notices: tuple[str, ...] = ()) -> Summary:
    """Count what each subgraph holds and needs, and say what deserves a warning; `notices` come after its own."""
    graph, budgets, kept = decomposition.graph, decomposition.budgets, decomposition.kept
    projected = decomposition.projected(footprint_of(technique, decomposition))
    parts = tuple(
        Part(
            vertices=int(decomposition.held[i]),
            own=int(decomposition.owned[i]),
            halo=int(decomposition.halos[i]),
            lumps=int(decomposition.supervertices[i]),
            capacity=int(decomposition.capacities[i]),
            edges=int(decomposition.edges[i]),
            projected_bytes=int(projected[i]),
            kept_edges=float(kept[i]),
            budget_bytes=None if budgets is None else int(budgets[i]),
        )
        for i in range(decomposition.n_parts)
    )
    return Summary(
        vertices=graph.n_vertices,
        edges=graph.n_edges,
        dim=technique.dim,
        technique=technique.name,
        anchors=int(decomposition.anchors.size),
        edge_counts=decomposition.edge_counts,
        lost_edges=decomposition.lost_edges,
        parts=parts,
        warnings=tuple(_warnings(decomposition, technique)),
        notices=(*graph.notices, *decomposition.notices, *notices),
    )


def _warnings(decomposition: Decomposition, technique: Technique) -> list[str]:
    if decomposition.n_parts == 1:
        return []
    n_anchors, dim = decomposition.anchors.size, technique.dim
    found = []
    if technique.aligned or decomposition.contexts is not None:
        pass  # its spaces agree by construction: anchors only save edges
    elif n_anchors < dim:
        enough = dim <= decomposition.graph.n_vertices
        remedy = f"leave more slack in the capacities, ask for --anchors {dim} or more, or lower" if enough else "lower"
        found.append(
            f"{n_anchors:,} anchors are fewer than the {dim} dimensions, so the rotation between two spaces is not "
            f"determined; {remedy} --dim"
        )
    elif n_anchors < 2 * dim:
        found.append(
            f"{n_anchors:,} anchors fix the rotation between {dim}-dimensional spaces only just; "
            f"{2 * dim} or more are comfortable"
        )
    empty = int((decomposition.owned == 0).sum())
    if empty:
        found.append(f"{empty} of {decomposition.n_parts} subgraphs hold no vertex of their own")
    n_loose, n_vertices = decomposition.unanchored
    if n_loose and n_anchors:
        found.append(
            f"{n_loose:,} connected components ({n_vertices:,} vertices) hold no anchor; nothing ties their place in "
            "the common space to the rest"
        )
    if decomposition.lost_edges > 0.25:
        found.append(
            f"{decomposition.lost_edges:.0%} of the edges are lost: they join two parts, and neither holds them; "
            "more anchors, fewer parts or larger capacities keep more"
        )
    return found
