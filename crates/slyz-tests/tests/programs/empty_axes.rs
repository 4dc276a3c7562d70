//! Positions on empty axes: whatever needs one to exist is refused at the call, and nothing else is.

use slyz::prelude::*;
use slyz::{CallError, Error};

axis!(N, M, Kept);

const NONE: [f32; 0] = [];

fn is_empty_axis<T>(result: Result<T, Error>, name: &str) -> bool {
    matches!(result, Err(Error::Call(CallError::Empty { axis })) if axis == name)
}

#[test]
fn computed_positions_need_a_position() -> Result<(), Error> {
    let f = compile(|x: Arr<f32, N>, y: Arr<f32, M>| tabulate(|i: Idx<N>| x.at(i) + y.at(Near::<M>::new(5).clamp())))?;
    assert!(is_empty_axis(f.call(&[1f32], &NONE), "M"));
    assert_eq!(f.call(&NONE, &[1f32])?.len(), 0);
    let f = compile(|y: Arr<f32, M>| y.at(Near::<M>::new(-1).wrap()))?;
    assert!(is_empty_axis(f.call(&NONE), "M"));
    assert_eq!(f.call(&[1f32, 2.])?.value()?, 2.0);
    Ok(())
}

#[test]
fn best_of_nothing() -> Result<(), Error> {
    let f = compile(|y: Arr<f32, M>| y.at(y.argmax()))?;
    assert!(is_empty_axis(f.call(&NONE), "M"));
    let f = compile(|y: Arr<f32, M>| y.argmin())?;
    assert!(is_empty_axis(f.call(&NONE), "M"));
    Ok(())
}

#[test]
fn steps_from_a_position_are_fine() -> Result<(), Error> {
    let f = compile(|u: Arr<f32, (N, M)>| u.stencil(Border::Clamp, |u| u((0, 0)) + u((1, 0)) + u((0, -1))))?;
    assert_eq!(f.call((&NONE, [0, 3]))?.dims(), [0, 3]);
    let f = compile(|x: Arr<f32, N>| tabulate(|i: Idx<N>| x.at((i + 1).wrap()) + x.at((i - 1).clamp())))?;
    assert_eq!(f.call(&NONE)?.to_vec()?, NONE);
    Ok(())
}

#[test]
fn reading_with_a_default_needs_nothing() -> Result<(), Error> {
    let f = compile(|y: Arr<f32, M>| y.at_or(Near::<M>::new(2), -1.0))?;
    assert_eq!(f.call(&NONE)?.value()?, -1.0);
    assert_eq!(f.call(&[1f32, 2., 3.])?.value()?, 3.0);
    Ok(())
}

#[test]
fn counted_axes_are_refused_while_tracing() {
    let e = compile(|x: Arr<f32, N>| {
        let y = x.filter::<Kept>(|v| v.gt(0.0));
        y.at(y.argmax())
    });
    let e = e.unwrap_err().to_string();
    assert!(e.contains("axis Kept is counted while the function runs"), "{e}");
}

#[test]
fn folds_of_nothing() -> Result<(), Error> {
    let f = compile(|x: Arr<f32, N>| (x.sum(), x.product(), x.max(), x.scan(Sum), x.map(|v| v.gt(0.0)).all()))?;
    let (sum, product, max, scan, all) = f.call(&NONE)?;
    assert_eq!((sum.value()?.to_bits(), product.value()?, max.value()?), (0, 1.0, f32::NEG_INFINITY));
    assert_eq!((scan.len(), all.value()?), (0, true));
    Ok(())
}

/// A position cannot be made from a number behind the back of its axis.
#[test]
fn positions_are_not_forged() {
    let e = compile(|x: Arr<f32, N>, k: Exp<i64>| {
        let mut leaves = vec![];
        slyz::Value::leaves(k, &mut leaves);
        let forged = <Idx<N> as slyz::Value>::build(&mut || leaves[0]);
        x.at(forged)
    });
    let e = e.unwrap_err().to_string();
    assert!(e.contains("a number stands where a position of another axis must be"), "{e}");
}
