//! Programs that are right, of the kinds that lowerings and people write.

use crate::code::*;
use crate::*;
use slyz_sir::code::*;
use slyz_sir::kernel::Space;
use slyz_sir::ops::Operator;
use slyz_sir::size::Size;

fn one() -> Size {
    Size::Const(1)
}

/// A grid of `ceil(size / n)` blocks.
fn blocks(size: Size, n: u64) -> [Size; 3] {
    [Size::CeilDiv(size.into(), n), one(), one()]
}

/// Deterministic numbers that are exact in `f32`.
fn numbers(n: u64) -> impl Iterator<Item = f32> {
    (0..n).map(|i| ((i * 7 + 3) % 23) as f32 - 11.0)
}

#[test]
fn saxpy() {
    let mut c = Code::new();
    let a = c.param(Ty::F32);
    let x = c.memory("x", Ty::F32, READ, vec![size(0)]);
    let y = c.memory("y", Ty::F32, BOTH, vec![size(0)]);
    let i = c.place(Place::Global, 0);
    let n = c.extent(size(0));
    let inside = c.lt(i, n);
    c.when(inside, |c| {
        let (xi, yi) = (c.load(x, &[i]), c.load(y, &[i]));
        let value = c.apply(Operator::Fma, &[a, xi, yi]);
        c.store(y, &[i], &[value]);
    });
    let kernel = c.kernel("saxpy", &["n"], blocks(size(0), 64), [64, 1, 1]);
    for n in [0, 1, 63, 64, 200] {
        let mut memories = [floats(&[n], numbers(n)), floats(&[n], numbers(n))];
        run(&kernel, &[n], &mut memories, &[Scalar::f32(3.0)]).unwrap();
        let expected: Vec<f32> = numbers(n).map(|x| 3.0 * x + x).collect();
        assert_eq!(to_floats(&memories[1]), expected, "n = {n}");
    }
}

/// `c = a b` by 4×4 tiles; sizes m, k, n. Leaves out the barriers with these numbers.
pub fn tiled_matmul(without: &[u32]) -> Kernel {
    let mut c = Code::new();
    let tile = || vec![Size::Const(4), Size::Const(4)];
    let a = c.memory("a", Ty::F32, READ, vec![size(0), size(1)]);
    let b = c.memory("b", Ty::F32, READ, vec![size(1), size(2)]);
    let out = c.memory("out", Ty::F32, WRITE, vec![size(0), size(2)]);
    let ta = c.memory("ta", Ty::F32, Space::Shared, tile());
    let tb = c.memory("tb", Ty::F32, Space::Shared, tile());
    let (x, y) = (c.place(Place::Local, 0), c.place(Place::Local, 1));
    let (col, row) = (c.place(Place::Global, 0), c.place(Place::Global, 1));
    let (m, k, n) = (c.extent(size(0)), c.extent(size(1)), c.extent(size(2)));
    let tiles = c.extent(Size::CeilDiv(size(1).into(), 4));
    let (zero, four, nil) = (c.int(0), c.int(4), c.scalar(Scalar::f32(0.0)));
    let barrier = |c: &mut Code, number| {
        if !without.contains(&number) {
            c.barrier(Scope::Block);
        }
    };
    let sum = c.count(zero, tiles, &[nil], |c, state| {
        let (start, sum) = (c.mul(state[0], four), state[1]);
        let fetch = |c: &mut Code, from, r, c_, rows, cols, to| {
            let (in_rows, in_cols) = (c.lt(r, rows), c.lt(c_, cols));
            let inside = c.apply(Operator::And, &[in_rows, in_cols]);
            let value = c.choose(inside, |c| vec![c.load(from, &[r, c_])], |_| vec![nil])[0];
            c.store(to, &[y, x], &[value]);
        };
        let (ka, kb) = (c.add(start, x), c.add(start, y));
        fetch(c, a, row, ka, m, k, ta);
        fetch(c, b, kb, col, k, n, tb);
        barrier(c, 0);
        let sum = c.count(zero, four, &[sum], |c, state| {
            let (l, r) = (c.load(ta, &[y, state[0]]), c.load(tb, &[state[0], x]));
            let product = c.mul(l, r);
            vec![c.add(state[1], product)]
        });
        barrier(c, 1);
        sum
    })[0];
    let (in_rows, in_cols) = (c.lt(row, m), c.lt(col, n));
    let inside = c.apply(Operator::And, &[in_rows, in_cols]);
    c.when(inside, |c| c.store(out, &[row, col], &[sum]));
    let grid = [Size::CeilDiv(size(2).into(), 4), Size::CeilDiv(size(0).into(), 4), one()];
    c.kernel("matmul", &["m", "k", "n"], grid, [4, 4, 1])
}

