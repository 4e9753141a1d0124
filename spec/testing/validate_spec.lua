-- What holds the driver's calls against HIP's contract in every spec finds what it is there for.

local testing = require("luhip.core").testing

if not testing then
  return
end

describe("the wrapper that validates", function()
  for _, name in ipairs(testing.driver_misuses()) do
    it("finds " .. name:gsub("_", " "), function()
      local before = testing.driver_objects()
      testing.driver_misuse(name)
      local violations = testing.driver_violations()
      assert.is_true(#violations > 0)
      assert.same(before, testing.driver_objects())
    end)
  end
end)
