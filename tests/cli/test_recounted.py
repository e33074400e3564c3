"""Every number that `evaluate`, `align` and `neighbors` print, recounted from the files by plain definitions.

No matrix here is clever: n x n products, loops over pairs, Newton's method with dense Hessians.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parge
from parge import evaluate
from parge.cli.main import run
from parge.embedding import Embedding
from parge.seeds import keyed_rng

N, DIM, SEED = 90, 5, 3


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A graph, its labels (one vertex has none, some have two), and two embeddings of it."""
    monkeypatch.chdir(tmp_path)
    line = ["generate", "--vertices", str(N), "--edges", "360", "--communities", "4", "--mixing", "0.2", "--seed", "5"]
    assert run([*line, "--labels-per-vertex", "1.3", "-o", "g.txt", "--labels", "all.txt"]) == 0
    lines = [text for text in Path("all.txt").read_text().splitlines() if not text.startswith("#")]
    Path("l.txt").write_text("\n".join(lines[1:]) + "\n")
    rng = np.random.default_rng(7)
    A = adjacency()
    values, vectors = np.linalg.eigh(A)
    best = np.argsort(-np.abs(values))[:DIM]
    Z = vectors[:, best] * np.abs(values[best]) ** 0.5
    order = rng.permutation(N)
    Embedding((Z + 0.1 * rng.standard_normal(Z.shape))[order].astype(np.float32), order).save("v.npz")
    # The other one lacks 10 vertices, has 7 of its own, and lies in another space.
    turn = np.linalg.qr(rng.standard_normal((DIM, DIM)))[0]
    ids = np.concatenate([rng.permutation(N)[10:], np.arange(1000, 1007)])
    rows = np.vstack([(Z @ turn)[ids[:-7]], rng.standard_normal((7, DIM))])
    Embedding((rows + 0.2 * rng.standard_normal(rows.shape)).astype(np.float32), ids).save("w.npz")
    return tmp_path


def adjacency() -> Any:
    A = np.zeros((N, N))
    for line in Path("g.txt").read_text().splitlines():
        if not line.startswith("#"):
            u, v = map(int, line.split())
            A[u, v] = A[v, u] = 1
    return A


def vectors(name: str) -> dict[int, Any]:
    loaded = np.load(name)
    return dict(zip(loaded["ids"].tolist(), loaded["vectors"].astype(np.float64), strict=True))


