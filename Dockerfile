# These two stages make JavaScript, which is the same for every architecture, so they run on the builder's own.
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

# The provider's emulator, for docker compose; never part of the service's image.
FROM node:26-slim AS emulator
WORKDIR /app
COPY package.json ./
COPY emulator/banks.json ./emulator/banks.json
COPY --from=build /app/dist/emulator ./dist/emulator
USER 10001:10001
ENV EMULATOR_HOST=0.0.0.0
EXPOSE 4000 4001
CMD ["node", "dist/emulator/main.js"]

# The last stage, so that a plain `docker build .` makes the service.
FROM node:26-slim AS service
WORKDIR /app
# One arena for memory outside the heap. With one for each thread, what encoding a list has freed cannot be used again by the
# others: 70 MB on Node 26 (SECURITY.md).
ENV NODE_ENV=production MALLOC_ARENA_MAX=1
COPY package.json ./
COPY deploy/health-check.js ./deploy/health-check.js
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist/src ./dist/src
USER 10001:10001
EXPOSE 3000 3001
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["node", "deploy/health-check.js"]
# The heap is less than half of the 256 MiB that deploy/ and the compose files grant; SECURITY.md has the rest. A small young
# generation saves 10 to 25 MB under load. On one CPU, helper threads that collect it make requests wait (docs/performance.md).
# `--preserve-symlinks` saves 7 % of the CPU time of a start. SIGUSR1 opens no debugger.
ENTRYPOINT ["node", "--max-old-space-size=96", "--max-semi-space-size=2", "--no-parallel-scavenge", "--preserve-symlinks", "--preserve-symlinks-main", "--disable-sigusr1", "dist/src/main.js"]
CMD ["serve"]
