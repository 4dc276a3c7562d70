//! Kernels with a mistake: each is reported, with names and places.

use crate::code::*;
use crate::*;
use slyz_sir::code::*;
use slyz_sir::interp::kernel::{Agent, Touch};
use slyz_sir::kernel::Space;
use slyz_sir::ops::Operator;
use slyz_sir::size::Size;

fn grid(blocks: u64) -> [Size; 3] {
    [Size::Const(blocks), Size::Const(1), Size::Const(1)]
}

/// A kernel over one array of eight `i64`, `out`, which may be read and written.
fn on_out(block: u32, f: impl FnOnce(&mut Code, MemId, Id)) -> Kernel {
    let mut c = Code::new();
    let out = c.memory("out", Ty::I64, BOTH, vec![Size::Const(8)]);
    let t = c.place(Place::Local, 0);
    f(&mut c, out, t);
    c.kernel("wrong", &[], grid(1), [block, 1, 1])
}

/// Its error, and what is in `out` afterwards (zeros before).
fn fails(kernel: &Kernel) -> (KernelError, Vec<i64>) {
    let mut memories = [ints(&[8], [0; 8])];
    let error = run(kernel, &[], &mut memories, &[]).unwrap_err();
    (error, to_ints(&memories[0]))
}

/// The first kernel of a file of the corpus.
fn first_kernel(text: &str) -> Kernel {
    slyz_sir::text::parse_file(text).unwrap().0.kernels.remove(0)
}

#[test]
fn a_missing_barrier_is_a_race() {
    for without in [0, 1] {
        let [m, k, n] = [5, 9, 6];
        let array = |r: u64, c: u64| floats(&[r, c], vec![1.0; (r * c) as usize]);
        let mut memories = [array(m, k), array(k, n), array(m, n)];
        let text = include_str!("../../../../tests/corpus/kernel_matmul.sir");
        let barriers: Vec<&str> = text.split("barrier block").collect();
        let text = [barriers[..=without].join("barrier block"), barriers[without + 1..].join("barrier block")].concat();
        let error = run(&first_kernel(&text), &[m, k, n], &mut memories, &[]).unwrap_err();
        let KernelError::Race(race) = &error else { panic!("{error}") };
        assert_eq!((race.kernel.as_str(), race.index.len()), ("matmul", 2));
        assert!(race.memory == "ta" || race.memory == "tb");
        assert_ne!(race.first.1, race.second.1);
        let kinds = if without == 0 { (Touch::Write, Touch::Read) } else { (Touch::Read, Touch::Write) };
        assert_eq!((race.first.0, race.second.0), kinds);
    }
}

#[test]
fn two_threads_write_one_element() {
    let kernel = on_out(4, |c, out, t| {
        let two = c.int(2);
        let half = c.apply(Operator::Div, &[t, two]);
        c.store(out, &[half], &[t]);
    });
    let (error, _) = fails(&kernel);
    let text = "wrong: race on `out` at [0]: write by thread (0, 0, 0) of block (0, 0, 0), then write by thread (1, 0, 0) \
                of block (0, 0, 0), with no barrier between them; put one, or use atomics";
    assert_eq!(error.to_string(), text);
}

#[test]
fn plain_and_atomic_accesses_race_but_atomics_do_not() {
    let one = |c: &mut Code| c.int(1);
    let atomics = on_out(4, |c, out, _| {
        let (zero, one) = (c.int(0), one(c));
        c.atomic(AtomicOp::Update(Operator::Add), out, &[zero], &[one]);
        c.atomic(AtomicOp::Load, out, &[zero], &[]);
    });
    let mut memories = [ints(&[8], [0; 8])];
    run(&atomics, &[], &mut memories, &[]).unwrap();
    assert_eq!(to_ints(&memories[0])[0], 4);

    let mixed = on_out(4, |c, out, _| {
        let (zero, one) = (c.int(0), one(c));
        c.atomic(AtomicOp::Update(Operator::Add), out, &[zero], &[one]);
        c.load(out, &[zero]);
    });
    let (KernelError::Race(race), _) = fails(&mixed) else { panic!() };
    assert_eq!((race.first.0, race.second.0), (Touch::AtomicWrite, Touch::Read));
}

