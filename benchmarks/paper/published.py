"""What the paper prints: its tables, and the numbers of its figures that its text gives.

Tables 1-3 do not say how many parts were used and have no centralised row. Table 3 calls its rows D, DAB and DAS; by
their order and the text they are NoRecon, Recon-R and Recon-S. "SGN" is SGC (Wu et al., 2019).
"""

ROWS = ("NoRecon", "Recon-R", "Recon-S")
TECHNIQUES = ("deepwalk", "hope", "sgc")

# Vertices and edges as the paper's table of data sets has them. (Arxiv has 18,772 vertices: a slip of the paper.)
DATASETS = {
    "BlogCatalog": (10_312, 333_983),
    "Flickr": (80_513, 5_899_882),
    "Arxiv": (18_722, 198_110),
    "Youtube": (495_957, 1_936_748),
    "Wikipedia": (1_791_489, 28_511_807),
    "LiveJournal": (3_997_962, 34_681_189),
}

Table = dict[str, dict[str, tuple[float, ...]]]
"""Data set -> technique -> one number per row of ROWS."""

MICRO_F1: Table = {
    "BlogCatalog": {"deepwalk": (0.272, 0.272, 0.284), "hope": (0.238, 0.245, 0.242), "sgc": (0.231, 0.238, 0.246)},
    "Flickr": {"deepwalk": (0.365, 0.367, 0.384), "hope": (0.271, 0.290, 0.298), "sgc": (0.282, 0.281, 0.29)},
}

PIP_PER_VERTEX: Table = {
    "BlogCatalog": {"deepwalk": (1.55, 1.08, 1.102), "hope": (18.6, 10.57, 9.45), "sgc": (0.42, 0.38, 0.35)},
    "Flickr": {"deepwalk": (17.06, 10.31, 9.52), "hope": (157.42, 67.11, 38.21), "sgc": (3.12, 2.65, 2.77)},
}

LINK_ROC: Table = {
    "Arxiv": {"deepwalk": (0.843, 0.808, 0.878), "hope": (0.890, 0.887, 0.918), "sgc": (0.827, 0.815, 0.857)},
    "Youtube": {"deepwalk": (0.822, 0.749, 0.831), "hope": (0.813, 0.810, 0.843), "sgc": (0.622, 0.641, 0.662)},
}

LINK_AP: Table = {
    "Arxiv": {"deepwalk": (0.883, 0.856, 0.899), "hope": (0.926, 0.924, 0.94), "sgc": (0.877, 0.898, 0.901)},
    "Youtube": {"deepwalk": (0.845, 0.776, 0.842), "hope": (0.880, 0.876, 0.896), "sgc": (0.699, 0.706, 0.729)},
}

# Figure 3, in the text: DeepWalk on LiveJournal with eight workers; PBG without communication reached 5.1.
TIME_SPEEDUP = {"LiveJournal": {8: 6.9}}
PBG_TIME_SPEEDUP = {"LiveJournal": {8: 5.1}}


def value(table: Table, dataset: str, technique: str, method: str) -> float | None:
    """Return a number of the paper, or None where it has none.

    >>> value(MICRO_F1, "Flickr", "hope", "Recon-S")
    0.298
    """
    if method not in ROWS:
        return None
    numbers = table.get(dataset, {}).get(technique)
    return None if numbers is None else numbers[ROWS.index(method)]
