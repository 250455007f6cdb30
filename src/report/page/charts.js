// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
// Cards with a chart that is drawn when it comes into view, each with a label, keys and a table.

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const seriesColor = (i) => color(`series-${i % 8}`);
const seriesDash = (i) => [[], [6, 3], [2, 3], [8, 3, 2, 3]][Math.floor(i / 8) % 4];
const seriesPoint = (i) => ["circle", "rect", "triangle", "rectRot", "star", "crossRot"][i % 6];
/** Of a line of this project's, beside those of other roles. */
function ownLook(k) {
  const taken = ["vendor", "reference", "peer", "ceiling"].map(color);
  const free = [...Array(8).keys()].map(seriesColor).filter((one) => !taken.includes(one));
  return {color: free[k % free.length], dash: seriesDash(8 * Math.floor(k / free.length)), point: seriesPoint(k)};
}

/**
 * Looks of lines over the same places, of which some lie on each other: there they have dashes in turn, and
 * points in turn, so that each is seen. Values less than 1 % of the largest apart are one on a chart.
 */
function inTurn(lines) {
  const near = Math.max(...lines.flat()) / 100;
  const together = (k, places) => [...lines.keys()].filter((other) => places.every((i) => Math.abs(lines[other][i] - lines[k][i]) <= near));
  const dash = 12;
  return lines.map((values, k) => {
    const there = ({p0DataIndex, p1DataIndex}) => together(k, [p0DataIndex, p1DataIndex]);
    return {
      isShared: values.some((_, i) => i > 0 && together(k, [i - 1, i]).length > 1),
      pointRadius: values.map((_, i) => (together(k, [i])[i % together(k, [i]).length] === k ? 3.5 : 0)),
      segment: {
        borderDash: (at) => (there(at).length > 1 ? [dash, dash * (there(at).length - 1)] : undefined),
        borderDashOffset: (at) => (there(at).length > 1 ? -dash * there(at).indexOf(k) : undefined),
      },
    };
  });
}
const isNarrow = () => window.innerWidth < 760;

const cards = [];
const seen = "IntersectionObserver" in window
  ? new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) entry.target.card.draw();
    }, {rootMargin: "300px"})
  : null;

/** A text that lines behind it do not cross, nor between its words. */
function textOnCard(ctx, text, x, y) {
  const {actualBoundingBoxLeft: left, actualBoundingBoxRight: right, actualBoundingBoxAscent: up, actualBoundingBoxDescent: down} = ctx.measureText(text);
  const ink = ctx.fillStyle;
  ctx.fillStyle = color("card");
  ctx.fillRect(x - left - 2, y - up - 2, left + right + 4, up + down + 4);
  ctx.fillStyle = ink;
  ctx.fillText(text, x, y);
}
const chartFont = () => `${isNarrow() ? 10.5 : 11.5}px system-ui, "DejaVu Sans", sans-serif`;

/** Where a text of this width lies from `x` on over none of the points. */
function pastPoints(x, width, points) {
  for (const at of points.sort((a, b) => a - b)) if (at > x - 9 && at < x + width + 9) x = at + 10;
  return x;
}

/** Texts at the ends of bars: dataset.ends[i]. */
const barEnds = {
  id: "barEnds",
  afterDatasetsDraw(chart) {
    const {ctx} = chart;
    ctx.save();
    ctx.font = chartFont();
    ctx.fillStyle = color("text");
    ctx.textBaseline = "middle";
    chart.data.datasets.forEach((dataset, k) => {
      if (!dataset.ends || !chart.isDatasetVisible(k)) return;
      chart.getDatasetMeta(k).data.forEach((bar, i) => {
        if (!dataset.ends[i]) return;
        // Behind the points of its row, too.
        const points = chart.data.datasets.flatMap(({showLine}, other) => (showLine === false ? [chart.getDatasetMeta(other).data[i]?.x] : []));
        textOnCard(ctx, dataset.ends[i], pastPoints(bar.x + 5, ctx.measureText(dataset.ends[i]).width, points.filter(isNumber)), bar.y);
      });
    });
    ctx.restore();
  },
};

