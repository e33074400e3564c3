"""Options that several commands share: which columns of a file of labels are read."""

from pathlib import Path
from typing import Any

import click

from parge.cli import show
from parge.cli.options import all_of, header_option
from parge.evaluate.labels import Labels, read_labels
from parge.typing import IdArray

label_options = all_of(
    [
        click.option(
            "--label-column",
            metavar="NAME[,NAME...]|all",
            help="Columns of labels, by name or number. all: every field except the vertex is a label.",
        ),
        click.option("--id-column", metavar="NAME", help="Column of vertices, by name or number."),
        header_option,
    ]
)
"""Which columns of LABELS are read."""


def take_labels(path: Path, options: dict[str, Any], known: IdArray | None = None) -> Labels:
    """Take the label options out of `options`, read the labels, and print what of them was not read."""
    chosen = {name: options.pop(name) for name in ("label_column", "id_column", "header")}
    labels = read_labels(path, known=known, **chosen)
    show.notices(labels.notices)
    return labels
