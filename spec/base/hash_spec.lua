local core = require "luhip.core"

-- BLAKE2b with a digest of 16 bytes, from another implementation (Python's hashlib).
describe("core.hash", function()
  it("is BLAKE2b, whatever the length", function()
    local bytes = {}
    for i = 0, 255 do
      bytes[i + 1] = string.char(i)
    end
    assert.equal("cae66941d9efbd404e4d88758ea67670", core.hash "")
    assert.equal("cf4ab791c62b8d2b2109c90275287816", core.hash "abc")
    assert.equal("1271d28e731afb57bdfba6bdaf3501be", core.hash(("a"):rep(128)))
    assert.equal("68b7bafbad5055c4ebe6eb170a0f8524", core.hash(("a"):rep(129)))
    assert.equal("b891a0c9c005a41e2ffc88484e503683", core.hash(table.concat(bytes):rep(4) .. "xyz"))
  end)
end)
