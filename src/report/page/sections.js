// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
// What the page shows of the data: one function for each section.

const results = data.results;
const isMany = results.length > 1;
/** Short names of results, which all charts and tables use. */
const names = results.map((result, i) => (isMany ? `${String.fromCharCode(65 + (i % 26))}${i < 26 ? "" : Math.floor(i / 26)}` : ""));
const hasSpeed = (c) => c.median_s !== null;
/** Every measurement, with its result. */
const all = results.flatMap((result, r) => result.cases.map((c) => ({c, r, result})));
const timed = all.filter(({c}) => hasSpeed(c));

/** The transport that a measurement asked for: which one "auto" took is a result. */
const askedOf = (c) => (c.transport_is_chosen ? "auto" : transportOf(c));
/** What a measurement is called where its case is known. */
const seriesOf = (c, transports) => c.variant + (askedOf(c) && transports.size > 1 ? ` · ${askedOf(c)}` : "");
const inResult = (r) => (isMany ? `${names[r]}: ` : "");
const describe = ({c, r}) => `${inResult(r)}${c.case} · ${c.variant}${
  transportOf(c) ? ` · ${transportOf(c)}` : ""} · ${sizeText(c.size)}`;

/** What is told of its settings: keys that its sweep varies, also where they are at their defaults, before others. */
const settingsOf = (c) => ({...c.sweep.keys, ...c.settings});

const sameSize = (a, b) => a.length === b.length && a.every((n, i) => n === b[i]);
const ofSize = (group, size) => group.items.filter(({c}) => sameSize(c.size, size));
const volume = (size) => size.reduce((product, n) => product * n, 1);
const workOf = (c) => c.amount || volume(c.size);
const isSuspect = (c) => c.suspect.length > 0;

/** Measurements that differ in size, variant, transport and result alone. */
const groups = (() => {
  const found = new Map();
  for (const item of timed) {
    const {c} = item;
    const key = JSON.stringify([c.workload, c.type, c.settings]);
    if (!found.has(key)) found.set(key, {workload: c.workload, type: c.type, items: []});
    found.get(key).items.push(item);
  }
  for (const group of found.values()) {
    const transports = new Set(group.items.map(({c}) => askedOf(c)).filter(Boolean));
    for (const item of group.items) item.series = seriesOf(item.c, transports);
    group.series = [...new Set(group.items.map((item) => item.series))];
    group.title = `${group.workload} ${group.type}`;
    // Of several results only one may have swept it.
    group.settings = Object.assign({}, ...group.items.map(({c}) => settingsOf(c)));
    group.swept = Object.keys(Object.assign({}, ...group.items.map(({c}) => c.sweep.keys))).sort();
    group.note = settingsText(group.settings);
    const sizes = new Map(group.items.map(({c}) => [JSON.stringify(c.size), c.size]));
    const work = (size) => Math.max(...ofSize(group, size).map(({c}) => workOf(c)));
    group.sizes = [...sizes.values()].sort((a, b) => work(a) - work(b));
    group.hasRate = group.items.some(({c}) => c.rate !== null);
    group.unit = group.items.find(({c}) => c.unit)?.c.unit ?? "";
    group.hasVendor = group.items.some(({c}) => isNumber(c.ratio_to_vendor) && c.role !== "vendor");
  }
  return [...found.values()];
})();
const findItem = (items, series, r) => items.find((item) => item.series === series && item.r === r);
/** The rate, or where there is no work to divide the time. */
const valueOf = (group, c) => (group.hasRate ? c.rate : c.median_s);
const valueText = (group, x) => (group.hasRate ? rate(x, group.unit) : seconds(x));
const span = (low, high) => (isNumber(low) && isNumber(high) ? [low, high] : null);
/** The 95 % interval of what valueOf() says, for its bar. */
function errorOf(group, c) {
  if (!c || !isNumber(valueOf(group, c))) return null;
  const times = span(c.median_low_s, c.median_high_s);
  return times && group.hasRate ? span(c.rate * c.median_s / times[1], c.rate * c.median_s / times[0]) : times;
}

// Summary

function tiles(result) {
  const {counts} = result;
  const suspect = result.cases.filter(isSuspect).length;
  const tile = (n, text, mark) => (n > 0 || text === "passed" ? el("li", {}, el("b", {class: n > 0 ? mark : null}, String(n)), text) : null);
  const others = counts.of - counts.passed - counts.failed - counts.wrong_libraries - counts.skipped - counts.unsupported;
  return el("ul", {class: "tiles"}, tile(counts.passed, "passed", "PASS"), tile(counts.failed, "failed", "FAIL"),
    tile(counts.wrong_libraries, "wrong by the library's own call", "WRONG"),
    tile(others, "ended early", "ERROR"), tile(suspect, "suspect", "SUSPECT"), tile(counts.skipped, "skipped", "SKIP"),
    tile(counts.unsupported, "unsupported here", "UNSUPPORTED"));
}

function resultCard(result, r) {
  const {run} = result;
  const modelled = result.cases.some((c) => c.modelled_link);
  return el("article", {class: isMany ? "card" : "card wide", "data-result": result.passed ? "PASS" : "FAIL"},
    el("h3", {}, verdict(result.passed ? "PASS" : "FAIL"), ` ${isMany ? `${names[r]} · ` : ""}${run.run_id}`),
    el("p", {class: "note"}, `${machine(run)} · started ${run.started ?? "-"} · version ${run.build.version ?? "-"}, commit ${run.build.commit ?? "-"}`),
    tiles(result),
    result.reason ? el("p", {"data-reason": ""}, `${result.reason}.`) : null,
    modelled ? el("p", {class: "note"}, "Messages went through a modelled slow link (throttle): their times are no property of this machine.") : null);
}

/** In brackets where the vendor's time is SUSPECT: then the ratio is not known. */
function versusVendor(c) {
  const text = interval(c.ratio_to_vendor, c.ratio_to_vendor_low, c.ratio_to_vendor_high, ratio);
  return c.vendor_is_suspect && text !== "-" ? `(${text})` : text;
}

/** Said where the vendor's rate beside a ratio contradicts it. */
const drift = (c) => (isNumber(c.percent_by_rates)
  ? `vs vendor is the median of the paired ratios; by the median rates it is ${c.percent_by_rates} %: times drifted` : "");

/** The own variant with the highest rate of each group and size, and the vendor's; of one transport where that is given. */
function best(group, size, r, transport) {
  const items = ofSize(group, size).filter((item) => item.r === r && (!transport || item.c.transport === transport));
  const better = (a, b) => (group.hasRate ? (b.c.rate ?? 0) - (a.c.rate ?? 0) : a.c.median_s - b.c.median_s);
  const own = items.filter(({c}) => c.role === "own").sort(better)[0] ??
    items.filter(({c}) => !["vendor", "peer", "ceiling", "demonstration"].includes(c.role)).sort(better)[0];
  const vendor = items.filter(({c}) => c.role === "vendor").sort(better)[0];
  return {own: own ?? items.sort(better)[0], vendor};
}

function findings() {
  const wrong = all.filter(({c}) => ["FAIL", "WRONG (library)", "ERROR", "TIMEOUT", "INTERRUPTED"].includes(c.verdict));
  const suspect = timed.filter(({c}) => isSuspect(c));
  const standing = (key) => results.flatMap(({vs_vendor: ids}, r) => ids[key].map((id) => all.find((item) => item.r === r && item.c.id === id)))
    .sort((a, b) => a.c.ratio_to_vendor - b.c.ratio_to_vendor);
  const slower = standing("slower"), asFast = standing("as_fast").reverse();
  const versus = (item) => `${describe(item)}: ${versusVendor(item.c)} × the vendor's rate${item.c.roof ? `, ${percent(item.c.percent_of_ceiling)} of the ceiling of ${item.c.roof}` : ""}`;
  const why = new Map();
  for (const {c} of all) {
    if (!["SKIP", "UNSUPPORTED"].includes(c.verdict)) continue;
    const key = `${c.verdict}: ${c.reason ?? "no reason"}`;
    why.set(key, [...(why.get(key) ?? []), c]);
  }
  const left = [...why].map(([reason, cases]) => `${reason} (${plural(cases.length, "measurement")})`);
  const tips = all.filter(({c}) => c.advice);
  const uneven = timed.filter(({c}) => c.ranks > 1 && c.imbalance > 1.2).sort((a, b) => b.c.imbalance - a.c.imbalance);
  return [
    finding("bad", `${plural(wrong.length, "measurement")} without a right result`,
      wrong.map((item) => [verdict(item.c.verdict), ` ${describe(item)}: ${[item.c.reason, item.c.first_wrong].filter(Boolean).join("; ") || "no reason was stored"}`])),
    finding("warn", `Slower than the vendor's library: the best variant of ${plural(slower.length, "case")}`, slower.map(versus), 6),
    finding("good", `As fast as the vendor's library, or faster: the best variant of ${plural(asFast.length, "case")}`, asFast.map(versus), 6),
    finding("warn", `What to try: ${plural(tips.length, "case")}`, tips.map((item) => `${describe(item)}: ${item.c.advice}`), 6),
    finding("warn", `Ranks that wait for a slower one in ${plural(uneven.length, "measurement")}`,
      uneven.map((item) => `${describe(item)}: rank ${item.c.slowest_rank} takes ${ratio(item.c.imbalance)} × the time of the others`), 5),
    finding("warn", `${plural(suspect.length, "measurement")} not to be trusted`, results.flatMap(({doubts}, r) =>
      doubts.map(({reason, of}) => `${inResult(r)}${of.length > 1 ? `${of.length} × ` : ""}${reason} (${of.slice(0, 3).join(", ")}${of.length > 3 ? ", …" : ""})`))),
    finding("", "Not measured", left, 6),
  ].filter(Boolean);
}

function meter(share) {
  if (!isNumber(share)) return "-";
  const bar = el("i");
  bar.style.width = `${Math.min(100, Math.max(0, share))}%`;
  return el("span", {}, el("span", {class: "meter", "aria-hidden": "true"}, bar), percent(share));
}

/** As many as labels of bars have room for: Chart.js gives them half of the width. */
const lettersOf = (width) => Math.max(10, Math.floor((width / 2 - 12) / 7));

/** Whether they are calls of an interface, each an operation of its own: none is better than another. */
const areCalls = (items) => items.some(({c}) => c.unit === "call/s");

function bestTable() {
  const rows = [];
  for (const group of groups.filter((one) => one.hasRate && !areCalls(one.items))) {
    const size = group.sizes.at(-1);
    results.forEach((_, r) => {
      const {own, vendor} = best(group, size, r);
      if (!own) return;
      const reached = own.c.percent_of_ceiling ?? own.c.percent_of_peak;
      rows.push([...(isMany ? [names[r]] : []), group.title, group.note || "-", sizeText(size), own.series,
        seconds(own.c.median_s), own.c.rate === null ? "-" : rate(own.c.rate, own.c.unit),
        own.c.role === "vendor" ? "is the vendor's" : versusVendor(own.c),
        vendor && vendor !== own && vendor.c.rate !== null ? rate(vendor.c.rate, vendor.c.unit) : "-", meter(reached), own.c.limit ?? "-", own.c.good ?? "-"]);
    });
  }
  return {head: [...(isMany ? [column("result")] : []), column("operation"), column("settings"), column("size"), column("best variant"),
    ...numbers("median", "rate", "vs vendor", "vendor", "% of ceiling"), column("limit"), column("good?")], rows};
}

const transportsOf = (items) => [...new Set(items.map(({c}) => transportOf(c)).filter(Boolean))];

