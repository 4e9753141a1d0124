-- Every example is run as a user runs it, in a process of its own, small.

local support = require "spec.support"

local EXAMPLES = {
  { name = "saxpy", size = 1000, last = "^saxpy: ok$" },
  { name = "reduction", size = 3000, last = "^reduction: ok$" },
  { name = "profile", size = 3000, last = "^profile: ok$" },
  { name = "histogram", size = 3000, last = "^histogram: ok$" },
  { name = "mandelbrot", size = 24, last = "^mandelbrot: ok, the picture is (%S+)$" },
  { name = "heat2d", size = 24, last = "^heat2d: ok$" },
  { name = "nbody", size = 70, last = "^nbody: ok$" },
  { name = "capture_update", size = 1000, last = "^capture_update: ok$" },
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

  it("examples run with the least size too", function()
    for _, name in ipairs { "saxpy", "reduction", "monte_carlo", "histogram", "nbody" } do
      local r = run(id, { name = name, size = 1 }, support.temporary_directory())
      assert.equal(0, r.code, name .. ": " .. r.stdout .. r.stderr)
    end
  end)

  it("example mandelbrot writes a whole picture where it is told to", function()
    local directory = support.temporary_directory()
    local r = run(id, { name = "mandelbrot", size = 24 }, directory, "set.ppm")
    assert.equal(0, r.code, r.stdout .. r.stderr)
    local picture = support.read_file(directory .. "/set.ppm")
    assert.equal("P6\n24 16\n255\n", picture:sub(1, 13))
    assert.equal(13 + 24 * 16 * 3, #picture)
  end)

  it("example mandelbrot writes the same picture as PNG when the name says so", function()
    local directory = support.temporary_directory()
    for _, name in ipairs { "set.ppm", "set.png" } do
      local r = run(id, { name = "mandelbrot", size = 24 }, directory, name)
      assert.equal(0, r.code, r.stdout .. r.stderr)
    end
    local pixels = support.read_file(directory .. "/set.ppm"):sub(14)
    assert.equal(require("luhip.png").encode(24, 16, pixels), support.read_file(directory .. "/set.png"))
  end)

  it("example heat2d writes a picture, into the current directory when it is not told where", function()
    local directory = support.temporary_directory()
    for _, path in ipairs { "heat2d.png", "plate.png" } do
      local r = run(id, { name = "heat2d", size = 20 }, directory, path ~= "heat2d.png" and path or nil)
      assert.equal(0, r.code, r.stdout .. r.stderr)
      assert.truthy(r.stdout:find("the picture is " .. path, 1, true), r.stdout)
      local picture = support.read_file(directory .. "/" .. path)
      assert.equal("\x89PNG\r\n\x1a\n", picture:sub(1, 8))
      local width, height = string.unpack(">I4I4", picture, 17)
      assert.same({ 20, 20 }, { width, height })
    end
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

  it("example tune_gemm finds a verified winner and writes a page", function()
    local directory = support.temporary_directory()
    local r = run(id, { name = "tune_gemm", size = 20 }, directory, "out.html")
    assert.equal(0, r.code, r.stdout .. r.stderr)
    assert.truthy(
      r.stdout:find "\ntune_gemm: ok, 20 x 20 on [^\n]* GFLOP/s verified; [^\n]* configurations a second\n$"
    )
    assert.truthy(support.read_file(directory .. "/out.html"):find('"name":"gemm"', 1, true))
    assert.is_nil(r.stdout:find("wrong answer", 1, true))
  end)
end)
