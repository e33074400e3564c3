"""Spark in local mode, for real: edges through Arrow batches into a graph, vectors back into a DataFrame."""

import os
import shutil
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import parge
from parge.errors import InputError

pyspark = pytest.importorskip("pyspark", reason="Spark is not installed: pip install pyspark")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java, and there is none", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = sys.executable  # of the executors, which need pyarrow
    try:
        made = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.sql.execution.arrow.maxRecordsPerBatch", "40")
            .getOrCreate()
        )
    except Exception as error:  # noqa: BLE001  whatever this machine lacks
        pytest.skip(f"Spark does not start here: {error}")
    yield made
    made.stop()
    if before is None:
        del os.environ["PYSPARK_PYTHON"]
    else:
        os.environ["PYSPARK_PYTHON"] = before


def test_edges_come_in_and_vectors_go_back(session: Any) -> None:
    from parge.spark import frame_of, graph_of

    rows = [(i, (7 * i + 3) % 200, 0.5 + i % 3) for i in range(300)]
    frame = session.createDataFrame(rows, "follower long, followee long, strength double").repartition(3)
    graph = graph_of(frame, "follower", "followee", "strength")
    source, target, weights = zip(*rows, strict=True)
    expected = parge.Graph.from_edges(source, target, weights)
    assert np.array_equal(graph.to_scipy().toarray(), expected.to_scipy().toarray())
    plan = parge.Plan(technique=parge.SGC(dim=4), parts=2, anchors=8, engine="serial")
    embedding = parge.embed(graph, plan)
    back = frame_of(embedding, session).orderBy("id").collect()
    assert [row["id"] for row in back] == embedding.ids.tolist()
    assert np.allclose([row["vector"] for row in back], embedding.vectors)


def test_graph_frames_names_and_odd_frames(session: Any) -> None:
    from parge.spark import frame_of, graph_of

    edges = session.createDataFrame([("a", "b"), ("b", "c")], "src string, dst string")
    vertices = session.createDataFrame([("a",), ("b",), ("c",), ("alone",)], "id string")
    graph = graph_of(SimpleNamespace(edges=edges, vertices=vertices))
    assert graph.outside_ids.tolist() == ["a", "alone", "b", "c"]
    assert graph.n_edges == 2
    assert graph_of(edges.limit(0)).n_edges == 0
    back = frame_of(parge.Embedding(np.eye(3), ["a", "b", "c"]), session)
    assert back.where("id = 'b'").first()["vector"] == [0.0, 1.0, 0.0]
    with pytest.raises(InputError, match="Spark"):
        graph_of([("a", "b")])
    with pytest.raises(InputError, match="no value"):
        graph_of(session.createDataFrame([("a", None)], "src string, dst string"))
