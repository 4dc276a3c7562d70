//! The kernels of the language's page, and what people write like them.

use crate::support::*;
use slyz_sir::launch::Template;
use slyz_sir::types::{Scalar, Ty};

fn i32s(values: &[i128]) -> Vec<Scalar> {
    values.iter().map(|&v| Scalar::from_int(Ty::I32, v)).collect()
}

pub fn vector_add() -> Template {
    template(
        "",
        "global read a: f32[n] global read b: f32[m] global readwrite result: f32[k]",
        "%i: i64 = global.x  %len: i64 = extent k  %in: bool = lt %i, %len
         if %in { %1: bool = check a[%i]  %2: bool = check b[%i]  %3: bool = check result[%i] } else {}",
    )
}

#[test]
fn a_guard_proves_its_own_tensor_and_no_other() {
    assert_eq!(left_statically(&vector_add()), ["a", "b"]);
}

#[test]
pub fn vector_add_at_a_launch() {
    let kernel = vector_add();
    assert!(proven_threads(&kernel, [1000, 1, 1], [1000; 3], &[]));
    assert!(proven_threads(&kernel, [1024, 1, 1], [1000; 3], &[]));
    assert!(proven_threads(&kernel, [1024, 1, 1], [1001, 2000, 1000], &[]));
    assert!(!proven_threads(&kernel, [1024, 1, 1], [999, 1000, 1000], &[]));
    // Fewer threads than elements.
    assert!(proven_threads(&kernel, [999, 1, 1], [999, 1000, 1000], &[]));
    assert!(proven_threads(&kernel, [0, 1, 1], [0, 0, 0], &[]));
    assert!(proven_threads(&kernel, [1 << 40, 1, 1], [1 << 40; 3], &[]));
}

#[test]
fn threads_alone_prove_where_there_is_no_guard() {
    let kernel = template("", "global readwrite out: f32[n]", "%i: i64 = global.x  %1: bool = check out[%i]");
    assert!(proven_threads(&kernel, [1000, 1, 1], [1000, 0, 0], &[]));
    assert!(!proven_threads(&kernel, [1001, 1, 1], [1000, 0, 0], &[]));
    let folded = kernel.shaped([256, 1, 1], true, true);
    let facts = |len| slyz_sir::pass::bounds::Facts::exact(&[2, 2, 1, 1000, 1, 1, len, 0, 0], &[]);
    assert!(slyz_sir::pass::bounds::proves(&folded, &facts(1000)));
    assert!(!slyz_sir::pass::bounds::proves(&folded, &facts(999)));
}

#[test]
fn matmul() {
    let kernel = template(
        "%M: i32, %N: i32, %K: i32",
        "global read A: f32[n] global read B: f32[m] global readwrite C: f32[k]",
        "%row: i64 = global.y  %col: i64 = global.x
         %Ml: i64 = cast %M  %Nl: i64 = cast %N  %Kl: i64 = cast %K
         %r: bool = lt %row, %Ml  %c: bool = lt %col, %Nl  %in: bool = and %r, %c
         if %in {
           %zero: i64 = const 0  %one: i64 = const 1  %none: f32 = const 0.0
           %sum: f32 = for %zero to %Kl step %one (%none) |%j: i64, %s: f32| {
             %rk: i64 = mul %row, %Kl  %ai: i64 = add %rk, %j  %1: bool = check A[%ai]
             %jn: i64 = mul %j, %Nl  %bi: i64 = add %jn, %col  %2: bool = check B[%bi]
             yield %s
           }
           %rn: i64 = mul %row, %Nl  %ci: i64 = add %rn, %col  %3: bool = check C[%ci]
         } else {}",
    );
    for (m, n, k) in [(1, 1, 1), (7, 5, 3), (64, 48, 32), (0, 4, 4), (4, 4, 0)] {
        let sizes = [m * k, k * n, m * n];
        let scalars = i32s(&[m as i128, n as i128, k as i128]);
        assert!(proven_threads(&kernel, [n, m, 1], sizes, &scalars), "{m} {n} {k}");
        assert!(proven_threads(&kernel, [n + 9, m + 9, 1], sizes, &scalars), "{m} {n} {k}");
        for short in (0..3).filter(|&s| sizes[s] > 0 && sizes.iter().all(|&s| s > 0)) {
            let mut sizes = sizes;
            sizes[short] -= 1;
            assert!(!proven_threads(&kernel, [n, m, 1], sizes, &scalars), "{m} {n} {k}");
        }
    }
    assert!(!proven_threads(&kernel, [4, 4, 1], [16; 3], &i32s(&[4, 5, 4])));
    assert!(proven_threads(&kernel, [4, 4, 1], [16; 3], &i32s(&[-4, -4, -4])));
}

