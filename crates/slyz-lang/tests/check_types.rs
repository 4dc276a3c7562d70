//! Programs that are right: the types their expressions get, and where conversions stand.

use slyz_lang::check::{Checked, Dialect, check};
use slyz_lang::diagnostic::Severity;
use slyz_lang::lower::lower;
use slyz_lang::parse::parse;
use slyz_lang::render::render;
use slyz_lang::typed::{Arg, Expr, ExprKind, Function, FunctionId, Home, MemoryRef, Stmt};

fn checked(text: &str) -> Checked {
    let (file, mut found) = parse(text);
    let checked = check(&file, Dialect::Vex);
    found.extend(checked.diagnostics.iter().filter(|d| d.severity != Severity::Note).cloned());
    assert!(found.is_empty(), "{}", render("test.vex", text, &found));
    // What is let through can be lowered.
    let program = &checked.program;
    for (k, _) in program.functions.iter().enumerate().filter(|(_, f)| f.launches) {
        let template = lower(program, FunctionId(k as u32)).unwrap_or_else(|e| panic!("{e}\n{text}"));
        slyz_sir::verify::kernel(&template.kernel).unwrap_or_else(|e| panic!("{e}\n{text}"));
    }
    checked
}

/// A kernel around statements, with tensors and parameters of all sorts.
fn kernel(body: &str) -> Function {
    let text = format!(
        "fn twice(v: f32): f32 {{\n return v + v\n}}\n\
         fn next(n: i32): i32 {{\n return n + 1\n}}\n\
         graph fn k(x: Tensor<f32>, d: Tensor<f64>, b: Tensor<i32>, u: Tensor<u32>, c: Tensor<u8>, w: Tensor<u64>, \
         m: Tensor<f32, 2>, out: Tensor<f32>!, ints: Tensor<i32>!, longs: Tensor<i64>!, h: Tensor<u32>!, \
         M: i32, N: i32, P: u32, Q: u64, L: i64, S: i16, s: f32) {{\nlet i = thread.x\n{body}\n}}\n"
    );
    let program = checked(&text).program;
    program.functions.into_iter().find(|f| f.name == "k").unwrap()
}

fn memory(function: &Function, memory: MemoryRef) -> String {
    match memory {
        MemoryRef::Param(k) => function.params[k as usize].name.clone(),
        MemoryRef::Array(id) => function.arrays[id.0 as usize].name.clone(),
    }
}

/// An expression with all its conversions.
fn show(f: &Function, expr: &Expr) -> String {
    let list = |args: &[Expr]| args.iter().map(|a| show(f, a)).collect::<Vec<_>>().join(", ");
    match &expr.kind {
        ExprKind::Const(value) => format!("{value:?}"),
        ExprKind::Local(local) => f.locals[local.0 as usize].name.clone(),
        ExprKind::Place(place, dimension) => format!("{place:?}.{dimension}"),
        ExprKind::Extent(of, axis) => format!("extent({}, {axis:?})", memory(f, *of)),
        ExprKind::Apply(operator, args) => format!("{}({})", operator.name(), list(args)),
        ExprKind::AndThen(x, y) => format!("({} && {})", show(f, x), show(f, y)),
        ExprKind::OrElse(x, y) => format!("({} || {})", show(f, x), show(f, y)),
        ExprKind::Cast(x) => format!("{}<-{}", expr.ty, show(f, x)),
        ExprKind::Bitcast(x) => format!("{}~{}", expr.ty, show(f, x)),
        ExprKind::Load(from, index) => format!("{}[{}]", memory(f, *from), list(index)),
        ExprKind::Atomic { op, memory: at, index, args } => {
            format!("{op:?}({}[{}]; {})", memory(f, *at), list(index), list(args))
        }
        ExprKind::Subgroup(op, args) => format!("{op:?}({})", list(args)),
        ExprKind::Call(id, args) => {
            let args: Vec<String> = args
                .iter()
                .map(|a| match a {
                    Arg::Value(value) => show(f, value),
                    Arg::Memory(of) => memory(f, *of),
                })
                .collect();
            format!("#{}({})", id.0, args.join(", "))
        }
        ExprKind::If { cond, then, otherwise } => {
            assert!(then.0.is_empty() && otherwise.0.is_empty());
            format!("if {} then {} else {}", show(f, cond), show(f, &then.1), show(f, &otherwise.1))
        }
    }
}

