// The what-if part of the page: reads the controls, chooses again, shows the answer beside the plan's.
"use strict";

const whatIf = JSON.parse(document.getElementById("what-if-given").textContent);
prepared(whatIf.formulas);
const controls = document.getElementById("what-if-controls");
const number = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });

function duration(seconds) {
  if (seconds < 60) return `${number.format(seconds)} s`;
  const whole = Math.round(seconds), hours = Math.floor(whole / 3600), minutes = Math.floor((whole % 3600) / 60);
  return hours ? `${hours} h ${minutes} min` : `${minutes} min ${whole % 60} s`;
}

function decimals(amount) {
  return amount > 0 && amount < 0.1 ? 4 : 2;
}

function usd(amount, places = decimals(amount)) {
  const digits = { minimumFractionDigits: places, maximumFractionDigits: places };
  return amount.toLocaleString("en-US", { style: "currency", currency: "USD", ...digits });
}

function field(name) {
  return controls.elements.namedItem(name);
}

// What the controls ask; null for a field that is not a number it allows.
function askedFor() {
  const optional = (name) => (field(name).value.trim() === "" ? null : Number(field(name).value));
  return {
    data: Number(field("data").value) * 1e12,
    deadline: optional("deadline") === null ? null : optional("deadline") * 60,
    discount: Number(field("discount").value) / 100,
    network: 2 ** Number(field("network").value),
    nodes: optional("nodes"),
    mapRatio: whatIf.formulas.request.map_ratio,
  };
}

function asPlanned() {
  const { request } = whatIf.formulas;
  return {
    data: request.data_bytes, deadline: request.deadline_s, discount: 0, network: 1, nodes: request.nodes,
    mapRatio: request.map_ratio,
  };
}

function fill(asked) {
  field("data").value = Number((asked.data / 1e12).toPrecision(6));
  field("deadline").value = asked.deadline === null ? "" : Number((asked.deadline / 60).toPrecision(6));
  field("discount").value = asked.discount * 100;
  field("network").value = Math.log2(asked.network);
  field("nodes").value = asked.nodes ?? "";
  fillSlider();
}

// The slider has the data on a logarithmic scale: a hundredth to a hundred times what was planned.
function fillSlider() {
  field("data-slider").value = Math.log10((Number(field("data").value) * 1e12) / whatIf.formulas.request.data_bytes);
}

function name(made) {
  return `${made.nodes} x ${made.row.type}`;
}

// The bill in cents, or hundredths of them, that add up: the largest item takes what rounding leaves over.
function billItems(made, asked) {
  const hourly = made.nodes * made.row.price * (1 - asked.discount);
  const steps = { job: made.expected, ...made.around }, groups = {};
  for (const [step, seconds] of Object.entries(steps)) {
    const group = Object.keys(whatIf.groups).find((key) => whatIf.groups[key].includes(step)) ?? step;
    groups[group] ??= { seconds: 0, usd: 0 };
    groups[group].seconds += seconds;
    groups[group].usd += (hourly * seconds) / 3600;
  }
  const timed = Object.values(groups).reduce((sum, item) => sum + item.usd, 0);
  groups["spare nodes, rounding"] = { seconds: 0, usd: made.total - made.charges - timed };
  if (made.charges) groups["requests and traffic"] = { seconds: 0, usd: made.charges };
  return inCents(groups, made.total);
}

function inCents(groups, total) {
  const perUsd = 10 ** decimals(total);
  const items = Object.entries(groups).map(([name, item]) => ({ name, seconds: item.seconds, parts: Math.round(item.usd * perUsd) }));
  const largest = items.reduce((most, item) => (item.parts > most.parts ? item : most), items[0]);
  largest.parts += Math.round(total * perUsd) - items.reduce((sum, item) => sum + item.parts, 0);
  return items.map((item) => ({ ...item, usd: item.parts / perUsd }));
}

function cell(row, text, numeric) {
  const made = row.insertCell();
  made.textContent = text;
  if (numeric) made.className = "number";
}

function showRows(id, rows) {
  const body = document.querySelector(`#${id} tbody`);
  body.replaceChildren();
  for (const [first, ...rest] of rows) {
    const row = body.insertRow();
    cell(row, first, false);
    for (const text of rest) cell(row, text, true);
  }
}

function showOnFrontier(best) {
  const made = best && { cluster: name(best), time_s: best.expected, total_usd: best.total };
  const other = made && (made.cluster !== whatIf.best.cluster || Math.abs(made.total_usd / whatIf.best.total_usd - 1) > 1e-3);
  markOnFrontier(other ? made : null, whatIf.best);
}

function percent(now, before) {
  const change = Math.round((now / before - 1) * 100);
  return `${change > 0 ? "+" : ""}${change}%`;
}

function changeText(made) {
  const was = `${whatIf.best.cluster}, ${duration(whatIf.best.time_s)}, ${usd(whatIf.best.total_usd)}`;
  const changes = `time ${percent(made.expected, whatIf.best.time_s)}, bill ${percent(made.total, whatIf.best.total_usd)}`;
  return `As planned: ${was}. Change: ${changes}.`;
}

function showAnswer(chosen, asked) {
  const best = chosen[0], say = (id, text) => { document.getElementById(id).textContent = text; };
  document.getElementById("what-if-tables").hidden = !best;
  if (!best) {
    say("what-if-answer", "None of these types does that: no size of any meets the deadline and holds the data.");
    say("what-if-change", "");
    return;
  }
  say("what-if-answer", `Rent ${name(best)}: the sort takes ${duration(best.expected)} (95%: ${duration(best.p95)}), the whole bill is ${usd(best.total)} (95%: ${usd(best.totalP95)}).`);
  say("what-if-change", changeText(best));
  const bill = billItems(best, asked).map((item) => [item.name, item.seconds ? duration(item.seconds) : "", usd(item.usd, decimals(best.total))]);
  const whole = best.expected + Object.values(best.around).reduce((sum, seconds) => sum + seconds, 0);
  showRows("what-if-bill", [...bill, ["in all", duration(whole), usd(best.total)]]);
  showRows("what-if-choices", chosen.slice(0, 5).map((made) => [name(made), duration(made.expected), duration(made.p95), usd(made.total)]));
}

function recompute() {
  if (!controls.checkValidity()) return;
  const asked = askedFor();
  const times = asked.network === 1 ? "as planned" : `${number.format(asked.network)} times as fast`;
  document.getElementById("network-shown").textContent = times;
  document.getElementById("discount-shown").textContent = `${Math.round(asked.discount * 100)}%`;
  const chosen = choose(whatIf.formulas, asked);
  showAnswer(chosen, asked);
  showOnFrontier(chosen[0]);
  document.documentElement.dataset.recomputed = String(Number(document.documentElement.dataset.recomputed ?? 0) + 1);
}

let waiting = 0;

function soon() {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(recompute);
}

if (controls) {
  controls.addEventListener("input", (event) => {
    if (event.target.name === "data-slider") {
      field("data").value = Number(((whatIf.formulas.request.data_bytes / 1e12) * 10 ** Number(event.target.value)).toPrecision(3));
    } else if (event.target.name === "data") fillSlider();
    soon();
  });
  controls.addEventListener("reset", (event) => { event.preventDefault(); fill(asPlanned()); soon(); });
  controls.addEventListener("submit", (event) => event.preventDefault());
  fill(asPlanned());
  soon();
}
