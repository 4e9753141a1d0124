-- Reading a symbol's bytes from an ELF image that may be damaged (src/kernel/elf.c), and BLAKE2b, half conversion.

local support = require "spec.support"
local testing = require("luhip.core").testing
local symbol = testing.kernel_elf_symbol

local source = [[
const unsigned luhip_sig_0[3] = {1, 2, 3};
unsigned luhip_sig_10[2] = {7, 8};
unsigned empty[4];
extern unsigned elsewhere[];
unsigned *use(void) { return elsewhere; }
]]

describe("ELF look-up", function()
  local object, shared
  support.scope()

  before_each(function()
    local directory = support.temporary_directory()
    support.write_file(directory .. "/a.c", source)
    local function build(flags, name)
      local result = support.run(("cc %s %s/a.c -o %s/%s"):format(flags, directory, directory, name))
      assert.equal(0, result.code, result.stderr)
      return support.read_file(directory .. "/" .. name)
    end
    object = build("-c", "a.o")
    shared = build("-shared -fPIC", "a.so")
  end)

  it("finds initialised data in relocatable and linked files", function()
    for _, image in ipairs { object, shared } do
      assert.equal(string.pack("<I4I4I4", 1, 2, 3), symbol(image, "luhip_sig_0"))
      assert.equal(string.pack("<I4I4", 7, 8), symbol(image, "luhip_sig_10"))
    end
  end)

  it("takes whole names only, and no symbol without content", function()
    for _, image in ipairs { object, shared } do
      for _, name in ipairs { "luhip_sig_1", "luhip_sig_", "uhip_sig_0", "luhip_sig_00", "empty", "elsewhere", "" } do
        assert.is_nil(symbol(image, name))
      end
    end
  end)

  it("searches every image of an offload bundle", function()
    local magic = "__CLANG_OFFLOAD_BUNDLE__"
    local function entry(offset, size, triple)
      return string.pack("<I8I8I8", offset, size, #triple) .. triple
    end
    local head = #magic + 8 + #entry(0, 0, "host") + #entry(0, 0, "amdgcn")
    local bundle = magic .. string.pack("<I8", 2) .. entry(head, 0, "host") .. entry(head, #object, "amdgcn") .. object
    assert.equal(string.pack("<I4I4I4", 1, 2, 3), symbol(bundle, "luhip_sig_0"))
    for cut = 0, #bundle, 37 do
      symbol(bundle:sub(1, cut), "luhip_sig_0")
    end
    assert.is_nil(symbol(bundle:sub(1, head + 10), "luhip_sig_0"))
  end)

  it("reads nothing outside an image that is cut or damaged anywhere", function()
    for cut = 0, #object - 1, 3 do
      local found = symbol(object:sub(1, cut), "luhip_sig_0")
      assert.is_true(found == nil or #found == 12)
    end
    for at = 1, #object do
      for _, byte in ipairs { "\0", "\255", "\127" } do
        symbol(object:sub(1, at - 1) .. byte .. object:sub(at + 1), "luhip_sig_0")
      end
    end
  end)

  it("says no to what is no ELF image", function()
    for _, image in ipairs {
      "",
      "\127ELF",
      ("x"):rep(1000),
      "__CLANG_OFFLOAD_BUNDLE__",
      "__CLANG_OFFLOAD_BUNDLE__" .. ("\255"):rep(64),
    } do
      assert.is_nil(symbol(image, "luhip_sig_0"))
    end
  end)
end)

describe("BLAKE2b-128", function()
  -- Reference values from Python's hashlib.blake2b(..., digest_size=16).
  local known = {
    [""] = "cae66941d9efbd404e4d88758ea67670",
    ["abc"] = "cf4ab791c62b8d2b2109c90275287816",
    [("a"):rep(128)] = "1271d28e731afb57bdfba6bdaf3501be",
    [("a"):rep(129)] = "68b7bafbad5055c4ebe6eb170a0f8524",
    [("a"):rep(1000)] = "a0e5a332e985551c28a377c40f4139c3",
  }

  it("K2 gives the published digests, however the bytes are cut", function()
    for bytes, digest in pairs(known) do
      for _, cut in ipairs { 0, 1, 127, 128, 129 } do
        if cut <= #bytes then
          assert.equal(digest, testing.kernel_hash(bytes, cut))
        end
      end
    end
  end)
end)

describe("16-bit floats", function()
  it("round to nearest, ties to even, in one step", function()
    local half = testing.kernel_half
    for _, case in ipairs {
      { 0.0, 0x0000, 0x0000 },
      { -0.0, 0x8000, 0x8000 },
      { 1.0, 0x3c00, 0x3f80 },
      { -2.5, 0xc100, 0xc020 },
      { 0.1, 0x2e66, 0x3dcd },
      { 65504.0, 0x7bff, 0x4780 },
      { 65519.999, 0x7bff, 0x4780 },
      { 65520.0, 0x7c00, 0x4780 },
      { 1 + 2 ^ -11, 0x3c00, 0x3f80 }, -- a tie, down to even
      { 1 + 3 * 2 ^ -11, 0x3c02, 0x3f80 }, -- a tie, up to even
      { 1 + 2 ^ -11 + 2 ^ -40, 0x3c01, 0x3f80 }, -- through float it would be the tie
      { 2 ^ -24, 0x0001, 0x3380 },
      { 2 ^ -25, 0x0000, 0x3300 }, -- half the smallest: even is 0
      { 2 ^ -25 * 1.0001, 0x0001, 0x3300 },
      { 1023.75 * 2 ^ -24, 0x0400, 0x3880 }, -- rounds from subnormal to normal
      { 2 ^ -133, 0x0000, 0x0001 },
      { 3.4e38, 0x7c00, 0x7f80 },
      { 1e300, 0x7c00, 0x7f80 },
      { 1 / 0, 0x7c00, 0x7f80 },
      { -1 / 0, 0xfc00, 0xff80 },
      { 5e-324, 0x0000, 0x0000 },
    } do
      local f16, bf16 = half(case[1])
      assert.equal(("%04x %04x"):format(case[2], case[3]), ("%04x %04x"):format(f16, bf16), tostring(case[1]))
    end
    local f16, bf16 = half(0 / 0)
    assert.is_true(f16 & 0x7fff > 0x7c00 and bf16 & 0x7fff > 0x7f80)
  end)
end)
