"""Every public function of Python with numbers that it was not made for: a refusal of parge, or a sound result."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.examples import slow

import parge
from parge import evaluate
from parge.errors import PargeError
from parge.estimate import Question, estimate
from parge.evaluate import signal_of
from parge.graph import generate
from parge.graph.graph import Graph
from parge.techniques.base import Technique
from parge.techniques.registry import techniques

ODD: list[Any] = [
    float("nan"),
    float("inf"),
    -float("inf"),
    -1,
    0,
    2**63,
    10**400,
    1e308,
    -0.5,
    1e-320,
    True,
    "3",
    None,
]

GRAPH = generate.planted(40, 120, communities=3, seed=1).graph
VECTORS = parge.Embedding(np.random.default_rng(0).standard_normal((40, 3)), range(40))
LABELS = {v: [f"class {v % 3}"] for v in range(40)}
HELD = evaluate.hold_out(GRAPH, 0.3)
HELD_EDGES = parge.Graph.from_edges(*GRAPH.outside_ids[HELD.positives].T)
SPECTRUM = signal_of(GRAPH, "hope").spectrum(4)


_KEYWORDS = (
    "parts capacities memory anchors anchor_strategy partitioner reconcile refine preset engine address workers jobs "
    "seed coordinator_memory technique"
)


def _read(**given: Any) -> Graph:
    return parge.read(_read.path, **given)  # type: ignore[attr-defined]


def _embedded(**given: Any) -> Any:
    plan = {"technique": parge.SGC(dim=3), "engine": "serial", **given}
    return parge.embed(GRAPH, parge.Plan(**plan))


def _call(call: Callable[..., Any], technique: Any = None, **given: Any) -> Any:
    return call(GRAPH, **{"technique": technique or "sgc", "engine": "serial", "parts": 2, **given})


def _updated(**given: Any) -> Any:
    return parge.update(_call(parge.embed).space, **{"edges": [(900, 3), (900, 5)], **given}).space.vectors


def _from_pyg(**given: Any) -> Graph:
    return Graph.from_pyg(np.array([[0, 1], [1, 2]]), **given)


def _from_edges(**given: Any) -> Graph:
    return Graph.from_edges([0, 1], [1, 2], **given)


def _adapted(**given: Any) -> Any:
    def technique(csr: Any, rng: np.random.Generator) -> Any:
        return np.ones((csr.shape[0], 3))

    return parge.embed(GRAPH, parge.Plan(parge.adapt(technique, **given), engine="serial"))


def _estimate(**given: Any) -> Any:
    return estimate(Question(**{"vertices": 1000, "edges": 9000, **given}), parge.DeepWalk())


# What is called, what it is given otherwise, and which of its numbers are replaced.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any], str]] = {
    "planted": (
        generate.planted,
        {"n_vertices": 40, "n_edges": 90},
        "n_vertices n_edges communities mixing exponent labels_per_vertex seed",
    ),
    "tree": (generate.tree, {"n_vertices": 40}, "n_vertices branching extra_edges depth mixing noise seed"),
    "ring_of_cliques": (generate.ring_of_cliques, {"n_cliques": 3, "size": 4}, "n_cliques size"),
    "grid": (generate.grid, {"rows": 3, "columns": 4}, "rows columns"),
    "star": (generate.star, {}, "n_vertices"),
    "path": (generate.path, {}, "n_vertices"),
    "disconnected": (generate.disconnected, {"n_vertices": 40}, "n_vertices isolated seed"),
    "read": (_read, {}, "vertices coordinator_memory"),
    "from_edges": (_from_edges, {}, "vertices"),
    "from_pyg": (_from_pyg, {}, "num_nodes"),
    "embed": (
        _embedded,
        {},
        _KEYWORDS,
    ),
    "plan": (partial(_call, parge.plan), {}, f"{_KEYWORDS} dim hops"),
    "decompose": (partial(_call, parge.decompose), {}, f"{_KEYWORDS} dim hops"),
    "embed by keywords": (partial(_call, parge.embed), {}, f"{_KEYWORDS} dim hops progress"),
    "adapt": (_adapted, {"dim": 3}, "dim"),
    "neighbors": (parge.neighbors, {"embedding": VECTORS, "id": 3}, "id k block_rows"),
    "neighbors of many": (VECTORS.neighbors, {"of": [3, 4]}, "of k block_rows task"),
    "update": (_updated, {}, "threshold edges removed"),
    "item": (VECTORS.__getitem__, {}, "key"),
    "vector": (VECTORS.vector, {}, "id"),
    "rows": (VECTORS.rows, {}, "ids"),
    "pip": (evaluate.pip, {"a": VECTORS, "b": VECTORS}, "core seed block_rows"),
    "core_distances": (evaluate.core_distances, {"a": VECTORS, "b": VECTORS}, "core seed block_rows"),
    "classify": (
        evaluate.classify,
        {"embedding": VECTORS, "labels": LABELS, "repeats": 1},
        "train_ratio repeats protocol seed jobs",
    ),
    "curve": (
        evaluate.curve,
        {"embedding": VECTORS, "labels": LABELS, "ratios": [0.5], "repeats": 1},
        "ratios repeats seed jobs",
    ),
    "hold_out": (evaluate.hold_out, {"graph": GRAPH}, "share seed"),
    "score_links": (evaluate.score_links, {"vectors": VECTORS, **HELD._asdict()}, "hits_at recall_at seed"),
    "by_degree": (evaluate.by_degree, {"train": HELD.train, "positives": HELD.positives}, "seed"),
    "given_out": (evaluate.given_out, {"train": HELD.train, "held": HELD_EDGES}, "seed"),
    "bounds": (evaluate.bounds, {"graph": GRAPH, "embedding": VECTORS}, "alpha sizes anchors signal"),
    "theorem_1": (
        evaluate.theorem_1,
        {"values": SPECTRUM.values, "sizes": [25, 25], "n_vertices": 40, "dim": 3},
        "values sizes n_vertices dim alpha",
    ),
    "triangle_bound": (
        evaluate.triangle_bound,
        {"values": SPECTRUM.values, "vectors": VECTORS.vectors},
        "values alpha",
    ),
    "a_posteriori": (evaluate.a_posteriori, {"signal": signal_of(GRAPH, "hope"), "vectors": VECTORS.vectors}, "alpha"),
    "exact_recovery": (
        evaluate.exact_recovery,
        {"root": GRAPH.to_scipy(), "anchors": [1, 2, 3], "dim": 3},
        "anchors dim seed",
    ),
    "estimate": (_estimate, {}, " ".join(field.name for field in fields(Question))),
}


def _technique(cls: type[Technique]) -> Callable[..., Any]:
    def run(**given: Any) -> Any:
        return _embedded(technique=cls(**{"dim": 4, **given}), parts=2, anchors=8)

    return run


for _name in techniques.names():
    _cls = techniques.get(_name)
    if _cls.needs_extra is None:
        CALLS[f"technique {_name}"] = (_technique(_cls), {}, " ".join(field.name for field in fields(_cls)))

LISTS = {"capacities", "memory", "ratios", "sizes", "anchors", "values", "ids"}


@pytest.fixture(autouse=True)
def _graph_file(tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    path.write_text("0 1\n1 2\n")
    _read.path = path  # type: ignore[attr-defined]


def sound(value: Any) -> bool:
    """Return whether a result holds finite numbers only, however deep they stand."""
    if isinstance(value, Graph):
        return value.indices.size == 0 or int(value.indices.max()) < value.n_vertices
    if isinstance(value, parge.Embedding):
        return bool(np.isfinite(value.vectors).all())
    if isinstance(value, np.ndarray):
        return value.dtype.kind not in "fc" or bool(np.isfinite(value).all())
    if is_dataclass(value) and not isinstance(value, type):
        return all(sound(getattr(value, field.name)) for field in fields(value))
    if isinstance(value, Mapping | list | tuple):
        return all(sound(item) for item in (value.values() if isinstance(value, Mapping) else value))
    return not isinstance(value, float) or bool(np.isfinite(value))


# Whole runs, one for each value: `embed` and `plan` check the same numbers first.
LONG = ("update", "embed by keywords")


@pytest.mark.parametrize("name", [*(name for name in CALLS if name not in LONG), *slow(*LONG)])
def test_odd_numbers_are_refused_or_do_no_harm(name: str) -> None:
    function, given, replaced = CALLS[name]
    wrong = []
    for parameter in replaced.split():
        values = [*ODD, *([[odd] for odd in ODD] if parameter in LISTS else [])]
        for odd in values:
            try:
                result = function(**{**given, parameter: odd})
            except PargeError:
                continue
            except Exception as error:  # noqa: BLE001  that none gets out is what is tested
                wrong.append(f"{parameter}={str(odd)[:30]}: {type(error).__name__}: {error}")
            else:
                if not sound(result):
                    wrong.append(f"{parameter}={str(odd)[:30]}: not sound: {result}")
    assert not wrong, "\n".join(wrong)


def test_every_function_with_numbers_is_called() -> None:
    public = {name: getattr(evaluate, name) for name in evaluate.__all__}
    public |= {name: getattr(generate, name) for name in vars(generate) if name[0] != "_"}
    public |= {name: getattr(parge, name) for name in parge.__all__}
    for name, function in public.items():
        if not inspect.isfunction(function) or not str(function.__module__).startswith("parge."):
            continue
        if not function.__module__.startswith(("parge.evaluate", "parge.graph.generate")) and name not in parge.__all__:
            continue  # imported there, from rooms that are not public
        numbers = [
            parameter
            for parameter, declared in inspect.signature(function).parameters.items()
            if any(word in str(declared.annotation) for word in ("int", "float"))
            and not any(word in str(declared.annotation) for word in ("Any", "Callable"))
        ]
        if not numbers or name in {"check_size", "embed"}:
            continue
        assert name in CALLS, f"{name}({', '.join(numbers)}) is not called with odd numbers"
