/**
 * The scripts that Valkey runs. Each one is atomic. The line `#!lua` makes Valkey refuse the whole script before it
 * starts when it is out of memory, instead of in the middle.
 *
 * A counter is a number. A script gets its lifetime as a negative number, where a window has its length (both in ms).
 *
 * A window is a list. Each entry stands for requests that were admitted at the same moment: the time in milliseconds,
 * multiplied by 1,024, plus their number (1 to 1,023). The last element is the sum of these numbers. An entry takes
 * about ten bytes, and a window that is not used for its own length expires.
 */
const ENTRIES = `
local UNITS = 1024
local function text(number) return string.format('%.0f', number) end

-- The present, in milliseconds, and the time under which an admission is stored: rounded up, so that no window is a
-- fraction of a millisecond too short. A test may give the time.
local function clock(given)
  if given ~= '' then return tonumber(given), tonumber(given) end
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  return now, time[2] % 1000 == 0 and now or now + 1
end

local function append(list, at, count)
  while count > 0 do
    local part = math.min(count, UNITS - 1)
    list[#list + 1] = text(at * UNITS + part)
    count = count - part
  end
end
`;

/**
 * Decides on requests of several windows. KEYS: the generation, then the windows. ARGV: the generation that the caller
 * knows, the time or '', then for each window: its length in milliseconds, the limit, how much each request costs, and
 * how many there are (0 to look only).
 *
 * Returns the generation that it found instead if it is another one: then nothing was decided, because Valkey has lost
 * its data. Otherwise four numbers for each window: how many requests were admitted (the first ones), the sum in the
 * window, the time until the oldest leaves the window, and the time until a refused request would be admitted.
 */
export const DECIDE = `#!lua
${ENTRIES}
local generation = redis.call('GET', KEYS[1])
if generation ~= ARGV[1] then return generation or '' end
local now, stamp = clock(ARGV[2])

local function waitFor(key, leaving, window)
  local units, at = 0, now
  for _, entry in ipairs(redis.call('LRANGE', key, 0, math.min(leaving, 1000) - 1)) do
    units = units + entry % UNITS
    at = math.floor(entry / UNITS)
    if units >= leaving then break end
  end
  return math.min(at + window - now, window)
end

local function count(key, lifetime, limit, cost, times)
  local total = tonumber(redis.call('GET', key) or 0)
  local admitted = math.max(math.min(times, math.floor((limit - total) / cost)), 0)
  if admitted > 0 then
    total = total + admitted * cost
    redis.call('SET', key, text(total), 'PX', lifetime)
  end
  return admitted, total
end

local function decide(key, window, limit, cost, times)
  local before = tonumber(redis.call('LINDEX', key, -1) or 0)
  local total = before
  local oldest
  while total > 0 do
    local entry = redis.call('LINDEX', key, 0)
    oldest = math.floor(entry / UNITS)
    if now - oldest < window then break end
    redis.call('LPOP', key)
    total = total - entry % UNITS
  end
  local admitted = math.max(math.min(times, math.floor((limit - total) / cost)), 0)
  if admitted > 0 then
    if total == 0 then oldest = stamp end
    if before > 0 then redis.call('RPOP', key) end
    local entries = {}
    append(entries, stamp, admitted * cost)
    total = total + admitted * cost
    entries[#entries + 1] = text(total)
    redis.call('RPUSH', key, unpack(entries))
    redis.call('PEXPIRE', key, window + 1000)
  elseif total == 0 then
    if before > 0 then redis.call('DEL', key) end
  elseif total < before then
    redis.call('LSET', key, -1, text(total))
  end
  local reset = total == 0 and 0 or math.min(oldest + window - now, window)
  local refusedReset = reset
  local leaving = total + cost - limit
  if leaving > 0 and cost <= limit and total > 0 then refusedReset = waitFor(key, leaving, window) end
  return admitted, total, reset, refusedReset
end

local replies = {}
for i = 2, #KEYS do
  local first, at = 3 + (i - 2) * 4, (i - 2) * 4
  local window, limit = tonumber(ARGV[first]), tonumber(ARGV[first + 1])
  local cost, times = tonumber(ARGV[first + 2]), tonumber(ARGV[first + 3])
  local admitted, total, reset, refusedReset
  if window < 0 then admitted, total = count(KEYS[i], -window, limit, cost, times)
  else admitted, total, reset, refusedReset = decide(KEYS[i], window, limit, cost, times) end
  replies[at + 1], replies[at + 2], replies[at + 3], replies[at + 4] = admitted, total, reset or 0, refusedReset or 0
end
return replies
`;

