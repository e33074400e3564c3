"""What docs/start/own-data.md says of its small graph is what its commands print."""

import re
from pathlib import Path

import parge
from parge.evaluate import classify

PAGE = Path(__file__).parents[2] / "docs/start/own-data.md"


def test_the_groups_of_friends_are_found(tmp_path: Path) -> None:
    files = re.findall(r"^printf '(.*)' > (\S+)$", PAGE.read_text(), flags=re.MULTILINE)
    for text, name in files:
        (tmp_path / name).write_text(text.replace("\\n", "\n"))
    assert [name for _, name in files] == ["friends.csv", "teams.csv"]
    embedding = parge.embed(str(tmp_path / "friends.csv"), technique="hope", dim=2, parts=1, progress=False)
    ids, cosines = embedding.neighbors("ann", 3)
    assert ids.tolist() == ["bob", "cid", "dan"]
    assert min(cosines[:2]) > 0.9
    assert cosines[2] < 0.5
    assert classify(embedding, tmp_path / "teams.csv", train_ratio=0.7).micro_f1.mean == 1
