-- The load of npm run bench, for wrk:
--   wrk ... -s tools/bench/load.lua URL                   each request has the headers of wrk's -H options
--   wrk ... -s tools/bench/load.lua URL -- varied         and an address, id, browser and cookie of its own
--   wrk ... -s tools/bench/load.lua URL -- varied RATE    the same, at a constant rate in requests per second
-- The result is printed as one line of JSON.

local ffi = require('ffi')
ffi.cdef('typedef struct { long s; long us; } bench_time; int gettimeofday(bench_time *, void *);')
local time = ffi.new('bench_time')
local function now()
  ffi.C.gettimeofday(time, nil)
  return tonumber(time.s) * 1000 + tonumber(time.us) / 1000
end

-- The generator has one CPU and must not be the limit, so a request is one concatenation of texts that were made before:
-- one of 4,096 addresses and two of 4,096 halves of an id, in another combination for 16 million requests.
local COUNT = 4096
local random = math.random
local function varied_requests()
  math.randomseed(now())
  local address, half, browser = {}, {}, {}
  for i = 0, COUNT - 1 do
    address[i] = string.format('%d.%d.%d.%d', random(1, 223), random(0, 255), random(0, 255), random(1, 254))
    half[i] = string.format('%08x%08x', random(0, 2 ^ 32 - 1), random(0, 2 ^ 32 - 1))
    browser[i] = string.format(
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%d.0.%d.%d Safari/537.36\r\nCookie: session=%s; consent=%d\r\n\r\n',
      random(100, 140), random(0, 9999), random(0, 999), half[i], random(0, 1)
    )
  end
  local before = 'GET ' .. wrk.path .. ' HTTP/1.1\r\nHost: ' .. wrk.headers['Host'] .. '\r\nX-Forwarded-For: '
  local headers = ''
  for name, value in pairs(wrk.headers) do
    if name ~= 'Host' then headers = headers .. name .. ': ' .. value .. '\r\n' end
  end
  local after = '\r\nX-Forwarded-Proto: https\r\n' .. headers .. 'User-Agent: '
  local first, second = 0, 0
  return function()
    first = first + 1
    if first == COUNT then first, second = 0, second + 1 end
    local other = (first * 7 + second) % COUNT
    return before .. address[other] .. '\r\nX-Request-Id: ' .. half[first] .. half[other] .. after .. browser[other]
  end
end

-- Request number n is due at start + n * interval, however long the responses take: a connection that has its response
-- takes the next place in this plan. Requests that found no free connection in time are counted as late.
local LATE_MS = 2
local CONNECT_MS = 200
sent, late = 0, 0
local function at_constant_rate(rate, next_request)
  local interval = 1000 / rate
  local start
  local planned = 0
  delay = function()
    start = start or now() + CONNECT_MS
    planned = planned + 1
    return math.max(0, start + planned * interval - now())
  end
  return function()
    -- wrk asks for one request before the first connection.
    if start then
      sent = sent + 1
      if now() - start - sent * interval > LATE_MS then late = late + 1 end
    end
    return next_request()
  end
end

local worker
function setup(thread) worker = thread end

function init(args)
  if args[1] == 'varied' then request = varied_requests() end
  if args[2] then request = at_constant_rate(tonumber(args[2]), request) end
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    '{"requests":%d,"seconds":%.6f,"failed":%d,"p50Ms":%.3f,"p99Ms":%.3f,"p999Ms":%.3f,"sent":%d,"late":%d}',
    summary.requests, summary.duration / 1e6,
    errors.connect + errors.read + errors.write + errors.timeout + errors.status,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, latency:percentile(99.9) / 1000,
    worker:get('sent'), worker:get('late')
  ))
end
