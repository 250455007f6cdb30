// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
// What the page of a comparison shows: what was found, the ratios as a chart, every measurement.

const {measurements, counts} = data;
const changes = Object.keys(counts).filter((change) => counts[change] > 0);
const words = (change) => change.replaceAll("_", " ");
const pill = (change) => el("span", {class: `pill ${change}`, title: data.meanings[change]}, words(change));
const ofChange = (change) => measurements.filter((m) => m.change === change);
const nameOf = (m) => `${m.id} ${m.type} ${sizeText(m.size)}`;

/** "+3.12 %", of ten times and more "25 ×". */
const changeText = (x) => (x < 10 ? `${x < 1 ? "−" : "+"}${digits(Math.abs(100 * (x - 1)))} %` : `${digits(x)} ×`);
/** In brackets where a time is SUSPECT: then the ratio is not known. */
const isDoubtful = (m) => (m.new?.suspect.length ?? 0) > 0 || (m.base.length > 0 && m.base.every((one) => one.suspect.length > 0));
const ratioText = (m) => {
  if (!isNumber(m.ratio)) return "-";
  const text = interval(m.ratio, m.ratio_low, m.ratio_high, changeText);
  return isDoubtful(m) ? `(${text})` : text;
};
const timesText = (m) => `${seconds(m.base_s)} → ${seconds(m.base_s * m.ratio)}`;
const differenceText = ({what, base, new: now}) => `${what}: ${base || "-"} → ${now || "-"}`;

/** What there is to say of a measurement beside its times. */
function remarks(m) {
  const suspects = (side, text) => (side?.suspect ?? []).map((why) => `SUSPECT in ${text}: ${why}`);
  const was = m.base.at(-1);
  return [m.reason, ...m.differences.map(differenceText), ...suspects(was, "the base"), ...suspects(m.new, "the new run"),
    was && m.new && was.id !== m.new.id ? `in the base: ${was.id}` : null,
    m.modelled_link ? "modelled link: no property of this machine" : null].filter(Boolean);
}

// Summary

function tiles() {
  return el("ul", {class: "tiles"}, changes.map((change) =>
    el("li", {title: data.meanings[change]}, el("b", {class: change}, String(counts[change])), words(change))));
}

function runText(run) {
  const ended = run.status === "finished" ? "" : ` · did not end (${run.status ?? "unknown"}), and may lack measurements`;
  return `${run.run_id} · started ${run.started ?? "-"} · ${machine(run)} · version ${run.build.version ?? "-"}, commit ${run.build.commit ?? "-"}${ended}`;
}

function resultCard() {
  const result = data.regression ? "FAIL" : data.comparable && !data.undecided ? "PASS" : "SKIP";
  const unclear = counts.AMBIGUOUS > 0 ? `; ${counts.AMBIGUOUS} could not be decided` : "";
  const worse = ["BROKEN", "SLOWER"].filter((change) => counts[change] > 0).map((change) => `${counts[change]} ${change}`).join(", ");
  const text = {FAIL: worse || "measurements are missing: the new run did not end", PASS: `nothing is slower or broken${unclear}`,
    SKIP: data.undecided ? "nothing could be decided: take more repetitions" : "no baseline: nothing was measured alike"}[result];
  return el("article", {class: "card", "data-result": result},
    el("h3", {}, el("span", {class: `pill ${result}`}, result === "SKIP" ? "NO RESULT" : result), ` ${text}`),
    tiles(),
    facts({new: runText(data.new), ...Object.fromEntries(data.base.map((run, i) => [data.base.length > 1 ? `base ${i + 1}` : "base", runText(run)])),
      margin: `${digits(100 * data.margin)} % of a time, by which it may change and be the same`}));
}

function differencesCard() {
  const rows = data.environment.map(({what, base, new: now}) => [what, base || "-", now || "-"]);
  return el("article", {class: "card"}, el("h3", {}, "What differs between the results"),
    rows.length ? table({head: [column("fact"), column("base"), column("new")], rows}, {class: "low", label: "Differences of build, settings, variables and placement"})
      : el("p", {class: "note"}, "Build, settings, variables and placement are the same."));
}

function summary() {
  const timed = (change) => ofChange(change).map((m) => `${nameOf(m)}: ${ratioText(m)}, ${timesText(m)}`);
  const others = (change) => ofChange(change).map((m) => [nameOf(m), ...remarks(m).slice(0, 2)].join("; "));
  const reasons = new Map();
  for (const m of ofChange("AMBIGUOUS")) {
    const why = m.reason ?? (isDoubtful(m) ? "a time is SUSPECT" : "the interval crosses the margin: more repetitions, or a wider margin, decide it");
    reasons.set(why, (reasons.get(why) ?? 0) + 1);
  }
  const line = (kind, change, lines) => finding(kind, `${words(change)}: ${plural(lines.length, "measurement")}`, lines);
  const found = [line("bad", "BROKEN", others("BROKEN")), line("bad", "SLOWER", timed("SLOWER")), line("good", "FASTER", timed("FASTER")),
    finding("warn", `AMBIGUOUS: ${plural(counts.AMBIGUOUS, "measurement")}`, [...reasons].map(([why, n]) => `${n} × ${why}`)),
    line("", "REFUSED", others("REFUSED")), line("", "NO_SPEED", others("NO_SPEED")), line("", "ONLY_IN_BASE", others("ONLY_IN_BASE")),
    line("", "ONLY_IN_NEW", others("ONLY_IN_NEW"))].filter(Boolean);
  section("summary", "Summary", null, el("div", {class: "grid"}, resultCard(), differencesCard(),
    el("article", {class: "card wide"}, el("h3", {}, "What stands out"),
      found.length ? el("ul", {class: "findings"}, found) : el("p", {class: "note"}, "Nothing: no measurement is faster or slower."))));
}

