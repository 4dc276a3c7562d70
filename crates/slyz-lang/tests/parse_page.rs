//! Every code block of the page that describes `graph fn` is read without complaint, and as meant.

use slyz_lang::parse::parse;
use slyz_lang::syntax::*;
use slyz_sir::types::Ty;

/// A tree on one line, in the manner of Lisp.
fn shape(file: &File) -> String {
    let items: Vec<String> = file.items.iter().map(item).collect();
    items.join("\n")
}

fn item(item: &Item) -> String {
    match item {
        Item::Foreign(name) => format!("(extern {})", name.text),
        Item::Stmt(it) => stmt(it),
        Item::Function(f) => {
            let params: Vec<String> = f.params.iter().map(|p| format!("{}: {}", p.name.text, ty(&p.ty))).collect();
            let role = if f.role == Role::Graph { "graph" } else { "fn" };
            let result = f.result.as_ref().map(|t| format!(": {}", ty(t))).unwrap_or_default();
            format!("({role} {}({}){result} {})", f.name.text, params.join(", "), block(&f.body))
        }
    }
}

fn ty(t: &TypeExpr) -> String {
    let mutable = if t.mutable { "!" } else { "" };
    let kind = match &t.kind {
        TypeKind::Scalar(ty) => ty.to_string(),
        TypeKind::Tensor { elem, rank: None } => format!("Tensor<{}>", ty(elem)),
        TypeKind::Tensor { elem, rank: Some(rank) } => format!("Tensor<{}, {}>", ty(elem), expr(rank)),
        TypeKind::Array { elem, len } => format!("[{}; {}]", ty(elem), expr(len)),
        TypeKind::Tuple(parts) => format!("({})", parts.iter().map(ty).collect::<Vec<_>>().join(", ")),
        TypeKind::Other(text) => format!("other {text}"),
        TypeKind::Wrong => "wrong".to_string(),
    };
    kind + mutable
}

fn block(block: &Block) -> String {
    let stmts = block.stmts.iter().map(stmt).chain(block.value.iter().map(|v| format!("value {}", expr(v))));
    format!("{{{}}}", stmts.collect::<Vec<_>>().join("; "))
}

fn stmt(s: &Stmt) -> String {
    match &s.kind {
        StmtKind::Let { space, mutable, name, ty: declared, value } => {
            let space = match space {
                Space::Thread => "",
                Space::Threadgroup => "threadgroup ",
                Space::Constant => "constant ",
            };
            let mark = if *mutable { "let!" } else { "let" };
            let declared = declared.as_ref().map(|t| format!(": {}", ty(t))).unwrap_or_default();
            let value = value.as_ref().map(|v| format!(" = {}", expr(v))).unwrap_or_default();
            format!("{space}{mark} {}{declared}{value}", name.text)
        }
        StmtKind::LetTuple { .. } => "let a tuple".to_string(),
        StmtKind::Assign { target, operator, value } => {
            let operator = match operator {
                Some(BinaryOp::Table(operator)) => operator.name(),
                Some(BinaryOp::AndThen | BinaryOp::OrElse) => "?",
                None => "",
            };
            format!("{} {operator}= {}", expr(target), expr(value))
        }
        StmtKind::Expr(e) => expr(e),
        StmtKind::For { name, lo, hi, inclusive, step, body } => {
            let dots = if *inclusive { "..=" } else { ".." };
            let step = step.as_ref().map(|s| format!(" step {}", expr(s))).unwrap_or_default();
            format!("for {} in {}{dots}{}{step} {}", name.text, expr(lo), expr(hi), block(body))
        }
        StmtKind::While { cond, body } => format!("while {} {}", expr(cond), block(body)),
        StmtKind::Break => "break".to_string(),
        StmtKind::Continue => "continue".to_string(),
        StmtKind::Return(value) => format!("return {}", value.as_ref().map(expr).unwrap_or_default()),
        StmtKind::Print(args) => format!("print({})", list(args)),
        StmtKind::Wrong => "wrong".to_string(),
    }
}

fn list(exprs: &[Expr]) -> String {
    exprs.iter().map(expr).collect::<Vec<_>>().join(", ")
}

