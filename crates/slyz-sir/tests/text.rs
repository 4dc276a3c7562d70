//! The text form: what is printed parses, to the same value; what is wrong is an error at its place; nothing panics.

use slyz_sir::code::{Id, Op, Type};
use slyz_sir::interp::{Array, Value};
use slyz_sir::kernel::{Buffer, BufferId, BufferUse, Plan, ScalarArg, Step};
use slyz_sir::ops::TABLE;
use slyz_sir::program::Require;
use slyz_sir::size::{Size, SizeOrigin, SizeVar};
use slyz_sir::text::{self, Subject};
use slyz_sir::threads::Threads;
use slyz_sir::types::{Scalar, Ty};

/// Every operation of the program level, in the form that printing gives.
const PROGRAM: &str = "\
program every<N, M, counted Kept>(%0: f32[N], %1: f32[N, M], %2: f32) -> (f32[N], f32, f32[Kept], i32[16])
  requires nonempty N, N == (M * 2), M <= (N + tri(M)) {
  fn norm(%3: f32) -> f32 {
    %4: f32 = abs %3
    return %4
  }
  fn both(%5: f32, %6: f32) -> (f32, f32) {
    %7: f32 = call norm(%5)
    return %6, %7
  }
  %8: f32 = const 2.5
  %9: i64 = extent ceil(min(N, M) / 4)
  %10: f32 = add %8, %2
  %11: u32 = cast %9
  %12: u32 = bitcast %10
  %13: f32, %14: f32 = call both(%10, %8)
  %15: f32[N] = tabulate [N] |%16: i64| { %17: f32 = at %0[%16]; yield %17 }
  %18: f32[N, M] = tabulate [N, M] |%19: i64, %20: i64| {
    %21: f32 = at %1[%19, %20]
    %22: f32 = fold [M] |%23: i64| { %24: f32 = at %1[%19, %23]; yield %24 } with commutative (%8) |%25: f32, %26: f32| { %27: f32 = max %25, %26; yield %27 }
    %28: f32 = sub %21, %22
    yield %28
  }
  %29: f32 = fold [N, M] |%30: i64, %31: i64| { yield %8 } with (%8) |%32: f32, %33: f32| { yield %33 }
  %34: f32[N] = scan [N] |%35: i64| { yield %8 } with (%8) |%36: f32, %37: f32| { %38: f32 = add %36, %37; yield %38 }
  %39: i32 = const -7
  %40: i32[16] = scatter [N] into [16] |%41: i64| { yield %41, %39 } with commutative (%39) |%42: i32, %43: i32| { %44: i32 = add %42, %43; yield %44 }
  %45: f32[Kept] = filter N as Kept |%46: i64| {
    %47: f32 = at %0[%46]
    %48: bool = lt %47, %8
    yield %48, %47
  }
  %49: bool = const true
  %50: f32 = if %49 (%9, %9) |%51: i64, %52: i64| { yield %8 } else |%53: i64, %54: i64| { yield %2 }
  %55: u32 = const 1
  %56: f32 = for %55 to %11 step %55 (%8) |%57: u32, %58: f32| { %59: f32 = mul %58, %58; yield %59 }
  %60: f32, %61: u32 = while (%8, %55) |%62: f32, %63: u32| { %64: bool = lt %63, %11; yield %64 } do |%65: f32, %66: u32| { yield %65, %66 }
  return %15, %29, %45, %40
}
";

