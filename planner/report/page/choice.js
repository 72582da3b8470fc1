// Which cluster: planner/planning/ranking/selection.py and best_clusters.py. The estimates choose, exact figures decide.
"use strict";

const SLACK = 1.05; // how far above the least cost a faster cluster may lie
const ALIKE = 1.01; // layouts whose estimated times are so near are compared exactly
const TRIES = 6;
const EXACT_TYPES = 10; // types worked out in full, the most promising first
const SAME_TIME = 1.01; // times within this factor of the least are as good
const APART = 1.15; // by what factor the times of neighbours on the frontier differ at least
const HANDICAP = 1.005; // by what factor bare metal must be better to be preferred
const SAME_COST = 1e-6; // costs that differ by less are the same
const SIZES = 60; // cluster sizes that the frontier is looked for at

function limitAbove(least, charges) {
  return least + (SLACK - 1) * (least - charges);
}

// Every admissible size of each layout: [{ grid, row, nodes, time, total, measures }].
function estimates(formulas, asked) {
  const cells = [];
  for (const grid of formulas.grids) {
    for (const row of grid.rows) cells.push(...cellsOf(formulas, grid, row, asked));
  }
  return cells;
}

function cellsOf(formulas, grid, row, asked) {
  const cells = [], most = asked.nodes ?? formulas.request.max_nodes;
  for (let nodes = asked.nodes ?? 1; nodes <= most; nodes += 1) {
    if (nodes < fewestNodes(grid, row, asked.data)) continue;
    const time = estimatedSeconds(grid, row, nodes, asked), launched = launchedNodes(grid, nodes);
    const total = totalUsd(grid, row, nodes, asked, time, launched);
    cells.push({ grid, row, nodes, time, total, charges: row.charges * asked.data, limits: limits(formulas, grid, row, nodes, asked, time) });
  }
  return cells;
}

// constraints.py: what is asked, each as a measure and the most it may be.
function limits(formulas, grid, row, nodes, asked, time) {
  const { confidence, budget_usd: budget, sort_deadline_s: sortDeadline } = formulas.request, made = [];
  const sort = time * (confidence ? grid.later_as_asked : 1);
  if (asked.deadline) made.push({ measure: sort + aroundSeconds(grid, row, nodes, asked), limit: asked.deadline });
  if (sortDeadline) made.push({ measure: sort, limit: sortDeadline });
  if (budget) {
    const lateS = at(grid, grid.late_boot_s, nodes) - at(grid, grid.boot_s, nodes);
    made.push({ measure: totalUsd(grid, row, nodes, asked, time * grid.later_at_95, launchedNodes(grid, nodes), lateS), limit: budget });
  }
  if (row.most !== null) made.push({ measure: launchedNodes(grid, nodes), limit: row.most });
  return made;
}

function admissible(cell) {
  return cell.limits.every(({ measure, limit }) => measure <= limit);
}

function byType(cells) {
  const groups = new Map();
  for (const cell of cells) {
    const name = `${cell.grid.model} ${cell.grid.cloud} ${cell.grid.region} ${cell.row.type}`;
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(cell);
  }
  return [...groups.values()];
}

function least(cells, key) {
  return cells.reduce((best, cell) => (key(cell) < key(best) ? cell : best), cells[0]);
}

function bestCell(cells, objective, limit) {
  if (!cells.length) return null;
  const cheapest = least(cells, (cell) => cell.total);
  if (objective === "cost") return first(cells, (cell) => cell.total, (cell) => cell.time);
  if (objective === "time") return first(cells, (cell) => cell.time, (cell) => cell.total, SAME_TIME);
  const own = cheapest.total <= limit ? limit : limitAbove(cheapest.total, cheapest.charges);
  return first(cells.filter((cell) => cell.total <= own), (cell) => cell.time, (cell) => cell.total, SAME_TIME);
}

function first(cells, key, second, same = 1 + 1e-9) {
  const bound = key(least(cells, key)) * same;
  return least(cells.filter((cell) => key(cell) <= bound), second);
}