#[test]
fn a_subgroup_barrier_orders_its_subgroup_only() {
    let exchange = |xor: i64| {
        on_out(8, move |c, out, t| {
            c.store(out, &[t], &[t]);
            c.barrier(Scope::Subgroup);
            let xor = c.int(xor);
            let other = c.apply(Operator::Xor, &[t, xor]);
            c.load(out, &[other]);
        })
    };
    let options = LaunchOptions { subgroup_size: 4, ..LaunchOptions::default() };
    let mut memories = [ints(&[8], [0; 8])];
    launch(&exchange(3), &[], &mut memories, &[], &options).unwrap();
    let error = launch(&exchange(4), &[], &mut memories, &[], &options).unwrap_err();
    assert!(matches!(error, KernelError::Race(_)), "{error}");
}

#[test]
fn turns_of_lanes_race_with_each_other_and_with_threads() {
    let turns = on_out(4, |c, out, _| {
        let (zero, eight, two) = (c.int(0), c.int(8), c.int(2));
        c.lanes(zero, eight, |c, k| {
            let half = c.apply(Operator::Div, &[k, two]);
            c.store(out, &[half], &[k]);
        });
    });
    let (KernelError::Race(race), _) = fails(&turns) else { panic!() };
    assert_eq!((race.first.1.agent, race.second.1.agent), (Agent::Turn(0), Agent::Turn(1)));

    let before = |threads| {
        on_out(threads, |c, out, t| {
            c.store(out, &[t], &[t]);
            let (zero, one) = (c.int(0), c.int(1));
            c.lanes(zero, one, |c, k| {
                c.load(out, &[k]);
            });
        })
    };
    let (KernelError::Race(race), _) = fails(&before(4)) else { panic!() };
    assert_eq!((race.first.1.agent, race.second.1.agent), (Agent::Thread([0, 0, 0]), Agent::Turn(0)));
    // With one thread there is nobody to race with.
    run(&before(1), &[], &mut [ints(&[8], [0; 8])], &[]).unwrap();
}

#[test]
fn blocks_race_unless_fences_order_them() {
    let text = include_str!("../../../../tests/corpus/kernel_look_back_scan.sir");
    let kernel = first_kernel(&text.replace("fence device", ""));
    let [x, out] = [0, 1].map(|_| ints(&[30], 0..30));
    let [flags, sums, prefixes] = [0, 1, 2].map(|_| ints(&[4], [0; 4]));
    let error = run(&kernel, &[30], &mut [x, out, flags, sums, prefixes], &[]).unwrap_err();
    let KernelError::Race(race) = &error else { panic!("{error}") };
    assert_eq!((race.first.1.block, race.second.1.block), ([0, 0, 0], [1, 0, 0]));

    let mut c = Code::new();
    let out = c.memory("out", Ty::I64, WRITE, vec![]);
    let b = c.place(Place::Block, 0);
    c.store(out, &[], &[b]);
    let kernel = c.kernel("wrong", &[], grid(2), [1, 1, 1]);
    let error = run(&kernel, &[], &mut [ints(&[], [0])], &[]).unwrap_err();
    assert!(matches!(error, KernelError::Race(_)), "{error}");
}

#[test]
fn a_barrier_under_a_divergent_branch() {
    let kernel = on_out(4, |c, _, t| {
        let three = c.int(3);
        let few = c.lt(t, three);
        c.when(few, |c| c.barrier(Scope::Block));
    });
    let (KernelError::DivergentBarrier(error), _) = fails(&kernel) else { panic!() };
    assert_eq!(error.kernel, "wrong");
    assert_eq!(error.arrived, [[0, 0, 0], [1, 0, 0], [2, 0, 0]]);
    assert_eq!(error.missing, [[3, 0, 0]]);
}

