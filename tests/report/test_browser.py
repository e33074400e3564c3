"""The page in a real browser: it shows, its controls work, names stay names, nothing is complained of."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.report.conftest import HOSTILE, keep_run, named_graph

from parge.report.page import write_report

pytestmark = pytest.mark.browser

Visit = Callable[..., Any]

SECTIONS = ["glance", "map", "scores", "decomposition", "workers", "reconciling", "plan"]


def css(driver: Any, selector: str) -> Any:
    return driver.find_element("css selector", selector)


def choose(driver: Any, name: str, value: str) -> None:
    css(driver, f"input[name={name}][value={value}]").click()


def shown(driver: Any) -> list[str]:
    """Return the views of the panels that can be seen."""
    script = "return [...document.querySelectorAll('.panel')].filter(p => p.checkVisibility()).map(p => p.dataset.view)"
    return [str(view) for view in driver.execute_script(script)]


def dots(driver: Any, view: str, by: str = "label") -> dict[str, str]:
    """Return the paths of a panel's dots by class."""
    script = """
    const found = {};
    for (const path of document.querySelectorAll(arguments[0]))
      found[path.getAttribute("class")] = (found[path.getAttribute("class")] || "") + path.getAttribute("d");
    return found;"""
    found: dict[str, str] = driver.execute_script(script, f".panel[data-view={view}][data-by={by}] .dots path")
    return found


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_section_is_there_and_has_a_size(page: Path, visit: Visit, width: int, scheme: str) -> None:
    driver = visit(page, width=width, **{"prefers-color-scheme": scheme})
    boxes = {section.get_attribute("id"): section.rect for section in driver.find_elements("css selector", "section")}
    assert list(boxes) == SECTIONS
    assert all(box["height"] > 80 and box["width"] > width / 2 for box in boxes.values())
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    assert driver.execute_script("return document.documentElement.dataset.ready") == "yes"
    for figure in driver.find_elements("css selector", ".panel:not([hidden]) svg, table, svg.bar"):
        assert figure.rect["width"] > 20
        assert figure.rect["height"] > 10


def test_text_stands_out_from_its_ground_in_both_schemes(page: Path, visit: Visit) -> None:
    contrasts = []
    for scheme in ("light", "dark"):
        driver = visit(page, **{"prefers-color-scheme": scheme})
        colors = driver.execute_script(
            "const of = (q, p) => getComputedStyle(document.querySelector(q))[p].match(/[\\d.]+/g).slice(0, 3);"
            "const pairs = ['body color', 'body backgroundColor', '.lead color', '.card backgroundColor'];"
            "return pairs.map(pair => of(...pair.split(' ')).map(Number))"
        )
        light = [_luminance(color) for color in colors]
        contrasts.append((_contrast(light[0], light[1]), _contrast(light[2], light[3])))
        assert (light[0] < light[1]) == (scheme == "light")
    assert min(strong for strong, _ in contrasts) > 10
    assert min(soft for _, soft in contrasts) > 4.5


def _luminance(color: list[float]) -> float:
    linear = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in color]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def test_views_and_colours_switch(page: Path, visit: Visit) -> None:
    driver = visit(page)
    assert shown(driver) == ["before", "after", "after"]
    by_label = dots(driver, "before")
    assert dots(driver, "before") != dots(driver, "after")
    assert any("none" in name for name in by_label)
    choose(driver, "show", "before")
    assert shown(driver) == ["before"]
    choose(driver, "by", "part")
    by_part = dots(driver, "before")
    assert set(by_label) != set(by_part)
    assert css(driver, ".legend[data-by=part]").is_displayed()
    assert not css(driver, ".legend[data-by=label]").is_displayed()
    choose(driver, "show", "all")
    assert shown(driver) == ["before", "after"]
    choose(driver, "by", "label")
    assert shown(driver) == ["before", "after", "after"]
    assert dots(driver, "before") == by_label
    driver.find_element("id", "links").click()
    assert not css(driver, ".panel[data-view=before] .links").is_displayed()


def test_both_layouts_can_be_seen(page: Path, visit: Visit) -> None:
    driver = visit(page)
    neighbours, words = dots(driver, "after"), css(driver, ".panel[data-view=after] small").text
    choose(driver, "projection", "'1'")
    assert dots(driver, "after") != neighbours
    assert words.startswith("t-SNE")
    assert css(driver, ".panel[data-view=after] small").text.startswith("PCA")