#[test]
fn tiled_matrix_product_of_sizes_that_are_no_multiples() {
    let kernel = tiled_matmul(&[]);
    for [m, k, n] in [[4, 4, 4], [5, 7, 3], [9, 1, 6], [3, 10, 11]] {
        let (a, b): (Vec<f32>, Vec<f32>) = (numbers(m * k).collect(), numbers(k * n).collect());
        let mut memories =
            [floats(&[m, k], a.clone()), floats(&[k, n], b.clone()), floats(&[m, n], vec![0.0; (m * n) as usize])];
        run(&kernel, &[m, k, n], &mut memories, &[]).unwrap();
        let cell = |i: u64, j: u64| (0..k).map(|l| a[(i * k + l) as usize] * b[(l * n + j) as usize]).sum();
        let expected: Vec<f32> = (0..m).flat_map(|i| (0..n).map(move |j| cell(i, j))).collect();
        assert_eq!(to_floats(&memories[2]), expected, "{m} {k} {n}");
    }
}

/// One block per row: maximum, exponentials into scratch, their sum, quotient. The same code for blocks of one thread
/// (CPU) and many (GPU).
fn softmax(threads: u32) -> Kernel {
    let mut c = Code::new();
    let x = c.memory("x", Ty::F32, READ, vec![size(0), size(1)]);
    let out = c.memory("out", Ty::F32, WRITE, vec![size(0), size(1)]);
    let e = c.memory("e", Ty::F32, Space::Scratch, vec![size(1)]);
    let row = c.place(Place::Block, 0);
    let (zero, n) = (c.int(0), c.extent(size(1)));
    let max = c.fold(zero, n, Operator::Max, |c, k| c.load(x, &[row, k]));
    let sum = c.fold(zero, n, Operator::Add, |c, k| {
        let value = c.load(x, &[row, k]);
        let value = c.apply(Operator::Sub, &[value, max]);
        let value = c.apply(Operator::Exp, &[value]);
        c.store(e, &[k], &[value]);
        value
    });
    c.lanes(zero, n, |c, k| {
        let value = c.load(e, &[k]);
        let value = c.apply(Operator::Div, &[value, sum]);
        c.store(out, &[row, k], &[value]);
    });
    c.kernel("softmax", &["rows", "cols"], [size(0), one(), one()], [threads, 1, 1])
}

#[test]
fn fused_softmax_with_lanes_and_scratch() {
    let (rows, cols) = (3, 301);
    let data: Vec<f32> = (0..rows * cols).map(|i| ((i * 37) % 101) as f32 / 17.0).collect();
    let mut answers = vec![];
    for threads in [1, 8, 64] {
        let mut memories = [floats(&[rows, cols], data.clone()), floats(&[rows, cols], vec![0.0; data.len()])];
        run(&softmax(threads), &[rows, cols], &mut memories, &[]).unwrap();
        for (x, y) in data.chunks(cols as usize).zip(to_floats(&memories[1]).chunks(cols as usize)) {
            let max = x.iter().fold(f32::MIN, |a, &b| a.max(b));
            let sum: f64 = x.iter().map(|x| ((x - max) as f64).exp()).sum();
            for (x, y) in x.iter().zip(y) {
                assert!((((x - max) as f64).exp() / sum - *y as f64).abs() < 1e-6);
            }
        }
        answers.push(memories);
    }
    assert!(answers.windows(2).all(|a| a[0] == a[1]), "the number of threads shows in the answer");
}

