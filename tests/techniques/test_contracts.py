"""Every registered technique keeps the contract, and none goes without."""

import pytest
from tests.techniques.contract import TechniqueContract

import parge
from parge.techniques.base import Technique
from parge.techniques.registry import techniques
from parge.techniques.resolve import resolve


class TestDeepWalk(TechniqueContract):
    def technique(self) -> Technique:
        return parge.DeepWalk(dim=64, walks=1, walk_length=10)

    def quick(self) -> Technique:
        return parge.DeepWalk(dim=16, walks=10, walk_length=20, learning_rate=0.1)


class TestNode2Vec(TechniqueContract):
    def technique(self) -> Technique:
        return parge.Node2Vec(dim=64, walks=1, walk_length=10, p=0.5, q=2.0)

    def quick(self) -> Technique:
        return parge.Node2Vec(dim=16, walks=10, walk_length=20, learning_rate=0.1, p=0.5, q=2.0)


class TestLINE(TechniqueContract):
    def technique(self) -> Technique:
        return parge.LINE(dim=64)

    def quick(self) -> Technique:
        return parge.LINE(dim=16)


class TestHOPE(TechniqueContract):
    def technique(self) -> Technique:
        return parge.HOPE(dim=64)

    def quick(self) -> Technique:
        return parge.HOPE(dim=16)


class TestSpectral(TechniqueContract):
    memory_scale = 0.3

    def technique(self) -> Technique:
        return parge.Spectral(dim=32)

    def quick(self) -> Technique:
        return parge.Spectral(dim=16)


class TestNetMF(TechniqueContract):
    memory_scale = 0.25  # its time is quadratic in the vertices

    def technique(self) -> Technique:
        return parge.NetMF(dim=64)

    def quick(self) -> Technique:
        return parge.NetMF(dim=16)


class TestProNE(TechniqueContract):
    def technique(self) -> Technique:
        return parge.ProNE(dim=64)

    def quick(self) -> Technique:
        return parge.ProNE(dim=16)


class TestSGC(TechniqueContract):
    def technique(self) -> Technique:
        return parge.SGC(dim=64)

    def quick(self) -> Technique:
        return parge.SGC(dim=64)


class TestClosedForm(TechniqueContract):
    memory_scale = 0.3

    def technique(self) -> Technique:
        return parge.ClosedForm(dim=64)

    def quick(self) -> Technique:
        return parge.ClosedForm(dim=16)


class TestWhitened(TechniqueContract):
    memory_scale = 0.3

    def technique(self) -> Technique:
        return parge.Whitened(dim=64)

    def quick(self) -> Technique:
        return parge.Whitened(dim=64)


class TestBlend(TechniqueContract):
    memory_scale = 0.3

    def technique(self) -> Technique:
        return parge.Blend(dim=64)

    def quick(self) -> Technique:
        return parge.Blend(dim=32)


class TestAuto(TechniqueContract):
    memory_scale = 0.3

    def technique(self) -> Technique:
        return resolve("auto", {"dim": 64})

    def quick(self) -> Technique:
        return resolve("auto", {"dim": 32})


CONTRACTS = {
    contract().technique().name
    for contract in (
        TestDeepWalk,
        TestNode2Vec,
        TestLINE,
        TestHOPE,
        TestSpectral,
        TestNetMF,
        TestProNE,
        TestSGC,
        TestClosedForm,
        TestWhitened,
        TestBlend,
        TestAuto,
    )
}


def test_no_technique_goes_without_a_contract() -> None:
    assert {*CONTRACTS, "graphsage"} == set(techniques.names())  # GraphSAGE's stands in test_graphsage.py


@pytest.mark.parametrize("name", sorted(CONTRACTS))
def test_a_technique_says_how_to_ask_for_it(name: str) -> None:
    text = " ".join((type(resolve(name, {})).__doc__ or "").split())
    assert f"--technique {name}``" in text