/** What each transport reaches at each size where there are several, the best in bold, and why others are missing. */
function transportTable() {
  const measured = groups.filter((group) => group.hasRate && transportsOf(group.items).length > 1);
  const found = transportsOf(measured.flatMap((group) => group.items));
  const rows = [];
  for (const group of measured) {
    for (const size of group.sizes) {
      results.forEach((_, r) => {
        const cases = found.map((name) => best(group, size, r, name).own?.c);
        const rates = cases.map((c) => c?.rate ?? 0);
        const fastest = rates.indexOf(Math.max(...rates));
        if (rates.filter((x) => x > 0).length < 2) return;
        rows.push([...(isMany ? [names[r]] : []), group.title, group.note || "-", sizeText(size), found[fastest],
          ...cases.map((c, i) => (rates[i] > 0 ? el(i === fastest ? "b" : "span", {}, rate(rates[i], c.unit)) : "-"))]);
      });
    }
  }
  const workloads = new Set(measured.map((group) => group.workload));
  const missing = all.filter(({c}) => c.verdict === "UNSUPPORTED" && workloads.has(c.workload) && transportsOf([{c}]).length > 0 && !found.includes(c.transport));
  return {head: [...(isMany ? [column("result")] : []), column("operation"), column("settings"), column("size"), column("best transport"),
    ...numbers(...found)], rows, missing: [...new Set(missing.map(({c}) => c.reason))]};
}

function summary() {
  const found = findings();
  const content = bestTable();
  const byTransport = transportTable();
  section("summary", "Summary", null, el("div", {class: "grid"}, results.map(resultCard),
    el("article", {class: "card wide"}, el("h3", {}, "What stands out"),
      found.length ? el("ul", {class: "findings"}, found) : el("p", {class: "note"}, "Nothing: every measurement passed.")),
    content.rows.length ? el("article", {class: "card wide"}, el("h3", {}, "The best of each operation"),
      el("p", {class: "note"}, "At its largest size the fastest variant of this project; vs vendor: rates of paired repetitions, with the 95 % interval; the ceiling is that of the roofline, or the peak."),
      table(filled(content), {class: "tall", label: "The best of each operation"})) : null,
    byTransport.rows.length ? el("article", {class: "card wide"}, el("h3", {}, "The best transport"),
      el("p", {class: "note"}, ["The rate of each transport's fastest variant of this project.", ...byTransport.missing.map((why) => `Missing: ${why}.`)].join(" ")),
      table(byTransport, {class: "tall", label: "The best transport"})) : null,
    differences()));
}

/** What builds, environments and machines of several results say differently. */
function differences() {
  if (!isMany) return null;
  const differing = (facts) => {
    const keys = [...new Set(facts.flatMap((fact) => Object.keys(fact)))];
    return keys.filter((key) => new Set(facts.map((fact) => fact[key] ?? "")).size > 1)
      .map((key) => [key, ...facts.map((fact) => fact[key] ?? "-")]);
  };
  const rows = differing(results.map(({run}) => ({machine: machine(run), ...run.build})));
  const variables = differing(results.map(({run}) => run.environment));
  const head = [column("fact"), ...names.map((name) => column(name))];
  return el("article", {class: "card wide"}, el("h3", {}, "What differs between the results"),
    rows.length ? table({head, rows}, {label: "Differences of builds and machines"}) : el("p", {class: "note"}, "Machine and build are the same."),
    variables.length ? el("details", {}, el("summary", {}, `${plural(variables.length, "variable")} of the environment`), table({head, rows: variables}, {class: "low", label: "Differences of environments"})) : null);
}

// Groups

const only = (object, isWanted) => Object.fromEntries(Object.entries(object).filter(([key]) => isWanted(key)));

/**
 * Cards of groups: `make(group, note)` returns what a Card takes. Groups that differ in the keys of their sweep
 * alone have one card and a choice, at first of the fastest.
 */
function cardsOf(list, make) {
  const families = new Map();
  for (const group of list) {
    const common = only(group.settings, (key) => !group.swept.includes(key));
    const key = JSON.stringify([group.workload, group.type, common, group.swept, group.sizes, group.hasRate, group.hasVendor]);
    families.set(key, [...(families.get(key) ?? []), {group, common}]);
  }
  return [...families.values()].map((family) => {
    if (family.length === 1) return new Card(make(family[0].group, family[0].group.note));
    const made = family.map(({group, common}) => make(group, settingsText(common)));
    const speeds = family.map(({group}) => Math.max(...results.map((_, r) => {
      const c = best(group, group.sizes.at(-1), r).own?.c;
      return c ? (group.hasRate ? c.rate ?? 0 : 1 / c.median_s) : 0;
    })));
    const first = speeds.indexOf(Math.max(...speeds));
    const texts = family.map(({group}) => settingsText(only(group.settings, (key) => group.swept.includes(key))));
    return new Card({
      ...made[first], state: {...made[first].state, chosen: first},
      controls: (state, redraw) => [choice("settings", texts, first, (i) => {
        state.chosen = i;
        redraw();
      }), ...made[first].controls(state, redraw)],
      make: (state) => made[state.chosen].make(state),
    });
  });
}

// Ladders

/** Whether it is what ratios to the vendor's library are ratios to. */
const isBar = (c) => ["vendor", "peer"].includes(c.role) && c.ratio_to_vendor === 1;
const roleNames = {own: "this project", reference: "textbook", vendor: "vendor's library", peer: "other library or program",
  ceiling: "ceiling", demonstration: "demonstration"};

function swatch(name, text) {
  const square = el("i");
  square.style.background = color(name);
  return el("span", {class: "key"}, square, text);
}

/** Choice of a size, where there are several. */
function sizeChoice(group, state, redraw) {
  if (group.sizes.length < 2) return [];
  return [choice("size", group.sizes.map(sizeText), group.sizes.indexOf(state.size), (i) => {
    state.size = group.sizes[i];
    redraw();
  })];
}

/**
 * What each rung gains over the fastest above it, as report --ladder tells it: a step that only shows what another is
 * worth is slower, and the next one does not build on it.
 */
function gainsOf(items) {
  const gains = new Map();
  if (areCalls(items) || new Set(items.map(({c}) => askedOf(c))).size > 1) return gains;
  results.forEach((_, r) => {
    let fastest = 0;
    for (const {c} of items.filter((item) => item.r === r && item.c.role === "own" && item.c.rate > 0)) {
      if (fastest > 0) gains.set(c, c.rate / fastest);
      fastest = Math.max(fastest, c.rate);
    }
  });
  return gains;
}

/** Of each result the highest rate that the rooflines of its measurements allow, or else the peak of its devices. */
function ceilingsOf(items) {
  const ceiling = (c) => (c.ceiling > 0 ? {value: c.ceiling, by: `${c.roof}, ${c.ceiling_is_measured ? "measured" : "nominal"}`}
    : c.percent_of_peak > 0 ? {value: 100 * c.rate / c.percent_of_peak, by: "peak"} : null);
  return results.flatMap((_, r) => items.filter((item) => item.r === r).map(({c}) => ceiling(c)).filter(Boolean).sort((a, b) => b.value - a.value).slice(0, 1)
    .map(({value, by}) => ({value, text: `${inResult(r)}${rate(value, items[0].c.unit)} (${by})`})));
}

function ladder(group, about) {
  const most = Math.max(...group.sizes.map((size) => new Set(ofSize(group, size).map((item) => item.series)).size));
  const size = group.sizes.findLast((s) => new Set(ofSize(group, s).map((item) => item.series)).size === most);
  return {
    title: group.title, note: [about, group.sizes.length === 1 ? `size ${sizeText(size)}` : ""].filter(Boolean).join(" · "),
    state: {size}, controls: (state, redraw) => sizeChoice(group, state, redraw),
    make(state, width) {
      const items = ofSize(group, state.size);
      const series = group.series.filter((name) => items.some((item) => item.series === name));
      const inScope = results.map((_, r) => r).filter((r) => items.some((item) => item.r === r));
      const gains = gainsOf(items);
      const gainText = (c) => (gains.has(c) ? `× ${ratio(gains.get(c))}` : "");
      // A narrow chart has no room for gains, which the table has, too.
      const ends = (c) => {
        if (!c) return "";
        const share = !isBar(c) && isNumber(c.ratio_to_vendor) ? ` (${Math.round(100 * c.ratio_to_vendor)} %)` : "";
        return `${valueText(group, valueOf(group, c))}${share}${gains.has(c) && !isNarrow() ? `, ${gainText(c)}` : ""}${isSuspect(c) ? " SUSPECT" : ""}`;
      };
      const datasets = inScope.map((r, k) => {
        const cases = series.map((name) => findItem(items, name, r)?.c);
        return {label: isMany ? `${names[r]} · ${results[r].run.run_id}` : "_measured", data: cases.map((c) => (c ? valueOf(group, c) : null)),
          ends: cases.map(ends), errors: cases.map((c) => errorOf(group, c)), maxBarThickness: 22, pointStyle: "rect", borderRadius: 2,
          backgroundColor: isMany ? seriesColor(k) : cases.map((c) => color(c?.role || "own"))};
      });
      const published = series.map((name) => items.find((item) => item.series === name && item.c.published)?.c.published);
      const on = [...new Set(published.filter(Boolean).map((p) => p.device ?? "another device"))].join(", ");
      if (group.hasRate && published.some(Boolean)) {
        datasets.push({type: "line", indexAxis: "y", showLine: false, label: `published, ${on}`, pointStyle: "rectRot", pointRadius: 6,
          data: published.map((p) => p?.rate ?? null), borderColor: color("published"), backgroundColor: "transparent", borderWidth: 2, order: -1});
      }
      const vendors = inScope.map((r) => items.find((item) => item.r === r && isBar(item.c))).filter(Boolean).map(({c}) => valueOf(group, c));
      const values = items.map(({c}) => valueOf(group, c)).filter(isNumber);
      // Transports differ by orders of magnitude; a rung of a ladder is what it is of the whole.
      const type = new Set(items.map(({c}) => askedOf(c))).size > 1 ? scaleOf(values) : "linear";
      const ceilings = group.hasRate ? ceilingsOf(items) : [];
      const kFar = 3;  // beyond which bars would be too short to compare
      const drawn = ceilings.filter(({value}) => value < kFar * Math.max(...values));
      const longest = Math.max(...datasets.flatMap((d) => (d.ends ?? []).map((text) => text.length)));
      const fastest = best(group, state.size, inScope[0]).own;
      const roles = [...new Set(items.map(({c}) => c.role || "own"))];
      const right = 8 + longest * (isNarrow() ? 5.6 : 6.2);
      const labels = series.map((name) => wrapped(name, lettersOf(width - right)));
      const tallest = Math.max(...labels.map((label) => label.length));
      return {
        height: 44 + series.length * Math.max(26, 6 + 17 * inScope.length, 6 + 14 * tallest) + (isMany || published.some(Boolean) ? 30 : 0),
        label: `Bars of ${plural(series.length, "variant")}; the fastest of this project is ${fastest?.series}, ${fastest ? valueText(group, valueOf(group, fastest.c)) : ""}.`,
        said: [
          ...(isMany ? [] : roles.map((role) => swatch(role, roleNames[role]))),
          ...ceilings.map((ceiling) => swatch("ceiling", `ceiling ${ceiling.text}${drawn.includes(ceiling) ? "" : ", beyond the chart"}`)),
          published.some(Boolean) ? `Diamonds: what the sources of the techniques published, for ${on}.` : ""],
        config: {type: "bar", data: {labels, datasets}, options: {
          indexAxis: "y", layout: {padding: {right}},
          scales: {x: axis(group.hasRate ? "" : "median time, shorter is better", {type, text: (x) => valueText(group, x),
            ...(type === "linear" ? {beginAtZero: true, suggestedMax: Math.max(0, ...drawn.map(({value}) => value))} : {min: Math.min(...values) / 2})}),
            y: axis("", {type: "category", grid: {display: false}, ticks: {autoSkip: false, color: color("text")}})},
          plugins: {marks: {at: [...vendors.map((value) => ({value, color: color("vendor")})), ...drawn.map(({value}) => ({value, color: color("ceiling")}))]},
            tooltip: {callbacks: {label: (point) => `${point.dataset.label.replace(/^_measured$/, "measured")}: ${valueText(group, point.raw)}`}}}}},
        table: {
          head: [...(isMany ? [column("result")] : []), column("variant"), column("what"), ...numbers("median", "rate", "over the fastest above", "95 % interval of the median", "vs vendor", "% of peak", "published"), column("published on"), column("source")],
          rows: inScope.flatMap((r) => series.map((name) => findItem(items, name, r)).filter(Boolean).map(({c, series: name}) => [
            ...(isMany ? [names[r]] : []), name, roleNames[c.role] ?? "-", seconds(c.median_s), c.rate === null ? "-" : rate(c.rate, c.unit), gainText(c) || "-",
            isNumber(c.median_low_s) ? `[${seconds(c.median_low_s)}, ${seconds(c.median_high_s)}]` : "-",
            versusVendor(c), percent(c.percent_of_peak),
            c.published ? rate(c.published.rate, c.unit) : "-", c.published?.device ?? "-", c.published?.source ?? "-"]))},
        pointOf: (i) => ({datasetIndex: Math.floor(i / series.length), index: i % series.length}),
      };
    },
  };
}

