"""From names, paths and objects to techniques; from settings as text to values; to files and back."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parge.errors import InputError
from parge.graph.generate import ring_of_cliques
from parge.graph.subgraph import Subgraph
from parge.techniques.base import embed_checked
from parge.techniques.hope import HOPE
from parge.techniques.prone import ProNE
from parge.techniques.registry import techniques
from parge.techniques.resolve import Described, describe, resolve, restore
from parge.techniques.sgc import SGC

NAMES = [
    "auto",
    "blend",
    "closedform",
    "deepwalk",
    "graphsage",
    "hope",
    "line",
    "netmf",
    "node2vec",
    "prone",
    "sgc",
    "spectral",
]
NAMES += ["whitened"]

MODULE = """
from parge.techniques.sgc import SGC

def ones(csr, rng):
    import numpy
    return numpy.ones((csr.shape[0], 3))

def scaled(csr, rng, scale=1, dim: int = 2, *, loud: bool = False, how="plain", free=None):
    import numpy
    return numpy.full((csr.shape[0], dim), float(scale))

def open_ended(csr, **settings):
    import numpy
    return numpy.full((csr.shape[0], 2), float(settings["scale"]))

class Fits:
    def __init__(self, n_components=4, scale: float = 1.0):
        self.n_components, self.scale = n_components, scale
    def fit_transform(self, csr):
        import numpy
        return numpy.full((csr.shape[0], self.n_components), self.scale)

class Strict(Fits):
    def __init__(self, needed):
        super().__init__(needed)

made = Fits(6)
technique = SGC(dim=5)
number = 3
"""

SUBGRAPH = Subgraph.whole(ring_of_cliques(4, 5))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder that holds `mymodule`."""
    (tmp_path / "mymodule.py").write_text(MODULE)
    (tmp_path / "broken.py").write_text("import nowhere_to_be_found\n")
    (tmp_path / "unreadable.py").write_text("def f(:\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("mymodule", "broken", "unreadable"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def answer(technique: Any) -> Any:
    return embed_checked(technique, SUBGRAPH, np.random.default_rng(1))


def test_every_name_is_a_technique_of_that_name() -> None:
    assert techniques.names() == NAMES
    for name in NAMES:
        assert resolve(name).name == name


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"'deepwalks'.*, deepwalk, graphsage, hope.*deepwalk"):
        resolve("deepwalks")


def test_objects_classes_and_functions_are_taken_as_they_are() -> None:
    technique = HOPE(dim=8)
    assert resolve(technique) is technique
    assert resolve(HOPE) == HOPE()
    assert resolve(technique, {"half": "both"}) == HOPE(dim=8, half="both")
    assert resolve(HOPE, {"dim": "6"}) == HOPE(dim=6)
    assert answer(resolve(lambda csr, rng: np.ones((csr.shape[0], 2)))).shape == (20, 2)


