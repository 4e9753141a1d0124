local support = require "spec.support"
local verify = require "luhip.tune.verify"

local nan, inf = 0.0 / 0.0, math.huge

local function passes(actual, reference, dtype, tolerance)
  return verify.compare(actual, reference, { dtype = dtype, tolerance = verify.tolerance(tolerance) }) == nil
end

describe("verification", function()
  it("passes what is near enough, absolutely or relatively", function()
    assert.is_true(passes({ 1.00005 }, { 1 }, "f32"))
    assert.is_false(passes({ 1.001 }, { 1 }, "f32"))
    assert.is_true(passes({ 1e6 + 50 }, { 1e6 }, "f32"))
    assert.is_true(passes({ 5e-5 }, { 0 }, "f32"))
    assert.is_false(passes({ 1.00005 }, { 1 }, "f64"))
    assert.is_true(passes({ 1.005 }, { 1 }, "f16"))
    assert.is_true(passes({ 1.4 }, { 1 }, "f32", 0.25))
    assert.is_false(passes({ 1.4 }, { 1 }, "f32", { absolute = 0.25 }))
    assert.is_true(passes({ 125 }, { 100 }, "f32", { relative = 0.25 }))
    assert.is_false(passes({ 1 + 2 ^ -20 }, { 1 }, "f32", 0))
  end)

  it("NaN never passes unless the reference has it there", function()
    assert.is_false(passes({ nan }, { 1 }, "f32", 1e30))
    assert.is_false(passes({ 1 }, { nan }, "f32", 1e30))
    assert.is_false(passes({ 1, nan }, { nan, 1 }, "f32", 1e30))
    assert.is_true(passes({ nan }, { nan }, "f32"))
    assert.is_true(passes({ nan }, { -nan }, "f32"))
    assert.is_false(passes({ nan }, { 0 }, "i32"))
  end)

  it("NaN does not even pass where the reference has it, with nan = false", function()
    assert.is_false(passes({ nan }, { nan }, "f32", { nan = false }))
    assert.is_false(passes({ { nan, 1 } }, { { nan, 1 } }, "c64", { nan = false }))
    assert.is_true(passes({ nan }, { nan }, "f32", { nan = true }))
    assert.is_true(passes({ 1.00005 }, { 1 }, "f32", { nan = false })) -- the default bounds stay
    assert.is_false(passes({ 1.001 }, { 1 }, "f32", { nan = false }))
    assert.is_true(passes({ 1.2 }, { 1 }, "f32", { absolute = 0.25, nan = false }))
    support.assert_error_kind("type", function()
      verify.tolerance { nan = 1 }
    end, "nan")
  end)

  it("infinities must be the same", function()
    assert.is_true(passes({ inf, -inf }, { inf, -inf }, "f32"))
    assert.is_false(passes({ -inf }, { inf }, "f32", 1e300))
    assert.is_false(passes({ 1 }, { inf }, "f32", 1e300))
    assert.is_false(passes({ inf }, { 1 }, "f32", 1e300))
    assert.is_false(passes({ nan }, { inf }, "f32", 1e300))
  end)

  it("integers are exact unless an absolute tolerance is given for them", function()
    assert.is_true(passes({ 7 }, { 7.0 }, "i32"))
    assert.is_false(passes({ 100001 }, { 100000 }, "i32", 1e-4))
    assert.is_true(passes({ 101 }, { 100 }, "u8", { absolute = 1 }))
    assert.is_false(passes({ 102 }, { 100 }, "u8", { absolute = 1 }))
    assert.is_false(passes({ math.maxinteger }, { math.maxinteger - 1 }, "i64"))
    assert.is_true(passes({ -1 }, { -1 }, "u64"))
  end)

  it("booleans compare with booleans and with 0 and 1", function()
    assert.is_true(passes({ true, false }, { true, 0 }, "bool"))
    assert.is_false(passes({ true }, { false }, "bool"))
  end)

  it("complex numbers compare part by part", function()
    assert.is_true(passes({ { 1, 2 } }, { { 1, 2.00001 } }, "c64"))
    assert.is_false(passes({ { 1, 2 } }, { { 1, 3 } }, "c64"))
    assert.is_false(passes({ { nan, 2 } }, { { 1, 2 } }, "c64"))
    assert.same({ { 1, 2 }, { 3, 4 } }, verify.flat({ { { 1, 2 } }, { { 3, 4 } } }, "c64"))
  end)

  it("shows the first mismatches with place, value and expectation, and counts all", function()
    local d = verify.compare(
      { 1, 9, 9, 9, 9, 9, 9, 8 },
      { 1, 2, 3, 4, 5, 6, 7, 8 },
      { dtype = "f32", shape = { 2, 4 } }
    )
    assert.equal(6, d.count)
    assert.equal(5, #d.first)
    assert.same({ index = 2, actual = 9, expected = 2 }, d.first[1])
    assert.equal(7, d.worst)
    assert.truthy(d.message:find("6 of 8 values differ", 1, true))
    assert.truthy(d.message:find("2 [1][2] is 9, not 2", 1, true))
    assert.truthy(d.message:find("5 [2][1] is 9, not 5", 1, true))
  end)

  it("flattens nested references in row-major order", function()
    assert.same({ 1, 2, 3, 4, 5, 6 }, verify.flat({ { 1, 2, 3 }, { 4, 5, 6 } }, "f32"))
  end)

  it("refuses references and tolerances that cannot be", function()
    support.assert_error_kind("shape", function()
      verify.check_reference({ 1, 2 }, "f32", 3, "'c'")
    end, "'c'", "2 values", "3")
    support.assert_error_kind("type", function()
      verify.check_reference({ 1, "2" }, "f32", 2, "'c'")
    end, "value 2")
    support.assert_error_kind("type", function()
      verify.check_reference({ 1 }, "c64", 1, "'c'")
    end, "{re, im}")
    for _, tolerance in ipairs { -1, nan, inf, { absolute = -1 }, { relative = nan } } do
      support.assert_error_kind("argument", function()
        verify.tolerance(tolerance)
      end, "tolerance")
    end
    support.assert_error_kind("argument", function()
      verify.tolerance { abs = 1 }
    end, "'abs'")
    support.assert_error_kind("type", function()
      verify.tolerance "1e-4"
    end)
  end)
end)