// Size sweeps

/**
 * What the sizes of a group lie on: the extent that changes where one does, or several alike, as of cubes; else the
 * work, with a line for each shape, as larger is then more of several things.
 */
function placesOf(group) {
  const all = group.items.map(({c}) => c.extents);
  const changing = all[0].map((_, i) => i).filter((i) => all.some((extents) => extents[i] !== all[0][i]));
  const first = changing[0] ?? 0;
  if (all.every((extents) => changing.every((i) => extents[i] === extents[first]))) {
    const shape = all[0].map((n, i) => (changing.includes(i) ? "n" : count(n))).join("\u00a0×\u00a0");
    return {title: shape === "n" ? "elements" : `n of ${shape}`, of: (c) => c.extents[first], text: count, shapeOf: () => ""};
  }
  const unit = group.unit.replace("/s", "") || "work";
  return {title: `${unit} of one repetition`, of: workOf, text: (x) => (unit === "B" ? bytes(x) : rate(x, unit)),
    shapeOf: (c) => changing.map((i) => digits(c.extents[i] / c.extents[first])).join(":")};
}

/** Of a line in result r: this project's have colours in turn, others those of their roles. */
function lookIn(own, series, c, r) {
  const k = own.indexOf(series);
  const look = k < 0 ? {color: color(c.role), dash: [6, 3], point: "circle"} : ownLook(k);
  return isMany ? {...look, dash: seriesDash(8 * r), point: seriesPoint(r)} : look;
}
const isOwn = ({c}) => (c.role || "own") === "own";
/** What lines may show of a measurement. */
const kindsOf = (group) => [...(group.hasRate ? [{name: "rate", of: (c) => c.rate, error: (c) => errorOf(group, c), text: (x) => rate(x, group.unit), log: true}] : []),
  {name: "median time", of: (c) => c.median_s, error: (c) => span(c.median_low_s, c.median_high_s), text: seconds, log: true},
  ...(group.hasVendor ? [{name: "ratio to the vendor's rate", of: (c) => c.ratio_to_vendor, error: (c) => span(c.ratio_to_vendor_low, c.ratio_to_vendor_high), text: ratio, log: false}] : [])];

function sweep(group, about) {
  const places = placesOf(group), kinds = kindsOf(group);
  const own = group.series.filter((series) => isOwn(group.items.find((item) => item.series === series)));
  return {
    title: group.title, note: about, state: {kind: 0},
    controls: (state, redraw) => [choice("show", kinds.map((kind) => kind.name), state.kind, (i) => {
      state.kind = i;
      redraw();
    })],
    make(state) {
      const kind = kinds[state.kind];
      const lines = results.flatMap((_, r) => group.series.map((series) => ({r, series, items: group.items
        .filter((item) => item.r === r && item.series === series && kind.of(item.c) > 0).sort((a, b) => places.shapeOf(a.c).localeCompare(places.shapeOf(b.c)) || places.of(a.c) - places.of(b.c))})))
        .filter((line) => line.items.length > 1);
      const values = lines.flatMap((line) => line.items.map(({c}) => kind.of(c)));
      const isLog = kind.log && scaleOf(values) === "logarithmic";
      const lookOf = ({r, series, items: [{c}]}) => lookIn(own, series, c, r);
      return {
        height: 360, label: `${plural(lines.length, "line")} over ${plural(group.sizes.length, "size")}.`,
        said: values.length && lines.some(({items}) => items.some(({c}) => isSuspect(c))) ? "Hollow points are SUSPECT." : "",
        config: {type: "line", data: {datasets: lines.map((line) => {
          const look = lookOf(line);
          return {
            label: `${inResult(line.r)}${line.series}`, data: line.items.map(({c}) => ({x: places.of(c), y: kind.of(c), size: c.size})),
            errors: line.items.map(({c}) => kind.error(c)),
            borderColor: look.color, backgroundColor: look.color, borderWidth: 2, clip: 8, borderDash: look.dash, pointStyle: look.point, pointRadius: 3.5,
            pointBackgroundColor: line.items.map(({c}) => (isSuspect(c) ? color("card") : look.color)),
            // No line from one shape to another.
            segment: {borderColor: ({p0DataIndex, p1DataIndex}) => (places.shapeOf(line.items[p0DataIndex].c) === places.shapeOf(line.items[p1DataIndex].c) ? undefined : "transparent")}};
        })},
        options: {interaction: {mode: "nearest", intersect: false}, scales: {
          x: axisAt(places.title, lines.flatMap((line) => line.items.map(({c}) => places.of(c))), {ticks: {callback: places.text}}),
          y: axis(kind.name, {type: isLog ? "logarithmic" : "linear", beginAtZero: !isLog, text: kind.text})},
          plugins: {tooltip: {callbacks: {title: (points) => sizeText(points[0].raw.size), label: (p) => `${p.dataset.label}: ${kind.text(p.raw.y)}`}}}}},
        table: {head: [column("series"), column("size"), ...numbers("rate", "median", "vs vendor")],
          rows: lines.flatMap((line) => line.items.map(({c}) => [`${inResult(line.r)}${line.series}`, sizeText(c.size), c.rate === null ? "-" : rate(c.rate, c.unit), seconds(c.median_s), ratio(c.ratio_to_vendor)]))},
        pointOf(i) {
          let k = 0;
          while (i >= lines[k].items.length) i -= lines[k++].items.length;
          return {datasetIndex: k, index: i};
        },
      };
    },
  };
}

// Sweeps over other keys

/** What may differ between the cases of a sweep beside their sizes. */
const choicesOf = ({c}) => ({...c.sweep.keys, type: c.type, ...(c.grid ? {grid: c.grid} : {}), ...(askedOf(c) ? {transport: askedOf(c)} : {})});

/** Of what a sweep made of a case, the rates over each key that differs, at one choice of all others. */
function keySweep(items) {
  const {c: first} = items[0];
  const group = {items, unit: first.unit, hasRate: items.some(({c}) => c.rate !== null), hasVendor: items.some(({c}) => isNumber(c.ratio_to_vendor) && c.role !== "vendor")};
  const kinds = kindsOf(group);
  const known = new Map(items.map((item) => [item, {...choicesOf(item), size: sizeText(item.c.size)}]));
  const valuesOf = (key) => [...new Set(items.map((item) => known.get(item)[key]).filter((value) => value !== undefined))];
  const differing = [...new Set([...known.values()].flatMap(Object.keys))].filter((key) => valuesOf(key).length > 1);
  const keys = differing.filter((key) => key !== "size");
  if (keys.length === 0) return null;
  const atOf = (item, key) => settingsText(only(known.get(item), (other) => differing.includes(other) && other !== key));
  const placesAt = (key) => [...new Set(items.map((item) => atOf(item, key)))];
  const speed = ({c}) => (group.hasRate ? c.rate ?? 0 : 1 / c.median_s);
  const fastest = items.filter(isOwn).sort((a, b) => speed(b) - speed(a))[0] ?? items[0];
  const own = [...new Set(items.filter(isOwn).map(({c}) => c.variant))];
  const common = settingsText(only(settingsOf(first), (key) => !differing.includes(key)));
  return new Card({
    title: `${first.sweep.name}: ${first.workload}${keys.includes("type") ? "" : ` ${first.type}`} by ${keys.join(", ")}`, note: common, state: {key: keys[0], at: atOf(fastest, keys[0]), kind: 0},
    controls(state, redraw) {
      const places = el("span");
      const offer = () => places.replaceChildren(...(placesAt(state.key).length > 1 ? [choice("at", placesAt(state.key), placesAt(state.key).indexOf(state.at), (i) => {
        state.at = placesAt(state.key)[i];
        redraw();
      })] : []));
      offer();
      return [...(keys.length > 1 ? [choice("over", keys, 0, (i) => {
        state.key = keys[i];
        state.at = atOf(fastest, state.key);
        offer();
        redraw();
      })] : []), places, choice("show", kinds.map((kind) => kind.name), 0, (i) => {
        state.kind = i;
        redraw();
      })];
    },
    make(state) {
      const {key} = state, kind = kinds[state.kind], values = valuesOf(key);
      const here = items.filter((item) => atOf(item, key) === state.at);
      const series = results.flatMap((_, r) => [...new Set(here.filter((item) => item.r === r).map(({c}) => c.variant))].map((variant) => ({r, variant,
        cases: values.map((value) => here.find((item) => item.r === r && item.c.variant === variant && known.get(item)[key] === value)?.c)})));
      const numbersOf = ({cases}) => cases.map((c) => (c ? kind.of(c) : null));
      const shown = series.flatMap(numbersOf).filter(isNumber);
      const type = kind.log ? scaleOf(shown) : "linear";
      return {
        height: 340, label: `${plural(series.length, "line")} over ${plural(values.length, "value")} of ${key}.`,
        said: series.some(({cases}) => cases.some((c) => c && isSuspect(c))) ? "Hollow points are SUSPECT." : "",
        config: {type: "line", data: {labels: values, datasets: series.map((line) => {
          const look = lookIn(own, line.variant, line.cases.find(Boolean), line.r);
          return {label: `${inResult(line.r)}${line.variant}`, data: numbersOf(line), errors: line.cases.map((c) => (c ? kind.error(c) : null)), spanGaps: true,
            borderColor: look.color, backgroundColor: look.color, borderWidth: 2, borderDash: look.dash, pointStyle: look.point, pointRadius: 3.5, clip: 8,
            pointBackgroundColor: line.cases.map((c) => (c && isSuspect(c) ? color("card") : look.color))};
        })},
        options: {interaction: {mode: "nearest", intersect: false}, scales: {x: axis(key, {type: "category", offset: true}), y: axis(kind.name, {type, beginAtZero: type === "linear", text: kind.text})},
          plugins: {legend: {display: true, position: "bottom", labels: legendLabels()},
            tooltip: {callbacks: {title: (points) => `${key} = ${points[0].label}`, label: (p) => `${p.dataset.label}: ${kind.text(p.raw)}`}}}}},
        table: {head: [column("series"), column(key), ...numbers("rate", "median", "vs vendor")], rows: series.flatMap((line) => line.cases.flatMap((c, i) => (c
          ? [[`${inResult(line.r)}${line.variant}`, values[i], c.rate === null ? "-" : rate(c.rate, c.unit), seconds(c.median_s), versusVendor(c)]] : [])))},
        pointOf(i) {
          const there = series.flatMap(({cases}, datasetIndex) => cases.flatMap((c, index) => (c ? [{datasetIndex, index}] : [])));
          return there[i];
        },
      };
    },
  });
}

