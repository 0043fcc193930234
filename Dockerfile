# These two stages only make JavaScript, the same for every architecture: they run on the builder's own.
FROM --platform=$BUILDPLATFORM node:26-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY emulator ./emulator
COPY examples/demo-page ./examples/demo-page
RUN npm run build

FROM --platform=$BUILDPLATFORM node:26-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --omit=dev

# The provider's emulator, for docker compose and rehearsals; never part of the service's image.
FROM node:26-slim AS emulator
WORKDIR /app
COPY package.json ./
COPY emulator/banks.json ./emulator/banks.json
COPY --from=build /app/dist/emulator ./dist/emulator
USER 10001:10001
ENV EMULATOR_HOST=0.0.0.0
EXPOSE 4000 4001
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "require('node:http').get({ port: process.env.EMULATOR_CONTROL_PORT || 4001 }, (res) => process.exit(res.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
CMD ["node", "dist/emulator/main.js"]

# The last stage, so that a plain `docker build .` makes the service.
FROM node:26-slim AS service
WORKDIR /app
# One arena for memory outside the heap: with one for each thread, what encoding a list has freed stays where nobody else can
# use it, 70 MB on Node 26 (docs/limits.md).
ENV NODE_ENV=production MALLOC_ARENA_MAX=1
COPY package.json ./
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist/src ./dist/src
USER 10001:10001
EXPOSE 3000 3001
# The image has no curl; Node asks.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "require('node:http').get({ port: process.env.PORT || 3000, path: '/healthz' }, (res) => process.exit(res.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
# The heap is half of the 256 MiB that deploy/ and the compose files grant; docs/limits.md has the other half. A small young
# generation saves 10 to 25 MB under load; requests leave nothing behind that would have to be copied more often. On one CPU,
# helper threads that collect it make requests wait (docs/performance.md). The image has no symbolic links to modules: Node need
# not look for them, and starts with a fourteenth less CPU time. SIGUSR1 opens no debugger, not even while Node starts.
ENTRYPOINT ["node", "--max-old-space-size=96", "--max-semi-space-size=2", "--no-parallel-scavenge", "--preserve-symlinks", "--preserve-symlinks-main", "--disable-sigusr1", "dist/src/main.js"]
CMD ["serve"]
