"""Numbers are refused where they enter, in Python as on the command line, and long ones are shown short."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import parge
from parge.errors import InputError
from parge.estimate import Question
from parge.evaluate.bound import bounds
from parge.evaluate.classification import classify
from parge.evaluate.pip import pip
from parge.graph.generate import ring_of_cliques
from parge.graph.holdout import hold_out
from parge.memory import format_bytes, parse_bytes
from parge.numbers import MOST, check_number, check_whole, is_number, read_number, read_whole, shown
from parge.space.neighbors import neighbors
from parge.techniques.registry import techniques
from parge.techniques.resolve import resolve

GRAPH = ring_of_cliques(3, 4)
VECTORS = parge.Embedding(np.eye(12, 3), range(12))
LONG = "9" * 5000
NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("value", [0, 1, MOST, np.int8(3), np.uint64(2**62)])
def test_whole_numbers_in_their_range_are_taken(value: Any) -> None:
    assert check_whole("it", value) == int(value)
    assert read_whole("it", f" {int(value)} ") == int(value)


@pytest.mark.parametrize("text", ["1e6", "1E+6", "1_000_000", "1,000,000", "1000000.0", "+1000000", "0.1e7", " 1e6 "])
def test_whole_numbers_are_read_in_any_notation(text: str) -> None:
    assert read_whole("it", text) == 10**6


@pytest.mark.parametrize("value", [-1, MOST + 1, 10**5000, True, 1.0, NAN, "1", None, np.float64(2), [1]], ids=shown)
def test_what_is_no_whole_number_of_the_range_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match=r"^it .* 0.*; .+$") as refusal:
        check_whole("it", value)
    assert len(str(refusal.value)) < 200


NO_WHOLE = ["", "x", "-1", "1.5", "1e-3", "1,00", "e3", ".", "١", "0x10", "1__0", "nan", LONG, "9" * 30, "9e30"]


@pytest.mark.parametrize("text", [*NO_WHOLE, "9e" + "9" * 30], ids=shown)
def test_texts_that_are_no_whole_number_of_the_range_are_refused(text: str) -> None:
    with pytest.raises(InputError) as refusal:
        read_whole("it", text)
    assert len(str(refusal.value)) < 200
    assert (f"at most {MOST}" in str(refusal.value)) == (is_number(text) and text[0] == "9")


@pytest.mark.parametrize("value", [NAN, INF, -INF, 10**400, -0.1, 1.1, True, "0.5", None, np.float32("nan")], ids=shown)
def test_what_is_no_finite_number_of_the_range_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match="from 0 to 1; got"):
        check_number("it", value, 0, 1)
    with pytest.raises(InputError, match="from 0 to 1; got"):
        read_number("it", "0.5x" if value == "0.5" else shown(value), 0, 1)


def test_ends_of_a_range_may_be_left_out() -> None:
    assert check_number("it", Fraction(1, 2), 0, 1, above=True, below=True) == 0.5
    for end in (0, 1):
        with pytest.raises(InputError, match="between 0 and 1"):
            check_number("it", end, 0, 1, above=True, below=True)
    with pytest.raises(InputError, match="above 0;"):
        check_number("it", 0, 0, above=True)
    with pytest.raises(InputError, match=r"above 2 .* 5;"):
        check_number("it", 2, 2, 5, above=True)
    with pytest.raises(InputError, match="finite"):
        check_number("it", INF)


def test_sizes_are_shown_without_powers_of_ten() -> None:
    for size in [10**i * j + k for i in range(30) for j in (1, 9, 99, 9995, 99951, 999_499) for k in (-1, 0, 1)]:
        for given in (size, float(size)):
            words = format_bytes(given)
            assert "e" not in words.replace("over", "")
            number, unit = words.removeprefix("over ").replace(",", "").split()
            assert (float(size) >= 999.5e18) == (words == "over 1,000 EB")
            assert float(number) < 1000 or float(size) >= 999.5e18
            scale = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15, "EB": 1e18}[unit]
            assert float(size) >= 999.5e18 or abs(float(number) * scale - size) <= 0.0051 * size + 1
    assert parse_bytes("2EB") == 2 * 10**18


def test_long_values_are_shown_short() -> None:
    for value in (LONG, 10**5000, 10**4000, ["x" * 10_000], LONG.encode()):
        assert 10 < len(shown(value)) < 100


# Every way in, with a number that it must not take.
CASES: dict[str, Callable[[], Any]] = {
    "seed beyond 64 bits": lambda: parge.Plan(seed=2**70),
    "seed of 2**63": lambda: parge.Plan(seed=2**63),
    "seed of 5,000 digits": lambda: parge.Plan(seed=10**5000),
    "parts": lambda: parge.Plan(parts=10**30),
    "parts nan": lambda: parge.Plan(parts=NAN),  # type: ignore[arg-type]
    "workers": lambda: parge.Plan(workers=10**30),
    "capacities": lambda: parge.Plan(capacities=[10**30]),
    "memory text": lambda: parge.Plan(memory=["9" * 400]),
    "memory number": lambda: parge.Plan(memory=[10**400]),
    "memory nan": lambda: parge.Plan(memory=[NAN]),  # type: ignore[list-item]
    "memory infinite": lambda: parge.Plan(memory=[INF]),  # type: ignore[list-item]
    "coordinator's memory": lambda: parge.Plan(coordinator_memory="99999PB"),
    "coordinator's memory as number": lambda: parge.Plan(coordinator_memory=10**20),
    "coordinator's memory nan": lambda: parge.Plan(coordinator_memory=NAN),  # type: ignore[arg-type]
    "anchors": lambda: parge.Plan(parts=2, anchors=10**5000),
    "anchors nan": lambda: parge.Plan(parts=2, anchors=NAN),  # type: ignore[arg-type]
    "anchors share": lambda: parge.Plan(parts=2, anchors="1e400%"),
    "anchors text": lambda: parge.Plan(parts=2, anchors=LONG),
    "size": lambda: parse_bytes("99999PB"),
    "long size": lambda: parse_bytes(LONG),
    "walks nan": lambda: parge.DeepWalk(walks=NAN),  # type: ignore[arg-type]
    "walks": lambda: parge.DeepWalk(walks=10**40),
    "dim": lambda: parge.DeepWalk(dim=10**6),
    "threads": lambda: parge.LINE(threads=10**6),
    "learning rate": lambda: parge.DeepWalk(learning_rate=NAN),
    "learning rate too large for a float": lambda: parge.LINE(learning_rate=10**400),
    "p": lambda: parge.Node2Vec(p=INF),
    "beta": lambda: parge.HOPE(beta=INF, signal="katz"),
    "parameter of 5,000 digits": lambda: resolve("deepwalk", {"walks": LONG}),
    "no such parameter": lambda: resolve("deepwalk", {LONG: "1"}),
    "no such technique": lambda: resolve(LONG),
    "neighbors k": lambda: neighbors(VECTORS, 3, k=NAN),  # type: ignore[arg-type]
    "neighbors id": lambda: neighbors(VECTORS, 10**5000),
    "neighbors name": lambda: neighbors(VECTORS, LONG),
    "train ratio": lambda: classify(VECTORS, {0: ["a"], 1: ["b"]}, train_ratio=NAN),
    "repeats": lambda: classify(VECTORS, {0: ["a"], 1: ["b"]}, repeats=10**30),
    "share held out": lambda: hold_out(GRAPH, share=NAN),
    "seed of a split": lambda: hold_out(GRAPH, seed=-1),
    "seed of a split beyond 64 bits": lambda: hold_out(GRAPH, seed=2**70),
    "core": lambda: pip(VECTORS, VECTORS, core=10**5000),
    "alpha": lambda: bounds(GRAPH, VECTORS, alpha=NAN),
    "vertices of a question": lambda: Question(10**400, 10**9),
    "price of a question": lambda: Question(10**9, 10**9, price_gb=NAN),
}


@pytest.mark.parametrize("case", CASES)
def test_no_number_comes_in_unchecked(case: str) -> None:
    with pytest.raises(InputError) as refusal:
        CASES[case]()
    assert len(str(refusal.value)) < 500


@pytest.mark.parametrize("name", [name for name in techniques.names() if name != "graphsage"])
def test_no_setting_of_a_technique_comes_in_unchecked(name: str) -> None:
    built = resolve(name)
    numbers = {key: value for key, value in vars(built).items() if type(value) in (int, float)}
    assert "dim" in numbers
    for key, default in numbers.items():
        for value in (NAN, INF, -1, 10**400, 10**5000, LONG, "nan", True, *([10**40] if type(default) is int else [])):
            with pytest.raises(InputError):
                resolve(name, {key: value})