/// Every operation of the kernel level.
const KERNEL: &str = "\
kernel every<N, M>(%0: f32, %1: u8) grid [ceil(N / 16), M, 1] block [16, 16, 1] {
  global read a: f32[N, M]
  global write c: f32[N, M]
  global readwrite total: i32[]
  constant w: f32[4]
  shared t: f32[16, 17]
  scratch e: f32[M]
  local s: f32[4]
  fn twice(%2: f32) -> f32 {
    %3: f32 = add %2, %2
    return %3
  }
  %4: i64 = global.x
  %5: i64 = local.y
  %6: i64 = block.z
  %7: i64 = block_dim.x
  %8: i64 = grid_dim.y
  %9: i64 = lane
  %10: i64 = subgroup_size
  %11: f32 = load a[%4, %5]
  %12: f32, %13: f32, %14: f32, %15: f32 = load w[%6]
  store c[%4, %5], %11
  store s[%7], %12, %13, %14, %15
  %16: i32 = const 1
  %17: i32 = atomic add total[], %16
  %18: i32 = atomic exchange total[], %16
  %19: i32 = atomic compare_exchange total[], %16, %17
  %20: i32 = atomic load total[]
  %21: i32 = atomic store total[], %16
  %22: i32 = atomic min total[], %16
  barrier block
  barrier subgroup
  fence device
  %23: f32 = subgroup reduce add %11
  %24: f32 = subgroup scan max %11
  %25: f32 = subgroup shuffle %11, %9
  %26: f32 = subgroup shuffle_xor %11, %9
  %27: f32 = subgroup shuffle_up %11, %9
  %28: f32 = subgroup shuffle_down %11, %9
  %29: f32 = subgroup broadcast %11
  %30: bool = lt %11, %12
  %31: u64 = subgroup ballot %30
  %32: bool = subgroup any %30
  %33: bool = subgroup all %30
  if %30 { store c[%4, %5], %12 } else {}
  for %4 to %5 step %6 |%34: i64| {
    if %32 {
      %35: f32 = call twice(%11)
      store e[%34], %35
    } else {}
  }
  lanes %4 to %5 |%36: i64| { store e[%36], %11 }
  %37: f32 = lanes %4 to %5 |%38: i64| { %39: f32 = load t[%38, %38]; yield %39 } with commutative (%12) |%40: f32, %41: f32| { %42: f32 = add %40, %41; yield %42 }
}
";

#[test]
fn every_operation_survives_the_round_trip() {
    let program = text::parse_program(PROGRAM).unwrap();
    assert_eq!(program.to_string(), PROGRAM);
    let kernel = text::parse_kernel(KERNEL).unwrap();
    assert_eq!(kernel.to_string(), KERNEL);
    let both = format!("{PROGRAM}\n{KERNEL}");
    let module = text::parse_module(&both).unwrap();
    assert_eq!(text::print_module(&module), both);
    assert_eq!(module.programs, [program]);
    assert_eq!(module.kernels, [kernel]);
    assert_eq!(text::parse_module("").unwrap().to_string(), "");
}

#[test]
fn parsing_gives_the_value_that_is_written() {
    let program = text::parse_program(PROGRAM).unwrap();
    assert_eq!(program.sizes[2].origin, SizeOrigin::Counted);
    let (n, m) = (Size::Var(SizeVar(0)), Size::Var(SizeVar(1)));
    assert_eq!(program.requires[0], Require::NonEmpty(n.clone()));
    assert_eq!(program.requires[1], Require::Equal(n.clone(), Size::Mul(m.clone().into(), Size::Const(2).into())));
    assert_eq!(program.body.params[1].ty, Type::Array(Ty::F32, vec![n, m]));
    assert_eq!(program.body.stmts[0].op, Op::Const(Scalar::f32(2.5)));
    assert_eq!(program.body.stmts[3].op, Op::Cast(Ty::U32, Id(9)));
}

#[test]
fn numbering_is_normal_after_printing() {
    let mut program = text::parse_program(PROGRAM).unwrap();
    let mut fresh = program.fresh_ids();
    for function in &mut program.functions {
        function.body = function.body.freshened(&mut fresh);
    }
    program.body = program.body.freshened(&mut fresh);
    assert_ne!(program, text::parse_program(PROGRAM).unwrap());
    assert_eq!(program.to_string(), PROGRAM);
}

