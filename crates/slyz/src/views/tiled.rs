//! The chapter's own algorithm: a tile for each block, reduced in memory that the block shares, and its results once more until one is left.

use super::reduce::{ReduceOp, try_tiled_reduce_2d};
use crate::compile::Signature;
use crate::elem::{Elem, Exp, Scalar};
use crate::error::Error;
use crate::trace::{self, Loc};
use crate::view_error::ViewError;
use slyz_run::{ArrayData, Buffer, LaunchArray, Threads};
use slyz_sir::back::harness::{Explicit, Options, Target, emit_kernels};
use slyz_sir::choices::Checks;
use slyz_sir::code::Function;
use slyz_sir::launch::Template;
use slyz_sir::road::{Destination, KernelRoad};
use slyz_sir::views::{TILE, tiled};
use std::panic::Location;
use std::sync::Arc;

/// How a matrix is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Strategy {
    /// As the device does it fastest.
    #[default]
    Fastest,
    /// A tile of 16 × 16 in memory that a block shares, its rows by a tree of four steps, then its first column. Operands change places, so
    /// it is for operations that do not mind.
    Tiled16,
}

/// All elements of a row-major matrix as one, in the way that is asked for.
///
/// ```
/// use slyz::views::*;
/// let data: Vec<f32> = (1..=1024).map(|x| x as f32).collect();
/// assert_eq!(reduce_2d_by::<SumOp>(Strategy::Tiled16, &data, 32, 32)?, 524800.0);
/// # Ok::<(), slyz::Error>(())
/// ```
pub fn reduce_2d_by<Op: ReduceOp>(strategy: Strategy, data: &[f32], width: usize, height: usize) -> Result<f32, Error> {
    let expected = width as u128 * height as u128;
    if strategy == Strategy::Fastest || expected != data.len() as u128 {
        return try_tiled_reduce_2d::<Op>(data, width, height);
    }
    if data.is_empty() {
        return Ok(Op::identity());
    }
    let device = slyz_run::device(None)?;
    let launcher = device.prepare(&Arc::new(kernel::<Op>()?))?;
    let mut input = device.upload(ArrayData::Host(f32::view(data).unwrap_or_default()))?;
    let mut shape = [height as u64, width as u64];
    loop {
        let tiles = shape.map(|extent| extent.div_ceil(TILE));
        let Ok(count) = usize::try_from(tiles[0] * tiles[1]) else {
            return Err(ViewError::TooLarge { shape: vec![height, width] }.into());
        };
        let mut partials = Buffer::copy_of(&vec![0; count * size_of::<f32>()])?;
        let read = LaunchArray::Read { ty: f32::TY, shape: shape.to_vec(), data: ArrayData::Buffer(&input) };
        let write = LaunchArray::Write { ty: f32::TY, shape: tiles.to_vec(), data: &mut partials };
        let threads = Threads::Blocks { grid: [tiles[1], tiles[0], 1], block: [TILE as u32, TILE as u32, 1] };
        launcher.launch(slyz_run::Launch { threads, memories: vec![read, write], scalars: vec![] })?;
        if count == 1 {
            let mut value = [0.0];
            f32::fill(&mut value, partials.bytes()?);
            return Ok(value[0]);
        }
        input = partials;
        shape = tiles;
    }
}

/// The kernel of [`Strategy::Tiled16`] for a target: to read, and for others to run, in blocks of 16 × 16.
///
/// ```
/// use slyz::Target;
/// use slyz::views::*;
/// let wgsl = tiled_source::<SumOp>(Target::Wgsl)?;
/// assert!(wgsl.contains("var<workgroup> tile: array<array<f32, 16>, 16>;"));
/// # Ok::<(), slyz::Error>(())
/// ```
pub fn tiled_source<Op: ReduceOp>(target: Target) -> Result<String, Error> {
    let template = kernel::<Op>()?;
    let kernels = [Explicit { template: &template, block: [TILE as u32, TILE as u32, 1] }];
    let road = |destination: Destination| KernelRoad { checks: Checks::Guard, ..KernelRoad::to(destination) };
    let emitted = emit_kernels(&kernels, target, &road, &Options::default())?;
    let texts = emitted.files.iter().filter_map(|file| file.as_text());
    Ok(texts.collect::<Vec<&str>>().join("\n"))
}

/// The kernel with an operation, which is traced.
fn kernel<Op: ReduceOp>() -> Result<Template, Error> {
    type Combine = fn(Exp<f32>, Exp<f32>) -> Exp<f32>;
    let at: Loc = Location::caller();
    let traced = trace::run(at, "combine", &mut || {
        let (a, b) = Combine::params(at);
        Combine::outs(Op::combine(a, b)).outs
    });
    let program = traced.map_err(Error::Trace)?.program;
    let mut functions = program.functions;
    functions.push(Function { name: "combine".to_string(), body: program.body });
    Ok(tiled(f32::TY, Op::identity().scalar(), functions))
}