function overallLimit(cells) {
  if (!cells.length) return Infinity;
  const cheapest = least(cells, (cell) => cell.total);
  return limitAbove(cheapest.total, cheapest.charges);
}

// selection.order: which of two figures decides, and in which order.
function rank(of, objective, limit, { fastest, fastestNear }) {
  const byTime = (least) => (of.time <= least * SAME_TIME ? [0, of.total, of.time] : [1, of.time, of.total]);
  if (objective === "cost") return [of.total, of.time];
  if (objective === "time") return byTime(fastest);
  return of.total <= limit ? [0, ...byTime(fastestNear)] : [1, of.total, of.time];
}

// Estimates are ordered by time alone where the cost is within the limit, exact figures as selection.order does.
function inOrder(items, figures, objective, limit, { exactly }) {
  const times = (those) => Math.min(...those.map((item) => figures(item).time));
  const near = items.filter((item) => figures(item).total <= limit);
  const bounds = { fastest: times(items), fastestNear: exactly ? times(near) : 0 };
  const compare = (a, b) => {
    const [left, right] = [a, b].map((item) => rank(figures(item), objective, limit, bounds));
    const differs = left.findIndex((number, at) => number !== right[at]);
    return differs < 0 ? 0 : left[differs] - right[differs];
  };
  return [...items].sort(compare);
}

function ordered(clusters, objective) {
  const figures = (made) => ({ time: made.expected * handicap(made.row), total: made.total * handicap(made.row) });
  return inOrder(clusters, figures, objective, overallLimit(clusters), { exactly: true });
}

// By what factor a cluster exceeds what is asked, computed exactly.
function excess(formulas, made, asked) {
  const { confidence, budget_usd: budget, sort_deadline_s: sortDeadline } = formulas.request;
  const sort = confidence ? quantile(made.duration, confidence) : made.expected;
  const late = asked.deadline ? (sort + aroundSeconds(made.grid, made.row, made.nodes, asked)) / asked.deadline : 0;
  const most = made.row.most === null ? 0 : (made.nodes + made.spares) / made.row.most;
  return Math.max(late, sortDeadline ? sort / sortDeadline : 0, budget ? made.totalP95 / budget : 0, most);
}

function exact(formulas, cell, asked) {
  return cluster(formulas, cell.grid, cell.row, cell.nodes, asked);
}

// A type's cell, computed exactly; where that misses what was asked, a safer one.
function settled(formulas, cells, asked, limit) {
  const { objective } = formulas.request;
  return settledFrom(formulas, cells, bestCell(cells, objective, limit), asked, limit, objective);
}

function settledFrom(formulas, cells, start, asked, limit, objective) {
  let good = cells, cell = start;
  for (let attempt = 0; attempt < TRIES && cell; attempt += 1) {
    const made = exact(formulas, cell, asked), over = excess(formulas, made, asked);
    if (over <= 1) return ordered([made, ...alike(formulas, cells, cell, asked)], objective)[0];
    good = safer(good, cell, over);
    cell = bestCell(good, objective, limit);
  }
  const share = (of) => Math.max(0, ...of.limits.map(({ measure, limit: most }) => measure / most));
  const last = exact(formulas, least(cells, share), asked);
  return excess(formulas, last, asked) <= 1 ? last : null;
}

function safer(cells, cell, over) {
  return cells.filter((other) => other !== cell && other.limits.every(({ measure, limit }, at) => {
    const estimated = cell.limits[at].measure;
    return estimated * over <= limit || measure <= (estimated / over) * (1 - 1e-9);
  }));
}

function alike(formulas, cells, cell, asked) {
  const others = cells.filter((other) => other !== cell && other.nodes === cell.nodes && other.time <= cell.time * ALIKE);
  return others.map((other) => exact(formulas, other, asked)).filter((made) => excess(formulas, made, asked) <= 1);
}

// instances.py
function handicap(row) {
  return /metal/i.test(row.type) || row.type.startsWith("BM.") ? HANDICAP : 1;
}

