-- The documentation and what it documents: neither says more than the other.
local core = require "luhip.core"
local docs = require "luhip.docs"
local luhip = require "luhip"
local objects = require "luhip.docs.objects"
local support = require "spec.support"

local function names(list)
  local found = {}
  for _, entry in ipairs(list) do
    found[entry[1]:match "^[%w_]+"] = true
  end
  return found
end

local function keys(t)
  local list = {}
  for key in pairs(t) do
    list[#list + 1] = key
  end
  table.sort(list)
  return list
end

describe("the documentation", function()
  local classes = {}
  for _, class in ipairs(objects.classes) do
    classes[class.name] = class
  end

  it("has every class, or says that it is internal", function()
    for name in pairs(core.metatables) do
      assert.is_truthy(classes[name] or objects.internal[name], name .. " is not documented")
    end
    for name in pairs(classes) do
      assert.is_truthy(core.metatables[name], name .. " is documented and not there")
    end
  end)

  it("has every method, and no other", function()
    for name, class in pairs(classes) do
      assert.same(keys(core.methods[name]), keys(names(class.methods)), name)
    end
  end)

  it("has every field, and no other", function()
    for name, class in pairs(classes) do
      local _, fields = debug.getupvalue(core.metatables[name].__index, 2)
      if type(fields) == "table" then -- errors and arrays look theirs up in C
        assert.same(keys(fields), keys(names(class.fields)), name)
      end
    end
    local e = select(2, pcall(luhip.open, "nothing:0"))
    for name in pairs(names(classes.error.fields)) do
      assert.has_no.errors(function()
        return e[name]
      end)
    end
    local a = luhip.array("f32", 2)
    for name in pairs(names(classes.array.fields)) do
      assert.is_not_nil(a[name], name)
    end
  end)

  it("can be taken apart: every signature has names and types", function()
    for _, class in pairs(classes) do
      for _, method in ipairs(class.methods) do
        local signature = docs.signature(method[1])
        local _, commas = method[1]:match("%b()"):gsub("[%w_.]+%??: ", "")
        assert.is_true(commas >= #signature.params, method[1])
        assert.is_true(#method[2] > 5, method[1])
      end
      for _, field in ipairs(class.fields) do
        assert.matches("^[%w_]+: .", field[1])
      end
    end
  end)

  it("has every function of the module luhip, and of the modules that users load", function()
    local documented = {}
    for _, entry in ipairs(docs.module("luhip").functions) do
      documented[entry.name:match "[%w_]+$"] = true
    end
    for name in pairs(luhip) do
      assert.is_true(documented[name] or docs.module("luhip." .. name) ~= nil, "luhip." .. name .. " is not documented")
    end
    for _, name in ipairs(docs.modules) do
      local about = assert(docs.module(name), name)
      assert.is_true(#about.text > 20, name)
      local module = name ~= "luhip.async.luv" and name ~= "luhip.async.cqueues" and require(name)
      local own = {}
      for _, entry in ipairs(about.functions) do
        own[entry.name:match "[%w_]+$"] = true
      end
      for key, value in pairs(type(module) == "table" and name ~= "luhip" and module or {}) do
        if type(value) == "function" and type(key) == "string" then
          assert.is_true(own[key], ("%s.%s is not documented"):format(name, key))
        end
      end
    end
  end)

  it("is found by the names that people try", function()
    for _, word in ipairs {
      "buffer",
      "buffer:read",
      "read",
      "luhip.open",
      "open",
      "npy",
      "luhip.npy.save",
      "elementwise",
    } do
      assert.is_true(#docs.find(word) > 0, word)
    end
    assert.same({}, docs.find "nothing_of_the_kind")
  end)

  describe("made of it", function()
    local folder

    setup(function()
      folder = support.temporary_directory()
      assert(os.execute(("cp -r docs *.md lua %s/"):format(folder)))
      local env = support.environment {}
      env.LUA_PATH_5_4 = ("%s/?.lua;%s/lua/?.lua;%s/lua/?/init.lua;"):format(folder, folder, folder) .. package.path
      local result = support.run(
        { support.interpreter, "docs/generate/main.lua", "site" },
        { directory = folder, env = env }
      )
      assert.equal(0, result.code, result.stdout .. result.stderr)
    end)

    it("the annotations and the manual pages are those in the tree: run scripts/docs", function()
      for _, path in ipairs { "docs/meta/luhip.lua", "docs/luhip.3lua", "docs/luhip.1" } do
        assert.equal(support.read_file(folder .. "/" .. path), support.read_file(path), path .. " is out of date")
      end
      assert(loadfile "docs/meta/luhip.lua")
    end)

    it("the manual pages are roff that nothing is said against", function()
      local tried = 0
      for _, path in ipairs { "docs/luhip.1", "docs/luhip.3lua" } do
        for _, words in ipairs { { "mandoc", "-Tlint", "-W", "warning" }, { "groff", "-man", "-ww", "-z" } } do
          if support.run({ "sh", "-c", "command -v " .. words[1] }).code == 0 then
            words[#words + 1] = path
            local result = support.run(words)
            local said = (result.stdout .. result.stderr):gsub("[^\n]*missing date[^\n]*\n", "") -- of a release
            assert.equal("", said)
            tried = tried + 1
          end
        end
      end
      if tried == 0 then
        pending "neither mandoc nor groff is installed"
      end
    end)

    it("the manual page of the command has its words, options, exit codes and variables", function()
      local page = support.read_file("docs/luhip.1"):gsub("\\%-", "-"):gsub("\\f[BRI]", "")
      local parser = require("luhip.command_line").parser()
      for _, command in ipairs(parser._commands) do
        assert.truthy(page:find("luhip " .. command._name, 1, true), command._name)
        for _, option in ipairs(command._options) do
          for _, alias in ipairs(option._name == "--help" and {} or option._aliases) do
            assert.truthy(alias == "-h" or alias == "--help" or page:find(alias, 1, true), alias)
          end
        end
      end
      for _, setting in ipairs(core.settings()) do
        assert.truthy(page:find(setting.variable, 1, true), setting.variable)
      end
      assert.truthy(page:find("\n130\n", 1, true))
    end)

    it("the site's links lead somewhere", function()
      local ids, links = {}, 0
      local pages = support.run("ls site", { directory = folder }).stdout
      for page in pages:gmatch "%S+" do
        ids[page] = {}
        for id in support.read_file(folder .. "/site/" .. page):gmatch 'id="([^"]+)"' do
          ids[page][id] = true
        end
      end
      for page in pages:gmatch "%S+" do
        for link in support.read_file(folder .. "/site/" .. page):gmatch 'href="([^"]+)"' do
          local file, anchor = link:match "^([^#]*)#?(.*)$"
          file = file == "" and page or file
          if not link:match "^%a+:" then
            local there = ids[file] ~= nil or io.open(file) ~= nil
            assert.is_true(there, ("%s links to %s"):format(page, link))
            assert.is_true(anchor == "" or (ids[file] or {})[anchor] == true, ("%s links to %s"):format(page, link))
            links = links + 1
          end
        end
      end
      assert.is_true(links > 100)
    end)
  end)
end)