/** Intervals of values, drawn over bars and points: dataset.errors[i] = [low, high], or null. */
const errorBars = {
  id: "errorBars",
  afterDatasetsDraw(chart) {
    const {ctx, chartArea: area, scales} = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.left, area.top, area.width, area.height);
    ctx.clip();
    ctx.strokeStyle = color("text");
    ctx.lineWidth = 1;
    chart.data.datasets.forEach((dataset, k) => {
      if (!dataset.errors || !chart.isDatasetVisible(k)) return;
      const isFlat = chart.options.indexAxis === "y";
      chart.getDatasetMeta(k).data.forEach((point, i) => {
        if (!dataset.errors[i]) return;
        const [from, to] = dataset.errors[i].map((value) => (isFlat ? scales.x : scales.y).getPixelForValue(value));
        const at = isFlat ? point.y : point.x;
        // A cap at each end, and the line between them.
        for (const [a, b, c, d] of [[from, at - 3, from, at + 3], [to, at - 3, to, at + 3], [from, at, to, at]]) {
          ctx.beginPath();
          ctx.moveTo(...(isFlat ? [a, b] : [b, a]));
          ctx.lineTo(...(isFlat ? [c, d] : [d, c]));
          ctx.stroke();
        }
      });
    });
    ctx.restore();
  },
};

/** Lines across the chart: options.plugins.marks.at = [{value, color, text}] on the x axis. */
const marks = {
  id: "marks",
  beforeDatasetsDraw(chart, _, options) {
    const {ctx, chartArea, scales} = chart;
    for (const mark of options.at ?? []) {
      const x = scales.x.getPixelForValue(mark.value);
      ctx.save();
      ctx.strokeStyle = mark.color;
      ctx.lineWidth = 1.5;
      ctx.setLineDash([5, 3]);
      ctx.beginPath();
      ctx.moveTo(x, chartArea.top);
      ctx.lineTo(x, chartArea.bottom);
      ctx.stroke();
      ctx.restore();
    }
  },
};

/** A bar half of which is hatched: what could have been hidden. */
function hatched(name) {
  const tile = el("canvas", {width: 8, height: 8});
  const ctx = tile.getContext("2d");
  ctx.strokeStyle = color(name);
  ctx.lineWidth = 2;
  for (const shift of [-8, 0, 8]) {
    ctx.beginPath();
    ctx.moveTo(shift, 8);
    ctx.lineTo(shift + 8, 0);
    ctx.stroke();
  }
  const pattern = ctx.createPattern(tile, "repeat");
  patternColors.set(pattern, color(name));
  return pattern;
}

/** A logarithmic axis tells more of values that span more than a decade, a linear one of others. */
const scaleOf = (values) => (Math.max(...values) > 10 * Math.min(...values) && Math.min(...values) > 0 ? "logarithmic" : "linear");

/** Lines of a name, of at most so many letters where its words allow. */
function wrapped(name, most) {
  const made = [""];
  for (const part of name.split(/(?<=[ _/,.-])/)) {
    if (made.at(-1) && (made.at(-1) + part.trimEnd()).length > most) made.push("");
    made[made.length - 1] += part;
  }
  return made.map((line) => line.trimEnd());
}

function axis(title, options = {}) {
  const {text, ...rest} = options;
  const isLog = rest.type === "logarithmic";
  const label = (value) => (text ? short(text(value)) : digits(value));
  // Of a logarithmic axis the powers of ten; on few decades also twice and five times these.
  const show = function (value, index, ticks) {
    if (isLog) {
      const lead = Math.round(value / 10 ** Math.floor(Math.log10(value) + 1e-9));
      const wanted = Math.log10(this.max / this.min) > 2 ? [1] : [1, 2, 5];
      if (!wanted.includes(lead)) return null;
    }
    const telling = (n) => withDigits(n, () => new Set(ticks.map((tick) => label(tick.value))).size === ticks.length);
    const n = isLog ? 3 : [3, 4, 5, 6].find(telling) ?? 6;
    return withDigits(n, () => {
      const isSaid = index > 0 && label(ticks[index - 1].value) === label(value);
      return isSaid ? null : label(value);
    });
  };
  return {
    ...rest,
    title: {display: Boolean(title), text: title, color: color("faint")},
    grid: {color: color("line"), borderColor: color("line"), ...rest.grid},
    ticks: {color: color("faint"), maxRotation: 0, autoSkipPadding: 14, ...(rest.type === "category" ? {} : {callback: show}),
      ...rest.ticks},
  };
}

