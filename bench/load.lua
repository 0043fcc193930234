-- The load of npm run bench, which starts
--   wrk ... -s bench/load.lua URL                  every request has the same bytes, with the headers of wrk's -H options
--   wrk ... -s bench/load.lua URL -- HEADERS       every request has another address and id, as behind a load balancer
--   wrk ... -s bench/load.lua URL -- HEADERS RATE  the same at a constant rate in requests per second
-- HEADERS are the header lines that do not change. The figures are printed as one line of JSON.

local ffi = require('ffi')
ffi.cdef('typedef struct { long s; long us; } bench_time; int gettimeofday(bench_time *, void *);')
local time = ffi.new('bench_time')
local function now()
  ffi.C.gettimeofday(time, nil)
  return tonumber(time.s) * 1000 + tonumber(time.us) / 1000
end

-- The load must cost little: it has one CPU. So each request is one concatenation of parts that exist already.
local random = math.random
local octet, word = {}, {}
for i = 0, 255 do octet[i] = tostring(i) end
for i = 0, 65535 do word[i] = string.format('%04x', i) end
local function words()
  return word[random(0, 65535)] .. word[random(0, 65535)] .. word[random(0, 65535)] .. word[random(0, 65535)]
end

-- nginx puts the headers that it adds between Host and the client's.
local function differing(headers)
  math.randomseed(now())
  local before = 'GET ' .. wrk.path .. ' HTTP/1.1\r\nHost: ' .. wrk.headers['Host'] .. '\r\nX-Forwarded-For: '
  local after = '\r\n' .. headers .. '\r\n'
  return function()
    return before .. octet[random(1, 223)] .. '.' .. octet[random(0, 255)] .. '.' .. octet[random(0, 255)] .. '.'
      .. octet[random(1, 254)] .. '\r\nX-Forwarded-Proto: https\r\nX-Request-Id: ' .. words() .. words() .. after
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
