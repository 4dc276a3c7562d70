//! Whole plans: launches that hand buffers to each other, and sizes that are counted on the way.

use crate::code::*;
use crate::*;
use slyz_sir::code::*;
use slyz_sir::interp::Value;
use slyz_sir::interp::kernel::run_plan;
use slyz_sir::kernel::{Buffer, BufferId, BufferUse, Plan, ScalarArg, Step};
use slyz_sir::ops::Operator;
use slyz_sir::size::{Size, SizeDecl, SizeOrigin};

fn single() -> [Size; 3] {
    [Size::Const(1), Size::Const(1), Size::Const(1)]
}

/// Keeps what exceeds the scalar argument, then doubles it: sizes n (given) and kept (counted).
fn keep_and_double() -> Plan {
    let sizes = ["n", "kept"];
    let mut c = Code::new();
    let limit = c.param(Ty::I64);
    let x = c.memory("x", Ty::I64, READ, vec![size(0)]);
    let kept = c.memory("kept", Ty::I64, WRITE, vec![size(0)]);
    let count = c.memory("count", Ty::I64, WRITE, vec![]);
    let (zero, one, n) = (c.int(0), c.int(1), c.extent(size(0)));
    let found = c.count(zero, n, &[zero], |c, s| {
        let value = c.load(x, &[s[0]]);
        let keep = c.lt(limit, value);
        c.when(keep, |c| c.store(kept, &[s[1]], &[value]));
        let next = c.add(s[1], one);
        vec![c.apply(Operator::Select, &[keep, next, s[1]])]
    });
    c.store(count, &[], &found);
    let keep = c.kernel("keep", &sizes, single(), [1, 1, 1]);

    let mut c = Code::new();
    let x = c.memory("x", Ty::I64, READ, vec![size(1)]);
    let out = c.memory("out", Ty::I64, WRITE, vec![size(1)]);
    let (zero, n) = (c.int(0), c.extent(size(1)));
    c.lanes(zero, n, |c, k| {
        let value = c.load(x, &[k]);
        let value = c.add(value, value);
        c.store(out, &[k], &[value]);
    });
    let double = c.kernel("double", &sizes, single(), [4, 1, 1]);

    let decl = |name: &str, origin| SizeDecl { name: name.into(), origin };
    let buffer = |shape: Vec<Size>, role| Buffer { ty: Ty::I64, shape, role };
    let ids = |ids: &[u32]| ids.iter().map(|&id| BufferId(id)).collect::<Vec<_>>();
    Plan {
        name: "keep_and_double".into(),
        sizes: vec![decl("n", SizeOrigin::Given), decl("kept", SizeOrigin::Counted)],
        names: Default::default(),
        params: vec![
            Var { id: Id(0), ty: Type::Array(Ty::I64, vec![size(0)]) },
            Var { id: Id(1), ty: Type::Scalar(Ty::I64) },
        ],
        buffers: vec![
            buffer(vec![size(0)], BufferUse::Argument(0)),
            buffer(vec![size(0)], BufferUse::Temporary),
            buffer(vec![], BufferUse::Result(1)),
            buffer(vec![size(1)], BufferUse::Result(0)),
        ],
        results: vec![(BufferId(3), vec![size(1)]), (BufferId(2), vec![]), (BufferId(0), vec![size(0)])],
        kernels: vec![keep, double],
        steps: vec![
            Step::Launch { kernel: 0, buffers: ids(&[0, 1, 2]), scalars: vec![ScalarArg::Argument(1)] },
            Step::Count { size: slyz_sir::size::SizeVar(1), from: BufferId(2) },
            Step::Launch { kernel: 1, buffers: ids(&[1, 3]), scalars: vec![] },
            Step::Free(BufferId(1)),
        ],
    }
}

#[test]
fn two_launches_and_a_count() {
    let x = Value::Array(ints(&[6], [5, -2, 9, 0, 7, 3]));
    let args = [x.clone(), Value::Scalar(Scalar::i64(3))];
    let results = run_plan(&keep_and_double(), &[Some(6), None], &args).unwrap();
    assert_eq!(results, [Value::Array(ints(&[3], [10, 18, 14])), Value::Scalar(Scalar::i64(3)), x.clone()]);
    let nothing = run_plan(&keep_and_double(), &[Some(6), None], &[x, Value::Scalar(Scalar::i64(50))]).unwrap();
    assert_eq!(nothing[0], Value::Array(ints(&[0], [])));
}

#[test]
fn wrong_calls_and_wrong_plans() {
    let x = Value::Array(ints(&[6], [0; 6]));
    let limit = Value::Scalar(Scalar::i64(3));
    let good = [x.clone(), limit.clone()];
    let plan = keep_and_double();
    for (sizes, args) in [
        (vec![Some(5), None], good.to_vec()),
        (vec![Some(6)], good.to_vec()),
        (vec![Some(6), None], vec![x.clone()]),
        (vec![Some(6), None], vec![limit.clone(), x.clone()]),
    ] {
        let error = run_plan(&plan, &sizes, &args).unwrap_err();
        assert!(matches!(error, KernelError::Argument { .. }), "{error}");
    }
    let error = run_plan(&plan, &[None, None], &good).unwrap_err();
    assert!(matches!(error, KernelError::Size { .. }), "{error}");

    let change = |f: fn(&mut Plan)| {
        let mut plan = keep_and_double();
        f(&mut plan);
        run_plan(&plan, &[Some(6), None], &good).unwrap_err()
    };
    let used_after_free = change(|plan| plan.steps.swap(2, 3));
    let argument_written = change(|plan| plan.buffers[1].role = BufferUse::Argument(0));
    let not_counted = change(|plan| plan.sizes[1].origin = SizeOrigin::Given);
    let no_kernel = change(|plan| plan.kernels.clear());
    for error in [used_after_free, argument_written, not_counted, no_kernel] {
        assert!(matches!(error, KernelError::Malformed(_)), "{error}");
    }
    let uncounted = change(|plan| {
        plan.steps.remove(1);
    });
    assert!(matches!(uncounted, KernelError::Size { .. }), "{uncounted}");
}