/// The last statement of a kernel, as text with the type of its value.
fn last(body: &str) -> String {
    let f = kernel(body);
    match f.body.last().unwrap() {
        Stmt::Set(local, value) => format!("{}: {} = {}", f.locals[local.0 as usize].name, value.ty, show(&f, value)),
        Stmt::Store { memory: to, index, value, .. } => {
            let index: Vec<String> = index.iter().map(|e| show(&f, e)).collect();
            format!("{}[{}] = {}", memory(&f, *to), index.join(", "), show(&f, value))
        }
        Stmt::Expr(expr) => show(&f, expr),
        Stmt::For { counter, lo, hi, step, .. } => {
            let ty = f.locals[counter.0 as usize].ty;
            format!("{ty}: {}..{} step {}", show(&f, lo), show(&f, hi), show(&f, step))
        }
        Stmt::If { cond, .. } => show(&f, cond),
        other => format!("{other:?}"),
    }
}

#[track_caller]
fn gives(body: &str, expected: &str) {
    assert_eq!(last(body), expected, "{body}");
}

#[test]
fn places_and_lengths_are_i64() {
    gives("let a = thread.x", "a: i64 = Global.0");
    gives("let a = local.y", "a: i64 = Local.1");
    gives("let a = blockDim.z", "a: i64 = BlockDim.2");
    gives("let a = subgroup.lane", "a: i64 = Lane.0");
    gives("let a = x.len()", "a: i64 = extent(x, None)");
    gives("let a = m.dim(1)", "a: i64 = extent(m, Some(1))");
    gives("let! t: [f32; 8]\nlet a = t.len() * i", "a: i64 = mul(8i64, i)");
}

#[test]
fn literals_take_the_type_that_is_wanted() {
    gives("let a = 3", "a: i64 = 3i64");
    gives("let a = 3.5", "a: f32 = 3.5f32");
    gives("let a = 3u8", "a: u8 = 3u8");
    gives("let a: u8 = 255", "a: u8 = 255u8");
    gives("let a: f64 = 0.1", "a: f64 = 0.1f64");
    gives("let a: i8 = -128", "a: i8 = -128i8");
    gives("let a = x[i] * 2.0", "a: f32 = mul(x[i], 2.0f32)");
    gives("let a = 2.0 * d[i] + 1.0", "a: f64 = add(mul(2.0f64, d[i]), 1.0f64)");
    gives("let a = c[i] + 1", "a: u8 = add(c[i], 1u8)");
    gives("let a: f64 = 1.5 + 0.25", "a: f64 = add(1.5f64, 0.25f64)");
    gives("let a = (1 + 2) * b[i]", "a: i32 = mul(add(1i32, 2i32), b[i])");
    gives("ints[i] = 7", "ints[i] = 7i32");
    gives("ints[i] += 7", "ints[i] = add(ints[i], 7i32)");
    gives("if 0 < u[i] { }", "lt(0u32, u[i])");
    gives("let a = 1_000.5e-1", "a: f32 = 100.05000305175781f32");
}

#[test]
fn parameters_read_as_i64_unless_exactly_their_type_is_wanted() {
    gives("let a = M * N", "a: i64 = mul(i64<-M, i64<-N)");
    gives("let a = M", "a: i64 = i64<-M");
    gives("let a: i32 = M", "a: i32 = M");
    gives("let a: i32 = M * 2 + N", "a: i32 = add(mul(M, 2i32), N)");
    gives("ints[i] = M", "ints[i] = M");
    gives("let a = next(M)", "a: i32 = #0(M)");
    gives("let a = M * b[i]", "a: i32 = mul(M, b[i])");
    gives("let a = (M + 1) * b[i]", "a: i32 = mul(add(M, 1i32), b[i])");
    gives("let a = M + P", "a: i64 = add(i64<-M, i64<-P)");
    gives("let a = M * u[i]", "a: i64 = mul(i64<-M, i64<-u[i])");
    gives("let a = P * u[i]", "a: u32 = mul(P, u[i])");
    gives("let a = S + b[i]", "a: i64 = add(i64<-S, i64<-b[i])");
    gives("let a: i32 = S", "a: i32 = i32<-S");
    gives("let a: u64 = P", "a: u64 = u64<-P");
    gives("if M < N { }", "lt(i64<-M, i64<-N)");
    gives("if b[i] < N { }", "lt(b[i], N)");
    gives("let a = L + M", "a: i64 = add(L, i64<-M)");
    gives("let a = Q + 1", "a: u64 = add(Q, 1u64)");
    gives("let a = w[i] + P", "a: u64 = add(w[i], u64<-P)");
    gives("let a = M as f32", "a: f32 = f32<-M");
    gives("let a = f32(M)", "a: f32 = f32<-M");
    gives("let a = (M * N) as f32", "a: f32 = f32<-mul(i64<-M, i64<-N)");
    gives("let a = -M", "a: i64 = neg(i64<-M)");
    gives("let a = min(M, i)", "a: i64 = min(i64<-M, i)");
    gives("let a = s * 2.0", "a: f32 = mul(s, 2.0f32)");
}

