// The equations of planner/cost_model for one cluster: seconds of each resource, the time of the job, the whole bill.
// `grid` holds what a cloud's types share, `row` a type, both made by planner/planning/candidates/formulas.py. What is asked:
// { data, network, discount }: bytes, a factor on network rates, a share of the price.
"use strict";

// The formulas with what all grids share in each of them.
function prepared(formulas) {
  for (const grid of formulas.grids) Object.assign(grid, { sizes: formulas.sizes, stated: formulas.stated });
  return formulas;
}

// A table over cluster sizes, read at any size: straight between neighbours in ln(nodes).
function at(grid, table, nodes) {
  const { low, part } = grid.places?.[nodes] ?? placeOf(grid, nodes);
  return part ? table[low] + part * (table[low + 1] - table[low]) : table[low];
}

function placeOf(grid, nodes) {
  grid.places ??= [];
  grid.places[nodes] ??= findPlace(grid.sizes, nodes);
  return grid.places[nodes];
}

function findPlace(sizes, nodes) {
  let low = sizes.length - 1;
  while (low > 0 && sizes[low] > nodes) low -= 1;
  if (sizes[low] >= nodes || low === sizes.length - 1) return { low, part: 0 };
  return { low, part: Math.log(nodes / sizes[low]) / Math.log(sizes[low + 1] / sizes[low]) };
}

// capacity.py: the fewest nodes that hold the data with head room, and sort it in two passes.
function fewestNodes(grid, row, data) {
  const brimful = row.disks * data;
  let held = brimful * (1 + grid.skew);
  if (held > 1) held = Math.max(held, brimful + grid.lost_nodes);
  return Math.max(Math.ceil(Math.max(held, row.buffers * data) - 1e-9), grid.nodes_min);
}

// workload.py: what a node sends, and the seconds its link needs, with a token bucket or without.
function sentBytes(grid, phase, nodes, data) {
  const crossing = grid.keeps_own_share ? (nodes - 1) / nodes : 1;
  return ((phase.exchanged * crossing + phase.copied) * data) / nodes;
}

function linkRate(grid, row, nodes, asked) {
  const own = row.curve === null ? row.rate : Math.exp(at(grid, grid.curves[row.curve].log_rate, nodes)) * row.network_factor;
  return own * asked.network;
}

function networkSeconds(grid, row, number, nodes, asked) {
  const moved = sentBytes(grid, grid.phases[number], nodes, asked.data);
  if (!moved) return 0;
  const rate = linkRate(grid, row, nodes, asked) * grid.phases[number].busy_network;
  if (row.tokens === null) return moved / rate;
  const burst = Math.max(row.burst === null ? 0 : row.burst * asked.network, rate);
  let before = 0;
  for (let phase = 0; phase < number; phase += 1) before += sentBytes(grid, grid.phases[phase], nodes, asked.data);
  const left = Math.max(row.tokens - before * (1 - rate / burst), 0);
  return Math.max(moved / burst, (moved - left) / rate);
}

// engine.py and engine_seconds.py: slices, partitions, and what each costs the nodes and the driver.
function tasksAtOnce(sizes, vcpu) {
  return Math.min(Math.max(Math.floor(vcpu), sizes.tasks_min), sizes.tasks_max);
}

function slices(sizes, row, nodes, bytes, wanted) {
  const tasks = tasksAtOnce(sizes, row.vcpu), underWay = sizes.slices_per_task * (tasks + 1);
  const largest = Math.min((row.memory * sizes.sort_share * sizes.slice_sort_share) / tasks, sizes.slice_bytes_max);
  const enough = bytes / Math.min(Math.max(wanted, sizes.slice_bytes_min), largest);
  const inStore = row.memory * sizes.store_share * sizes.slice_store_share;
  const count = (places, turns) =>
    Math.max(bytes * Math.max(places / inStore, 1 / largest), Math.min(turns * places * nodes, bytes / sizes.slice_bytes_min));
  const [many, half] = [count(underWay, sizes.slice_turns), count(underWay / 2, sizes.slice_turns)];
  const few = half <= enough ? half : count(underWay / 2, sizes.slice_turns / 2);
  return (many <= enough ? many : few) + sizes.slices_extra * nodes;
}

