//! Functions whose code the program carries: what `slyz-build` asks for at build time, and what [`bundle!`](crate::bundle!) expands to.

use crate::compile::{self, Compiled, Function, Options, Signature};
use crate::error::Error;
use crate::trace::{self, Loc};
use slyz_sir::prepare::prepare;
use slyz_sir::program::Program;
use slyz_sir::quantize::{Request, quantize};
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
/// and what is done with that.
#[track_caller]
pub fn traced<Sig: Signature, F: Function<Sig>>(f: F) -> Result<Vec<Program>, Error> {
    let at: Loc = Location::caller();
    let name = compile::function_name(std::any::type_name::<F>());
    let traced = trace::run(at, &name, &mut || Sig::outs(f.run(Sig::params(at))).outs).map_err(Error::Trace)?;
    let Some(small) = traced.small else { return Ok(vec![traced.program]) };
    let quantized = quantize(&traced.program, &Request::new(small));
    let parts = prepare(&quantized.program, &quantized.weights);
    Ok(parts.packs.into_iter().map(|pack| pack.program).chain([parts.main]).collect())
}

/// The function, with the code that a bundle has for it. Only `slyz-build` writes calls of it.
#[track_caller]
pub fn bundled<Sig: Signature, F: Function<Sig>>(bundle: &'static [u8], f: F) -> Result<Compiled<Sig>, Error> {
    let at: Loc = Location::caller();
    carry(bundle)?;
    compile::compile_for(at, &Options::new(), f)
}

/// Has launches of kernels find the code of a bundle. Only `slyz-build` writes calls of it.
#[allow(unsafe_code)]
pub fn carry(bundle: &'static [u8]) -> Result<(), Error> {
    // SAFETY: `slyz-build` wrote the bytes beside the call, from objects that compilers gave it.
    Ok(unsafe { slyz_run::bundle::carry(bundle) }?)
}