function keySweeps(items) {
  const found = new Map();
  for (const item of items) {
    const key = JSON.stringify([item.c.sweep.name, item.c.workload]);
    found.set(key, [...(found.get(key) ?? []), item]);
  }
  return [...found.values()].map(keySweep).filter(Boolean);
}

// Roofline

/** The distinct pairs of peaks that measurements were compared with. */
function roofs(items) {
  const found = new Map();
  for (const {c} of items) {
    const {compute_peak: compute, memory_peak: memory} = c.roofline;
    const type = [c.type, c.settings.compute].filter(Boolean).join(" as ");
    if (compute > 0 || memory > 0) found.set(`${compute}/${memory}`, {compute, memory, type, peaks: c.roofline});
  }
  return [...found.values()];
}

/** The highest rate at which a second-level cache served what does nothing but read; 0 where none was measured. */
const secondLevelRate = (r) => Math.max(0, ...timed.filter(({c, r: of}) => of === r && c.roofline.flop === 0 && c.roofline.second_level_bytes > 0 && !isSuspect(c))
  .map(({c}) => c.roofline.second_level_bytes / c.median_s));

/** By which bytes a kernel's intensity may be taken; 0 where they are not known. Above the memory's slope as threads ask, caches serve them. */
const traffics = [
  {name: "of memory, compulsory", unit: "of compulsory traffic", intensity: (of) => of.flop / of.bytes},
  {name: "of the L2 cache, as kernels cause it", unit: "of the L2 cache", intensity: (of) => (of.second_level_bytes > 0 ? of.flop / of.second_level_bytes : 0)},
  {name: "of memory, as threads ask", unit: "that threads ask of memory", intensity: (of) => of.asked_intensity ?? 0},
];

function roofline(items, title) {
  const measured = items.filter(({c}) => c.roofline.flop > 0 && c.roofline.bytes > 0);
  const yOf = (c) => c.roofline.flop / c.median_s;
  const still = items.filter(({c}) => c.roofline.flop === 0 && c.roofline.bytes > 0);
  const known = traffics.filter(({intensity}) => measured.some(({c}) => intensity(c.roofline) > 0));
  const cacheRate = secondLevelRate(items[0].r);
  return new Card({
    title, wide: true, state: {traffic: 0},
    controls: (state, redraw) => (known.length > 1 ? [choice("traffic", known.map(({name}) => name), 0, (i) => {
      state.traffic = i;
      redraw();
    })] : []),
    make(state) {
      const {intensity, unit} = known[state.traffic] ?? traffics[0];
      const xOf = ({roofline}) => intensity(roofline);
      const points = measured.filter(({c}) => xOf(c) > 0);
      const kinds = [...new Set(points.map(({c}) => `${c.workload} ${c.type}`))];
      const lines = roofs(points);
      const highest = Math.max(0, ...lines.map((roof) => roof.compute));
      const xs = points.map(({c}) => xOf(c));
      const knees = lines.filter((roof) => roof.compute > 0).flatMap((roof) => [roof.memory, cacheRate].filter((slope) => slope > 0).map((slope) => roof.compute / slope));
      const low = 10 ** Math.floor(Math.log10(Math.min(...xs, ...knees) / 1.5)), high = 10 ** Math.ceil(Math.log10(Math.max(...xs, ...knees) * 1.5));
      const sorted = kinds.flatMap((kind) => points.filter(({c}) => `${c.workload} ${c.type}` === kind));  // as drawn
      const top = [...sorted, ...still];
      const anyRoof = lines.some((roof) => roof.memory > 0);
      const nameOf = (roof) => `${roof.type}: ${[[roof.compute, "FLOP/s", roof.peaks.compute_is_measured], [roof.memory, "B/s", roof.peaks.memory_is_measured]]
        .filter(([peak]) => peak > 0).map(([peak, unit, measured]) => `${rate(peak, unit)} ${measured ? "measured" : "nominal"}`).join(", ")}`;
      return {
        height: isNarrow() ? 380 : 480,
        label: `${plural(points.length, "kernel")} by operations for each byte and by rate, under ${plural(lines.length, "roof")}.`,
        said: [lines.length === 0 ? "No peak is known of this device: run inputs/peak.toml with the cases, or before them in one input."
          : anyRoof ? "" : "The bandwidth of this device's memory is not known, so that there is no slope: inputs/peak.toml measures it.",
          lines.length ? `Roofs: ${lines.map(nameOf).join("; ")}.` : "",
          still.length ? `Without operations, and so not here but in the table: ${plural(still.length, "measurement")}.` : ""].filter(Boolean).join(" "),
        config: {type: "scatter", data: {datasets: [
          ...kinds.map((kind, k) => ({label: kind, pointStyle: seriesPoint(k), pointRadius: 5, pointHoverRadius: 7, backgroundColor: seriesColor(k), borderColor: seriesColor(k), borderWidth: 1.5,
            data: points.filter(({c}) => `${c.workload} ${c.type}` === kind).map((item) => ({x: xOf(item.c), y: yOf(item.c), item}))})),
          ...lines.map((roof) => ({type: "line", label: `_roof`, order: 1, pointRadius: 0, borderColor: color("ceiling"), borderWidth: 1.5, borderDash: roof.peaks.compute_is_measured ? [] : [6, 4],
            end: roof.compute > 0 ? rate(roof.compute, "FLOP/s") : "",
            data: (roof.memory > 0 && roof.compute > 0 ? [low, roof.compute / roof.memory, high] : [low, high])
              .map((x) => ({x, y: Math.min(roof.memory > 0 ? roof.memory * x : Infinity, roof.compute > 0 ? roof.compute : Infinity)}))})),
          ...(cacheRate > 0 ? [{type: "line", label: `L2 cache, ${rate(cacheRate, "B/s")} measured`, order: 1, pointRadius: 0, pointStyle: "line", borderColor: color("ceiling"), borderWidth: 1.5, borderDash: [2, 3],
            data: [low, highest > 0 ? highest / cacheRate : high].map((x) => ({x, y: cacheRate * x}))}] : [])]},
        plugins: [{id: "roofRates", afterDatasetsDraw(chart) {
          const {ctx, chartArea} = chart;
          ctx.save();
          ctx.font = chartFont();
          ctx.fillStyle = color("faint");
          ctx.textBaseline = "middle";
          // Right of the chart, from the top down, none over another.
          let last = -Infinity;
          chart.data.datasets.map((dataset, k) => ({text: dataset.end, at: chart.getDatasetMeta(k).data.at(-1)?.y})).filter((roof) => roof.text)
            .sort((a, b) => a.at - b.at).forEach((roof) => {
              last = Math.max(last + 13, roof.at);
              ctx.fillText(roof.text, chartArea.right + 6, last);
            });
          ctx.restore();
        }}],
        options: {layout: {padding: {right: 96}}, scales: {x: axis(`FLOP for each byte ${unit}`, {type: "logarithmic", min: low, max: high}),
          y: axis("FLOP/s", {type: "logarithmic", text: (x) => rate(x, "FLOP/s"), max: 3 * Math.max(...points.map(({c}) => yOf(c)), ...lines.map((roof) => roof.compute))})},
          plugins: {tooltip: {filter: (p) => Boolean(p.raw.item), callbacks: {label: ({raw}) => raw.item
            ? `${describe(raw.item)}: ${rate(raw.y, "FLOP/s")}${isNumber(raw.item.c.percent_of_ceiling) ? `, ${percent(raw.item.c.percent_of_ceiling)} of the ceiling` : ""}` : ""}}}}},
        table: {head: [column("measurement"), ...numbers("FLOP/B", "intensity as asked", "rate", "ceiling", "% reached"), column("roof"), column("peak"), column("limit")],
          rows: top.map((item) => [describe(item), digits(item.c.intensity), digits(item.c.roofline.asked_intensity), rate(item.c.rate, item.c.unit), item.c.ceiling ? rate(item.c.ceiling, item.c.unit) : "-",
            meter(item.c.percent_of_ceiling), item.c.roof ?? "-", item.c.ceiling === null ? "-" : item.c.ceiling_is_measured ? "measured" : "nominal", item.c.limit ?? "-"])},
        pointOf(i) {
          if (i >= sorted.length) return null;
          let k = 0;
          const n = (kind) => points.filter(({c}) => `${c.workload} ${c.type}` === kinds[kind]).length;
          while (i >= n(k)) i -= n(k++);
          return {datasetIndex: k, index: i};
        },
      };
    },
  });
}

// Charts of secondary metrics

const extraOf = (c, name) => c.extras.find((extra) => extra.name === name)?.rate ?? null;
/** Whether its results are secondary metrics, which have charts of their own in place of those of times. */
const hasOwnCharts = (group) => group.items.some(({c}) => c.workload in data.drawn);
const partRoles = ["own", "reference", "vendor", "peer"], spanRoles = ["own", "vendor"];

