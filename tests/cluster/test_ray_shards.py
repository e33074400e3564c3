"""Shards as tasks of a Ray cluster give the bits of one process."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from tests.engine.ray_token import TOKEN

import parge
from parge.cluster.run import embed_sharded
from parge.cluster.source import Source, edge_files
from parge.graph.generate import planted

HAS_RAY = importlib.util.find_spec("ray") is not None


@pytest.mark.ray
@pytest.mark.skipif(not HAS_RAY, reason="Ray is absent: pip install 'parge[ray]'")
def test_shards_on_ray_give_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", TOKEN)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_worker_niceness", "0")
    import ray
    from ray.cluster_utils import Cluster

    edges = tmp_path / "edges.txt"
    frame = planted(300, 1800, seed=1).graph.to_frame()
    lines = zip(*(frame.column(i).to_pylist() for i in range(2)), strict=True)
    edges.write_text("".join(f"{u} {v}\n" for u, v in lines))
    source, found = Source(edge_files(edges)), {}
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 3, "memory": 4_000_000_000, "include_dashboard": False}
    )
    try:
        ray.init(address=cluster.address)
        for engine in ("serial", "ray"):
            plan = parge.Plan(technique=parge.DeepWalk(dim=8, walks=2), parts=2, engine=engine)
            place = tmp_path / engine
            place.mkdir()
            embed_sharded(source, plan, place / "out", run_dir=place / "run")
            found[engine] = parge.Embedding.load(place / "out")
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert found["ray"].ids.tolist() == found["serial"].ids.tolist()
    assert np.array_equal(found["ray"].vectors, found["serial"].vectors)