#[test]
fn names_by_hand_and_comments_and_layout_are_free() {
    let source =
        "// a comment\nprogram f<min, nonempty>(%x: f32[min]) -> (f32[min]) requires nonempty == min { // another
        %y: f32[min] = tabulate [min] |%i: i64| { %a: f32 = at %x[%i] %b: f32 = neg %a yield %b }
        %z: f32[min] = tabulate [min] |%i: i64| { %a: f32 = at %y[%i]; yield %a; }
        return %z }";
    // The `;` behind `yield` is not in the grammar.
    assert_eq!(text::parse_program(source).unwrap_err().line, 4);
    let program = text::parse_program(&source.replace("%a; }", "%a }")).unwrap();
    let printed = program.to_string();
    assert!(printed.contains("requires nonempty == min"), "{printed}");
    assert_eq!(text::parse_program(&printed).unwrap(), program);
}

#[test]
fn operators_are_no_keywords() {
    for row in TABLE {
        let text = format!("program f(%0: f32) -> f32 {{\n  %1: f32 = {} %0\n  return %1\n}}\n", row.name);
        assert_eq!(text::parse_program(&text).unwrap().to_string(), text);
    }
}

#[test]
fn constants_keep_their_bits() {
    let round_trip = |scalar: Scalar| {
        let value = Value::Scalar(scalar);
        let printed = text::print_value(&value);
        let (ty, literal) = printed.split_once(' ').unwrap();
        let source = format!("program f() -> {ty} {{\n  %0: {ty} = const {literal}\n  return %0\n}}\n");
        let program = text::parse_program(&source).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(program.body.stmts[0].op, Op::Const(scalar), "{source}");
        assert_eq!(program.to_string(), source);
    };
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for ty in Ty::ALL {
        let edges = [0, 1, 2, u64::MAX, u64::MAX >> 1, 1 << 63, 0x8000, 0x8000_0000, 0x7f80_0000, 0xff80_0000];
        let nans = [0x7fc0_0000, 0x7fc0_0001, 0xffc0_0000, 0x7e00, 0x7e01, 0xfe00, 0x7fc0, 0x7ff8 << 48, 0xfff8 << 48];
        for bits in edges.into_iter().chain(nans).chain((0..2000).map(|_| random(&mut state))) {
            round_trip(Scalar::from_bits(ty, bits));
        }
    }
    let shown = |ty, x| text::print_value(&Value::Scalar(Scalar::from_f64(ty, x)));
    assert_eq!(shown(Ty::F32, -0.0), "f32 -0.0");
    assert_eq!(shown(Ty::F32, 0.1), "f32 0.1");
    assert_eq!(shown(Ty::F16, 0.1), "f16 0.1");
    assert_eq!(shown(Ty::BF16, 1e38), "bf16 1e38");
    assert_eq!(shown(Ty::F64, f64::NEG_INFINITY), "f64 -inf");
    assert_eq!(shown(Ty::F64, f64::NAN), "f64 nan");
    assert_eq!(text::print_value(&Value::Scalar(Scalar::from_bits(Ty::F32, 0x7fc0_0001))), "f32 bits 0x7fc00001");
}

#[test]
fn broken_code_prints() {
    let mut program = text::parse_program("program f(%0: f32) -> f32 { return %0 }").unwrap();
    program.body.results = vec![Id(7)];
    assert_eq!(program.to_string(), "program f(%0: f32) -> unbound7 {\n  return %unbound7\n}\n");
    // A type that disagrees with the binder is shown, and kept.
    let source = "program f() -> f32 {\n  %0: f32 = const f64 1.5\n  %1: f32 = cast u8 %0\n  return %1\n}\n";
    assert_eq!(text::parse_program(source).unwrap().to_string(), source);
}