// frontier.py: the cells that no other beats by the estimates.
function frontierCells(formulas, cells, asked) {
  const most = asked.nodes ?? formulas.request.max_nodes, count = Math.min(most, SIZES);
  const size = (at) => Math.round(most ** (count > 1 ? at / (count - 1) : 0));
  const sizes = new Set(asked.nodes ? [asked.nodes] : Array.from({ length: count }, (_, at) => size(at)));
  const tried = formulas.grids.flatMap((grid) => {
    const own = cells.filter((cell) => cell.grid === grid), cheapest = own.length && least(own, (cell) => cell.total).nodes;
    return own.filter(({ nodes }) => sizes.has(nodes) || nodes === cheapest);
  });
  const unbeaten = [], [time, total] = ["time", "total"].map((name) => (cell) => cell[name] * handicap(cell.row));
  for (const cell of tried.sort((a, b) => time(a) - time(b) || total(a) - total(b))) {
    if (!unbeaten.length || total(cell) < total(unbeaten.at(-1)) * (1 - SAME_COST)) unbeaten.push(cell);
  }
  let last = 0;
  return unbeaten.filter((cell) => {
    const shown = cell.time >= last * APART || cell === unbeaten.at(-1);
    if (shown) last = cell.time;
    return shown;
  });
}

function besideThem(formulas, cells, made, asked) {
  const there = (cell) => made.some((other) => other.grid === cell.grid && other.row.type === cell.row.type && other.nodes === cell.nodes);
  const beside = frontierCells(formulas, cells, asked).map((cell, at, all) => {
    if (there(cell)) return null;
    const cluster = exact(formulas, cell, asked);
    if (excess(formulas, cluster, asked) <= 1) return cluster;
    const alike = cells.filter((other) => other.grid === cell.grid && other.row.type === cell.row.type);
    return at === all.length - 1 ? settledFrom(formulas, alike, cell, asked, Infinity, "cost") : null;
  });
  return beside.filter((cluster) => cluster);
}

// frontier.py: clusters that may cost less than all so far, the least estimate first, which is a lower bound.
function cheaper(formulas, cells, made, asked) {
  const bill = (cluster) => cluster.total * handicap(cluster.row), rows = new Map(), found = [];
  for (const cell of cells) {
    const sizes = rows.get(cell.grid) ?? rows.set(cell.grid, new Map()).get(cell.grid), best = sizes.get(cell.row);
    if (!best || cell.total < best.total) sizes.set(cell.row, cell);
  }
  let lowest = Math.min(...made.map(bill));
  for (const cell of [...rows.values()].flatMap((of) => [...of.values()]).sort((a, b) => a.total - b.total)) {
    if (cell.total >= lowest * (1 - SAME_COST)) break;
    const same = cells.filter((other) => other.grid === cell.grid && other.row.type === cell.row.type && other.nodes === cell.nodes);
    const cluster = exact(formulas, bestCell(same, formulas.request.objective, 0), asked);
    if (excess(formulas, cluster, asked) > 1 || bill(cluster) >= lowest) continue;
    lowest = bill(cluster);
    found.push(cluster);
  }
  return found;
}

// The best cluster of each type, best first; empty where nothing is feasible.
function choose(formulas, asked) {
  const { objective } = formulas.request;
  const good = estimates(formulas, asked).filter(admissible), limit = overallLimit(good);
  const types = byType(good).map((cells) => ({ cells, cell: bestCell(cells, objective, limit) }));
  const promising = inOrder(types, ({ cell }) => cell, objective, limit, { exactly: false });
  const made = [];
  for (const { cells } of promising) {
    if (made.length >= EXACT_TYPES) break;
    const best = settled(formulas, cells, asked, limit);
    if (best) made.push(best);
  }
  if (!made.length) return [];
  const beside = [...made, ...besideThem(formulas, good, made, asked)];
  const all = ordered([...beside, ...cheaper(formulas, good, beside, asked)], objective);
  return byType(all).map((clusters) => clusters[0]);
}
