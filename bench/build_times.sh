#!/usr/bin/env bash
# How long builds take: the README's first command and a crate that depends on `slyz`, from nothing, and a crate of 100 traced functions
# that uses it, after an edit.
#
#     bench/build_times.sh            all of it
#     bench/build_times.sh users      only the crate of 100 functions
#
# The goals, on 2 cores: 100 s for the first command and for a crate with default features, 30 s with the CPU device only; 1 s for `cargo check` and 3 s for a
# debug build after an edit. A crate elsewhere is built with its own profiles, not with this workspace's.
# Everything is made in a temporary folder, which KEEP=folder names and keeps. The load of the machine is printed too: times on a
# busy one say little, and the processor's time, half of which two quiet cores take at best, says more.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=${KEEP:-$(mktemp -d)}
mkdir -p "$work"
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT

# Seconds that a command takes, and those of the processor; its output is shown only when it fails.
seconds() {
    local TIMEFORMAT='%R %U'
    { time "$@" >"$work/log" 2>&1; } 2>"$work/time" || { cat "$work/log" >&2; exit 1; }
    tail -n 1 "$work/time"
}

# A name, the two times, the goal.
say() {
    printf '%-58s %8s s   processor %8s s   goal %s s   load %s\n' "$1" "$2" "$3" "$4" "$(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo '?')"
}

