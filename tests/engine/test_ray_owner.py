"""Ray finds clusters of this machine by a note that every user may write: that of another user is not followed."""

import os
from pathlib import Path

import pytest

from parge.engine import ray_cluster as ray
from parge.errors import InputError


@pytest.fixture
def note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    path = tmp_path / "ray" / "ray_current_cluster"
    path.parent.mkdir()
    path.write_text("192.0.2.1:6379")
    return path


def test_a_cluster_of_another_user_is_refused(note: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray._refuse_cluster_of_another()
    owner = os.getuid() or 12345
    if os.getuid() == 0:
        os.chown(note, owner, owner)
    else:
        monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    with pytest.raises(InputError, match=f"user {owner}"):
        ray._refuse_cluster_of_another()


def test_no_note_is_no_cluster(note: Path) -> None:
    note.unlink()
    ray._refuse_cluster_of_another()


def test_a_link_of_another_user_counts_as_theirs(note: Path, tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root gives files away")
    own = tmp_path / "own"
    note.rename(own)
    note.symlink_to(own)
    os.chown(note, 12345, 12345, follow_symlinks=False)
    with pytest.raises(InputError):
        ray._refuse_cluster_of_another()


def test_joining_without_an_address_looks_at_the_owner(note: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    asked = []

    def refuse() -> None:
        asked.append(True)
        raise InputError("of another user")

    monkeypatch.setattr(ray, "_refuse_cluster_of_another", refuse)
    with pytest.raises(InputError), ray.joined(None):
        pass
    assert asked