#[test]
fn plans_are_readable() {
    let n = || Size::Var(SizeVar(0));
    let kernel = text::parse_kernel(
        "kernel scale<N>(%0: f32) grid [N, 1, 1] block [1, 1, 1] { global read x: f32[N] local t: f32[1] global write y: f32[N] }",
    )
    .unwrap();
    let program = text::parse_program("program g<N>(%0: f32[N], %1: f32) -> f32 { return %1 }").unwrap();
    let buffer = |role| Buffer { ty: Ty::F32, shape: vec![n()], role };
    let plan = Plan {
        name: "g".to_string(),
        sizes: program.sizes,
        names: Default::default(),
        params: program.body.params,
        buffers: [BufferUse::Argument(0), BufferUse::Temporary, BufferUse::Result(0)].map(buffer).to_vec(),
        results: vec![(BufferId(2), vec![n()])],
        kernels: vec![kernel],
        steps: vec![
            Step::Launch { kernel: 0, buffers: vec![BufferId(0), BufferId(2)], scalars: vec![ScalarArg::Argument(1)] },
            Step::Count { size: SizeVar(0), from: BufferId(1) },
            Step::Free(BufferId(1)),
        ],
    };
    let expected = "\
plan g<N>(%0: f32[N], %1: f32) -> b2: f32[N] {
  b0: f32[N] argument %0
  b1: f32[N] temporary
  b2: f32[N] result 0
  launch scale(x = b0, y = b2, %0 = argument %1)
  count N from b1
  free b1
}

kernel scale<N>(%0: f32) grid [N, 1, 1] block [1, 1, 1] {
  global read x: f32[N]
  local t: f32[1]
  global write y: f32[N]
}
";
    assert_eq!(text::print_plan(&plan), expected);
}

const CASES: &str = "\
program scale<N>(%x: f32[N], %by: f32) -> (f32[N], f32) { return %x, %by }
case \"two elements\" N=2 {
  %by = f32 0.5                     // in any order
  %x = f32[2] [1.0, bits 0x7fc00001]
  expect f32[2] [3.0, -inf]
  expect f32 1.5 within 2
}
case \"empty\" { %x = f32[0] [] %by = f32 1 expect f32[0] [] expect f32 1 }
kernel copy<N, M>(%k: u32) grid [N, 1, 1] block [1, 1, 1] {
  global read a: i32[N, M]
  global write c: i32[(N + M)]
  global readwrite t: i32[]
  shared s: i32[4]
}
case \"one\" M=3 { %k = u32 7  t = i32[] [9]  a = i32[1, 3] [1, 2, -3]  expect c = i32[4] [0, 0, 0, 0]  expect t = i32[] [9] }
";

#[test]
fn cases() {
    let (module, cases) = text::parse_file(CASES).unwrap();
    assert_eq!((module.programs.len(), module.kernels.len(), cases.len()), (1, 1, 3));
    let array =
        |ty, shape: &[u64], data: &[u64]| Value::Array(Array { ty, shape: shape.to_vec(), data: data.to_vec() });
    let bits = |x: f32| x.to_bits() as u64;
    let f = |x| Value::Scalar(Scalar::f32(x));
    let first = &cases[0];
    assert_eq!((first.name.as_str(), &first.subject), ("two elements", &Subject::Program("scale".to_string())));
    assert_eq!(first.sizes, [("N".to_string(), 2)]);
    assert_eq!(first.args, [array(Ty::F32, &[2], &[bits(1.0), 0x7fc0_0001]), f(0.5)]);
    assert_eq!(first.expect[0].value, array(Ty::F32, &[2], &[bits(3.0), bits(f32::NEG_INFINITY)]));
    assert_eq!((&first.expect[1].value, first.expect[1].ulp, first.expect[0].ulp), (&f(1.5), 2, 0));
    assert_eq!(cases[1].args, [array(Ty::F32, &[0], &[]), f(1.0)]);
    let kernel = &cases[2];
    assert_eq!(kernel.subject, Subject::Kernel("copy".to_string()));
    assert_eq!(kernel.sizes, [("M".to_string(), 3), ("N".to_string(), 1)]);
    let minus = -3i32 as u32 as u64;
    assert_eq!(kernel.args[0], array(Ty::I32, &[1, 3], &[1, 2, minus]));
    assert_eq!(kernel.args[1], array(Ty::I32, &[4], &[0; 4]));
    assert_eq!(kernel.args[2..], [array(Ty::I32, &[], &[9]), Value::Scalar(Scalar::from_int(Ty::U32, 7))]);
    assert_eq!(kernel.expect[1].memory.as_deref(), Some("t"));
    assert_eq!(text::print_value(&kernel.args[0]), "i32[1, 3] [1, 2, -3]");
}

