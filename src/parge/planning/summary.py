"""What a decomposition holds, loses and needs: the output of `parge plan`, and the first part of `embed`'s."""

from dataclasses import dataclass

from parge.decompose.decomposition import Decomposition
from parge.landmarks.base import LandmarkTechnique
from parge.memory import Footprint
from parge.result import EdgeCounts, Part
from parge.techniques.base import Technique
from parge.values import Value


@dataclass(frozen=True)
class Summary(Value):
    """A decomposition in numbers: `edge_counts` says where the edges are, `lost_edges` is the share of lost ones."""

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
    """Return the upper bound on a worker's memory for these subgraphs."""
    around = decomposition.contexts
    if around is not None and isinstance(technique, LandmarkTechnique):
        return technique.landmark_footprint(around.n_landmarks)
    return technique.footprint_for(decomposition.graph)


def summarise(decomposition: Decomposition, technique: Technique, notices: tuple[str, ...] = ()) -> Summary:
    """Count what each subgraph holds and needs, and collect the warnings; `notices` come after its own notices."""
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
        remedy = f"Use larger capacities, --anchors {dim} or more, or a lower" if enough else "Use a lower"
        found.append(
            f"{n_anchors:,} anchors are fewer than the {dim} dimensions, so the rotation between two spaces is not "
            f"determined. {remedy} --dim."
        )
    elif n_anchors < 2 * dim:
        found.append(
            f"{n_anchors:,} anchors are few for {dim} dimensions: the rotation between two spaces is not stable. "
            f"Give at least {2 * dim} (--anchors {2 * dim})."
        )
    empty = int((decomposition.owned == 0).sum())
    if empty:
        found.append(f"{empty} of {decomposition.n_parts} subgraphs hold no own vertex. Use fewer parts.")
    n_loose, n_vertices = decomposition.unanchored
    if n_loose and n_anchors:
        found.append(
            f"{n_loose:,} connected components ({n_vertices:,} vertices) hold no anchor. Their position in the common "
            "space is arbitrary relative to the rest."
        )
    if decomposition.lost_edges > 0.25:
        found.append(
            f"{decomposition.lost_edges:.0%} of the edges are lost: they join two parts, and neither holds them. "
            "Use more anchors, fewer parts or larger capacities to keep more."
        )
    return found