fn expr(e: &Expr) -> String {
    let typed = |t: &Option<Ty>| t.map(|t| t.to_string()).unwrap_or_default();
    let argument = |t: &Option<TypeExpr>| t.as_ref().map(|t| format!("<{}>", ty(t))).unwrap_or_default();
    match &e.kind {
        ExprKind::Int(value, t) => format!("{value}{}", typed(t)),
        ExprKind::Float(digits, t) => format!("{digits}{}", typed(t)),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Text(text) => format!("{text:?}"),
        ExprKind::Name(name) => name.clone(),
        ExprKind::Unary(UnaryOp::Neg, x) => format!("(neg {})", expr(x)),
        ExprKind::Unary(UnaryOp::Not, x) => format!("(not {})", expr(x)),
        ExprKind::Binary(BinaryOp::Table(op), _, a, b) => format!("({} {} {})", op.name(), expr(a), expr(b)),
        ExprKind::Binary(BinaryOp::AndThen, _, a, b) => format!("(&& {} {})", expr(a), expr(b)),
        ExprKind::Binary(BinaryOp::OrElse, _, a, b) => format!("(|| {} {})", expr(a), expr(b)),
        ExprKind::Fma(a, b, c) => format!("(fma {} {} {})", expr(a), expr(b), expr(c)),
        ExprKind::Call { function, ty, args } => format!("{}{}({})", function.text, argument(ty), list(args)),
        ExprKind::Method { receiver, name, ty, args } => {
            format!("{}.{}{}({})", expr(receiver), name.text, argument(ty), list(args))
        }
        ExprKind::Field(receiver, name) => format!("{}.{}", expr(receiver), name.text),
        ExprKind::Index(base, index) => format!("{}[{}]", expr(base), list(index)),
        ExprKind::Cast(x, t) => format!("({} as {})", expr(x), ty(t)),
        ExprKind::If { cond, then, otherwise } => {
            let otherwise = otherwise.as_ref().map(|b| format!(" else {}", block(b))).unwrap_or_default();
            format!("if {} {}{otherwise}", expr(cond), block(then))
        }
        ExprKind::Array(items) => format!("[{}]", list(items)),
        ExprKind::Repeat(item, len) => format!("[{}; {}]", expr(item), expr(len)),
        ExprKind::Tuple(items) => format!("({})", list(items)),
        ExprKind::Launch { function, args, config } => {
            let part = |name: &str, part: &Option<Vec<Expr>>| {
                part.as_ref().map(|part| format!(" {name}: ({})", list(part))).unwrap_or_default()
            };
            let (threads, grid, block) =
                (part("threads", &config.threads), part("grid", &config.grid), part("block", &config.block));
            format!("launch {}({}){threads}{grid}{block}", function.text, list(args))
        }
        ExprKind::Borrow(mutable, x) => format!("&{}{}", if *mutable { "!" } else { "" }, expr(x)),
        ExprKind::Foreign { what, text } => format!("<{what:?} {text}>"),
        ExprKind::Wrong => "wrong".to_string(),
    }
}

#[track_caller]
fn reads(text: &str, expected: &str) {
    let (file, diagnostics) = parse(text);
    assert_eq!(diagnostics, [], "{text}");
    assert_eq!(shape(&file), expected, "{text}");
}

#[test]
fn vector_add() {
    reads(
        include_str!("page/vectorAdd.vex"),
        "(graph vectorAdd(a: Tensor<f32>, b: Tensor<f32>, result: Tensor<f32>!) {let idx = thread.x; \
         if (lt idx result.len()) {result[idx] = (add a[idx] b[idx])}})\n\
         (fn main() {let a = Tensor.filled(1.0f32, 1024); let b = Tensor.filled(2.0f32, 1024); \
         let! result = Tensor.zeros<f32>(1024); launch vectorAdd(a, b, &!result) threads: (1024)})",
    );
}

#[test]
fn matmul() {
    reads(
        include_str!("page/matmulKernel.vex"),
        "(graph matmulKernel(A: Tensor<f32>, B: Tensor<f32>, C: Tensor<f32>!, M: i32, N: i32, K: i32) \
         {let row = thread.y; let col = thread.x; if (&& (lt row M) (lt col N)) {let! sum = 0.0f32; \
         for k in 0..K {sum add= (mul A[(add (mul row K) k)] B[(add (mul k N) col)])}; C[(add (mul row N) col)] = sum}})",
    );
}

#[test]
fn two_dimensional_launch() {
    reads(include_str!("page/launch2d.vex"), "launch myKernel(a, b, &!c) grid: (64, 64) block: (16, 16)");
}

