-- The index that `scripts/test --rules` prints: which rule of spec/rules.lua was held by passing specs, on which
-- device.
--
--   lua5.4 spec/support/rules.lua RESULTS      a file of lines "status<TAB>name", which the output handler writes
--
-- Ends with 1 when a rule has no passing spec on a device that specs ran on. A spec that belongs to no device counts
-- for all of them; "on cpu:0/64" counts for cpu:0.

local rules = dofile "spec/rules.lua"

local function read(path)
  local results, devices, seen = {}, {}, {}
  for line in io.lines(path) do
    local status, name = line:match "^(%S+)\t(.*)$"
    local device = (" " .. name):match " on (%l+:%d+)[ /]"
    if device and not seen[device] then
      seen[device] = true
      table.insert(devices, device)
    end
    if status == "success" then
      table.insert(results, { name = name, device = device })
    end
  end
  table.sort(devices)
  return results, devices
end

-- The name of the spec from the rule's id on, or nil when it is none of the rule's. A letter alone may be a word.
local function of_rule(name, id)
  local padded = " " .. name
  local _, stop = padded:find(" " .. id .. (id:find "%d" and " " or ": "), 1, true)
  return stop and padded:sub(stop + 1)
end

local function holds(results, device, id, fragment)
  local count = 0
  for _, result in ipairs(results) do
    local rest = (not result.device or result.device == device) and of_rule(result.name, id)
    if rest and (not fragment or rest:find(fragment, 1, true)) then
      count = count + 1
    end
  end
  return count
end

local results, devices = read((assert(arg[1], "usage: rules.lua RESULTS")))
local missing = {}
for _, rule in ipairs(rules) do
  local id, counts = rule[1], {}
  for _, device in ipairs(devices) do
    local count = holds(results, device, id)
    table.insert(counts, ("%s %3d"):format(device, count))
    if count == 0 then
      table.insert(missing, ("%s has no passing spec on %s: %s"):format(id, device, rule[2]))
    end
    for _, fragment in ipairs(rule.repair or {}) do
      if holds(results, device, id, fragment) == 0 then
        table.insert(missing, ("%s has no passing spec of its repair on %s: '%s'"):format(id, device, fragment))
      end
    end
  end
  print(("%-4s %s  %s%s"):format(id, table.concat(counts, ", "), rule[2], rule.repair and " (repair)" or ""))
end
if #devices == 0 then
  table.insert(missing, "no spec ran on any device")
end
print()
for _, line in ipairs(missing) do
  print(line)
end
print(("%d rules on %s; %d missing"):format(#rules, table.concat(devices, ", "), #missing))
os.exit(#missing == 0)
