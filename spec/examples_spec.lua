-- Every example is run as a user runs it, in a process of its own, small.

local support = require "spec.support"

local EXAMPLES = {
  { name = "saxpy", size = 1000, last = "^saxpy: ok$" },
  { name = "reduction", size = 3000, last = "^reduction: ok$" },
  { name = "profile", size = 3000, last = "^profile: ok$" },
  { name = "histogram", size = 3000, last = "^histogram: ok$" },
  { name = "mandelbrot", size = 24, last = "^mandelbrot: ok, the picture is (%S+)$" },
}

local function run(id, example, directory, ...)
  return support.run({
    support.interpreter,
    support.root .. "/lua/luhip/cli.lua",
    support.root .. "/examples/" .. example.name .. ".lua",
    ...,
  }, {
    env = support.environment { LUHIP_DEVICE = id, LUHIP_SIZE = tostring(example.size) },
    directory = directory,
    timeout = 300,
  })
end

support.each_device(function(id)
  for _, example in ipairs(EXAMPLES) do
    it(("example %s gives the right answer"):format(example.name), function()
      local directory = support.temporary_directory()
      local r = run(id, example, directory)
      assert.equal(0, r.code, r.stdout .. r.stderr)
      local last = r.stdout:match "([^\n]*)\n$"
      assert.truthy(last and last:find(example.last), r.stdout)
      assert.truthy(r.stdout:find(id, 1, true), r.stdout)
    end)
  end

  it("example mandelbrot writes a whole picture where it is told to", function()
    local directory = support.temporary_directory()
    local r = run(id, { name = "mandelbrot", size = 24 }, directory, "set.ppm")
    assert.equal(0, r.code, r.stdout .. r.stderr)
    local picture = support.read_file(directory .. "/set.ppm")
    assert.equal("P6\n24 16\n255\n", picture:sub(1, 13))
    assert.equal(13 + 24 * 16 * 3, #picture)
  end)

  it("example tune_matmul finds a verified winner among at least 40 configurations", function()
    local directory = support.temporary_directory()
    local r = run(id, { name = "tune_matmul", size = 20 }, directory, "rows.json")
    assert.equal(0, r.code, r.stdout .. r.stderr)
    assert.truthy(r.stdout:find "\ntune_matmul: ok, verified winner BX=%d+ BY=%d+ RY=%d+ TK=%d+[^\n]*\n$", r.stdout)
    local data = require("dkjson").decode(support.read_file(directory .. "/rows.json"))
    assert.is_true(#data.rows >= 40)
    assert.is_true(data.verified)
  end)
end)