# Ten kinds of functions, as users write them; `_K` and `K.0` make each its own.
functions() {
    local k=$1
    sed "s/_K/_$k/g; s/\bK\.0/$k.0/g" <<'RUST'
#[slyz::function]
fn normcdf_K(x: Exp<f32>) -> Exp<f32> {
    let l = x.abs();
    let k = 1.0 / (1.0 + 0.2316419 * l);
    let w = 1.0 - 0.3989423 * (-l * l / 2.0).exp() * horner(k, [0.0, 0.31938153, -0.35656378, 1.7814779, -1.821256, 1.3302745]);
    if x < 0.0 { 1.0 - w } else { w }
}

fn black_scholes_K(s: Arr<f32, N>, x: Arr<f32, N>, t: Arr<f32, N>) -> Arr<f32, N> {
    zip((s, x, t)).map(|(s, x, t)| {
        let (r, v) = (0.02, 0.30 + K.0);
        let d1 = ((s / x).ln() + (r + v * v / 2.0) * t) / (v * t.sqrt());
        let d2 = d1 - v * t.sqrt();
        s * normcdf_K(d1) - x * (-r * t).exp() * normcdf_K(d2)
    })
}

fn saxpy_K(a: Exp<f32>, x: Arr<f32, N>, y: Arr<f32, N>) -> Arr<f32, N> {
    x * a + y * K.0
}

fn softmax_K<R: Axis, C: Axis>(x: Arr<f32, (R, C)>) -> Arr<f32, (R, C)> {
    stack(|r| {
        let w = x.row(r);
        let e = (w * K.0 - w.max()).exp();
        e / e.sum()
    })
}

fn layer_K(a: Arr<f32, (N, K)>, b: Arr<f32, (K, M)>, bias: Arr<f32, M>) -> Arr<f32, (N, M)> {
    let product: Arr<f32, (N, M)> = tabulate(|(i, j)| sum(|k: Idx<K>| a.at((i, k)) * b.at((k, j))));
    (product + bias).maximum(K.0)
}

fn heat_K(u: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> {
    u.stencil(Border::Clamp, |u| u((0, 0)) + 0.1 * (u((-1, 0)) + u((1, 0)) + u((0, -1)) + u((0, 1)) - K.0 * u((0, 0))))
}

fn moments_K<A: Axis>(x: Arr<f64, A>) -> (Exp<f64>, Exp<f64>) {
    let chan = monoid((0f64, 0f64, 0f64), |(n, a, s), (m, b, t)| {
        let (k, d) = (n + m, b - a);
        let w = k.gt(0.0).select(m / k, 0.0);
        (k, a + d * w, s + t + d * d * n * w)
    });
    let (n, mean, s) = x.map(|x| (1f64, x * K.0, 0f64)).fold(chan);
    (mean, s / n)
}

#[slyz::function]
fn turns_K(cx: Exp<f32>, cy: Exp<f32>) -> Exp<u32> {
    let (_, _, n) = repeat_while(
        (0f32, 0f32, 0u32),
        |(x, y, n)| (x * x + y * y).lt(4.0 + K.0) & n.lt(256),
        |(x, y, n)| (x * x - y * y + cx, 2.0 * x * y + cy, n + 1),
    );
    n
}

fn mandelbrot_K(x: Arr<f32, M>, y: Arr<f32, N>) -> Arr<u32, (N, M)> {
    tabulate(|(i, j)| turns_K(x.at(j), y.at(i)))
}

fn histogram_K(x: Arr<f32, N>) -> Arr<u32, Fix<64>> {
    scatter(Sum, |i: Idx<N>| (Near::<Fix<64>>::new((x.at(i) * K.0).floor().cast::<i32>()), 1u32))
}

fn normalised_K<S: Shape>(x: Arr<f32, S>) -> Arr<f32, S> {
    let spread = ((x - x.mean()) * (x - x.mean())).mean().sqrt();
    ((x - x.mean()) / (spread + K.0)).clamp(-3.0, 3.0)
}

fn pull_K(at: Arr<Point<f32>, N>, mass: Arr<f32, N>) -> Arr<Point<f32>, N> {
    at.map(|p| {
        fold(Sum, |j: Idx<N>| {
            let (dx, dy) = (at.at(j).x - p.x, at.at(j).y - p.y);
            let near = (dx * dx + dy * dy + 0.01).rsqrt();
            let force = mass.at(j) * near * near * near * K.0;
            Point { x: dx * force, y: dy * force }
        })
    })
}

pub fn compile_all_K() -> Result<usize, slyz::Error> {
    let names = [
        compile(black_scholes_K)?.sir(),
        compile(saxpy_K)?.sir(),
        compile(softmax_K::<N, M>)?.sir(),
        compile(layer_K)?.sir(),
        compile(heat_K)?.sir(),
        compile(moments_K::<N>)?.sir(),
        compile(mandelbrot_K)?.sir(),
        compile(histogram_K)?.sir(),
        compile(normalised_K::<(N, M)>)?.sir(),
        compile(pull_K)?.sir(),
    ];
    Ok(names.len())
}
RUST
}

# A crate of 10 modules with 10 traced functions each.
users_crate() {
    local crate=$work/users
    mkdir -p "$crate/src"
    cat >"$crate/Cargo.toml" <<TOML
[package]
name = "users"
version = "0.1.0"
edition = "2024"

[dependencies]
slyz = { path = "$root/crates/slyz" }

[workspace]
TOML
    {
        printf 'mod axes { use slyz::prelude::*; axis!(N, M, K); #[derive(Clone, Copy, Elem)] pub struct Point<T> { pub x: T, pub y: T } }\n'
        for k in 1 2 3 4 5 6 7 8 9 10; do printf 'mod part_%s;\n' "$k"; done
        printf 'fn main() -> Result<(), slyz::Error> {\n    let mut all = 0;\n'
        for k in 1 2 3 4 5 6 7 8 9 10; do printf '    all += part_%s::compile_all_%s()?;\n' "$k" "$k"; done
        printf '    println!("{all} functions");\n    Ok(())\n}\n'
    } >"$crate/src/main.rs"
    for k in 1 2 3 4 5 6 7 8 9 10; do
        { printf 'use crate::axes::*;\nuse slyz::prelude::*;\n\n'; functions "$k"; } >"$crate/src/part_$k.rs"
    done
    cp "$root/Cargo.lock" "$crate/Cargo.lock"
}

# The middle one of five times, after an edit each: a constant becomes another one, and all lines of the file move down.
after_an_edit() {
    local times=() turn
    for turn in 1 2 3 4 5; do
        sed -i "s/s \* normcdf_5(d1) .*- x/s * normcdf_5(d1) * $turn.5 - x/" "$work/users/src/part_5.rs"
        sed -i "1i // edited" "$work/users/src/part_5.rs"
        times+=("$(seconds "$@")")
    done
    printf '%s\n' "${times[@]}" | sort -n | sed -n 3p
}

# A crate that does nothing but depend on `slyz`, with these features.
downstream_crate() {
    mkdir -p "$work/downstream/src"
    cat >"$work/downstream/Cargo.toml" <<TOML
[package]
name = "downstream"
version = "0.1.0"
edition = "2024"

[dependencies]
slyz = { path = "$root/crates/slyz"$1 }

[workspace]
TOML
    echo 'fn main() { println!("{}", slyz::devices().len()); }' >"$work/downstream/src/main.rs"
    cp "$root/Cargo.lock" "$work/downstream/Cargo.lock"
}

if [ "${1:-all}" = all ]; then
    (cd "$root" && cargo fetch --quiet)
    # A name, a goal, a command.
    clean() {
        local name=$1 goal=$2 times
        shift 2
        times=$(CARGO_TARGET_DIR=$work/clean seconds "$@")
        # shellcheck disable=SC2086
        say "$name" $times "$goal"
        rm -rf "$work/clean"
    }
    first=$(sed -n '/^## Start/,/^## /p' "$root/README.md" | sed -n '/^```sh$/,/^```$/p' | sed '1d;$d' | head -n 1)
    clean "the README's first command" 100 bash -c "cd '$root' && $first"
    downstream_crate ""
    clean "a crate with default features, debug" 100 cargo build --manifest-path "$work/downstream/Cargo.toml"
    clean "a crate with default features, release" 100 cargo build --release --manifest-path "$work/downstream/Cargo.toml"
    downstream_crate ', default-features = false, features = ["cpu"]'
    clean "a crate with the CPU device only, debug" 30 cargo build --manifest-path "$work/downstream/Cargo.toml"
    clean "a crate with the CPU device only, release" 30 cargo build --release --manifest-path "$work/downstream/Cargo.toml"
fi
users_crate
cd "$work/users"
export CARGO_TARGET_DIR=$work/target
seconds cargo check >/dev/null
# shellcheck disable=SC2046
say "100 traced functions, cargo check after an edit" $(after_an_edit cargo check) 1
seconds cargo build >/dev/null
# shellcheck disable=SC2046
say "100 traced functions, debug build after an edit" $(after_an_edit cargo build) 3
