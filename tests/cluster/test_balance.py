"""Shards hold about as many arcs, a hub's shard little else, and in proportion to their room where that differs."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parge
from parge.cluster import run as sharded
from parge.cluster.balance import balanced, known_owners, shared_out
from parge.cluster.ingest import ingest
from parge.cluster.mesh import run_local
from parge.cluster.rows import Owners
from parge.cluster.source import Source, edge_files
from parge.errors import InfeasibleError
from parge.run.arrays import DamagedError


def sums(loads: list[int], room: list[int]) -> np.ndarray:
    """Return what each shard holds."""
    return np.bincount(shared_out(np.array(loads), room), loads, len(room)).astype(np.int64)


def test_light_loads_fill_all_shards_to_one_level() -> None:
    assert sums([1] * 900, [1, 1, 1]).tolist() == [300, 300, 300]
    assert sums([1] * 900, [1, 2, 6]).tolist() == [100, 200, 600]


def test_a_shard_with_more_than_its_share_gets_nothing_else() -> None:
    assert sorted(sums([1] * 200 + [500] + [1] * 200, [1] * 5).tolist()) == [100] * 4 + [500]
    assert sorted(sums([50] + [1] * 350, [1] * 4).tolist()) == [100] * 4


@given(st.lists(st.integers(1, 60), min_size=1, max_size=300), st.lists(st.integers(1, 9), min_size=1, max_size=7))
def test_everything_is_shared_out_and_nobody_is_far_above_the_level(loads: list[int], room: list[int]) -> None:
    found, total = sums(loads, room), sum(loads)
    assert found.sum() == total
    assert (found <= np.array(room) * total / sum(room) + max(loads)).all()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16])
@pytest.mark.parametrize("n_vertices", [1, 5, 4001])
def test_owners_are_the_same_on_all_shards_and_are_found_again(size: int, n_vertices: int) -> None:
    ends = np.random.default_rng(size).integers(0, n_vertices, 9000).astype(np.int32)
    ends[:4000] = n_vertices // 3  # a hub
    found = run_local(size, lambda mesh: balanced(mesh, n_vertices, [ends[mesh.rank :: size]]))
    again = run_local(size, lambda mesh: known_owners(mesh, found[0].held(mesh.rank), n_vertices))
    numbers = np.arange(n_vertices)
    for other in [*found, *again]:
        assert np.array_equal(other(numbers), found[0](numbers))


@pytest.mark.parametrize("names", [[[0, 1], [3]], [[0, 1, 2], [2, 3]], [[0, 1], [2, 3, 4]]])
def test_shards_that_lack_a_vertex_or_have_it_twice_are_refused(names: list[list[int]]) -> None:
    with pytest.raises(DamagedError):
        run_local(2, lambda mesh: known_owners(mesh, np.array(names[mesh.rank], np.int32), 4))


def held(folder: Path, size: int, room: list[int] | None = None, *, even: bool = False) -> list[int]:
    """Return how many arcs each shard holds after reading; a vertex counts as two."""
    source, owners = Source(edge_files(folder)), Owners.even(6000, size) if even else None
    found = run_local(size, lambda mesh: ingest(mesh, source, owners, room))
    return [int(shard.neighbours.size + 2 * shard.names.size) for shard, _ in found]


@pytest.mark.slow
def test_a_hub_does_not_add_to_what_its_shard_holds_besides(tmp_path: Path) -> None:
    rng, n = np.random.default_rng(4), 6000
    ring, hub = np.arange(n), np.arange(1, n // 2)
    source, target = np.concatenate([ring, ring, 0 * hub]), np.concatenate([(ring + 1) % n, (ring + 7) % n, hub])
    order = rng.permutation(source.size)
    pq.write_table(pa.table({"source": source[order], "target": target[order]}), tmp_path / "a.parquet")
    for size in (8, 24):
        before, after = held(tmp_path, size, even=True), held(tmp_path, size)
        share = sum(after) / size
        assert sum(before) == sum(after)
        assert max(before) > n // 2 + 0.4 * share
        assert max(after) < max(1.1 * share, n // 2 + 0.1 * share)
    small, large = held(tmp_path, 2, [1, 5])
    assert large == pytest.approx(5 * small, rel=0.1)


@pytest.mark.parametrize(("each", "is_hub"), [(10**6, True), (10**5, False)])
def test_a_hub_that_no_worker_can_hold_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, each: int, is_hub: bool
) -> None:
    """Vertex 0 of a star has 2,999 neighbours; at 0.1 MB an arc it would fit alone, but not beside what it is with."""
    star = {"source": np.zeros(2999, np.int64), "target": np.arange(1, 3000)}
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table(star), tmp_path / "in" / "a.parquet")
    monkeypatch.setattr(sharded, "split_bytes", lambda arcs, own, _parts: each * arcs + 10**9 * (own > 1))
    plan = parge.Plan(technique=parge.DeepWalk(dim=8), memory="600MB,600MB,600MB", engine="serial")
    with pytest.raises(InfeasibleError) as refused:
        sharded.embed_sharded(Source(edge_files(tmp_path / "in")), plan, tmp_path / "out", run_dir=tmp_path / "run")
    assert (": that alone needs 3.00 GB" in str(refused.value)) == is_hub
