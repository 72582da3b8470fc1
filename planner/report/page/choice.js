// Which cluster: planner/planning/selection.py and best_clusters.py. The estimates choose, exact figures decide.
"use strict";

const SLACK = 1.05; // how far above the least cost a faster cluster may lie
const ALIKE = 1.01; // layouts whose estimated times are so near are compared exactly
const TRIES = 6;
const FRONTIER_SIZES = 60; // cluster sizes of the frontier, evenly spread in their logarithm
const EXACT_TYPES = 10; // types worked out in full, the most promising first

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
  if (asked.deadline) made.push({ measure: sort + aroundSeconds(grid, row, nodes, asked.data), limit: asked.deadline });
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
  if (objective === "time") return first(cells, (cell) => cell.time, (cell) => cell.total);
  const own = cheapest.total <= limit ? limit : limitAbove(cheapest.total, cheapest.charges);
  return first(cells.filter((cell) => cell.total <= own), (cell) => cell.time, (cell) => cell.total);
}

function first(cells, key, second) {
  const bound = key(least(cells, key)) * (1 + 1e-9);
  return least(cells.filter((cell) => key(cell) <= bound), second);
}

function overallLimit(cells) {
  if (!cells.length) return Infinity;
  const cheapest = least(cells, (cell) => cell.total);
  return limitAbove(cheapest.total, cheapest.charges);
}

// selection.order: which of two figures decides, and in which order.
function rank(of, objective, limit) {
  if (objective === "cost") return [of.total, of.time];
  if (objective === "time") return [of.time, of.total];
  return of.total <= limit ? [0, of.time, of.total] : [1, of.total, of.time];
}

function inOrder(items, figures, objective, limit) {
  const compare = (a, b) => {
    const [left, right] = [rank(figures(a), objective, limit), rank(figures(b), objective, limit)];
    const differs = left.findIndex((number, at) => number !== right[at]);
    return differs < 0 ? 0 : left[differs] - right[differs];
  };
  return [...items].sort(compare);
}

function ordered(clusters, objective, cheapest = []) {
  const figures = (made) => ({ time: made.expected, total: made.total });
  return inOrder(clusters, figures, objective, overallLimit([...clusters, ...cheapest]));
}

// selection.frontier: of some sizes the cells of a grid that no other beats in time and cost, fastest first.
function frontierCells(formulas, cells, asked) {
  const most = formulas.request.max_nodes, count = Math.min(most, FRONTIER_SIZES);
  const sizes = new Set(Array.from({ length: count }, (_, at) => Math.round(most ** (at / Math.max(1, count - 1)))));
  const some = cells.filter((cell) => asked.nodes || sizes.has(cell.nodes));
  let least = Infinity;
  return some.sort((a, b) => a.time - b.time || a.total - b.total).filter((cell) => {
    const kept = cell.total < least * (1 - 1e-9);
    least = Math.min(least, cell.total);
    return kept;
  });
}

// recommendation.py: the clusters, computed exactly, of all points of the frontier that can cost less than others do.
function cheaperThan(formulas, good, asked, others) {
  const points = formulas.grids.flatMap((grid) => frontierCells(formulas, good.filter((cell) => cell.grid === grid), asked));
  const cheaper = [];
  for (const cell of points.sort((a, b) => a.total - b.total)) {
    if (cell.total >= Math.min(...[...others, ...cheaper].map((made) => made.total))) break;
    const made = exact(formulas, cell, asked);
    if (excess(formulas, made, asked) <= 1) cheaper.push(made);
  }
  return cheaper;
}

// By what factor a cluster exceeds what is asked, computed exactly.
function excess(formulas, made, asked) {
  const { confidence, budget_usd: budget, sort_deadline_s: sortDeadline } = formulas.request;
  const sort = confidence ? quantile(made.duration, confidence) : made.expected;
  const late = asked.deadline ? (sort + aroundSeconds(made.grid, made.row, made.nodes, asked.data)) / asked.deadline : 0;
  const most = made.row.most === null ? 0 : (made.nodes + made.spares) / made.row.most;
  return Math.max(late, sortDeadline ? sort / sortDeadline : 0, budget ? made.totalP95 / budget : 0, most);
}

function exact(formulas, cell, asked) {
  return cluster(formulas, cell.grid, cell.row, cell.nodes, asked);
}

// A type's cell, computed exactly; where that misses what was asked, a safer one.
function settled(formulas, cells, asked, limit) {
  const { objective } = formulas.request;
  let good = cells, cell = bestCell(good, objective, limit);
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

// The best cluster of each type, best first; empty where nothing is feasible.
function choose(formulas, asked) {
  const { objective } = formulas.request;
  const good = estimates(formulas, asked).filter(admissible), limit = overallLimit(good);
  const types = byType(good).map((cells) => ({ cells, cell: bestCell(cells, objective, limit) }));
  const promising = inOrder(types, ({ cell }) => cell, objective, limit);
  const made = [];
  for (const { cells } of promising) {
    if (made.length >= EXACT_TYPES) break;
    const best = settled(formulas, cells, asked, limit);
    if (best) made.push(best);
  }
  return made.length ? ordered(made, objective, cheaperThan(formulas, good, asked, made)) : [];
}
