//! Each rule of the verifier, broken once: a good program, one change, and the message that names it.

use slyz_sir::code::{
    AtomicOp, Body, FnId, Function, Id, MemId, Monoid, Op, Place, Scope, Stmt, SubgroupOp, Type, Var,
};
use slyz_sir::kernel::{Access, Buffer, BufferId, BufferUse, Kernel, Memory, Plan, ScalarArg, Space, Step};
use slyz_sir::nesting::MAX_NESTING;
use slyz_sir::ops::Operator;
use slyz_sir::program::{Module, Program, Require};
use slyz_sir::size::{Size, SizeDecl, SizeOrigin, SizeVar};
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::verify::{self, MAX_ID, VerifyError};

fn var(id: u32, ty: Type) -> Var {
    Var { id: Id(id), ty }
}

fn int(id: u32) -> Var {
    var(id, Type::Scalar(Ty::I64))
}

fn ids(numbers: &[u32]) -> Vec<Id> {
    numbers.iter().map(|&n| Id(n)).collect()
}

fn body(params: Vec<Var>, stmts: Vec<Stmt>, results: &[u32]) -> Body {
    Body { params, stmts, results: ids(results) }
}

/// A statement that binds one `i64`.
fn bind(id: u32, op: Op) -> Stmt {
    Stmt { binds: vec![int(id)], op }
}

fn act(op: Op) -> Stmt {
    Stmt { binds: vec![], op }
}

fn number(id: u32, value: i64) -> Stmt {
    bind(id, Op::Const(Scalar::i64(value)))
}

fn add(id: u32, a: u32, b: u32) -> Stmt {
    bind(id, Op::Apply(Operator::Add, ids(&[a, b])))
}

fn decl(name: &str, origin: SizeOrigin) -> SizeDecl {
    SizeDecl { name: name.into(), origin }
}

fn size(v: u32) -> Size {
    Size::Var(SizeVar(v))
}

fn array(v: u32) -> Type {
    Type::Array(Ty::I64, vec![size(v)])
}

/// `a + b`, with names from `first` on.
fn sum(neutral: u32, first: u32) -> Monoid {
    let combine = body(vec![int(first), int(first + 1)], vec![add(first + 2, first, first + 1)], &[first + 2]);
    Monoid { neutral: ids(&[neutral]), combine, commutative: true }
}

/// Keeps elements that are their own double (zeros), then doubles what is kept and sums it.
fn good_program() -> Program {
    let test = Stmt { binds: vec![var(4, Type::Scalar(Ty::Bool))], op: Op::Apply(Operator::Eq, ids(&[2, 3])) };
    let look =
        body(vec![int(1)], vec![bind(2, Op::At { array: Id(0), index: ids(&[1]) }), add(3, 2, 2), test], &[4, 2]);
    let read = |p: u32, v: u32, d: u32| {
        let call = bind(d, Op::Call(FnId(0), ids(&[v])));
        body(vec![int(p)], vec![bind(v, Op::At { array: Id(5), index: ids(&[p]) }), call], &[d])
    };
    let stmts = vec![
        Stmt { binds: vec![var(5, array(1))], op: Op::Filter { extent: size(0), body: look, kept: SizeVar(1) } },
        Stmt { binds: vec![var(9, array(1))], op: Op::Tabulate { shape: vec![size(1)], body: read(6, 7, 8) } },
        number(10, 0),
        bind(11, Op::Fold { shape: vec![size(1)], body: read(12, 13, 14), monoid: sum(10, 15) }),
    ];
    Program {
        name: "good".into(),
        sizes: vec![decl("N", SizeOrigin::Given), decl("Kept", SizeOrigin::Counted)],
        functions: vec![Function { name: "double".into(), body: body(vec![int(20)], vec![add(21, 20, 20)], &[21]) }],
        requires: vec![Require::AtMost(size(1), size(0))],
        precision: None,
        names: Default::default(),
        body: body(vec![var(0, array(0))], stmts, &[9, 11]),
    }
}