#[test]
fn launches() {
    let kernel = "kernel k<grid_x, grid_y, grid_z, threads_x, threads_y, threads_z, n>() grid [grid_x, grid_y, grid_z] block [1, 1, 1] {
        global readwrite x: i32[n]
    }";
    let launch = |text: &str| {
        let file = format!("{kernel} case \"c\" {text} {{ x = i32[1] [7] expect error \"no\" expect x = i32[1] [7] }}");
        text::parse_file(&file).map(|(_, mut cases)| cases.remove(0)).map_err(|error| error.to_string())
    };
    assert_eq!(launch("launch").unwrap().launch, Some(Threads::Inferred));
    assert_eq!(launch("launch threads [5, 6, 7]").unwrap().launch, Some(Threads::Exact([5, 6, 7])));
    let blocks = launch("n=1 launch grid [2, 1, 1] block [3, 1, 1]").unwrap();
    assert_eq!(blocks.launch, Some(Threads::Blocks { grid: [2, 1, 1], block: [3, 1, 1] }));
    assert_eq!((blocks.fails.as_deref(), blocks.expect.len()), (Some("no"), 1));
    let cut = launch("launch threads [5, 1, 1] block [3, 1, 1]").unwrap();
    assert_eq!(cut.launch, Some(Threads::InBlocks { threads: [5, 1, 1], block: [3, 1, 1] }));
    for (wrong, why) in [
        ("launch grid [1, 1, 1]", "how many threads each has"),
        ("launch block [1, 1, 1]", "in front of `block`"),
        ("launch threads [1, 1]", "`,`"),
        ("", "a global memory of the kernel"),
    ] {
        let error = launch(wrong).unwrap_err();
        assert!(error.contains(why), "{wrong}: {error}");
    }
}