// Ratios

const looks = {SLOWER: {color: "bad", pointStyle: "triangle"}, FASTER: {color: "good", pointStyle: "triangle", rotation: 180},
  AMBIGUOUS: {color: "warn", pointStyle: "rectRot"}, SAME: {color: "own", pointStyle: "circle"}};

/** The margin of each row as a band, and the interval of each ratio as a line with ends. */
const intervals = {
  id: "intervals",
  beforeDatasetsDraw(chart) {
    const {ctx, scales: {x, y}, chartArea} = chart;
    const rows = chart.config.data.rows;
    const height = (chartArea.bottom - chartArea.top) / rows.length;
    ctx.save();
    rows.forEach((m, i) => {
      const [left, right] = [x.getPixelForValue(1 - m.margin), x.getPixelForValue(1 + m.margin)];
      const top = y.getPixelForValue(i) - height / 2;
      ctx.fillStyle = `${color("good")}26`;
      ctx.fillRect(left, top, right - left, height);
      const [low, high] = [x.getPixelForValue(m.ratio_low), x.getPixelForValue(m.ratio_high)];
      const middle = y.getPixelForValue(i);
      const end = high - low > 12 ? Math.min(4, height / 2) : 0;  // the point hides narrower ones
      ctx.strokeStyle = color(looks[m.change].color);
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      for (const [fromX, fromY, toX, toY] of [[low, middle, high, middle], [low, middle - end, low, middle + end], [high, middle - end, high, middle + end]]) {
        ctx.moveTo(fromX, fromY);
        ctx.lineTo(toX, toY);
      }
      ctx.stroke();
    });
    ctx.restore();
  },
  afterDatasetsDraw(chart) {
    const {ctx, scales: {x, y}} = chart;
    const rows = chart.config.data.rows;
    if (rows.length > kNamed) return;
    ctx.save();
    ctx.font = chartFont();
    ctx.fillStyle = color("text");
    ctx.textBaseline = "middle";
    rows.forEach((m, i) => textOnCard(ctx, changeText(m.ratio), x.getPixelForValue(m.ratio_high) + 9, y.getPixelForValue(i)));
    ctx.restore();
  },
};

