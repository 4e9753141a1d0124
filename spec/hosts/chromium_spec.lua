-- The page of a tuning result in a browser: its script runs without an error, in the light and in the dark.
local hosts = require "spec.hosts.support"
local support = require "spec.support"

if not hosts.wanted then
  return
end

local SCRIPT = [[
local tune = require "luhip.tune"
local luhip = require "luhip"
local dev = luhip.open()
local y = dev:buffer("f32", 64)
local r = tune {
  name = "page </script>", device = dev, kernel = "k", access = { y = "out" },
  source = '#if A == 7\n#error "seven </script>"\n#endif\nextern "C" __global__ void k(float *y) {'
    .. ' for (int i = 0; i < A * B; i++) y[threadIdx.x] = i; }',
  params = { A = { 1, 2, 7 }, B = { 1, 2, 4 }, T = { "<b>", "x" } },
  grid = 1, block = 64, args = { y }, measure = { max_samples = 5 },
}
assert(r.counts.ok == 12 and r.counts.compile == 6)
r:report(arg[1])
print "ok"
]]

-- Chromium without a screen, without the network, with a profile of its own.
local function chromium(page, ...)
  local command = {
    "/usr/bin/chromium",
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--user-data-dir=" .. support.temporary_directory(),
    "--window-size=1280,1800",
    ...,
  }
  command[#command + 1] = "file://" .. page
  local r = support.run(command, { timeout = 120 })
  assert.equal(0, r.code, r.stderr)
  return r.stdout
end

describe("the page of a tuning result", function()
  local folder = support.temporary_directory()
  local page = folder .. "/out.html"

  setup(function()
    support.write_file(folder .. "/script.lua", SCRIPT)
    local r = support.run({ "/usr/bin/lua5.4", folder .. "/script.lua", page }, { env = hosts.environment() })
    assert.equal("ok\n", r.stdout, r.stderr)
  end)

  it("draws everything in Chromium", function()
    local dom = chromium(page, "--dump-dom")
    local root = dom:match "<html[^>]*>"
    assert.truthy(root:find('data-state="ready"', 1, true), root)
    assert.truthy(root:find('data-rows="18"', 1, true), root)
    local history = dom:match '<div id="history" class="plot">(.-)</div>'
    assert.equal(12, select(2, history:gsub('class="point"', "")))
    assert.equal(6, select(2, history:gsub('class="fail"', "")))
    local heat = dom:match '<div id="heat" class="plot">(.-)</div>'
    local cells = select(2, heat:gsub('class="cell', ""))
    assert.is_true(cells == 9 or cells == 6) -- of A and B, or of one of them and T: whatever matters most by the times
    assert.equal(18, select(2, dom:match('<table id="rows">(.-)</table>'):gsub("<td", "")) // 6)
    assert.truthy(dom:find("seven &lt;/script&gt;", 1, true))
    assert.is_nil(dom:find "<td[^>]*><b>")
  end)

  it("filters rows, sorts them, maps others, and explains what is under the mouse", function()
    local used = folder .. "/used.html"
    local script = [[<script>
      const change = (select, value) => { select.value = value; select.dispatchEvent(new Event("change")); };
      const selects = [...document.querySelectorAll("#filters select")];
      change(selects[0], "1");
      change(selects[selects.length - 1], "ok");
      change(document.querySelectorAll("#heat-controls select")[2], "failed");
      document.querySelectorAll("#rows th")[0].click();
      document.querySelectorAll("#rows th")[0].click();
      const point = document.querySelector("#history .point").getBoundingClientRect();
      const plot = document.querySelector("#history svg");
      plot.dispatchEvent(new MouseEvent("mousemove", { clientX: point.x + 2, clientY: point.y + 2 }));
    </script></body>]]
    support.write_file(used, (support.read_file(page):gsub("</body>", script)))
    local dom = chromium(used, "--dump-dom")
    assert.truthy(dom:find('data-rows="6"', 1, true))
    assert.equal(6, select(2, dom:match('<div id="history" class="plot">(.-)</div>'):gsub('class="point"', "")))
    local body = dom:match "<tbody>(.-)</tbody>"
    local numbers = {}
    for row in body:gmatch "<tr.->(.-)</tr>" do
      numbers[#numbers + 1] = tonumber(row:match "<td[^>]*>(%d+)</td>")
    end
    assert.same({ 6, 5, 4, 3, 2, 1 }, numbers)
    assert.truthy(dom:match('id="heat%-note">(.-)</p>'):find("more of them failed", 1, true))
    local tip = dom:match '<div id="tip"[^>]*>(.-)</div>'
    assert.truthy(tip:find "^#%d" and tip:find("A = 1", 1, true), tip)
  end)

  it("has a look in the light and another in the dark", function()
    local shots = {}
    for _, scheme in ipairs { "1", "0" } do -- light, dark
      local path = folder .. "/" .. scheme .. ".png"
      chromium(page, "--hide-scrollbars", "--blink-settings=preferredColorScheme=" .. scheme, "--screenshot=" .. path)
      shots[#shots + 1] = support.read_file(path)
      assert.equal("\137PNG", shots[#shots]:sub(1, 4))
      assert.is_true(#shots[#shots] > 20000)
    end
    assert.not_equal(shots[1], shots[2])
  end)
end)