#[test]
fn tiled_matmul() {
    reads(
        include_str!("page/tiledMatmul.vex"),
        "(graph tiledMatmul(A: Tensor<f32>, B: Tensor<f32>, C: Tensor<f32>!, M: i32, N: i32, K: i32) {let tile_size = 16; \
         threadgroup let! As: [f32; 256]; threadgroup let! Bs: [f32; 256]; \
         let row = (add (mul block.y tile_size) thread.y); let col = (add (mul block.x tile_size) thread.x); \
         let! sum = 0.0f32; for tile in 0..(div K tile_size) {\
         As[(add (mul thread.y tile_size) thread.x)] = A[(add (add (mul row K) (mul tile tile_size)) thread.x)]; \
         Bs[(add (mul thread.y tile_size) thread.x)] = B[(add (mul (add (mul tile tile_size) thread.y) N) col)]; \
         threadgroup.barrier(); for k in 0..tile_size {\
         sum add= (mul As[(add (mul thread.y tile_size) k)] Bs[(add (mul k tile_size) thread.x)])}; \
         threadgroup.barrier()}; if (&& (lt row M) (lt col N)) {C[(add (mul row N) col)] = sum}})",
    );
}

#[test]
fn constant_memory() {
    reads(
        include_str!("page/withConstantMem.vex"),
        "(graph withConstantMem(values: Tensor<f32>, result: Tensor<f32>!) {constant let scale: f32 = 2.0; \
         let idx = thread.x; if (lt idx result.len()) {result[idx] = (mul values[idx] scale)}})",
    );
}

#[test]
fn compute_and_its_caller() {
    reads(
        include_str!("page/compute.vex"),
        "(graph compute(a: Tensor<f32>, b: Tensor<f32>, out: Tensor<f32>!) {let idx = thread.x; \
         if (lt idx out.len()) {out[idx] = (add a[idx] b[idx])}})\n\
         let! output = Tensor.zeros<f32>(1024)\ncompute(a, b, &!output)",
    );
}

#[test]
fn relu() {
    reads(
        include_str!("page/relu.vex"),
        "(graph relu(input: Tensor<f32>, output: Tensor<f32>!) {let idx = thread.x; \
         if (lt idx output.len()) {output[idx] = max(0.0f32, input[idx])}})\n\
         (fn applyRelu(data: Tensor<f32>): Tensor<f32> {let! result = Tensor.zeros<f32>(data.len()); \
         launch relu(data, &!result) threads: (data.len()); return result})",
    );
}

#[test]
fn fused_multiply_add() {
    reads("let x = a *+ b + c", "let x = (fma a b c)");
    reads("let x = a *+ b + c * d + e", "let x = (add (fma a b (mul c d)) e)");
    reads("let x = y + a * b *+ -c - d", "let x = (add y (fma (mul a b) (neg c) (neg d)))");
}

#[test]
fn lines_end_statements() {
    reads("a\nb;c", "a\nb\nc");
    reads("let x = a +\n  b\n  * c\n  && d", "let x = (&& (add a (mul b c)) d)");
    reads("let x = f(a,\n  -b\n)", "let x = f(a, (neg b))");
    reads("let x = t\n  .row(1)\n  .len()\n(y)", "let x = t.row(1).len()\ny");
    reads("f\n(x)\n[1]", "f\nx\n[1]");
    reads("if a { b }\nelse if c { d } else { e }", "if a {b} else {value if c {d} else {e}}");
    reads("launch f(a)\n with\n threads:\n n", "launch f(a) threads: (n)");
    reads("let x = (a\n - b)\nlet y = [1\n, 2]", "let x = (sub a b)\nlet y = [1, 2]");
    reads("if a { let b = (if c { d\n } else { e }) }", "if a {let b = if c {value d} else {value e}}");
    reads("a // - b\n/* c /* d */\n */ e", "a\ne");
    reads("if a {} if b {}", "if a {}\nif b {}");
    reads("\u{feff}a\r\nb\r\n", "a\nb");
}

#[test]
fn precedence() {
    reads("a || b && c == d | e ^ f & g << h + i * j as u8", {
        "(|| a (&& b (eq c (or d (xor e (and f (shl g (add h (mul i (j as u8))))))))))"
    });
    reads("-a * b - -c", "(sub (mul (neg a) b) (neg c))");
    reads("!a && !(b < c)", "(&& (not a) (not (lt b c)))");
    reads("-x as f32", "((neg x) as f32)");
    reads("i as i64 < n && j as usize < m", "(&& (lt (i as i64) n) (lt (j as other usize) m))");
    reads("a - b - c", "(sub (sub a b) c)");
    reads("-x.abs()", "(neg x.abs())");
}