fn memory(name: &str, space: Space, shape: Vec<Size>) -> Memory {
    Memory { name: name.into(), ty: Ty::I64, space, shape }
}

/// Each thread copies, the block sums in lanes.
fn good_kernel() -> Kernel {
    let load = |id, m: u32, at: u32| bind(id, Op::Load { memory: MemId(m), index: ids(&[at]) });
    let store = |m: u32, at: u32, v: u32| act(Op::Store { memory: MemId(m), index: ids(&[at]), values: ids(&[v]) });
    let turns = body(vec![int(5)], vec![load(6, 0, 5)], &[6]);
    let stmts = vec![
        bind(1, Op::Place(Place::Global, 0)),
        load(2, 0, 1),
        store(1, 1, 2),
        act(Op::Barrier(Scope::Block)),
        number(3, 0),
        bind(4, Op::Extent(size(0))),
        bind(7, Op::Lanes { lo: Id(3), hi: Id(4), body: turns, monoid: Some(sum(3, 8)) }),
        bind(11, Op::Atomic { op: AtomicOp::Update(Operator::Add), memory: MemId(2), index: vec![], args: ids(&[7]) }),
        store(3, 3, 0),
        act(Op::Fence(Scope::Device)),
    ];
    Kernel {
        name: "copy".into(),
        sizes: vec![decl("N", SizeOrigin::Given), decl("Kept", SizeOrigin::Counted)],
        memories: vec![
            memory("x", Space::Global(Access::Read), vec![size(0)]),
            memory("y", Space::Global(Access::Write), vec![size(0)]),
            memory("total", Space::Global(Access::ReadWrite), vec![]),
            memory("tile", Space::Shared, vec![Size::Const(64)]),
        ],
        functions: vec![],
        grid: [Size::CeilDiv(size(0).into(), 64), Size::Const(1), Size::Const(1)],
        block: [64, 1, 1],
        precision: None,
        product: None,
        raw: None,
        as_written: false,
        names: Default::default(),
        body: body(vec![int(0)], stmts, &[]),
    }
}

fn good_plan() -> Plan {
    let buffer = |shape: Vec<Size>, role| Buffer { ty: Ty::I64, shape, role };
    let launch = |buffers: &[u32]| Step::Launch {
        kernel: 0,
        buffers: buffers.iter().map(|&b| BufferId(b)).collect(),
        scalars: vec![ScalarArg::Argument(1)],
    };
    Plan {
        name: "plan".into(),
        sizes: good_kernel().sizes,
        names: Default::default(),
        params: vec![var(0, array(0)), int(1)],
        buffers: vec![
            buffer(vec![size(0)], BufferUse::Argument(0)),
            buffer(vec![size(0)], BufferUse::Temporary),
            buffer(vec![], BufferUse::Temporary),
            buffer(vec![size(0)], BufferUse::Result(0)),
        ],
        results: vec![(BufferId(3), vec![size(1)])],
        kernels: vec![good_kernel()],
        steps: vec![
            launch(&[0, 1, 2]),
            Step::Count { size: SizeVar(1), from: BufferId(2) },
            launch(&[1, 3, 2]),
            Step::Free(BufferId(1)),
            Step::Free(BufferId(2)),
        ],
    }
}

fn refused(result: Result<(), VerifyError>, message: &str) {
    let error = result.expect_err(message).to_string();
    assert!(error.contains(message), "`{error}` does not say `{message}`");
}

fn program_without(change: impl FnOnce(&mut Program), message: &str) {
    let mut program = good_program();
    change(&mut program);
    refused(verify::program(&program), message);
}

fn kernel_without(change: impl FnOnce(&mut Kernel), message: &str) {
    let mut kernel = good_kernel();
    change(&mut kernel);
    refused(verify::kernel(&kernel), message);
}