// Rows with a name each; a chart of more shows how they are distributed.
const kNamed = 60;
const farthest = (items) => [...items].sort((a, b) => Math.abs(Math.log(b.ratio)) - Math.abs(Math.log(a.ratio))).slice(0, kNamed);
const bySlowness = (items) => [...items].sort((a, b) => b.ratio - a.ratio);
const shortened = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 9)}…${text.slice(-8)}`);

function ratios(items) {
  return new Card({
    title: "New time / base time", wide: true, state: {all: items.length <= kNamed},
    controls: items.length <= kNamed ? null : (state, redraw) => [choice("show", [`the ${kNamed} that changed most`, `all ${items.length}`], 0, (i) => {
      state.all = i === 1;
      redraw();
    })],
    make(state) {
      const rows = bySlowness(state.all ? items : farthest(items));
      const shown = Object.keys(looks).filter((change) => rows.some((m) => m.change === change));
      const ends = rows.flatMap((m) => [m.ratio_low, m.ratio_high, 1 - m.margin, 1 + m.margin]);
      const [least, most] = [Math.min(...ends), Math.max(...ends)];
      const isLog = most / least > 3;
      const room = (most - least) / 20;
      const steps = [0.001, 0.01, 0.1, 1, 10, 100, 1000].flatMap((power) => [1, 2, 5].map((step) => ({value: step * power})));
      const range = isLog
        ? {type: "logarithmic", min: least / 1.1, max: most * 1.1, afterBuildTicks: (scale) => {
            scale.ticks = steps.filter(({value}) => value >= scale.min && value <= scale.max);
          }}
        : {type: "linear", min: least - room, max: most + room, ticks: {includeBounds: false}};
      const isWide = rows.some((m) => m.margin > data.margin);
      return {
        height: 80 + rows.length * (rows.length > kNamed ? Math.max(2, 1200 / rows.length) : 24),
        label: `${plural(rows.length, "ratio")} of median times with 95 % intervals, from ${changeText(rows[0].ratio)} of ${rows[0].id} to ${changeText(rows.at(-1).ratio)} of ${rows.at(-1).id}; ${shown.map((change) => `${rows.filter((m) => m.change === change).length} ${change}`).join(", ")}.`,
        said: `From the slowest to the fastest, with 95 % intervals. Band: the margin of ${digits(100 * data.margin)} %${isWide ? ", wider where the clock does not resolve as much" : ""}.`,
        config: {type: "line", plugins: [intervals], data: {rows, labels: rows.map((m) => shortened(m.id, isNarrow() ? 18 : 44)), datasets: shown.map((change) => ({
          label: change, showLine: false, data: rows.map((m) => (m.change === change ? m.ratio : null)), pointStyle: looks[change].pointStyle,
          pointRotation: looks[change].rotation ?? 0, pointRadius: rows.length > kNamed ? 2.5 : 5, borderColor: color(looks[change].color), backgroundColor: color(looks[change].color)}))},
        options: {indexAxis: "y", layout: {padding: {right: rows.length > kNamed ? 8 : 60}}, interaction: {mode: "nearest", axis: "y", intersect: false}, scales: {
          x: axis(isNarrow() ? "left is faster" : "time of the new run over that of the base: left is faster", {...range, text: isLog ? (x) => `${digits(x)}×` : (x) => (x === 1 ? "0" : changeText(x))}),
          y: axis("", {type: "category", offset: true, grid: {display: false}, ticks: {autoSkip: rows.length > kNamed, color: color("text")}})},
          plugins: {legend: {display: true, position: "bottom", labels: legendLabels()},
            marks: {at: [{value: 1, color: color("faint")}]},
            tooltip: {filter: (p) => p.raw !== null, callbacks: {title: (points) => (points.length ? nameOf(rows[points[0].dataIndex]) : ""),
              label: (p) => `${p.dataset.label}: ${ratioText(rows[p.dataIndex])}, ${timesText(rows[p.dataIndex])}`}}}}},
        table: {head: [column("measurement"), column("change"), ...numbers("new / base, 95 % interval", "margin", "base", "new")],
          rows: rows.map((m) => [nameOf(m), words(m.change), ratioText(m), `${digits(100 * m.margin)} %`, seconds(m.base_s), seconds(m.base_s * m.ratio)])},
        pointOf: (i) => ({datasetIndex: shown.indexOf(rows[i].change), index: i}),
      };
    },
  });
}

// Everything

function everything() {
  const side = (m, name) => (name === "base" ? m.base.at(-1) : m.new);
  const time = (m, name) => (isNumber(m.ratio) ? m.base_s * (name === "new" ? m.ratio : 1) : side(m, name)?.median_s);
  const order = Object.keys(counts);
  const isSame = (of) => new Set(measurements.map(of)).size < 2;
  return sortable([
    {...column("change"), of: (m) => order.indexOf(m.change), cell: (m) => pill(m.change)},
    {...column("measurement"), long: true, of: (m) => m.id}, {...column("type"), of: (m) => m.type},
    {...column("size"), of: (m) => m.size.reduce((product, n) => product * n, 1), cell: (m) => sizeText(m.size)},
    ...[{...column("transport"), of: transportOf}, {...column("ranks", true), of: (m) => m.ranks}].filter(({of}) => !isSame(of)),
    {...column("base", true), of: (m) => time(m, "base"), cell: (m) => seconds(time(m, "base")), title: "median time"},
    {...column("new", true), of: (m) => time(m, "new"), cell: (m) => seconds(time(m, "new")), title: "median time"},
    {...column("new / base", true), of: (m) => m.ratio, cell: ratioText, title: "of median times, with its 95 % interval"},
    {...column("n", true), of: (m) => m.new?.samples ?? null, cell: (m) => [...m.base, m.new].map((one) => one?.samples ?? "-").join(", "), title: "samples of each base run, and of the new one"},
    {...column("settings"), long: true, of: (m) => settingsText(m.settings)},
    {below: true, of: (m) => remarks(m).join("; "), cell: (m) => remarks(m).map((text) => el("p", {}, text))},
  ], measurements, {id: "measurements", label: "All measurements", example: "gemm, SLOWER, …"});
}

function glossary() {
  return el("details", {class: "card"}, el("summary", {}, "How measurements are judged"), facts(data.meanings));
}

function build() {
  document.title = `Quadrille comparison · ${data.new.run_id}`;
  summary();
  const withRatio = measurements.filter((m) => isNumber(m.ratio) && isNumber(m.ratio_low) && isNumber(m.ratio_high));
  section("ratios", "Ratios", "The median time of the new run over that of the base, with its 95 % interval: SLOWER or FASTER where the interval lies beyond the margin, SAME within it, AMBIGUOUS where it crosses.",
    ...grid(withRatio.length ? [ratios(withRatio)] : []));
  section("all", "All measurements", "Sorted by a click on a column's head.", everything(), glossary());
  startTheme();
  document.documentElement.dataset.ready = "yes";
}
build();
