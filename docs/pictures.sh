#!/usr/bin/env bash
# Draws the pictures of docs/gallery.md again, one example each: docs/pictures.sh [NAME..]
set -euo pipefail
cd "$(dirname "$0")/.."
names=("$@")
[ ${#names[@]} -gt 0 ] || mapfile -t names < <(printf '%s\n' crates/slyz-gallery/examples/*.rs | xargs -n 1 basename -s .rs)
for name in "${names[@]}"; do
    cargo run --quiet --release --locked -p slyz-gallery --example "$name" -- --out "docs/pictures/$name.png"
done
