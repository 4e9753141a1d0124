--- How the page of a result looks, in the light and in the dark.
-- Dependencies: none.
-- @module luhip.tune.page_style

return [[
:root {
  --ground: #f5f6f8; --card: #ffffff; --line: #dfe3e8; --grid: #eceff2; --text: #1b2026; --soft: #5d6773;
  --point: #7f93ab; --main: #1f6fb2; --best: #c2500c; --bad: #b3324b; --low: #eaf1f8; --high: #0f5390;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #121519; --card: #1a1f25; --line: #2e363f; --grid: #262d35; --text: #e6e9ed; --soft: #98a3af;
    --point: #66798f; --main: #5aa9e6; --best: #f29a4a; --bad: #ef7f92; --low: #1f2c39; --high: #6fb8f0;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.25rem; max-width: 84rem; background: var(--ground); color: var(--text);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.45rem; margin: 0; } h2 { font-size: 1.02rem; margin: 0 0 .35rem; }
header p { margin: .15rem 0 1rem; color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .8rem; margin-bottom: .8rem; }
.tile, .card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem; }
.tile b { display: block; font-size: 1.3rem; font-variant-numeric: tabular-nums; }
.tile.best { grid-column: span 2; } .tile.best b { color: var(--best); }
.tile span { color: var(--soft); font-size: .86rem; overflow-wrap: anywhere; }
.filters { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; margin-bottom: .8rem; }
.filters label, .controls label { color: var(--soft); font-size: .88rem; }
.controls { display: flex; flex-wrap: wrap; gap: .4rem 1rem; margin-bottom: .5rem; }
select, button { font: inherit; font-size: .88rem; color: var(--text); background: var(--card);
  border: 1px solid var(--line); border-radius: 5px; padding: .15rem .4rem; margin-left: .3rem; }
select:focus-visible, button:focus-visible { outline: 2px solid var(--main); }
main { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .8rem; }
.wide { grid-column: 1 / -1; }
@media (max-width: 56rem) { main { grid-template-columns: minmax(0, 1fr); } }
.note { margin: 0 0 .4rem; color: var(--soft); font-size: .86rem; }
.plot svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; }
svg text.strong { fill: var(--text); }
svg .grid { stroke: var(--grid); } svg .axis { stroke: var(--line); }
svg .point { fill: var(--point); fill-opacity: .65; } svg .step { fill: none; stroke: var(--best); stroke-width: 2; }
svg .gain { fill: var(--best); } svg .bar { fill: var(--main); } svg .pair { fill: var(--point); }
svg .fail { stroke: var(--bad); stroke-opacity: .7; }
svg .mark { fill: none; stroke: var(--text); stroke-width: 1.5; }
svg .cell:hover { stroke: var(--text); stroke-width: 2; }
svg .none { fill: transparent; stroke: var(--bad); stroke-opacity: .5; }
#failures .reason { display: grid; grid-template-columns: 6.5rem 1fr 3rem; gap: .6rem; align-items: center; }
#failures .reason i { display: block; height: .8rem; background: var(--bad); border-radius: 3px; min-width: 2px; }
#failures .reason em { font-style: normal; text-align: right; font-variant-numeric: tabular-nums; }
#failures details { margin: 0 0 .4rem; } #failures summary { cursor: pointer; list-style: none; }
#failures pre { margin: .3rem 0 .2rem; padding: .4rem .6rem; background: var(--ground); border-radius: 5px;
  white-space: pre-wrap; overflow-wrap: anywhere; font-size: .82rem; max-height: 12rem; overflow: auto; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .22rem .6rem; border-bottom: 1px solid var(--grid); white-space: nowrap; }
th { cursor: pointer; color: var(--soft); font-weight: 600; position: sticky; top: 0;
  background: var(--card); }
td.text, th.text { text-align: left; } td.bad { color: var(--bad); }
tr.first td { color: var(--best); font-weight: 600; }
tbody tr:hover { background: var(--grid); }
#more { margin: .6rem 0 0; }
#tip { position: fixed; pointer-events: none; z-index: 5; max-width: 26rem; padding: .45rem .65rem; border-radius: 6px;
  background: var(--text); color: var(--card); font-size: .84rem; white-space: pre-line; overflow-wrap: anywhere; }
]]
