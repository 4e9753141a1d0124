-- Claims as a set of byte ranges, held against a model that has one failure per byte.

local luhip_core = require "luhip.core"
local support = require "spec.support"
local testing = luhip_core.testing

local SIZE = 96

local function new_model()
  local model = {}
  function model.set(name, offset, width, rows, pitch)
    for row = 0, (rows or 1) - 1 do
      local first = offset + row * (pitch or width)
      for byte = first, first + width - 1 do
        model[byte] = name
      end
    end
  end
  function model.list()
    local list = {}
    for byte = 0, SIZE * 2 do
      local last = list[#list]
      if model[byte] and last and last[2] == byte and last[3] == model[byte] then
        last[2] = byte + 1
      elseif model[byte] then
        list[#list + 1] = { byte, byte + 1, model[byte] }
      end
    end
    return list
  end
  function model.meets(offset, width, rows, pitch)
    for row = 0, (rows or 1) - 1 do
      local first = offset + row * (pitch or width)
      for byte = first, first + width - 1 do
        if model[byte] then
          return true
        end
      end
    end
    return false
  end
  return model
end

describe("claims", function()
  if not testing then
    pending "built without -DLUHIP_TESTING=ON"
    return
  end

  it("E2 are set, not added: a new failure takes the bytes from the old one", function()
    local claims = testing.claims()
    claims:set(1, 0, 100)
    claims:set(2, 40, 20)
    assert.same({ { 0, 40, 1 }, { 40, 60, 2 }, { 60, 100, 1 } }, claims:list())
    claims:set(2, 0, 100)
    assert.same({ { 0, 100, 2 } }, claims:list())
  end)

  it("E2 release exactly the range, splitting a claim", function()
    local claims = testing.claims()
    claims:set(1, 0, 100)
    claims:set(nil, 10, 1)
    assert.same({ { 0, 10, 1 }, { 11, 100, 1 } }, claims:list())
    assert.is_false(claims:meets(10, 1))
    assert.is_true(claims:meets(10, 2))
  end)

  it("E2 fuse where ranges of one failure touch, on either side and both", function()
    local claims = testing.claims()
    claims:set(1, 0, 10)
    claims:set(1, 20, 10)
    claims:set(2, 30, 10)
    assert.equal(3, #claims:list())
    claims:set(1, 10, 10)
    assert.same({ { 0, 30, 1 }, { 30, 40, 2 } }, claims:list())
  end)

  it("E2 of empty ranges claim and trip nothing", function()
    local claims = testing.claims()
    claims:set(1, 10, 0)
    assert.same({}, claims:list())
    claims:set(1, 0, 100)
    assert.is_false(claims:meets(50, 0))
    claims:set(nil, 50, 0)
    assert.same({ { 0, 100, 1 } }, claims:list())
  end)

  it("E2 do not grow by failing again in a loop", function()
    local claims = testing.claims()
    for _ = 1, 1000 do
      claims:set(1, 8, 8)
      claims:set(2, 12, 8)
    end
    assert.same({ { 8, 12, 1 }, { 12, 20, 2 } }, claims:list())
    assert.equal(2, claims:failures())
  end)

  it("E1 keep a failure exactly as long as a byte carries it", function()
    local claims = testing.claims()
    claims:set(1, 0, 10)
    claims:set(2, 10, 10)
    assert.equal(2, claims:failures())
    claims:set(nil, 0, 9)
    assert.equal(2, claims:failures())
    claims:set(nil, 9, 1)
    assert.equal(1, claims:failures())
    claims:set(3, 0, 100)
    assert.equal(1, claims:failures())
    claims:set(nil, 0, 1000)
    assert.equal(0, claims:failures())
  end)

  it("C4 of rows at a pitch leave the gaps alone", function()
    local claims = testing.claims()
    claims:set(1, 4, 4, 3, 16)
    assert.same({ { 4, 8, 1 }, { 20, 24, 1 }, { 36, 40, 1 } }, claims:list())
    assert.is_false(claims:meets(8, 4, 3, 16)) -- the columns beside
    assert.is_true(claims:meets(7, 1, 3, 16))
    assert.is_false(claims:meets(8, 12))
    assert.is_true(claims:meets(8, 13))
    claims:set(nil, 4, 4, 2, 16)
    assert.same({ { 36, 40, 1 } }, claims:list())
  end)

  it("E2 are the same as one failure per byte, whatever is done in whatever order", function()
    math.randomseed(20240)
    for _ = 1, 60, support.every(20) do
      local claims, model = testing.claims(), new_model()
      for _ = 1, 60 do
        local name = math.random(0, 3)
        name = name > 0 and name or nil
        local rows = math.random(4) == 1 and math.random(0, 5) or 1
        local width = math.random(0, rows > 1 and 8 or 24)
        local pitch = width + math.random(0, 8)
        local offset = math.random(0, SIZE - 1)
        claims:set(name, offset, width, rows, pitch > 0 and pitch or 1)
        model.set(name, offset, width, rows, pitch > 0 and pitch or 1)
        assert.same(model.list(), claims:list())
        local o, w, r, p = math.random(0, SIZE - 1), math.random(0, 6), math.random(1, 4), math.random(6, 20)
        assert.equal(model.meets(o, w, r, p), claims:meets(o, w, r, p))
      end
    end
  end)
end)