/** A logarithmic axis with ticks at these values, as many as have room. */
function axisAt(title, values, options = {}) {
  const sorted = [...new Set(values)].sort((a, b) => a - b);
  const [low, high] = [sorted[0], sorted.at(-1)];
  const room = Math.log(high / low) / (isNarrow() ? 6 : 10);
  const ticks = [];
  for (const value of sorted) if (ticks.length === 0 || Math.log(value / ticks.at(-1)) >= room) ticks.push(value);
  return axis(title, {type: "logarithmic", min: low, max: high, afterBuildTicks: (scale) => {
    scale.ticks = ticks.map((value) => ({value}));
  }, ...options, ticks: {callback: count, autoSkip: true, ...options.ticks}});
}

/** Signs of a legend, of which circles are larger than squares. */
const legendLabels = () => ({color: color("text"), boxWidth: 12, boxHeight: 8, usePointStyle: true});

/**
 * A figure with a chart. `make(state)` returns {config, label, table, height}: what Chart.js takes,
 * what the chart says in words, and the same as a table. `controls(state, redraw)` returns elements.
 * `make` gets the width of the plot, too.
 */
class Card {
  constructor({title, note, controls, make, wide, state = {}}) {
    Object.assign(this, {make, state, title});
    this.canvas = el("canvas", {role: "img", tabindex: 0, "aria-label": title, onkeydown: (event) => this.walk(event)});
    this.plot = el("div", {class: "plot"}, this.canvas);
    this.said = el("p", {class: "note"});
    this.tables = el("details", {ontoggle: () => this.fillTable()}, el("summary", {}, "As a table"));
    this.node = el("figure", {class: wide ? "card wide" : "card"},
      el("figcaption", {}, el("h3", {}, title), note ? el("p", {class: "note"}, unbroken(note)) : null),
      controls ? el("div", {class: "controls"}, controls(state, () => this.redraw())) : null,
      this.plot, this.said, el("div", {class: "foot"}, this.tables, el("button", {type: "button", onclick: () => this.show({target: "_blank"})}, "Enlarge"),
        el("button", {type: "button", onclick: () => this.show({download: `${title}.svg`})}, "Save as SVG")));
    this.node.card = this;
    this.plot.style.minHeight = "18rem";
    cards.push(this);
    if (seen) seen.observe(this.node);
  }
  draw() {
    if (this.chart || this.drawn) return;
    this.drawn = true;
    if (seen) seen.unobserve(this.node);
    this.made = this.make(this.state, this.plot.clientWidth);
    if (this.made.height) this.plot.style.minHeight = `${this.made.height}px`;
    this.chart = this.made.paint ? new Painted(this.canvas, this.made.paint) : new Chart(this.canvas, this.config(this.made));
    this.canvas.setAttribute("aria-label", `${this.title}. ${this.made.label ?? ""} Arrow keys go through the values.`);
    this.said.replaceChildren(...[this.made.said ?? ""].flat());
    this.fillTable();
  }
  config({config}, further = {}) {
    // Chart.js draws lines without segments by a path that tells nothing of itself.
    for (const dataset of config.data.datasets) dataset.segment ??= {};
    return {
      ...config, ...further.chart, plugins: [errorBars, barEnds, marks, ...(config.plugins ?? [])],
      options: {
        animation: false, responsive: true, maintainAspectRatio: false, color: color("text"),
        ...config.options, ...further.options,
        plugins: {
          legend: {display: config.data.datasets.length > 1, position: "bottom",
            labels: {...legendLabels(),
              filter: (item) => item.text !== undefined && !item.text.startsWith("_")}},
          ...config.options?.plugins,
        },
      },
    };
  }
  /** The chart as it is, as an element. */
  svg() {
    const {clientWidth: width, clientHeight: height} = this.plot;
    const context = new SvgContext(width, height);
    const made = this.make(this.state, width);
    if (made.paint) made.paint.draw(context, width, height);
    else new Chart(context.canvas, this.config(made, {chart: {platform: Chart.BasicPlatform}, options: {responsive: false, devicePixelRatio: 1}})).destroy();
    return context.root;
  }
  saved() {
    return new XMLSerializer().serializeToString(this.svg());
  }
  /** Gives the drawing to a new tab, where the browser enlarges it, or to a file. */
  show(how) {
    const url = URL.createObjectURL(new Blob([this.saved()], {type: "image/svg+xml"}));
    el("a", {href: url, ...how}).click();
  }
  fillTable() {
    if (!this.tables.open || !this.made) return;
    this.tables.replaceChildren(this.tables.firstElementChild, table(this.made.table, {class: "low", label: this.title}));
  }
  redraw() {
    if (!this.drawn) return;
    this.chart.destroy();
    this.chart = null;
    this.drawn = false;
    this.draw();
  }
  /** Arrow keys move through the points, and say each. */
  walk(event) {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (!step || !this.made) return;
    event.preventDefault();
    const rows = this.made.table.rows;
    if (rows.length === 0) return;
    this.at = ((this.at ?? (step > 0 ? -1 : 0)) + step + rows.length) % rows.length;
    const heads = this.made.table.head;
    const text = (cell) => (cell instanceof Node ? cell.textContent : cell);
    document.getElementById("live").textContent =
      rows[this.at].map((cell, i) => `${heads[i].text} ${text(cell)}`).join(", ");
    const point = this.made.pointOf?.(this.at);
    if (point && this.chart.setActiveElements) {
      this.chart.setActiveElements([point]);
      const {x, y} = this.chart.getDatasetMeta(point.datasetIndex).data[point.index] ?? {x: 0, y: 0};
      this.chart.tooltip.setActiveElements([point], {x, y});
      this.chart.update("none");
    } else {
      this.chart.select?.(this.at);
    }
  }
}