def printed(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[str, Any]:
    """Run a command in both ways; return its text and its JSON."""
    capsys.readouterr()
    assert run(words) == 0
    text = capsys.readouterr().out
    assert run([*words, "--json"]) == 0
    return text, json.loads(capsys.readouterr().out)


def numbers(text: str) -> list[float]:
    """Return all numbers of a text, thousands with commas included."""
    return [float(word.replace(",", "")) for word in re.findall(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?", text)]


def rows_in_order(name: str) -> Any:
    found = vectors(name)
    return np.array([found[v] for v in range(N)])


@pytest.mark.parametrize("core", [None, N, 20])
def test_pip(world: Path, core: int | None, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    shuffled = rng.permutation(N)
    Z1 = rows_in_order("v.npz")
    Z2 = (Z1 + 0.3 * rng.standard_normal(Z1.shape)).astype(np.float32).astype(np.float64)
    Embedding(Z2[shuffled].astype(np.float32), shuffled).save("x.npz")
    text, found = printed(
        ["evaluate", "pip", "v.npz", "x.npz", *([] if core is None else ["--core", str(core)])], capsys
    )
    ids = np.load("v.npz")["ids"]
    L = np.arange(N) if core is None else ids[np.sort(keyed_rng(0, "core").choice(N, core, replace=False))]
    off, size = Z1 @ Z1[L].T - Z2 @ Z2[L].T, Z2 @ Z2[L].T
    pip = np.sqrt((off**2).sum()) * np.sqrt(N / len(L))
    expected = [pip, pip / N, np.sqrt((off**2).sum() / (size**2).sum())]
    assert [found["pip"], found["per_vertex"], found["relative"]] == pytest.approx(expected, rel=1e-6)
    own = Z1 @ Z1[L].T
    squares = (own * size).sum() / (own**2).sum()
    scaled = np.linalg.norm(squares * own - size) / np.sqrt(N * len(L))
    left, right = (rows @ np.linalg.pinv(rows) for rows in (Z1, Z1[L]))
    mapped = np.linalg.norm(size - left @ size @ right) / np.sqrt(N * len(L))
    expected += [np.sqrt(squares), scaled, mapped]
    assert [*found.values()] == pytest.approx(expected, rel=1e-6)
    assert numbers("\n".join(text.splitlines()[:2])) == pytest.approx(expected, rel=1e-3)


def newton(X: Any, y: Any) -> Any:
    """Return w that minimises ``|w|^2 / 2 + sum log(1 + exp(-y w.x))``, y = 1 or -1, to the last digits."""
    w = np.zeros(X.shape[1])
    for _ in range(60):
        p = 1 / (1 + np.exp(np.clip(y * (X @ w), -500, 500)))
        gradient = w - X.T @ (y * p)
        w -= np.linalg.solve(np.eye(w.size) + (X * (p * (1 - p))[:, None]).T @ X, gradient)
    assert np.abs(gradient).max() < 1e-8
    return w


def labels_of(path: str) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for line in Path(path).read_text().splitlines():
        vertex, *some = line.split()
        found.setdefault(int(vertex), set()).update(some)
    return {vertex: some for vertex, some in found.items() if some}


def f1_of_shuffles(ratio: float, repeats: int, protocol: str, *, standardise: bool) -> Iterator[tuple[float, float]]:
    labels, Z = labels_of("l.txt"), vectors("v.npz")
    ids, classes = sorted(labels), sorted(set().union(*labels.values()))
    for repeat in range(repeats):
        order = keyed_rng(SEED, "classify", repeat).permutation(len(ids))
        n_train = min(max(1, int(ratio * len(ids))), len(ids) - 1)
        train, test = ([ids[i] for i in some] for some in (order[:n_train], order[n_train:]))
        X, T = (np.array([Z[v] for v in some]) for some in (train, test))
        if standardise:
            mean, sd = X.mean(axis=0), X.std(axis=0)
            X, T = (X - mean) / sd, (T - mean) / sd
        X, T = (np.c_[rows, np.ones(len(rows))] for rows in (X, T))
        scores = {c: T @ newton(X, np.array([1.0 if c in labels[v] else -1.0 for v in train])) for c in classes}
        hits, true, said = (dict.fromkeys(classes, 0) for _ in range(3))
        for place, v in enumerate(test):
            ranked = sorted(classes, key=lambda c: -scores[c][place])
            predicted = (
                {c for c in classes if scores[c][place] > 0}
                if protocol == "threshold"
                else set(ranked[: len(labels[v])])
            )
            for c in classes:
                hits[c] += c in predicted and c in labels[v]
                true[c] += c in labels[v]
                said[c] += c in predicted
        each = [2 * hits[c] / max(1, true[c] + said[c]) for c in classes]
        total = sum(true.values()) + sum(said.values())
        yield 2 * sum(hits.values()) / total, sum(each) / len(each)


@pytest.mark.parametrize(
    ("protocol", "standardise"), [("known-count", False), ("threshold", False), ("known-count", True)]
)
def test_classify(world: Path, protocol: str, standardise: bool, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["evaluate", "classify", "v.npz", "l.txt", "--protocol", protocol, "--seed", str(SEED), "--repeats", "4"]
    text, found = printed([*line, "--train-ratio", "0.4", *(["--standardise"] if standardise else [])], capsys)
    scores = np.array(list(f1_of_shuffles(0.4, 4, protocol, standardise=standardise)))
    mean, sd = scores.mean(axis=0), np.sqrt(((scores - scores.mean(axis=0)) ** 2).sum(axis=0) / 3)
    labels = labels_of("l.txt")
    n_classes, n_labelled = len(set().union(*labels.values())), len(labels)
    assert (n_classes, n_labelled) == (4, N - 1)
    # One prediction near the boundary may fall to the other side; each counts less than a hundredth.
    assert [found["micro_f1"]["mean"], found["macro_f1"]["mean"]] == pytest.approx(mean, abs=0.004)
    assert [found["micro_f1"]["sd"], found["macro_f1"]["sd"]] == pytest.approx(sd, abs=0.004)
    assert (found["classes"], found["labelled"]) == (n_classes, n_labelled)
    assert (found["train_ratio"], found["repeats"], found["protocol"]) == (0.4, 4, protocol)
    assert found.get("standardised", False) is standardise
    score, _meaning, advice = text.partition("F1 is 1 if")
    assert "Next: " in advice
    shown = numbers(re.sub("F1", "", score))
    assert shown[:4] == pytest.approx([mean[0], sd[0], mean[1], sd[1]], abs=0.0041)
    assert shown[4:] == [n_classes, n_labelled, 40, 4]
    assert ("standardised" in text) is standardise


def test_a_curve(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["evaluate", "classify", "v.npz", "l.txt", "--seed", str(SEED), "--repeats", "2", "--train-ratio", "0.3,0.7"]
    text, found = printed(line, capsys)
    lines = text.splitlines()
    for ratio, point, words in zip((0.3, 0.7), found["curve"], lines, strict=False):
        scores = np.array(list(f1_of_shuffles(ratio, 2, "known-count", standardise=False)))
        expected = [scores[:, 0].mean(), scores[:, 1].mean()]
        assert [point["micro_f1"]["mean"], point["macro_f1"]["mean"]] == pytest.approx(expected, abs=0.006)
        assert point["train_ratio"] == ratio
        percent, micro, _, macro, _ = numbers(re.sub("F1", "", words))
        assert percent == 100 * ratio
        assert [micro, macro] == pytest.approx(expected, abs=0.0061)
    assert numbers(lines[2]) == [4, N - 1, 2]


def auc(positive: Any, negative: Any) -> float:
    """Return the share of pairs in which the positive one is ahead; ties count half."""
    return float(np.mean([(p > n) + 0.5 * (p == n) for p in positive for n in negative]))


def average_precision(positive: Any, negative: Any) -> float:
    """Return the sum over thresholds of precision, times what recall gains there."""
    total, before = 0.0, 0.0
    for threshold in sorted({*positive, *negative}, reverse=True):
        hits, misses = sum(p >= threshold for p in positive), sum(n >= threshold for n in negative)
        recall = hits / len(positive)
        total += (recall - before) * hits / (hits + misses)
        before = recall
    return total


def test_links(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    how = ["--technique", "spectral", "--dim", "4", "--parts", "2", "--engine", "serial", "--seed", str(SEED)]
    text, found = printed(["evaluate", "links", "g.txt", "--holdout", "0.25", *how], capsys)
    graph = parge.read("g.txt", vertices=None)
    ids = graph.outside_ids
    A = adjacency()[np.ix_(ids, ids)]
    train, positives, negatives = evaluate.hold_out(graph, 0.25, SEED)
    n_edges = int(A.sum()) // 2
    assert len(positives) == len(negatives) == round(0.25 * n_edges)
    rest = A.copy()
    for u, v in positives:
        assert A[u, v] == 1
        rest[u, v] = rest[v, u] = 0
    for u, v in negatives:
        assert u != v
        assert A[u, v] == 0
    assert len({(u, v) for u, v in [*positives.tolist(), *negatives.tolist()]}) == 2 * len(positives)
    assert np.array_equal(train.to_scipy().toarray(), rest)
    plan = parge.Plan(technique=parge.Spectral(dim=4), parts=2, engine="serial", seed=SEED)
    Z = parge.embed(train, plan).vectors.astype(np.float64)
    degree = rest.sum(axis=1)
    scores = {
        "cosine": lambda u, v: Z[u] @ Z[v] / (np.linalg.norm(Z[u]) * np.linalg.norm(Z[v]) or 1),
        "dot": lambda u, v: Z[u] @ Z[v],
        "adamic_adar": lambda u, v: sum(1 / np.log(degree[w]) for w in range(len(A)) if rest[u, w] and rest[v, w]),
        "degree_product": lambda u, v: degree[u] * degree[v],
    }
    assert set(found) == {*found["degree_corrected"], "degree_corrected", "recall", "hits_at"}
    assert set(found["degree_corrected"]) == {*scores, "logistic", "head", "local_walk"}
    for pairs in (positives, negatives):
        assert evaluate.adamic_adar(train, pairs) == pytest.approx([scores["adamic_adar"](u, v) for u, v in pairs])
    for name, score in scores.items():
        # Sums of floating-point numbers differ in the last digits, which must not break ties.
        ahead, behind = ([round(float(score(u, v)), 9) for u, v in pairs] for pairs in (positives, negatives))
        expected = [auc(ahead, behind), average_precision(ahead, behind)]
        assert [found[name]["roc_auc"], found[name]["average_precision"]] == pytest.approx(expected, abs=2e-3), name
    # The regression has pairs of its own to learn from; on others it learns about the same.
    rng = np.random.default_rng(0)
    known = np.argwhere(np.triu(rest))
    tested = {(min(u, v), max(u, v)) for u, v in [*positives.tolist(), *negatives.tolist()]}
    free = [(u, v) for u, v in np.argwhere(np.triu(1 - A, 1)).tolist() if (u, v) not in tested]
    drawn = np.array([free[i] for i in rng.choice(len(free), len(known), replace=False)])
    X = np.vstack([Z[pairs[:, 0]] * Z[pairs[:, 1]] for pairs in (known, drawn)])
    mean, sd = X.mean(axis=0), X.std(axis=0)
    w = newton(np.c_[(X - mean) / sd, np.ones(len(X))], np.repeat([1.0, -1.0], [len(known), len(drawn)]))[:-1] / sd
    ahead, behind = ((Z[pairs[:, 0]] * Z[pairs[:, 1]] @ w).tolist() for pairs in (positives, negatives))
    assert found["logistic"]["roc_auc"] == pytest.approx(auc(ahead, behind), abs=0.05)
    assert found["logistic"]["average_precision"] == pytest.approx(average_precision(ahead, behind), abs=0.07)
    names = [*found["degree_corrected"]]
    for name, words in zip(names, text.split("ROC-AUC is ")[0].splitlines()[2:], strict=True):  # then what they mean
        assert words.startswith(name.replace("_", " "))
        both = [found[name], found["degree_corrected"][name]]
        expected = [score[key] for score in both for key in ("roc_auc", "average_precision", "hits")]
        assert numbers(words) == pytest.approx([*expected, found["recall"][name]], abs=5e-5)


@pytest.mark.parametrize(("signal", "alpha"), [("hope", 0.5), ("adjacency", 1.0), ("line", 1.0), ("hope", 0.3)])
def test_bound(world: Path, signal: str, alpha: float, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--signal", signal, "--alpha", str(alpha), "--embedding", "f.npz", "--parts", "3"]
    A = adjacency()
    degree = A.sum(axis=1)
    F = 0.8 * rows_in_order("v.npz")
    Embedding(F.astype(np.float32), range(N)).save("f.npz")
    F = np.load("f.npz")["vectors"].astype(np.float64)
    text, found = printed(["evaluate", "bound", "g.txt", "--vertices", str(N), *given], capsys)
    inverse = np.divide(1, degree, out=np.zeros(N), where=degree > 0)
    M = {"hope": A @ A, "adjacency": A, "line": inverse[:, None] * A * inverse / degree.sum()}[signal]
    U, values, _ = np.linalg.svd(M)
    E = U[:, :DIM] * values[:DIM] ** alpha
    # Singular vectors of values that are equal up to sign are no eigenvectors; E E^T is that of |M| all the same.
    eigen, Q = np.linalg.eigh(M)
    best = np.argsort(-np.abs(eigen))[:DIM]
    assert abs(eigen[np.argsort(-np.abs(eigen))[DIM]]) < 0.999 * abs(eigen[best[-1]])
    E = Q[:, best] * np.abs(eigen[best]) ** alpha
    pip = np.linalg.norm(E @ E.T - F @ F.T)
    powers = np.r_[values ** (2 * alpha), np.zeros(3 * N)]
    m = -(-N // 3)
    first = 4 * powers[:DIM].sum()
    second = np.sqrt(6) * sum((powers[i - 1] - powers[i]) * np.sqrt(i * (N - i)) for i in range(1, DIM + 1))
    third = 0.0
    for i in range(1, DIM + 1):
        third += (powers[i - 1] - powers[i - 1 + 2 * (N - m)]) ** 2 if i <= 2 * m - N else powers[i - 1] ** 2
    theorem = first + second + 3 * np.sqrt(third)
    triangle = np.linalg.norm(powers[:DIM]) + np.linalg.norm(F.T @ F)
    expected = {"pip": pip, "theorem_1": theorem, "triangle": triangle}
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-5)
    assert (found["signal"], found["alpha"], found["dim"], found["parts"]) == (signal, alpha, DIM, 3)
    assert found["exact_recovery"] is None  # nobody knows the anchors
    square = {"hope": 0.5, "adjacency": 1.0, "line": 1.0}[signal] == alpha
    assert (found["a_posteriori"] is not None) is square
    shown = numbers(text)
    times = [theorem, theorem / pip, triangle, triangle / pip]
    if square:
        S = A @ A if signal in ("hope", "adjacency") else M @ M
        basis = np.linalg.qr(F)[0]
        tail = np.linalg.norm(S - S @ basis @ basis.T)
        residual = np.linalg.norm(S - F @ F.T)
        parts = {
            "residual": residual,
            "tail": tail,
            "upper": residual + tail,
            "lower": np.sqrt(residual**2 - tail**2),
            "size": np.linalg.norm(S),
        }
        assert found["a_posteriori"] == pytest.approx(parts, rel=1e-4, abs=1e-6 * np.linalg.norm(S))
        assert parts["lower"] <= pip * (1 + 1e-6)
        assert pip <= parts["upper"] * (1 + 1e-6)
        times += [parts["upper"], parts["upper"] / pip, parts["lower"]]
    text_numbers = [alpha, DIM, 3, pip, 1, theorem, theorem / pip, triangle, triangle / pip, *times[4:]]
    assert shown == pytest.approx(text_numbers, rel=6e-3)


def procrustes(H: Any, T: Any) -> Any:
    U, _, V = np.linalg.svd(H.T @ T)
    return U @ V


def test_align(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, found = printed(["align", "v.npz", "w.npz", "-o", "out.npz", "--overwrite"], capsys)
    source, reference, aligned = vectors("v.npz"), vectors("w.npz"), vectors("out.npz")
    shared = [v for v in np.load("v.npz")["ids"].tolist() if v in reference]
    H, T = (np.array([some[v] for v in shared]) for some in (source, reference))
    turn = procrustes(H, T)
    size = np.sqrt(((H**2).sum() + (T**2).sum()) / 2)
    fold = keyed_rng(0, "anchor folds", len(shared)).permutation(len(shared)) % 5
    unseen = np.vstack([H[fold == i] @ procrustes(H[fold != i], T[fold != i]) - T[fold == i] for i in range(5)])
    counts = [len(shared), len(source) - len(shared), len(reference) - len(shared)]
    assert counts == [N - 10, 10, 7]
    residuals = [np.linalg.norm(off) / size for off in (H - T, H @ turn - T, unseen)]
    assert [found[name] for name in ("shared", "only_source", "only_reference")] == counts
    assert [found[name] for name in ("before", "after", "held_out")] == pytest.approx(residuals, rel=1e-5)
    smallest = np.sqrt(np.linalg.eigvalsh(H.T @ H)[0])
    assert found["smallest_singular_value"] == pytest.approx(smallest, rel=1e-5)
    assert found["dim"] == DIM
    assert numbers(text) == pytest.approx([*counts, *(100 * each for each in residuals), 0, 141], abs=0.051)
    assert aligned.keys() == source.keys()
    for v, row in source.items():
        assert aligned[v] == pytest.approx(row @ turn, abs=1e-5)


@pytest.mark.parametrize("k", [1, 7, 500])
def test_neighbors(world: Path, k: int, capsys: pytest.CaptureFixture[str]) -> None:
    text, found = printed(["neighbors", "v.npz", "12", "-k", str(k)], capsys)
    Z = vectors("v.npz")
    cosine = {v: Z[12] @ Z[v] / (np.linalg.norm(Z[12]) * np.linalg.norm(Z[v])) for v in Z if v != 12}
    expected = sorted(cosine, key=lambda v: -cosine[v])[:k]
    assert len(expected) == min(k, N - 1)
    assert found["vertex"] == 12
    assert [entry["vertex"] for entry in found["neighbors"]] == expected
    assert [entry["cosine"] for entry in found["neighbors"]] == pytest.approx([cosine[v] for v in expected], abs=1e-6)
    rows = [numbers(line) for line in text.splitlines() if numbers(line)]
    assert [int(row[0]) for row in rows] == expected
    assert [row[1] for row in rows] == pytest.approx([cosine[v] for v in expected], abs=5.1e-5)
