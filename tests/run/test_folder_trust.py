"""Which code a part folder may have run: a technique by its name, or exactly what the person typed; nothing else."""

import json
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.run.test_hostile_folder import reseal

import parge
from parge.cli.main import run as command
from parge.errors import InputError
from parge.events import ignore
from parge.graph.generate import planted
from parge.run import trust
from parge.run.arrays import DamagedError
from parge.run.open_run import open_planned, open_run
from parge.run.pipeline import finish, write_subgraphs
from parge.run.worker import PartJob, embed_part

GRAPH = planted(120, 500, communities=3, seed=2).graph

# What many a person's own module looks like.
OWN = """
import numpy as np
from subprocess import Popen
from pathlib import Path


def embed(csr, rng, dim=4, scale: float = 1.0, note=None):
    Path("asked_for").write_text(repr((dim, scale, note)))
    return rng.random((csr.shape[0], int(dim))) * scale


def free(csr, rng, **settings):
    Path("hacked").write_text(repr(settings))
    return rng.random((csr.shape[0], 4))


class Model:
    n_components = 4

    class Inner:
        def __init__(self, n_components=4):
            self.n_components = n_components

        def fit_transform(self, csr):
            return csr.toarray()[:, : self.n_components]

    @staticmethod
    def embed(csr, rng):
        return csr.toarray()[:, :4]


model = Model()
"""


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run")
    plan = parge.Plan(technique=parge.Spectral(dim=4), parts=2, anchors=10, engine="serial", reconcile="consensus")
    with open_run(GRAPH, plan, run_dir=path, resume=False, listener=ignore) as run:
        write_subgraphs(run)
    return path


