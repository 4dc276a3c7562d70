//! Compiling for machines that are not this one: every text that calls of a program, or launches of a kernel, are sure to ask for.

use crate::bundle::{Object, Target};
use crate::driver::forms_of_kernel;
use crate::{Error, precision};
use slyz_sir::choices::Precision;
use slyz_sir::kernel::Plan;
use slyz_sir::launch::Template;
use slyz_sir::meaning;
use slyz_sir::program::Program;
use slyz_sir::raise::Candidate;
use slyz_sir::raw::Language;
use slyz_sir::verify;
use std::sync::Arc;

/// What is compiled beforehand.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// A program of a front end, whose positions are inside its arrays.
    Program(&'a Program),
    /// A kernel, for launches in blocks of so many threads, or in the usual ones.
    Kernel(&'a Arc<Template>, Option<[u32; 3]>),
}

/// The code of a program or kernel for some targets, for arrays of any size.
///
/// ```no_run
/// use slyz_run::ahead::{Source, compiled};
/// use slyz_run::bundle::Target;
/// use slyz_sir::text::parse_program;
/// let program = parse_program("program twice(%x: f32) -> f32 { %y: f32 = add %x, %x  return %y }")?;
/// for object in compiled(Source::Program(&program), &[Target::X86_64(3)])? {
///     println!("{}: {} bytes", object.target(), object.bytes());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compiled(source: Source<'_>, targets: &[Target]) -> Result<Vec<Object>, Error> {
    if let Source::Program(program) = source {
        verify::program(program)?;
    }
    let mut objects: Vec<Object> = vec![];
    for &target in targets {
        let made = match target {
            Target::Baseline | Target::X86_64(_) => for_cores(source, target)?,
            Target::Cubin(_) | Target::Ptx(_) => for_nvidia(source, target)?,
            Target::SpirV | Target::Wgsl => for_shaders(source, target)?,
        };
        for object in made {
            if !objects.iter().any(|known| known.is_of(&object)) {
                objects.push(object);
            }
        }
    }
    Ok(objects)
}

/// The plans of a program or a kernel. Launches that are array programs run as these where there is code for them, and else as written.
fn plans(
    source: Source<'_>,
    on_gpu: bool,
    lower: &dyn Fn(&Program) -> Result<Vec<Plan>, Error>,
    precision: Precision,
) -> Result<Vec<Plan>, Error> {
    match source {
        Source::Program(program) => lower(program),
        Source::Kernel(template, block) => {
            let (block, mut plans) = forms_of_kernel(template, block, on_gpu)?;
            let raised = Candidate::new(template).ok();
            let raised = raised.and_then(|it| it.raise(block, None, precision != Precision::Exact).ok());
            if let Some(raised) = raised.filter(|raised| raised.pays) {
                plans.extend(lower(&raised.program)?);
            }
            Ok(plans)
        }
    }
}

#[cfg(feature = "cpu")]
fn for_cores(source: Source<'_>, target: Target) -> Result<Vec<Object>, Error> {
    let ahead = crate::cpu::Ahead::new();
    let mut objects = vec![];
    let lower = |program: &Program| Ok(vec![ahead.lower(&meaning::chosen(program, Language::C))]);
    for plan in plans(source, false, &lower, precision::from_environment()?)? {
        for text in ahead.texts(&plan)? {
            let bytes = ahead.compiled(&text, target)?;
            objects.push(Object::new(target, &text, "", bytes));
        }
    }
    Ok(objects)
}

#[cfg(not(feature = "cpu"))]
fn for_cores(_: Source<'_>, target: Target) -> Result<Vec<Object>, Error> {
    Err(Error::Bundle { why: format!("code for {target} needs the cargo feature \"cpu\"") })
}

#[cfg(feature = "cuda")]
fn for_nvidia(source: Source<'_>, target: Target) -> Result<Vec<Object>, Error> {
    use crate::cuda::ahead;
    let usual = precision::from_environment()?;
    let mut objects = vec![];
    let lower = |program: &Program| Ok(vec![ahead::lower(&meaning::chosen(program, Language::Cuda))]);
    for plan in plans(source, true, &lower, usual)? {
        for kernel in &plan.kernels {
            let precision = kernel.precision.unwrap_or(usual);
            for narrow in [true, false] {
                let text = ahead::text(kernel, precision, narrow)?;
                let bytes = ahead::compiled(kernel, &text, precision, target)?;
                objects.push(Object::new(target, &text, ahead::choice(precision), bytes));
            }
        }
    }
    Ok(objects)
}

#[cfg(not(feature = "cuda"))]
fn for_nvidia(_: Source<'_>, target: Target) -> Result<Vec<Object>, Error> {
    Err(Error::Bundle { why: format!("code for {target} needs the cargo feature \"cuda\"") })
}

/// Shaders for all kinds of adapters that are known and can run it, for calls of all classes of sizes.
#[cfg(feature = "shaders")]
fn for_shaders(source: Source<'_>, target: Target) -> Result<Vec<Object>, Error> {
    use crate::shaders::{self, KNOWN};
    use slyz_sir::lower::Choice;
    use slyz_sir::lower::gpu::Expected;
    use std::collections::BTreeSet;

    let usual = precision::from_environment()?;
    let mut seen = BTreeSet::new();
    let mut objects = vec![];
    let mut refused = None;
    // WGSL is what people are shown as well, whatever the driver gets.
    for kind in KNOWN.into_iter().filter(|kind| kind.passthrough || target == Target::Wgsl) {
        let machine = kind.machine();
        let adapter = kind.target(usual);
        let lower = |program: &Program| {
            let program = shaders::begun(&meaning::chosen(program, Language::Wgsl), &adapter, &machine)?;
            let all = Expected::ahead(program.sizes.len());
            let plans = all.iter().map(|expected| shaders::lowered(&program, machine, usual, expected, Choice::USUAL));
            Ok(plans.collect())
        };
        let made = plans(source, true, &lower, usual);
        let plans = made.unwrap_or_else(|error| {
            refused.get_or_insert(error);
            vec![]
        });
        for kernel in plans.iter().flat_map(|plan| &plan.kernels).filter(|kernel| kernel.raw.is_none()) {
            for adapter in kind.forms(usual) {
                let text = shaders::text(kernel, &adapter);
                if !seen.insert(text.clone()) {
                    continue;
                }
                match shaders::object(kernel, &adapter, &text, target) {
                    Ok(object) => objects.push(object),
                    // Others have what it lacks.
                    Err(error) => refused = refused.or(Some(error)),
                }
            }
        }
    }
    match refused {
        Some(error) if objects.is_empty() => Err(error),
        _ => Ok(objects),
    }
}

#[cfg(not(feature = "shaders"))]
fn for_shaders(_: Source<'_>, target: Target) -> Result<Vec<Object>, Error> {
    Err(Error::Bundle { why: format!("code for {target} needs the cargo feature \"shaders\"") })
}