#[test]
fn block_sum_by_shuffles() {
    let mut c = Code::new();
    let x = c.memory("x", Ty::I64, READ, vec![Size::Const(128)]);
    let out = c.memory("out", Ty::I64, WRITE, vec![]);
    let partial = c.memory("partial", Ty::I64, Space::Shared, vec![Size::Const(4)]);
    let t = c.place(Place::Local, 0);
    let lane = c.place(Place::Lane, 0);
    let warp = c.place(Place::SubgroupSize, 0);
    let group = c.apply(Operator::Div, &[t, warp]);
    let zero = c.int(0);
    let butterfly = |c: &mut Code, mut value: Id, masks: &[i64]| {
        for &mask in masks {
            let mask = c.int(mask);
            let other = c.subgroup(SubgroupOp::ShuffleXor, Ty::I64, &[value, mask]);
            value = c.add(value, other);
        }
        value
    };
    let mine = c.load(x, &[t]);
    let sum = butterfly(&mut c, mine, &[16, 8, 4, 2, 1]);
    let first = c.eq(lane, zero);
    c.when(first, |c| c.store(partial, &[group], &[sum]));
    c.barrier(Scope::Block);
    let four = c.int(4);
    let few = c.lt(t, four);
    c.when(few, |c| {
        let mine = c.load(partial, &[t]);
        let sum = butterfly(c, mine, &[2, 1]);
        let first = c.eq(t, zero);
        c.when(first, |c| c.store(out, &[], &[sum]));
    });
    let kernel = c.kernel("block_sum", &[], [one(), one(), one()], [128, 1, 1]);
    let mut memories = [ints(&[128], 0..128), ints(&[], [0])];
    run(&kernel, &[], &mut memories, &[]).unwrap();
    assert_eq!(to_ints(&memories[1]), [127 * 64]);
}

#[test]
fn subgroup_operations_see_active_lanes_only() {
    let mut c = Code::new();
    let out = c.memory("out", Ty::I64, BOTH, vec![Size::Const(6), Size::Const(8)]);
    let t = c.place(Place::Local, 0);
    let (one_, two, three) = (c.int(1), c.int(2), c.int(3));
    let rem = c.apply(Operator::Rem, &[t, two]);
    let odd = c.eq(rem, one_);
    let ops =
        [(SubgroupOp::Reduce(Operator::Add), t), (SubgroupOp::Scan(Operator::Add), t), (SubgroupOp::Broadcast, t)];
    c.when(odd, |c| {
        for (k, (op, arg)) in ops.into_iter().enumerate() {
            let (row, value) = (c.int(k as i64), c.subgroup(op, Ty::I64, &[arg]));
            c.store(out, &[row, t], &[value]);
        }
        let small = c.lt(t, three);
        let votes = c.subgroup(SubgroupOp::Ballot, Ty::U64, &[small]);
        let votes = c.emit(&[Ty::I64], Op::Bitcast(Ty::I64, votes))[0];
        c.store(out, &[three, t], &[votes]);
    });
    for (k, op) in [(4, SubgroupOp::ShuffleUp), (5, SubgroupOp::ShuffleDown)] {
        let (row, value) = (c.int(k), c.subgroup(op, Ty::I64, &[t, two]));
        c.store(out, &[row, t], &[value]);
    }
    let kernel = c.kernel("lanes", &[], [one(), one(), one()], [8, 1, 1]);
    let mut memories = [ints(&[6, 8], vec![-1; 48])];
    let options = LaunchOptions { subgroup_size: 4, ..LaunchOptions::default() };
    launch(&kernel, &[], &mut memories, &[], &options).unwrap();
    let expected = [
        [-1, 4, -1, 4, -1, 12, -1, 12],
        [-1, 1, -1, 4, -1, 5, -1, 12],
        [-1, 1, -1, 1, -1, 5, -1, 5],
        [-1, 2, -1, 2, -1, 0, -1, 0],
        [0, 1, 0, 1, 4, 5, 4, 5],
        [2, 3, 2, 3, 6, 7, 6, 7],
    ];
    assert_eq!(to_ints(&memories[0]), expected.concat());
}

