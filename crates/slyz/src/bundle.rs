//! Functions whose code the program carries: what `slyz-build` asks for at build time, and what [`bundle!`](crate::bundle!) expands to.

use crate::compile::{self, Compiled, Function, Options, Signature};
use crate::error::Error;
use crate::trace::{self, Loc};
use slyz_sir::program::Program;
use slyz_sir::quantize::{Request, prepare, quantize};
use slyz_sir::views;
use std::panic::Location;

/// A function that `build.rs` put into a bundle under this name, compiled: its code is in the program, and no compiler is needed to run it.
/// `slyz_build::Bundle` shows how.
///
/// ```ignore
/// let f = slyz::bundle!("black_scholes")?;
/// ```
#[macro_export]
macro_rules! bundle {
    ($name:literal) => {
        ::core::include!(::core::concat!(::core::env!("OUT_DIR"), "/slyz/", $name, ".rs"))
    };
}

/// The programs that calls of a function run, as [`crate::compile`] gives them to devices: of one over smaller numbers, what is made of its weights
/// and what is done with that. With `of_views` also those of calls with views.
#[track_caller]
pub fn traced<Sig: Signature, F: Function<Sig>>(f: F, of_views: bool) -> Result<Vec<Program>, Error> {
    let at: Loc = Location::caller();
    let name = compile::function_name(std::any::type_name::<F>());
    let traced = trace::run(at, &name, &mut || Sig::outs(f.run(Sig::params(at))).outs).map_err(Error::Trace)?;
    let program = traced.program;
    let forms = [true, false].into_iter().filter(|_| of_views);
    let with_views: Vec<Program> = forms.map(|near| views::stored(&program, &views::told(&program, near))).collect();
    let usual = match traced.small {
        None => vec![program],
        Some(small) => {
            let quantized = quantize(&program, &Request::new(small));
            let parts = prepare(&quantized.program, &quantized.weights);
            parts.packs.into_iter().map(|pack| pack.program).chain([parts.main]).collect()
        }
    };
    Ok(usual.into_iter().chain(with_views).collect())
}

/// The function, with the code that a bundle has for it. Only `slyz-build` writes calls of it.
#[track_caller]
pub fn bundled<Sig: Signature, F: Function<Sig>>(bundle: &'static [u8], f: F) -> Result<Compiled<Sig>, Error> {
    let at: Loc = Location::caller();
    carry(bundle)?;
    compile::compile_for(at, &Options::new(), f)
}

/// The same with code for views.
#[track_caller]
pub fn bundled_of_views<Sig: Signature, F: Function<Sig>>(bundle: &'static [u8], f: F) -> Result<Compiled<Sig>, Error> {
    let at: Loc = Location::caller();
    carry(bundle)?;
    compile::compile_for(at, &Options::new().told_of_views(), f)
}

/// Has launches of kernels find the code of a bundle. Only `slyz-build` writes calls of it.
#[allow(unsafe_code)]
pub fn carry(bundle: &'static [u8]) -> Result<(), Error> {
    // SAFETY: `slyz-build` wrote the bytes beside the call, from objects that compilers gave it.
    Ok(unsafe { slyz_run::bundle::carry(bundle) }?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;
    use crate::views::{MemoryLayout, TensorView};

    axis!(N, M);

    fn weighted(x: Arr<f32, (N, M)>, w: Arr<f32, M>, a: Exp<f32>) -> Arr<f32, (N, M)> {
        stack(|n| x.row(n) * w * a)
    }

    fn pairs(x: Arr<(f32, i32), (N, M)>) -> Arr<f32, N> {
        tabulate(|n| x.row(n).map(|(x, k)| x * k.cast::<f32>()).sum())
    }

    /// One code for all strides gives what code for each kind of view gives.
    #[test]
    fn views_that_are_told() -> Result<(), Error> {
        let data: Vec<f32> = (0..60).map(|k| k as f32).collect();
        let x = Tensor::<f32, (N, M)>::from_vec([6, 10], data)?;
        let tiled = x.view_as([6, 10], MemoryLayout::Tiled([2, 5]))?;
        let whole = x.view::<2>()?;
        let views: Vec<TensorView<f32, 2>> = vec![
            whole,
            whole.transpose(0, 1)?,
            whole.slice(0, 2..5)?,
            whole.slice(1, 3..7)?,
            whole.slice(1, 3..4)?,
            whole.step(0, 2)?.flip(1)?,
            whole.slice(0, 1..2)?.broadcast([4, 10])?,
            whole.slice(1, 4..5)?.broadcast([6, 3])?,
            whole.slice(0, 3..3)?,
            tiled,
        ];
        let weights: Vec<f32> = (0..40).map(|k| 0.5 * k as f32).collect();
        let weights = Tensor::<f32, N>::from_vec([40], weights)?;
        for name in ["interpreter", "cpu"] {
            let device = crate::device(name)?;
            let options = Options::new().device(&device);
            let at = Location::caller();
            let usual = compile::compile_for(at, &options, weighted)?;
            let told = compile::compile_for(at, &options.clone().told_of_views(), weighted)?;
            for view in &views {
                let columns = view.shape()[1];
                let every_third = weights.view::<1>()?.step(0, 3)?.slice(0, 0..columns)?;
                let few = vec![2.0f32; columns];
                assert_eq!(usual.call(view, every_third, 2.0)?.to_vec()?, told.call(view, every_third, 2.0)?.to_vec()?);
                assert_eq!(usual.call(view, &few, 2.0)?.to_vec()?, told.call(view, &few, 2.0)?.to_vec()?);
            }
            let kinds = told.code_for_views();
            assert!(kinds <= 4, "{kinds} codes: for neighbours, for any strides, and for tiles with either argument");
            let usual = compile::compile_for(at, &options, pairs)?;
            let told = compile::compile_for(at, &options.told_of_views(), pairs)?;
            let x = Tensor::<(f32, i32), (N, M)>::from_vec([2, 2], vec![(1.0, 2), (3.0, 4), (5.0, 6), (7.0, 8)])?;
            let turned = x.view::<2>()?.transpose(0, 1)?;
            assert_eq!(usual.call(turned)?.to_vec()?, told.call(turned)?.to_vec()?);
        }
        Ok(())
    }
}
