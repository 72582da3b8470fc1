// Distributions of times, as planner/statistics/order_statistics.py has them: a phase ends with the slowest of n nodes.
// A spread is {slow, logCdf}: ln(slowness) and ln P(below it). A duration is {times, cdf}.
"use strict";

const PARTS = 64; // equally likely values that stand for a distribution where several are added
const REACH = 8; // standard deviations that a lognormal spans
const CERTAIN_SIGMA = 1e-9;

function interpolate(x, xs, ys, left, right) {
  if (x < xs[0]) return left;
  const last = xs.length - 1;
  if (x >= xs[last]) return x === xs[last] ? ys[last] : right;
  let low = 0, high = last;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle; else high = middle;
  }
  return between(x, xs, ys, low);
}

function between(x, xs, ys, low) {
  if (x === xs[low]) return ys[low];
  if (ys[low] === -Infinity) return -Infinity;
  return ys[low] + ((x - xs[low]) / (xs[low + 1] - xs[low])) * (ys[low + 1] - ys[low]);
}

function unique(numbers) {
  const sorted = Float64Array.from(numbers).sort();
  return sorted.filter((number, at) => at === 0 || number !== sorted[at - 1]);
}

function lognormal(sigma, normalLogCdf) {
  const step = (2 * REACH) / (normalLogCdf.length - 1);
  const slow = Float64Array.from(normalLogCdf, (_, at) => (at * step - REACH) * Math.max(sigma, CERTAIN_SIGMA));
  return { slow, logCdf: normalLogCdf };
}

// ln P(N of N + k nodes are done by each time): N successes before k + 1 failures.
function loadLogCdf(load, logTime) {
  const node = interpolate(logTime - Math.log(load.median), load.spread.slow, load.spread.logCdf, -Infinity, 0);
  if (!load.spares) return load.count * node;
  const logLate = Math.log(Math.max(-Math.expm1(node), 1e-300));
  const terms = [];
  for (let failed = 0, ways = 0; failed <= load.spares; failed += 1) {
    terms.push(ways + failed * logLate);
    ways += Math.log((load.count + failed) / (failed + 1));
  }
  const most = Math.max(...terms);
  const total = most + Math.log(terms.reduce((sum, term) => sum + Math.exp(term - most), 0));
  return Math.min(total + load.count * node, 0);
}

function barrier(loads) {
  const working = loads.filter((load) => load.median > 0);
  if (!working.length) return { times: [0], cdf: [1] };
  const grids = working.map((load) => load.spread.slow.map((slow) => slow + Math.log(load.median)));
  const start = Math.max(...grids.map((grid) => grid[0]));
  const logTimes = unique([].concat(...grids.map((grid) => [...grid.filter((time) => time >= start)])));
  const late = working.filter((_, at) => grids[at][grids[at].length - 1] >= start);
  const cdf = logTimes.map((time) => Math.exp(late.reduce((sum, load) => sum + loadLogCdf(load, time), 0)));
  return { times: logTimes.map(Math.exp), cdf };
}

function quantile(duration, probability) {
  const { times, cdf } = duration;
  return interpolate(probability, cdf, times, times[0], times[times.length - 1]);
}

function middles() {
  return Array.from({ length: PARTS }, (_, at) => (at + 0.5) / PARTS);
}

// Equally likely values with the same mean: those of equal parts of the sorted values.
function representatives(values) {
  const sorted = Float64Array.from(values).sort();
  if (sorted.length <= PARTS) return sorted;
  const size = sorted.length / PARTS;
  return Float64Array.from({ length: PARTS }, (_, part) => {
    let sum = 0;
    for (let at = part * size; at < (part + 1) * size; at += 1) sum += sorted[at];
    return sum / size;
  });
}

// Phases one after the other, times one lognormal factor that they share.
function inTurn(phases, sharedSigma, normalLogCdf) {
  let sums = Float64Array.of(0);
  for (const phase of phases) {
    const parts = middles().map((probability) => quantile(phase, probability));
    sums = representatives([].concat(...Array.from(sums, (sum) => parts.map((part) => sum + part))));
  }
  const last = sums[sums.length - 1];
  if (sharedSigma <= 0 || last === 0) {
    return { times: [...sums, last], cdf: [...(sums.length > 1 ? middles() : [1]), 1] };
  }
  return blurred(sums, sharedSigma, normalLogCdf);
}

