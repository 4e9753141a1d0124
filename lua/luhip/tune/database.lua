--- A store of tuning runs in PostgreSQL, where any number of machines work at one run.
--
-- `postgres://user@host/base` stands wherever a store's file may. Rows are kept once for each key and configuration. A
-- run that is shared has its configurations in a table of claims, from which workers take them: SELECT ... FOR UPDATE
-- SKIP LOCKED, so that nobody waits for anybody. A worker's heart is its connection, which holds an advisory lock for
-- as long as it lives: the lock goes with the process at once, and with the machine when TCP notices (about 35 s). A
-- beat is written between samples besides; a claim whose worker is gone, or has not had a beat for a lease, is taken
-- over. What became of a configuration is kept only by the worker whose claim it still is, in the same statement that
-- ends the claim: nothing is kept twice. A configuration that two workers died of becomes a fault.
-- The connection is LuaSQL's (Debian: lua-sql-postgres), which is needed for nothing else.
-- Dependencies: luhip.core, luhip.errors, luhip.tune.store; luasql.postgres.
-- @module luhip.tune.database

local core = require "luhip.core"
local errors = require "luhip.errors"
local store = require "luhip.tune.store"

local database = {}

local Database = { __name = "luhip.tune.database" }
Database.__index = Database

local CRASHES = 2
local CLASS = 0x6c756869 -- of advisory locks: workers; CLASS + 1: whoever sets tables up or fills a run
local BATCH = 500

local SCHEMA = [[
CREATE TABLE IF NOT EXISTS luhip_tune_row (seq bigserial, key text NOT NULL, config text NOT NULL, name text,
  body text NOT NULL, PRIMARY KEY (key, config));
CREATE TABLE IF NOT EXISTS luhip_tune_default (name text PRIMARY KEY, params text NOT NULL);
CREATE TABLE IF NOT EXISTS luhip_tune_run (run text PRIMARY KEY, name text, filled boolean NOT NULL DEFAULT false);
CREATE TABLE IF NOT EXISTS luhip_tune_claim (seq bigserial PRIMARY KEY, run text NOT NULL, config text NOT NULL,
  state text NOT NULL DEFAULT 'open', worker integer, attempts integer NOT NULL DEFAULT 0, beat timestamptz, key text,
  UNIQUE (run, config));
CREATE INDEX IF NOT EXISTS luhip_tune_claim_state ON luhip_tune_claim (run, state, seq);
CREATE SEQUENCE IF NOT EXISTS luhip_tune_worker AS integer CYCLE;
]]

-- ---- statements ----------------------------------------------------------------------------------------------------

local function luasql()
  local ok, module = pcall(require, "luasql.postgres")
  if not ok then
    errors.raise(
      "not_found",
      "a store in PostgreSQL needs LuaSQL, which is not installed; on Debian: apt-get install lua-sql-postgres"
    )
  end
  return module
end

-- The address without its password, for messages.
local function shown(url)
  return (url:gsub("^(%a+://[^/@:]*):[^/@]*@", "%1:***@"))
end

-- Runs SQL in which $1, $2, ... are values; gives the cursor, or the number of rows.
local function execute(self, sql, ...)
  local values = { ... }
  local text = sql:gsub("%$(%d)", function(k)
    local value = values[tonumber(k)]
    if value == nil then
      return "NULL"
    elseif math.type(value) then
      return tostring(value)
    end
    return "'" .. self.connection:escape(value) .. "'"
  end)
  local result, why = self.connection:execute(text)
  if not result then
    errors.raise("file", "the database %s: %s", shown(self.path), tostring(why):gsub("%s+$", ""))
  end
  return result
end