#[test]
fn calls_types_and_indices() {
    reads("bitcast<u32>(x) < y", "(lt bitcast<u32>(x) y)");
    reads("let t = Tensor.zeros<f32>(2, 3)", "let t = Tensor.zeros<f32>(2, 3)");
    reads("f(a < b, c > (d))", "f((lt a b), (gt c d))");
    reads("f32(x) + x as f32", "(add f32(x) (x as f32))");
    reads("t[i, j] = t[i][j]", "t[i, j] = t[i][j]");
    reads("let a: [[f32; 4]; 2 + 1] = [[0.0; 4]; 3]", "let a: [[f32; 4]; (add 2 1)] = [[0.0; 4]; 3]");
    reads("fn f(a: Tensor<f32, 2>!, b: &mut Tensor<u8>, c: Box<Vec<f32>>): bool { true }", {
        "(fn f(a: Tensor<f32, 2>!, b: Tensor<u8>!, c: other Box<Vec<f32>>): bool {value true})"
    });
    reads("let x: Tensor<f32>= y", "let x: Tensor<f32> = y");
    reads("fn f() -> f32 { 1.0 }", "(fn f(): f32 {value 1.0})");
    reads(
        "extern fn sin(x: f64): f64\nextern \"C\" { fn a(); fn b(i32, ...) }",
        "(extern sin)\n(extern a)\n(extern b)",
    );
    reads("x.f()[1].g.h(&y, &!z)", "x.f()[1].g.h(&y, &!z)");
    reads("(a,)\n()\n(a)", "(a)\n()\na");
}

#[test]
fn loops() {
    reads("for i in 0..n step 2 { f(i) }", "for i in 0..n step 2 {f(i)}");
    reads("for i in (a + 1)..=(b) { }", "for i in (add a 1)..=b {}");
    reads("for i in (0..n).step_by(2) { }\nfor i in (0..n) {}", "for i in 0..n step 2 {}\nfor i in 0..n {}");
    reads("while x < 3 { x += 1; continue }", "while (lt x 3) {x add= 1; continue}");
    reads("loop { if a { break } }", "while true {if a {break}}");
    reads("x <<= 1\ny >>= 2", "x shl= 1\ny shr= 2");
    reads("{ let x = 1 }", "if true {let x = 1}");
}

#[test]
fn numbers_and_texts() {
    reads("[1_000, 0xffu8, 0b1010, 0o17i64, 1f32, 1e-3, 2., 1.5e+3f64, 1_f16]", {
        "[1000, 255u8, 10, 15i64, 1f32, 1e-3, 2., 1.5e+3f64, 1f16]"
    });
    reads("340282366920938463463374607431768211455", "340282366920938463463374607431768211455");
    reads(r#"print("a\n\t\"\\", x, 1.max(2))"#, r#"print("a\n\t\"\\", x, 1.max(2))"#);
}

#[test]
fn what_kernels_have_no_room_for() {
    reads("go { f() }\ngo f()\nlet go = 1", "<Go go>\n<Go go>\nlet go = 1");
    reads("let x = await f()\nlet y = f().await", "let x = <Await await>\nlet y = <Await .await>");
    reads("panic!(\"no\")\nthrow e\nassert(x)", "<Panic panic!>\n<Panic throw>\n<Panic assert>");
    reads("let v = vec![1, 2]\nlet b = new Box(1)", "let v = <Heap vec!>\nlet b = <Heap new>");
    reads(
        "let f = |x| x + 1\nmatch x { 1 => 2 }\nf()?",
        "let f = <Unsupported |..|>\n<Unsupported match>\n<Unsupported ?>",
    );
    reads("Box.new(1)", "Box.new(1)");
}

#[test]
fn values_stand_where_somebody_looks_at_them() {
    reads("fn f() { if a { g() } else if b { h() } }", "(fn f() {if a {g()} else {value if b {h()}}})");
    reads("fn f(): i32 { if a { g() } else { h() } }", "(fn f(): i32 {value if a {value g()} else {value h()}})");
    reads("fn f(): i32 { g(); }", "(fn f(): i32 {g()})");
    reads("for i in 0..3 { if a { g() } }", "for i in 0..3 {if a {g()}}");
}
