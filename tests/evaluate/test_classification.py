"""Classification finds planted classes, agrees with liblinear, and meets labels by id."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from parge.embedding import Embedding
from parge.errors import InputError, UnknownIdError
from parge.evaluate import classify, curve
from parge.evaluate.classification import best, f1
from parge.evaluate.labels import Labels, read_labels
from parge.linalg import logistic


def planted(
    n: int = 300, n_classes: int = 4, noise: float = 0.3, seed: int = 0
) -> tuple[Embedding, dict[str, list[int]]]:
    """Return vectors at the sum of their classes' corners, and the classes: one or two a vertex."""
    rng = np.random.default_rng(seed)
    carried = [sorted(set(rng.integers(n_classes, size=rng.integers(1, 3)).tolist())) for _ in range(n)]
    corners = np.eye(n_classes, 6) * 3
    vectors = np.array([corners[some].sum(axis=0) for some in carried]) + noise * rng.standard_normal((n, 6))
    order = rng.permutation(n)
    ids = np.array([f"v{i}" for i in range(n)])
    return Embedding(vectors[order], ids[order]), {f"v{i}": some for i, some in enumerate(carried)}


def test_a_file_of_labels_may_have_a_header(tmp_path: Path) -> None:
    """Names over names: only the ids of the embedding say that the first line is none of them."""
    embedding, labels = planted()
    lines = [f"{vertex},class {some[0]}\n" for vertex, some in labels.items()]
    (tmp_path / "plain.csv").write_text("".join(lines))
    (tmp_path / "headed.csv").write_text("".join(["user,team\n", *lines]))
    plain, headed = (classify(embedding, tmp_path / name, repeats=2) for name in ("plain.csv", "headed.csv"))
    assert (headed.labelled, headed.classes) == (plain.labelled, plain.classes) == (300, 4)
    assert curve(embedding, tmp_path / "headed.csv", [0.5], repeats=2).points[0].labelled == 300


def test_labels_without_a_vector_come_with_what_to_do(tmp_path: Path) -> None:
    """A header is suspected only where the first line is among the unknown ones, and nobody said what it is."""
    embedding, labels = planted(n=20)
    lines = [f"{vertex},class {some[0]}\n" for vertex, some in labels.items()]
    (tmp_path / "headed.csv").write_text("".join(["user,team\n", *lines, "nobody,class 1\n"]))
    (tmp_path / "plain.csv").write_text("".join([*lines, "nobody,class 1\n"]))
    for name, asks in (("headed.csv", True), ("plain.csv", False)):
        with pytest.raises(UnknownIdError, match="'nobody'") as caught:
            classify(embedding, tmp_path / name, repeats=2)
        assert ("that of 'user', a header? Then give --header" in str(caught.value)) == asks
    with pytest.raises(UnknownIdError) as caught:
        classify(embedding, read_labels(tmp_path / "headed.csv", header=False), repeats=2)
    assert "a header?" not in str(caught.value)


@pytest.mark.parametrize("protocol", ["known-count", "threshold"])
@pytest.mark.parametrize("standardise", [False, True])
def test_planted_classes_are_found_by_id(protocol: str, standardise: bool) -> None:
    embedding, labels = planted()
    found = classify(embedding, labels, protocol=protocol, standardise=standardise)
    assert found.micro_f1.mean > 0.97
    assert found.macro_f1.mean > 0.97
    shuffled = Embedding(embedding.vectors, np.random.default_rng(1).permutation(embedding.ids))
    assert classify(shuffled, labels, protocol=protocol).micro_f1.mean < 0.7


def test_single_labels_are_classes_too() -> None:
    rng = np.random.default_rng(0)
    which = rng.integers(3, size=200)
    embedding = Embedding(np.eye(3)[which] + 0.2 * rng.standard_normal((200, 3)), np.arange(200))
    found = classify(embedding, dict(enumerate(which.tolist())), repeats=3)
    assert found.micro_f1.mean > 0.95


def test_scores_do_not_depend_on_jobs_and_follow_the_seed() -> None:
    embedding, labels = planted(noise=1.5)
    one = classify(embedding, labels, jobs=1)
    assert one == classify(embedding, labels, jobs=3)
    assert one != classify(embedding, labels, seed=1)
    assert one.micro_f1.sd > 0
    assert classify(embedding, labels, repeats=1).micro_f1.sd == 0