pub fn tiled(guard: bool) -> Template {
    let guarded = "%in: bool = and %r, %c  if %in { %ci: i64 = mul %row, %Nl  %cj: i64 = add %ci, %col  %7: bool = check C[%cj] } else {}";
    let open = "%ci: i64 = mul %row, %Nl  %cj: i64 = add %ci, %col  %7: bool = check C[%cj]";
    template(
        "%M: i32, %N: i32, %K: i32",
        "global read A: f32[n] global read B: f32[m] global readwrite C: f32[k] shared As: f32[256] shared Bs: f32[256]",
        &format!(
            "%by: i64 = block.y  %bx: i64 = block.x  %ty: i64 = local.y  %tx: i64 = local.x
         %t: i64 = const 16  %Ml: i64 = cast %M  %Nl: i64 = cast %N  %Kl: i64 = cast %K
         %r0: i64 = mul %by, %t  %row: i64 = add %r0, %ty  %c0: i64 = mul %bx, %t  %col: i64 = add %c0, %tx
         %tiles: i64 = div %Kl, %t  %zero: i64 = const 0  %one: i64 = const 1  %none: f32 = const 0.0
         %sum: f32 = for %zero to %tiles step %one (%none) |%tile: i64, %s: f32| {{
           %si: i64 = mul %ty, %t  %sj: i64 = add %si, %tx
           %1: bool = check As[%sj]
           %rk: i64 = mul %row, %Kl  %tt: i64 = mul %tile, %t  %ra: i64 = add %rk, %tt  %rb: i64 = add %ra, %tx
           %2: bool = check A[%rb]
           %3: bool = check Bs[%sj]
           %ka: i64 = add %tt, %ty  %kb: i64 = mul %ka, %Nl  %kc: i64 = add %kb, %col
           %4: bool = check B[%kc]
           barrier block
           %more: f32 = for %zero to %t step %one (%s) |%j: i64, %p: f32| {{
             %ia: i64 = add %si, %j  %5: bool = check As[%ia]
             %ib: i64 = mul %j, %t  %ic: i64 = add %ib, %tx  %6: bool = check Bs[%ic]
             yield %p
           }}
           barrier block
           yield %more
         }}
         %r: bool = lt %row, %Ml  %c: bool = lt %col, %Nl
         {}",
            if guard { guarded } else { open }
        ),
    )
}

#[test]
fn tiled_matmul() {
    for guard in [true, false] {
        let kernel = tiled(guard);
        // Shared arrays depend on the block only.
        let block = kernel.shaped([16, 16, 1], false, false);
        let facts = slyz_sir::pass::bounds::Facts::unknown(&block);
        assert_eq!(left(&block, &facts).iter().filter(|c| c.starts_with("As") || c.starts_with("Bs")).count(), 0);
        for (m, n, k) in [(16, 16, 16), (64, 48, 32), (32, 32, 40)] {
            let scalars = i32s(&[m as i128, n as i128, k as i128]);
            let sizes = [m * k, k * n, m * n];
            assert!(proven(&kernel, [n / 16, m / 16, 1], [16, 16, 1], sizes, &scalars), "{m} {n} {k}");
            assert!(!proven(&kernel, [n / 16, m / 16 + 1, 1], [16, 16, 1], sizes, &scalars), "{m} {n} {k}");
            assert!(!proven(&kernel, [n / 16, m / 16, 1], [32, 16, 1], sizes, &scalars), "{m} {n} {k}");
        }
    }
}