#[test]
fn index_arithmetic_is_done_in_i64_from_its_leaves() {
    gives("out[i * N + M] = 1.0", "out[add(mul(i, i64<-N), i64<-M)] = 1.0f32");
    gives("let a = x[b[i] * 2 + 1]", "a: f32 = x[add(mul(i64<-b[i], 2i64), 1i64)]");
    gives("let a = x[u[i] - 1]", "a: f32 = x[sub(i64<-u[i], 1i64)]");
    gives("let a = x[M * N]", "a: f32 = x[mul(i64<-M, i64<-N)]");
    gives("let a = x[b[i] << 2]", "a: f32 = x[shl(i64<-b[i], 2i64)]");
    gives("let a = x[(b[i] * 3) as i64]", "a: f32 = x[i64<-mul(b[i], 3i32)]");
    gives("let a = x[if i > 3 { b[i] } else { 0 }]", "a: f32 = x[if gt(i, 3i64) then i64<-b[i] else 0i64]");
    gives("let a = m[i, M]", "a: f32 = m[i, i64<-M]");
    gives("let a = m[i][b[i]]", "a: f32 = m[i, i64<-b[i]]");
    gives("for k in 0..N { }", "i64: 0i64..i64<-N step 1i64");
    gives("for k in 0..(b[i] * 2) { }", "i64: 0i64..mul(i64<-b[i], 2i64) step 1i64");
    gives("for k in 0..=N { }", "i64: 0i64..add(i64<-N, 1i64) step 1i64");
    gives("for k in M..N step 2 { }", "i64: i64<-M..i64<-N step 2i64");
    gives("for k in 0..Q { }", "u64: 0u64..Q step 1u64");
}

#[test]
fn different_integers_meet_in_the_smallest_type_that_holds_both() {
    gives("let a = b[i] + u[i]", "a: i64 = add(i64<-b[i], i64<-u[i])");
    gives("let a = c[i] + b[i]", "a: i32 = add(i32<-c[i], b[i])");
    gives("let a = c[i] * c[i] + b[i]", "a: i32 = add(mul(i32<-c[i], i32<-c[i]), b[i])");
    gives("let a = c[i] + w[i]", "a: u64 = add(u64<-c[i], w[i])");
    gives("let a = i + b[i] * 2", "a: i64 = add(i, mul(i64<-b[i], 2i64))");
    gives("longs[i] = b[i] * b[i]", "longs[i] = mul(i64<-b[i], i64<-b[i])");
    gives("if c[i] == b[i] { }", "eq(i32<-c[i], b[i])");
    gives("let a = 3u8 + 4i32", "a: i32 = add(3i32, 4i32)");
}

#[test]
fn what_depends_on_the_width_is_computed_in_its_own_type() {
    gives("longs[i] = b[i].leading_zeros()", "longs[i] = i64<-leading_zeros(b[i])");
    gives("let a = popcount(c[i]) + i", "a: i64 = add(i64<-popcount(c[i]), i)");
    gives("longs[i] = !u[i]", "longs[i] = i64<-not(u[i])");
    gives("let a: i32 = !M", "a: i32 = not(M)");
    gives("let a = b[i] >> i", "a: i32 = shr(b[i], i32<-i)");
    gives("let a = 1u32 << M", "a: u32 = shl(1u32, u32<-i64<-M)");
    gives("ints[i] <<= 3", "ints[i] = shl(ints[i], 3i32)");
    gives("let a = x[i].powi(2)", "a: f32 = powi(x[i], 2i32)");
    gives("let a = powi(d[i], M)", "a: f64 = powi(d[i], M)");
}

