"use strict";
// Moves, recolours and names the dots of the map, and shows what is said of a bar at the pointer.
// Names of vertices and labels are data: they reach the page as text, by textContent and setAttribute alone.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const maps = document.querySelector(".maps");
  const panels = [...maps.querySelectorAll(".panel")];
  const said = document.getElementById("named");
  const tip = document.getElementById("tip");
  const find = document.getElementById("find");
  const moment = document.getElementById("moment");
  const play = document.getElementById("play");
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");
  const last = data.views[data.views.length - 1];
  const near = document.getElementById("near");
  const state = { show: "all", by: data.colorings[0], projection: 0, only: null, picked: -1, pinned: -1 };

  const rowsOf = data.names.map(() => []);
  data.place.forEach((vertex, row) => rowsOf[vertex].push(row));
  const mixed = panels.find((panel) => panel.dataset.by !== data.colorings[0]); // the last view by the other colouring

  // --- where rows stand, and which group they are of -------------------------------------------------------------

  function spots(panel) {
    const views = data.projections[state.projection].views;
    if (panel.dataset.view !== "watch") return views[panel.dataset.view];
    const from = views[data.views[0]], to = views[last];
    const share = moment.value / 100, eased = share * share * (3 - 2 * share);
    return from.map((start, i) => start + (to[i] - start) * eased);
  }

  const colouring = (panel) => (panel === mixed ? panel.dataset.by : state.by);

  function groupOf(row, by) {
    return by === "label" ? data.labels.group[data.place[row]] : data.part[row];
  }

  function shadeOf(group, by) {
    if (by === "label" && group >= data.labels.other) return group === data.labels.other ? "rest" : "none";
    return "g" + (group % data.colors);
  }

  // --- drawing ---------------------------------------------------------------------------------------------------

  function element(name, attributes) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  function draw(panel) {
    const at = spots(panel), by = colouring(panel), paths = new Map();
    data.place.forEach((_, row) => {
      const copy = data.copy[row], group = groupOf(row, by);
      const round = copy ? data.rounds : row % data.rounds;
      const key = round + " " + group;
      const dot = "M" + Math.round(at[2 * row]) + " " + Math.round(at[2 * row + 1]) + "h.01";
      const path = paths.get(key);
      if (path) path.d += dot;
      else paths.set(key, { round, group, copy, d: dot });
    });
    const ordered = [...paths.values()].sort((a, b) => a.round - b.round || a.group - b.group);
    const made = (path, kind) => element("path", { class: kind, "data-group": path.group, d: path.d });
    const dots = ordered.filter((path) => !path.copy).map((path) => made(path, "dot " + shadeOf(path.group, by)));
    const rings = ordered.filter((path) => path.copy).flatMap((path) => [made(path, "copy " + shadeOf(path.group, by)), made(path, "hole")]);
    panel.querySelector(".dots").replaceChildren(...dots);
    panel.querySelector(".links").setAttribute("d", anchorLines(at));
    panel.querySelector(".copies").replaceChildren(...rings);
    single(panel);
    mark(panel);
  }

  function anchorLines(at) {
    return rowsOf.filter((rows) => data.copy[rows[0]]).map((rows) => star(rows, at)).join("");
  }

  function star(rows, at) {
    const x = Math.round(rows.reduce((sum, row) => sum + at[2 * row], 0) / rows.length);
    const y = Math.round(rows.reduce((sum, row) => sum + at[2 * row + 1], 0) / rows.length);
    return rows.map((row) => `M${x} ${y}L${Math.round(at[2 * row])} ${Math.round(at[2 * row + 1])}`).join("");
  }

  // --- singling out a group, picking a vertex --------------------------------------------------------------------

  function single(panel) {
    const by = colouring(panel);
    for (const path of panel.querySelectorAll(".dots path, .copies path"))
      path.classList.toggle("dim", state.only !== null && state.only.by === by && +path.dataset.group !== state.only.group);
  }

  function mark(panel) {
    const layer = panel.querySelector(".picked");
    const at = spots(panel), made = [];
    if (state.pinned >= 0) {
      const from = rowsOf[state.pinned][0], ends = data.near[state.pinned].map((vertex) => rowsOf[vertex][0]);
      const lines = ends.map((row) => `M${at[2 * from]} ${at[2 * from + 1]}L${at[2 * row]} ${at[2 * row + 1]}`).join("");
      made.push(element("path", { class: "near", d: lines }), ...[from, ...ends].map((row) => ring(at, row)));
    }
    if (state.picked >= 0) {
      const rows = rowsOf[state.picked];
      if (rows.length > 1) made.push(element("path", { d: star(rows, at) }));
      made.push(...rows.map((row) => ring(at, row)));
    }
    layer.replaceChildren(...made);
  }

  const ring = (at, row) => element("circle", { cx: at[2 * row], cy: at[2 * row + 1], r: 13 });

  // Shows the nearest vertices of one that was clicked; each of them can be clicked in turn.
  function pin(vertex) {
    state.pinned = vertex === state.pinned ? -1 : vertex;
    for (const panel of panels) mark(panel);
    near.hidden = state.pinned < 0;
    if (state.pinned < 0) return;
    const title = document.createElement("b"), list = document.createElement("ol"), name = document.createElement("bdi");
    name.textContent = data.names[vertex];
    title.append("Nearest to ", name, ", of the vertices drawn");
    list.append(...data.near[vertex].map((other, i) => nearItem(other, data.cosines[vertex][i])));
    near.replaceChildren(title, list);
  }

  function nearItem(vertex, cosine) {
    const item = document.createElement("li"), button = document.createElement("button"), name = document.createElement("bdi");
    name.textContent = data.names[vertex];
    button.type = "button";
    button.append(name, ` ${cosine} % alike` + (data.labels && data.labels.texts[vertex] ? ", " : ""));
    if (data.labels && data.labels.texts[vertex]) {
      const label = document.createElement("bdi");
      label.textContent = data.labels.texts[vertex];
      button.append(label);
    }
    button.addEventListener("click", () => { pick(vertex); pin(vertex); });
    item.append(button);
    return item;
  }

  function facts(vertex) {
    const row = rowsOf[vertex][0];
    const lines = [data.names[vertex], data.copy[row] ? "anchor, in every subgraph" : "part " + data.part[row]];
    if (data.labels) lines.push(data.labels.texts[vertex] ? "label " + data.labels.texts[vertex] : "no label");
    return lines;
  }

  function pick(vertex) {
    state.picked = vertex;
    for (const panel of panels) mark(panel);
    if (vertex >= 0) said.textContent = "\u2068" + facts(vertex).join("\u2069 · \u2068") + "\u2069"; // isolates: a name keeps its direction to itself
  }

  function nearest(panel, event) {
    const box = panel.querySelector("svg").getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * data.side, y = ((event.clientY - box.top) / box.height) * data.side;
    const at = spots(panel);
    let best = -1, least = ((16 / box.width) * data.side) ** 2;
    for (let row = 0; row < data.place.length; row++) {
      const far = (at[2 * row] - x) ** 2 + (at[2 * row + 1] - y) ** 2;
      if (far < least) [best, least] = [row, far];
    }
    return best < 0 ? -1 : data.place[best];
  }

  function step(panel, by) {
    const at = spots(panel), x = (vertex) => at[2 * rowsOf[vertex][0]];
    const order = data.names.map((_, vertex) => vertex).sort((a, b) => x(a) - x(b) || a - b);
    const now = order.indexOf(state.picked);
    pick(order[now < 0 ? (by > 0 ? 0 : order.length - 1) : (now + by + order.length) % order.length]);
  }

  // --- the tip at the pointer ------------------------------------------------------------------------------------

  function tell(lines, event) {
    tip.replaceChildren(...lines.map((line) => {
      const paragraph = document.createElement("p");
      paragraph.dir = "auto";
      paragraph.textContent = line;
      return paragraph;
    }));
    tip.hidden = false;
    const width = tip.offsetWidth, height = tip.offsetHeight;
    const right = event.clientX + 16 + width < innerWidth, below = event.clientY + 16 + height < innerHeight;
    tip.style.left = Math.max(4, right ? event.clientX + 16 : event.clientX - width - 12) + "px";
    tip.style.top = Math.max(4, below ? event.clientY + 16 : event.clientY - height - 12) + "px";
  }

  const hush = () => { tip.hidden = true; };

  function takeTitles() {
    for (const title of document.querySelectorAll("main svg title")) {
      title.parentElement.dataset.tip = title.textContent;
      title.remove();
    }
    for (const cell of document.querySelectorAll("main td[title]")) {
      cell.dataset.tip = cell.title;
      cell.removeAttribute("title");
    }
    document.addEventListener("pointerover", (event) => {
      const told = event.target.closest("[data-tip]");
      if (told) tell([told.dataset.tip], event);
      else if (!event.target.closest(".panel svg")) hush();
    });
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") { hush(); pick(-1); pin(state.pinned); } });
  }

  // --- wiring ----------------------------------------------------------------------------------------------------

  function layout() {
    maps.dataset.show = state.show;
    for (const panel of panels) {
      const view = panel.dataset.view;
      const wanted = state.show === "all" ? view !== "watch" && !(panel === mixed && state.by === panel.dataset.by) : view === state.show && panel !== mixed;
      panel.hidden = !wanted;
      if (wanted) draw(panel);
    }
    for (const legend of document.querySelectorAll(".legend"))
      legend.hidden = !panels.some((panel) => !panel.hidden && colouring(panel) === legend.dataset.by);
    for (const note of document.querySelectorAll("[data-words]"))
      note.textContent = JSON.parse(note.dataset.words)[data.projections[state.projection].name];
    for (const title of document.querySelectorAll(".panel:not([data-view=watch]) figcaption b"))
      title.textContent = title.textContent.replace(/by (label|part)$/, "by " + colouring(title.closest(".panel")));
  }

  function wirePanel(panel) {
    const picture = panel.querySelector("svg");
    for (const kind of ["pointermove", "pointerdown"])
      picture.addEventListener(kind, (event) => {
        const vertex = nearest(panel, event);
        if (vertex !== state.picked) pick(vertex);
        if (vertex < 0) hush();
        else tell(facts(vertex), event);
      });
    picture.addEventListener("click", (event) => {
      const vertex = nearest(panel, event);
      if (vertex >= 0) pin(vertex);
    });
    picture.addEventListener("pointerleave", hush);
    picture.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && state.picked >= 0) return pin(state.picked);
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      step(panel, by);
    });
  }

  function wireLegend(button) {
    button.addEventListener("click", () => {
      const by = button.closest(".legend").dataset.by, group = +button.dataset.group;
      const again = state.only !== null && state.only.by === by && state.only.group === group;
      state.only = again ? null : { by, group };
      for (const other of document.querySelectorAll(".legend button"))
        other.setAttribute("aria-pressed", String(!again && other === button));
      for (const panel of panels) single(panel);
    });
  }

  function wireFind() {
    find.addEventListener("input", () => {
      const wanted = find.value.trim();
      if (!wanted) return pick(-1);
      let vertex = data.names.indexOf(wanted);
      if (vertex < 0) vertex = data.names.findIndex((name) => name.toLowerCase().startsWith(wanted.toLowerCase()));
      pick(vertex);
      if (vertex < 0) said.textContent = "No such name among the " + data.names.length + " vertices that are drawn.";
    });
  }

  function wireWatch() {
    const panel = panels.find((one) => one.dataset.view === "watch");
    moment.addEventListener("input", () => draw(panel));
    play.addEventListener("click", () => {
      const back = +moment.value >= 100, begun = performance.now();
      const frame = (now) => {
        const share = reduced.matches ? 1 : Math.min(1, (now - begun) / 2600);
        moment.value = 100 * (back ? 1 - share : share);
        draw(panel);
        if (share < 1) requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
    });
  }

  for (const control of document.querySelectorAll(".switch input"))
    control.addEventListener("change", () => {
      state[control.name] = control.name === "projection" ? +control.value : control.value;
      layout();
    });
  const links = document.getElementById("links");
  if (links) links.addEventListener("change", () => maps.classList.toggle("hide-links", !links.checked));
  panels.forEach(wirePanel);
  document.querySelectorAll(".legend button").forEach(wireLegend);
  wireFind();
  if (moment) wireWatch();
  takeTitles();
  layout();
  document.querySelector(".controls").hidden = false;
  document.documentElement.dataset.ready = "yes";
})();