#[test]
fn stencils() {
    let guarded = template(
        "",
        "global read a: f32[n] global readwrite out: f32[n]",
        "%i: i64 = global.x  %len: i64 = extent n  %one: i64 = const 1  %zero: i64 = const 0
         %last: i64 = sub %len, %one  %p: bool = gt %i, %zero  %q: bool = lt %i, %last  %in: bool = and %p, %q
         if %in { %l: i64 = sub %i, %one  %r: i64 = add %i, %one
           %1: bool = check a[%l]  %2: bool = check a[%i]  %3: bool = check a[%r]  %4: bool = check out[%i] } else {}",
    );
    assert_eq!(left_statically(&guarded), [""; 0]);
    for n in [0, 1, 2, 3, 1000] {
        assert!(proven_threads(&guarded, [n, 1, 1], [n, 0, 0], &[]));
    }
    // By the next one: `i + 1 < n`.
    let next = template(
        "",
        "global read a: f32[n]",
        "%i: i64 = global.x  %len: i64 = extent n  %one: i64 = const 1  %j: i64 = add %i, %one  %in: bool = lt %j, %len
         if %in { %1: bool = check a[%i]  %2: bool = check a[%j] } else {}",
    );
    assert_eq!(left_statically(&next), [""; 0]);
    // By clamping.
    let clamped = template(
        "",
        "global read a: f32[n]",
        "%i: i64 = global.x  %len: i64 = extent n  %one: i64 = const 1  %zero: i64 = const 0  %in: bool = lt %i, %len
         if %in { %l0: i64 = sub %i, %one  %l: i64 = max %l0, %zero  %1: bool = check a[%l]
           %r0: i64 = add %i, %one  %last: i64 = sub %len, %one  %r: i64 = min %r0, %last  %2: bool = check a[%r] } else {}",
    );
    assert_eq!(left_statically(&clamped), [""; 0]);
    assert!(proven_threads(&clamped, [9, 1, 1], [7, 0, 0], &[]));
}

#[test]
fn grid_stride_loops() {
    let kernel = template(
        "%len: i32",
        "global readwrite out: f32[n]",
        "%i: i64 = global.x  %g: i64 = grid_dim.x  %b: i64 = block_dim.x  %stride: i64 = mul %g, %b
         %one: i64 = const 1  %by: i64 = max %stride, %one  %end: i64 = cast %len
         for %i to %end step %by |%j: i64| { %1: bool = check out[%j] }",
    );
    assert!(proven(&kernel, [4, 1, 1], [64, 1, 1], [1000, 0, 0], &i32s(&[1000])));
    assert!(!proven(&kernel, [4, 1, 1], [64, 1, 1], [1000, 0, 0], &i32s(&[1001])));
    let while_loop = template(
        "",
        "global readwrite out: f32[n]",
        "%i: i64 = global.x  %g: i64 = grid_dim.x  %b: i64 = block_dim.x  %stride: i64 = mul %g, %b  %len: i64 = extent n
         %end: i64 = while (%i) |%c: i64| { %in: bool = lt %c, %len  yield %in } do |%j: i64| {
           %1: bool = check out[%j]  %next: i64 = add %j, %stride  yield %next }",
    );
    assert!(proven(&while_loop, [4, 1, 1], [64, 1, 1], [1000, 0, 0], &[]));
    assert!(proven(&while_loop, [4, 1, 1], [64, 1, 1], [1, 0, 0], &[]));
}