/** A canvas that paints itself, where Chart.js has no such chart: a matrix of cells. */
class Painted {
  constructor(canvas, paint) {
    Object.assign(this, {canvas, paint});
    this.watch = new ResizeObserver(() => this.update());
    this.watch.observe(canvas.parentElement);
    this.move = (event) => {
      const box = canvas.getBoundingClientRect();
      canvas.title = paint.tip(event.clientX - box.left, event.clientY - box.top) ?? "";
    };
    canvas.addEventListener("mousemove", this.move);
    this.update();
  }
  update() {
    const {canvas} = this;
    const box = canvas.parentElement.getBoundingClientRect();
    if (box.width === 0) return;
    const density = window.devicePixelRatio || 1;
    canvas.width = Math.round(box.width * density);
    canvas.height = Math.round(box.height * density);
    canvas.style.width = `${box.width}px`;
    canvas.style.height = `${box.height}px`;
    const ctx = canvas.getContext("2d");
    ctx.scale(density, density);
    this.paint.draw(ctx, box.width, box.height, this.chosen);
  }
  select(i) {
    this.chosen = i;
    this.update();
  }
  destroy() {
    this.watch.disconnect();
    this.canvas.removeEventListener("mousemove", this.move);
  }
}

const redrawAll = () => cards.forEach((card) => card.redraw());

/** Light or dark: as the system, until the button says otherwise. */
function startTheme() {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  let chosen = null;
  try {
    chosen = window.localStorage.getItem("quadrille-theme");
  } catch { /* a page from a file may keep nothing */ }
  const isDark = () => (chosen ? chosen === "dark" : system.matches);
  const apply = (theme) => {
    document.documentElement.dataset.theme = theme ?? (isDark() ? "dark" : "light");
    button.textContent = isDark() ? "☀ Light" : "☾ Dark";
    button.setAttribute("aria-label", isDark() ? "Switch to light colours" : "Switch to dark colours");
    redrawAll();
  };
  button.addEventListener("click", () => {
    chosen = isDark() ? "light" : "dark";
    try {
      window.localStorage.setItem("quadrille-theme", chosen);
    } catch { /* the same */ }
    apply();
  });
  system.addEventListener("change", () => apply());
  // Paper is white, and takes every chart.
  window.addEventListener("beforeprint", () => {
    apply("light");
    cards.forEach((card) => card.draw());
  });
  window.addEventListener("afterprint", () => apply());
  apply();
}
