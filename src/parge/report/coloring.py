"""The colour of a vertex by its label: the most frequent labels have one each, the others share grey."""

from dataclasses import dataclass

import numpy as np

from parge.errors import InputError
from parge.evaluate.labels import Labels
from parge.ids import positions, show_ids
from parge.show.text import count
from parge.typing import IdArray, IntArray

# Eight colours that stay apart for every kind of colour vision, as dots and as squares.
N_COLORS = 16

_MOST_NAMED = 5  # labels of one vertex that are spelt out


@dataclass(frozen=True, eq=False)
class LabelColors:
    """The labels of sampled vertices as groups of one colour."""

    # (n_sampled,); by first label: 0..len(names)-1 for the most frequent ones, then one for all others, then one for
    # none.
    group: IntArray
    names: tuple[str, ...]  # the labels that have a colour of their own, most frequent first
    texts: tuple[str, ...]  # all labels of each vertex, as text

    @property
    def other(self) -> int:
        """The group of rarer labels."""
        return len(self.names)

    @property
    def unlabelled(self) -> int:
        """The group of vertices without a label."""
        return len(self.names) + 1


def color_labels(labels: Labels, ids: IdArray, vertices: IntArray) -> LabelColors:
    """Group sampled vertices by their first label; labels of unknown vertices are refused."""
    unknown = labels.ids[positions(ids, labels.ids) < 0]
    if unknown.size:
        raise InputError(
            f"the labels name {count(unknown.size, 'vertex')} not in the graph, {show_ids(unknown)}; "
            f"ids of the graph are, for example, {show_ids(ids)}. {labels.remedy(unknown)}"
        )
    carried = labels.indicator.sorted_indices()
    row = positions(labels.ids, ids[vertices])
    starts, ends = carried.indptr[row], np.where(row < 0, carried.indptr[row], carried.indptr[row + 1])
    classes = [carried.indices[start:end] for start, end in zip(starts, ends, strict=True)]
    first = np.array([found[0] if found.size else -1 for found in classes], np.int64)
    counts = np.bincount(first[first >= 0], minlength=labels.classes.size)
    ranked = [c for c in np.argsort(-counts, kind="stable")[:N_COLORS] if counts[c]]
    group = np.full(labels.classes.size + 1, len(ranked), np.int64)
    group[ranked] = np.arange(len(ranked))
    group[-1] = len(ranked) + 1  # where `first` is -1: no label
    return LabelColors(
        group=group[first],
        names=tuple(str(name) for name in labels.classes[ranked].tolist()),
        texts=tuple(_spelt(labels.classes[found].tolist()) for found in classes),
    )


def _spelt(names: list[object]) -> str:
    shown = ", ".join(str(name) for name in names[:_MOST_NAMED])
    return shown if len(names) <= _MOST_NAMED else f"{shown} and {len(names) - _MOST_NAMED} more"