function partitions(sizes, row, nodes, bytes, copied) {
  const tasks = tasksAtOnce(sizes, row.vcpu);
  let largest = (row.memory * sizes.sort_share * sizes.partition_sort_share) / (tasks - (copied ? 1 : 0));
  if (copied) largest = Math.min(largest, (row.memory * sizes.store_share * sizes.copied_store_share) / (tasks + 1));
  return Math.max(bytes / largest, Math.min(sizes.partitions_per_node * nodes, Math.max(1, bytes / sizes.partition_bytes_min)));
}

function parcels(sizes, nodes, driverDecides) {
  const free = (nodes - 1) / (1 + (nodes - 1) / sizes.parcels_max);
  return driverDecides ? Math.min(free, sizes.parcels_min) : free;
}

function tasksOf(grid, row, phase, nodes, asked) {
  const sizes = grid.engine.sizes, copied = grid.phases.some((other) => other.copied > 0);
  const sorted = partitions(sizes, row, nodes, asked.data * asked.mapRatio, copied);
  if (!phase.works.includes("partition")) return sorted;
  const link = nodes > 1 ? linkRate(grid, row, nodes, asked) : 0;
  const wanted = Math.max((sorted / nodes) * sizes.piece_bytes_min, link * sizes.slice_link_s);
  return slices(sizes, row, nodes, asked.data, wanted);
}

function nodeTaskSeconds(grid, phase, nodes) {
  let seconds = 0;
  for (const work of phase.works) {
    const cost = grid.engine.tasks[work];
    seconds += cost.node_s + cost.node_block_s * (nodes - 1);
  }
  return seconds / grid.engine.cpu_factor;
}

function ordering(sizes, nodes, decides) {
  if (!sizes.nodes_per_coordinator) return 1;
  const coordinators = Math.ceil(nodes / sizes.nodes_per_coordinator);
  return coordinators > 1 ? sizes.coordinated_cost / (decides ? coordinators : 1) : 1;
}

function driverTaskSeconds(grid, phase, nodes, decides) {
  const sent = parcels(grid.engine.sizes, nodes, decides);
  let seconds = 0;
  for (const work of phase.works) {
    const cost = grid.engine.tasks[work];
    seconds += cost.driver_s + cost.driver_parcel_s * sent + cost.driver_per_node_s * nodes;
  }
  return (seconds * ordering(grid.engine.sizes, nodes, decides)) / grid.engine.cpu_factor;
}

function cpuSeconds(grid, row, phase, nodeS, nodes, asked) {
  const seconds = (nodeS * asked.data * (1 - phase.sent_share / nodes)) / nodes;
  if (!grid.engine || !phase.works.length) return seconds;
  const shared = grid.engine.shares_processors;
  const driver = driverTaskSeconds(grid, phase, nodes, !shared) / (shared ? nodes : 1);
  const each = nodeTaskSeconds(grid, phase, nodes) / nodes + driver;
  return seconds + (tasksOf(grid, row, phase, nodes, asked) * each) / (row.vcpu * phase.busy_cpu);
}

function oneResource(grid, row, number, name, nodes, asked) {
  const nodeS = row.phases[number][name].node_s;
  if (name === "cpu") return cpuSeconds(grid, row, grid.phases[number], nodeS, nodes, asked);
  if (name === "network") return networkSeconds(grid, row, number, nodes, asked);
  return (nodeS * asked.data) / nodes;
}

// The seconds of each resource in a phase, without variation, as planner/planning/candidates/candidates.py has them.
function resourceSeconds(grid, row, number, nodes, asked) {
  const phase = grid.phases[number], seconds = {};
  for (const name in row.phases[number]) seconds[name] = oneResource(grid, row, number, name, nodes, asked);
  if (grid.engine && phase.works.length) {
    const tasks = tasksOf(grid, row, phase, nodes, asked);
    seconds.driver = tasks * driverTaskSeconds(grid, phase, nodes, true);
  }
  seconds.start_up = phase.start_s + phase.per_node_s * nodes;
  seconds.one_stream = phase.stream_s * asked.data;
  return seconds;
}

// estimate.py: each resource stretched by the mean slowness of its slowest node; a lower bound that is quick.
function estimatedSeconds(grid, row, nodes, asked) {
  let total = 0;
  for (let number = 0; number < grid.phases.length; number += 1) total += estimatedPhase(grid, row, number, nodes, asked);
  return total * Math.exp(grid.shared_sigma ** 2 / 2);
}

