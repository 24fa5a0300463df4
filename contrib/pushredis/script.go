package pushredis

import "github.com/redis/go-redis/v9"

// Every script takes the prefix as its only key, and computes the others, which are on the
// same server because of the prefix's braces. Time is that of Redis, in milliseconds; the
// first argument is added to it, and is not 0 in tests only.
const clock = `
local p = KEYS[1]
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000) + ARGV[1]
local function keys(node, life) return p .. 'm:' .. node .. ':' .. life, p .. 'i:' .. node .. ':' .. life end
local function remove(node)
  local life = redis.call('HGET', p .. 'lives', node)
  redis.call('ZREM', p .. 'leases', node)
  redis.call('HDEL', p .. 'lives', node)
  if life then redis.call('UNLINK', keys(node, life)) end
end
local function keep(key, ttl)
  if redis.call('PTTL', key) < ttl then redis.call('PEXPIRE', key, ttl) end
end
`

// begin starts a life of a node in place of the one it has: skew, node, life, ttl. Members
// that were loaded for it are there already. What it replaces is removed.
var begin = redis.NewScript(clock + `
local node, life, ttl = ARGV[2], ARGV[3], tonumber(ARGV[4])
local former = redis.call('HGET', p .. 'lives', node)
if former ~= life then remove(node) end
redis.call('HSET', p .. 'lives', node, life)
redis.call('ZADD', p .. 'leases', now + ttl, node)
local m, i = keys(node, life)
for _, key in ipairs({p .. 'lives', p .. 'leases', m, i}) do keep(key, 2 * ttl) end
return redis.status_reply('OK')`)

// load adds members to a life that has not begun: skew, node, life, ttl, then for each
// member its ID, its JSON, the number of its filters, and these.
var load = redis.NewScript(clock + add + `
local node, life, ttl = ARGV[2], ARGV[3], tonumber(ARGV[4])
local m, i = keys(node, life)
add(m, i, 5)
keep(m, 2 * ttl) keep(i, 2 * ttl)
return redis.status_reply('OK')`)

// add takes members from the arguments, from a place on.
const add = `
local function add(m, i, at)
  while ARGV[at] do
    redis.call('HSET', m, ARGV[at], ARGV[at + 1])
    for f = at + 3, at + 2 + ARGV[at + 2] do redis.call('ZADD', i, 0, ARGV[f] .. '\0' .. ARGV[at]) end
    at = at + 3 + ARGV[at + 2]
  end
end
`

// change renews a lease, removes members and adds some: skew, node, life, ttl, a message or
// nothing, the number of those that have left, for each its ID, the number of its filters
// and these; then the members as for load. It returns 0 if the life has ended.
var change = redis.NewScript(clock + add + `
local node, life, ttl, message = ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
if redis.call('HGET', p .. 'lives', node) ~= life then return 0 end
local ends = redis.call('ZSCORE', p .. 'leases', node)
if not ends or tonumber(ends) < now then remove(node) return 0 end
redis.call('ZADD', p .. 'leases', now + ttl, node)
local m, i = keys(node, life)
local at = 7
for _ = 1, ARGV[6] do
  redis.call('HDEL', m, ARGV[at])
  for f = at + 2, at + 1 + ARGV[at + 1] do redis.call('ZREM', i, ARGV[f] .. '\0' .. ARGV[at]) end
  at = at + 2 + ARGV[at + 1]
end
add(m, i, at)
for _, key in ipairs({p .. 'lives', p .. 'leases', m, i}) do keep(key, 2 * ttl) end
if message ~= '' then redis.call('PUBLISH', p .. 'events', message) end
return 1`)

// reap removes nodes whose lease has ended, a few at a time, and announces each: skew.
var reap = redis.NewScript(clock + `
local dead = redis.call('ZRANGEBYSCORE', p .. 'leases', '-inf', '(' .. now, 'LIMIT', 0, 100)
for _, node in ipairs(dead) do
  remove(node)
  redis.call('PUBLISH', p .. 'events', cjson.encode({node = node, lost = true}))
end
return #dead`)

// leave removes a life of a node, whichever if it is empty: skew, node, life.
var leave = redis.NewScript(clock + `
local life = redis.call('HGET', p .. 'lives', ARGV[2])
if life and (ARGV[3] == '' or life == ARGV[3]) then
  remove(ARGV[2])
  redis.call('PUBLISH', p .. 'events', cjson.encode({node = ARGV[2], lost = true}))
end
return redis.status_reply('OK')`)

// count counts the members of filters: skew, then the filters.
var count = redis.NewScript(clock + `
local sums = {}
for f = 2, #ARGV do sums[f - 1] = 0 end
for _, node in ipairs(redis.call('ZRANGEBYSCORE', p .. 'leases', now, '+inf')) do
  local life = redis.call('HGET', p .. 'lives', node)
  local _, i = keys(node, life or '')
  for f = 2, #ARGV do
    sums[f - 1] = sums[f - 1] + redis.call('ZLEXCOUNT', i, '[' .. ARGV[f] .. '\0', '(' .. ARGV[f] .. '\1')
  end
end
return sums`)

// list returns members of a filter: skew, filter, at most.
var list = redis.NewScript(clock + `
local got = {}
for _, node in ipairs(redis.call('ZRANGEBYSCORE', p .. 'leases', now, '+inf')) do
  local life = redis.call('HGET', p .. 'lives', node)
  local m, i = keys(node, life or '')
  for _, entry in ipairs(redis.call('ZRANGEBYLEX', i, '[' .. ARGV[2] .. '\0', '(' .. ARGV[2] .. '\1', 'LIMIT', 0, ARGV[3] - #got)) do
    local member = redis.call('HGET', m, string.sub(entry, #ARGV[2] + 2))
    if member then got[#got + 1] = member end
  end
  if #got >= tonumber(ARGV[3]) then break end
end
return got`)
