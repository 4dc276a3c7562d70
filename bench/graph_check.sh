#!/bin/sh
# How long rustc takes to check a crate with 50 kernels, when everything it depends on is there: `bench/graph_check.sh [KERNELS]`.
set -e
root=$(cd "$(dirname "$0")/.." && pwd)
count=${1:-50}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/src"
cat > "$folder/Cargo.toml" <<TOML
[package]
name = "kernels"
version = "0.1.0"
edition = "2024"
[dependencies]
slyz = { path = "$root/crates/slyz", default-features = false, features = ["cpu"] }
[workspace]
TOML
{
    echo 'use slyz::prelude::*;'
    for k in $(seq "$count"); do
        cat <<RUST
#[graph]
pub fn tiled_matmul_$k(a: &Tensor<f32>, b: &Tensor<f32>, c: &mut Tensor<f32>, m: i32, n: i32, k: i32) {
    let tile_size = 16;
    #[threadgroup]
    let mut tile_a: [f32; 256];
    #[threadgroup]
    let mut tile_b: [f32; 256];
    let row = block.y * tile_size + thread.y;
    let col = block.x * tile_size + thread.x;
    let mut sum = 0.0f32;
    for tile in 0..(k / tile_size) {
        tile_a[thread.y * tile_size + thread.x] = a[row * k + tile * tile_size + thread.x];
        tile_b[thread.y * tile_size + thread.x] = b[(tile * tile_size + thread.y) * n + col];
        threadgroup.barrier();
        for i in 0..tile_size {
            sum += tile_a[thread.y * tile_size + i] * tile_b[i * tile_size + thread.x];
        }
        threadgroup.barrier();
    }
    if row < m && col < n {
        c[row * n + col] = sum;
    }
}
RUST
    done
} > "$folder/src/lib.rs"
cd "$folder"
cp "$root/Cargo.lock" . 2>/dev/null || true
cargo check -q
for run in 1 2 3; do
    touch src/lib.rs
    start=$(date +%s.%N)
    cargo check -q
    end=$(date +%s.%N)
    echo "$count kernels: $(echo "$end - $start" | bc) s"
done
