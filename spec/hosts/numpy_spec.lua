-- NumPy itself reads what luhip.npy writes, and the other way round.
local hosts = require "spec.hosts.support"
local support = require "spec.support"

if not hosts.wanted then
  return
end

describe("NumPy", function()
  it("reads luhip's files, and luhip NumPy's", function()
    local luhip = require "luhip"
    local folder = support.temporary_directory()
    luhip.save(folder .. "/a.npy", luhip.array("f32", { 2, 3 }, { { 1, 2, 3 }, { 4, 5, 6 } }))
    luhip.save(folder .. "/b.npz", {
      i = luhip.array("i64", 3, { 1, -2, 3 }),
      h = luhip.array("f16", 2, { 0.5, 2 }),
      c = luhip.array("c64", 1, { { 1, 2 } }),
      flags = luhip.array("bool", 2, { true, false }),
    }, { compressed = true })
    support.write_file(
      folder .. "/check.py",
      [==[
import numpy as np
a = np.load("a.npy")
assert a.dtype == np.float32 and a.tolist() == [[1, 2, 3], [4, 5, 6]]
b = np.load("b.npz")
assert sorted(b.files) == ["c", "flags", "h", "i"]
assert b["i"].tolist() == [1, -2, 3] and b["h"].tolist() == [0.5, 2] and b["c"][0] == 1 + 2j
assert b["flags"].tolist() == [True, False]
np.save("fortran.npy", np.asfortranarray(np.arange(24, dtype=">i4").reshape(2, 3, 4)))
np.save("number.npy", np.float64(2.5))
np.savez_compressed("many.npz", x=np.linspace(0, 1, 1000), y=np.arange(5, dtype=np.uint8))
np.savez("plain.npz", x=np.ones((3, 2), dtype=np.complex128))
]==]
    )
    local result = support.run({ "/usr/bin/python3", "check.py" }, { directory = folder })
    assert.equal(0, result.code, result.stderr)
    local fortran = luhip.load(folder .. "/fortran.npy")
    assert.same({ 2, 3, 4 }, fortran.shape)
    for i = 1, 24 do
      assert.equal(i - 1, fortran[i])
    end
    assert.equal(2.5, luhip.load(folder .. "/number.npy")[1])
    local many = luhip.load(folder .. "/many.npz")
    assert.equal(1, many.x[1000])
    assert.same({ 0, 1, 2, 3, 4 }, many.y:totable())
    assert.same({ 1, 0 }, luhip.load(folder .. "/plain.npz").x[6])
  end)
end)
