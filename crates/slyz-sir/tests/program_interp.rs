//! Small programs run on the interpreter, each beside the plain Rust it means.

use slyz_sir::build::{BuildError, Builder, Region};
use slyz_sir::code::{Body, Id, Monoid, Op, Stmt, Type, Var};
use slyz_sir::interp::kernel::run_plan;
use slyz_sir::interp::program::{InterpError, Options, run, run_with, solve_sizes};
use slyz_sir::interp::{Array, Value};
use slyz_sir::lower::cpu::lower;
use slyz_sir::ops::Operator;
use slyz_sir::program::{Program, Require};
use slyz_sir::size::{Size, SizeOrigin};
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::verify;

type Built<T> = Result<T, BuildError>;

const POSITION: Type = Type::Scalar(Ty::I64);

fn floats(shape: &[u64], values: &[f32]) -> Value {
    let data = values.iter().map(|v| v.to_bits() as u64).collect();
    Value::Array(Array { ty: Ty::F32, shape: shape.to_vec(), data })
}

fn ints(shape: &[u64], values: &[i32]) -> Value {
    let data = values.iter().map(|&v| v as u32 as u64).collect();
    Value::Array(Array { ty: Ty::I32, shape: shape.to_vec(), data })
}

fn int(value: i32) -> Value {
    Value::Scalar(Scalar::from_int(Ty::I32, value as i128))
}

fn as_floats(value: &Value) -> Vec<f32> {
    let Value::Array(array) = value else { panic!("not an array: {value:?}") };
    array.data.iter().map(|&bits| f32::from_bits(bits as u32)).collect()
}

fn given(b: &mut Builder, name: &str) -> Size {
    Size::Var(b.add_size(name, SizeOrigin::Given))
}

/// The monoid of an operator of the table.
fn monoid(b: &mut Builder, operator: Operator, ty: Ty) -> Built<Monoid> {
    let row = operator.row();
    let neutral = b.constant(row.identity.at(ty).expect("the operator has an identity"))?;
    let pair = b.open(Region::Loop, &[Type::Scalar(ty), Type::Scalar(ty)]);
    let both = b.apply(operator, &pair)?;
    let combine = b.close(&[both])?;
    Ok(Monoid { neutral: vec![neutral], combine, commutative: row.commutative })
}

/// Runs a program that the verifier likes, and what it is lowered to: both must verify and agree to the bit.
fn ran(program: &Program, sizes: &[Option<u64>], args: &[Value]) -> Vec<Value> {
    verify::program(program).unwrap();
    let results = run(program, sizes, args).unwrap();
    let plan = lower(program);
    verify::plan(&plan).unwrap();
    let sizes = solve_sizes(program, sizes, args).unwrap();
    assert_eq!(run_plan(&plan, &sizes, args).as_ref(), Ok(&results), "lowered for the CPU");
    results
}

/// `y[i] = x[i] * x[i] + c`
fn square_plus() -> Built<Program> {
    let mut b = Builder::new("square_plus");
    let n = given(&mut b, "N");
    let x = b.param(Type::Array(Ty::I32, vec![n.clone()]));
    let c = b.param(Type::Scalar(Ty::I32));
    let i = b.open(Region::Loop, &[POSITION]);
    let v = b.at(x, &i)?;
    let y = b.apply(Operator::Fma, &[v, v, c])?;
    let body = b.close(&[y])?;
    let y = b.tabulate(vec![n], body)?;
    b.finish(&y)
}

#[test]
fn map() -> Built<()> {
    let program = square_plus()?;
    let y = ran(&program, &[None], &[ints(&[3], &[1, 2, -3]), int(10)]);
    assert_eq!(y, [ints(&[3], &[11, 14, 19])]);
    assert_eq!(ran(&program, &[Some(0)], &[ints(&[0], &[]), int(10)]), [ints(&[0], &[])]);
    Ok(())
}