#[test]
fn operators_by_name_and_as_methods() {
    gives("let a = max(0.0, x[i])", "a: f32 = max(0.0f32, x[i])");
    gives("let a = x[i].max(0.0)", "a: f32 = max(x[i], 0.0f32)");
    gives("let a = select(i > 3, x[i], 1.0)", "a: f32 = select(gt(i, 3i64), x[i], 1.0f32)");
    gives("let a = fma(x[i], 2.0, s)", "a: f32 = fma(x[i], 2.0f32, s)");
    gives("let a = x[i] *+ 2.0 + s", "a: f32 = fma(x[i], 2.0f32, s)");
    gives("let a = x[i].mul_add(2.0, s)", "a: f32 = fma(x[i], 2.0f32, s)");
    gives("let a = clamp(d[i], 0.0, 1.0)", "a: f64 = clamp(d[i], 0.0f64, 1.0f64)");
    gives("let a = sqrt(2.0)", "a: f32 = sqrt(2.0f32)");
    gives("let a = x[i].is_nan() || i == 3", "a: bool = (is_nan(x[i]) || eq(i, 3i64))");
    gives("let a = (i > 3) & (i < 5)", "a: bool = and(gt(i, 3i64), lt(i, 5i64))");
    gives("let a = !(i > 3)", "a: bool = not(gt(i, 3i64))");
    gives("let a = bitcast<u32>(x[i])", "a: u32 = u32~x[i]");
    gives("let a = x[i].to_bits()", "a: u32 = u32~x[i]");
    gives("let a = f32.INFINITY", "a: f32 = inff32");
    gives("let a = i32.MAX", "a: i32 = 2147483647i32");
    gives("let a = twice(s)", "a: f32 = #0(s)");
    gives("let a = if i > 3 { 1.0 } else { d[i] }", "a: f64 = if gt(i, 3i64) then 1.0f64 else d[i]");
    gives("let a = x[i] as i32", "a: i32 = i32<-x[i]");
    gives("let a = 3 as f32", "a: f32 = 3.0f32");
    gives("let a = 300 as u8", "a: u8 = 44u8");
    gives("let a = -1 as u32", "a: u32 = 4294967295u32");
    gives("let a = true as i32", "a: i32 = 1i32");
}

#[test]
fn atomics_and_subgroups() {
    gives("atomic.add(h[i], 1)", "Update(Add)(h[i]; 1u32)");
    gives("let a = atomic.max(ints[b[i]], M)", "a: i32 = Update(Max)(ints[i64<-b[i]]; M)");
    gives("let a = atomic.compare_exchange(h[0], 1, P)", "a: u32 = CompareExchange(h[0i64]; 1u32, P)");
    gives("let a = atomic.load(h[0])", "a: u32 = Load(h[0i64]; )");
    gives("let a = subgroup.add(x[i])", "a: f32 = Reduce(Add)(x[i])");
    gives("let a = subgroup.scan_max(b[i])", "a: i32 = Scan(Max)(b[i])");
    gives("let a = subgroup.shuffle_xor(x[i], 1)", "a: f32 = ShuffleXor(x[i], 1i64)");
    gives("let a = subgroup.ballot(x[i] > 0.0)", "a: u64 = Ballot(gt(x[i], 0.0f32))");
    // What the index does is done once, though it is used twice.
    let f = kernel("ints[atomic.add(h[i], 1)] += 1");
    assert!(matches!(&f.body[1..], [Stmt::Set(..), Stmt::Store { .. }]), "{:?}", f.body);
}

