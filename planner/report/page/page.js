"use strict";
// Draws every chart in the colours the reader has chosen, again when the choice changes; a click on a cluster in the
// frontier shows its phases.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const given = JSON.parse(document.getElementById("given").textContent);
const views = {};
const zoom = document.getElementById("zoom");

async function draw() {
  for (const [name, specification] of Object.entries(given.figures)) {
    const place = document.getElementById("chart-" + name);
    if (views[name]) views[name].finalize();
    const options = { actions: false, renderer: "svg", config: look(place.clientWidth) };
    views[name] = (await vegaEmbed(place, zoomable(specification), options)).view;
    for (const select of place.querySelectorAll("select")) select.setAttribute("aria-label", "cluster shown");
  }
  if (views.frontier && views.phases) views.frontier.addSignalListener("picked", (_, picked) => show(picked.cluster));
  document.documentElement.dataset.drawn = "yes";
}

// The colours of the reader's choice; on a narrow page the keys of a chart stand below each other.
function look(width) {
  const config = given.config[dark.matches ? "dark" : "light"];
  return width < 500 ? { ...config, legend: { ...config.legend, columns: 1 } } : config;
}

// A chart follows the mouse only where the reader asked for it: a page that is scrolled must not zoom by chance.
function zoomable(specification) {
  if (zoom && zoom.checked) return specification;
  const params = (specification.params || []).filter((param) => param.name !== "zoom");
  return { ...specification, params };
}

function show(clusters) {
  if (!clusters || !clusters.length) return;
  views.phases.signal("cluster", clusters[0]).runAsync();
  document.getElementById("picked").textContent = "Phases of " + clusters[0] + " are shown below.";
}

dark.addEventListener("change", draw);
if (zoom) zoom.addEventListener("change", draw);
draw();
