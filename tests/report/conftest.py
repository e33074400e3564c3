"""Runs to report on, and a browser to look at the pages with."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parge
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.report.page import write_report
from parge.run.open_run import open_run
from parge.run.pipeline import embed_parts

TECHNIQUE = parge.DeepWalk(dim=8, walks=2, walk_length=10)

# Names that would do harm where a page takes data for markup, a script or a direction of writing.
HOSTILE = (
    "<script>window.hacked = 1; alert(1)</script>",
    "</script><img src=x onerror='window.hacked = 1'>",
    '"><svg onload="window.hacked = 1">',
    "' onmouseover='window.hacked = 1' x='",
    "<!-- <script>",
    "--><b>bold</b>",
    "]]></style></svg></main>",
    "&lt;i&gt;&amp;",
    "\u202eesrever\u2066",
    "javascript:window.hacked=1",
    "${window.hacked = 1}",
    "long " * 60,
)


def named_graph(n_vertices: int = 240, *, seed: int = 3) -> Graph:
    """Return a graph with communities, in which some vertices have hostile names."""
    plain = planted(n_vertices, 6 * n_vertices, communities=4, mixing=0.2, seed=seed).graph
    names = np.array([*HOSTILE, *(f"vertex {v}" for v in range(len(HOSTILE), n_vertices))])
    source = np.repeat(np.arange(n_vertices), plain.degrees)
    return Graph.from_edges(names[source], names[plain.indices], vertices=names)


def plan(**fields: Any) -> parge.Plan:
    given = {"technique": TECHNIQUE, "parts": 3, "reconcile": "consensus", "engine": "serial", "seed": 5}
    return parge.Plan(**{**given, **fields})


def keep_run(graph: Graph, folder: Path, **fields: Any) -> Path:
    """Embed every subgraph of a run and leave it in a folder."""
    with open_run(graph, plan(**fields), run_dir=folder, resume=False, listener=lambda _: None) as run:
        embed_parts(run, lambda _: None)
    return folder


@pytest.fixture(scope="session")
def graph() -> Graph:
    return named_graph()


@pytest.fixture(scope="session")
def labels(graph: Graph) -> dict[str, list[str]]:
    """Labels of most vertices, some with several, some hostile."""
    kinds = ["<b>red</b>", "</script><script>window.hacked=1</script>", "blue", "green"]
    found = {name: [kinds[i % 4]] for i, name in enumerate(graph.outside_ids.tolist()) if i % 7}
    first = next(iter(found))
    found[first] = [*kinds, "x1", "x2", "x3"]
    return found


@pytest.fixture(scope="session")
def kept(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of three parts."""
    return keep_run(graph, tmp_path_factory.mktemp("kept") / "run")


@pytest.fixture(scope="session")
def page(kept: Path, labels: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with everything on it."""
    scores = {
        "parts, <i>reconciled</i>": {"micro_f1": {"mean": 0.5, "sd": 0.01}},
        "whole": {"micro_f1": {"mean": 0.6, "sd": 0.02}},
    }
    return write_report(kept, tmp_path_factory.mktemp("page") / "report.html", labels, scores, title="<u>Graph</u>")


def find_browser() -> tuple[str, str]:
    """Return the paths of a Chromium and its driver, or skip."""
    pytest.importorskip("selenium", reason="selenium is not installed")
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = next(filter(None, map(shutil.which, ("chromedriver", "chromium.chromedriver"))), None)
    if browser is None or driver is None:
        pytest.skip("there is no chromium with its chromedriver here")
    return browser, driver


@pytest.fixture(scope="session")
def driver() -> Iterator[Any]:
    """A headless Chromium that loads nothing by itself."""
    binary, service = find_browser()
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = binary
    with tempfile.TemporaryDirectory(prefix="parge-browser-", ignore_cleanup_errors=True) as profile:
        switched_off = ("background-networking", "component-update", "sync", "quic", "gpu", "dev-shm-usage")
        flags = ["headless", "no-sandbox", "no-first-run", "window-size=1400,1000", f"user-data-dir={profile}"]
        for flag in [*flags, *(f"disable-{feature}" for feature in switched_off)]:
            options.add_argument(f"--{flag}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        found = webdriver.Chrome(options=options, service=Service(executable_path=service))
        yield found
        found.quit()


@pytest.fixture
def visit(driver: Any) -> Iterator[Callable[..., Any]]:
    """Return a function that opens a page; afterwards the page must not have complained or run anything foreign."""
    visited: list[Path] = []

    def visit_page(path: Path, *, width: int = 1400, **features: str) -> Any:
        driver.get_log("browser")
        media = {"media": features.pop("media", ""), "features": [{"name": k, "value": v} for k, v in features.items()]}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.get(path.as_uri())
        visited.append(path)
        return driver

    yield visit_page
    if visited:
        assert driver.get_log("browser") == []
        assert driver.execute_script("return window.hacked === undefined")
        assert driver.execute_script("return performance.getEntriesByType('resource').length") == 0