#[test]
fn matmul() -> Built<()> {
    let mut b = Builder::new("matmul");
    let [m, k, n] = ["M", "K", "N"].map(|name| given(&mut b, name));
    let x = b.param(Type::Array(Ty::F32, vec![m.clone(), k.clone()]));
    let y = b.param(Type::Array(Ty::F32, vec![k.clone(), n.clone()]));
    let add = monoid(&mut b, Operator::Add, Ty::F32)?;
    let ij = b.open(Region::Loop, &[POSITION, POSITION]);
    let l = b.open(Region::Loop, &[POSITION]);
    let u = b.at(x, &[ij[0], l[0]])?;
    let v = b.at(y, &[l[0], ij[1]])?;
    let p = b.apply(Operator::Mul, &[u, v])?;
    let body = b.close(&[p])?;
    let dot = b.fold(vec![k], body, add)?;
    let body = b.close(&dot)?;
    let z = b.tabulate(vec![m, n], body)?;
    let program = b.finish(&z)?;

    let x = floats(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let y = floats(&[3, 2], &[1.0, 0.0, 0.0, 1.0, 2.0, 2.0]);
    assert_eq!(ran(&program, &[None; 3], &[x, y]), [floats(&[2, 2], &[7.0, 8.0, 16.0, 17.0])]);
    // An inner axis without positions: every element is the neutral one, the zero that leaves -0.0 alone.
    let empty = ran(&program, &[None; 3], &[floats(&[1, 0], &[]), floats(&[0, 2], &[])]);
    assert_eq!(empty, [floats(&[1, 2], &[-0.0, -0.0])]);
    // Axes that do not meet.
    let wrong = run(&program, &[None; 3], &[floats(&[1, 2], &[1.0; 2]), floats(&[1, 1], &[1.0])]);
    assert!(matches!(&wrong, Err(InterpError::Argument { place: 1, why }) if why.contains("K is 2")), "{wrong:?}");
    Ok(())
}

/// Each row is an array inside the outer tabulate's body.
#[test]
fn softmax() -> Built<()> {
    let mut b = Builder::new("softmax");
    let (r, c) = (given(&mut b, "R"), given(&mut b, "C"));
    let x = b.param(Type::Array(Ty::F32, vec![r.clone(), c.clone()]));
    let (max, add) = (monoid(&mut b, Operator::Max, Ty::F32)?, monoid(&mut b, Operator::Add, Ty::F32)?);
    let i = b.open(Region::Loop, &[POSITION])[0];
    let j = b.open(Region::Loop, &[POSITION])[0];
    let v = b.at(x, &[i, j])?;
    let body = b.close(&[v])?;
    let top = b.fold(vec![c.clone()], body, max)?[0];
    let j = b.open(Region::Loop, &[POSITION])[0];
    let v = b.at(x, &[i, j])?;
    let v = b.apply(Operator::Sub, &[v, top])?;
    let v = b.apply(Operator::Exp, &[v])?;
    let body = b.close(&[v])?;
    let e = b.tabulate(vec![c.clone()], body)?[0];
    let j = b.open(Region::Loop, &[POSITION]);
    let v = b.at(e, &j)?;
    let body = b.close(&[v])?;
    let sum = b.fold(vec![c.clone()], body, add)?[0];
    let j = b.open(Region::Loop, &[POSITION]);
    let v = b.at(e, &j)?;
    let v = b.apply(Operator::Div, &[v, sum])?;
    let body = b.close(&[v])?;
    let row = b.tabulate(vec![c], body)?;
    let body = b.close(&row)?;
    let rows = b.tabulate(vec![r], body)?;
    let program = b.finish(&rows)?;

    let y = ran(&program, &[None; 2], &[floats(&[2, 2], &[0.0, 0.0, 1.0, 1.0 + 3f32.ln()])]);
    let y = as_floats(&y[0]);
    for (found, want) in y.iter().zip([0.5, 0.5, 0.25, 0.75]) {
        assert!((found - want).abs() < 1e-6, "{y:?}");
    }
    assert_eq!(ran(&program, &[None; 2], &[floats(&[0, 5], &[])]), [floats(&[0, 5], &[])]);
    assert_eq!(ran(&program, &[None; 2], &[floats(&[3, 0], &[])]), [floats(&[3, 0], &[])]);
    Ok(())
}

#[test]
fn scan_rows() -> Built<()> {
    let mut b = Builder::new("cumsum");
    let (r, c) = (given(&mut b, "R"), given(&mut b, "C"));
    let x = b.param(Type::Array(Ty::I32, vec![r.clone(), c.clone()]));
    let add = monoid(&mut b, Operator::Add, Ty::I32)?;
    let ij = b.open(Region::Loop, &[POSITION, POSITION]);
    let v = b.at(x, &ij)?;
    let body = b.close(&[v])?;
    let y = b.scan(vec![r, c], body, add)?;
    let program = b.finish(&y)?;
    let y = ran(&program, &[None; 2], &[ints(&[2, 3], &[1, 2, 3, 10, 20, 30])]);
    assert_eq!(y, [ints(&[2, 3], &[1, 3, 6, 10, 30, 60])]);
    assert_eq!(ran(&program, &[None; 2], &[ints(&[2, 0], &[])]), [ints(&[2, 0], &[])]);
    Ok(())
}

#[test]
fn histogram_drops_what_falls_outside() -> Built<()> {
    let mut b = Builder::new("histogram");
    let n = given(&mut b, "N");
    let x = b.param(Type::Array(Ty::I32, vec![n.clone()]));
    let add = monoid(&mut b, Operator::Add, Ty::I32)?;
    let one = b.constant(Scalar::from_int(Ty::I32, 1))?;
    let i = b.open(Region::Loop, &[POSITION]);
    let v = b.at(x, &i)?;
    let bin = b.cast(Ty::I64, v)?;
    let body = b.close(&[bin, one])?;
    let y = b.scatter(vec![n], body, vec![Size::Const(4)], add)?;
    let program = b.finish(&y)?;
    let y = ran(&program, &[None], &[ints(&[7], &[0, 3, 3, -1, 4, 1, 3])]);
    assert_eq!(y, [ints(&[4], &[1, 1, 0, 3])]);
    Ok(())
}

/// The positive elements and their sum of neighbours' positions: uses the counted size after the filter.
#[test]
fn filter_counts_its_size() -> Built<()> {
    let mut b = Builder::new("positives");
    let n = given(&mut b, "N");
    let kept = b.add_size("Kept", SizeOrigin::Counted);
    b.require(Require::NonEmpty(Size::Var(kept)));
    let x = b.param(Type::Array(Ty::I32, vec![n.clone()]));
    let zero = b.constant(Scalar::from_int(Ty::I32, 0))?;
    let i = b.open(Region::Loop, &[POSITION]);
    let v = b.at(x, &i)?;
    let keep = b.apply(Operator::Gt, &[v, zero])?;
    let body = b.close(&[keep, v, i[0]])?;
    let found = b.filter(n, body, kept)?;
    let count = b.extent(Size::Var(kept))?;
    let i = b.open(Region::Loop, &[POSITION]);
    let v = b.at(found[0], &i)?;
    let v = b.apply(Operator::Neg, &[v])?;
    let body = b.close(&[v])?;
    let negated = b.tabulate(vec![Size::Var(kept)], body)?[0];
    let program = b.finish(&[negated, found[1], count])?;
    let y = ran(&program, &[None; 2], &[ints(&[5], &[3, -1, 0, 7, 9])]);
    let at = Array { ty: Ty::I64, shape: vec![3], data: vec![0, 3, 4] };
    assert_eq!(y, [ints(&[3], &[-3, -7, -9]), Value::Array(at), Value::Scalar(Scalar::i64(3))]);
    // The requirement is checked when the filter has counted.
    let none = run(&program, &[None; 2], &[ints(&[1], &[-5])]);
    assert_eq!(none, Err(InterpError::Require("that Kept is not 0".into())));
    let told = run(&program, &[None, Some(1)], &[ints(&[1], &[5])]);
    assert_eq!(told, Err(InterpError::SizeCounted("Kept".into())));
    Ok(())
}

/// Collatz steps per element: `while` with an `if` inside.
fn collatz() -> Built<Program> {
    let mut b = Builder::new("collatz");
    let int = Type::Scalar(Ty::I32);
    let [zero, one, two, three] = [0, 1, 2, 3].map(|v| b.constant(Scalar::from_int(Ty::I32, v)));
    let (zero, one, two, three) = (zero?, one?, two?, three?);
    let x = b.param(int.clone());
    let s = b.open(Region::Loop, &[int.clone(), int.clone()]);
    let more = b.apply(Operator::Ne, &[s[0], one])?;
    let cond = b.close(&[more])?;
    let s = b.open(Region::Loop, &[int.clone(), int.clone()]);
    let rest = b.apply(Operator::Rem, &[s[0], two])?;
    let even = b.apply(Operator::Eq, &[rest, zero])?;
    let v = b.open(Region::Branch, std::slice::from_ref(&int));
    let half = b.apply(Operator::Div, &[v[0], two])?;
    let then = b.close(&[half])?;
    let v = b.open(Region::Branch, &[int]);
    let next = b.apply(Operator::Fma, &[v[0], three, one])?;
    let otherwise = b.close(&[next])?;
    let next = b.make(Op::If { cond: even, args: vec![s[0]], then, otherwise })?[0];
    let steps = b.apply(Operator::Add, &[s[1], one])?;
    let body = b.close(&[next, steps])?;
    let end = b.make(Op::While { init: vec![x, zero], cond, body })?;
    b.finish(&end[1..])
}

#[test]
fn loops_branches_and_rank_0() -> Built<()> {
    let program = collatz()?;
    assert_eq!(ran(&program, &[], &[int(27)]), [int(111)]);
    assert_eq!(ran(&program, &[], &[int(1)]), [int(0)]);
    // 0 never becomes 1.
    let options = Options { turns: Some(10_000), ..Options::default() };
    assert_eq!(run_with(&program, &[], &[int(0)], &options), Err(InterpError::Budget(10_000)));
    Ok(())
}

/// Where they are refused, a denormal number ends the run where it comes up: as an argument's element or as a result.
#[test]
fn denormals_are_refused() {
    let text = "program halves<N>(%x: f32[N]) -> f32[N] {
        %half: f32 = const 0.5
        %y: f32[N] = tabulate [N] |%i: i64| { %a: f32 = at %x[%i]  %b: f32 = mul %a, %half  yield %b }
        return %y }";
    let program = slyz_sir::text::parse_program(text).expect("a program");
    let options = Options { refuse_denormals: true, ..Options::default() };
    let outcome = |x: f32| {
        let x = Value::Array(Array { ty: Ty::F32, shape: vec![1], data: vec![x.to_bits().into()] });
        run_with(&program, &[None], &[x], &options)
    };
    for fine in [0.0, -0.0, 1.0, 2.0 * f32::MIN_POSITIVE, f32::INFINITY, f32::NAN] {
        assert!(outcome(fine).is_ok(), "{fine}");
    }
    for refused in [f32::MIN_POSITIVE, -f32::MIN_POSITIVE, f32::MIN_POSITIVE / 2.0, f32::from_bits(1)] {
        assert!(matches!(outcome(refused), Err(InterpError::Denormal { .. })), "{refused}");
    }
}

