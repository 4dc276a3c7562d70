//! A machine without any device: kernels run in the interpreter of SIR, which is their meaning.

use super::value::{element, element_bytes};
use super::{Argument, Failure, Kernel, Launch, Machine};
use slyz_sir::interp::Array;
use slyz_sir::interp::kernel::{KernelError, LaunchOptions, launch};
use slyz_sir::kernel::{Access, Space};
use slyz_sir::launch::{LAUNCH_SIZES, Template};
use slyz_sir::threads::Field;
use slyz_sir::types::{Scalar, Ty};
use std::rc::Rc;

/// The most threads of a block, as on GPUs.
const MOST_THREADS: u64 = 1024;

/// Runs kernels in the interpreter: slow, exact, and with every mistake of the trade reported.
///
/// ```
/// use slyz_lang::host::{Interpreter, Machine};
/// use slyz_sir::types::Ty;
///
/// let mut machine = Interpreter::default();
/// let tensor = machine.upload(Ty::U8, &[3], &[1, 2, 3])?;
/// assert_eq!(machine.download(Ty::U8, &[3], &tensor)?, [1, 2, 3]);
/// # Ok::<(), slyz_lang::host::Failure>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Interpreter {
    /// How launches are run.
    pub options: LaunchOptions,
}

impl Machine for Interpreter {
    type Tensor = Rc<Array>;

    fn upload(&mut self, ty: Ty, shape: &[u64], bytes: &[u8]) -> Result<Rc<Array>, Failure> {
        let count = bytes.len() / ty.bytes();
        let mut data = vec![];
        data.try_reserve_exact(count)
            .map_err(|_| Failure::Other(format!("no memory for {count} elements; use fewer")))?;
        data.extend((0..count).filter_map(|place| element(ty, bytes, place)).map(|value| value.bits));
        Ok(Rc::new(Array { ty, shape: shape.to_vec(), data }))
    }

    fn download(&mut self, ty: Ty, _shape: &[u64], tensor: &Rc<Array>) -> Result<Vec<u8>, Failure> {
        Ok(tensor.data.iter().flat_map(|&bits| element_bytes(Scalar::from_bits(ty, bits))).collect())
    }

    fn launch(&mut self, kernel: &Kernel, asked: Launch<'_, Rc<Array>>) -> Result<(), Failure> {
        let Some(mut arranged) = arrange(kernel, &asked)? else { return Ok(()) };
        let shaped = kernel.template.shaped(arranged.block, true, false);
        let done = launch(&shaped, &arranged.sizes, &mut arranged.memories, &asked.scalars, &self.options);
        for (argument, array) in asked.tensors.into_iter().zip(arranged.memories) {
            if let Argument::Write { shape, tensor, ty } = argument {
                *tensor = Rc::new(Array { ty, shape: shape.to_vec(), data: array.data });
            }
        }
        done.map_err(|error| match error {
            KernelError::Fault(fault) => Failure::Fault(fault),
            other => Failure::Other(other.to_string()),
        })
    }
}

/// A launch as the interpreter of kernels takes it.
#[derive(Clone, Debug)]
pub struct Arranged {
    /// Threads of a block.
    pub block: [u32; 3],
    /// The size variables of the kernel.
    pub sizes: Vec<u64>,
    /// What its tensors and constants hold.
    pub memories: Vec<Array>,
}

/// Lays a launch out; `None` where it has no threads.
pub fn arrange(kernel: &Kernel, asked: &Launch<'_, Rc<Array>>) -> Result<Option<Arranged>, Failure> {
    let template = &kernel.template;
    let mut sizes = vec![0; LAUNCH_SIZES];
    let mut memories = vec![];
    let mut given = asked.tensors.iter().map(|argument| match argument {
        Argument::Read { shape, tensor, .. } => (shape, &***tensor),
        Argument::Write { shape, tensor, .. } => (shape, &***tensor),
    });
    let mut constants = template.constants.iter();
    for memory in template.kernel.memories.iter().filter(|memory| memory.space.is_bound()) {
        if memory.space == Space::Constant {
            let value = |size: &slyz_sir::size::Size| size.constant().unwrap_or(0);
            let shape = memory.shape.iter().map(value).collect();
            memories.push(Array { ty: memory.ty, shape, data: constants.next().cloned().unwrap_or_default() });
        } else if let Some((shape, array)) = given.next() {
            // A parameter of one axis goes over all elements, whatever the shape.
            let shape = if memory.shape.len() == 1 { vec![array.data.len() as u64] } else { shape.to_vec() };
            sizes.extend(&shape);
            memories.push(Array { ty: memory.ty, shape, data: array.data.clone() });
        }
    }
    let field = lay_out(template, asked).map_err(Failure::Other)?;
    sizes[..3].copy_from_slice(&field.grid);
    sizes[3..LAUNCH_SIZES].copy_from_slice(&field.threads);
    Ok((!field.is_empty()).then_some(Arranged { block: field.block, sizes, memories }))
}

/// The threads of a launch in blocks.
pub(super) fn lay_out<T>(template: &Template, asked: &Launch<'_, T>) -> Result<Field, String> {
    let name = &template.kernel.name;
    let params = template.kernel.memories.iter().filter(|memory| matches!(memory.space, Space::Global(_)));
    let mut written = params.zip(&asked.tensors).filter(|(memory, _)| memory.space != Space::Global(Access::Read));
    let written = written.next().map(|(memory, argument)| match argument {
        Argument::Read { shape, .. } | Argument::Write { shape, .. } => (&memory.name[..], *shape),
    });
    let field = Field::new(name, template.nature(), asked.threads, written).map_err(|error| error.to_string())?;
    if field.block_threads() > MOST_THREADS {
        let block = field.block;
        return Err(format!("kernel `{name}`: a block of {block:?}; a block has 1 to {MOST_THREADS} threads"));
    }
    Ok(field)
}
