//! Index arithmetic never wraps silently: whatever integers are mixed in an index, a bound or an i64, the result is the exact one.

use proptest::prelude::*;
use slyz_lang::check::{Dialect, check};
use slyz_lang::parse::parse;
use slyz_lang::typed::{Expr, ExprKind, Function, MemoryRef, Stmt};
use slyz_sir::types::{Scalar, Ty};
use slyz_trials::property;
use std::collections::HashMap;

/// An expression as text, with its exact value.
#[derive(Clone, Debug)]
enum Tree {
    Leaf(usize),
    Literal(i64),
    Neg(Box<Tree>),
    Binary(&'static str, Box<Tree>, Box<Tree>),
}

/// Leaves as they are written, and their values: near the ends of their types.
const LEAVES: [(&str, i128); 9] = [
    ("M", i32::MAX as i128),
    ("N", i32::MIN as i128),
    ("P", u32::MAX as i128),
    ("S", i16::MIN as i128),
    ("L", 1 << 33),
    ("i", (1 << 31) + 5),
    ("b[i]", i32::MAX as i128 - 1),
    ("u[i]", u32::MAX as i128 - 1),
    ("c[i]", 255),
];

impl Tree {
    fn text(&self) -> String {
        match self {
            Tree::Leaf(k) => LEAVES[*k].0.into(),
            Tree::Literal(value) => value.to_string(),
            Tree::Neg(x) => format!("-({})", x.text()),
            Tree::Binary(op @ ("min" | "max"), x, y) => format!("{op}({}, {})", x.text(), y.text()),
            Tree::Binary(op, x, y) => format!("({}) {op} ({})", x.text(), y.text()),
        }
    }

    /// The value in whole numbers, if it and all on the way fit an i64.
    fn exact(&self) -> Option<i128> {
        let value = match self {
            Tree::Leaf(k) => LEAVES[*k].1,
            Tree::Literal(value) => i128::from(*value),
            Tree::Neg(x) => -x.exact()?,
            Tree::Binary(op, x, y) => {
                let (x, y) = (x.exact()?, y.exact()?);
                match *op {
                    "+" => x + y,
                    "-" => x - y,
                    "*" => x * y,
                    "/" => x.checked_div(y)?,
                    "%" => x.checked_rem(y)?,
                    "min" => x.min(y),
                    _ => x.max(y),
                }
            }
        };
        i64::try_from(value).ok().map(i128::from)
    }
}

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![4 => (0..LEAVES.len()).prop_map(Tree::Leaf), 1 => (0i64..127).prop_map(Tree::Literal)];
    leaf.prop_recursive(5, 24, 2, |inner| {
        let op = prop::sample::select(vec!["+", "-", "*", "/", "%", "min", "max"]);
        prop_oneof![
            1 => inner.clone().prop_map(|x| Tree::Neg(x.into())),
            6 => (op, inner.clone(), inner).prop_map(|(op, x, y)| Tree::Binary(op, x.into(), y.into())),
        ]
    })
}

/// What the typed expression comes to.
fn value(f: &Function, expr: &Expr, leaves: &HashMap<&str, i128>) -> Scalar {
    let of = |ty: Ty, name: &str| Scalar::from_int(ty, leaves[name]);
    match &expr.kind {
        ExprKind::Const(value) => *value,
        ExprKind::Local(local) => of(expr.ty, &f.locals[local.0 as usize].name),
        ExprKind::Load(MemoryRef::Param(k), _) => of(expr.ty, &format!("{}[i]", f.params[*k as usize].name)),
        ExprKind::Cast(x) => value(f, x, leaves).cast(expr.ty),
        ExprKind::Apply(operator, args) => {
            let args: Vec<Scalar> = args.iter().map(|a| value(f, a, leaves)).collect();
            operator.eval(&args).unwrap()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn random_index_arithmetic() {
    property("random_index_arithmetic", 2000, (trees(), 0usize..3), |(tree, place)| {
        let expr = tree.text();
        let body = match place {
            0 => format!("out[{expr}] = 1.0"),
            1 => format!("let v: i64 = {expr}"),
            _ => format!("for k in ({expr})..9 {{ }}"),
        };
        let text = format!(
            "graph fn k(b: Tensor<i32>, u: Tensor<u32>, c: Tensor<u8>, out: Tensor<f32>!, M: i32, N: i32, P: u32, S: i16, L: i64) {{\n\
             let i = thread.x\nif i == 0 {{\n{body}\n}}\n}}\n"
        );
        let (file, errors) = parse(&text);
        prop_assert!(errors.is_empty(), "{text}: {errors:?}");
        let checked = check(&file, Dialect::Vex);
        let Some(exact) = tree.exact() else { return Ok(()) };
        // A constant index below zero is another rule's business.
        let Some(f) = checked.program.functions.first() else {
            let errors = checked.diagnostics.iter().filter(|d| d.is_error());
            prop_assert!(
                errors.map(|d| d.rule).all(|rule| rule == "index-bounds"),
                "{text}: {:?}",
                checked.diagnostics
            );
            return Ok(());
        };
        let Some(Stmt::If { then, .. }) = f.body.last() else { panic!("{:?}", f.body) };
        let found = match &then[0] {
            Stmt::Store { index, .. } => &index[0],
            Stmt::Set(_, value) => value,
            Stmt::For { lo, .. } => lo,
            other => panic!("{other:?}"),
        };
        prop_assert_eq!(found.ty, Ty::I64);
        let leaves: HashMap<&str, i128> = LEAVES.into_iter().collect();
        prop_assert_eq!(value(f, found, &leaves).as_int(), exact, "{}", expr);
        Ok(())
    });
}