#[test]
fn counted_loops_and_functions() -> Built<()> {
    let mut b = Builder::new("triangle");
    let t = Type::Scalar(Ty::I32);
    let p = b.open_function("square", std::slice::from_ref(&t));
    let v = b.apply(Operator::Mul, &[p[0], p[0]])?;
    let square = b.close_function(&[v])?;
    let p = b.open_function("square_add", &[t.clone(), t.clone()]);
    let v = b.call(square, &p[1..])?[0];
    let v = b.apply(Operator::Add, &[p[0], v])?;
    let square_add = b.close_function(&[v])?;
    let hi = b.param(t.clone());
    let [zero, two] = [0, 2].map(|v| b.constant(Scalar::from_int(Ty::I32, v)));
    let (zero, two) = (zero?, two?);
    let s = b.open(Region::Loop, &[t.clone(), t]);
    let next = b.call(square_add, &[s[1], s[0]])?;
    let body = b.close(&next)?;
    let sum = b.make(Op::For { lo: zero, hi, step: two, init: vec![zero], body })?;
    let program = b.finish(&sum)?;
    assert_eq!(ran(&program, &[], &[int(7)]), [int(4 + 16 + 36)]);
    assert_eq!(ran(&program, &[], &[int(-7)]), [int(0)]);
    Ok(())
}

