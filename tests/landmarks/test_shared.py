"""Arrays that a technique of somebody else's prepares for all workers: declared, written, checked, received."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

import parge
from parge.errors import TechniqueError
from parge.events import Progress, silent
from parge.graph.generate import planted
from parge.graph.graph import Counted, Graph
from parge.graph.subgraph import Subgraph
from parge.landmarks.base import LandmarkTechnique
from parge.memory import Footprint
from parge.techniques.base import Technique, check_shared
from parge.testing import TechniqueContract
from parge.typing import FloatArray, IntArray, Shape

GRAPH = planted(300, 1500, communities=4, seed=3).graph


@dataclass(frozen=True)
class Distances(Technique):
    """The mean of the centroids of a vertex and its neighbours; centroids are drawn once, for all workers."""

    dim: int = 6
    bad: str = ""

    name: ClassVar[str] = "distances"
    aligned: ClassVar[bool] = True

    @property
    def shared_shapes(self) -> Mapping[str, Shape]:
        return {"centroids": ("k", self.dim), "weights": ("k",)}

    def prepare(self, graph: Graph, decomposition: Any) -> Mapping[str, NDArray[Any]]:
        assert decomposition.graph is graph
        rng = np.random.default_rng(7)
        found: dict[str, Any] = {"centroids": rng.random((5, self.dim)), "weights": np.arange(5)}
        if self.bad == "name":
            found["other"] = np.zeros(3)
        elif self.bad == "missing":
            del found["weights"]
        elif self.bad == "shape":
            found["weights"] = np.arange(4)
        elif self.bad == "columns":
            found["centroids"] = rng.random((5, self.dim + 1))
        elif self.bad == "nan":
            found["centroids"] = np.full((5, self.dim), np.nan)
        elif self.bad == "objects":
            found["centroids"] = np.full((5, self.dim), "a", object)
        return found

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        del rng
        progress(1.0)
        centroids: NDArray[Any] = subgraph.shared["centroids"]
        return (centroids[subgraph.vertices % len(centroids)]).astype(np.float32)

    def footprint(self) -> Footprint:
        return Footprint(300_000_000, 1000.0, 100.0)


@dataclass(frozen=True)
class Means(Distances, LandmarkTechnique):
    """A landmark technique: a vertex is where its landmark is."""

    name: ClassVar[str] = "means"
    aligned: ClassVar[bool] = False

    @property
    def shared_shapes(self) -> Mapping[str, Shape]:
        return {}

    def prepare(self, graph: Graph, decomposition: Any) -> Mapping[str, NDArray[Any]]:
        return {}

    @property
    def landmark_shapes(self) -> Mapping[str, Shape]:
        return {"places": ("landmarks", self.dim)}

    def landmark_count(self, graph: Counted) -> int:
        return graph.n_vertices // 4

    def embed_landmarks(self, graph: Graph, landmark: IntArray, n_landmarks: int) -> dict[str, NDArray[Any]]:
        counts = np.bincount(landmark, graph.degrees, minlength=n_landmarks)
        return {"places": np.cos(counts[:, None] * np.arange(1, self.dim + 1)).astype(np.float32)}

    def landmark_footprint(self, n_landmarks: int) -> Footprint:
        return Footprint(300_000_000 + 4 * n_landmarks * self.dim, 1000.0, 100.0)

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        del rng
        progress(1.0)
        if subgraph.context is None:
            return np.zeros((subgraph.n_vertices, self.dim), np.float32)
        found: FloatArray = subgraph.shared["places"][subgraph.context.landmark[: subgraph.n_embedded]]
        return found


@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_prepared_arrays_reach_every_worker(engine: str) -> None:
    found = parge.embed(GRAPH, parge.Plan(technique=Distances(), parts=3, anchors=10, engine=engine, refine="none"))
    expected = np.random.default_rng(7).random((5, 6))[np.arange(GRAPH.n_vertices) % 5]
    assert np.allclose(found.vectors, expected, rtol=1e-6)


@pytest.mark.parametrize("bad", ["name", "missing", "shape", "columns", "nan", "objects"])
def test_what_is_not_as_declared_is_refused_before_any_worker_starts(bad: str) -> None:
    with pytest.raises(TechniqueError, match="shared"):
        parge.embed(
            GRAPH, parge.Plan(technique=Distances(bad=bad), parts=2, anchors=10, engine="serial", refine="none")
        )


@pytest.mark.slow
def test_a_part_folder_carries_prepared_arrays_to_another_process(tmp_path: Path) -> None:
    """`parge embed-part --technique module:Class` on a folder that was copied elsewhere."""
    module = tmp_path / "code" / "their_technique.py"
    module.parent.mkdir()
    module.write_text(Path(__file__).read_text().split("GRAPH = ", maxsplit=1)[0] + _class_source())
    environment = {**os.environ, "PYTHONPATH": f"{module.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    graph = tmp_path / "g.txt"
    graph.write_text("".join(f"{u} {v}\n" for u in range(40) for v in range(u + 1, min(40, u + 4))))
    run = [sys.executable, "-m", "parge"]
    options = ["--technique", "their_technique:Distances", "--parts", "2", "--anchors", "6", "--refine", "none"]
    embed = [*run, "decompose", str(graph), "--run-dir", str(tmp_path / "run"), *options]
    subprocess.run(embed, env=environment, check=True, capture_output=True)
    for i in range(2):
        part = tmp_path / "run" / "parts" / f"{i:03}"
        embed = [*run, "embed-part", str(part), "--technique", "their_technique:Distances"]
        subprocess.run(embed, env=environment, check=True, capture_output=True)
    out = tmp_path / "v.npy"
    subprocess.run([*run, "reconcile", str(tmp_path / "run"), "-o", str(out)], env=environment, check=True)
    expected = np.random.default_rng(7).random((5, 6))[np.arange(40) % 5]
    assert np.allclose(np.load(out), expected, rtol=1e-6)


def _class_source() -> str:
    text = Path(__file__).read_text()
    return text[
        text.index("@dataclass(frozen=True)\nclass Distances") : text.index("@dataclass(frozen=True)\nclass Means")
    ]


def test_a_landmark_technique_of_somebody_elses_runs_around_a_backbone() -> None:
    found = parge.embed(
        GRAPH, parge.Plan(technique=Means(), parts=2, reconcile="backbone", engine="serial", refine="none")
    )
    assert found.vectors.shape == (GRAPH.n_vertices, 6)
    assert np.unique(found.vectors, axis=0).shape[0] > 10


def test_named_axes_are_equally_long() -> None:
    technique = Distances()
    check_shared(technique, {"centroids": np.zeros((4, 6)), "weights": np.zeros(4)}, None)
    with pytest.raises(TechniqueError, match="weights"):
        check_shared(technique, {"centroids": np.zeros((4, 6)), "weights": np.zeros(3)}, None)
    with pytest.raises(TechniqueError, match="places"):
        check_shared(Means(), {"places": np.zeros((4, 6), np.float32)}, 5)


class TestMeans(TechniqueContract):
    """The contract meets landmark subgraphs; what does not look at edges is not asked to tell communities apart."""

    tells_apart = 0.0
    memory_scale = 0.1

    def technique(self) -> Technique:
        return Means()

    def test_memory_stays_under_the_projection(self) -> None:
        """Left out: the technique is a few lines of numpy."""
