//! Launches of kernels by drivers that take arguments one by one, as a [`Description`] lists them.
//!
//! [`Description`]: slyz_sir::back::clike::Description

use super::engine::{Engine, Launch, Limits, Piece};
use crate::{Buffer, Error};
use slyz_sir::back::clike::{Description, Uniform, UniformSource};
use slyz_sir::back::cuda::MOST_NARROW;
use slyz_sir::choices::Precision;
use slyz_sir::kernel::{Kernel, Plan, Space};
use slyz_sir::lower::Choice;
use slyz_sir::lower::gpu::{self, Expected, Machine};
use slyz_sir::program::Program;
use slyz_sir::road::{ProgramRoad, Strategy};
use slyz_sir::size::Size;
use std::sync::Arc;

/// From so many elements or turns on positions do not fit 32 bits. Threads of the last blocks stand a little past the end.
pub(crate) const WIDE: u64 = MOST_NARROW - (1 << 22);

/// The limits of GPUs that CUDA and HIP run on.
pub(crate) fn limits_of(machine: &Machine) -> Limits {
    Limits {
        buffer_bytes: u64::MAX / 2,
        launch: gpu::Limits { window_bytes: u64::MAX / 2, alignment: 256, blocks: machine.max_blocks[0] },
        block: [1024, 1024, 64],
        threads: 1024,
    }
}

/// The plan of a program for threads, where arrays need not be cut into windows.
pub(crate) fn lowered(
    machine: &Machine,
    precision: Precision,
    program: &Program,
    expected: &Expected,
    choice: Choice,
) -> Plan {
    let road = ProgramRoad::to(Strategy::Threads(*machine, expected.clone()));
    ProgramRoad { choice, precision: Some(precision), ..road }.lower(program)
}

/// A launch with numbers for its sizes, for drivers that take addresses.
pub(crate) struct Described<C> {
    pub(crate) code: Arc<C>,
    pub(crate) grid: [u32; 3],
    /// Where what is bound of each array begins.
    offsets: Vec<u64>,
    /// What the kernel is told, behind its arrays.
    words: Vec<Word>,
}

impl<C> Described<C> {
    pub(crate) fn new<E: Engine>(
        piece: &Piece<'_, E>,
        code: Arc<C>,
        uniforms: &[Uniform],
        max_blocks: [u64; 3],
    ) -> Result<Described<C>, Error> {
        let words = piece.words(uniforms)?;
        let grid = piece.blocks(max_blocks)?;
        let offsets = piece.bound.iter().map(|&(offset, _)| offset).collect();
        Ok(Described { code, grid, offsets, words })
    }

    /// What the kernel is passed: addresses of its arrays, given where those begin, then sizes and scalars. A driver reads as many bytes of each as
    /// its type has, from the low end.
    pub(crate) fn values(&self, description: &Description, start: impl Fn(usize) -> u64, scalars: &[u64]) -> Vec<u64> {
        let address = |place: usize| start(place) + self.offsets.get(place).copied().unwrap_or(0);
        let arrays = description.buffers.iter().map(|buffer| address(buffer.place));
        arrays.chain(self.words.iter().map(|word| word.value(scalars))).collect()
    }
}

/// What a kernel is told behind its arrays: the value of a size, or the place of a scalar.
#[derive(Clone, Copy)]
pub(crate) enum Word {
    Size(u64),
    Scalar(usize),
}

impl Word {
    /// Its bits, given those of the scalars.
    pub(crate) fn value(self, scalars: &[u64]) -> u64 {
        match self {
            Word::Size(value) => value,
            Word::Scalar(place) => scalars[place],
        }
    }
}

impl<E: Engine> Piece<'_, E> {
    /// What the kernel is told behind its arrays.
    pub(crate) fn words(&self, uniforms: &[Uniform]) -> Result<Vec<Word>, Error> {
        let word = |uniform: &Uniform| match uniform.source {
            UniformSource::Size(var) => Ok(Word::Size(self.sizes.eval(&Size::Var(var))?)),
            UniformSource::Scalar(place) => Ok(Word::Scalar(place)),
            UniformSource::Extent(place) => {
                let extents = self.kernel.raw.as_ref().map_or(&[][..], |raw| &raw.extents);
                Ok(Word::Size(extents.get(place).map_or(Ok(0), |size| self.sizes.eval(size))?))
            }
        };
        uniforms.iter().map(word).collect()
    }

    /// The blocks in x, y, z, where no more than `most` are counted, nor threads past 32 bits.
    pub(crate) fn blocks(&self, most: [u64; 3]) -> Result<[u32; 3], Error> {
        let mut grid = [0; 3];
        for (d, blocks) in self.grid.into_iter().enumerate() {
            let block = self.kernel.block[d].max(1);
            let most = most[d].min(u64::from(u32::MAX / block));
            if blocks > most {
                return Err(Error::TooLarge {
                    what: format!("the launch of {}", self.kernel.name),
                    why: format!("it has {blocks} blocks of {block} threads, and {most} are counted{}", E::PLACE),
                });
            }
            grid[d] = blocks as u32;
        }
        Ok(grid)
    }
}

impl<E: Engine> Launch<'_, '_, E> {
    /// The bits of the scalars. Those that the device has are read: the host passes them by value, and so has to know them.
    pub(crate) fn scalars_by_value(
        &self,
        read: impl Fn(&Buffer, &mut [u8]) -> Result<(), Error>,
    ) -> Result<Vec<u64>, Error> {
        let mut scalars = self.scalars.to_vec();
        for &(place, buffer) in self.resident {
            let mut bytes = [0; 8];
            read(buffer, &mut bytes[..buffer.len().min(8)])?;
            scalars[place] = u64::from_le_bytes(bytes);
        }
        Ok(scalars)
    }
}

/// The memory that threads of a block share is no more than a block has.
pub(crate) fn shared_memory_fits<E: Engine>(kernel: &Kernel, most: u64) -> Result<(), Error> {
    let shared = kernel.memories.iter().filter(|memory| memory.space == Space::Shared);
    let bytes = shared.fold(0u64, |sum, memory| {
        let count = Size::product(&memory.shape).constant().unwrap_or(u64::MAX);
        sum.saturating_add(count.saturating_mul(memory.ty.bytes() as u64))
    });
    if bytes <= most {
        return Ok(());
    }
    Err(Error::TooLarge {
        what: format!("the threadgroup memory of kernel `{}`", kernel.name),
        why: format!("{bytes} bytes, and a block has {most}{}", E::PLACE),
    })
}