#[test]
fn lanes_that_differ_between_threads() {
    let bound = on_out(4, |c, _, t| {
        let zero = c.int(0);
        c.lanes(zero, t, |_, _| {});
    });
    let inside = on_out(4, |c, out, t| {
        let (zero, four) = (c.int(0), c.int(4));
        c.lanes(zero, four, |c, k| c.store(out, &[k], &[t]));
    });
    let branch = on_out(4, |c, _, t| {
        let (zero, two) = (c.int(0), c.int(2));
        let few = c.lt(t, two);
        c.when(few, |c| c.lanes(zero, two, |_, _| {}));
    });
    for kernel in [bound, inside, branch] {
        let (error, _) = fails(&kernel);
        assert!(matches!(error, KernelError::DivergentLanes { .. }), "{error}");
    }
}

#[test]
fn out_of_bounds_is_named_and_writes_nothing() {
    let kernel = on_out(4, |c, out, t| {
        let three = c.int(3);
        let at = c.mul(t, three);
        c.store(out, &[at], &[three]);
    });
    let (error, out) = fails(&kernel);
    let text =
        "wrong: write of 1 element(s) of `out` at [9], outside its shape [8], by thread (3, 0, 0) of block (0, 0, 0)";
    assert_eq!(error.to_string(), text);
    assert_eq!(out, [0; 8]);

    let negative = on_out(1, |c, out, _| {
        let minus = c.int(-1);
        c.load(out, &[minus]);
    });
    assert!(matches!(fails(&negative).0, KernelError::OutOfBounds(_)));
    let vector = on_out(1, |c, out, _| {
        let six = c.int(6);
        c.store(out, &[six], &[six; 4]);
    });
    let (KernelError::OutOfBounds(error), out) = fails(&vector) else { panic!() };
    assert_eq!((error.index, error.width), (vec![6], 4));
    assert_eq!(out, [0; 8]);
}

#[test]
fn undefined_memory_is_not_read() {
    for space in [Space::Shared, Space::Scratch, Space::Local] {
        let kernel = on_out(2, |c, _, t| {
            let m = c.memory("m", Ty::I64, space, vec![Size::Const(2), Size::Const(2)]);
            let one = c.int(1);
            c.store(m, &[t, t], &[t]);
            c.load(m, &[one, t]);
        });
        let (KernelError::Uninitialised { memory, index, .. }, _) = fails(&kernel) else { panic!() };
        assert_eq!((memory.as_str(), index), ("m", vec![1, 0]));
    }
    // A block does not find what the block before it left in shared memory.
    let mut c = Code::new();
    let m = c.memory("m", Ty::I64, Space::Shared, vec![]);
    let (b, zero) = (c.place(Place::Block, 0), c.int(0));
    let first = c.eq(b, zero);
    c.when(first, |c| c.store(m, &[], &[zero]));
    c.load(m, &[]);
    let kernel = c.kernel("wrong", &[], grid(2), [1, 1, 1]);
    let error = run(&kernel, &[], &mut [], &[]).unwrap_err();
    assert!(error.to_string().contains("block (1, 0, 0)"), "{error}");
}

