"""Slow, obvious twins of the kernels in `labels.py`."""

from tests.kernels.naive import GOLDEN, MASK, mix, neighbours


def favourite(graph, v, times, label, avoid, salt, any_will_do):
    """Return the label that most edges lead to and how many, or (-1, 0)."""
    counts = {}
    for j, u in zip(range(graph.indptr[v], graph.indptr[v + 1]), neighbours(graph, v), strict=True):
        counts[label[u]] = counts.get(label[u], 0) + int(times[j])
    own = 0 if any_will_do else counts.get(label[v], 0)
    found = [
        (n, mix((name + GOLDEN & MASK) ^ salt), name) for name, n in counts.items() if name not in (label[v], avoid)
    ]
    best = max(found, default=(0, 0, -1))
    return (best[2], best[0]) if best[0] > own else (-1, 0)


def packs(group, weights, most):
    """Return the first member of each item's pack."""
    first = []
    for i in range(len(group)):
        started = first[-1] if first else -1
        fits = i > 0 and group[i] == group[i - 1] and sum(weights[started : i + 1]) <= most
        first.append(started if fits else i)
    return first


def text_hash(text):
    """Return FNV-1a of the bytes, mixed."""
    state = 0xCBF29CE484222325
    for byte in text.encode():
        state = (state ^ byte) * 0x100000001B3 & MASK
    return mix(state)