#[test]
fn histogram_by_atomics() {
    let mut c = Code::new();
    let x = c.memory("x", Ty::I64, READ, vec![size(0)]);
    let bins = c.memory("bins", Ty::I64, BOTH, vec![Size::Const(7)]);
    let i = c.place(Place::Global, 0);
    let (n, one_) = (c.extent(size(0)), c.int(1));
    let inside = c.lt(i, n);
    c.when(inside, |c| {
        let bin = c.load(x, &[i]);
        c.atomic(AtomicOp::Update(Operator::Add), bins, &[bin], &[one_]);
    });
    let kernel = c.kernel("histogram", &["n"], blocks(size(0), 32), [32, 1, 1]);
    let mut memories = [ints(&[100], (0..100).map(|i| i * i % 7)), ints(&[7], vec![0; 7])];
    run(&kernel, &[100], &mut memories, &[]).unwrap();
    let mut expected = vec![0; 7];
    (0..100).for_each(|i| expected[i * i % 7] += 1);
    assert_eq!(to_ints(&memories[1]), expected);
}

/// Inclusive scan in one pass: each block publishes its sum, then its prefix, and looks back at the blocks before it.
/// Flags: 0 nothing, 1 the sum is there, 2 the prefix is there. `fences` can be left out to see it fail.
pub fn look_back_scan(fences: bool) -> Kernel {
    const N: u64 = 64;
    let mut c = Code::new();
    let x = c.memory("x", Ty::I64, READ, vec![size(0)]);
    let out = c.memory("out", Ty::I64, WRITE, vec![size(0)]);
    let state = |c: &mut Code, name| c.memory(name, Ty::I64, BOTH, vec![Size::CeilDiv(size(0).into(), N)]);
    let (flags, sums, prefixes) = (state(&mut c, "flags"), state(&mut c, "sums"), state(&mut c, "prefixes"));
    let work = c.memory("work", Ty::I64, Space::Shared, vec![Size::Const(N)]);
    let before = c.memory("before", Ty::I64, Space::Shared, vec![]);
    let (i, t, b) = (c.place(Place::Global, 0), c.place(Place::Local, 0), c.place(Place::Block, 0));
    let (zero, one_, two, last) = (c.int(0), c.int(1), c.int(2), c.int(N as i64 - 1));
    let n = c.extent(size(0));
    let inside = c.lt(i, n);
    let mine = c.choose(inside, |c| vec![c.load(x, &[i])], |_| vec![zero])[0];
    // Hillis and Steele inside the block.
    c.store(work, &[t], &[mine]);
    c.barrier(Scope::Block);
    let mut value = mine;
    for step in [1, 2, 4, 8, 16, 32] {
        let step = c.int(step);
        let from = c.apply(Operator::Sub, &[t, step]);
        let has = c.apply(Operator::Ge, &[from, zero]);
        let other = c.choose(has, |c| vec![c.load(work, &[from])], |_| vec![zero])[0];
        c.barrier(Scope::Block);
        value = c.add(value, other);
        c.store(work, &[t], &[value]);
        c.barrier(Scope::Block);
    }
    let fence = |c: &mut Code| {
        if fences {
            c.fence();
        }
    };
    let leads = c.eq(t, zero);
    c.when(leads, |c| {
        let total = c.load(work, &[last]);
        c.store(sums, &[b], &[total]);
        fence(c);
        c.atomic(AtomicOp::Store, flags, &[b], &[one_]);
        let back = c.apply(Operator::Sub, &[b, one_]);
        let found = c.repeat(
            &[back, zero],
            |c, s| c.apply(Operator::Ge, &[s[0], zero]),
            |c, s| {
                let (at, sum) = (s[0], s[1]);
                let flag = c.repeat(
                    &[zero],
                    |c, s| c.eq(s[0], zero),
                    |c, _| vec![c.atomic(AtomicOp::Load, flags, &[at], &[])],
                )[0];
                fence(c);
                let whole = c.eq(flag, two);
                c.choose(
                    whole,
                    |c| {
                        let prefix = c.load(prefixes, &[at]);
                        let minus = c.int(-1);
                        vec![minus, c.add(prefix, sum)]
                    },
                    |c| {
                        let part = c.load(sums, &[at]);
                        vec![c.apply(Operator::Sub, &[at, one_]), c.add(part, sum)]
                    },
                )
            },
        );
        let all = c.add(found[1], total);
        c.store(prefixes, &[b], &[all]);
        fence(c);
        c.atomic(AtomicOp::Store, flags, &[b], &[two]);
        c.store(before, &[], &[found[1]]);
    });
    c.barrier(Scope::Block);
    c.when(inside, |c| {
        let before = c.load(before, &[]);
        let value = c.add(before, value);
        c.store(out, &[i], &[value]);
    });
    c.kernel("scan", &["n"], blocks(size(0), N), [N as u32, 1, 1])
}