function estimatedPhase(grid, row, number, nodes, asked) {
  const phase = grid.phases[number], uses = row.phases[number];
  let longest = phase.start_s + phase.per_node_s * nodes;
  longest = Math.max(longest, phase.stream_s * asked.data);
  if (grid.engine && phase.works.length) {
    const tasks = tasksOf(grid, row, phase, nodes, asked);
    longest = Math.max(longest, tasks * driverTaskSeconds(grid, phase, nodes, true));
  }
  for (const name in uses) {
    const seconds = oneResource(grid, row, number, name, nodes, asked);
    longest = Math.max(longest, seconds * meanStretch(grid, row, number, name, nodes));
  }
  return longest;
}

function meanStretch(grid, row, number, name, nodes) {
  const use = row.phases[number][name];
  if (!use) return 1;
  use.mean_doubt ??= average(row.doubts[use.doubt] ?? [1]);
  const doubt = use.mean_doubt;
  if (name !== "network") return doubt * at(grid, grid.spreads[use.spread].mean, nodes);
  const atScale = row.stated && grid.varies && !row.tailed ? meanAtScale(grid, nodes) : 1;
  return doubt * atScale * (row.slowest_of_n ? 1 : at(grid, grid.spreads[use.spread].mean, nodes));
}

function meanAtScale(grid, nodes) {
  grid.stated_mean ??= grid.sizes.map((_, size) => average(grid.stated.map((slowed) => slowed[size])));
  return at(grid, grid.stated_mean, nodes);
}