/** The charts of a case, or of all that a sweep made of it: a bar, or a line, for each variant. */
function ownCharts(items) {
  const [{c: first}] = items;
  const hasSizes = items.some(({c}) => !sameSize(c.size, first.size));
  const rows = items.map((item) => {
    const {size, sweep} = item.c;
    const lines = [`${inResult(item.r)}${item.series}`, ...(hasSizes ? [`size ${sizeText(size)}`] : []),
      ...Object.entries(sweep.keys).map(([key, value]) => `${key} ${value}`)];
    return {c: item.c, lines, name: lines.join(", "), of: (name) => extraOf(item.c, name)};
  });
  const labels = rows.map(({lines}) => lines);
  const height = 26 + 14 * Math.max(...labels.map((lines) => lines.length - 1)) + 4;
  const bars = (label, name, values, rest) => ({label, data: values, backgroundColor: color(name), maxBarThickness: 22, borderRadius: 2, pointStyle: "rect", ...rest});
  const variants = (stacked) => axis("", {type: "category", stacked, grid: {display: false}, ticks: {autoSkip: false, color: color("text")}});
  const extras = new Map(rows.flatMap(({c}) => c.extras.map(({name, unit}) => [name, unit])));
  const extraText = (x, unit) => (unit === "s" ? seconds(x) : unit === "%" ? percent(x) : unit === "B" ? bytes(x) : unit.endsWith("/s") ? rate(x, unit) : digits(x));
  const labelOf = ({label, metric}) => label || metric;

  const makers = {
    rates({title, parts: [{metric}]}) {
      const text = (x) => extraText(x, extras.get(metric));
      const values = rows.map(({of}) => of(metric));
      const most = values.indexOf(Math.max(...values));
      return {
        height: 44 + height * rows.length, label: `${title} of ${plural(rows.length, "measurement")}; the most by ${rows[most].name}, ${text(values[most])}.`,
        config: {type: "bar", data: {labels, datasets: [bars("_", "own", values, {ends: values.map(text)})]},
          options: {indexAxis: "y", layout: {padding: {right: 105}}, scales: {x: axis("", {beginAtZero: true, text}), y: variants(true)},
            plugins: {tooltip: {callbacks: {label: (p) => text(p.raw)}}}}},
        table: {head: [column("variant"), ...numbers(...extras.keys())], rows: rows.map(({name, of}) => [name, ...[...extras].map(([extra, unit]) => extraText(of(extra), unit))])},
        pointOf: (i) => ({datasetIndex: 0, index: i}),
      };
    },
    spans({parts}) {
      const text = (x) => extraText(x, extras.get(parts[0].metric));
      const spans = parts.map(({metric, to}) => rows.map(({of}) => (of(metric) > 0 ? [of(metric), of(to)] : null)));
      const said = (pair) => (pair ? `${text(pair[0])} to ${text(pair[1])}` : "");
      return {
        height: 84 + Math.max(44, height) * rows.length,
        label: rows.map(({name}, i) => parts.map((part, k) => (spans[k][i] ? `${name}, ${labelOf(part)}: ${said(spans[k][i])}` : "")).filter(Boolean).join("; ")).join("; ") + ".",
        config: {type: "bar", data: {labels, datasets: parts.map((part, k) => bars(labelOf(part), spanRoles[k], spans[k], {ends: spans[k].map(said), minBarLength: 4, maxBarThickness: 16}))},
          options: {indexAxis: "y", layout: {padding: {right: isNarrow() ? 105 : 120}}, scales: {x: axis("", {type: scaleOf(spans.flat(2).filter(isNumber)), text}), y: variants(false)},
            plugins: {tooltip: {callbacks: {label: (p) => `${p.dataset.label}: ${said(p.raw)}`}}}}},
        table: {head: [column("variant"), ...numbers(...parts.flatMap(({metric, to}) => [metric, to]))], rows: rows.map(({name, of}) => [name, ...parts.flatMap(({metric, to}) => [text(of(metric)), text(of(to))])])},
        pointOf: (i) => ({datasetIndex: 0, index: i}),
      };
    },
    shares({parts, others, rest}) {
      const shares = parts.map(({metric}) => rows.map(({of}) => of(metric)));
      const lost = rows.map((_, i) => shares.slice(1).reduce((sum, share) => sum + share[i], 0));
      const free = rows.map((_, i) => Math.max(0, 100 - shares[0][i] - lost[i]));
      return {
        height: 84 + height * rows.length, label: rows.map(({name}, i) => `${name}: ${percent(shares[0][i])} ${labelOf(parts[0])}, ${percent(lost[i])} ${others}`).join("; ") + ".",
        config: {type: "bar", data: {labels, datasets: [...parts.map((part, k) => bars(labelOf(part), partRoles[k], shares[k], {borderRadius: 0})),
          bars(rest, "soft", free, {borderRadius: 0, ends: lost.map((x) => `${percent(x)} ${others}`)})]},
          options: {indexAxis: "y", layout: {padding: {right: 110}}, scales: {x: axis("", {stacked: true, min: 0, max: 100, text: (x) => `${x} %`}), y: variants(true)},
            plugins: {tooltip: {callbacks: {label: (p) => `${p.dataset.label}: ${percent(p.raw)}`}}}}},
        table: {head: [column("variant"), ...numbers(...parts.map(labelOf), rest)], rows: rows.map(({name}, i) => [name, ...[...shares, free].map((share) => percent(share[i]))])},
        pointOf: (i) => ({datasetIndex: 0, index: i}),
      };
    },
    over_time({parts: [{metric}]}) {
      const over = overTime(metric), count = Math.max(...over.map(({values}) => values.length));
      const middle = (i) => (100 * (i + 0.5)) / count;
      const looks = inTurn(over.map(({values}) => values));
      return {
        height: 280 + 18 * Math.max(0, over.length - 4),
        label: over.map(({name, values}) => `${name}: ${percent(values[0])} in the first of ${count} parts of the time, ${percent(values.at(-1))} in the last, at most ${percent(Math.max(...values))}`).join("; ") + ".",
        said: looks.some(({isShared}) => isShared) ? "Where lines lie on each other, their dashes and points take turns." : "",
        config: {type: "line", data: {datasets: over.map(({name, values}, k) => ({label: name, data: values.map((y, i) => ({x: middle(i), y})), borderColor: seriesColor(k), backgroundColor: seriesColor(k),
          borderDash: seriesDash(k), pointStyle: seriesPoint(k), pointRadius: looks[k].pointRadius, segment: looks[k].segment, borderWidth: 2}))},
          options: {interaction: {mode: "nearest", intersect: false}, scales: {x: axis("time", {type: "linear", min: 0, max: 100, text: (x) => `${x} %`}), y: axis("", {min: 0, text: (x) => `${digits(x)} %`})},
            plugins: {legend: {display: true, position: "bottom", labels: legendLabels()},
              tooltip: {callbacks: {title: (points) => `at ${digits(points[0].raw.x)} % of the time`, label: (p) => `${p.dataset.label}: ${percent(p.raw.y)}`}}}}},
        table: {head: [column("variant"), ...numbers(...Array.from({length: count}, (_, i) => `${i + 1}/${count}`))], rows: over.map(({name, values}) => [name, ...values.map(percent)])},
        pointOf: (i) => ({datasetIndex: i, index: 0}),
      };
    },
  };
  const overTime = (series) => rows.flatMap(({c, name}) => (c.over_time?.[series] ? [{name, values: c.over_time[series]}] : []));
  const shown = data.drawn[first.workload].charts.filter(({kind, parts: [{metric}]}) => kind !== "over_time" || overTime(metric).length);
  const cards = shown.map((chart) => new Card({title: `${chart.title} · ${first.sweep.name}`, note: chart.note, make: () => makers[chart.kind](chart)}));
  const common = only(first.settings, (key) => !(key in first.sweep.keys));
  const note = [hasSizes ? "" : `size = ${sizeText(first.size)}`, settingsText(common)].filter(Boolean).join(", ");
  return [el("h3", {}, `${first.sweep.name} · ${first.workload} ${first.type}`), el("p", {class: "note"}, note),
    el("div", {class: "grid small"}, cards.map(({node}) => node))];
}

/** A section for each workload that draws its own charts: its cases by sweep and type. */
function ownSections() {
  const found = new Map();
  for (const item of groups.filter(hasOwnCharts).flatMap((group) => group.items)) {
    const {workload, sweep, type} = item.c, key = JSON.stringify([sweep.name, type]);
    if (!found.has(workload)) found.set(workload, new Map());
    found.get(workload).set(key, [...(found.get(workload).get(key) ?? []), item]);
  }
  for (const [workload, cases] of found) {
    section(workload, capitalised(workload), `${capitalised(data.drawn[workload].about)}.`, ...[...cases.values()].flatMap(ownCharts));
  }
}

// Overlap

function overlap(group, about) {
  const sizes = group.sizes.filter((size) => ofSize(group, size).some(({c}) => c.legs));
  return {
    title: group.title, note: about, state: {size: sizes.at(-1)},
    controls: (state, redraw) => sizeChoice({sizes}, state, redraw),
    make(state, width) {
      const items = ofSize(group, state.size).filter(({c}) => c.legs);
      const named = items.map((item) => ({item, name: `${inResult(item.r)}${item.series}`}));
      const bars = named.flatMap(({item, name}) => {
        const l = item.c.legs;
        const longer = Math.max(l.compute_s, l.communicate_s);
        const shown = isNumber(l.hidden) ? `, ${Math.round(100 * l.hidden)} % hidden` : "";
        return [
          {name},
          {name: "each alone", compute: l.compute_s, communicate: l.communicate_s, end: seconds(l.compute_s + l.communicate_s)},
          {name: "serial", serial: l.serial_s, end: seconds(l.serial_s)},
          // The longer part, and what of the shorter one is not hidden behind it.
          {name: "overlapped", [l.compute_s >= l.communicate_s ? "compute" : "communicate"]: Math.min(longer, l.overlapped_s), exposed: Math.max(0, l.overlapped_s - longer), end: `${seconds(l.overlapped_s)}${shown}`},
        ];
      });
      const stack = (label, key, fill, border) => ({label, data: bars.map((bar) => bar[key] ?? null), backgroundColor: fill, borderColor: border, borderWidth: border ? 1.5 : 0,
        maxBarThickness: 20, stack: "legs", pointStyle: "rect"});
      return {
        height: 90 + bars.length * 25,
        label: items.map((item) => `${item.series}: ${isNumber(item.c.legs.hidden) ? `${percent(100 * item.c.legs.hidden)} of the shorter part hidden` : "nothing to hide"}`).join("; ") + ".",
        config: {type: "bar", data: {labels: bars.map((bar) => wrapped(bar.name, lettersOf(width - 130))), datasets: [
          stack("compute", "compute", color("own")), stack("communicate", "communicate", color("vendor")),
          stack("one after the other, measured", "serial", color("reference")), stack("not hidden", "exposed", hatched("vendor"), color("vendor"))]},
        plugins: [{id: "stackEnds", afterDatasetsDraw(chart) {
          const {ctx, scales} = chart;
          ctx.save();
          ctx.font = chartFont();
          ctx.fillStyle = color("text");
          ctx.textBaseline = "middle";
          bars.forEach((bar, i) => {
            const end = (bar.compute ?? 0) + (bar.communicate ?? 0) + (bar.serial ?? 0) + (bar.exposed ?? 0);
            if (bar.end) textOnCard(ctx, bar.end, scales.x.getPixelForValue(end) + 5, scales.y.getPixelForValue(i));
          });
          ctx.restore();
        }}],
        options: {indexAxis: "y", layout: {padding: {right: isNarrow() ? 110 : 130}}, scales: {
          x: axis("", {stacked: true, beginAtZero: true, text: seconds}),
          y: axis("", {type: "category", stacked: true, grid: {display: false}, ticks: {autoSkip: false, color: color("text")}})},
          plugins: {tooltip: {callbacks: {label: (p) => `${p.dataset.label}: ${seconds(p.raw)}`}}}}},
        table: {head: [column("variant"), ...numbers("compute", "communicate", "serial", "overlapped", "hidden", "overlapped / longer part", "overlapped / compute", "overlapped / communicate")],
          rows: named.map(({item, name}) => {
            const l = item.c.legs;
            return [name, seconds(l.compute_s), seconds(l.communicate_s), seconds(l.serial_s), seconds(l.overlapped_s), interval(l.hidden, l.hidden_low, l.hidden_high, ratio),
              ratio(l.overlapped_over_max), ratio(l.slowdown_compute), ratio(l.slowdown_communicate)];
          })},
        pointOf: (i) => ({datasetIndex: 0, index: 4 * i + 1}),
      };
    },
  };
}

// Timelines

/** What spans of a trace are, in the colours of the legs. */
const spanLooks = {compute: "own", communicate: "vendor", copy: "series-2", wait: "reference"};
const spanKinds = {kernel: "compute", exchange: "communicate", message: "communicate", copy: "copy", wait: "wait"};