#[test]
fn a_fold_of_two_axes_goes_in_row_major_order() -> Built<()> {
    // `(a, b) ↦ b` where b is not -1: the last element wins, so the order shows.
    let mut b = Builder::new("last");
    let (r, c) = (given(&mut b, "R"), given(&mut b, "C"));
    let x = b.param(Type::Array(Ty::I32, vec![r.clone(), c.clone()]));
    let none = b.constant(Scalar::from_int(Ty::I32, -1))?;
    let pair = b.open(Region::Loop, &[Type::Scalar(Ty::I32), Type::Scalar(Ty::I32)]);
    let is_none = b.apply(Operator::Eq, &[pair[1], none])?;
    let last = b.apply(Operator::Select, &[is_none, pair[0], pair[1]])?;
    let combine = b.close(&[last])?;
    let ij = b.open(Region::Loop, &[POSITION, POSITION]);
    let v = b.at(x, &ij)?;
    let body = b.close(&[v])?;
    let y = b.fold(vec![r, c], body, Monoid { neutral: vec![none], combine, commutative: false })?;
    let program = b.finish(&y)?;
    assert_eq!(ran(&program, &[None; 2], &[ints(&[2, 3], &[1, 2, 3, 4, 5, -1])]), [int(5)]);
    let long: Vec<i32> = (0..20_000).collect();
    assert_eq!(ran(&program, &[None; 2], &[ints(&[100, 200], &long)]), [int(19_999)]);
    assert_eq!(ran(&program, &[None; 2], &[ints(&[0, 3], &[])]), [int(-1)]);
    Ok(())
}

