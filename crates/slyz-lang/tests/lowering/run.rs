//! Runs lowered kernels in the interpreter.

use crate::reference::{Outside, Store};
use slyz_lang::lower::lower;
use slyz_lang::typed::{FunctionId, Program};
use slyz_sir::interp::Array;
use slyz_sir::interp::kernel::{KernelError, LaunchOptions, launch};
use slyz_sir::kernel::Memory;
use slyz_sir::launch::{LAUNCH_SIZES, Template};
use slyz_sir::text::parse_kernel;
use slyz_sir::types::Scalar;

/// The template; verified, and the same after a round trip through text.
pub fn lowered(program: &Program, function: FunctionId) -> Template {
    let template = lower(program, function).unwrap();
    let text = template.kernel.to_string();
    assert_eq!(slyz_sir::verify::kernel(&template.kernel), Ok(()), "{text}");
    assert_eq!(parse_kernel(&text).unwrap().to_string(), text);
    template
}

/// Launches blocks of threads; gives the first access outside, if there was one.
pub fn launched(
    template: &Template,
    shape: ([u64; 3], [u32; 3]),
    tensors: &mut [Store],
    scalars: &[Scalar],
) -> Option<Outside> {
    try_launched(template, shape, tensors, scalars).unwrap_or_else(|error| panic!("{error}\n{}", template.kernel))
}

/// The same, where the kernel may be wrong.
pub fn try_launched(
    template: &Template,
    (grid, block): ([u64; 3], [u32; 3]),
    tensors: &mut [Store],
    scalars: &[Scalar],
) -> Result<Option<Outside>, KernelError> {
    let mut kernel = template.kernel.clone();
    kernel.block = block;
    let sizes = sizes(template, (grid, block), tensors);
    let mut arrays = vec![];
    for (tensor, memory) in tensors.iter().zip(&kernel.memories) {
        let shape = bound(tensor, memory);
        arrays.push(Array { ty: tensor.ty, shape, data: tensor.data.iter().map(|element| element.bits).collect() });
    }
    for (data, memory) in template.constants.iter().zip(&kernel.memories[tensors.len()..]) {
        let shape = memory.shape.iter().map(|size| size.constant().unwrap()).collect();
        arrays.push(Array { ty: memory.ty, shape, data: data.clone() });
    }
    let done =
        launch(&kernel, &sizes, &mut arrays, scalars, &LaunchOptions { max_turns: 3_000, ..LaunchOptions::default() });
    for (tensor, array) in tensors.iter_mut().zip(arrays) {
        tensor.data = array.data.iter().map(|&bits| Scalar::from_bits(tensor.ty, bits)).collect();
    }
    match done {
        Ok(()) => Ok(None),
        Err(KernelError::Fault(fault)) => Ok(Some((fault.memory.clone(), fault.index.clone()))),
        Err(error) => Err(error),
    }
}

/// The shape that a tensor has for the kernel.
fn bound(tensor: &Store, memory: &Memory) -> Vec<u64> {
    if memory.shape.len() == 1 { vec![tensor.data.len() as u64] } else { tensor.shape.clone() }
}

/// The values of the size variables.
pub fn sizes(template: &Template, (grid, block): ([u64; 3], [u32; 3]), tensors: &[Store]) -> Vec<u64> {
    let mut sizes = grid.to_vec();
    sizes.extend((0..3).map(|axis| grid[axis] * u64::from(block[axis])));
    assert_eq!(sizes.len(), LAUNCH_SIZES);
    let memories = &template.kernel.memories;
    sizes.extend(tensors.iter().zip(memories).flat_map(|(tensor, memory)| bound(tensor, memory)));
    sizes
}
