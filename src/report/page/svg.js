// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
// Charts as SVG: a context of a canvas that keeps what is drawn as elements.

const kDrawingStates = {fillStyle: "#000000", strokeStyle: "#000000", lineWidth: 1, lineCap: "butt", lineJoin: "miter", lineDashOffset: 0,
  font: "10px sans-serif", textAlign: "start", textBaseline: "alphabetic", globalAlpha: 1, dash: [], matrix: new DOMMatrix(), clipped: null};
/** Colours of patterns, which do not tell theirs. */
const patternColors = new WeakMap();

class SvgContext {
  constructor(width, height) {
    Object.assign(this, kDrawingStates, {states: [], path: [], clips: new Map()});
    // All that Chart.js asks of a canvas.
    this.canvas = {width, height, style: document.createElement("canvas").style, getContext: () => this};
    this.pen = document.createElement("canvas").getContext("2d");
    this.root = this.make("svg", {xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height});
    this.root.append(this.make("rect", {width, height, fill: color("card")}));
  }
  make(tag, attributes) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }
  define(tag, attributes, ...children) {
    const made = this.make(tag, {id: `d${this.root.querySelectorAll("defs").length}`, ...attributes});
    made.append(...children);
    const defs = this.make("defs", {});
    defs.append(made);
    this.root.append(defs);
    return `url(#${made.id})`;
  }
  transform() {
    const {a, b, c, d, e, f} = this.matrix;
    return this.matrix.isIdentity ? {} : {transform: `matrix(${[a, b, c, d, e, f].join(" ")})`};
  }
  put(tag, attributes) {
    const made = this.make(tag, {...attributes, ...this.transform()});
    const last = this.root.lastElementChild;
    const clip = this.clipped;
    if (!clip) this.root.append(made);
    else if (last.getAttribute("clip-path") === clip) last.append(made);
    else {
      const group = this.make("g", {"clip-path": clip});
      group.append(made);
      this.root.append(group);
    }
    return made;
  }
  /** Fill or stroke: a colour, its opacity apart, which not all programs read in one. */
  paint(kind, style) {
    const own = patternColors.get(style);
    if (own) {
      return {[kind]: this.define("pattern", {width: 8, height: 8, patternUnits: "userSpaceOnUse"},
        this.make("path", {d: "M-8 8L0 0M0 8L8 0M8 8L16 0", stroke: own, "stroke-width": 2}))};
    }
    this.pen.fillStyle = style;
    const [, rgb, alpha] = this.pen.fillStyle.match(/^rgba\((.*), ([\d.]+)\)$/) ?? [];
    const opacity = this.globalAlpha * (alpha ?? 1);
    return {[kind]: rgb ? `rgb(${rgb})` : this.pen.fillStyle, ...(opacity < 1 ? {[`${kind}-opacity`]: opacity} : {})};
  }

  save() {
    this.states.push(Object.fromEntries(Object.keys(kDrawingStates).map((key) => [key, this[key]])));
  }
  restore() {
    Object.assign(this, this.states.pop());
  }
  translate(x, y) {
    this.matrix = this.matrix.translate(x, y);
  }
  rotate(angle) {
    this.matrix = this.matrix.rotate(angle * 180 / Math.PI);
  }
  scale(x, y) {
    this.matrix = this.matrix.scale(x, y);
  }
  setTransform(...values) {
    this.matrix = new DOMMatrix(values);
  }
  resetTransform() {
    this.matrix = new DOMMatrix();
  }
  setLineDash(dash) {
    this.dash = dash;
  }
  getLineDash() {
    return this.dash;
  }

  beginPath() {
    this.path = [];
  }
  moveTo(x, y) {
    this.path.push(`M${x} ${y}`);
  }
  lineTo(x, y) {
    this.path.push(`${this.path.length ? "L" : "M"}${x} ${y}`);
  }
  bezierCurveTo(...at) {
    this.path.push(`C${at.join(" ")}`);
  }
  quadraticCurveTo(...at) {
    this.path.push(`Q${at.join(" ")}`);
  }
  closePath() {
    if (this.path.length) this.path.push("Z");
  }
  rect(x, y, width, height) {
    this.path.push(`M${x} ${y}h${width}v${height}h${-width}Z`);
  }
  arc(x, y, radius, from, to, isBackward = false) {
    const turn = 2 * Math.PI, at = (angle) => `${x + radius * Math.cos(angle)} ${y + radius * Math.sin(angle)}`;
    const isWhole = Math.abs(to - from) >= turn - 1e-6;
    const sign = isBackward ? -1 : 1;
    const length = isWhole ? turn : (((to - from) * sign) % turn + turn) % turn;
    this.lineTo(...at(from).split(" "));
    // In two parts: an arc that ends where it begins is none.
    for (const part of [length / 2, length]) this.path.push(`A${radius} ${radius} 0 0 ${isBackward ? 0 : 1} ${at(from + sign * part)}`);
  }
  ellipse(x, y, radius, _, __, from, to, isBackward) {
    this.arc(x, y, radius, from, to, isBackward);
  }

  fill(rule) {
    this.put("path", {d: this.path.join(""), ...this.paint("fill", this.fillStyle), ...(rule === "evenodd" ? {"fill-rule": rule} : {})});
  }
  stroke() {
    if (!(this.lineWidth > 0)) return;
    this.put("path", {d: this.path.join(""), fill: "none", ...this.paint("stroke", this.strokeStyle), "stroke-width": this.lineWidth,
      "stroke-linecap": this.lineCap, "stroke-linejoin": this.lineJoin,
      ...(this.dash.length ? {"stroke-dasharray": this.dash.join(" "), "stroke-dashoffset": this.lineDashOffset} : {})});
  }
  clip() {
    const d = this.path.join(""), key = `${this.clipped} ${d}`;
    if (!this.clips.has(key)) {
      const path = this.make("path", {d, ...this.transform()});
      this.clips.set(key, this.define("clipPath", this.clipped ? {"clip-path": this.clipped} : {}, path));
    }
    this.clipped = this.clips.get(key);
  }
  fillRect(...at) {
    this.beginPath();
    this.rect(...at);
    this.fill();
  }
  strokeRect(...at) {
    this.beginPath();
    this.rect(...at);
    this.stroke();
  }
  clearRect() {}
  measureText(text) {
    Object.assign(this.pen, {font: this.font, textAlign: this.textAlign, textBaseline: this.textBaseline});
    return this.pen.measureText(text);
  }
  fillText(text, x, y) {
    const anchor = {center: "middle", right: "end", end: "end"}[this.textAlign] ?? "start";
    // Programs differ in all baselines but one.
    const {actualBoundingBoxAscent: above} = this.measureText(text);
    this.pen.textBaseline = "alphabetic";
    const shift = this.pen.measureText(text).actualBoundingBoxAscent - above;
    this.put("text", {x, y: y + shift, "text-anchor": anchor, style: `font: ${this.font}`, ...this.paint("fill", this.fillStyle)}).textContent = text;
  }
}