#[test]
fn calls_that_do_not_fit() -> Built<()> {
    let program = square_plus()?;
    let x = || ints(&[2], &[1, 2]);
    let fails = |sizes: &[Option<u64>], args: &[Value]| run(&program, sizes, args).unwrap_err();
    assert_eq!(fails(&[], &[x(), int(1)]), InterpError::SizeCount { expected: 1, found: 0 });
    assert_eq!(fails(&[None], &[x()]), InterpError::ArgumentCount { expected: 2, found: 1 });
    assert!(matches!(fails(&[None], &[x(), x()]), InterpError::Argument { place: 1, .. }));
    assert!(matches!(fails(&[Some(3)], &[x(), int(1)]), InterpError::Argument { place: 0, .. }));
    assert!(matches!(fails(&[None], &[floats(&[2], &[1.0; 2]), int(1)]), InterpError::Argument { place: 0, .. }));
    assert!(matches!(fails(&[None], &[ints(&[2, 1], &[1, 2]), int(1)]), InterpError::Argument { place: 0, .. }));
    assert!(matches!(fails(&[None], &[ints(&[3], &[1, 2]), int(1)]), InterpError::Argument { place: 0, .. }));
    assert!(matches!(fails(&[None], &[int(1), int(1)]), InterpError::SizeUnknown(name) if name == "N"));
    let wide = Value::Array(Array { ty: Ty::I32, shape: vec![1], data: vec![1 << 40] });
    assert!(matches!(fails(&[None], &[wide, int(1)]), InterpError::Argument { place: 0, .. }));
    Ok(())
}

#[test]
fn requirements_name_their_sizes() -> Built<()> {
    let mut b = Builder::new("needs");
    let (n, m) = (given(&mut b, "N"), given(&mut b, "M"));
    b.require(Require::NonEmpty(n.clone()));
    b.require(Require::Equal(n.clone(), m.clone() * Size::Const(2)));
    b.require(Require::AtMost(m.clone(), Size::Const(4)));
    let program = b.finish(&[])?;
    let at = |n, m| run(&program, &[Some(n), Some(m)], &[]).map_err(|e| e.to_string());
    assert_eq!(at(8, 4), Ok(vec![]));
    assert_eq!(at(0, 0), Err("the program requires that N is not 0".into()));
    assert_eq!(at(8, 3), Err("the program requires N (here 8) to equal (M * 2) (here 6)".into()));
    assert_eq!(at(10, 5), Err("the program requires M (here 5) to be at most 4 (here 4)".into()));
    let huge = run(&program, &[Some(u64::MAX), Some(1)], &[]);
    assert!(matches!(huge, Err(InterpError::Size { .. })));
    Ok(())
}

#[test]
fn arrays_past_memory_are_an_error() -> Built<()> {
    let mut b = Builder::new("zeros");
    let (n, m) = (given(&mut b, "N"), given(&mut b, "M"));
    let ij = b.open(Region::Loop, &[POSITION, POSITION]);
    let body = b.close(&ij[..1])?;
    let y = b.tabulate(vec![n, m], body)?;
    let program = b.finish(&y)?;
    let fails = |n, m, options: &Options| run_with(&program, &[Some(n), Some(m)], &[], options).unwrap_err();
    let id = y[0];
    let none = Options::default();
    assert_eq!(fails(1 << 31, 1 << 31, &none), InterpError::OutOfMemory { id, elements: 1 << 62 });
    assert_eq!(fails(1 << 40, 1 << 40, &none), InterpError::OutOfMemory { id, elements: u64::MAX });
    let few = Options { elements: Some(10), ..none };
    assert_eq!(fails(11, 1, &few), InterpError::OutOfMemory { id, elements: 11 });
    Ok(())
}

