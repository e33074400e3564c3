"""Who is alike? Embed a small network of named people in two parts, and list the nearest of one of them.

Run it: ``python docs/examples/friends.py``.
"""

import parge

teams = {
    "red": ["ann", "bob", "cid", "dan", "eve", "fay", "gus", "hal"],
    "blue": ["ida", "jon", "kim", "leo", "mia", "ned", "oda", "pat"],
}
edges = [(a, b) for team in teams.values() for a in team for b in team if a < b]
edges += [("ann", "ida"), ("hal", "pat")]  # two friendships between the teams

embedding = parge.embed(edges, technique="hope", parts=2, dim=4, anchors=8, engine="serial", seed=1)
ids, cosines = embedding.neighbors("bob", k=5)
for name, cosine in zip(ids.tolist(), cosines.tolist(), strict=True):
    print(f"{name}: {cosine:.2f}")
assert set(ids.tolist()) <= set(teams["red"])