#[test]
fn local_memory_belongs_to_a_turn_inside_lanes() {
    let kernel = |read_after: bool| {
        on_out(2, move |c, out, t| {
            let m = c.memory("m", Ty::I64, Space::Local, vec![]);
            let (zero, eight) = (c.int(0), c.int(8));
            c.store(m, &[], &[t]);
            c.lanes(zero, eight, |c, k| {
                c.store(m, &[], &[k]);
                let value = c.load(m, &[]);
                c.store(out, &[k], &[value]);
            });
            if read_after {
                c.load(m, &[]);
            }
        })
    };
    let mut memories = [ints(&[8], [0; 8])];
    run(&kernel(false), &[], &mut memories, &[]).unwrap();
    assert_eq!(to_ints(&memories[0]), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(matches!(fails(&kernel(true)).0, KernelError::Uninitialised { .. }));
}

#[test]
fn declared_access_is_kept() {
    for (space, stores) in [(READ, true), (Space::Constant, true), (WRITE, false)] {
        let mut c = Code::new();
        let m = c.memory("m", Ty::I64, space, vec![]);
        let zero = c.int(0);
        if stores {
            c.store(m, &[], &[zero]);
        } else {
            c.load(m, &[]);
        }
        let kernel = c.kernel("wrong", &[], grid(1), [1, 1, 1]);
        let error = run(&kernel, &[], &mut [ints(&[], [0])], &[]).unwrap_err();
        assert!(matches!(error, KernelError::Forbidden { .. }), "{error}");
    }
}

#[test]
fn loops_that_do_not_end() {
    let kernel = on_out(1, |c, _, t| {
        let yes = c.scalar(Scalar::bool(true));
        c.repeat(&[t], |_, _| yes, |_, s| s.to_vec());
    });
    let options = LaunchOptions { max_turns: 1000, ..LaunchOptions::default() };
    let error = launch(&kernel, &[], &mut [ints(&[8], [0; 8])], &[], &options).unwrap_err();
    assert_eq!(error, KernelError::Turns { kernel: "wrong".into(), limit: 1000 });
}

#[test]
fn shuffles_from_lanes_that_are_not_there() {
    let kernel = on_out(3, |c, _, t| {
        let two = c.int(2);
        c.subgroup(SubgroupOp::ShuffleXor, Ty::I64, &[t, two]);
    });
    let (error, _) = fails(&kernel);
    assert!(matches!(error, KernelError::InactiveLane { lane: 3, .. }), "{error}");
}

#[test]
fn arguments_are_checked() {
    let kernel = on_out(1, |_, _, _| {});
    let wrong: [(&[u64], Vec<Array>, &[Scalar]); 5] = [
        (&[1], vec![ints(&[8], [0; 8])], &[]),
        (&[], vec![], &[]),
        (&[], vec![ints(&[7], [0; 7])], &[]),
        (&[], vec![floats(&[8], [0.0; 8])], &[]),
        (&[], vec![ints(&[8], [0; 8])], &[Scalar::f32(1.0)]),
    ];
    for (sizes, mut memories, scalars) in wrong {
        let before = memories.clone();
        let error = run(&kernel, sizes, &mut memories, scalars).unwrap_err();
        assert!(matches!(error, KernelError::Argument { .. }), "{error}");
        assert_eq!(memories, before);
    }
}

#[test]
fn malformed_code_is_refused() {
    type Wrong = fn(&mut Code, MemId, Id);
    let cases: [Wrong; 14] = [
        |c, out, _| c.store(out, &[Id(999)], &[Id(999)]),
        |c, out, t| c.store(out, &[t, t], &[t]),
        |c, out, t| c.store(out, &[t], &[t, t, t]),
        |c, out, t| c.store(out, &[], &[t]),
        |c, _, t| {
            c.emit(&[], Op::Load { memory: MemId(7), index: vec![t] });
        },
        |c, _, t| {
            c.emit(&[Ty::F32], Op::Apply(Operator::Add, vec![t, t]));
        },
        |c, _, t| {
            c.emit(&[Ty::F32], Op::Apply(Operator::Exp, vec![t]));
        },
        |c, _, t| {
            c.emit(&[Ty::I32], Op::Bitcast(Ty::I32, t));
        },
        |c, _, t| {
            c.emit(&[Ty::I64], Op::Call(FnId(0), vec![t]));
        },
        |c, _, _| c.barrier(Scope::Device),
        |c, _, _| {
            c.place(Place::Local, 3);
        },
        |c, _, t| {
            c.emit(&[Ty::I64], Op::At { array: t, index: vec![t] });
        },
        |c, _, t| c.when(t, |_| {}),
        // A name of a branch is gone after it.
        |c, out, t| {
            let mut inner = t;
            let yes = c.scalar(Scalar::bool(true));
            c.when(yes, |c| inner = c.int(1));
            c.store(out, &[inner], &[t]);
        },
    ];
    for (k, case) in cases.into_iter().enumerate() {
        let (error, _) = fails(&on_out(2, case));
        assert!(matches!(error, KernelError::Malformed(_)), "case {k}: {error}");
    }
}

#[test]
fn a_function_must_not_call_itself_or_touch_memory() {
    let mut c = Code::new();
    let body = c.body(vec![], |c, _| c.emit(&[Ty::I64], Op::Call(FnId(0), vec![])));
    c.functions.push(Function { name: "f".into(), body });
    c.emit(&[Ty::I64], Op::Call(FnId(0), vec![]));
    let kernel = c.kernel("wrong", &[], grid(1), [1, 1, 1]);
    assert!(matches!(run(&kernel, &[], &mut [], &[]), Err(KernelError::Malformed(_))));

    let mut c = Code::new();
    let body = c.body(vec![], |c, _| vec![c.place(Place::Block, 0)]);
    c.functions.push(Function { name: "f".into(), body });
    c.emit(&[Ty::I64], Op::Call(FnId(0), vec![]));
    let kernel = c.kernel("wrong", &[], grid(1), [1, 1, 1]);
    assert!(matches!(run(&kernel, &[], &mut [], &[]), Err(KernelError::Malformed(_))));
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    fn nest(c: &mut Code, cond: Id, depth: u32) {
        if depth > 0 {
            c.when(cond, |c| nest(c, cond, depth - 1));
        }
    }
    let kernel = on_out(1, |c, _, _| {
        let yes = c.scalar(Scalar::bool(true));
        nest(c, yes, 500);
    });
    assert!(matches!(fails(&kernel).0, KernelError::Malformed(_)));
}

#[test]
fn memory_that_does_not_fit_is_an_error_and_keeps_the_arguments() {
    let kernel = on_out(2, |c, _, _| {
        c.memory("m", Ty::I64, Space::Scratch, vec![Size::Const(1 << 60)]);
    });
    let mut memories = [ints(&[8], 0..8)];
    let error = run(&kernel, &[], &mut memories, &[]).unwrap_err();
    assert!(matches!(error, KernelError::TooLarge { .. }), "{error}");
    assert_eq!(to_ints(&memories[0]), [0, 1, 2, 3, 4, 5, 6, 7]);
}

/// Thread 1 of block 0 writes; thread 0 fences; thread 0 of block 1 acquires; thread 1 of block 1 reads.
fn hand_over(barrier_before_fence: bool, acquire: Option<AtomicOp>, barrier_after_acquire: bool) -> Kernel {
    let mut c = Code::new();
    let data = c.memory("data", Ty::I64, BOTH, vec![]);
    let flag = c.memory("flag", Ty::I64, BOTH, vec![]);
    let (t, b) = (c.place(Place::Local, 0), c.place(Place::Block, 0));
    let (zero, one) = (c.int(0), c.int(1));
    let (leads, follows) = (c.eq(t, zero), c.eq(t, one));
    let sends = c.eq(b, zero);
    c.choose(
        sends,
        |c| {
            c.when(follows, |c| c.store(data, &[], &[one]));
            if barrier_before_fence {
                c.barrier(Scope::Block);
            }
            c.when(leads, |c| {
                c.fence();
                c.atomic(AtomicOp::Store, flag, &[], &[one]);
            });
            vec![]
        },
        |c| {
            if let Some(op) = acquire {
                c.when(leads, |c| {
                    c.atomic(op, flag, &[], &[]);
                });
            }
            if barrier_after_acquire {
                c.barrier(Scope::Block);
            }
            c.when(follows, |c| {
                c.load(data, &[]);
            });
            vec![]
        },
    );
    c.kernel("hand_over", &[], grid(2), [2, 1, 1])
}

#[test]
fn both_sides_of_a_hand_over_need_their_fence_and_barrier() {
    let load = Some(AtomicOp::Load);
    let outcome = |kernel: &Kernel| run(kernel, &[], &mut [ints(&[], [0]), ints(&[], [0])], &[]);
    assert_eq!(outcome(&hand_over(true, load, true)), Ok(()));
    for wrong in [hand_over(false, load, true), hand_over(true, load, false), hand_over(true, None, true)] {
        assert!(matches!(outcome(&wrong), Err(KernelError::Race(_))));
    }
}