function timeline(items) {
  const start = Math.max(0, items.findIndex(({c}) => c.legs));
  return new Card({
    title: "One repetition", wide: true, state: {item: start},
    controls: (state, redraw) => [choice("measurement", items.map(describe), start, (i) => {
      state.item = i;
      redraw();
    })],
    make(state, width) {
      const {rows, spans} = data.timelines.drawn[items[state.item].c.id];
      const drawn = spans.filter(({kind}) => kind in spanKinds);  // the repetition itself lies around all
      const end = Math.max(...spans.map(({end_ns}) => end_ns)) / 1e9;
      const labels = rows.map(({rank, name}) => wrapped(`rank ${rank}, ${name}`, Math.max(12, Math.floor(width / 3 / 6.6))));
      const busy = (kind) => drawn.filter((one) => spanKinds[one.kind] === kind).reduce((sum, one) => sum + one.end_ns - one.begin_ns, 0) / 1e9;
      const kinds = Object.keys(spanLooks).filter((kind) => busy(kind) > 0);
      const text = ({name, label, begin_ns, end_ns}) => `${[name, label].filter(Boolean).join(", ")}: ${seconds((end_ns - begin_ns) / 1e9)}, from ${seconds(begin_ns / 1e9)} on`;
      return {
        height: 90 + rows.length * Math.max(24, 6 + 14 * Math.max(...labels.map((label) => label.length))),
        label: `${plural(drawn.length, "span")} in ${plural(rows.length, "row")} of ranks and streams, ${seconds(end)}; ${kinds.map((kind) => `${kind} ${seconds(busy(kind))}`).join(", ")}, all rows together.`,
        said: "Traced after the timed repetitions, all legs together, by the clock of rank 0.",
        config: {type: "bar", data: {datasets: kinds.map((kind) => {
          const mine = drawn.filter((one) => spanKinds[one.kind] === kind);
          return {label: kind, data: mine.map((span) => ({x: [span.begin_ns / 1e9, span.end_ns / 1e9], y: span.row, span})),
            backgroundColor: color(spanLooks[kind]), borderColor: color("card"), borderWidth: {left: 0, right: 0.5}, grouped: false, barThickness: 15, minBarLength: 1, pointStyle: "rect",
            order: kind === "wait" ? 1 : 0};
        })},
        options: {indexAxis: "y", scales: {x: axis("", {type: "linear", min: 0, max: end, text: seconds}),
          y: axis("", {type: "linear", reverse: true, min: -0.5, max: rows.length - 0.5, grid: {display: false}, afterBuildTicks: (scale) => {
            scale.ticks = labels.map((_, value) => ({value}));
          }, ticks: {autoSkip: false, color: color("text"), callback: (i) => labels[i]}})},
          plugins: {legend: {display: true, position: "bottom", labels: legendLabels()}, tooltip: {callbacks: {label: ({raw}) => text(raw.span)}}}}},
        table: {head: [...numbers("rank"), column("row"), column("what"), column("name"), column("part"), ...numbers("from", "time")],
          rows: kinds.flatMap((kind) => drawn.filter((one) => spanKinds[one.kind] === kind)).map((span) => [String(rows[span.row].rank), rows[span.row].name, spanKinds[span.kind], span.name, span.label || "-", seconds(span.begin_ns / 1e9), seconds((span.end_ns - span.begin_ns) / 1e9)])},
        pointOf(i) {
          const sizes = kinds.map((kind) => drawn.filter((one) => spanKinds[one.kind] === kind).length);
          let k = 0;
          while (i >= sizes[k]) i -= sizes[k++];
          return {datasetIndex: k, index: i};
        },
      };
    },
  });
}

// Links between ranks

const heat = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
function heatColor(t) {
  const at = Math.min(1, Math.max(0, t)) * (heat.length - 1);
  const i = Math.min(heat.length - 2, Math.floor(at));
  const [r, g, b] = heat[i].map((from, k) => Math.round(from + (heat[i + 1][k] - from) * (at - i)));
  return {fill: `rgb(${r},${g},${b})`, ink: 0.3 * r + 0.59 * g + 0.11 * b > 140 ? "#000" : "#fff"};
}

function pairMap(items) {
  const kinds = [{name: "rate", key: "rate", text: (x) => rate(x, "B/s"), short: (x) => digits(x / 1e9), unit: "GB/s", isGood: true},
    {name: "latency", key: "latency", text: seconds, short: (x) => digits(x * 1e6), unit: "µs", isGood: false}];
  return new Card({
    title: "Pairs of ranks", wide: true, state: {item: 0, kind: 0, byLink: 0},
    controls: (state, redraw) => [choice("measurement", items.map((item) => [describe(item), settingsText(settingsOf(item.c))].filter(Boolean).join(" · ")), 0, (i) => {
      state.item = i;
      redraw();
    }), choice("colours", ["of all pairs", "of pairs with the same link"], 0, (i) => {
      state.byLink = i;
      redraw();
    }), choice("show", kinds.map((kind) => kind.name), 0, (i) => {
      state.kind = i;
      redraw();
    })],
    make(state) {
      const {c} = items[state.item];
      const kind = kinds[state.kind];
      const p = c.pairs;
      const values = p[kind.key];
      const known = values.filter(isNumber);
      const low = Math.min(...known), high = Math.max(...known);
      const ranges = p.links.map((_, link) => {
        const mine = values.filter((value, i) => isNumber(value) && (!state.byLink || p.link[i] === link));
        return [Math.min(...mine), Math.max(...mine)];
      });
      /** From 0 for the least to 1, by ratios: links differ by orders of magnitude. */
      const place = (i) => {
        const [least, most] = ranges[p.link[i]];
        return most > least ? Math.log(values[i] / least) / Math.log(most / least) : 1;
      };
      const n = c.ranks;
      const worst = values.indexOf(kind.isGood ? low : high);
      const cell = (w, h) => {
        const left = 46, top = 40, size = Math.max(2, Math.min((w - left - 8) / n, (h - top - 40) / n));
        return {left, top, size};
      };
      const at = new Map(values.map((value, i) => [`${p.from[i]},${p.to[i]}`, i]));
      const draw = (ctx, w, h, chosen) => {
        const {left, top, size} = cell(w, h);
        ctx.clearRect(0, 0, w, h);
        ctx.font = "12px system-ui, sans-serif";
        ctx.textAlign = "center";
        ctx.textBaseline = "middle";
        ctx.fillStyle = color("faint");
        ctx.fillText("to rank", left + (size * n) / 2, 10);
        ctx.save();
        ctx.translate(9, top + (size * n) / 2);
        ctx.rotate(-Math.PI / 2);
        ctx.fillText("from rank", 0, 0);
        ctx.restore();
        const step = Math.max(1, Math.ceil(22 / size));
        for (let i = 0; i < n; i += step) {
          ctx.fillText(String(i), left + (i + 0.5) * size, top - 11);
          ctx.fillText(String(i), left - 14, top + (i + 0.5) * size);
        }
        values.forEach((value, i) => {
          const x = left + p.to[i] * size, y = top + p.from[i] * size;
          const t = place(i);
          const {fill, ink} = heatColor(kind.isGood ? t : 1 - t);
          ctx.fillStyle = isNumber(value) ? fill : color("soft");
          ctx.fillRect(x, y, size - (size > 6 ? 1 : 0), size - (size > 6 ? 1 : 0));
          if (size > 34 && isNumber(value)) {
            ctx.fillStyle = ink;
            ctx.fillText(kind.short(value), x + size / 2, y + size / 2);
          }
        });
        for (const [i, line] of [[worst, color("bad")], [chosen, color("text")]]) {
          if (i === undefined || i < 0) continue;
          ctx.strokeStyle = line;
          ctx.lineWidth = 3;
          ctx.strokeRect(left + p.to[i] * size + 1, top + p.from[i] * size + 1, size - 3, size - 3);
        }
        // The key: from the slowest to the fastest.
        const y = top + size * n + 14, width = Math.min(260, w - left - 8);
        for (let x = 0; x < width; ++x) {
          ctx.fillStyle = heatColor(x / width).fill;
          ctx.fillRect(left + x, y, 1, 10);
        }
        ctx.fillStyle = color("faint");
        ctx.textAlign = "left";
        ctx.fillText(state.byLink ? "slowest" : kind.text(kind.isGood ? low : high), left, y + 20);
        ctx.textAlign = "right";
        ctx.fillText(state.byLink ? "fastest of its link" : kind.text(kind.isGood ? high : low), left + width, y + 20);
      };
      const tip = (x, y) => {
        const {left, top, size} = cell(this.canvas.clientWidth, this.canvas.clientHeight);
        const i = at.get(`${Math.floor((y - top) / size)},${Math.floor((x - left) / size)}`);
        return i === undefined ? null : `${p.from[i]} to ${p.to[i]}: ${kind.text(values[i])}, ${p.links[p.link[i]]}`;
      };
      return {
        height: Math.min(n * 72, isNarrow() ? 330 : 560) + 90,
        label: `Matrix of ${n} by ${n} ranks in ${kind.unit}; the slowest is from ${p.from[worst]} to ${p.to[worst]}, ${kind.text(values[worst])}.`,
        said: `${kind.isGood ? `Messages of ${bytes(p.bytes)}` : "Messages of 8 bytes"}, ${kind.unit}, from a row's rank to a column's. Slowest, framed: ${p.from[worst]} to ${p.to[worst]}, ${kind.text(values[worst])} by ${p.links[p.link[worst]]}; fastest: ${kind.text(kind.isGood ? high : low)}.`,
        config: {}, paint: {draw, tip},
        table: {head: [...numbers("from", "to"), column("link"), ...numbers("latency", "rate")],
          rows: values.map((_, i) => [String(p.from[i]), String(p.to[i]), p.links[p.link[i]], seconds(p.latency[i]), rate(p.rate[i], "B/s")])},
      };
    },
  });
}

// Samples

