// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
// Numbers as texts, elements of the page. Whatever comes from a result becomes a text node or an
// attribute, never markup.

const isNumber = (x) => typeof x === "number" && Number.isFinite(x);

/** Three significant digits without an exponent where that is short. */
function digits(x) {
  if (!isNumber(x)) return "-";
  if (x === 0) return "0";
  const size = Math.abs(x);
  return size >= 1e6 || size < 1e-3 ? x.toExponential(2) : String(Number(x.toPrecision(3)));
}

function scaled(x, unit, prefixes) {
  if (!isNumber(x)) return "-";
  if (x === 0) return `0 ${unit}`;
  const [size, prefix] = prefixes.find(([least]) => Math.abs(x) >= least * 0.9995) ?? prefixes.at(-1);
  const value = x / size;
  const text = Math.abs(value) >= 1000 || Math.abs(value) < 0.01 ? value.toExponential(2) : value.toPrecision(3);
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
const sizeText = (size) => size.map(count).join(" × ") || "-";
const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

function interval(x, low, high, text) {
  return isNumber(low) && isNumber(high) ? `${text(x)} [${text(low)}, ${text(high)}]` : text(x);
}

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

/** A table of {head: [{text, number}], rows: [[cell]]}; a cell is a text or an element. */
function table(content, options = {}) {
  const kind = (cell, i) => (content.head[i].number ? "number" : (cell.textContent ?? cell).length > 40 ? "long" : null);
  return el("div", {class: `scroll ${options.class ?? ""}`, tabindex: 0, role: "region", "aria-label": options.label},
    el("table", {},
      el("thead", {}, el("tr", {}, content.head.map((h) =>
        el("th", {scope: "col", class: h.number ? "number" : null, title: h.title}, h.text)))),
      el("tbody", {}, content.rows.map((row) =>
        el("tr", {}, row.map((cell, i) => el("td", {class: kind(cell, i)}, cell)))))));
}
const column = (text, number = false) => ({text, number});
const numbers = (...texts) => texts.map((text) => column(text, true));

/** A labelled choice; `options` are texts, `change` gets the index. */
function choice(label, options, chosen, change) {
  const select = el("select", {onchange: () => change(select.selectedIndex)},
    options.map((text, i) => el("option", {selected: i === chosen}, text)));
  return el("label", {}, label, select);
}

const verdict = (text) => el("span", {class: `pill ${text}`}, text);