-- The rows of a query, as lists.
local function query(self, sql, ...)
  local cursor, list = execute(self, sql, ...), {}
  while true do
    local row = cursor:fetch({}, "n")
    if not row then
      break
    end
    list[#list + 1] = row
  end
  cursor:close()
  return list
end

local function value(self, sql, ...)
  local list = query(self, sql, ...)
  return list[1] and list[1][1]
end

-- ---- a store's interface -------------------------------------------------------------------------------------------

local function connect(path)
  local environment = luasql().postgres()
  local connection, why = environment:connect(path)
  if not connection then
    environment:close()
    errors.raise("file", "cannot open the database %s: %s", shown(path), tostring(why):gsub("%s+$", ""))
  end
  local self = setmetatable({ path = path, environment = environment, connection = connection }, Database)
  self.damaged, self.unknown, self.since, self.defaults = 0, 0, 0, {}
  execute(self, "SET client_min_messages = error")
  execute(self, "SET tcp_keepalives_idle = 20")
  execute(self, "SET tcp_keepalives_interval = 5")
  execute(self, "SET tcp_keepalives_count = 3")
  query(self, "SELECT pg_advisory_lock($1, 0)", CLASS + 1)
  execute(self, SCHEMA)
  query(self, "SELECT pg_advisory_unlock($1, 0)", CLASS + 1)
  return self
end

local function fill_records(self)
  self.records = self:rows()
  for _, row in ipairs(query(self, "SELECT name, params FROM luhip_tune_default")) do
    self.defaults[row[1]] = core.json(row[2])
  end
  local claims =
    query(self, "SELECT key, config, worker FROM luhip_tune_claim WHERE state = 'claimed' AND key IS NOT NULL")
  for _, row in ipairs(claims) do
    local start = { kind = "start", key = row[1], params = core.json(row[2]), pid = math.tointeger(tonumber(row[3])) }
    self.records[#self.records + 1] = start
  end
  self.count = #self.records
  local progress =
    "SELECT (SELECT count(*) FROM luhip_tune_row) + (SELECT coalesce(sum(attempts), 0) FROM luhip_tune_claim)"
  self.progress = tonumber(value(self, progress))
end

--- Reads a store.
-- @tparam string path of the form postgres://user@host/base
-- @treturn Database
-- @raise kind "file"; "not_found" without LuaSQL
function database.read(path)
  local self = database.open(path)
  self:close()
  return self
end

--- Opens a store to append to it; its tables are made when they are missing.
-- @tparam string path
-- @treturn Database what luhip.tune.store gives for a file
-- @raise as `read`
function database.open(path)
  local self = connect(path)
  fill_records(self)
  return self
end

--- As of a file's store: nothing.
-- @treturn nil
function Database.passed_over()
  return nil
end

--- A record, as it was when the store was opened.
-- @tparam integer n 1 to `count`
-- @treturn table
function Database:record(n)
  return self.records[n]
end

local function stored_rows(self)
  local list = {}
  for i, row in ipairs(query(self, "SELECT body FROM luhip_tune_row ORDER BY seq")) do
    list[i] = core.json(row[1])
  end
  return list
end

--- All rows.
-- @tparam[opt] string name only rows of this name
-- @treturn {table,...}
function Database:rows(name)
  local list = {}
  for _, record in ipairs(self.connection and stored_rows(self) or self.records) do
    if record.kind == "row" and (not name or record.name == name) then
      list[#list + 1] = record
    end
  end
  return list
end

--- The row of a configuration, as the database has it now.
-- @tparam string key
-- @tparam table params
-- @treturn ?table
function Database:find(key, params)
  local sql = "SELECT body FROM luhip_tune_row WHERE key = $1 AND config = $2"
  local body = value(self, sql, key, (store.config_text(params)))
  return body and core.json(body)
end

--- As of a file's store: claims count attempts themselves.
-- @treturn nil
function Database.crashes()
  return nil
end

local KEEP = [[ ON CONFLICT (key, config) DO UPDATE SET body = EXCLUDED.body, name = EXCLUDED.name]]

local function keep_row(self, record)
  local config, body = store.config_text(record.params), core.json_text(record)
  if not self.run then
    local insert = "INSERT INTO luhip_tune_row (key, config, name, body) VALUES ($1, $2, $3, $4)" .. KEEP
    execute(self, insert, record.key, config, record.name, body)
    execute(self, "UPDATE luhip_tune_claim SET state = 'done' WHERE key = $1 AND config = $2", record.key, config)
    return true
  end
  local sql = [[WITH mine AS (UPDATE luhip_tune_claim SET state = 'done', key = $1, beat = now()
    WHERE run = $5 AND config = $2 AND worker = $6 AND state = 'claimed' RETURNING 1)
    INSERT INTO luhip_tune_row (key, config, name, body) SELECT $1, $2, $3, $4 FROM mine]]
  return execute(self, sql .. KEEP, record.key, config, record.name, body, self.run, self.worker) == 1
end

--- Appends a record.
-- @tparam table record as of luhip.tune.store; a row of a shared run is kept when its claim is still this worker's
-- @treturn boolean whether it was
function Database:append(record)
  local config = store.config_text(record.params)
  if record.kind == "row" then
    return keep_row(self, record)
  elseif record.kind == "default" then
    local sql =
      "INSERT INTO luhip_tune_default VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET params = EXCLUDED.params"
    execute(self, sql, record.name, config)
    self.defaults[record.name] = record.params
  elseif self.run and record.kind == "start" then
    local sql = "UPDATE luhip_tune_claim SET key = $1, beat = now() WHERE run = $2 AND config = $3 AND worker = $4"
    execute(self, sql, record.key, self.run, config, self.worker)
  elseif self.run and record.kind == "end" then
    local sql = [[UPDATE luhip_tune_claim SET state = 'open', worker = NULL, attempts = attempts - 1
      WHERE run = $1 AND config = $2 AND worker = $3 AND state = 'claimed']]
    execute(self, sql, self.run, config, self.worker)
  end
  return true
end

--- Ends the use of the database; a worker's claim is free then.
function Database:close()
  if self.connection then
    self.connection:close()
    self.environment:close()
    self.connection = nil
  end
end

-- ---- shared runs ---------------------------------------------------------------------------------------------------

--- Joins a run as a worker.
-- @tparam string run what tells it from others
-- @tparam string name
-- @tparam integer lease seconds without a beat after which a worker's claim is another's
function Database:join(run, name, lease)
  self.run, self.lease, self.beaten = run, lease, core.monotime()
  self.worker = math.tointeger(tonumber(value(self, "SELECT nextval('luhip_tune_worker')")))
  query(self, "SELECT pg_advisory_lock($1, $2)", CLASS, self.worker)
  execute(self, "INSERT INTO luhip_tune_run (run, name) VALUES ($1, $2) ON CONFLICT DO NOTHING", run, name)
end

--- Puts all configurations of a run in, unless another worker has.
-- @tparam integer count
-- @tparam function nth position to configuration
function Database:fill(count, nth)
  query(self, "SELECT pg_advisory_lock($1, hashtext($2))", CLASS + 1, self.run)
  if value(self, "SELECT filled FROM luhip_tune_run WHERE run = $1", self.run) ~= "t" then
    for from = 1, count, BATCH do
      local values = {}
      for i = from, math.min(count, from + BATCH - 1) do
        local config = self.connection:escape((store.config_text(nth(i))))
        values[#values + 1] = ("('%s', '%s')"):format(self.run, config)
      end
      local sql = "INSERT INTO luhip_tune_claim (run, config) VALUES %s ON CONFLICT DO NOTHING"
      local ok, why = self.connection:execute(sql:format(table.concat(values, ", ")))
      if not ok then
        errors.raise("file", "the database %s: %s", shown(self.path), why)
      end
    end
    execute(self, "UPDATE luhip_tune_run SET filled = true WHERE run = $1", self.run)
  end
  query(self, "SELECT pg_advisory_unlock($1, hashtext($2))", CLASS + 1, self.run)
end

--- Puts one configuration in, unless it is there or the run has as many as it may.
-- @tparam table params
-- @tparam ?integer limit
-- @treturn boolean false when there are as many as there may be
function Database:offer(params, limit)
  local config = store.config_text(params)
  query(self, "SELECT pg_advisory_lock($1, hashtext($2))", CLASS + 1, self.run)
  local sql = [[INSERT INTO luhip_tune_claim (run, config) SELECT $1, $2
    WHERE $3::bigint IS NULL OR (SELECT count(*) FROM luhip_tune_claim WHERE run = $1) < $3 ON CONFLICT DO NOTHING]]
  execute(self, sql, self.run, config, limit)
  local there = value(self, "SELECT 1 FROM luhip_tune_claim WHERE run = $1 AND config = $2", self.run, config)
  query(self, "SELECT pg_advisory_unlock($1, hashtext($2))", CLASS + 1, self.run)
  return there ~= nil
end

-- Of a claim c: that it is another's who is gone.
local DEAD = [[(c.state = 'claimed' AND c.worker <> $2 AND (c.beat < now() - $3 * interval '1 second' OR NOT EXISTS (
  SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.classid = $4::bigint::oid
  AND l.objid = c.worker::oid AND l.objsubid = 2
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))))]]

--- Takes a configuration that nobody has, or whose worker is gone.
-- @tparam[opt] table params this one, if it can be had; otherwise any
-- @treturn ?table its parameters; nil: there is none
-- @treturn ?integer how often it was taken before
function Database:claim(params)
  local sql = [[UPDATE luhip_tune_claim SET state = 'claimed', worker = $2, attempts = attempts + 1, beat = now(),
    key = NULL WHERE seq = (SELECT seq FROM luhip_tune_claim c WHERE c.run = $1
    AND (c.state = 'open' OR ]] .. DEAD .. [[)
    AND ($5::text IS NULL OR c.config = $5) ORDER BY c.seq LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING config, attempts]]
  local config = params and store.config_text(params) or nil
  local list = query(self, sql, self.run, self.worker, self.lease, CLASS, config)
  if list[1] then
    return core.json(list[1][1]), math.tointeger(tonumber(list[1][2])) - 1
  end
  return nil
end

--- How many configurations of the run have no end yet.
-- @treturn integer
function Database:outstanding()
  return tonumber(value(self, "SELECT count(*) FROM luhip_tune_claim WHERE run = $1 AND state <> 'done'", self.run))
end

--- Whether a configuration of the run has its end.
-- @tparam table params
-- @treturn boolean
function Database:is_done(params)
  local sql = "SELECT 1 FROM luhip_tune_claim WHERE run = $1 AND config = $2 AND state = 'done'"
  return value(self, sql, self.run, (store.config_text(params))) ~= nil
end

--- Ends a claim whose row was there before.
-- @tparam string key
-- @tparam table params
function Database:finish(key, params)
  local sql = [[UPDATE luhip_tune_claim SET state = 'done', key = $1
    WHERE run = $2 AND config = $3 AND worker = $4 AND state = 'claimed']]
  execute(self, sql, key, self.run, (store.config_text(params)), self.worker)
end

--- Says that this worker lives; at most once a second.
function Database:beat()
  local now = core.monotime()
  if self.run and now - self.beaten >= 1 then
    self.beaten = now
    execute(
      self,
      "UPDATE luhip_tune_claim SET beat = now() WHERE run = $1 AND worker = $2 AND state = 'claimed'",
      self.run,
      self.worker
    )
  end
end

--- What became of all configurations of the run, in the order in which they were put in.
-- @treturn {table,...} records
function Database:results()
  local sql = [[SELECT r.body FROM luhip_tune_claim c JOIN luhip_tune_row r ON r.key = c.key AND r.config = c.config
    WHERE c.run = $1 AND c.state = 'done' ORDER BY c.seq]]
  local list = {}
  for i, row in ipairs(query(self, sql, self.run)) do
    list[i] = core.json(row[1])
  end
  return list
end

database.CRASHES = CRASHES

return database