#[test]
fn arrays_and_constants() {
    let f = kernel(
        "let size = 4\nlet! a: [f32; size * 2]\nlet! b2 = [[1, 2], [3, 4]]\nconstant let t: [f32; 3] = [1.0, 2.0, -3.0]\n\
         constant let n: i32 = 2\nthreadgroup let! g: [[i32; 8]; 2]\nlet! e: [u8; 4] = [1; 4]\n\
         g[1, local.x] = n\nout[i] = a[1] + t[2] + (b2[1][0] as f32)",
    );
    let homes: Vec<_> = f.arrays.iter().map(|a| (&a.name[..], a.elem.name(), a.shape.clone())).collect();
    let expected = [
        ("a", "f32", vec![8]),
        ("b2", "i64", vec![2, 2]),
        ("t", "f32", vec![3]),
        ("g", "i32", vec![2, 8]),
        ("e", "u8", vec![4]),
    ];
    assert_eq!(homes, expected);
    assert!(matches!(&f.arrays[2].home, Home::Constant(values) if values[2].as_f64() == -3.0));
    assert_eq!(f.arrays[3].home, Home::Threadgroup);
    let stores = f.body.iter().filter(|s| matches!(s, Stmt::Store { .. })).count();
    assert_eq!(stores, 4 + 1 + 1);
    gives("constant let n: i32 = 2 * 3\nints[i] = n", "ints[i] = 6i32");
}

#[test]
fn thread_is_the_index_inside_the_block_where_block_is_read() {
    let text = "fn place(): i64 {\n return thread.x\n}\n\
                fn start(): i64 {\n return block.x * 4\n}\n\
                graph fn free(out: Tensor<i64>!) {\n out[place()] = thread.y\n}\n\
                graph fn blocks(out: Tensor<i64>!) {\n out[start() + place()] = thread.y\n}\n";
    let program = checked(text).program;
    let shown: Vec<String> = program
        .functions
        .iter()
        .map(|f| match f.body.last() {
            Some(Stmt::Return(Some(value))) => format!("{} gives {}", f.name, show(f, value)),
            Some(Stmt::Store { value, .. }) => format!("{} stores {}, launches {}", f.name, show(f, value), f.launches),
            other => format!("{other:?}"),
        })
        .collect();
    let expected = [
        "place gives Global.0",
        "place gives Local.0",
        "free stores Global.1, launches true",
        "start gives mul(Block.0, 4i64)",
        "blocks stores Local.1, launches true",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn functions_stand_before_their_callers_and_the_host_is_left_alone() {
    let text = "graph fn a(out: Tensor<f32>!) {\n out[thread.x] = b(1.0)\n}\n\
                graph fn b(x: f32): f32 {\n return c(x) + 1.0\n}\n\
                fn c(x: f32): f32 {\n if x > 0.0 { return x }\n return -x\n}\n\
                fn host(t: Tensor<f32>): String {\n let v = Vec.new()\n print(nobody.knows(v))\n return host(t)\n}\n\
                fn main() {\n let t = Tensor.zeros<f32>(4)\n launch a(&!t) with threads: 4\n}\n\
                let top = undefined(3)\n";
    let program = checked(text).program;
    let names: Vec<(&str, bool)> = program.functions.iter().map(|f| (&f.name[..], f.launches)).collect();
    assert_eq!(names, [("c", false), ("b", false), ("a", true)]);
}

#[test]
fn every_road_of_a_function_with_a_result_returns() {
    let text = "fn find(x: Tensor<f32>): i64 {\n let! i = 0\n loop {\n if x[i] > 0.0 { return i }\n i += 1\n }\n}\n\
                fn pick(c: bool, v: f32): f32 {\n let w = if c { v } else { return 0.0 }\n return w\n}\n\
                graph fn k(x: Tensor<f32>, out: Tensor<f32>!) {\n out[find(x) + thread.x] = pick(true, 1.0)\n}\n";
    let program = checked(text).program;
    assert!(
        program
            .functions
            .iter()
            .filter(|f| f.result.is_some())
            .all(|f| matches!(f.body.last(), Some(Stmt::Return(Some(_)))))
    );
    // The branch that leaves is a statement, not part of a value.
    assert!(
        matches!(&program.functions[1].body[0], Stmt::If { otherwise, .. } if matches!(otherwise[..], [Stmt::Return(_)]))
    );
}

#[test]
fn constants_at_the_top_of_a_file_are_seen() {
    let text = "constant let TILE: i64 = 4\nconstant let WEIGHTS: [f32; 2] = [0.5, 0.25]\n\
                graph fn k(out: Tensor<f32>!) {\n let! a: [f32; TILE]\n out[thread.x] = a[TILE - 1] * WEIGHTS[1]\n}\n\
                graph fn l(out: Tensor<i64>!) {\n out[thread.x] = TILE\n}\n";
    let program = checked(text).program;
    assert_eq!(program.functions[0].arrays.len(), 2);
    assert_eq!(program.functions[1].arrays.len(), 0);
}