/// What a wrong text is told: `line:column: expected / found`.
#[test]
fn errors_name_the_place_and_the_cure() {
    let body = |code: &str| format!("program f<N>(%0: f32, %1: f32[N]) -> f32 {{\n  {code}\n  return %0\n}}");
    let kernel = |code: &str| format!("kernel k<N>() grid [N, 1, 1] block [1, 1, 1] {{\n  {code}\n}}");
    let case =
        |code: &str| format!("program f<N>(%0: f32, %1: f32[N]) -> f32 {{ return %0 }}\ncase \"c\" {{\n  {code}\n}}");
    let table = [
        (String::from("grph f"), "1:1: `program`, `kernel` or `case` / `grph`"),
        ("program f(".into(), "1:11: a name with its type, such as `%0: f32` / the end of the text"),
        ("program f(%0: f33)".into(), "1:15: a type, such as `f32` / `f33`"),
        ("program f<N, N>".into(), "1:14: a new size variable / `N`, which is declared already"),
        ("program f() -> f32[N]".into(), "1:20: a size variable of the heading / `N`"),
        (
            "program f(%0: f32) -> f64 { return %0 }".into(),
            "1:23: the type that result 0 is bound with / another in the heading",
        ),
        ("program f() -> f32 { return }".into(), "1:29: as many results as the heading has, 1 / 0"),
        (
            "program f() -> () { return } program f() -> () { return }".into(),
            "1:38: a new name for the program / `f`, which another program has",
        ),
        ("program f() -> () { % }".into(), "1:21: a name after `%`, such as `%0` / `% `"),
        ("program f() -> () { § }".into(), "1:21: a word, a name, a number or punctuation / `§`"),
        (body("%2: f32 = frob %0"), "2:13: an operation / `frob`"),
        (body("%2: f32 = add %0, %9"), "2:21: a name that is bound here / `%9`"),
        (body("%2: f32 = add %2, %0"), "2:17: a name that is bound here / `%2`"),
        (body("%0: f32 = const 1.0"), "2:3: a new name / `%0`, which is bound already"),
        (body("%2: f32 = const true"), "2:19: a constant of type f32 / `true`"),
        (body("%2: f32 = const 1e39"), "2:19: a finite constant of type f32 / `1e39`"),
        (body("%2: u8 = const 256"), "2:18: a constant of type u8, from 0 to 255 / `256`"),
        (body("%2: i8 = const -129"), "2:18: a constant of type i8, from -128 to 127 / `-129`"),
        (body("%2: i8 = const 1.5"), "2:18: a constant of type i8, from -128 to 127 / `1.5`"),
        (body("%2: f16 = const bits 0x10000"), "2:24: the bits of the f16, such as `0x1f` / `0x10000`"),
        (body("%2: bool = const 1"), "2:20: `true` or `false` / `1`"),
        (body("%2: f32[N] = const 1"), "2:22: a scalar type, as the result is an array / `1`"),
        (body("%2: i64 = extent 99999999999999999999"), "2:20: a size below 2^64 / `99999999999999999999`"),
        (body("%2: i64 = extent ceil(N / 0)"), "2:29: a constant divisor, 1 or more / `0`"),
        (body("%2: i64 = extent (N - 1)"), "2:23: `+` or `*` / `-`"),
        (
            body("%2: f32[N] = tabulate [N] |%3: i64| { yield %0 } %4: f32 = neg %3"),
            "2:66: a name that is bound here / `%3`",
        ),
        (body("%2: f32 = call g(%0)"), "2:18: a function that is declared before / `g`"),
        (body("%2: f32 = load m[]"), "2:18: a memory that is declared in front of the code / `m`"),
        (kernel("global a: f32[N]"), "2:10: `read`, `write` or `readwrite` / `a`"),
        (kernel("%0: i64 = global.w"), "2:20: `x`, `y` or `z` / `w`"),
        (kernel("barrier grid"), "2:11: `subgroup`, `block` or `device` / `grid`"),
        (kernel("yield"), "2:3: `}` / `yield`"),
        (
            kernel("shared a: f32[1] shared a: f32[1]"),
            "2:27: a new name for the memory / `a`, which another memory has",
        ),
        ("case \"c\" {}".into(), "1:1: a program or kernel before its cases / `case`"),
        (case("%0 = f32 1.0"), "2:6: a value for `%1` / none in this case"),
        (case("%0 = f64 1.0"), "3:8: one f32 / another type"),
        (case("%1 = f32[2] [1.0]"), "3:11: a shape of 1 elements / one of 2"),
        (case("%1 = f32[8589934592, 8589934592] []"), "3:11: a shape of 0 elements / one of more than 2^64"),
        (case("%0 = f32 1 %1 = f32[0] []"), "4:1: `expect` for result 0 / `}`"),
        (case("%0 = f32 1 %1 = f32[0] [] expect f32 1 expect f32 1"), "3:42: `}` after the last result / `expect`"),
        (
            "program f() -> () { return }\ncase \"open {}".into(),
            "2:6: a closing `\"` on the same line / the end of the line",
        ),
    ];
    for (source, wanted) in table {
        let error = text::parse_file(&source).expect_err(&source);
        let told = format!("{}:{}: {} / {}", error.line, error.column, error.expected, error.found);
        assert_eq!(told, wanted, "{source}");
    }
}