def test_more_training_helps() -> None:
    embedding, labels = planted(noise=2.0, n=600)
    few, many = (classify(embedding, labels, train_ratio=ratio).micro_f1.mean for ratio in (0.02, 0.8))
    assert few < many


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_the_regression_is_that_of_liblinear(scale: float) -> None:
    rng = np.random.default_rng(0)
    X = scale * rng.standard_normal((400, 12)) * np.linspace(0.1, 3, 12)
    Y = X @ rng.standard_normal((12, 5)) / scale + rng.standard_normal((400, 5)) > np.array([0, 0, 1, 4, -4])
    W = logistic.fit(np.hstack([X, np.ones((400, 1))]), Y)
    for c in range(5):
        model = LogisticRegression(solver="liblinear", C=1.0, tol=1e-10, max_iter=10_000).fit(X, Y[:, c])
        expected = np.append(model.coef_[0], model.intercept_)
        assert np.allclose(W[:, c], expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())


def test_the_regression_works_in_groups_of_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((50, 3)), rng.random((50, 7)) < 0.4
    whole = logistic.fit(X, Y)
    monkeypatch.setattr(logistic, "_ENTRIES_AT_ONCE", 100)
    assert np.allclose(logistic.fit(X, Y), whole, rtol=1e-4, atol=1e-6)
    assert logistic.fit(X, Y[:, :0]).shape == (3, 0)


def test_separable_classes_converge() -> None:
    X = np.concatenate([np.full((50, 1), -1e3), np.full((50, 1), 1e3)])
    W = logistic.fit(np.hstack([X, np.ones((100, 1))]), (X > 0))
    assert np.isfinite(W).all()
    assert W[0, 0] > 0


def test_f1_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    truth, predicted = rng.random((2, 80, 6)) < 0.3
    truth[:, 5] = predicted[:, 5] = False
    expected = [f1_score(truth, predicted, average=average, zero_division=0) for average in ("micro", "macro")]
    assert f1(truth, predicted) == pytest.approx(expected)


def test_known_count_predicts_as_many_labels_as_there_are() -> None:
    rng = np.random.default_rng(0)
    scores, counts = rng.standard_normal((50, 8)), rng.integers(0, 9, size=50)
    chosen = best(scores, counts)
    assert chosen.sum(axis=1).tolist() == counts.tolist()
    for row, taken in zip(scores, chosen, strict=True):
        assert not taken.any() or taken.all() or row[taken].min() > row[~taken].max()


def test_rare_classes_that_training_misses_are_no_error() -> None:
    embedding, labels = planted(n=60)
    labels["v0"] = [*labels["v0"], 99]
    everywhere = {vertex: [*some, 100] for vertex, some in labels.items()}
    found = classify(embedding, everywhere, train_ratio=0.3)
    assert 0.5 < found.micro_f1.mean <= 1
    assert classify(embedding, dict.fromkeys(labels, 1), repeats=2).micro_f1.mean == 1


def test_labelled_vertices_without_vectors_are_named() -> None:
    embedding, labels = planted()
    with pytest.raises(InputError, match="'stranger'"):
        classify(embedding, {**labels, "stranger": [0]})
    few = {key: labels[key] for key in list(labels)[:50]}
    assert classify(embedding, few, repeats=2).repeats == 2  # unlabelled vertices are left out


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"train_ratio": 0.0}, "between 0 and 1; got 0.0"),
        ({"train_ratio": 1.0}, "between 0 and 1"),
        ({"repeats": 0}, "repeats must be .* got 0"),
        ({"protocol": "magic"}, "known: known-count, threshold"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object], message: str) -> None:
    embedding, labels = planted()
    with pytest.raises(InputError, match=message):
        classify(embedding, labels, **settings)
    with pytest.raises(InputError, match=r"two|2"):
        classify(embedding, {"v0": [1]})


def test_json_is_that_of_the_contract() -> None:
    embedding, labels = planted()
    found = json.loads(json.dumps(classify(embedding, Labels.of(labels), train_ratio=0.3, repeats=3).to_json()))
    assert list(found) == ["micro_f1", "macro_f1", "protocol", "train_ratio", "repeats", "classes", "labelled"]
    assert list(found["micro_f1"]) == ["mean", "sd"]
    assert (found["protocol"], found["train_ratio"], found["repeats"]) == ("known-count", 0.3, 3)
    assert classify(embedding, labels, standardise=True, repeats=1).to_json()["standardised"] is True


@pytest.mark.parametrize(("n_labelled", "n_classes", "few"), [(4, 2, True), (10, 2, False), (15, 8, True)])
def test_few_labelled_vertices_are_told(n_labelled: int, n_classes: int, few: bool) -> None:
    vectors = Embedding(np.random.default_rng(0).normal(size=(n_labelled, 3)), np.arange(n_labelled))
    labels = {vertex: vertex % n_classes for vertex in range(n_labelled)}
    for found in (classify(vectors, labels, repeats=1), curve(vectors, labels, [0.5], repeats=1)):
        assert bool(found.notices) == few
        assert all(f"{n_classes} classes, {n_labelled} labelled" in notice for notice in found.notices)
