"use strict";
// Draws every chart in the colours the reader has chosen, again when the choice changes; a click on a cluster in the
// frontier shows its phases.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const given = JSON.parse(document.getElementById("given").textContent);
const views = {};
let marked = []; // the what-if's cluster, where it is another than the plan's: rows of the frontier's own columns
const zoom = document.getElementById("zoom");
let shown = ""; // the cluster whose phases the reader chose

// Draws what can be seen: in a folded part a chart has no width.
async function draw() {
  for (const name of Object.keys(given.figures)) {
    if (document.getElementById("chart-" + name).offsetParent) await drawOne(name);
    else delete views[name]; // drawn again when it can be seen
  }
  document.documentElement.dataset.drawn = "yes";
}

async function unfold(part) {
  fold();
  for (const place of part.querySelectorAll(".chart")) {
    const name = place.id.slice("chart-".length);
    if (place.offsetParent && !views[name]) await drawOne(name);
  }
}

async function drawOne(name) {
  const place = document.getElementById("chart-" + name), specification = given.figures[name];
  if (views[name]) views[name].finalize();
  const options = { actions: false, renderer: "svg", config: look(place.clientWidth) };
  views[name] = (await vegaEmbed(place, name === "frontier" ? frontier(specification) : specification, options)).view;
  for (const select of place.querySelectorAll("select")) select.setAttribute("aria-label", "cluster shown");
  if (name === "frontier") views.frontier.addSignalListener("picked", (_, picked) => show(picked.cluster));
  if (name === "phases") {
    if (shown) await views.phases.signal("cluster", shown).runAsync();
    views.phases.addSignalListener("cluster", (_, chosen) => { shown = chosen; });
  }
}

// The colours of the reader's choice; on a narrow page the keys of a chart stand below each other.
function look(width) {
  const config = given.config[dark.matches ? "dark" : "light"];
  return width < 500 ? { ...config, legend: { ...config.legend, columns: 1 } } : config;
}

// The frontier with the what-if's mark. It follows the mouse only where the reader asked for it: a page that is
// scrolled must not zoom by chance.
function frontier(specification) {
  const { x, y } = specification.layer[0].encoding;
  const mark = { type: "point", shape: "cross", size: 220, filled: true, opacity: 1, color: "#E69F00" };
  const tooltip = { field: "cluster", type: "nominal", title: "what if" };
  const marks = marked.length ? [{ data: { values: marked }, mark, encoding: { x, y, tooltip } }] : [];
  const layer = [...specification.layer, ...marks];
  const params = (specification.params || []).filter((param) => param.name !== "zoom" || zoom.checked);
  return { ...specification, params, layer };
}

// The frontier's unit of time is found by the recommended cluster, which both know.
function markOnFrontier(made, planned) {
  const rows = Object.values(given.figures.frontier.datasets).flat(), chosen = rows.find((row) => row.chosen);
  const unit = planned.time_s / chosen.time_s, before = JSON.stringify(marked);
  marked = made ? [{ cluster: made.cluster, time_s: made.time_s / unit, cost_usd_total: made.total_usd }] : [];
  if (JSON.stringify(marked) !== before) drawOne("frontier");
}

async function show(clusters) {
  if (!clusters || !clusters.length) return;
  document.getElementById("alternatives").open = true;
  if (!views.phases) await drawOne("phases");
  views.phases.signal("cluster", clusters[0]).runAsync();
  document.getElementById("picked").textContent = "Phases of " + clusters[0] + " are shown below.";
}

// Folds the tables that are wider than their place; how wide one is shows only while it is not folded.
function fold() {
  const places = [...document.querySelectorAll(".scroll")];
  for (const place of places) place.classList.remove("folded");
  const wide = places.filter((place) => place.scrollWidth > place.clientWidth);
  for (const place of wide) place.classList.add("folded");
}

fold();
window.addEventListener("resize", fold);
for (const part of document.querySelectorAll("details")) part.addEventListener("toggle", () => part.open && unfold(part));
dark.addEventListener("change", draw);
if (zoom) zoom.addEventListener("change", draw);
draw();
