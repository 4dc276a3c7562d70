//! Arguments, sizes, results, and what goes wrong with them.

use slyz::prelude::*;
use slyz::{CallError, Error, TensorError};

type R<T = ()> = Result<T, Error>;

axis!(N, M, K);

fn text<T>(result: Result<T, Error>) -> String {
    result.err().map_or("no error".into(), |error| error.to_string())
}

#[test]
fn sizes_follow_from_arguments() -> R {
    // The flat slice of the first argument waits for what the second and third tell.
    let f = compile(|a: Arr<f32, (N, M, K)>, _b: Arr<f32, (M, N)>, _c: Arr<f32, M>| a.axis::<0>().sum())?;
    let y = f.call(&[1f32; 24], &[0f32; 6], &[0f32; 2])?;
    assert_eq!((y.dims(), y.to_vec()?), (&[2, 4][..], vec![3.; 8]));
    let f = compile(|t: Arr<f32, Tri<N>>| tabulate(|i: Idx<N>| t.at(Idx::tri(i, i))))?;
    assert_eq!(f.call(&[1f32, 2., 3.])?.to_vec()?, [1., 3.]);
    let f = compile(|x: Arr<f32, Min<N, M>>, y: Arr<f32, N>| x.sum() + y.sum())?.size::<M>(2);
    assert_eq!(f.call(&[1f32, 2.], &[1f32, 1., 1.])?.value()?, 6.);
    assert!(text(f.call(&[1f32], &[1f32, 1., 1.])).contains("argument 1 has 1 where its type says Min<N, M> = 2"));
    let f = compile(|x: Arr<f32, (N, M)>| x.innermost().sum())?;
    assert_eq!(f.call((&[0f32; 0], [3, 0]))?.to_vec()?, [0.; 3]);
    Ok(())
}

#[test]
fn wrong_sizes() -> R {
    let f = compile(|x: Arr<f32, (N, M)>, y: Arr<f32, N>, z: Arr<f32, Fix<2>>| x.sum() + y.sum() + z.sum())?;
    let (y, z) = ([1f32; 2], [1f32; 2]);
    assert!(f.call((&[1f32; 6], [2, 3]), &y, &z).is_ok());
    let e = text(f.call((&[1f32; 6], [3, 2]), &y, &z));
    assert!(e.contains("axis N is 3 in argument 1, but argument 2 has 2 there"), "{e}");
    let e = text(f.call((&[1f32; 6], [2, 2]), &y, &z));
    assert!(e.contains("argument 1 has 6 elements, its shape [2, 2] needs 4"), "{e}");
    let e = text(f.call((&[1f32; 6], [6]), &y, &z));
    assert!(e.contains("argument 1 has 1 axes, its type has 2: (N, M)"), "{e}");
    let e = text(f.call(&[1f32; 5], &y, &z));
    assert!(e.contains("argument 1: 5 elements do not divide into shape (N, M), of which 2 are known"), "{e}");
    let e = text(f.call(&[1f32; 6], &y, &[1f32; 3]));
    assert!(e.contains("argument 3 has 3 where its type says 2; pass"), "{e}");
    let e = text(f.call((&[1f32; 0], [usize::MAX, 2]), &y, &z));
    assert!(e.contains("larger than 2^63 - 1"), "{e}");
    let given = compile(|x: Arr<f32, N>| x)?.size::<N>(3);
    assert!(matches!(given.call(&[1f32]), Err(Error::Call(CallError::Disagree { known: 3, found: 1, .. }))));
    Ok(())
}

/// A product with a zero is zero, and one that nobody can count is an error.
#[test]
fn elements_are_counted() -> R {
    let huge = 1usize << 40;
    let none = Tensor::<f32>::from_vec([huge, huge, 0], vec![])?;
    assert_eq!((none.len(), none.is_empty(), none.to_vec()?), (0, true, vec![]));
    assert!(Tensor::<f32>::filled([0, huge, huge], 1.0)?.is_empty());
    for dims in [[huge, huge, 1], [usize::MAX, 1, 2]] {
        let filled = text(Tensor::<f32>::filled(dims, 1.0));
        let from = text(Tensor::<f32>::from_vec(dims, vec![]));
        assert!(
            filled.contains("too large for the memory") && from.contains("too large for the memory"),
            "{filled} {from}"
        );
    }
    Ok(())
}

/// A size for an axis that a function does not have is a mistake, not nothing.
#[test]
fn sizes_are_of_axes_of_the_function() -> R {
    let e = text(compile(iota::<N>)?.size::<N>(3).size::<K>(2).call());
    assert!(e.contains("`.size::<K>(..)`") && e.contains("its axes are: N"), "{e}");
    let e = text(compile(|x: Arr<f32, Fix<2>>| x)?.size::<Fix<2>>(3).call(&[1f32, 2.]));
    assert!(e.contains("`.size::<2>(..)`") && e.contains("its axes are: none"), "{e}");
    // An axis of a parameter that nobody reads is one of the function.
    compile(|_x: Arr<f32, N>, y: Exp<f32>| y)?.size::<N>(1).call(&[1f32], 2.0)?;
    Ok(())
}

#[test]
fn results_go_back_in() -> R {
    let sum = compile(|x: Arr<f32, N>| x.sum())?;
    let scale = compile(|x: Arr<f32, N>, a: Exp<f32>| x / a)?;
    let x = Tensor::<f32, N>::from_vec([2], vec![1., 3.])?;
    let y = scale.call(&x, &sum.call(&x)?)?;
    assert_eq!((y.to_vec()?, y == scale.call(&x, 4.0)?), (vec![0.25, 0.75], true));
    let twice = scale.clone();
    let from_thread = std::thread::spawn(move || twice.call(&[2f32], 2.0).and_then(|y| y.to_vec()));
    assert_eq!(from_thread.join().ok().transpose()?, Some(vec![1.0]));
    Ok(())
}

