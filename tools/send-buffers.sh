#!/usr/bin/env bash
# What the kernel holds for clients that do not read: 300 connections request /banks again and again, and
# never read. Prints the memory of all sockets, in MiB, each second for 10 s. $1: the largest net.ipv4.tcp_wmem, 4194304
# unless given. Needs Linux, unshare and ip, and root or the right to make a user namespace: the setting belongs to a
# network namespace, and this machine's own stays as it is. After `npm run build`.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${IN_NAMESPACE:-}" != yes ]; then
  IN_NAMESPACE=yes exec unshare --map-root-user --net --pid --fork --kill-child bash "$0" "$@"
fi
ip link set lo up
echo "4096 16384 ${1:-4194304}" >/proc/sys/net/ipv4/tcp_wmem

EMULATOR_PORT=4000 EMULATOR_CONTROL_PORT=4001 node dist/emulator/main.js >/dev/null &
PORT=3000 HOST=127.0.0.1 MANAGEMENT_PORT=off PROVIDER_ENVIRONMENT=sandbox LOG_LEVEL=silent \
  PROVIDER_SANDBOX_BASE_URL=http://127.0.0.1:4000 PROVIDER_ACCESS_TOKEN=emulator-access-token \
  node --max-old-space-size=96 dist/src/main.js &
for _ in $(seq 100); do curl -sf -o /dev/null http://127.0.0.1:3000/readyz && break; sleep 0.1; done

node --input-type=module -e '
  import { readFileSync } from "node:fs";
  import { connect } from "node:net";
  const request = "GET /banks HTTP/1.1\r\nHost: a\r\n\r\n";
  for (let count = 0; count < 300; count += 1)
    connect(3000, "127.0.0.1").on("error", () => {}).pause().write(request.repeat(200));
  const pageMib = 4096 / 1024 / 1024;
  for (let second = 1; second <= 10; second += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const pages = /TCP:.* mem (\d+)/.exec(readFileSync("/proc/net/sockstat", "utf8"))?.[1];
    console.log(`${second} s: ${Math.round(pages * pageMib)} MiB`);
  }
  process.exit();
'