#[test]
fn reductions_by_halves() {
    let kernel = template(
        "",
        "shared sh: f32[256] global readwrite out: f32[n]",
        "%t: i64 = local.x  %zero: i64 = const 0  %two: i64 = const 2  %half: i64 = const 128  %b: i64 = block.x
         %0: bool = check sh[%t]
         %end: i64 = while (%half) |%c: i64| { %go: bool = gt %c, %zero  yield %go } do |%s: i64| {
           %in: bool = lt %t, %s
           if %in { %o: i64 = add %t, %s  %1: bool = check sh[%o]  %2: bool = check sh[%t] } else {}
           barrier block
           %next: i64 = div %s, %two  yield %next }
         %first: bool = eq %t, %zero
         if %first { %3: bool = check sh[%t]  %4: bool = check out[%b] } else {}",
    );
    assert!(proven(&kernel, [9, 1, 1], [256, 1, 1], [9, 0, 0], &[]));
    assert!(!proven(&kernel, [10, 1, 1], [256, 1, 1], [9, 0, 0], &[]));
    assert!(!proven(&kernel, [9, 1, 1], [512, 1, 1], [9, 0, 0], &[]));
    // By doubling.
    let scan = template(
        "",
        "shared sh: f32[256]",
        "%t: i64 = local.x  %one: i64 = const 1  %two: i64 = const 2  %all: i64 = const 256
         %end: i64 = while (%one) |%c: i64| { %go: bool = lt %c, %all  yield %go } do |%s: i64| {
           %in: bool = ge %t, %s
           if %in { %o: i64 = sub %t, %s  %1: bool = check sh[%o] } else {}
           %next: i64 = mul %s, %two  yield %next }
         %2: bool = check sh[%t]",
    );
    assert!(proven(&scan, [9, 1, 1], [256, 1, 1], [0; 3], &[]));
}

#[test]
fn planes_from_lines() {
    let kernel = template(
        "",
        "global read a: f32[n] global read p: f32[m, k]",
        "%i: i64 = global.x  %len: i64 = extent n  %w: i64 = extent k  %in: bool = lt %i, %len
         if %in { %y: i64 = div %i, %w  %x: i64 = rem %i, %w  %1: bool = check p[%y, %x]
           %yw: i64 = mul %y, %w  %j: i64 = add %yw, %x  %2: bool = check a[%j] } else {}",
    );
    assert!(proven_threads(&kernel, [12, 1, 1], [12, 3, 4], &[]));
    // The last line is not full: only that quotient and remainder belong together tells.
    assert!(proven_threads(&kernel, [10, 1, 1], [10, 3, 4], &[]));
    assert!(!proven_threads(&kernel, [13, 1, 1], [13, 3, 4], &[]));
    let cube = template(
        "%h: i32, %w: i32",
        "global read a: f32[n]",
        "%i: i64 = global.x  %len: i64 = extent n  %hl: i64 = cast %h  %wl: i64 = cast %w  %hw: i64 = mul %hl, %wl
         %in: bool = lt %i, %len
         if %in { %z: i64 = div %i, %hw  %r: i64 = rem %i, %hw  %y: i64 = div %r, %wl  %x: i64 = rem %r, %wl
           %zh: i64 = mul %z, %hl  %zy: i64 = add %zh, %y  %l: i64 = mul %zy, %wl  %j: i64 = add %l, %x
           %1: bool = check a[%j] } else {}",
    );
    assert!(proven_threads(&cube, [100, 1, 1], [100, 0, 0], &i32s(&[5, 7])));
}

#[test]
fn gathers_stay_checked() {
    let kernel = template(
        "",
        "global read x: f32[n] global read index: i64[m] global readwrite out: f32[m]",
        "%i: i64 = global.x  %1: bool = check index[%i]
         %j: i64 = if %1 { %v: i64 = load index[%i]  yield %v } else { %z: i64 = const 0  yield %z }
         %2: bool = check x[%j]  %3: bool = check out[%i]",
    );
    let shaped = kernel.shaped([64, 1, 1], true, false);
    let facts = slyz_sir::pass::bounds::Facts::exact(&[1, 1, 1, 50, 1, 1, 9, 50, 0], &[]);
    let left = left(&shaped, &facts);
    assert_eq!(left.len(), 1);
    assert!(left[0].starts_with("x["));
}