function blurred(sums, sigma, normalLogCdf) {
  const low = Math.log(sums[0]) - 4 * sigma;
  const high = Math.log(sums[sums.length - 1]) + 4 * sigma;
  const count = 2 * PARTS;
  const logTimes = Array.from({ length: count }, (_, at) => low + ((high - low) * at) / (count - 1));
  const logSums = sums.map(Math.log);
  const normal = normalCdf(normalLogCdf);
  const cdf = logTimes.map((time) => logSums.reduce((sum, log) => sum + normal((time - log) / sigma), 0) / sums.length);
  return { times: logTimes.map(Math.exp), cdf: cdf.map((share) => share / cdf[count - 1]) };
}

const normals = new WeakMap();

function normalCdf(logCdf) {
  if (!normals.has(logCdf)) normals.set(logCdf, Float64Array.from(logCdf, Math.exp));
  const cdf = normals.get(logCdf), steps = cdf.length - 1;
  return (deviation) => {
    const place = Math.min(Math.max(((deviation + REACH) / (2 * REACH)) * steps, 0), steps);
    const low = Math.min(Math.floor(place), steps - 1);
    return cdf[low] + (place - low) * (cdf[low + 1] - cdf[low]);
  };
}

// One of several durations, each equally likely.
function either(durations) {
  if (durations.length === 1) return durations[0];
  const times = unique([].concat(...durations.map((duration) => [...duration.times])));
  const cdf = times.map((time) => durations.reduce((sum, d) => sum + interpolate(time, d.times, d.cdf, 0, 1), 0));
  return { times, cdf: cdf.map((sum) => sum / durations.length) };
}

function meanOf(duration) {
  const { times, cdf } = duration;
  let mean = cdf[0] * times[0];
  for (let at = 1; at < times.length; at += 1) mean += ((cdf[at] - cdf[at - 1]) * (times[at] + times[at - 1])) / 2;
  return mean;
}

// How many spares cost least where nodes differ by a spread: see planner/statistics/spare_nodes.py.
function bestSpares(spread, nodes, workS, screenS) {
  const count = 400;
  const rates = Array.from({ length: count }, (_, at) => {
    const likely = Math.log((at + 0.5) / count);
    const { logCdf, slow } = spread;
    return Math.exp(-interpolate(likely, logCdf, slow, slow[0], slow[slow.length - 1]));
  }).sort((a, b) => a - b);
  const median = (rates[count / 2 - 1] + rates[count / 2]) / 2;
  const slowness = expectedSlowness(rates, median, nodes);
  const hours = slowness.map((times, spares) => (nodes + spares) * screenS + nodes * workS * times);
  const least = Math.min(...hours);
  return hours.findIndex((amount) => amount <= least);
}

function expectedSlowness(rates, median, nodes) {
  const distinct = rates.filter((rate, at) => at === 0 || rate !== rates[at - 1]);
  const survivals = distinct.map((rate) => survival(rates.indexOf(rate) / rates.length, nodes));
  return Array.from({ length: nodes + 1 }, (_, spares) => {
    let mean = 0;
    for (let at = 0; at < distinct.length; at += 1) {
      const next = at + 1 < distinct.length ? survivals[at + 1][spares] : 0;
      mean += (survivals[at][spares] - next) * (median / distinct[at]);
    }
    return mean;
  });
}

// P(every kept node has at least a rate) where a node is below it with chance `below`, for 0 to `nodes` spares.
function survival(below, nodes) {
  const sums = [];
  for (let spares = 0, ways = 0, sum = 0; spares <= nodes; spares += 1) {
    const failures = spares ? (below > 0 ? spares * Math.log(below) : -1e9 * spares) : 0;
    sum += Math.exp(ways + failures + nodes * Math.log1p(-below));
    sums.push(Math.min(sum, 1));
    ways += Math.log((nodes + spares) / (spares + 1));
  }
  return sums;
}