fn plan_without(change: impl FnOnce(&mut Plan), message: &str) {
    let mut plan = good_plan();
    change(&mut plan);
    refused(verify::plan(&plan), message);
}

/// The bodies of the statement at that place.
fn inner(body: &mut Body, stmt: usize) -> Vec<&mut Body> {
    body.stmts[stmt].op.bodies_mut()
}

#[test]
fn good_programs_pass() {
    verify::program(&good_program()).unwrap();
    verify::kernel(&good_kernel()).unwrap();
    verify::plan(&good_plan()).unwrap();
    verify::module(&Module { programs: vec![good_program()], kernels: vec![good_kernel()] }).unwrap();
    verify::program(&Program { name: "empty".into(), ..Program::default() }).unwrap();
}

#[test]
fn errors_say_where() {
    let mut program = good_program();
    inner(&mut program.body, 1)[0].stmts[0] = bind(7, Op::At { array: Id(5), index: ids(&[30]) });
    let error = verify::program(&program).unwrap_err();
    assert_eq!(error.path, ["program `good`", "tabulate %9", "at %7"]);
    assert_eq!(error.to_string(), "in program `good`, tabulate %9, at %7: %30 is used before it is bound");
}

#[test]
fn names_are_bound_once_and_used_in_scope() {
    program_without(|g| g.body.stmts.push(number(10, 1)), "%10 is bound twice");
    program_without(|g| g.body.stmts.push(number(20, 1)), "%20 is bound twice");
    program_without(|g| g.body.stmts.push(add(30, 31, 10)), "%31 is used before it is bound");
    program_without(|g| g.body.stmts.push(add(30, 7, 10)), "%7 is used outside the body that binds it");
    program_without(|g| g.body.results = ids(&[8]), "%8 is used outside the body that binds it");
    program_without(|g| inner(&mut g.body, 3)[1].results = ids(&[14]), "%14 is used outside");
    program_without(|g| g.body.stmts.swap(2, 3), "%10 is used before it is bound");
    program_without(|g| g.functions[0].body.stmts[0] = add(21, 20, 10), "%10 is used before it is bound");
    program_without(|g| g.body.stmts.push(add(30, 20, 10)), "%20 is used outside");
    program_without(|g| g.body.stmts.push(number(MAX_ID + 1, 0)), "past the largest name");
}

#[test]
fn binders_have_the_types_of_their_operations() {
    program_without(|g| g.body.stmts[2].binds[0].ty = Type::Scalar(Ty::I32), "%10 is declared");
    program_without(|g| g.body.stmts[1].binds[0].ty = array(0), "%9 is declared");
    program_without(|g| g.body.stmts[2].binds.clear(), "gives 1 values, but binds 0 names");
    program_without(|g| g.body.stmts.push(add(30, 9, 10)), "%9 is an array where a scalar is needed");
    program_without(|g| g.body.params.push(var(30, Type::Array(Ty::F32, vec![]))), "an array without axes");
    let wide = Scalar { ty: Ty::U8, bits: 256 };
    let constant = Stmt { binds: vec![var(30, Type::Scalar(Ty::U8))], op: Op::Const(wide) };
    program_without(|g| g.body.stmts.push(constant), "wider than a u8");
}

#[test]
fn operations_belong_to_a_level() {
    program_without(|g| g.body.stmts.push(bind(30, Op::Place(Place::Global, 0))), "belongs in kernels");
    program_without(|g| g.body.stmts.push(act(Op::Barrier(Scope::Block))), "belongs in kernels");
    kernel_without(
        |k| {
            let op = Op::Tabulate { shape: vec![size(0)], body: body(vec![int(30)], vec![], &[30]) };
            k.body.stmts.push(Stmt { binds: vec![var(31, array(0))], op });
        },
        "works on arrays",
    );
    let function = |stmt| Function { name: "f".into(), body: body(vec![int(30)], vec![stmt], &[31]) };
    kernel_without(|k| k.functions.push(function(bind(31, Op::Place(Place::Local, 0)))), "not in its functions");
}

