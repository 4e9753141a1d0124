--- What the script of a result's page is built on: the embedded rows, elements, texts, tips, scales and axes.
--
-- Texts of the data become text nodes, never markup. Dependencies: none.
-- @module luhip.tune.page_kit

return [==[
"use strict";
const byId = id => document.getElementById(id);
const list = x => (Array.isArray(x) ? x : Object.values(x || {}));
const data = JSON.parse(byId("data").textContent);
const params = list(data.params).map(p => ({ ...p, values: list(p.values) }));
const rows = list(data.rows).map((r, i) => ({ ...r, at: list(r.at), metrics: r.metrics || {}, i: i + 1 }));
const metrics = list(data.metrics);
const statuses = list(data.statuses);
const unit = data.objective === "ms" || data.objective === "median" || data.objective === "min" ? " ms" : "";
const better = (a, b) => (data.higher ? a > b : a < b);
const filters = params.map(() => 0);
let onlyStatus = "",
  sortBy = { key: "value", down: false },
  shown = 25;
const heat = { x: 0, y: 0, what: "best" };

function add(node, attributes, children = []) {
  for (const [k, v] of Object.entries(attributes || {})) {
    if (k.startsWith("on")) node.addEventListener(k.slice(2), v);
    else if (v !== undefined && v !== null) node.setAttribute(k, v);
  }
  node.append(...children.filter(c => c !== undefined && c !== null && c !== false));
  return node;
}
const el = (tag, attributes, ...children) => add(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  add(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

function number(v) {
  if (v === null || v === undefined) return "";
  if (typeof v !== "number" || Number.isInteger(v)) return String(v);
  const a = Math.abs(v);
  return a >= 1e5 || (a > 0 && a < 1e-3) ? v.toExponential(2) : String(+v.toPrecision(4));
}
const valueOf = (row, p) => String(params[p].values[row.at[p] - 1]);
const config = row => params.map((p, k) => p.name + "=" + valueOf(row, k)).join(" ");

function tellRow(row) {
  const lines = [
    "#" + row.i + "  " + (row.value !== undefined ? data.objective + " " + number(row.value) : row.status),
  ];
  params.forEach((p, k) => lines.push(p.name + " = " + valueOf(row, k)));
  metrics.forEach(m => {
    if (m !== data.objective && row.metrics[m] !== undefined) lines.push(m + ": " + number(row.metrics[m]));
  });
  if (row.low !== undefined) lines.push("between " + number(row.low) + " and " + number(row.high) + " ms");
  if (row.final !== undefined) lines.push("measured again, in turn with its rivals: " + number(row.final) + " ms");
  if (row.place) lines.push("on " + row.place);
  if (row.compile_ms !== undefined) lines.push("compiled in " + number(row.compile_ms) + " ms");
  if (row.error) lines.push(row.error.slice(0, 300));
  return lines.join("\n");
}
function tip(event, text) {
  const box = byId("tip");
  box.textContent = text;
  box.hidden = false;
  const width = box.offsetWidth,
    height = box.offsetHeight;
  box.style.left = Math.min(event.clientX + 14, innerWidth - width - 8) + "px";
  box.style.top =
    (event.clientY + 14 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 14) + "px";
}
const hide = () => {
  byId("tip").hidden = true;
};
const hover = text => ({ onmousemove: e => tip(e, typeof text === "function" ? text() : text), onmouseleave: hide });

function scale(lo, hi, from, to, log) {
  const f = log ? Math.log10 : v => v;
  if (lo === hi) {
    hi = log ? lo * 1.1 : lo + (Math.abs(lo) || 1) * 0.1;
    lo = log ? lo / 1.1 : lo - (Math.abs(lo) || 1) * 0.1;
  }
  const a = f(lo),
    b = f(hi);
  const s = v => from + ((f(v) - a) / (b - a)) * (to - from);
  s.lo = lo;
  s.hi = hi;
  s.log = log;
  s.back = x => {
    const v = a + ((x - from) / (to - from)) * (b - a);
    return log ? 10 ** v : v;
  };
  return s;
}
function ticks(s, count) {
  const out = [];
  if (s.log && Math.log10(s.hi / s.lo) > 0.8) {
    const wide = Math.log10(s.hi / s.lo) > 3;
    for (let e = Math.floor(Math.log10(s.lo)); e <= Math.ceil(Math.log10(s.hi)); e++)
      for (const m of wide ? [1] : [1, 2, 5]) out.push(+(m * 10 ** e).toPrecision(3));
  } else {
    const raw = (s.hi - s.lo) / count,
      size = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map(m => m * size).find(v => v >= raw);
    for (let v = Math.ceil(s.lo / step) * step; v <= s.hi * (1 + 1e-12); v += step) out.push(+v.toPrecision(10));
  }
  return out.filter(v => v >= s.lo && v <= s.hi);
}
function frame(id, height, left) {
  const box = byId(id),
    width = Math.max(280, box.clientWidth || 600);
  const root = svg("svg", { viewBox: "0 0 " + width + " " + height, role: "img" });
  box.replaceChildren(root);
  return { root, width, height, left: left || 58, right: width - 12, top: 10, bottom: height - 34 };
}
function axes(f, x, y, xName, yName) {
  if (y)
    for (const v of ticks(y, 5))
      f.root.append(
        svg("line", { class: "grid", x1: f.left, x2: f.right, y1: y(v), y2: y(v) }),
        svg("text", { x: f.left - 7, y: y(v) + 4, "text-anchor": "end" }, number(v)),
      );
  for (const v of ticks(x, Math.max(3, (f.right - f.left) / 90)))
    f.root.append(svg("text", { x: x(v), y: f.bottom + 16, "text-anchor": "middle" }, number(v)));
  f.root.append(
    svg("line", { class: "axis", x1: f.left, x2: f.right, y1: f.bottom, y2: f.bottom }),
    svg("text", { x: f.right, y: f.bottom + 30, "text-anchor": "end" }, xName),
  );
  if (yName) f.root.append(svg("text", { x: f.left, y: f.top - 1 }, yName));
}
const bounds = values => values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
const spread = ([lo, hi]) => lo > 0 && hi / lo > 4;
function empty(id, text) {
  byId(id).replaceChildren(el("p", { class: "note" }, text));
}
]==]
