"""The memory budget: where it comes from, and what is refused by it."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from parge.errors import InputError
from parge.memory import VARIABLE, budget, refuse_over_budget


def test_the_variable_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "3MB")
    assert budget().n_bytes == 3_000_000
    refuse_over_budget(3_000_000, "just so many bytes")
    with pytest.raises(InputError, match=r"g\.txt: .* 3\.00 MB .* budget is 3\.00 MB") as caught:
        refuse_over_budget(3_000_001, "g.txt")
    assert VARIABLE in str(caught.value)


def test_a_variable_that_is_no_size_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "much")
    with pytest.raises(InputError, match="much"):
        refuse_over_budget(10**9, "g.txt")


def test_sizes_of_any_length_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "3MB")
    with pytest.raises(InputError, match="over 1,000 EB"):
        refuse_over_budget(10**5000, "g.txt")


def test_it_is_less_than_what_is_free_and_small_sizes_always_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    import psutil

    monkeypatch.delenv(VARIABLE, raising=False)
    assert 0 < budget().n_bytes < psutil.virtual_memory().total
    refuse_over_budget(1000, "g.txt")
    with pytest.raises(InputError, match="budget"):
        refuse_over_budget(10**18, "g.txt")


@pytest.mark.skipif(sys.platform == "darwin", reason="the system does not tell the private memory of a process")
def test_limits_of_the_process_count() -> None:
    script = """
import sys
from pathlib import Path
from parge.memory import budget
from parge.memory import limit_memory
limit_memory(500_000_000)
print(budget().n_bytes)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 500_000_000
    script = "from parge.memory import budget; print(budget().n_bytes)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (600_000_000, 600_000_000)),
    )
    assert 0 < int(done.stdout) < 600_000_000


def test_every_refusal_of_a_size_names_the_budget_s_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from parge.cli.main import run

    monkeypatch.setenv(VARIABLE, "3MB")
    (tmp_path / "g.txt").write_text("1 2\n")
    lines = [
        ["generate", "--vertices", "1e6", "-o", str(tmp_path / "made.txt")],
        ["plan", str(tmp_path / "g.txt"), "--vertices", "1e6"],
    ]
    for line in lines:
        assert run(line) == 2
        assert f"set {VARIABLE}" in capsys.readouterr().err