function samplesCard(items) {
  const start = items.reduce((worst, item, i) => ((item.c.imbalance ?? 0) > (items[worst].c.imbalance ?? 0) ? i : worst), 0);
  const nodeOf = (item, rank) => {
    const place = item.result.run.ranks[rank];
    return place ? `rank ${rank} on ${place.node}${place.device === "host" ? "" : `, ${place.device}`}` : `rank ${rank}`;
  };
  return new Card({
    title: "Samples", wide: true, state: {item: start, by: items[start].c.ranks > 1 ? 0 : 1},
    controls: (state, redraw) => [choice("measurement", items.map(describe), start, (i) => {
      state.item = i;
      redraw();
    }), choice("by", ["rank", "repetition"], state.by, (i) => {
      state.by = i;
      redraw();
    })],
    make(state) {
      const item = items[state.item];
      const {c} = item;
      const rows = c.sampled.rows;
      const kept = rows.map((_, k) => Math.floor((k * c.sampled.of) / rows.length));
      const spread = rows.length > 1 ? 0.5 / rows.length : 0;
      const times = c.rank_times;
      const byRank = state.by === 0;
      const isSlow = (rank) => c.ranks > 1 && rank === c.slowest_rank;
      const datasets = [];
      if (byRank && times) {
        datasets.push({type: "bar", label: "least to largest", pointStyle: "rect", data: times.min.map((low, rank) => ({x: rank, y: [low, times.max[rank]]})), barThickness: Math.max(2, Math.min(22, 500 / c.ranks)),
          backgroundColor: times.min.map((_, rank) => (isSlow(rank) ? color("bad") : color("own")) + "40"), order: 3});
        datasets.push({type: "scatter", label: "median", pointStyle: "line", pointRadius: Math.max(3, Math.min(12, 260 / c.ranks)), borderWidth: 2.5, data: times.median.map((y, x) => ({x, y})),
          borderColor: times.median.map((_, rank) => (isSlow(rank) ? color("bad") : color("own"))), order: 1});
      }
      const dots = rows.flatMap((row, k) => row.map((y, rank) => (byRank ? {x: rank + (k - (rows.length - 1) / 2) * spread, y, rank} : {x: kept[k], y, rank})));
      datasets.push({type: "scatter", label: rows.length < c.sampled.of ? `${rows.length} of ${c.sampled.of} repetitions` : "repetitions", data: dots, pointRadius: 2, order: 2,
        backgroundColor: dots.map((dot) => (isSlow(dot.rank) ? color("bad") : color("own")))});
      const ys = [...dots.map(({y}) => y), ...(byRank && times ? [...times.min, ...times.max] : []), c.median_s];
      const [lowest, largest] = [Math.min(...ys), Math.max(...ys)];
      const margin = 0.05 * (largest - lowest || largest);
      const what = c.ranks > 1 && c.slowest_rank !== null ? `Slowest most often: ${nodeOf(item, c.slowest_rank)}; ${c.imbalance < 1.02 ? "all take the same time within 2 %" : `the slowest takes ${ratio(c.imbalance)} × the median time of the others`}.` : "";
      return {
        height: 340, label: `Times of ${plural(c.ranks, "rank")}, ${plural(c.sampled.of, "repetition")}, median ${seconds(c.median_s)}. ${what}`,
        said: [what, `Line and band: the median, ${seconds(c.median_s)}, and its 95 % interval.`, rows.length < c.sampled.of ? `Points: ${rows.length} of ${c.sampled.of} repetitions; medians and ranges are of all.` : "",
          c.batch > 1 ? `Each sample is the mean of ${c.batch} executions.` : ""].filter(Boolean).join(" "),
        config: {type: "scatter", data: {datasets}, plugins: [{id: "median", beforeDatasetsDraw({ctx, chartArea, scales}) {
          // The median of the slowest ranks' times, and its interval.
          const [at, low, high] = [c.median_s, c.median_low_s ?? c.median_s, c.median_high_s ?? c.median_s].map((y) => scales.y.getPixelForValue(y));
          ctx.save();
          ctx.fillStyle = `${color("own")}22`;
          ctx.fillRect(chartArea.left, high, chartArea.width, low - high);
          ctx.strokeStyle = color("faint");
          ctx.beginPath();
          ctx.moveTo(chartArea.left, at);
          ctx.lineTo(chartArea.right, at);
          ctx.stroke();
          ctx.restore();
        }}], options: {
          scales: {x: axis(byRank ? "rank" : "repetition", {type: "linear", offset: false, min: byRank ? -0.6 : -0.5, max: (byRank ? c.ranks - 0.4 : c.sampled.of - 0.5), ticks: {stepSize: 1, precision: 0, autoSkip: true, callback: (x) => (Number.isInteger(x) ? x : null)}, grid: {display: false}}),
            y: axis("time of a repetition", {type: "linear", text: seconds, min: lowest < 0.1 * largest ? 0 : Math.max(0, lowest - margin), max: largest + margin})},
          plugins: {tooltip: {callbacks: {label: ({raw}) => (Array.isArray(raw.y) ? `rank ${raw.x}: ${raw.y.map(seconds).join(" to ")}` : `rank ${raw.rank ?? raw.x}: ${seconds(raw.y)}`)}}}}},
        table: times ? {head: numbers("rank", "least", "median", "largest"), rows: times.min.map((_, rank) => [`${rank}${isSlow(rank) ? " (slowest)" : ""}`, seconds(times.min[rank]), seconds(times.median[rank]), seconds(times.max[rank])])}
          : {head: numbers("repetition", "slowest rank's time"), rows: rows.map((row, k) => [String(kept[k]), seconds(Math.max(...row))])},
        pointOf: (i) => ({datasetIndex: byRank && times ? 1 : 0, index: byRank || c.ranks === 1 ? i : i * c.ranks}),
      };
    },
  });
}

// Clocks and powers

/** Where nothing changes, an axis of some width; else what the values need. */
function around(values) {
  const [low, high] = [Math.min(...values.filter(isNumber)), Math.max(...values.filter(isNumber))];
  return high - low < 0.01 * high ? {suggestedMin: 0.95 * low, suggestedMax: 1.05 * high} : {};
}

function telemetry(r, key, title, text) {
  const items = timed.filter((item) => item.r === r && item.c[key]?.rows.length);
  if (items.length === 0) return [];
  // The time between repetitions is not known: one begins where the last ends.
  const rows = [], spans = [];
  let at = 0;
  for (const item of items) {
    const {rows: kept, of} = item.c[key];
    const from = at;
    for (const row of kept) {
      rows.push({row, item, at});
      at += item.c.median_s * (item.c.batch || 1) * of / kept.length;
    }
    spans.push({from, to: at});
  }
  const ranks = Math.max(...rows.map(({row}) => row.length));
  const few = ranks <= 8;
  const median = (row) => [...row].filter(isNumber).sort((a, b) => a - b)[Math.floor(row.length / 2)] ?? null;
  const lines = few ? Array.from({length: ranks}, (_, rank) => ({name: `rank ${rank}`, of: (row) => row[rank] ?? null}))
    : [{name: "lowest rank", of: (row) => Math.min(...row.filter(isNumber))}, {name: "median", of: median}, {name: "highest rank", of: (row) => Math.max(...row.filter(isNumber))}];
  const limits = [...new Set(items.flatMap(({c}) => c.clock_limits))];
  const limited = items.filter(({c}) => c.clock_limits.length > 0);
  const named = (item) => `${describe(item)}${item.c.clock_limits.length ? `; lowered by ${item.c.clock_limits.join(", ")}` : ""}`;
  return [new Card({
    title: `${title}${isMany ? ` · ${names[r]}` : ""}`, wide: true,
    make: () => ({
      height: 280, label: `After each sample of ${plural(items.length, "measurement")}, ${plural(rows.length, "sample")}.`,
      said: `One value after each sample; a shade for each measurement.${limits.length ? ` Clocks were lowered by ${limits.join(", ")} in ${plural(limited.length, "measurement")}.` : ""}`,
      config: {type: "line", data: {datasets: lines.map((line, k) => ({label: line.name, data: rows.map(({row, at: x}) => ({x, y: line.of(row)})),
        borderColor: seriesColor(k), backgroundColor: seriesColor(k), borderWidth: 1.3, pointRadius: rows.length < 60 ? 2 : 0, spanGaps: true}))},
      plugins: [{id: "measurements", beforeDatasetsDraw({ctx, chartArea, scales}) {
        ctx.save();
        ctx.fillStyle = `${color("faint")}1c`;
        spans.filter((_, i) => i % 2 === 1).forEach(({from, to}) => {
          const [left, right] = [from, to].map((x) => scales.x.getPixelForValue(x));
          ctx.fillRect(left, chartArea.top, right - left, chartArea.height);
        });
        ctx.restore();
      }}],
      options: {interaction: {mode: "index", intersect: false}, scales: {x: axis("time of the repetitions so far", {type: "linear", min: 0, max: at, text: seconds}), y: axis("", {text, ...around(rows.flatMap(({row}) => row))})},
        plugins: {tooltip: {callbacks: {title: (points) => named(rows[points[0].dataIndex].item), label: (p) => `${p.dataset.label}: ${text(p.raw.y)}`}}}}},
      table: {head: [column("measurement"), ...numbers("lowest", "median", "highest"), column("lowered by")], rows: items.map((item) => {
        const flat = item.c[key].rows.flat().filter(isNumber);
        return [describe(item), text(Math.min(...flat)), text(median(flat)), text(Math.max(...flat)), item.c.clock_limits.join(", ") || "-"];
      })},
    }),
  })];
}

// Scaling

