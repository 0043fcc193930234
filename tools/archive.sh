#!/usr/bin/env bash
# Makes the release's archive, banks-bff-<version>.tar.gz, in the current directory or the one that is given: all that the
# service needs beside Node. Unpacked, it runs where nothing can be written. The same commit gives the same bytes. After
# `npm ci` and `npm run build`; needs GNU tar.
set -euo pipefail
target=$(realpath "${1:-.}")
cd "$(dirname "$0")/.."

version=$(node --print 'require("./package.json").version')
staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
tree=$staging/banks-bff-$version
mkdir "$tree"

cp --parents -R package.json LICENSE CHANGELOG.md .env.example dist/src deploy/systemd "$tree"
# What `npm ci --omit=dev` would install, from what `npm ci` installed and checked, without workspaces such as the bank
# picker.
node --print 'Object.entries(require("./package-lock.json").packages)
  .flatMap(([path, { dev, link }]) => (path.startsWith("node_modules/") && !dev && !link ? [path] : [])).join("\n")' |
  xargs -d '\n' cp --parents -R --target-directory="$tree"

archive=$target/banks-bff-$version.tar.gz
tar --create --directory "$staging" --sort=name --format=ustar --mode=u=rwX,go=rX --owner=0 --group=0 --numeric-owner \
  --mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" "banks-bff-$version" | gzip --no-name -9 >"$archive"
echo "$archive"