/// Arguments of [`look_back_scan`].
pub fn scan_memories(n: u64) -> Vec<Array> {
    let state = || ints(&[n.div_ceil(64)], vec![0; n.div_ceil(64) as usize]);
    vec![ints(&[n], (0..n as i64).map(|i| i * 3 - 50)), ints(&[n], vec![0; n as usize]), state(), state(), state()]
}

#[test]
fn look_back_scan_with_fences() {
    for n in [1, 64, 65, 500] {
        let mut memories = scan_memories(n);
        run(&look_back_scan(true), &[n], &mut memories, &[]).unwrap();
        let expected: Vec<i64> = (0..n as i64)
            .scan(0, |sum, i| {
                *sum += i * 3 - 50;
                Some(*sum)
            })
            .collect();
        assert_eq!(to_ints(&memories[1]), expected, "n = {n}");
    }
}

#[test]
fn vector_loads_and_stores() {
    let mut c = Code::new();
    let x = c.memory("x", Ty::F32, READ, vec![Size::Const(3), Size::Const(8)]);
    let out = c.memory("out", Ty::F32, WRITE, vec![Size::Const(3), Size::Const(8)]);
    let (col, row, four) = (c.place(Place::Global, 0), c.place(Place::Global, 1), c.int(4));
    let col = c.mul(col, four);
    let mut values = c.loads(x, &[row, col], 4);
    values.reverse();
    c.store(out, &[row, col], &values);
    let kernel = c.kernel("reverse", &[], [one(), one(), one()], [2, 3, 1]);
    let mut memories = [floats(&[3, 8], (0..24).map(|i| i as f32)), floats(&[3, 8], [0.0; 24])];
    run(&kernel, &[], &mut memories, &[]).unwrap();
    let expected: Vec<f32> = (0..24).map(|i| (i / 4 * 4 + 3 - i % 4) as f32).collect();
    assert_eq!(to_floats(&memories[1]), expected);
}

