// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
// Numbers as texts, elements of the page. Whatever comes from a result becomes a text node or an
// attribute, never markup.

const data = JSON.parse(document.getElementById("data").textContent);

const isNumber = (x) => typeof x === "number" && Number.isFinite(x);

/** Significant digits of numbers: more where an axis would say the same at two ticks. */
let significant = 3;
function withDigits(n, make) {
  significant = n;
  const made = make();
  significant = 3;
  return made;
}

/** Significant digits without an exponent where that is short. */
function digits(x) {
  if (!isNumber(x)) return "-";
  if (x === 0) return "0";
  const size = Math.abs(x);
  return size >= 1e6 || size < 1e-3 ? x.toExponential(2) : String(Number(x.toPrecision(significant)));
}

function scaled(x, unit, prefixes) {
  if (!isNumber(x)) return "-";
  if (x === 0) return `0 ${unit}`;
  const [size, prefix] = prefixes.find(([least]) => Math.abs(x) >= least * 0.9995) ?? prefixes.at(-1);
  const value = x / size;
  const magnitude = Math.abs(value);
  const text = magnitude >= 1e5 || magnitude < 0.01 ? value.toExponential(2) : magnitude >= 1000 ? value.toFixed(0) : value.toPrecision(significant);
  return `${text} ${prefix}${unit}`;
}
/** The same without final zeros, for axes. */
const short = (text) => text.replace(/(\.\d*?)0+(?= |$)/, "$1").replace(/\.(?= |$)/, "").replace(/^0 .*/, "0");
const seconds = (x) => scaled(x, "s", [[1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]]);
const rate = (x, unit) => scaled(x, unit ?? "", [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]]);
const bytes = (x) => scaled(x, "B", [[2 ** 40, "Ti"], [2 ** 30, "Gi"], [2 ** 20, "Mi"], [2 ** 10, "Ki"], [1, ""]]);
const percent = (x) => (isNumber(x) ? `${x.toFixed(1)} %` : "-");
const ratio = (x) => (isNumber(x) ? x.toFixed(2) : "-");