function average(numbers) {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

// rate_doubts.py and duration.py: equally likely slowdowns of the rates in doubt.
function slowdowns(grid, row, nodes, orders) {
  const doubted = Object.entries(row.doubts).filter(([, values]) => Math.max(...values) > 1);
  const scale = slowdownsAtScale(grid, row, nodes);
  if (!doubted.length && !scale) return [{}];
  return orders.at_scale.map((place, at) => {
    const slowed = Object.fromEntries(doubted.map(([name, values]) => [name, values[orders[name][at]]]));
    if (scale) slowed.network = (slowed.network ?? 1) * scale[place];
    return slowed;
  });
}

function slowdownsAtScale(grid, row, nodes) {
  const curve = row.curve === null ? null : grid.curves[row.curve];
  if (!grid.varies || nodes === 1 || (!row.stated && !curve)) return null;
  if (!row.stated && !row.extrapolated && nodes <= curve.measured_to) return null;
  return (row.stated ? grid.stated : curve.slowdowns).map((slowed) => at(grid, slowed, nodes));
}

// duration.py and prices.py: spares that stand by, or that are kept for the slowest.
function plannedSpares(formulas, grid, row, phases, nodes) {
  const paidS = billedSeconds(grid, at(grid, grid.boot_s, nodes) + grid.screen_s);
  const longest = phases.reduce((best, phase) => (phase.time > best.time ? phase : best), phases[0]);
  const use = longest.time > 0 ? row.phases[longest.number][longest.bottleneck] : undefined;
  if (nodes === 1 || !use || !use.screened) {
    return { count: nodes > 1 ? Math.ceil(nodes * grid.spare_fraction) : 0, paidS, screenedBy: null };
  }
  const screenS = at(grid, grid.boot_s, nodes) + grid.screen_s;
  const work = phases.reduce((sum, phase) => sum + phase.time, 0);
  return { count: bestSpares(spreadOf(formulas, grid, use.spread), nodes, work, screenS), paidS, screenedBy: longest.bottleneck };
}

function spreadOf(formulas, grid, number) {
  const given = grid.spreads[number];
  given.points ??= given.sigma === undefined
    ? { slow: given.log_slowness, logCdf: given.log_cdf.map((log) => log ?? -Infinity) }
    : lognormal(given.sigma, formulas.normal_log_cdf);
  return given.points;
}

function certain(formulas) {
  formulas.certain ??= lognormal(0, formulas.normal_log_cdf);
  return formulas.certain;
}

function phaseTimes(grid, row, nodes, asked) {
  return grid.phases.map((phase, number) => {
    const seconds = resourceSeconds(grid, row, number, nodes, asked);
    const names = Object.keys(seconds).filter((name) => seconds[name] > 0);
    const bottleneck = names.reduce((best, name) => (seconds[name] > (seconds[best] ?? -1) ? name : best), "nothing");
    return { name: phase.name, number, seconds, bottleneck, time: seconds[bottleneck] ?? 0 };
  });
}

function loadsOf(formulas, grid, row, phase, nodes, spares) {
  return Object.entries(phase.seconds).filter(([, seconds]) => seconds > 0).map(([name, median]) => {
    const use = row.phases[phase.number][name];
    const sure = !use || (name === "network" && row.slowest_of_n);
    const spread = sure ? certain(formulas) : spreadOf(formulas, grid, use.spread);
    return { median, spread, count: nodes, spares: name === spares.screenedBy && !sure ? spares.count : 0, doubt: use?.doubt };
  });
}

function durationOf(formulas, grid, row, phases, nodes, spares) {
  const loads = phases.map((phase) => loadsOf(formulas, grid, row, phase, nodes, spares));
  const whole = slowdowns(grid, row, nodes, formulas.orders).map((slowed) => {
    const slow = (load) => ({ ...load, median: load.median * (slowed[load.doubt] ?? 1) });
    return inTurn(loads.map((of) => barrier(of.map(slow))), grid.shared_sigma, formulas.normal_log_cdf);
  });
  return either(whole);
}

// prices.py and bill.py
function billedSeconds(grid, seconds) {
  if (!grid.billing) return seconds;
  return Math.max(Math.ceil(seconds / grid.billing.step_s) * grid.billing.step_s, grid.billing.minimum_s);
}

function stepSeconds(row, name, nodes, asked) {
  const nodeS = Math.max(row.around[name], (row.around_link[name] ?? 0) / asked.network);
  return Math.max(nodeS / nodes, row.around_least[name] ?? 0) * asked.data;
}

function around(grid, row, nodes, asked) {
  const steps = { boot: at(grid, grid.boot_s, nodes), screen: grid.screen_s, teardown: grid.teardown_s };
  for (const name in row.around) steps[name] = stepSeconds(row, name, nodes, asked);
  return Object.fromEntries(Object.entries(steps).filter(([, seconds]) => seconds > 0));
}

function aroundSeconds(grid, row, nodes, asked) {
  let seconds = at(grid, grid.boot_s, nodes) + grid.screen_s + grid.teardown_s;
  for (const name in row.around) seconds += stepSeconds(row, name, nodes, asked);
  return seconds;
}

function totalUsd(grid, row, nodes, asked, jobS, launched, lateS = 0) {
  const price = row.price * (1 - asked.discount);
  const billed = billedSeconds(grid, jobS + aroundSeconds(grid, row, nodes, asked) + lateS);
  const spareS = billedSeconds(grid, at(grid, grid.boot_s, nodes) + grid.screen_s) + lateS;
  const nodeS = nodes * billed + (launched - nodes) * Math.min(billed, spareS);
  return (nodeS * price) / 3600 + chargesUsd(grid, row, nodes, asked);
}

// Of the copies, which go to one of the other nodes, the more cross zones the fewer nodes there are.
function chargesUsd(grid, row, nodes, asked) {
  return (row.charges + grid.copies_usd / Math.max(1, nodes - 1)) * asked.data;
}

function launchedNodes(grid, nodes) {
  return nodes > 1 ? nodes + Math.ceil(nodes * grid.spare_fraction) : nodes;
}

// One cluster in full: what planner/planning/candidates/candidates.py gives.
function cluster(formulas, grid, row, nodes, asked) {
  const phases = phaseTimes(grid, row, nodes, asked);
  const spares = plannedSpares(formulas, grid, row, phases, nodes);
  const duration = durationOf(formulas, grid, row, phases, nodes, spares);
  const [expected, p95] = [meanOf(duration), quantile(duration, 0.95)];
  const lateS = at(grid, grid.late_boot_s, nodes) - at(grid, grid.boot_s, nodes);
  const launched = nodes + spares.count;
  return {
    grid, row, nodes, phases, duration, expected, p95, spares: spares.count,
    around: around(grid, row, nodes, asked),
    total: totalUsd(grid, row, nodes, asked, expected, launched),
    totalP95: totalUsd(grid, row, nodes, asked, p95, launched, lateS),
    charges: chargesUsd(grid, row, nodes, asked),
  };
}