#[test]
fn local_arrays_and_functions() {
    let mut c = Code::new();
    let out = c.memory("out", Ty::I64, WRITE, vec![Size::Const(5)]);
    let fib = c.memory("fib", Ty::I64, Space::Local, vec![Size::Const(12)]);
    let (a, b) = (c.var(Ty::I64), c.var(Ty::I64));
    let body = c.body(vec![a, b], |c, x| vec![c.add(x[0], x[1])]);
    c.functions.push(Function { name: "plus".into(), body });
    let t = c.place(Place::Local, 0);
    let (zero, one_, two, twelve) = (c.int(0), c.int(1), c.int(2), c.int(12));
    c.store(fib, &[zero], &[t]);
    c.store(fib, &[one_], &[one_]);
    c.count(two, twelve, &[], |c, s| {
        let (p, q) = (c.apply(Operator::Sub, &[s[0], one_]), c.apply(Operator::Sub, &[s[0], two]));
        let (p, q) = (c.load(fib, &[p]), c.load(fib, &[q]));
        let sum = c.emit(&[Ty::I64], Op::Call(FnId(0), vec![p, q]))[0];
        c.store(fib, &[s[0]], &[sum]);
        vec![]
    });
    let eleven = c.int(11);
    let value = c.load(fib, &[eleven]);
    c.store(out, &[t], &[value]);
    let kernel = c.kernel("fib", &[], [one(), one(), one()], [5, 1, 1]);
    let mut memories = [ints(&[5], [0; 5])];
    run(&kernel, &[], &mut memories, &[]).unwrap();
    assert_eq!(to_ints(&memories[0]), [89, 144, 199, 254, 309]);
}

#[test]
fn threads_leave_loops_one_by_one() {
    // The number of steps of the Collatz sequence, different in every thread.
    let mut c = Code::new();
    let out = c.memory("out", Ty::I64, WRITE, vec![Size::Const(10)]);
    let t = c.place(Place::Global, 0);
    let (zero, one_, two, three) = (c.int(0), c.int(1), c.int(2), c.int(3));
    let start = c.add(t, one_);
    let steps = c.repeat(
        &[start, zero],
        |c, s| c.apply(Operator::Ne, &[s[0], one_]),
        |c, s| {
            let rem = c.apply(Operator::Rem, &[s[0], two]);
            let even = c.eq(rem, zero);
            let next = c.choose(
                even,
                |c| vec![c.apply(Operator::Div, &[s[0], two])],
                |c| {
                    let triple = c.mul(s[0], three);
                    vec![c.add(triple, one_)]
                },
            )[0];
            vec![next, c.add(s[1], one_)]
        },
    )[1];
    c.store(out, &[t], &[steps]);
    let kernel = c.kernel("collatz", &[], [Size::Const(2), one(), one()], [5, 1, 1]);
    let mut memories = [ints(&[10], [0; 10])];
    run(&kernel, &[], &mut memories, &[]).unwrap();
    assert_eq!(to_ints(&memories[0]), [0, 1, 7, 2, 5, 8, 16, 3, 19, 6]);
}

#[test]
fn a_block_acts_on_partials_of_all_blocks_after_the_last_ticket() {
    let mut c = Code::new();
    let partials = c.memory("partials", Ty::I64, BOTH, vec![Size::Const(6)]);
    let ticket = c.memory("ticket", Ty::I64, BOTH, vec![]);
    let out = c.memory("out", Ty::I64, WRITE, vec![]);
    let (b, blocks) = (c.place(Place::Block, 0), c.place(Place::GridDim, 0));
    let (zero, one_) = (c.int(0), c.int(1));
    let square = c.mul(b, b);
    c.store(partials, &[b], &[square]);
    c.fence();
    let taken = c.atomic(AtomicOp::Update(Operator::Add), ticket, &[], &[one_]);
    c.fence();
    let taken = c.add(taken, one_);
    let last = c.eq(taken, blocks);
    c.when(last, |c| {
        let sum = c.count(zero, blocks, &[zero], |c, s| {
            let part = c.load(partials, &[s[0]]);
            vec![c.add(s[1], part)]
        });
        c.store(out, &[], &sum);
    });
    let kernel = c.kernel("tickets", &[], [Size::Const(6), one(), one()], [1, 1, 1]);
    let mut memories = [ints(&[6], [0; 6]), ints(&[], [0]), ints(&[], [0])];
    run(&kernel, &[], &mut memories, &[]).unwrap();
    assert_eq!(to_ints(&memories[2]), [55]);
}