/** "4Ki", "3M" or "4097": the shortest whole multiple. */
function count(n) {
  const units = [[2 ** 30, "Gi"], [2 ** 20, "Mi"], [2 ** 10, "Ki"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  const texts = units.filter(([size]) => n >= size && n % size === 0).map(([size, prefix]) => `${n / size}${prefix}`);
  return [String(n), ...texts].reduce((best, text) => (text.length < best.length ? text : best));
}
const sizeText = (size) => size.map(count).join("\u00a0× ") || "-";
const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
/** Lines end between settings, not within one. */
const settingsText = (settings) => Object.entries(settings).map(([key, value]) => `${key}\u00a0=\u00a0${value}`).join(", ");

function interval(x, low, high, text) {
  return isNumber(low) && isNumber(high) ? `${text(x)} [${text(low)}, ${text(high)}]` : text(x);
}

/** Prose whose lines do not end between a number and its unit. */
const unbroken = (text) => text.replace(/(\d) (?=%|[nµm]?s\b|[KMGT]?i?B\b)/g, "$1\u00a0");

/** el("p", {class: "note"}, "text", child...): keys that begin with "on" are listeners. */
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** A long text breaks anywhere, but is never a column of letters. */
const cellOf = (kind, content) => el("td", {class: kind}, kind === "long" ? el("div", {}, content) : content);

/** The same without columns in which nothing stands. */
function filled({head, rows}) {
  const isUsed = head.map((_, i) => rows.some((row) => row[i] !== "-"));
  const kept = (cells) => cells.filter((_, i) => isUsed[i]);
  return {head: kept(head), rows: rows.map(kept)};
}

/** A table of {head: [{text, number}], rows: [[cell]]}; a cell is a text or an element. */
function table(content, options = {}) {
  const kind = (cell, i) => (content.head[i].number ? "number" : (cell.textContent ?? cell).length > 40 ? "long" : null);
  return el("div", {class: `scroll ${options.class ?? ""}`, tabindex: 0, role: "region", "aria-label": options.label},
    el("table", {},
      el("thead", {}, el("tr", {}, content.head.map((h) =>
        el("th", {scope: "col", class: h.number ? "number" : null, title: h.title}, h.text)))),
      el("tbody", {}, content.rows.map((row) =>
        el("tr", {}, row.map((cell, i) => cellOf(kind(cell, i), cell)))))));
}
/** That of a measurement without messages is none. */
const transportOf = (m) => (m.transport === "none" ? "" : m.transport ?? "");
const column = (text, number = false) => ({text, number});
const numbers = (...texts) => texts.map((text) => column(text, true));

/** A labelled choice; `options` are texts, `change` gets the index. */
function choice(label, options, chosen, change) {
  const select = el("select", {onchange: () => change(select.selectedIndex)},
    options.map((text, i) => el("option", {selected: i === chosen}, text)));
  return el("label", {}, label, select);
}

const verdict = (text) => el("span", {class: `pill ${text}`}, text);

/**
 * A card with a table whose rows a click on a head sorts, and a word filters. Of a column `of(item)` is
 * what is sorted, `cell(item)` what is shown in its place; those without a value are left out. One that
 * is `below` has no head: what it says of an item stands below the row, as wide as the card.
 */
function sortable(columns, items, options) {
  const used = columns.filter((one) => items.some((item) => ![undefined, null, ""].includes(one.of(item))));
  const shown = used.filter((one) => !one.below);
  const below = used.find((one) => one.below);
  const kMax = 1000;
  let sortedBy = null, direction = 1, wanted = "", most = kMax;
  const body = el("tbody");
  const heads = shown.map((one) => {
    const button = el("button", {type: "button", onclick: () => {
      direction = sortedBy === one ? -direction : 1;
      sortedBy = one;
      show();
    }}, one.text);
    return el("th", {scope: "col", class: one.number ? "number" : null, title: one.title, "aria-sort": "none"}, button);
  });
  const told = el("span", {class: "note", role: "status"});
  const more = el("button", {type: "button", onclick: () => {
    most = Infinity;
    show();
  }}, "Show all");
  const texts = new Map(items.map((item) => [item, used.map((one) => String(one.of(item) ?? "")).join(" ").toLowerCase()]));
  function show() {
    let rows = items.filter((item) => wanted.split(/\s+/).every((word) => texts.get(item).includes(word)));
    if (sortedBy) {
      const missing = (x) => x === null || x === undefined || x === "";
      rows = [...rows].sort((a, b) => {
        const [x, y] = [sortedBy.of(a), sortedBy.of(b)];
        if (missing(x) || missing(y)) return missing(x) - missing(y);
        return direction * (typeof x === "number" ? x - y : String(x).localeCompare(String(y), "en", {numeric: true}));
      });
    }
    heads.forEach((head, i) => {
      const state = shown[i] === sortedBy ? (direction > 0 ? "ascending" : "descending") : "none";
      head.setAttribute("aria-sort", state);
      head.firstElementChild.textContent = `${shown[i].text}${{ascending: " ▲", descending: " ▼", none: ""}[state]}`;
    });
    const cell = (one, item) => {
      if (one.cell) return one.cell(item);
      const value = one.of(item);
      return value === null || value === undefined || value === "" ? "-" : String(value);
    };
    const rowsOf = (item) => [
      el("tr", {}, shown.map((one) => cellOf(one.number ? "number" : one.long ? "long" : null, cell(one, item)))),
      ...(below?.of(item) ? [el("tr", {class: "below"}, el("td", {colspan: shown.length}, el("div", {}, cell(below, item))))] : [])];
    body.replaceChildren(...rows.slice(0, most).flatMap(rowsOf));
    told.textContent = `${Math.min(rows.length, most)} of ${plural(items.length, "measurement")}`;
    more.hidden = rows.length <= most;
  }
  show();
  return el("article", {class: "card wide"},
    el("div", {class: "controls"}, el("label", {}, "filter", el("input", {type: "search", placeholder: options.example, oninput: (event) => {
      wanted = event.target.value.trim().toLowerCase();
      show();
    }})), told, more),
    el("div", {class: `scroll ${options.class ?? ""}`, tabindex: 0, role: "region", "aria-label": options.label}, el("table", {id: options.id}, el("thead", {}, el("tr", {}, heads)), body)));
}

/** A finding with a list of at most `most` lines, each a text or texts and elements. */
function finding(kind, title, lines, most = 8) {
  if (lines.length === 0) return null;
  const rest = lines.length - most;
  return el("li", {class: kind}, el("b", {}, title),
    el("ul", {}, lines.slice(0, most).map((line) => el("li", {}, [line].flat().map((part) => (typeof part === "string" ? unbroken(part) : part)))), rest > 0 ? el("li", {}, `and ${rest} more: see the table of all measurements`) : null));
}

function machine(run) {
  const nodes = new Set(run.ranks.map((rank) => rank.node));
  const models = new Map();
  for (const rank of run.ranks) models.set(rank.device, (models.get(rank.device) ?? 0) + 1);
  const devices = [...models].map(([model, n]) => `${n} × ${model}`).join(", ");
  return `${plural(run.ranks.length, "rank")} on ${plural(nodes.size, "node")}, ${devices}`;
}

function facts(object) {
  const entries = Object.entries(object).filter(([, value]) => value !== "");
  return entries.length ? el("dl", {class: "facts"}, entries.flatMap(([key, value]) => [el("dt", {}, key), el("dd", {}, String(value))])) : el("p", {class: "note"}, "none");
}

const capitalised = (text) => text[0].toUpperCase() + text.slice(1);

const main = document.getElementById("main");
function section(id, title, about, ...children) {
  if (children.flat().length === 0) return;
  main.append(el("section", {id, "aria-labelledby": `${id}-title`}, el("h2", {id: `${id}-title`}, title),
    about ? el("p", {}, unbroken(about)) : null, children));
  document.getElementById("nav").append(el("a", {href: `#${id}`}, title));
}
const grid = (cards) => (cards.length ? [el("div", {class: "grid"}, cards.map((card) => card.node ?? card))] : []);