#[test]
fn functions_have_names_and_call_backwards() {
    program_without(|g| g.functions[0].name = "two words".into(), "is not an identifier");
    program_without(|g| g.functions[0].name = String::new(), "is not an identifier");
    let other =
        |name: &str, op: Op| Function { name: name.into(), body: body(vec![int(30)], vec![bind(31, op)], &[31]) };
    program_without(
        |g| g.functions.push(other("double", Op::Const(Scalar::i64(1)))),
        "two functions are called `double`",
    );
    program_without(|g| g.functions.push(other("again", Op::Call(FnId(1), ids(&[30])))), "which is not before it");
    program_without(|g| g.functions[0].body.params[0].ty = array(0), "functions take scalars");
    let cells = |g: &mut Program| {
        let op = Op::Tabulate { shape: vec![size(0)], body: body(vec![int(30)], vec![], &[30]) };
        g.functions[0].body.stmts.push(Stmt { binds: vec![var(31, array(0))], op });
        g.functions[0].body.results = ids(&[31]);
    };
    program_without(cells, "functions give scalars");
    program_without(|g| g.functions[0].body.stmts.push(bind(30, Op::Extent(size(1)))), "before a filter counts it");
    program_without(|g| g.name = "1st".into(), "is not an identifier");
}

#[test]
fn sizes_are_declared_and_counted_once() {
    program_without(|g| g.body.stmts.push(bind(30, Op::Extent(size(2)))), "number 2 is not declared");
    program_without(|g| g.requires.push(Require::NonEmpty(size(9))), "number 9 is not declared");
    program_without(|g| g.requires.push(Require::Equal(size(0), Size::CeilDiv(size(0).into(), 0))), "divided by 0");
    program_without(|g| g.sizes[1].name = "N".into(), "two sizes are called `N`");
    let other = |g: &mut Program| {
        g.sizes.push(decl("Other", SizeOrigin::Counted));
        g.requires.push(Require::Equal(size(0), size(2)));
    };
    program_without(other, "a requirement mentions the size `Other`, which no filter counts");
    program_without(|g| g.sizes[1].origin = SizeOrigin::Given, "which is given by the call");
    program_without(|g| g.body.stmts.insert(0, bind(30, Op::Extent(size(1)))), "`Kept` is used before");
    program_without(|g| g.body.params.push(var(30, array(1))), "`Kept` is used before");
    let filter = |first: u32| {
        let yes = Stmt { binds: vec![var(first + 1, Type::Scalar(Ty::Bool))], op: Op::Const(Scalar::bool(true)) };
        let look = body(vec![int(first)], vec![yes], &[first + 1, first]);
        let op = Op::Filter { extent: size(0), body: look, kept: SizeVar(1) };
        Stmt { binds: vec![var(first + 2, array(1))], op }
    };
    program_without(|g| g.body.stmts.push(filter(30)), "another filter has counted");
    program_without(|g| inner(&mut g.body, 1)[0].stmts.push(filter(30)), "the program's own body");
    let mut deep = size(0);
    for _ in 0..MAX_NESTING + 1 {
        deep = Size::Tri(deep.into());
    }
    program_without(|g| g.requires.push(Require::NonEmpty(deep)), "nests deeper");
}