/**
 * Reads the generation, and sets it if there is none: Valkey is new, or has lost its data. KEYS: the generation,
 * and a key that is written only to find out whether Valkey accepts writes. ARGV: a new generation.
 */
export const FIND_GENERATION = `#!lua
redis.call('SET', KEYS[1], ARGV[1], 'NX')
redis.call('SET', KEYS[2], '1', 'PX', 1000)
return redis.call('GET', KEYS[1])
`;

/**
 * Adds requests that a process has admitted by itself. KEYS: the windows. ARGV: the time or '', then for each window
 * its length in milliseconds and its requests, as `age:count` separated by spaces (the age in milliseconds). A counter
 * has `least:count`: it is at least that high, and then the count is added.
 */
export const RESTORE = `#!lua
${ENTRIES}
local now = clock(ARGV[1])

local function restoreCounter(key, lifetime, least, count)
  local total = math.max(tonumber(redis.call('GET', key) or 0), tonumber(least)) + tonumber(count)
  redis.call('SET', key, text(total), 'PX', lifetime)
end

local function restoreWindow(key, window, requests)
  local entries = redis.call('LRANGE', key, 0, -2)
  for age, count in string.gmatch(requests, '(%d+):(%d+)') do
    append(entries, now - tonumber(age), tonumber(count))
  end
  table.sort(entries, function(one, other) return tonumber(one) < tonumber(other) end)
  local total = 0
  for _, entry in ipairs(entries) do total = total + entry % UNITS end
  redis.call('DEL', key)
  for at = 1, #entries, 1000 do redis.call('RPUSH', key, unpack(entries, at, math.min(at + 999, #entries))) end
  redis.call('RPUSH', key, text(total))
  redis.call('PEXPIRE', key, window + 1000)
end

for i = 1, #KEYS do
  local window, requests = tonumber(ARGV[i * 2]), ARGV[i * 2 + 1]
  if window < 0 then restoreCounter(KEYS[i], -window, string.match(requests, '(%d+):(%d+)'))
  else restoreWindow(KEYS[i], window, requests) end
end
return #KEYS
`;

/**
 * Appends entries to a log and reads those that were appended after an index. KEYS: the log, and its length with all
 * entries that were ever appended. ARGV: the index, how many entries are kept, for how many milliseconds, then the
 * entries. Returns the index of the last entry, the time, and the others, each with its time before it.
 */
export const APPEND = `#!lua
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local before = tonumber(redis.call('GET', KEYS[2]) or 0)
local unread = before - tonumber(ARGV[1])
-- The index is of a log that was lost: all entries of this one are unread.
if unread < 0 then unread = before end
unread = math.min(unread, redis.call('LLEN', KEYS[1]))
local reply = { before + #ARGV - 3, now }
if unread > 0 then
  for _, entry in ipairs(redis.call('LRANGE', KEYS[1], -unread, -1)) do reply[#reply + 1] = entry end
end
for i = 4, #ARGV do redis.call('RPUSH', KEYS[1], string.format('%.0f', now) .. ' ' .. ARGV[i]) end
redis.call('LTRIM', KEYS[1], -tonumber(ARGV[2]), -1)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('SET', KEYS[2], reply[1], 'PX', ARGV[3])
return reply
`;

/**
 * Counts what processes have open. KEYS: a hash with a field for each process: its number, and until when it counts.
 * ARGV: the process, its number with the one that it asks for, the limit, and for how many milliseconds its number
 * counts. Returns 1 when all of them together are within the limit; otherwise 0, and its number stays as it was.
 */
export const COUNT_OPEN = `#!lua
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local others = 0
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  local count, untilMs = string.match(fields[i + 1], '(%d+) (%d+)')
  if tonumber(untilMs) <= now then redis.call('HDEL', KEYS[1], fields[i])
  elseif fields[i] ~= ARGV[1] then others = others + tonumber(count) end
end
local own = tonumber(ARGV[2])
if own == 0 then
  redis.call('HDEL', KEYS[1], ARGV[1])
  return 1
end
if others + own > tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], own .. ' ' .. string.format('%.0f', now + tonumber(ARGV[4])))
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
`;

/** Reads a cached value. KEYS: the entry. Returns the value and for how many milliseconds it is kept, or nil. */
export const READ_CACHE = `#!lua
local value = redis.call('GET', KEYS[1])
return value and { value, redis.call('PTTL', KEYS[1]) }
`;

/** Caches a value. KEYS: the entry. ARGV: the value, and for how many milliseconds it is kept. */
export const WRITE_CACHE = `#!lua
return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
`;