def test_settings_are_read_by_their_types() -> None:
    text = {"dim": "16", "signal": "katz", "beta": "1e-3", "half": "target"}
    assert resolve("hope", text) == HOPE(dim=16, signal="katz", beta=0.001, half="target")
    assert resolve("hope", {"beta": "none"}) == HOPE()
    assert resolve("prone", {"mu": "1", "step": " 5 "}) == ProNE(mu=1.0, step=5)
    assert resolve("prone", {"mu": 1, "step": 5}) == ProNE(mu=1, step=5)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("sgc", {"hop": "2"}, "sgc has no setting 'hop'; it has dim, hops, seed"),
        ("sgc", {"dim": "many"}, "dim of sgc must be a whole number; got 'many'"),
        ("sgc", {"dim": "2.5"}, "dim of sgc must be a whole number; got '2.5'"),
        ("sgc", {"dim": 2.5}, "dim of sgc must be a whole number; got 2.5"),
        ("sgc", {"dim": True}, "dim of sgc must be a whole number; got True"),
        ("sgc", {"dim": "-1"}, "dim of sgc must be a whole number of at least 1; got -1"),
        ("hope", {"beta": "small", "signal": "katz"}, "beta of hope must be a number or none; got 'small'"),
        ("hope", {"half": "left"}, "half of hope must be one of source, target, both; got 'left'"),
        ("prone", {"mu": "nan"}, "mu of prone must be a number from 0 to 2; got nan"),
    ],
)
def test_wrong_settings_say_what_was_expected(name: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        resolve(name, settings)


@pytest.mark.usefixtures("here")
def test_paths_lead_to_functions_classes_objects_and_techniques() -> None:
    assert answer(resolve("mymodule:ones")).shape == (20, 3)
    assert resolve("mymodule:ones").name == "mymodule:ones"
    assert answer(resolve("mymodule:Fits")).shape == (20, 4)
    assert answer(resolve("mymodule:made")).shape == (20, 6)
    assert resolve("mymodule:technique") == SGC(dim=5)
    assert resolve("mymodule:SGC", {"hops": "4"}) == SGC(hops=4)
    assert resolve("parge.techniques.hope:HOPE") == HOPE()


@pytest.mark.usefixtures("here")
def test_settings_reach_functions_and_classes() -> None:
    assert (answer(resolve("mymodule:scaled", {"scale": "0.5", "dim": "7"})) == np.full((20, 7), 0.5)).all()
    assert (answer(resolve("mymodule:Fits", {"scale": "3", "dim": "5"})) == np.full((20, 5), 3)).all()
    assert answer(resolve("mymodule:Fits", {"n_components": "5"})).shape == (20, 5)
    assert answer(resolve("mymodule:Strict", {"needed": "2"})).shape == (20, 2)
    assert answer(resolve("mymodule:ones", {"dim": "3"})).shape == (20, 3)
    assert (answer(resolve("mymodule:open_ended", {"scale": "0.25"})) == 0.25).all()


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("path", "settings", "message"),
    [
        (
            "absent:f",
            {},
            "needs the module 'absent', which cannot be imported from .*: No module named 'absent'. Run .* PYTHONPATH",
        ),
        ("broken:f", {}, "needs the module 'broken', .* No module named 'nowhere_to_be_found'"),
        ("unreadable:f", {}, "needs the module 'unreadable', .* SyntaxError"),
        (":f", {}, "needs the module ''"),
        (
            "mymodule:absent",
            {},
            "'mymodule' has no 'absent'; it has Fits, Strict, made, ones, open_ended, scaled, technique.$",
        ),
        ("mymodule:scale", {}, r"'mymodule' has no 'scale'; .* Did you mean scaled\?"),
        ("mymodule:", {}, "'mymodule' has no ''"),
        ("mymodule:number", {}, "3, a int"),
        ("mymodule:ones", {"walks": "3"}, "mymodule:ones has no setting 'walks'; it has none"),
        ("mymodule:scaled", {"loud": "maybe"}, "loud of mymodule:scaled must be true or false; got 'maybe'"),
        ("mymodule:scaled", {"dim": "x"}, "dim of mymodule:scaled must be a whole number; got 'x'"),
        ("mymodule:made", {"scale": "3"}, "mymodule:made is an object .* no setting 'scale'. Name its class"),
        ("mymodule:Strict", {}, "mymodule:Strict cannot be created with its default settings: .*needed"),
    ],
)
def test_wrong_paths_say_what_was_found(path: str, settings: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        resolve(path, settings)


@pytest.mark.usefixtures("here")
def test_free_settings_are_guessed() -> None:
    for text, value in {"3": 3, "0.5": 0.5, "true": True, "none": None, "words": "words"}.items():
        assert resolve("mymodule:scaled", {"free": text}).target.keywords == {"free": value}


def through_json(described: Described | None) -> Described:
    assert described is not None
    return Described.from_json(json.loads(json.dumps(described.to_json())))


@pytest.mark.parametrize("name", NAMES)
def test_registered_techniques_survive_a_file(name: str) -> None:
    technique = resolve(name, {"dim": np.int64(24)})
    assert restore(through_json(describe(technique))) == technique


@pytest.mark.usefixtures("here")
def test_paths_survive_a_file_with_their_settings() -> None:
    technique = resolve("mymodule:scaled", {"scale": "2", "dim": "4"})
    again = restore(through_json(describe(technique)))
    assert np.array_equal(answer(again), answer(technique))
    assert describe(resolve("mymodule:made")) == Described("mymodule:made")


def test_live_objects_have_no_description() -> None:
    class Mine(SGC):
        """A technique that is registered nowhere."""

    assert describe(resolve(lambda csr, rng: csr)) is None
    assert describe(Mine()) is None


@pytest.mark.parametrize("described", [None, 3, {}, {"technique": "sgc"}, {"technique": 3, "settings": {}}, ["sgc"]])
def test_a_description_that_is_none_is_refused(described: Any) -> None:
    with pytest.raises(InputError, match=re.escape(repr(described))):
        Described.from_json(described)


def test_names_import_nothing_that_they_do_not_need() -> None:
    import subprocess

    script = (
        "import sys\nfrom parge.techniques.registry import techniques\nfrom parge.techniques.resolve import resolve\n"
        "techniques.names(); resolve('sgc'); resolve('hope')\nprint(*sorted({m.split('.')[0] for m in sys.modules}))"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "numba", "sklearn", "networkx"} & set(loaded)