def test_a_clicked_vertex_shows_its_nearest_neighbours(page: Path, visit: Visit) -> None:
    driver = visit(page)
    names = driver.execute_script("return JSON.parse(document.getElementById('data').textContent).names")
    nearest = driver.execute_script("return JSON.parse(document.getElementById('data').textContent).near")
    picture = css(driver, ".panel[data-view=after] svg")
    picture.send_keys("\ue014")
    vertex = names.index(
        driver.execute_script("return document.getElementById('named').textContent").split("\u2069")[0][1:]
    )
    picture.send_keys("\ue007")  # enter
    listed = [
        each.get_attribute("textContent") for each in driver.find_elements("css selector", "#near li bdi:first-child")
    ]
    assert listed == [names[other] for other in nearest[vertex]]
    assert css(driver, ".panel[data-view=after] .picked path.near").get_attribute("d").count("M") == len(listed)
    css(driver, "#near li button").click()
    assert names[nearest[vertex][0]] in css(driver, "#near b").get_attribute("textContent")
    css(driver, "body").send_keys("\ue00c")  # escape
    assert not css(driver, "#near").is_displayed()


def test_without_a_script_the_same_dots_are_drawn(page: Path, visit: Visit, driver: Any) -> None:
    drawn = {view: dots(visit(page), view) for view in ("before", "after")}
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        visit(page)
        evaluate = "document.documentElement.dataset.ready + ' ' + document.querySelector('.controls').hidden"
        found = driver.execute_cdp_cmd("Runtime.evaluate", {"expression": evaluate})
        assert found["result"]["value"] == "undefined true"
        assert {view: dots(driver, view) for view in ("before", "after")} == drawn
        assert shown(driver) == ["before", "after", "after"]
        assert css(driver, ".legend[data-by=label]").is_displayed()
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
        driver.get("about:blank")


def test_spaces_move_from_before_to_after(page: Path, visit: Visit) -> None:
    driver = visit(page, **{"prefers-reduced-motion": "reduce"})
    choose(driver, "show", "watch")
    assert shown(driver) == ["watch"]
    assert dots(driver, "watch") == dots(driver, "before")
    slide = driver.find_element("id", "moment")
    slide.send_keys("\ue014" * 50)  # the right arrow key
    halfway = dots(driver, "watch")
    assert halfway not in (dots(driver, "before"), dots(driver, "after"))
    driver.find_element("id", "play").click()
    deadline = time.monotonic() + 10
    while dots(driver, "watch") != dots(driver, "after") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert dots(driver, "watch") == dots(driver, "after")


def test_a_dot_is_named_at_the_pointer_in_every_panel(page: Path, visit: Visit) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    driver = visit(page)
    name, x, y = driver.execute_script(
        "const d = JSON.parse(document.getElementById('data').textContent), v = d.projections[0].views.before;"
        "const row = d.copy.indexOf(1); return [d.names[d.place[row]], v[2 * row], v[2 * row + 1]]"
    )
    picture = css(driver, ".panel[data-view=before] svg")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", picture)
    side = picture.rect["width"]
    ActionChains(driver).move_to_element_with_offset(
        picture, int((x / 1000 - 0.5) * side), int((y / 1000 - 0.5) * side)
    ).perform()
    tip = driver.find_element("id", "tip")
    assert tip.is_displayed()
    said = driver.execute_script("return [...document.querySelectorAll('#tip p')].map(p => p.textContent)")
    assert said[0] in driver.execute_script("return JSON.parse(document.getElementById('data').textContent).names")
    assert said[1].startswith(("part ", "anchor"))
    rings = driver.execute_script(
        "return [...document.querySelectorAll('.panel:not([hidden]) .picked')].map(g => g.childElementCount)"
    )
    assert min(rings) >= 1
    if said[0] == name:
        assert rings == [4, 4, 4]  # three copies of the anchor, and what joins them
    ActionChains(driver).send_keys("\ue00c").perform()  # escape
    assert not tip.is_displayed()