function scalingCards(scaling) {
  const title = (curve) => `${curve.workload} ${curve.type} · ${curve.variant}${Object.keys(curve.settings).length ? ` · ${settingsText(curve.settings)}` : ""}`;
  const cards = [];
  for (const growth of ["strong", "weak"]) {
    const curves = scaling.curves.filter((curve) => curve.growth === growth);
    if (curves.length === 0) continue;
    const ranks = [...new Set(curves.flatMap((curve) => curve.points.map((p) => p.ranks)))].sort((a, b) => a - b);
    const about = growth === "strong" ? "the same work on more ranks" : "more work on more ranks";
    const rowsOf = (list) => list.flatMap((curve) => curve.points.map((p) => [title(curve), String(p.ranks), sizeText(p.size), seconds(p.seconds), rate(p.rate, curve.unit), ratio(p.speedup), percent(100 * p.efficiency), isNumber(p.serial) ? p.serial.toFixed(3) : "-", seconds(p.fit)]));
    const head = [column("measurement"), column("ranks", true), column("size"), ...numbers("median", "rate", "speedup", "efficiency", "serial part", "fit")];
    const pointOf = (list) => (i) => {
      let k = 0;
      while (i >= list[k].points.length) i -= list[k++].points.length;
      return {datasetIndex: k, index: i};
    };
    cards.push(new Card({
      title: `Efficiency, ${growth} scaling`, note: `${about}: the rate of each rank over that on the fewest ranks`,
      make: () => ({
        height: 380, label: `${plural(curves.length, "line")} over ${ranks.join(", ")} ranks.`, table: {head, rows: rowsOf(curves)}, pointOf: pointOf(curves),
        config: {type: "line", data: {datasets: curves.map((curve, k) => ({label: title(curve), data: curve.points.map((p) => ({x: p.ranks, y: 100 * p.efficiency})), borderColor: seriesColor(k), backgroundColor: seriesColor(k), borderDash: seriesDash(k), pointStyle: seriesPoint(k), pointRadius: 4, borderWidth: 2, clip: 8}))},
          options: {interaction: {mode: "nearest", intersect: false}, scales: {x: axisAt("ranks", ranks), y: axis("efficiency", {min: 0, suggestedMax: 105, text: (x) => `${x} %`})}, plugins: {tooltip: {callbacks: {title: (p) => plural(p[0].raw.x, "rank"), label: (p) => `${p.dataset.label}: ${percent(p.raw.y)}`}}}}},
      }),
    }));
    cards.push(new Card({
      title: `Time and fit, ${growth} scaling`, state: {curve: 0}, controls: (state, redraw) => [choice("measurement", curves.map(title), 0, (i) => {
        state.curve = i;
        redraw();
      })],
      make(state) {
        const curve = curves[state.curve];
        const {fit, points} = curve;
        const isStrong = growth === "strong";
        // What a rank would do at the rate of the fewest, and the fit; strong scaling beyond the last.
        const ideal = points.map((p) => ({x: p.ranks, y: p.seconds * p.efficiency}));
        const fitted = fit ? [...points.map((p) => ({x: p.ranks, y: p.fit})), ...(isStrong ? [{x: fit.next_ranks, y: fit.next_s}] : [])] : [];
        const more = fitted.map((p) => p.x);
        return {
          height: 340, label: `Median times on ${points.map((p) => p.ranks).join(", ")} ranks.`,
          said: !fit ? "A fit takes results of at least three numbers of ranks."
            : `${isStrong ? `Amdahl's law: ${percent((100 * fit.constant) / fit.first_s)} of the time on ${points[0].ranks} is serial; ${fit.next_ranks} ranks: ${seconds(fit.next_s)} predicted`
              : `Each doubling of ranks adds ${percent((100 * fit.slope) / fit.first_s)} of the time on ${points[0].ranks}; ${fit.next_ranks} ranks: efficiency ${percent((100 * fit.first_s) / fit.next_s)} predicted`}. Off by ${percent(100 * fit.worst)} at most.`,
          table: {head, rows: rowsOf([curve])}, pointOf: pointOf([curve]),
          config: {type: "line", data: {datasets: [
            {label: "measured", data: points.map((p) => ({x: p.ranks, y: p.seconds})), borderColor: color("own"), backgroundColor: color("own"), showLine: false, pointRadius: 5, clip: 8},
            {label: "ideal", pointStyle: "line", data: ideal, borderColor: color("reference"), borderDash: [3, 3], pointRadius: 0, borderWidth: 1.5},
            ...(fit ? [{label: isStrong ? "fit, and predicted" : "fit", data: fitted, borderColor: color("vendor"), pointRadius: 3, pointStyle: "rectRot", borderWidth: 1.5, clip: 8}] : [])]},
            options: {scales: {x: axisAt("ranks", [...ranks, ...more]), y: axis("median time", {type: scaleOf([...points.map((p) => p.seconds), ...ideal.map(({y}) => y), ...fitted.map(({y}) => y)]), text: seconds})}, plugins: {tooltip: {callbacks: {title: (p) => plural(p[0].raw.x, "rank"), label: (p) => `${p.dataset.label}: ${seconds(p.raw.y)}`}}}}},
        };
      },
    }));
  }
  if (scaling.exchanges.length) {
    cards.push(el("article", {class: "card wide"}, el("h3", {}, "Exchanges: latency and bandwidth"),
      el("p", {class: "note"}, "time = latency + bytes / bandwidth, fitted over the sizes of each; off by: the largest deviation of a size"),
      table({head: [column("exchange"), ...numbers("ranks", "sizes", "latency", "bandwidth", "off by")], rows: scaling.exchanges.map((e) => [
        `${e.workload} ${e.type} · ${e.variant} · ${e.transport}${Object.keys(e.settings).length ? ` · ${settingsText(e.settings)}` : ""}`, String(e.ranks), String(e.bytes.length), seconds(e.latency_s), e.bandwidth ? rate(e.bandwidth, "B/s") : "-", percent(100 * e.worst)])}, {label: "Fits of exchanges"})));
  }
  if (scaling.notes.length) cards.push(el("article", {class: "card wide"}, el("h3", {}, "Notes"), el("ul", {}, scaling.notes.map((note) => el("li", {}, note)))));
  return cards;
}

// Where, with what, and how again

function placement(result, r) {
  const rows = result.run.ranks.map((p) => [String(p.rank), p.node, String(p.local_rank), p.device ?? "-", p.uuid ?? "-", p.pci ?? "-", p.numa === null ? "-" : String(p.numa), String(p.threads), p.memory > 0 ? bytes(p.memory) : "-", p.cpu_mask ?? "-"]);
  const head = [column("rank", true), column("node"), column("local", true), column("device"), column("uuid"), column("pci"), ...numbers("numa", "threads", "free memory"), column("cpus")];
  return el("article", {class: "card wide"}, el("h3", {}, `${inResult(r)}${machine(result.run)}`),
    table(filled({head, rows}), {class: "low", label: "Placement of ranks"}));
}

function environment(result, r) {
  const {run} = result;
  const n = Object.keys(run.environment).length;
  const variables = facts(run.environment);
  return [
    el("article", {class: "card"}, el("h3", {}, `${inResult(r)}${run.run_id}`), facts(run.build)),
    el("article", {class: "card"}, el("h3", {}, `${inResult(r)}Variables`),
      n > 12 ? el("details", {}, el("summary", {}, `${n} variables of the environment`), variables) : variables,
      run.events.length ? [el("h3", {}, "Events"), el("ul", {}, run.events.map((event) => el("li", {}, event)))] : null)];
}

function reproduce(result, r) {
  const {run} = result;
  const n = run.ranks.length;
  const command = `mpirun -n ${n} --bind-to none quadrille run config.toml`;
  const copy = el("button", {type: "button", onclick: async () => {
    try {
      await navigator.clipboard.writeText(run.config);
      copy.textContent = "Copied";
    } catch {
      copy.textContent = "Select and copy the text";
    }
  }}, "Copy the configuration");
  return el("article", {class: isMany ? "card" : "card wide"}, el("h3", {}, `${inResult(r)}${run.run_id}`),
    el("ol", {}, el("li", {}, "Build commit ", el("code", {}, run.build.commit ?? "-"), run.build.flags ? [" with ", el("code", {}, run.build.flags)] : null, "."),
      el("li", {}, "Save the configuration below as ", el("code", {}, "config.toml"), "; the run's folder has it too."),
      el("li", {}, `On a machine with ${machine(run)}: `, el("code", {}, n > 1 ? command : "quadrille run config.toml"))),
    el("div", {class: "controls"}, copy),
    el("details", {}, el("summary", {}, "Configuration"), el("pre", {tabindex: 0}, run.config)));
}

// Everything

function everything() {
  return sortable([
    ...(isMany ? [{...column("result"), of: ({r}) => names[r]}] : []),
    {...column("verdict"), of: ({c}) => c.verdict, cell: ({c}) => el("span", {}, verdict(c.verdict), c.suspect.length ? [" ", verdict("SUSPECT")] : null)},
    {...column("case"), of: ({c}) => c.case}, {...column("workload"), of: ({c}) => c.workload}, {...column("type"), of: ({c}) => c.type},
    {...column("size"), of: ({c}) => volume(c.size), cell: ({c}) => sizeText(c.size)},
    {...column("variant"), of: ({c}) => c.variant}, {...column("transport"), of: ({c}) => transportOf(c)}, {...column("ranks", true), of: ({c}) => c.ranks},
    {...column("n", true), of: ({c}) => c.samples, title: "samples: timed repetitions"},
    {...column("median", true), of: ({c}) => c.median_s, cell: ({c}) => seconds(c.median_s), title: data.metrics.median},
    {...column("p95", true), of: ({c}) => c.p95_s, cell: ({c}) => seconds(c.p95_s)},
    {...column("rate", true), of: ({c}) => c.rate, cell: ({c}) => (c.rate === null ? "-" : rate(c.rate, c.unit)), title: data.metrics.rate},
    {...column("vs vendor", true), of: ({c}) => c.ratio_to_vendor, cell: ({c}) => versusVendor(c), title: data.metrics.vendor},
    {...column("vs copy", true), of: ({c}) => c.ratio_to_copy, cell: ({c}) => ratio(c.ratio_to_copy), title: data.metrics.copy},
    {...column("% peak", true), of: ({c}) => c.percent_of_peak, cell: ({c}) => percent(c.percent_of_peak), title: data.metrics.peak},
    {...column("% at clock", true), of: ({c}) => c.percent_of_peak_at_clock, cell: ({c}) => percent(c.percent_of_peak_at_clock), title: data.metrics["at clock"]},
    {...column("% ceiling", true), of: ({c}) => c.percent_of_ceiling, cell: ({c}) => percent(c.percent_of_ceiling), title: data.metrics.reached},
    {...column("imbalance", true), of: ({c}) => c.imbalance, cell: ({c}) => ratio(c.imbalance), title: data.metrics.imbalance},
    {...column("hidden", true), of: ({c}) => c.legs?.hidden, cell: ({c}) => ratio(c.legs?.hidden), title: data.metrics.hidden},
    {...column("error / bound", true), of: ({c}) => c.error, cell: ({c}) => (isNumber(c.error) ? `${digits(c.error)} / ${digits(c.bound)}` : "-"), title: data.metrics.error},
    {...column("settings"), long: true, of: ({c}) => settingsText(settingsOf(c))},
    {...column("why"), below: true, of: ({c}) => [...c.suspect, c.reason, c.first_wrong, drift(c)].filter(Boolean).join("; ")},
  ], all, {id: "measurements", label: "All measurements", example: "gemm f64, SUSPECT, …"});
}

function glossary() {
  return el("details", {class: "card"}, el("summary", {}, "What the numbers mean"), facts(data.metrics));
}

function tellThinned() {
  const cut = timed.filter(({c}) => c.sampled.rows.length < c.sampled.of).length;
  const noRanks = timed.filter(({c}) => c.ranks > 1 && !c.rank_times).length;
  const noPairs = timed.filter(({c}) => c.has_pairs && !c.pairs).length;
  const parts = [
    cut ? `samples are thinned: ${plural(cut, "measurement")} of ${timed.length} hold some of their repetitions, evenly spaced` : "",
    noRanks ? `the times of single ranks are left out of ${plural(noRanks, "measurement")} with the least imbalance` : "",
    data.timelines.left_out ? `${plural(data.timelines.left_out, "traced repetition")} of too many spans are not drawn` : "",
    noPairs ? `the pairs of ranks are left out of ${plural(noPairs, "measurement")}` : ""].filter(Boolean);
  document.getElementById("thinned").textContent = parts.length
    ? `To keep this page small, ${parts.join("; ")}. Every median, interval and rate is of all samples, which the result files keep.` : "";
}

function build() {
  document.title = `Quadrille report · ${results.map((result) => result.run.run_id).join(", ")}`;
  summary();
  if (data.scaling) section("scaling", "Scaling", null, ...grid(scalingCards(data.scaling)));
  const measured = groups.filter((group) => !hasOwnCharts(group));
  section("ladders", "Variants", "The variants of each operation at one size, in their reading order. Dashed: the rate of the vendor's library, or of another program where there is none, and the ceiling of the roofline; in brackets a variant's share of the vendor's rate, the median of paired repetitions; behind it what a variant of this project gains over the fastest above it.",
    ...grid(cardsOf(measured.filter((group) => group.series.length > 1), ladder)));
  section("sweeps", "Sweeps", "Rates and times over sizes, and over all else that a sweep varies.",
    ...grid([...cardsOf(measured.filter((group) => group.series.some((name) => results.some((_, r) =>
      new Set(group.items.filter((item) => item.series === name && item.r === r).map(({c}) => JSON.stringify(c.size))).size > 1))), sweep),
      ...keySweeps(measured.flatMap(({items}) => items))]));
  section("roofline", "Roofline", "What each kernel reaches of what peak and bandwidth of its devices allow.",
    ...grid(results.map((_, r) => timed.filter((item) => item.r === r && item.c.roofline.bytes > 0)).filter((items) => items.some(({c}) => c.roofline.flop > 0))
      .map((items) => roofline(items, `${inResult(items[0].r)}all kernels`))));
  section("overlap", "Overlap", "Is communication hidden behind computation? Four legs, measured in turn. Hatched: the time of the overlapped leg beyond computation alone, which is communication that does not hide, and what each part slows the other. Hidden: (compute + communicate − overlapped) / the shorter of the two.",
    ...grid(cardsOf(groups.filter((group) => group.items.some(({c}) => c.legs)), overlap)));
  const traced = Object.keys(data.timelines.drawn).map((id) => all.find(({c}) => c.id === id)).filter(Boolean);
  section("timeline", "Timeline", "What the streams of each rank did in one repetition.", ...grid(traced.length ? [timeline(traced)] : []));
  const withPairs = timed.filter(({c}) => c.pairs);
  section("pairs", "Links", "What each rank reaches to each other one.", ...grid(withPairs.length ? [pairMap(withPairs)] : []));
  ownSections();
  const sampled = timed.filter(({c}) => c.sampled.rows.length);
  section("samples", "Samples", "The time of each rank in each repetition; a repetition takes as long as its slowest rank.", ...grid(sampled.length ? [samplesCard(sampled)] : []));
  section("telemetry", "Clocks and power", null, ...grid(results.flatMap((_, r) => [...telemetry(r, "clock_hz", "Clock", (x) => rate(x, "Hz")), ...telemetry(r, "power_w", "Power", (x) => rate(x, "W"))])));
  section("placement", "Placement", null, ...grid(results.map(placement)));
  section("environment", "Environment", null, ...grid(results.flatMap(environment)));
  section("reproduce", "How to reproduce", null, ...grid(results.map(reproduce)));
  section("all", "All measurements", "Sorted by a click on a column's head.", everything(), glossary());
  tellThinned();
  startTheme();
  document.documentElement.dataset.ready = "yes";
}
build();
