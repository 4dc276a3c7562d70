//! Kernels that people wrote: a function for each, which takes its threads and writes into the arrays it is given, and launches of a file as cases.

use super::function::{self, Function};
use super::literal::{c_type, literal};
use super::validation::{Trial, list};
use super::{Api, Library};
use crate::back::harness::by_hand::{self, ByHand, ByHandLaunch, HandKernel};
use crate::back::harness::{Entry, Options, ProjectError, Target, cases, is_name, named_program, simt};
use crate::interp::{Array, Value};
use crate::road::{Destination, KernelRoad};
use crate::types::Scalar;

/// What a host knows of such a kernel.
#[derive(Clone, Debug)]
pub(super) struct Hand {
    /// What is special about its plan.
    pub special: ByHand,
    /// The names of its parameters.
    pub params: Vec<String>,
    /// Threads of a block.
    pub block: [u32; 3],
    launches: Vec<ByHandLaunch>,
}

/// The kernels as a library.
pub(super) fn library(
    hands: &[HandKernel],
    target: Target,
    api: Api,
    stem: &str,
    road: &dyn Fn(Destination) -> KernelRoad,
    options: &Options,
) -> Result<Library, ProjectError> {
    let mut library = Library::default();
    let mut made = vec![];
    for hand in hands {
        let HandKernel { template, block, .. } = *hand;
        let name = &template.kernel.name;
        if !is_name(name) {
            return Err(ProjectError::Name(name.clone()));
        }
        if library.entries.iter().any(|entry: &Entry| entry.plan.name == *name) {
            return Err(ProjectError::Twice(name.clone()));
        }
        let destination = match api {
            Api::Cores => Destination::cores(template, block),
            _ => Destination::threads(template, block),
        };
        let mut kernel = road(destination).end(template)?;
        // There are no results besides them, whose names would be taken.
        let is_output = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()) == "output";
        let params = by_hand::named(hand, &|name| function::is_taken(name) && !is_output(name));
        let (mut plan, special) = by_hand::plan(template, kernel.clone(), &params);
        if special.faults.is_some() {
            return Err(ProjectError::Report { kernel: name.clone() });
        }
        if !matches!(api, Api::Cores | Api::Vulkan) {
            // Beside it is the host's library, which has a `sum`, an `index` and much more.
            kernel.name += "_kernel";
            plan.kernels = vec![kernel.clone()];
        }
        made.push(kernel);
        let params = params.into_iter().map(|(name, _)| name).collect();
        library.hands.push(Hand { special, params, block, launches: hand.launches.clone() });
        library.entries.push(Entry { program: named_program(name), plan, kernels: vec![] });
    }
    match api {
        Api::Cores => library.kernels = super::cores_files(&made, stem)?,
        #[cfg(feature = "naga")]
        Api::Vulkan => (library.kernels, library.extents) = crate::back::harness::spirv::shaders(&made, options)?,
        _ => {
            let (file, descriptions) = simt::described(&made, target, options)?;
            library.kernels = vec![file];
            library.entries.iter_mut().zip(descriptions).for_each(|(entry, d)| entry.kernels = vec![d]);
        }
    }
    Ok(library)
}

/// The launches of a kernel, to be compared and measured.
pub(super) fn trial(function: &Function, hand: &Hand, seconds: &str) -> Trial {
    let name = &function.entry.plan.name;
    let mut trial = Trial { name: name.clone(), ..Trial::default() };
    for (number, launch) in hand.launches.iter().enumerate() {
        let made = call(function, hand, number, launch);
        trial.values += &made.values;
        let label = if number == 0 { name.clone() } else { format!("{name}, launch {}", number + 1) };
        let mut text = format!("    int right = !told(\"{label}\", {});\n", made.call);
        for (k, (array, (param, _))) in launch.results.iter().zip(&hand.special.written).enumerate() {
            let output = &hand.params[*param];
            let label = if launch.results.len() == 1 { label.clone() } else { format!("{label}, {output}") };
            let (values, stride) = cases::sampled(array);
            let tolerance = if array.ty.is_float() { cases::tolerance(array.ty) } else { "-1.0" };
            trial.values += &list(&expected_name(name, number, k), array.ty, values.iter().copied());
            text += &format!(
                "    if (right) right = compare(\n        \"{label}\", {output}, {}, sizeof *{output}, number_{}, {}, {stride}, {tolerance});\n",
                expected_name(name, number, k),
                array.ty,
                values.len(),
            );
            trial.compared.insert(array.ty);
        }
        let Call { before, after, call, bytes, .. } = made;
        let validate = format!("validate_{name}_{number}");
        let text = format!("static int {validate}(void) {{\n{before}{text}{after}    return right;\n}}\n\n");
        trial.validations.push((validate, text));
        if number == 0 {
            trial.bench = Some(super::validation::bench_text(name, seconds, &before, &call, &after, bytes));
        }
    }
    trial
}

fn expected_name(name: &str, number: usize, k: usize) -> String {
    format!("expected_{name}_{number}_{k}")
}

/// A launch as a call.
struct Call {
    /// The arrays that it is given, as lists.
    values: String,
    before: String,
    call: String,
    after: String,
    bytes: u64,
}

fn call(function: &Function, hand: &Hand, number: usize, launch: &ByHandLaunch) -> Call {
    let kernel = &function.entry.plan.name;
    let mut made =
        Call { values: String::new(), before: String::new(), call: String::new(), after: String::new(), bytes: 0 };
    let mut args = vec![];
    for (k, (value, name)) in launch.arguments.iter().zip(&hand.params).enumerate() {
        let array = match value {
            Value::Scalar(value) => {
                args.push(literal(*value));
                continue;
            }
            Value::Array(array) => array,
        };
        let Array { ty, data, .. } = array;
        let before = format!("before_{kernel}_{number}_{k}");
        made.values += &list(&before, *ty, data.iter().map(|&bits| Scalar { ty: *ty, bits }));
        made.bytes += (data.len() * ty.bytes()) as u64;
        if hand.special.is_written(k) {
            let (ty, count) = (c_type(*ty), data.len());
            made.before += &format!("    {ty} *{name} = ({ty} *)elements({count}, sizeof *{name});\n");
            made.before += &format!("    memcpy({name}, {before}, {count} * sizeof *{name});\n");
            made.after += &format!("    free({name});\n");
            args.push(name.clone());
        } else {
            args.push(before);
        }
    }
    args.extend(function.given().map(|k| launch.sizes.get(k).copied().unwrap_or(0).to_string()));
    made.call = format!("slyz_{kernel}({})", args.join(", "));
    made
}