#[test]
fn errors_show_the_line() {
    let error = text::parse_program("program f(%0: f32) -> f32 {\n\t%1: f32 = sine %0\n  return %1\n}").unwrap_err();
    let expected = "\
line 2, column 12: expected an operation, found `sine`
  |
2 |  %1: f32 = sine %0
  |            ^";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn nesting_is_bounded() {
    let deep = |open: &str, inner: &str| format!("program f(%c: bool) -> () {{ {}{inner}", open.repeat(100_000));
    for source in [deep("if %c {", ""), deep("%x: i64 = extent (", ""), deep("while {", "")] {
        assert!(text::parse_program(&source).is_err());
    }
    let most = ("if %c {".repeat(64), "} else {}".repeat(64));
    let program = text::parse_program(&format!("program f(%c: bool) -> () {{ {}{} return }}", most.0, most.1)).unwrap();
    assert_eq!(text::parse_program(&program.to_string()).unwrap(), program);
    let sizes = format!("program f() -> () {{ %x: i64 = extent {}1{} return }}", "tri(".repeat(255), ")".repeat(255));
    assert!(text::parse_program(&sizes).is_ok());
    let sizes = format!("program f() -> () {{ %x: i64 = extent {}1", "tri(".repeat(100_000));
    assert_eq!(text::parse_program(&sizes).unwrap_err().expected, "less nesting");
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Cuts, repeats and replaces pieces of good texts. Whatever comes out parses or not, and what parses prints the same
/// after a round trip.
#[test]
fn mangled_text_never_panics() {
    const SPLICES: [&str; 22] = [
        "%",
        "{",
        "}",
        "(",
        "[",
        "|",
        "|%0: f32|",
        "yield",
        "return",
        "\"",
        "-",
        "0x",
        "1e",
        "9999999999999999999999",
        "ł",
        "\u{301}",
        "\0",
        "\r\n",
        "//",
        "case \"x\" {",
        "expect",
        "bits",
    ];
    let seeds: Vec<Vec<char>> = [PROGRAM, KERNEL, CASES].iter().map(|text| text.chars().collect()).collect();
    let mut state = 88_172_645_463_325_252;
    let mut parsed = 0;
    for turn in 0..6000 {
        let mut text = seeds[turn % seeds.len()].clone();
        for _ in 0..1 + random(&mut state) % 4 {
            let mut place = || random(&mut state) as usize % (text.len() + 1);
            let (from, to, length) = (place(), place(), place() % 24);
            let end = (from + length).min(text.len());
            match random(&mut state) % 5 {
                0 => drop(text.drain(from..end)),
                1 => text.truncate(from),
                2 => {
                    let piece: Vec<char> = text[from..end].to_vec();
                    text.splice(to..to, piece);
                }
                3 => {
                    let piece = SPLICES[random(&mut state) as usize % SPLICES.len()];
                    text.splice(from..from, piece.chars());
                }
                _ => {
                    let to = to.min(text.len() - 1);
                    let from = from.min(text.len() - 1);
                    text.swap(from, to);
                }
            }
            if text.is_empty() {
                break;
            }
        }
        let text: String = text.into_iter().collect();
        match text::parse_file(&text) {
            Ok((module, _)) => {
                let printed = module.to_string();
                let again = text::parse_module(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
                assert_eq!(again.to_string(), printed);
                parsed += 1;
            }
            Err(error) => assert!(error.to_string().contains('^')),
        }
    }
    assert!(parsed > 100, "the mangling leaves {parsed} texts whole, too few to test the other way");
}

#[test]
fn every_prefix_is_an_answer() {
    for source in [PROGRAM, KERNEL, CASES] {
        for (end, _) in source.char_indices() {
            let _ = text::parse_file(&source[..end]);
        }
    }
}
