-- Requests for wrk that differ in one number of ten digits. wrk.ts sets the environment:
--   BENCH_BEFORE, BENCH_AFTER  the bytes of the request before and after the number
--   BENCH_BELOW                numbers are random, from 0 to below this; if empty, they count up
--   BENCH_FROM                 the start of counting, and the seed of random numbers

local before = os.getenv('BENCH_BEFORE')
local after = os.getenv('BENCH_AFTER')
local below = tonumber(os.getenv('BENCH_BELOW'))
local number = tonumber(os.getenv('BENCH_FROM'))
local format, random = string.format, math.random

math.randomseed(number)

function request()
  if below then
    number = random(0, below - 1)
  else
    number = number + 1
  end
  return before .. format('%010d', number) .. after
end

function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(format(
    'BENCH {"answered":%d,"failed":%d,"durationUs":%d,"p50Us":%d,"p99Us":%d}\n',
    summary.requests, failed, summary.duration, latency:percentile(50), latency:percentile(99)
  ))
end