fn var(id: u32, ty: Type) -> Var {
    Var { id: Id(id), ty }
}

fn stmt(id: u32, ty: Ty, op: Op) -> Stmt {
    Stmt { binds: vec![var(id, Type::Scalar(ty))], op }
}

/// A program by hand, with whatever is wrong in it.
fn by_hand(params: Vec<Var>, stmts: Vec<Stmt>, result: u32) -> Program {
    Program { name: "by_hand".into(), body: Body { params, stmts, results: vec![Id(result)] }, ..Program::default() }
}

#[test]
fn a_read_outside_is_reported() {
    let program = by_hand(
        vec![var(0, Type::Array(Ty::I32, vec![Size::Const(2)]))],
        vec![
            stmt(1, Ty::I64, Op::Const(Scalar::i64(2))),
            stmt(2, Ty::I32, Op::At { array: Id(0), index: vec![Id(1)] }),
        ],
        2,
    );
    let error = run(&program, &[], &[ints(&[2], &[1, 2])]).unwrap_err();
    assert_eq!(error, InterpError::OutOfBounds { array: Id(0), index: vec![2], shape: vec![2] });
    assert_eq!(error.to_string(), "%0 of shape [2] is read at [2], which is outside");
}

#[test]
fn malformed_programs_are_errors() {
    let constant = |id| stmt(id, Ty::I32, Op::Const(Scalar::from_int(Ty::I32, 1)));
    let cases = [
        vec![],
        vec![stmt(1, Ty::I32, Op::Apply(Operator::Add, vec![Id(7), Id(7)]))],
        vec![constant(0), stmt(1, Ty::I32, Op::Apply(Operator::Add, vec![Id(0)]))],
        vec![stmt(1, Ty::I64, Op::Place(slyz_sir::code::Place::Global, 0))],
        vec![stmt(1, Ty::I32, Op::Call(slyz_sir::code::FnId(3), vec![]))],
        vec![constant(0), stmt(1, Ty::F64, Op::Bitcast(Ty::F64, Id(0)))],
        vec![constant(0), stmt(1, Ty::I32, Op::At { array: Id(0), index: vec![] })],
        vec![Stmt { binds: vec![], op: Op::Const(Scalar::bool(true)) }],
        vec![constant(u32::MAX)],
    ];
    for stmts in cases {
        let program = by_hand(vec![], stmts, 1);
        let error = run(&program, &[], &[]).unwrap_err();
        assert!(matches!(error, InterpError::Malformed(_)), "{error} from {program:?}");
        assert!(verify::program(&program).is_err(), "{program:?}");
    }
}

/// Folds inside each other, as deep as is allowed and one deeper.
#[test]
fn deep_code_neither_overflows_nor_runs_forever() {
    let nested = |depth: u32| {
        let zero = stmt(0, Ty::I32, Op::Const(Scalar::from_int(Ty::I32, 1)));
        let mut body = Body { params: vec![var(1, POSITION)], stmts: vec![], results: vec![Id(0)] };
        for k in 1..depth {
            let [p, a, b, s, f] = [0, 1, 2, 3, 4].map(|j| k * 5 + j);
            let int = || Type::Scalar(Ty::I32);
            let combine = Body {
                params: vec![var(a, int()), var(b, int())],
                stmts: vec![stmt(s, Ty::I32, Op::Apply(Operator::Max, vec![Id(a), Id(b)]))],
                results: vec![Id(s)],
            };
            let monoid = Monoid { neutral: vec![Id(0)], combine, commutative: true };
            let fold = Op::Fold { shape: vec![Size::Const(1)], body, monoid };
            body = Body { params: vec![var(p, POSITION)], stmts: vec![stmt(f, Ty::I32, fold)], results: vec![Id(f)] };
        }
        body.stmts.insert(0, zero);
        body.params.clear();
        Program { name: "deep".into(), body, ..Program::default() }
    };
    let deep = nested(slyz_sir::nesting::MAX_NESTING as u32);
    assert_eq!(ran(&deep, &[], &[]), [int(1)]);
    let deeper = nested(slyz_sir::nesting::MAX_NESTING as u32 + 1);
    assert!(matches!(run(&deeper, &[], &[]), Err(InterpError::TooDeep(_))));
    assert!(verify::program(&deeper).is_err());
}