#[test]
fn nesting_has_a_bound_and_calls_count() {
    let nested = |depth: u32, first: u32| {
        let branch = |inner: Vec<Stmt>| body(vec![], inner, &[]);
        let mut stmts = vec![];
        for _ in 1..depth {
            let cond = Id(first);
            stmts = vec![act(Op::If { cond, args: vec![], then: branch(stmts), otherwise: branch(vec![]) })];
        }
        stmts
    };
    let with = |depth: u32| {
        let mut kernel = good_kernel();
        let yes = Stmt { binds: vec![var(30, Type::Scalar(Ty::Bool))], op: Op::Const(Scalar::bool(true)) };
        kernel.body.stmts.push(yes);
        kernel.body.stmts.extend(nested(depth, 30));
        verify::kernel(&kernel)
    };
    with(MAX_NESTING as u32).unwrap();
    refused(with(MAX_NESTING as u32 + 1), "nests deeper");
    refused(with(10_000), "nests deeper");
    let chain = |length: u32| {
        let mut program = Program { name: "chain".into(), ..Program::default() };
        for k in 0..length {
            let (p, r) = (2 * k, 2 * k + 1);
            let stmt = if k == 0 { add(r, p, p) } else { bind(r, Op::Call(FnId(k - 1), ids(&[p]))) };
            program.functions.push(Function { name: format!("f{k}"), body: body(vec![int(p)], vec![stmt], &[r]) });
        }
        verify::program(&program)
    };
    chain(MAX_NESTING as u32).unwrap();
    refused(chain(MAX_NESTING as u32 + 1), "nests deeper");
}

#[test]
fn memory_is_named_shaped_and_touched_as_it_allows() {
    kernel_without(|k| k.memories[1].name = "x".into(), "`x`");
    kernel_without(|k| k.memories[1].name = "a-b".into(), "is not an identifier");
    kernel_without(|k| k.memories[3].shape = vec![size(0)], "must be constant");
    kernel_without(|k| k.memories[3] = memory("own", Space::Local, vec![size(0)]), "must be constant");
    kernel_without(|k| k.memories[0].shape = vec![size(7)], "number 7 is not declared");
    kernel_without(|k| k.memories[0].space = Space::Global(Access::Write), "reads `x`");
    kernel_without(|k| k.memories[1].space = Space::Global(Access::Read), "writes to `y`");
    kernel_without(|k| k.memories[1].space = Space::Constant, "writes to `y`");
    for space in [Space::Global(Access::Write), Space::Global(Access::Read), Space::Local] {
        kernel_without(|k| k.memories[2].space = space, "`total` has no atomics");
    }
    kernel_without(
        |k| k.body.stmts[1] = bind(2, Op::Load { memory: MemId(9), index: ids(&[1]) }),
        "no memory number 9",
    );
    let mut shared = good_kernel();
    shared.memories[2].space = Space::Shared;
    verify::kernel(&shared).unwrap();
}

#[test]
fn kernels_have_blocks_that_fit_and_threads_that_meet() {
    kernel_without(|k| k.block = [0, 1, 1], "0 threads");
    kernel_without(|k| k.block = [64, 64, 1], "4096 threads");
    kernel_without(|k| k.block = [u32::MAX; 3], "must have 1 to 1024");
    kernel_without(|k| k.grid[1] = size(5), "number 5 is not declared");
    kernel_without(|k| k.body.params.push(var(30, array(0))), "kernels get arrays as memories");
    kernel_without(|k| k.body.results = ids(&[0]), "gives no results");
    kernel_without(|k| k.body.stmts.push(bind(30, Op::Place(Place::Block, 3))), "no dimension 3");
    kernel_without(|k| k.body.stmts.push(bind(30, Op::Place(Place::Lane, 1))), "no dimension 1");
    kernel_without(|k| k.body.stmts.push(act(Op::Barrier(Scope::Device))), "cannot wait for each other");
    let lanes = Op::Lanes { lo: Id(3), hi: Id(4), body: body(vec![int(30)], vec![], &[]), monoid: None };
    kernel_without(|k| inner(&mut k.body, 6)[0].stmts.push(act(lanes)), "inside another lanes loop");
    kernel_without(|k| inner(&mut k.body, 6)[0].stmts.push(act(Op::Barrier(Scope::Block))), "needs converged threads");
    let total = bind(30, Op::Subgroup(SubgroupOp::Reduce(Operator::Add), ids(&[6])));
    kernel_without(|k| inner(&mut k.body, 6)[0].stmts.push(total), "needs converged threads");
    let store = act(Op::Store { memory: MemId(1), index: ids(&[3]), values: ids(&[3]) });
    kernel_without(|k| inner(&mut k.body, 6)[1].stmts.push(store), "has an effect");
}

