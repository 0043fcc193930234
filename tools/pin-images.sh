#!/usr/bin/env bash
# Adds the digest to each image of the Dockerfile, the compose files and the workflows that has only a tag, which can be moved.
# Needs docker and the registry. With --check it only names these images, and fails if there are any: a release does so.
set -euo pipefail
cd "$(dirname "$0")/.."
files=(Dockerfile compose.replicas.yml .github/workflows/*.yml)

# $1: what follows the tag.
images() { sed --quiet --regexp-extended "s#^(FROM (--platform=\S+ )?|\s+image: )([a-z/]+:[a-z0-9.-]+)$1( AS .*)?\$#\3#p" "${files[@]}" | sort --unique; }

for image in $(images ''); do
  if [ "${1:-}" = --check ]; then
    echo "$image has no digest: run tools/pin-images.sh"
    failed=true
    continue
  fi
  digest=$(docker buildx imagetools inspect "$image" --format '{{.Manifest.Digest}}')
  echo "$image@$digest"
  sed --in-place --regexp-extended "s#( )$image( |\$)#\1$image@$digest\2#" "${files[@]}"
done
[ -z "${failed:-}" ]