def test_numbers_of_the_cut_show_at_the_pointer(page: Path, visit: Visit) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    driver = visit(page)
    cell = css(driver, ".heat td.between")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", cell)
    ActionChains(driver).move_to_element(cell).perform()
    assert "lost between parts 0 and 1" in driver.find_element("id", "tip").text


def test_keys_reach_everything(page: Path, visit: Visit) -> None:
    driver = visit(page)
    css(driver, "input[name=show]").send_keys("\ue014")  # the right arrow key moves on to the next view
    assert shown(driver) == ["before"]
    picture = css(driver, ".panel[data-view=before] svg")
    said = [driver.find_element("id", "named").text]
    for _ in range(3):
        picture.send_keys("\ue014")
        said.append(driver.find_element("id", "named").text)
    assert len(set(said)) == 4
    reached = driver.execute_script(
        "return [...document.querySelectorAll('input, button, a[href], .panel svg')].filter(e => e.tabIndex < 0).length"
    )
    assert reached == 0


def test_a_part_can_be_singled_out(page: Path, visit: Visit) -> None:
    driver = visit(page)
    button = css(driver, ".legend[data-by=part] button[data-group='1']")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    bright = ".panel[data-by=part]:not([data-view=watch]) .dots path:not(.dim)"
    script = f"return [...document.querySelectorAll('{bright}')].map(p => p.dataset.group)"
    assert set(driver.execute_script(script)) == {"1"}
    button.click()
    assert set(driver.execute_script(script)) == {"0", "1", "2"}


@pytest.mark.parametrize("name", [name for name in HOSTILE if "\n" not in name])
def test_hostile_names_are_text(page: Path, visit: Visit, name: str) -> None:
    from selenium.common.exceptions import NoAlertPresentException

    driver = visit(page)
    field = driver.find_element("id", "find")
    driver.execute_script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))", field, name
    )
    said = driver.execute_script("return document.getElementById('named').textContent")
    assert name.strip() in said
    foreign = "img, iframe, object, embed, main script, [onerror], [onload], [onmouseover]"
    assert driver.find_elements("css selector", foreign) == []
    assert driver.execute_script("return document.scripts.length") == 2
    with pytest.raises(NoAlertPresentException):
        _ = driver.switch_to.alert.text


def test_names_reach_the_page_unchanged(page: Path, visit: Visit, graph: Any) -> None:
    driver = visit(page)
    names = driver.execute_script("return JSON.parse(document.getElementById('data').textContent).names")
    assert set(HOSTILE) <= set(names)
    assert set(names) <= set(graph.outside_ids.tolist())
    assert driver.title.startswith("<u>Graph</u>")
    assert css(driver, "h1").text == "<u>Graph</u>, embedded in 3 parts"
    legend = [button.text for button in driver.find_elements("css selector", ".legend[data-by=label] button")]
    assert "<b>red</b>" in legend


def test_an_unknown_name_is_said_to_be(page: Path, visit: Visit) -> None:
    driver = visit(page)
    driver.find_element("id", "find").send_keys("nobody")
    assert "No such name" in driver.find_element("id", "named").text


def test_it_prints(page: Path, visit: Visit) -> None:
    driver = visit(page, media="print")
    assert not css(driver, ".controls").is_displayed()
    assert css(driver, ".panel[data-view=before] svg").rect["width"] > 100
    printed = driver.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert len(printed) > 20_000


def test_the_rules_of_the_page_forbid_foreign_scripts(page: Path, visit: Visit, driver: Any) -> None:
    visit(page)
    driver.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.foreign = 1'; document.body.append(s)"
    )
    assert driver.execute_script("return window.foreign === undefined")
    assert any("Content Security Policy" in entry["message"] for entry in driver.get_log("browser"))


@pytest.mark.parametrize(
    "fields", [{"parts": 1}, {"parts": 2, "anchors": 0, "reconcile": "none"}], ids=["whole", "no anchor"]
)
def test_odd_runs_show_too(tmp_path: Path, visit: Visit, fields: dict[str, Any]) -> None:
    folder = keep_run(named_graph(60), tmp_path / "run", **fields)
    driver = visit(write_report(folder, tmp_path / "odd.html"))
    assert driver.execute_script("return document.documentElement.dataset.ready") == "yes"
    assert shown(driver)[-1] == ("vectors" if fields["parts"] == 1 else "after")
