//! Every law that `simplify` applies, on every type and on the values that tend to break laws.
//!
//! Random programs rarely bring a law and the one value that breaks it together, so this goes through all small
//! programs: an operator with a constant or with one operand twice, an operator on an operator, conversions in a row.

use slyz_sir::build::Builder;
use slyz_sir::code::{Id, Op, Type};
use slyz_sir::interp::Value;
use slyz_sir::interp::program::run;
use slyz_sir::ops::{Operator, Signature, TABLE};
use slyz_sir::pass::simplify;
use slyz_sir::program::Program;
use slyz_sir::types::{Scalar, Ty, int_range};

/// Values on which laws fail, if they fail.
fn edges(ty: Ty) -> Vec<Scalar> {
    if ty == Ty::Bool {
        return vec![Scalar::bool(false), Scalar::bool(true)];
    }
    if ty.is_float() {
        let x = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 300.7, 1e-7, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        return x.map(|x| Scalar::from_f64(ty, x)).to_vec();
    }
    let (low, high) = int_range(ty);
    let wide = (ty.bits() as i128, 1 << (ty.bits() / 2));
    [0, 1, -1, 2, 7, wide.0, wide.1, low, high, high - 1].map(|x| Scalar::from_int(ty, x)).to_vec()
}

/// The types of the operands of an operator on `ty`.
fn operands(operator: Operator, ty: Ty) -> Vec<Ty> {
    match operator.row().signature {
        Signature::Same | Signature::Test => vec![ty; operator.row().arity],
        Signature::IntPower => vec![ty, Ty::I32],
        Signature::Select => vec![Ty::Bool, ty, ty],
    }
}

fn built(params: &[Ty], code: impl FnOnce(&mut Builder, &[Id]) -> Id) -> Program {
    let mut b = Builder::new("law");
    let params: Vec<Id> = params.iter().map(|&ty| b.param(Type::Scalar(ty))).collect();
    let result = code(&mut b, &params);
    b.finish(&[result]).expect("well typed")
}

/// If `simplify` does something to the program, the results must stay, whatever the arguments; bits, except for which NaN.
fn check(program: &Program) {
    let simple = simplify::run(program.clone());
    if simple == *program {
        return;
    }
    let tys: Vec<Ty> = program.body.params.iter().map(|p| p.ty.elem()).collect();
    let mut rows: Vec<Vec<Value>> = vec![vec![]];
    for ty in tys {
        let longer = |row: &Vec<Value>, x: Scalar| [&row[..], &[Value::Scalar(x)]].concat();
        rows = rows.iter().flat_map(|row| edges(ty).into_iter().map(|x| longer(row, x)).collect::<Vec<_>>()).collect();
    }
    for args in rows {
        let result = |program: &Program| match run(program, &[], &args).expect("scalars only")[0] {
            Value::Scalar(value) => value,
            Value::Array(_) => panic!("scalars only"),
        };
        let (before, after) = (result(program), result(&simple));
        let nan = |x: Scalar| x.ty.is_float() && x.as_f64().is_nan();
        let same = before == after || before.ty == after.ty && nan(before) && nan(after);
        assert!(same, "{before:?} became {after:?} for {args:?} in\n{program}which became\n{simple}");
    }
}

/// Every operator on every type of its domain.
fn each_operator(mut f: impl FnMut(Operator, Ty)) {
    for row in TABLE {
        Ty::ALL.into_iter().filter(|&ty| row.domain.has(ty)).for_each(|ty| f(row.operator, ty));
    }
}

#[test]
fn operators_with_constants() {
    each_operator(|operator, ty| {
        let tys = operands(operator, ty);
        // Which operands are constants. With all of them it is evaluation itself.
        for mask in 0..(1u32 << tys.len()) - 1 {
            let of = |k: usize| if mask >> k & 1 == 1 { edges(tys[k]) } else { vec![Scalar::bool(false)] };
            let columns: Vec<Vec<Scalar>> = (0..tys.len()).map(of).collect();
            // The diagonal for three operands: laws are about one or two of them.
            for (i, &x) in columns[0].iter().enumerate() {
                for (j, &y) in columns.get(1).unwrap_or(&vec![x]).iter().enumerate() {
                    let z = columns.get(2).map_or(x, |c| c[(i + j) % c.len()]);
                    let values = [x, y, z];
                    check(&built(&tys, |b, params| {
                        let arg = |b: &mut Builder, k: usize| match mask >> k & 1 {
                            1 => b.constant(values[k]).expect("a constant"),
                            _ => params[k],
                        };
                        let args: Vec<Id> = (0..tys.len()).map(|k| arg(b, k)).collect();
                        b.apply(operator, &args).expect("well typed")
                    }));
                }
            }
        }
    });
}

#[test]
fn operators_with_one_operand_twice() {
    each_operator(|operator, ty| {
        let tys = operands(operator, ty);
        check(&built(&tys, |b, params| {
            // The operand before it, where that has the type.
            let arg = |k: usize| if k > 0 && tys[k] == tys[k - 1] { params[k - 1] } else { params[k] };
            let args: Vec<Id> = (0..tys.len()).map(arg).collect();
            b.apply(operator, &args).expect("well typed")
        }));
    });
}

#[test]
fn operators_on_operators() {
    each_operator(|inner, ty| {
        let tys = operands(inner, ty);
        let middle = inner.result(&tys).expect("in its domain");
        for row in TABLE.iter().filter(|row| row.arity == 1 && row.domain.has(middle)) {
            check(&built(&tys, |b, params| {
                let x = b.apply(inner, params).expect("well typed");
                b.apply(row.operator, &[x]).expect("well typed")
            }));
        }
    });
}

#[test]
fn selects_on_opposites() {
    for ty in Ty::ALL {
        check(&built(&[Ty::Bool, ty, ty], |b, p| {
            let not = b.apply(Operator::Not, &[p[0]]).expect("well typed");
            b.apply(Operator::Select, &[not, p[1], p[2]]).expect("well typed")
        }));
    }
}

#[test]
fn conversions_in_a_row() {
    for from in Ty::ALL {
        for through in Ty::ALL {
            for to in Ty::ALL {
                check(&built(&[from], |b, p| {
                    let x = b.make(Op::Cast(through, p[0])).expect("well typed")[0];
                    b.make(Op::Cast(to, x)).expect("well typed")[0]
                }));
                let (a, b, c) = (from.bits(), through.bits(), to.bits());
                if a == b && b == c && from != Ty::Bool {
                    check(&built(&[from], |b, p| {
                        let x = b.bitcast(through, p[0]).expect("well typed");
                        b.bitcast(to, x).expect("well typed")
                    }));
                }
            }
        }
    }
}
