--- What draws the page of a result: plain JavaScript over the embedded rows.
--
-- Every plot is drawn anew from the rows that the filters leave. At the end data-state of the document is "ready", or
-- "failed" with the reason in data-error. Dependencies: luhip.tune.page_kit.
-- @module luhip.tune.page_script

return require "luhip.tune.page_kit"
  .. [==[

function drawHistory(kept) {
  const worked = kept.filter(r => r.value !== undefined);
  byId("history-note").textContent =
    "Each dot is a configuration in order of its measurement; the line is the best until then." +
    (kept.length > worked.length ? " Ticks below are failures." : "");
  if (!worked.length) return empty("history", "Nothing that worked.");
  const f = frame("history", 300),
    range = bounds(worked.map(r => r.value)),
    log = spread(range);
  f.top = 20;
  const x = scale(1, Math.max(2, rows.length), f.left + 6, f.right - 4),
    y = scale(range[0], range[1], f.bottom - 12, f.top + 6, log);
  axes(f, x, y, "configurations", data.objective + (log ? " (logarithmic)" : ""));
  const every = Math.ceil(worked.length / 4000),
    gains = [];
  let best,
    path = "";
  for (const r of worked) {
    if (best === undefined || better(r.value, best)) {
      path += best === undefined ? "M" + x(r.i) + " " + y(r.value) : "H" + x(r.i) + "V" + y(r.value);
      best = r.value;
      gains.push(r);
    }
  }
  worked.forEach((r, k) => {
    if (k % every === 0) f.root.append(svg("circle", { class: "point", cx: x(r.i), cy: y(r.value), r: 2.6 }));
  });
  kept.forEach(r => {
    if (r.value === undefined)
      f.root.append(svg("line", { class: "fail", x1: x(r.i), x2: x(r.i), y1: f.bottom - 6, y2: f.bottom }));
  });
  f.root.append(svg("path", { class: "step", d: path + "H" + x(rows.length) }));
  gains.forEach(r => f.root.append(svg("circle", { class: "gain", cx: x(r.i), cy: y(r.value), r: 3.6 })));
  const mark = svg("circle", { class: "mark", r: 6, visibility: "hidden" });
  f.root.append(mark);
  add(
    f.root,
    {
      onmousemove: e => {
        const scaleBy = f.width / f.root.getBoundingClientRect().width;
        const px = e.offsetX * scaleBy,
          py = e.offsetY * scaleBy;
        let near,
          least = 900;
        for (const r of kept) {
          const dy = r.value === undefined ? f.bottom - 3 : y(r.value),
            d = (x(r.i) - px) ** 2 + (dy - py) ** 2;
          if (d < least) {
            least = d;
            near = r;
          }
        }
        if (!near) {
          hide();
          return mark.setAttribute("visibility", "hidden");
        }
        add(
          mark,
          { cx: x(near.i), cy: near.value === undefined ? f.bottom - 3 : y(near.value), visibility: "visible" },
          [],
        );
        tip(e, tellRow(near));
      },
      onmouseleave: () => {
        hide();
        mark.setAttribute("visibility", "hidden");
      },
    },
    [],
  );
}

function drawDistribution(kept) {
  const values = kept
    .filter(r => r.value !== undefined)
    .map(r => r.value)
    .sort((a, b) => a - b);
  byId("distribution-note").textContent = values.length
    ? "Median " + number(values[values.length >> 1]) + unit + " over " + values.length + " that worked."
    : "";
  if (!values.length) return empty("distribution", "Nothing that worked.");
  const f = frame("distribution", Math.max(260, byId("importance").clientHeight)),
    range = bounds(values),
    log = spread(range);
  const x = scale(range[0], range[1], f.left, f.right, log),
    bins = Math.max(4, Math.min(40, Math.ceil(2 * Math.cbrt(values.length))));
  const counts = Array(bins).fill(0),
    width = (f.right - f.left) / bins;
  for (const v of values) counts[Math.min(bins - 1, Math.floor((x(v) - f.left) / width))]++;
  const y = scale(0, Math.max(...counts), f.bottom, f.top);
  axes(f, x, y, data.objective + (log ? " (logarithmic)" : ""), "");
  counts.forEach((n, k) => {
    if (!n) return;
    const a = f.left + k * width;
    f.root.append(
      svg("rect", {
        class: "bar",
        x: a + 1,
        width: Math.max(1, width - 2),
        y: y(n),
        height: f.bottom - y(n),
        rx: 2,
        ...hover(
          n +
            (n === 1 ? " configuration" : " configurations") +
            "\n" +
            number(x.back(a)) +
            " to " +
            number(x.back(a + width)) +
            unit,
        ),
      }),
    );
  });
}

function drawImportance() {
  const singles = params
    .filter(p => p.values.length > 1)
    .map(p => ({ name: p.name, share: p.share, kind: "bar" }))
    .sort((a, b) => b.share - a.share);
  const pairs = list(data.pairs)
    .map(list)
    .slice(0, 5)
    .filter(p => p[2] >= 0.005)
    .map(p => ({ name: params[p[0] - 1].name + " × " + params[p[1] - 1].name, share: p[2], kind: "pair" }));
  const all = singles.concat(pairs);
  if (!all.length) return empty("importance", "No parameter has two values.");
  const left = Math.min(200, 20 + 7.2 * Math.max(...all.map(a => a.name.length)));
  const f = frame("importance", 24 * all.length + 12, left);
  const x = scale(0, Math.max(0.05, ...all.map(a => a.share)), f.left, f.right - 48);
  all.forEach((a, k) => {
    const y = 8 + 24 * k;
    f.root.append(
      svg(
        "text",
        { class: "strong", x: f.left - 8, y: y + 12, "text-anchor": "end" },
        a.name.length > 26 ? a.name.slice(0, 25) + "…" : a.name,
      ),
      svg("rect", {
        class: a.kind,
        x: f.left,
        y,
        height: 15,
        width: Math.max(1, x(a.share) - f.left),
        rx: 2,
        ...hover(
          a.name + ": " + (100 * a.share).toFixed(1) + " %" + (a.kind === "pair" ? " beyond the two alone" : ""),
        ),
      }),
      svg("text", { x: x(a.share) + 6, y: y + 12 }, (100 * a.share).toFixed(1) + " %"),
    );
  });
}

const cellValue = {
  best: cell => (cell.values.length ? cell.values.reduce((a, b) => (better(a, b) ? a : b)) : undefined),
  median: cell => (cell.values.length ? cell.values.sort((a, b) => a - b)[cell.values.length >> 1] : undefined),
  failed: cell => (cell.count ? (cell.count - cell.values.length) / cell.count : undefined),
};
function cells(kept) {
  const map = new Map();
  for (const r of kept) {
    const key = r.at[heat.x] + "," + r.at[heat.y];
    if (!map.has(key)) map.set(key, { x: r.at[heat.x] - 1, y: r.at[heat.y] - 1, values: [], count: 0 });
    const cell = map.get(key);
    cell.count++;
    if (r.value !== undefined) cell.values.push(r.value);
  }
  for (const cell of map.values()) cell.shown = cellValue[heat.what](cell);
  return [...map.values()];
}
function drawHeat(kept) {
  const all = cells(kept),
    known = all.filter(c => c.shown !== undefined).map(c => c.shown);
  if (!known.length) return empty("heat", "Nothing to show.");
  const px = params[heat.x],
    py = params[heat.y],
    range = bounds(known);
  byId("heat-note").textContent =
    heat.what === "failed"
      ? "Stronger: more of them failed. Empty: not measured."
      : "Stronger: better, from " +
        number(range[data.higher ? 1 : 0]) +
        " to " +
        number(range[data.higher ? 0 : 1]) +
        unit +
        ". Outlined: all failed. Empty: not measured.";
  const left = Math.min(120, 24 + 7.2 * Math.max(py.name.length, ...py.values.map(v => String(v).length)));
  const step = Math.max(14, Math.min(34, 300 / py.values.length));
  const f = frame("heat", step * py.values.length + 56, left),
    width = (f.right - f.left) / px.values.length;
  const failed = heat.what === "failed",
    tone = scale(range[0], range[1], 0, 100, !failed && range[0] > 0);
  f.root.append(svg("text", { class: "strong", x: f.left - 8, y: 14, "text-anchor": "end" }, py.name));
  const top = 22,
    label = (v, w) => (String(v).length * 7 > w ? String(v).slice(0, Math.max(1, Math.floor(w / 7))) : String(v));
  py.values.forEach((v, k) =>
    f.root.append(
      svg("text", { x: f.left - 8, y: top + k * step + step / 2 + 4, "text-anchor": "end" }, label(v, left - 12)),
    ),
  );
  px.values.forEach((v, k) =>
    f.root.append(
      svg(
        "text",
        { x: f.left + (k + 0.5) * width, y: top + step * py.values.length + 15, "text-anchor": "middle" },
        label(v, width),
      ),
    ),
  );
  f.root.append(
    svg(
      "text",
      { class: "strong", x: f.right, y: top + step * py.values.length + 31, "text-anchor": "end" },
      px.name,
    ),
  );
  for (const c of all) {
    let part = c.shown === undefined ? 0 : range[0] === range[1] ? 100 : tone(c.shown);
    if (c.shown !== undefined && !failed && !data.higher && range[0] !== range[1]) part = 100 - part;
    const fill =
      "color-mix(in oklab, var(" + (failed ? "--bad" : "--high") + ") " + part.toFixed(1) + "%, var(--low))";
    const text =
      px.name +
      " = " +
      px.values[c.x] +
      "\n" +
      py.name +
      " = " +
      py.values[c.y] +
      "\n" +
      (c.shown === undefined
        ? "all failed"
        : heat.what + " " + (failed ? (100 * c.shown).toFixed(0) + " %" : number(c.shown) + unit)) +
      "\n" +
      c.count +
      " measured, " +
      (c.count - c.values.length) +
      " failed";
    f.root.append(
      svg("rect", {
        class: "cell" + (c.shown === undefined ? " none" : ""),
        x: f.left + c.x * width + 1,
        y: top + c.y * step + 1,
        width: Math.max(1, width - 2),
        height: step - 2,
        rx: 3,
        ...(c.shown === undefined ? {} : { style: "fill:" + fill }),
        ...hover(text),
      }),
    );
    if (c.shown !== undefined && width > 46 && step > 17)
      f.root.append(
        svg(
          "text",
          {
            x: f.left + (c.x + 0.5) * width,
            y: top + c.y * step + step / 2 + 4,
            "text-anchor": "middle",
            "pointer-events": "none",
            style: "fill:" + (part > 55 ? "var(--card)" : "var(--text)"),
          },
          failed ? (100 * c.shown).toFixed(0) + " %" : number(c.shown),
        ),
      );
  }
}

function drawFailures(kept) {
  const box = byId("failures"),
    bad = kept.filter(r => r.status !== "ok"),
    most = Math.max(1, ...statuses.map(s => bad.filter(r => r.status === s).length));
  box.replaceChildren();
  if (!bad.length) return box.append(el("p", { class: "note" }, "None."));
  for (const status of statuses) {
    const group = bad.filter(r => r.status === status),
      messages = new Map();
    if (!group.length) continue;
    for (const r of group) messages.set(r.error || "", (messages.get(r.error || "") || []).concat(r));
    const common = [...messages].sort((a, b) => b[1].length - a[1].length).slice(0, 5);
    box.append(
      el(
        "details",
        {},
        el(
          "summary",
          {},
          el(
            "div",
            { class: "reason" },
            el("span", {}, status),
            el("span", {}, el("i", { style: "width:" + (100 * group.length) / most + "%" })),
            el("em", {}, String(group.length)),
          ),
        ),
        ...common.map(([text, those]) =>
          el("pre", {}, those.length + " × " + (text || "no message") + "\nfor example " + config(those[0])),
        ),
      ),
    );
  }
  box.append(el("p", { class: "note" }, "A reason opens to its messages."));
}

const columns = [
  { key: "i", name: "#" },
  { key: "value", name: data.objective },
  ...params.map((p, k) => ({ key: "p" + k, name: p.name, param: k })),
  ...metrics.filter(m => m !== data.objective).map(m => ({ key: "m" + m, name: m, metric: m })),
  { key: "status", name: "status", text: true },
];
function keyOf(row, c) {
  if (c.param !== undefined) return params[c.param].values[row.at[c.param] - 1];
  return c.metric !== undefined ? row.metrics[c.metric] : row[c.key];
}
function drawTable(kept) {
  const by = columns.find(c => c.key === sortBy.key);
  const sorted = [...kept].sort((a, b) => {
    const u = keyOf(a, by),
      v = keyOf(b, by);
    if (u === undefined || v === undefined) return (u === undefined) - (v === undefined) || a.i - b.i;
    return (u < v ? -1 : u > v ? 1 : 0) * (sortBy.down ? -1 : 1) || a.i - b.i;
  });
  const head = el(
    "tr",
    {},
    ...columns.map(c =>
      el(
        "th",
        {
          class: c.text ? "text" : undefined,
          scope: "col",
          onclick: () => {
            sortBy = { key: c.key, down: sortBy.key === c.key && !sortBy.down };
            render();
          },
        },
        c.name + (sortBy.key === c.key ? (sortBy.down ? " ▾" : " ▴") : ""),
      ),
    ),
  );
  const best = winner;
  byId("rows").replaceChildren(
    el("thead", {}, head),
    el(
      "tbody",
      {},
      ...sorted
        .slice(0, shown)
        .map(r =>
          el(
            "tr",
            { class: r === best ? "first" : undefined, ...hover(() => tellRow(r)) },
            ...columns.map(c =>
              el(
                "td",
                { class: c.text ? "text" + (r.status !== "ok" ? " bad" : "") : undefined },
                number(keyOf(r, c)),
              ),
            ),
          ),
        ),
    ),
  );
  byId("more").hidden = sorted.length <= shown;
  byId("more").textContent = "More of " + sorted.length;
}

const lowest = all =>
  all.filter(r => r.value !== undefined).reduce((a, b) => (a && !better(b.value, a.value) ? a : b), undefined);
// Rivals within the noise were measured again: the winner need not be the one with the lowest first value.
const winner = rows[data.best - 1] || lowest(rows);
function drawHead() {
  const best = winner,
    ok = rows.filter(r => r.status === "ok").length,
    tile = (text, label, kind) =>
      byId("tiles").append(el("div", { class: "tile" + (kind || "") }, el("b", {}, text), el("span", {}, label)));
  const about = [
    data.device.name,
    data.device.arch,
    Object.entries(data.problem || {})
      .map(([k, v]) => k + "=" + v)
      .join(" "),
    data.strategy && "strategy " + data.strategy,
    ok && (data.verified ? "every result verified" : "results not verified"),
  ];
  byId("subtitle").textContent = about.filter(Boolean).join(" · ");
  tile(
    best ? number(best.value) + unit : "none",
    best
      ? (unit ? "" : data.objective + " of ") +
          config(best) +
          (data.near > 1 ? " (the best of " + data.near + " within the noise)" : "")
      : "no configuration worked",
    " best",
  );
  tile(
    rows.length + (data.total && data.total !== rows.length ? " of " + number(data.total) : ""),
    "configurations" + (data.reused ? ", " + data.reused + " from the store" : ""),
  );
  tile(String(rows.length - ok), "failed");
  if (data.seconds !== undefined) {
    const tried = rows.length - (data.reused || 0);
    tile(
      number(data.seconds) + " s",
      data.seconds > 0 && tried ? number(tried / data.seconds) + " configurations a second" : "in all",
    );
  }
  for (const text of list(data.warnings)) byId("subtitle").after(el("p", {}, "Warning: " + text));
}
function choice(label, options, chosen, change) {
  const select = el(
    "select",
    {
      onchange: e => {
        change(e.target.value);
        render();
      },
    },
    ...options.map(([value, text]) => el("option", { value, selected: value === chosen ? "" : undefined }, text)),
  );
  return el("label", {}, label, select);
}
function controls() {
  byId("filters").append(el("strong", {}, "Only"));
  params.forEach((p, k) => {
    if (p.values.length > 1)
      byId("filters").append(
        choice(p.name, [[0, "all"], ...p.values.map((v, i) => [i + 1, String(v)])], 0, v => {
          filters[k] = +v;
        }),
      );
  });
  byId("filters").append(
    choice(
      "status",
      [["", "all"], ["ok", "ok"], ...statuses.filter(s => rows.some(r => r.status === s)).map(s => [s, s])],
      "",
      v => {
        onlyStatus = v;
      },
    ),
  );
  const names = params.map((p, k) => [k, p.name]),
    pair = list(data.pairs).map(list)[0];
  const order = params.map((p, k) => k).sort((a, b) => params[b].share - params[a].share);
  [heat.x, heat.y] =
    pair && pair[2] > (params[order[1]] || {}).share
      ? [pair[0] - 1, pair[1] - 1]
      : [order[0], order[1] === undefined ? order[0] : order[1]];
  byId("heat-controls").append(
    choice("across", names, heat.x, v => {
      heat.x = +v;
    }),
    choice("down", names, heat.y, v => {
      heat.y = +v;
    }),
    choice(
      "shows",
      [
        ["best", "best"],
        ["median", "median"],
        ["failed", "share of failures"],
      ],
      "best",
      v => {
        heat.what = v;
      },
    ),
  );
  byId("more").addEventListener("click", () => {
    shown *= 4;
    render();
  });
}
function render() {
  hide();
  const kept = rows.filter(
    r => (!onlyStatus || r.status === onlyStatus) && filters.every((f, k) => !f || r.at[k] === f),
  );
  drawHistory(kept);
  drawImportance();
  drawDistribution(kept);
  drawHeat(kept);
  drawFailures(kept);
  drawTable(kept);
  document.documentElement.dataset.rows = kept.length;
}
try {
  sortBy.down = !!data.higher;
  drawHead();
  controls();
  render();
  let later;
  addEventListener("resize", () => {
    clearTimeout(later);
    later = setTimeout(render, 100);
  });
  document.documentElement.dataset.state = "ready";
} catch (e) {
  document.documentElement.dataset.state = "failed";
  document.documentElement.dataset.error = String((e && e.stack) || e);
  throw e;
}
]==]