@pytest.fixture
def part(planned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A part folder of a stranger; one stands beside the run, where one's own module is."""
    shutil.copytree(planned, tmp_path / "run")
    (tmp_path / "mytech.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "mytech", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return Path("run/parts/000")


def name(part: Path, technique: Any, settings: Any = None) -> None:
    described = {"technique": technique, "settings": {} if settings is None else settings}
    reseal(part / "subgraph", lambda body: body["facts"].update(technique=described))


# A path into what a module has imported, with the stranger's own keyword arguments.
POPEN = {"args": "touch hacked", "shell": True}
ATTACKS: dict[str, tuple[str, dict[str, Any]]] = {
    "through an import": ("mytech:np.f2py.subprocess.Popen", POPEN),
    "through a class": ("mytech:Path.home", {}),
    "an imported name": ("mytech:Popen", POPEN),
    "an own function": ("mytech:embed", {}),
    "any keyword": ("mytech:free", {"anything": 1}),
    "a builtin": ("builtins:eval", {}),
    "dunder": ("mytech:embed.__globals__", {}),
}


@pytest.mark.parametrize("case", ATTACKS)
def test_nothing_that_a_folder_names_is_imported_without_being_typed(
    case: str, part: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name(part, *ATTACKS[case])
    assert command(["embed-part", str(part)]) == 2
    assert "mytech" not in sys.modules
    assert ATTACKS[case][0] in capsys.readouterr().err
    assert not Path("hacked").exists()
    assert not Path("asked_for").exists()


@pytest.mark.parametrize("case", ["through an import", "through a class", "an imported name", "any keyword", "dunder"])
def test_typing_it_opens_no_way_into_imports_or_free_keywords(
    case: str, part: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    technique, settings = ATTACKS[case]
    name(part, technique, settings)
    code = command(["embed-part", str(part), "--technique", technique])
    assert code == 2, capsys.readouterr().err
    assert not Path("hacked").exists()


@pytest.mark.parametrize("typed", ["mytech:Model.Inner", "mytech:Model.embed"])
def test_a_dotted_name_may_go_through_classes_of_the_module_itself(typed: str, part: Path) -> None:
    name(part, typed)
    assert command(["embed-part", str(part), "--technique", typed]) == 0


def test_the_refusal_prints_the_very_command_that_runs_it(part: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = Path("it's $(touch hacked) here")
    shutil.copytree(part, odd)
    name(odd, "mytech:embed", {"dim": 3, "note": "of a stranger"})
    assert command(["embed-part", str(odd)]) == 2
    said = capsys.readouterr().err
    assert "of a stranger" in said, "who decides sees what the code would be given"
    args = shlex.split(said.partition("parge embed-part")[2])
    assert command(["embed-part", *args]) == 0
    assert Path("asked_for").read_text() == repr((3, 1.0, "of a stranger"))


SETTINGS: dict[str, Any] = {
    "not declared": {"other": 1},
    "positional": {"csr": 1},
    "of another type": {"scale": "much"},
    "a list": {"note": [1]},
    "a dict": {"note": {"a": 1}},
    "a list of dim": {"dim": [4]},
    "no mapping": [["dim", 4]],
    "odd key": {"__class__": 1},
}


@pytest.mark.parametrize("case", SETTINGS)
def test_settings_of_a_folder_are_declared_ones_and_plain(case: str, part: Path) -> None:
    name(part, "mytech:embed", SETTINGS[case])
    with pytest.raises((InputError, DamagedError)):
        embed_part(PartJob(part, allow="mytech:embed"))
    assert not Path("asked_for").exists()


@pytest.mark.parametrize("settings", [{"dim": "4; touch x"}, {"dim": 4, "shell": True}, {"dim": [4]}, {"dim": True}])
def test_settings_of_a_technique_by_name_are_its_fields_with_their_types(settings: dict[str, Any], part: Path) -> None:
    name(part, "spectral", settings)
    with pytest.raises(InputError):
        embed_part(PartJob(part))


@pytest.mark.parametrize(
    "technique", [None, 1, ["sgc"], "", ":", "os:", ":system", "../x:y", "a b:c", "os\x1b:x", "x;y:z"]
)
def test_what_can_be_no_name_is_refused_without_advice(
    technique: Any, part: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name(part, technique)
    assert command(["embed-part", str(part)]) == 2
    said = capsys.readouterr().err
    assert "parge embed-part" not in said
    assert "\x1b" not in said


def test_another_technique_than_was_typed_is_refused(part: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["embed-part", str(part), "--technique", "mytech:embed"]) == 2
    assert "spectral" in capsys.readouterr().err
    assert command(["embed-part", str(part), "--technique", "spectral"]) == 0


@pytest.mark.parametrize("where", ["run", "run/parts/000", "run/parts/000/subgraph"])
def test_a_module_that_lies_in_the_run_is_not_imported_even_when_typed(
    where: str, part: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mytech.py").rename(tmp_path / where / "mytech.py")
    name(part, "mytech:embed")
    monkeypatch.chdir(tmp_path / where)
    assert command(["embed-part", str(tmp_path / part), "--technique", "mytech:embed"]) == 2
    assert "mytech" not in sys.modules
    said = capsys.readouterr().err
    assert "inside" in said or "parge did not write" in said


def test_a_run_of_ones_own_code_says_how_to_embed_its_parts(part: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parge.write(GRAPH, "g.txt")
    line = ["decompose", "g.txt", "--run-dir", "own run", "--parts", "2", "--technique", "mytech:embed", "--dim", "4"]
    assert command([*line, "--param", "note=x"]) == 0
    said = capsys.readouterr().out
    args = shlex.split(said.partition("Next: parge embed-part ")[2].partition("\n")[0])
    assert args == ["own run/parts/000", "--technique", "mytech:embed"]
    for i in range(2):
        assert command(["embed-part", f"own run/parts/{i:03d}", *args[1:]]) == 0
    assert command(["reconcile", "own run", "-o", "out.npy"]) == 0


FACTORISING = """
from dataclasses import dataclass
import numpy as np
import parge

@dataclass(frozen=True)
class Own(parge.HOPE):
    dim: int = 4

@dataclass(frozen=True)
class Mixed(parge.Blend):
    dim: int = 4
    rounds: int = 3
"""


@pytest.mark.parametrize(("name", "refine"), [("Own", "subspace"), ("Own", "scale"), ("Mixed", "blend")])
def test_reconcile_runs_the_pass_with_ones_own_technique_or_says_how(
    part: Path, capsys: pytest.CaptureFixture[str], name: str, refine: str
) -> None:
    """Without the code of the technique the vectors would not be those of `parge embed`."""
    Path(f"factorising_{refine}.py").write_text(FACTORISING)
    technique = f"factorising_{refine}:{name}"
    parge.write(GRAPH, "g.txt")
    line = ["embed", "g.txt", "-o", "one.npy", "--run-dir", "own", "--parts", "2", "--technique", technique]
    assert command([*line, "--refine", refine, "--reconcile", "consensus", "--engine", "serial"]) == 0
    capsys.readouterr()
    assert command(["reconcile", "own", "-o", "two.npy"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"parge reconcile own -o OUT --technique {technique}" in said
    assert not Path("two.npy").exists()
    assert command(["reconcile", "own", "-o", "two.npy", "--technique", "mytech:embed"]) == 2
    assert command(["reconcile", "own", "-o", "two.npy", "--technique", technique]) == 0
    assert np.array_equal(np.load("one.npy"), np.load("two.npy"))


def test_reconcile_of_a_live_object_says_that_its_pass_needs_it(part: Path) -> None:
    @dataclass(frozen=True)
    class Local(parge.HOPE):
        dim: int = 4

    plan = parge.Plan(technique=Local(), parts=2, refine="subspace", reconcile="consensus", engine="serial")
    parge.embed(GRAPH, plan, run_dir="live")
    with open_planned(Path("live")) as run, pytest.raises(InputError, match="resume=True"):
        finish(run, Path("out.npy"), ignore)


def test_reconcile_takes_names_from_registries_alone(part: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = part.parent.parent
    for i in range(2):
        assert command(["embed-part", str(run / f"parts/{i:03d}")]) == 0
    evil = Path("evil_here.py")
    evil.write_text("from pathlib import Path\nPath('hacked').touch()\n")
    kept = json.loads((run / "plan/manifest.json").read_text())
    for key in ("reconcile", "refine", "partitioner", "anchor_strategy", "preset", "engine", "address", "technique"):
        for value in ("evil_here:x", "evil_here", "parge.refine.base:Nothing", "subprocess:Popen"):
            (run / "plan/manifest.json").write_text(json.dumps(kept))
            reseal(run / "plan", lambda body, key=key, value=value: body["facts"]["settings"].update({key: value}))
            command(["reconcile", str(run), "-o", "out.npy"])
            assert "Traceback" not in capsys.readouterr().err
            assert "evil_here" not in sys.modules
    assert not Path("hacked").exists()


def test_a_folder_does_not_say_where_work_is_done(part: Path) -> None:
    from parge.run.folder import RunFolder
    from parge.run.metadata import run_id
    from parge.run.open_run import _plan_of

    run = part.parent.parent
    where = {"engine": "ray", "address": "attacker.example:6379", "workers": 9, "jobs": 9, "coordinator_memory": 1}

    def ask(body: dict[str, Any]) -> None:
        metadata = body["facts"]
        metadata["settings"].update(where)
        metadata["run"] = run_id(metadata["settings"], metadata["decomposition"])

    reseal(run / "plan", ask)
    plan = _plan_of(RunFolder(run).plan_metadata(), None, run).request
    assert (plan.engine, plan.address, plan.jobs, plan.coordinator_memory) == ("processes", None, None, None)


def test_only_identifiers_are_names() -> None:
    assert trust.is_path("a.b:C.d")
    assert not any(map(trust.is_path, ["a", "a:", ":a", "a:b:c", "a..b:c", "a:b.", "a-b:c", "a:b c", "a/b:c"]))
