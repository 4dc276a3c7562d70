//! Kernels that people wrote, as a page: a function for each, which takes its threads and writes into the arrays it is given.
//!
//! Their cases are launches that somebody watched: those of the host part of a .vex file, in the interpreter.

use super::super::by_hand::{ByHandLaunch, HandKernel, named, plan};
use super::super::{Emitted, Options, ProjectError};
use super::cases::{self, Call};
use super::javascript::{self, ByHand, Function};
use super::shader::Shader;
use super::{Page, check_name};
use crate::back::wgsl::Wgsl;
use crate::choices::Checks;
use crate::interp::Value;
use crate::kernel::{Kernel, Memory};
use crate::launch::LAUNCH_SIZES;
use crate::road::{Destination, KernelRoad};

/// Writes kernels as a page.
pub fn emit_kernels(
    kernels: &[HandKernel],
    road: &dyn Fn(Destination) -> KernelRoad,
    options: &Options,
) -> Result<Emitted, ProjectError> {
    let mut page = Page::default();
    for hand in kernels {
        let HandKernel { template, block, .. } = *hand;
        let name = &template.kernel.name;
        check_name(name)?;
        if page.names.contains(name) {
            return Err(ProjectError::Twice(name.clone()));
        }
        let way = road(Destination::threads(template, block));
        // What tells faults keeps places whole, however large: only the kernel's own numbers have to fit.
        let own = KernelRoad { checks: Checks::Guard, ..way.clone() }.end(template)?;
        Wgsl { int64: false, ..options.wgsl()? }.check_kernel(&own)?;
        let kernel = way.end(template)?;
        let shader = Shader::new(&kernel, options)?;
        let params = named(hand, &javascript::is_taken);
        let arrays = arrays(&kernel);
        let (plan, special) = plan(template, kernel, &params);
        let by_hand = ByHand {
            block,
            written: special.written,
            constants: special.constants.iter().map(|(id, values)| (*id, cases::array(values))).collect(),
            faults: special.faults.map(|id| (id, arrays)),
        };
        let shaders = [shader];
        let mut function = Function::new(name, &plan, &[], &shaders);
        function.names.params = params.into_iter().map(|(name, _)| name).collect();
        function.by_hand = Some(by_hand);
        if hand.launches.is_empty() {
            page.calls.push(Call { name: name.clone(), run: None, ramps: false, expected: vec![] });
        }
        page.calls.extend(hand.launches.iter().enumerate().map(|(k, launch)| call(&function, k, launch)));
        page.functions.push(function.text());
        page.names.push(name.clone());
        page.shaders.extend(shaders);
    }
    Ok(page.emitted())
}

/// The arrays that faults may be about, by number.
fn arrays(kernel: &Kernel) -> String {
    let spell = |memory: &Memory| format!("{{ name: \"{}\", axes: {} }}", memory.name, memory.shape.len());
    let list: Vec<String> = kernel.memories.iter().map(spell).collect();
    format!("[{}]", list.join(", "))
}

/// A launch as a case.
fn call(function: &Function, number: usize, launch: &ByHandLaunch) -> Call {
    let written = |k: usize| function.by_hand.iter().flat_map(|hand| &hand.written).any(|(at, _)| *at == k);
    let mut lines = vec![];
    let mut args = vec![];
    let mut results = vec![];
    for (k, (value, name)) in launch.arguments.iter().zip(&function.names.params).enumerate() {
        match value {
            Value::Scalar(value) => args.push(javascript::literal(*value)),
            Value::Array(array) => {
                lines.push(format!("const {name} = {};", cases::array(array)));
                args.push(name.clone());
                if written(k) {
                    results.push(name.clone());
                }
            }
        }
    }
    let [x, y, z] = launch.threads;
    let threads = if [y, z] == [1, 1] { x.to_string() } else { format!("[{x}, {y}, {z}]") };
    let mut options = vec![format!("threads: {threads}")];
    for k in function.asked() {
        options.push(format!("{}: {}", function.names.sizes[k], launch.sizes.get(k).copied().unwrap_or(0)));
    }
    args.push(format!("{{ {} }}", options.join(", ")));
    lines.push(format!("await {}({});", function.name, args.join(", ")));
    let name = if number == 0 { function.name.to_string() } else { format!("{}, {}", function.name, number + 1) };
    let run = Some((lines, format!("[{}]", results.join(", "))));
    Call { name, run, ramps: false, expected: launch.results.clone() }
}

const _: () = assert!(LAUNCH_SIZES == 6, "three for the grid, three for the threads: `Function::text` names them");
