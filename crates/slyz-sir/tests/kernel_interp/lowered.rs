//! Plans that the CPU lowering writes run here, and fold in the canonical order.

use crate::*;
use slyz_sir::build::{Builder, Region};
use slyz_sir::code::*;
use slyz_sir::interp::Value;
use slyz_sir::interp::fold::fold_in_order;
use slyz_sir::interp::kernel::run_plan;
use slyz_sir::lower::cpu::lower;
use slyz_sir::ops::Operator;
use slyz_sir::size::{Size, SizeOrigin};

const F32: Type = Type::Scalar(Ty::F32);
const I64: Type = Type::Scalar(Ty::I64);

fn add(a: Scalar, b: Scalar) -> Scalar {
    Operator::Add.eval(&[a, b]).unwrap()
}

/// The sum of squares, the positive elements and their number as an extent, and the running sums.
#[test]
fn sums_filters_and_scans() {
    let mut b = Builder::new("mixed");
    let n = Size::Var(b.add_size("n", SizeOrigin::Given));
    let kept = b.add_size("kept", SizeOrigin::Counted);
    let x = b.param(Type::Array(Ty::F32, vec![n.clone()]));
    let monoid = |b: &mut Builder| {
        let neutral = vec![b.constant(Scalar::from_f64(Ty::F32, -0.0)).unwrap()];
        let p = b.open(Region::Loop, &[F32, F32]);
        let sum = b.apply(Operator::Add, &p).unwrap();
        Monoid { neutral, combine: b.close(&[sum]).unwrap(), commutative: true }
    };
    let m = monoid(&mut b);
    let i = b.open(Region::Loop, &[I64]);
    let value = b.at(x, &i).unwrap();
    let square = b.apply(Operator::Mul, &[value, value]).unwrap();
    let body = b.close(&[square]).unwrap();
    let sum = b.fold(vec![n.clone()], body, m).unwrap();

    let zero = b.constant(Scalar::f32(0.0)).unwrap();
    let i = b.open(Region::Loop, &[I64]);
    let value = b.at(x, &i).unwrap();
    let positive = b.apply(Operator::Gt, &[value, zero]).unwrap();
    let body = b.close(&[positive, value]).unwrap();
    let positives = b.filter(n.clone(), body, kept).unwrap();

    let m = monoid(&mut b);
    let i = b.open(Region::Loop, &[I64]);
    let value = b.at(x, &i).unwrap();
    let body = b.close(&[value]).unwrap();
    let running = b.scan(vec![n], body, m).unwrap();
    let plan = lower(&b.finish(&[sum[0], positives[0], running[0]]).unwrap());

    for n in [0u64, 1, 100, 40_000] {
        let data: Vec<f32> = (0..n).map(|i| ((i * 37) % 101) as f32 / 7.0 - 5.0).collect();
        let results = run_plan(&plan, &[Some(n), None], &[Value::Array(floats(&[n], data.clone()))]).unwrap();
        let item = |i: u64| Scalar::f32(data[i as usize] * data[i as usize]);
        let neutral = [Scalar::from_f64(Ty::F32, -0.0)];
        let sum =
            fold_in_order::<()>(n, true, &mut |i| Ok(vec![item(i)]), &mut |a, b| Ok(vec![add(a[0], b[0])]), &neutral);
        assert_eq!(results[0], Value::Scalar(sum.unwrap()[0]), "n = {n}");
        let positive: Vec<f32> = data.iter().copied().filter(|&x| x > 0.0).collect();
        assert_eq!(results[1], Value::Array(floats(&[positive.len() as u64], positive)));
        let Value::Array(running) = &results[2] else { panic!() };
        assert_eq!(running.data.len() as u64, n);
    }
}
