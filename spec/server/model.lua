-- What must be in buffers after any operations: for each element its value and the failures it carries. An operation
-- that fails gives all that it writes a failure of its own; one that reads a failure passes it on and does nothing
-- else. Values of nil are not known: memory that was never written.

local model = {}
model.__index = model

function model.new()
  return setmetatable({ cells = {}, failures = 0 }, model)
end

--- A part of a buffer: elements first to last.
function model.part(buffer, first, last)
  return { buffer = buffer, first = first, last = last }
end

function model:make(buffer, n)
  self.cells[buffer] = {}
  for i = 1, n do
    self.cells[buffer][i] = { carries = {} }
  end
end

--- The failures that a part carries, as a set, and how many they are.
function model:carried(...)
  local set, count = {}, 0
  for _, part in ipairs { ... } do
    for i = part.first, part.last do
      for failure in pairs(self.cells[part.buffer][i].carries) do
        count = count + (set[failure] and 0 or 1)
        set[failure] = true
      end
    end
  end
  return set, count
end

--- An operation: `reads` and `writes` are lists of parts, compute(values of each read part's i-th) gives the i-th of
--- each written part. With `fails` it goes wrong by itself.
function model:run(reads, writes, compute, fails)
  local set, count = self:carried(table.unpack(reads))
  if count == 0 and fails then
    self.failures = self.failures + 1
    set, count = { [self.failures] = true }, 1
  end
  local results = {}
  for i = 1, count == 0 and writes[1].last - writes[1].first + 1 or 0 do
    local values, known = {}, true
    for r, part in ipairs(reads) do
      values[r] = self.cells[part.buffer][part.first + i - 1].value
      known = known and values[r] ~= nil
    end
    results[i] = known and compute(i, table.unpack(values)) or nil
  end
  for _, part in ipairs(writes) do
    for i = part.first, part.last do
      self.cells[part.buffer][i] = { value = results[i - part.first + 1], carries = set }
    end
  end
end

return model
