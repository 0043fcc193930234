-- The load of npm run bench, which starts
--   wrk ... -s tools/bench/load.lua URL                  every request has the same bytes, with the headers of wrk's -H options
--   wrk ... -s tools/bench/load.lua URL -- HEADERS       every request has another address and id, as behind a load balancer
--   wrk ... -s tools/bench/load.lua URL -- HEADERS RATE  the same at a constant rate in requests per second
-- HEADERS are the header lines that do not change. Where they contain {browser}, every request has another browser and cookie
-- there. The figures are printed as one line of JSON.

local ffi = require('ffi')
ffi.cdef('typedef struct { long s; long us; } bench_time; int gettimeofday(bench_time *, void *);')
local time = ffi.new('bench_time')
local function now()
  ffi.C.gettimeofday(time, nil)
  return tonumber(time.s) * 1000 + tonumber(time.us) / 1000
end

-- The load has one CPU and must not be the limit. So each request is one short concatenation of texts made before: one of
-- 4,096 random addresses and two of 4,096 random halves of an id, in another combination for 16 million requests. Small
-- tables also keep Lua's collector short.
-- nginx puts the headers that it adds between Host and the client's.
local COUNT = 4096
local random = math.random
local function differing(headers)
  math.randomseed(now())
  local address, half, browser = {}, {}, {}
  for i = 0, COUNT - 1 do
    address[i] = string.format('%d.%d.%d.%d', random(1, 223), random(0, 255), random(0, 255), random(1, 254))
    half[i] = string.format('%08x%08x', random(0, 2 ^ 32 - 1), random(0, 2 ^ 32 - 1))
    browser[i] = string.format(
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%d.0.%d.%d Safari/537.36\r\nCookie: session=%s; consent=%d',
      random(100, 140), random(0, 9999), random(0, 999), half[i], random(0, 1)
    )
  end
  local before = 'GET ' .. wrk.path .. ' HTTP/1.1\r\nHost: ' .. wrk.headers['Host'] .. '\r\nX-Forwarded-For: '
  local between = '\r\nX-Forwarded-Proto: https\r\nX-Request-Id: '
  local unchanged, rest = headers:match('^(.*){browser}(.*)$')
  local after = '\r\n' .. (unchanged or headers .. '\r\n')
  local last = rest and rest .. '\r\n'
  local first, second = 0, 0
  return function()
    first = first + 1
    if first == COUNT then first, second = 0, second + 1 end
    local other = (first * 7 + second) % COUNT
    if last then
      return before .. address[other] .. between .. half[first] .. half[other] .. after .. browser[other] .. last
    end
    return before .. address[other] .. between .. half[first] .. half[other] .. after
  end
end

-- Request number n is due at start + n * interval, however long the responses take: a connection that has its response
-- takes the next free place in this plan. Late requests, which found no connection in time, are counted.
local LATE_MS = 2
local CONNECT_MS = 200
sent, late, latest = 0, 0, 0
local function constant(rate, next_request)
  local interval = 1000 / rate
  local start
  local planned = 0
  delay = function()
    start = start or now() + CONNECT_MS
    planned = planned + 1
    return math.max(0, start + planned * interval - now())
  end
  request = function()
    -- wrk asks for one request before the first connection.
    if start then
      sent = sent + 1
      local behind = now() - start - sent * interval
      if behind > LATE_MS then late = late + 1 end
      if behind > latest then latest = behind end
    end
    return next_request()
  end
end

local worker
function setup(thread) worker = thread end

function init(args)
  if not args[1] then return end
  request = differing(args[1])
  if args[2] then constant(tonumber(args[2]), request) end
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    '{"requests":%d,"seconds":%.6f,"failed":%d,"p50Ms":%.3f,"p99Ms":%.3f,"p999Ms":%.3f,"busy":%.3f,"sent":%d,"late":%d,"latestMs":%.3f}',
    summary.requests, summary.duration / 1e6,
    errors.connect + errors.read + errors.write + errors.timeout + errors.status,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, latency:percentile(99.9) / 1000,
    os.clock() / (summary.duration / 1e6), worker:get('sent'), worker:get('late'), worker:get('latest')
  ))
end
