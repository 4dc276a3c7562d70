//! Arguments that stay the same from call to call: what is made of them alone is made once for each tensor.

use crate::error::Error;
use crate::trace::Slot;
use slyz_run::{Device, Executable, Prepared};
use slyz_sir::code::Id;
use slyz_sir::lower::cpu::PANEL;
use slyz_sir::pass::layout::Turned;
use slyz_sir::prepare::{self, Arranged, for_arguments};
use slyz_sir::program::Program;
use slyz_sir::size::{Size, SizeVar};
use std::sync::Arc;

/// A function in parts.
pub(crate) struct Parts {
    /// What runs at every call.
    pub(crate) program: Program,
    /// What became of arguments that stay, and of what could be smaller.
    pub(crate) told: Vec<String>,
}

/// The parameters of the program that belong to these arguments, which are counted from 1.
pub(crate) fn parameters(slots: &[Slot], arguments: &[usize]) -> Result<Vec<usize>, Error> {
    let many = slots.last().map_or(0, |slot| slot.argument);
    if let Some(&argument) = arguments.iter().find(|&&argument| argument == 0 || argument > many) {
        return Err(Error::NoArgument { argument, many });
    }
    let of_leaves = slots.iter().flat_map(|slot| slot.leaves.iter().map(|_| slot.argument));
    Ok(of_leaves.enumerate().filter(|(_, argument)| arguments.contains(argument)).map(|(leaf, _)| leaf).collect())
}

/// A traced program whose arguments of these parameters stay.
pub(crate) fn compile_with_weights(
    device: &dyn Device,
    program: &Program,
    slots: &[Slot],
    weights: &[usize],
) -> Result<(Arc<dyn Executable>, Parts), Error> {
    let (parts, arranged) = for_arguments(program, weights, device.wants_panels());
    let told = told(program, slots, &parts, &arranged);
    compile_parts(device, parts, told)
}

/// The code of a traced program in parts.
// The parts of a program that is vouched for read what it reads.
#[allow(unsafe_code)]
pub(crate) fn compile_parts(
    device: &dyn Device,
    parts: prepare::Prepared,
    told: Vec<String>,
) -> Result<(Arc<dyn Executable>, Parts), Error> {
    let known = Parts { program: parts.main.clone(), told };
    // SAFETY: what was cut is a program that was traced, or one that reads its arrays where that does, or where the last term is.
    let code = unsafe { Prepared::new(device, parts) }?;
    Ok((Arc::new(code), known))
}

/// What is made once.
fn told(program: &Program, slots: &[Slot], parts: &prepare::Prepared, arranged: &Arranged) -> Vec<String> {
    let name = |var: SizeVar| program.sizes.get(var.0 as usize).map_or(String::new(), |size| size.name.clone());
    let shape = |shape: &[Size]| {
        let extents: Vec<String> = shape.iter().map(|size| size.display(&name).to_string()).collect();
        format!("[{}]", extents.join(", "))
    };
    let of_leaves: Vec<usize> = slots.iter().flat_map(|slot| slot.leaves.iter().map(|_| slot.argument)).collect();
    let argument = |leaf: usize| of_leaves.get(leaf).copied().unwrap_or(leaf + 1);
    let mut told = vec![];
    for pack in &parts.packs {
        let body = &pack.program.body;
        let binds = || body.stmts.iter().flat_map(|stmt| &stmt.binds);
        let made: Vec<String> = body
            .results
            .iter()
            .filter_map(|id| binds().find(|bind| bind.id == *id))
            .map(|bind| format!("{}{}", bind.ty.elem(), shape(bind.ty.shape())))
            .collect();
        let argument = argument(pack.argument);
        told.push(format!("made once for each tensor that argument {argument} is: {}", made.join(", ")));
    }
    let place = |array: Id| program.body.params.iter().position(|param| param.id == array).unwrap_or(0);
    for Turned { array, shape: own, votes: [along, across], .. } in &arranged.turned {
        told.push(format!(
            "argument {} lies as {} for its readers: {along} go along its last axis so, {across} did before",
            argument(place(*array)),
            shape(own)
        ));
    }
    for panels in &arranged.panels {
        told.push(format!("argument {} lies in panels of {PANEL} columns for products", argument(place(panels.array))));
    }
    if told.is_empty() {
        told.push("nothing is made of the weights alone, and they lie as they are read".to_string());
    }
    told
}
