// The what-if part of the page: shows one of the plans that the page carries beside the plan itself.
"use strict";

const whatIf = JSON.parse(document.getElementById("what-if-given").textContent);
const controls = document.getElementById("what-if-controls");
const field = (name) => controls.elements.namedItem(name);
const say = (id, text) => { document.getElementById(id).textContent = text; };

function showRows(id, rows) {
  document.getElementById(id).hidden = !rows.length;
  const body = document.querySelector(`#${id} tbody`);
  body.replaceChildren();
  for (const texts of rows) {
    const row = body.insertRow();
    texts.forEach((text, at) => Object.assign(row.insertCell(), { textContent: text, className: at ? "number" : "" }));
  }
}

// The plan's own cluster if it is fast enough, else the cheapest on its frontier that is; undefined if none is.
function withinLimit(answer, seconds) {
  if (!answer || seconds === null || answer.time_s <= seconds) return answer ?? undefined;
  const fast = answer.frontier.filter((point) => point.time_s <= seconds);
  return fast.sort((a, b) => a.total_usd - b.total_usd)[0];
}

function percent(now, before) {
  const change = Math.round((now / before - 1) * 100);
  return before ? `${change > 0 ? "+" : ""}${change}%` : "";
}

function showChange() {
  if (!controls.checkValidity()) return;
  const limit = field("limit").value.trim(), before = whatIf.answers[0], plan = whatIf.answers[Number(field("change").value)];
  const after = withinLimit(plan, limit === "" ? null : Number(limit) * 60);
  say("what-if-answer", after ? `Rent ${after.cluster}: the sort takes ${after.time}, the whole bill is ${after.total}.` : "No cluster on this page does that.");
  say("what-if-change", !after || after === before ? "" :
    `Sort ${percent(after.time_s, before.time_s)}, bill ${percent(after.total_usd, before.total_usd)}.`);
  const rows = whatIf.rows.map(([key, label]) => [label, before[key], after?.[key] ?? "-"]);
  showRows("what-if-compared", after ? rows : []);
  showRows("what-if-bill", after?.bill ?? []);
  showRows("what-if-frontier", (plan?.frontier ?? []).map((point) => [point.cluster, point.time, point.total]));
  markOnFrontier(after && after !== before ? after : null, before);
}

controls.addEventListener("input", showChange);
controls.addEventListener("reset", () => setTimeout(showChange));
controls.addEventListener("submit", (event) => event.preventDefault());
showChange();
