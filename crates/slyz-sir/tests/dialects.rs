//! A dialect that is not Metal: it has `f64` and 64-bit atomics, marks its functions, and its pointers are all alike. Nothing in
//! the writer may assume otherwise.

use slyz_sir::back::clike::{Description, Dialect, Helpers, PlaceName, emit, helpers as in_c};
use slyz_sir::back::msl::Msl;
use slyz_sir::back::tree::{Infix, Tree};
use slyz_sir::choices::Precision;
use slyz_sir::code::{AtomicOp, Scope, SubgroupOp};
use slyz_sir::kernel::Space;
use slyz_sir::lower::gpu::Machine;
use slyz_sir::ops::Operator;
use slyz_sir::text::parse_kernel;
use slyz_sir::types::{Scalar, Ty};

const METAL: Msl = Msl { precision: Precision::Table };

struct Plain;

impl Dialect for Plain {
    fn language(&self) -> &'static str {
        "Plain"
    }
    fn head(&self) -> &'static str {
        "// plain\n"
    }
    fn scalar(&self, ty: Ty) -> Option<&'static str> {
        if ty == Ty::F64 { Some("double") } else { METAL.scalar(ty) }
    }
    fn remedy(&self, ty: Ty) -> &'static str {
        METAL.remedy(ty)
    }
    fn literal(&self, value: Scalar, negative: bool, digits: &str) -> Tree {
        METAL.literal(value, negative, digits)
    }
    fn special(&self, value: Scalar, _: &Helpers) -> Tree {
        Tree::literal(value, value.as_f64() < 0.0, "special")
    }
    fn bits(&self, _: Ty, to: Ty, x: Tree) -> Tree {
        Tree::call(format!("as_{to}"), [x])
    }
    fn space(&self, _: Space) -> &'static str {
        ""
    }
    fn inline(&self) -> &'static str {
        "__device__"
    }
    fn record(&self, name: &str, fields: &[(String, String)]) -> String {
        let fields: Vec<String> = fields.iter().map(|(ty, name)| format!("{ty} {name};")).collect();
        format!("typedef struct {{ {} }} {name};\n", fields.join(" "))
    }
    fn record_value(&self, name: &str, values: &[String]) -> String {
        format!("({name}){{ {} }}", values.join(", "))
    }
    fn signature(&self, description: &Description) -> String {
        format!("__global__ void {}(…)", description.name)
    }
    fn place(&self, place: PlaceName, _: u8, _: usize) -> Tree {
        match place {
            PlaceName::Global => {
                let blocks = Tree::infix(Infix::Mul, Tree::name("block"), Tree::name("width"));
                Tree::infix(Infix::Add, blocks, Tree::name("thread"))
            }
            _ => Tree::name("thread"),
        }
    }
    fn barrier(&self, _: Scope, _: bool) -> Vec<String> {
        vec!["meet();".into()]
    }
    fn fence(&self, _: Scope) -> String {
        "fence();".into()
    }
    fn wide_bits(&self, operator: Operator, helpers: &Helpers) -> (String, Ty) {
        in_c::wide_bits(self, operator, helpers)
    }
    fn divide(&self, operator: Operator, ty: Ty, helpers: &Helpers) -> String {
        in_c::divide(self, operator, ty, helpers)
    }
    fn extreme(&self, operator: Operator, ty: Ty, helpers: &Helpers) -> String {
        in_c::extreme(self, operator, ty, helpers)
    }
    fn to_int(&self, from: Ty, to: Ty, helpers: &Helpers) -> String {
        in_c::to_int(self, from, to, helpers)
    }
    fn absolute(&self, ty: Ty, helpers: &Helpers) -> String {
        in_c::absolute(self, ty, helpers)
    }
    fn sign(&self, ty: Ty, helpers: &Helpers) -> String {
        in_c::sign(self, ty, helpers)
    }
    fn dot4(&self, helpers: &Helpers) -> String {
        in_c::dot4(self, helpers)
    }

    fn function(&self, operator: Operator, ty: Ty, _: &Helpers) -> String {
        format!("m_{}_{ty}", operator.name())
    }
    fn has_atomic(&self, _: AtomicOp, ty: Ty) -> bool {
        ty.is_int()
    }
    fn atomic(&self, name: &str, _: Space, _: Ty, element: Tree, value: Option<Tree>) -> Tree {
        Tree::call(format!("atomic_{name}"), [element].into_iter().chain(value))
    }
    fn compare_exchange(&self, _: Space, _: Ty, element: Tree, args: [Tree; 2], _: &Helpers) -> Tree {
        Tree::call("atomic_swap", [element].into_iter().chain(args))
    }
    fn subgroup(&self, op: SubgroupOp, _: Ty, args: &[Tree]) -> Option<Tree> {
        let shuffle = op == SubgroupOp::Shuffle;
        shuffle.then(|| Tree::call("shuffle", args.iter().cloned()))
    }
    fn lane_number(&self) -> Ty {
        Ty::I32
    }
    fn active_lanes(&self) -> &'static str {
        "active()"
    }
    fn lanes_below(&self) -> &'static str {
        "below()"
    }
    fn is_place(&self, name: &str) -> bool {
        ["block", "width", "thread"].contains(&name)
    }
    fn is_reserved(&self, _: &str) -> bool {
        false
    }
    fn machine(&self) -> Machine {
        Machine::metal()
    }
    fn max_buffers(&self) -> usize {
        31
    }
}

