//! Kernels that people wrote, in Swift: a function for each, which takes its threads and writes into the arrays it is given, and launches of a file as
//! cases.

use super::{Function, Source, bytes_of, emit_with, is_taken, literal, sampled, swift_type};
use crate::back::harness::by_hand::{self, ByHandLaunch, HandKernel};
use crate::back::harness::{Entry, Options, Project, ProjectError, check_name, named_program};
use crate::back::msl;
use crate::interp::{Array, Value};
use crate::kernel::Kernel;
use crate::road::{Destination, KernelRoad};
use crate::types::Scalar;
use std::fmt::Write;

/// What is special about the function of such a kernel.
pub(super) struct Hand<'a> {
    /// What is special about its plan.
    pub special: by_hand::ByHand,
    /// The names of its parameters.
    pub params: Vec<String>,
    /// Threads of a block.
    pub block: [u32; 3],
    launches: &'a [ByHandLaunch],
}

/// The Metal file of kernels, and the Swift file that launches them.
pub fn emit_kernels(
    kernels: &[HandKernel],
    road: &dyn Fn(Destination) -> KernelRoad,
    options: &Options,
    source: Source,
) -> Result<(Project, String), ProjectError> {
    let dialect = options.msl()?;
    let mut hands: Vec<Hand> = vec![];
    let mut entries: Vec<Entry> = vec![];
    for hand in kernels {
        let HandKernel { template, block, .. } = *hand;
        let name = &template.kernel.name;
        check_name(name)?;
        if entries.iter().any(|entry| entry.plan.name == *name) {
            return Err(ProjectError::Twice(name.clone()));
        }
        let kernel = road(Destination::threads(template, block)).end(template)?;
        let params = by_hand::named(hand, &is_taken);
        let (plan, special) = by_hand::plan(template, kernel, &params);
        if special.faults.is_some() {
            return Err(ProjectError::Report { kernel: name.clone() });
        }
        let params = params.into_iter().map(|(name, _)| name).collect();
        hands.push(Hand { special, params, block, launches: &hand.launches });
        entries.push(Entry { program: named_program(name), plan, kernels: vec![] });
    }
    let made: Vec<&Kernel> = entries.iter().flat_map(|entry| &entry.plan.kernels).collect();
    let (text, descriptions) = msl::emit(&made, &dialect)?;
    entries.iter_mut().zip(descriptions).for_each(|(entry, description)| entry.kernels = vec![description]);
    let project = Project { entries, source: text, raw: vec![], precision: dialect.precision };
    let pairs = || project.entries.iter().zip(&hands);
    let functions = pairs().map(|(entry, hand)| Function::by_hand(entry, hand).text()).collect();
    let validated: String = pairs().map(|(entry, hand)| validate(entry, hand)).collect();
    let measured: String = pairs().map(|(entry, hand)| bench(entry, hand)).collect();
    let harness = emit_with(&project, source, functions, &validated, &measured);
    Ok((project, harness))
}

/// All elements of an array, as a list.
fn list(array: &Array) -> String {
    let values: Vec<String> = array.data.iter().map(|&bits| literal(Scalar { ty: array.ty, bits })).collect();
    let lines: Vec<String> = values.chunks(12).map(|line| line.join(", ")).collect();
    format!("[{}]", lines.join(",\n            "))
}

/// A buffer of constants.
pub(super) fn constants(array: &Array) -> String {
    format!("{} as [{}]", list(array), swift_type(array.ty))
}

/// The lines that make the arguments of a launch, and the launch.
fn call(entry: &Entry, hand: &Hand, launch: &ByHandLaunch) -> (String, String) {
    let function = Function::by_hand(entry, hand);
    let mut lines = String::new();
    let mut args = vec![];
    for (k, (value, name)) in launch.arguments.iter().zip(&hand.params).enumerate() {
        match value {
            Value::Scalar(value) => args.push(literal(*value)),
            Value::Array(array) => {
                let written = hand.special.is_written(k);
                let word = if written { "var" } else { "let" };
                let _ = writeln!(lines, "        {word} {name}: [{}] = {}", swift_type(array.ty), list(array));
                args.push(if written { format!("&{name}") } else { name.clone() });
            }
        }
    }
    for k in function.asked() {
        args.push(format!("{}: {}", function.names.sizes[k], launch.sizes.get(k).copied().unwrap_or(0)));
    }
    let [x, y, z] = launch.threads;
    args.push(format!("threads: ({x}, {y}, {z})"));
    (lines, format!("try run_{}({})", entry.plan.name, args.join(", ")))
}

fn validate(entry: &Entry, hand: &Hand) -> String {
    let name = &entry.plan.name;
    if hand.launches.is_empty() {
        return format!("    // {name}: nobody launches it\n    print(\"  {name}: not compared\")\n");
    }
    let mut out = String::new();
    for (number, launch) in hand.launches.iter().enumerate() {
        let label = if number == 0 { name.clone() } else { format!("{name}, launch {}", number + 1) };
        let (lines, call) = call(entry, hand, launch);
        let _ = writeln!(out, "    do {{  // {label}\n{lines}        {call}");
        for (k, (array, (param, _))) in launch.results.iter().zip(&hand.special.written).enumerate() {
            let found = &hand.params[*param];
            let label = if launch.results.len() == 1 { label.clone() } else { format!("{label}, {found}") };
            let (values, stride) = sampled(array);
            let _ = writeln!(out, "        let expected{k}: [{}] = [{values}]", swift_type(array.ty));
            let count = array.data.len();
            let compare = format!("compare(\"{label}\", {found}, expected{k}, stride: {stride}, count: {count})");
            let _ = writeln!(out, "        right = {compare} && right");
        }
        out += "    }\n";
    }
    out
}

fn bench(entry: &Entry, hand: &Hand) -> String {
    let name = &entry.plan.name;
    let Some(launch) = hand.launches.first() else { return String::new() };
    let (lines, call) = call(entry, hand, launch);
    let arrays = launch.arguments.iter().filter_map(|value| match value {
        Value::Array(array) => Some(bytes_of(array)),
        Value::Scalar(_) => None,
    });
    let bytes: usize = arrays.sum();
    format!(
        "    do {{  // {name}\n{lines}        try measure(\"{name}\", times, bytes: {bytes}) {{ {call} }}\n    }}\n"
    )
}