#[test]
fn modules_have_unique_names() {
    let programs = Module { programs: vec![good_program(), good_program()], kernels: vec![] };
    refused(verify::module(&programs), "two programs are called `good`");
    let kernels = Module { programs: vec![], kernels: vec![good_kernel(), good_kernel()] };
    refused(verify::module(&kernels), "two kernels are called `copy`");
}

fn buffers(plan: &mut Plan, step: usize) -> &mut Vec<BufferId> {
    match &mut plan.steps[step] {
        Step::Launch { buffers, .. } => buffers,
        other => panic!("not a launch: {other:?}"),
    }
}

#[test]
fn plans_bind_what_fits() {
    plan_without(|p| p.kernels[0].block = [0, 1, 1], "0 threads");
    plan_without(|p| p.sizes[0].name = "M".into(), "are not those of the plan");
    plan_without(|p| p.buffers[0].role = BufferUse::Argument(1), "argument 1 is a scalar");
    plan_without(|p| p.buffers[0].role = BufferUse::Argument(5), "there is no argument 5");
    plan_without(|p| p.buffers[0].shape = vec![], "another type or shape");
    plan_without(|p| p.buffers[1].role = BufferUse::Result(0), "is not what the plan gives back");
    plan_without(|p| p.buffers[1].ty = Ty::F32, "but buffer 1 holds f32");
    plan_without(|p| *buffers(p, 0) = vec![BufferId(0)], "3 memories are bound to 1 buffers");
    plan_without(|p| buffers(p, 0)[1] = BufferId(8), "there is no buffer 8");
    plan_without(|p| p.params[1].ty = Type::Scalar(Ty::F32), "argument 1 is not what the parameter %0 takes");
    plan_without(|p| p.steps[0] = Step::Launch { kernel: 3, buffers: vec![], scalars: vec![] }, "no kernel number 3");
    let shrunk = |p: &mut Plan| {
        p.buffers[1].shape = vec![Size::Const(4)];
        p.kernels[0].memories[1].shape = vec![Size::Const(5)];
    };
    plan_without(shrunk, "has 5 elements, but buffer 1 has 4");
}

#[test]
fn plans_read_what_is_there() {
    plan_without(|p| buffers(p, 0)[1] = BufferId(0), "which is an argument");
    plan_without(|p| buffers(p, 2)[1] = BufferId(1), "another memory of the launch shares");
    plan_without(|p| buffers(p, 0)[0] = BufferId(3), "read before anything is written");
    plan_without(|p| p.steps.swap(2, 3), "used after it is freed");
    plan_without(|p| p.steps.push(Step::Free(BufferId(1))), "used after it is freed");
    plan_without(|p| p.steps.push(Step::Free(BufferId(3))), "belongs to the caller");
    plan_without(|p| p.steps.swap(0, 1), "buffer 2 is read before");
    plan_without(|p| p.steps[1] = Step::Count { size: SizeVar(0), from: BufferId(2) }, "given by the call");
    plan_without(|p| p.steps[1] = Step::Count { size: SizeVar(1), from: BufferId(1) }, "a single i64");
    plan_without(|p| p.steps.insert(1, Step::Count { size: SizeVar(1), from: BufferId(2) }), "a second time");
    plan_without(|p| drop(p.steps.remove(1)), "`Kept` is used before it is counted");
    plan_without(|p| p.kernels[0].grid[1] = size(1), "`Kept` is used before it is counted");
    plan_without(|p| drop(p.steps.remove(2)), "buffer 3 is read before");
}