/// The text of a kernel on arrays of doubles.
fn written(code: &str) -> String {
    let text = format!(
        "kernel k<n>() grid [ceil(n / 64), 1, 1] block [64, 1, 1] {{
  global read x: f64[n]  global readwrite y: f64[n]
  %i: i64 = global.x  %n: i64 = extent n  %inside: bool = lt %i, %n
  if %inside {{ %x: f64 = load x[%i]
{code}
  }} else {{}}
}}"
    );
    let kernel = parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let (text, _) = emit(&Plain, &[&kernel]).unwrap_or_else(|error| panic!("{error}"));
    text
}

fn has(text: &str, pieces: &[&str]) {
    for piece in pieces {
        assert!(text.contains(piece), "{piece} is missing:\n{text}");
    }
    assert!(!text.contains("float"), "{text}");
}

#[test]
fn doubles_stay_doubles() {
    let text = written(
        "%a: f64 = exp %x  %b: f64 = max %a, %x  %c: i32 = cast i32 %b  %d: f64 = cast f64 %c  %e: f64 = sign %d  store y[%i], %e",
    );
    has(
        &text,
        &[
            "max_f64(m_exp_f64(",
            "__device__ double max_f64(double a, double b) { return a > b || m_is_nan_f64(b) ? a : b; }",
            "__device__ int f64_to_i32(double x)",
            "if (x <= -2147483648.0) return",
            "__device__ double sign_f64(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }",
        ],
    );
}

#[test]
fn atomics_of_floats_exchange_bits_of_their_width() {
    let text = written("%old: f64 = atomic add y[%i], %x  store y[%i], %old");
    has(
        &text,
        &[
            "__device__ double atomic_add_f64_(ulong* at, double x) {",
            "ulong next = as_u64(old + x);",
            "atomic_swap(at[0], seen, next)",
            "(ulong*)&y[",
        ],
    );
}

#[test]
fn places_are_expressions() {
    let text = written("%four: i64 = const 4  %j: i64 = mul %i, %four  %y: f64 = cast f64 %j  store y[%i], %y");
    has(&text, &["uint at = block * width + thread;", "(double)(at * 4L)"]);
}

#[test]
fn lanes_are_counted_in_the_dialects_type() {
    let text = written("%s: f64 = subgroup reduce mul %x  store y[%i], %s");
    has(&text, &["__device__ double subgroup_reduce_mul_f64(double x)", "for (int lane = 0;", "shuffle(x, lane)"]);
}