#[test]
fn results_that_compute_nothing() -> R {
    let f = compile(|x: Arr<f32, N>, a: Exp<i32>| (x, a, x, lit(7u8), fill::<bool, ()>(true), a))?;
    let (x, a, again, seven, yes, b) = f.call(&[1f32, 2.], 5)?;
    assert_eq!((x.to_vec()?, again.to_vec()?), (vec![1., 2.], vec![1., 2.]));
    assert_eq!((a.value()?, seven.value()?, yes.value()?, b.value()?), (5, 7, true, 5));
    let f = compile(|x: Arr<f32, ()>| x * 2.0)?;
    assert_eq!(f.call(&[4f32])?.value()?, 8.0);
    assert!(f.call(&[4f32, 5.]).is_err());
    Ok(())
}

#[test]
fn tensors() -> R {
    let t = Tensor::<(f32, u8), (N, M)>::from_vec([1, 2], vec![(1., 2), (3., 4)])?;
    assert_eq!((t.dims(), t.len(), t.to_vec()?), (&[1, 2][..], 2, vec![(1., 2), (3., 4)]));
    assert_eq!(format!("{t:?}"), "Tensor([[(1., 2), (3., 4)]], (f32, u8))");
    assert_eq!(t.rename::<(M, Fix<2>)>()?.dims(), [1, 2]);
    assert!(text(t.rename::<(N, N)>()).contains("axis N is 1 and 2"));
    assert!(text(t.rename::<(N, Fix<3>)>()).contains("axis 3 has 3 positions, not 2"));
    assert!(text(t.rename::<N>()).contains("2 dimensions, 1 axes"));
    assert_eq!(t.clone().into_dyn().rename::<(N, M)>()?, t);
    let short = Tensor::<f32, N>::from_vec([3], vec![1., 2.]);
    assert!(matches!(short, Err(Error::Tensor(TensorError::Length { expected: 3, found: 2, .. }))));
    assert_eq!(Tensor::<f32>::from_vec([0, 5], vec![])?.len(), 0);
    Ok(())
}

#[test]
fn traced_functions_can_be_read() -> R {
    fn triple(x: Arr<f32, N>) -> Arr<f32, N> {
        x * 3.0
    }
    let f = compile(triple)?;
    let explained = f.explain().to_string();
    assert!(f.sir().starts_with("program triple") && explained.contains("triple"), "{explained}");
    assert!(!f.device().is_empty());
    assert_eq!(f.program().functions.len(), 0);
    Ok(())
}

#[test]
fn mistakes_are_found_together() {
    axis!(Kept);
    let outside = std::cell::Cell::new(None);
    let _ = compile(|x: Arr<f32, N>| {
        outside.set(Some(x));
        x
    });
    let result = compile(|x: Arr<f32, N>| {
        let escaped = std::cell::Cell::new(None);
        let y = x.map(|v| {
            escaped.set(Some(v));
            v
        });
        let z = y * escaped.get().unwrap_or(lit(0.0));
        let w = outside.get().map_or(x, |other| x + other);
        z + w + x.filter::<Fix<3>>(|v| v.gt(0.0)).sum()
    });
    let Err(Error::Trace(errors)) = result else { panic!("a trace error is expected") };
    let what: Vec<&str> = errors.iter().map(|error| error.what.as_str()).collect();
    assert_eq!(
        what,
        [
            "a value has left the `tabulate` body it belongs to",
            "a value of another traced function is used here",
            "the extent 3 is fixed, and a filter counts its own"
        ]
    );
    assert!(errors.iter().all(|error| error.at.file().ends_with("calls.rs")), "{errors:?}");
}

#[test]
fn a_trace_has_a_largest_size() {
    let result = compile(|x: Exp<f32>| {
        let mut y = x;
        for k in 0..1_100_000 {
            y += k as f32;
        }
        y
    });
    let e = text(result);
    assert!(e.contains("more than 1000000 operations") && e.contains("iterate"), "{e}");
}

/// A Rust loop is unrolled while tracing; what comes of it is a few long kernels, not one for each operation.
#[test]
fn thousands_of_operations_are_a_few_launches() -> R {
    let f = compile(|x: Arr<u32, N>| (0..1500u32).fold(x, |y, k| y * y + k))?;
    let launches = f.explain().details().launches().count();
    assert!((2..=5).contains(&launches), "{launches} launches");
    let expected = |x: u32| (0..1500u32).fold(x, |y, k| y.wrapping_mul(y).wrapping_add(k));
    assert_eq!(f.call(&[1u32, 2, 3])?.to_vec()?, [1, 2, 3].map(expected));
    Ok(())
}

/// What is more than scalar code is traced at each call instead of becoming a function of the program.
#[test]
fn functions_over_sizes_are_inlined() -> R {
    #[slyz::function]
    fn next(i: Idx<N>) -> Idx<N> {
        (i + 1).wrap()
    }
    #[slyz::function]
    fn scalar(x: Exp<f32>) -> Exp<f32> {
        if x > 0.0 { x } else { x * 2.0 }
    }
    let f = compile(|x: Arr<f32, N>| tabulate(|i: Idx<N>| scalar(x.at(next(i))) + scalar(x.at(next(next(i))))))?;
    assert_eq!(f.program().functions.len(), 1);
    assert_eq!(f.call(&[1f32, -2., 3.])?.to_vec()?, [-1., 4., -3.]);
    Ok(())
}
