//! Views that do not lie row by row, for kernels by hand.
//!
//! A kernel knows nothing of strides. A function of the device's does: it gives the elements of the view row by row, and where launches wait, a
//! kernel that is raised takes that function into its own code, which reads the view where it is. Threads as written get a copy.

use crate::error::Error;
use crate::lying::Lying;
use slyz_run::{Argument, ArrayData, Buffer, Device};
use slyz_sir::code::{Body, Id, Type, Var};
use slyz_sir::program::Program;
use slyz_sir::size::{Size, SizeDecl, SizeOrigin, SizeVar};
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::views::{self, Storage};
use std::borrow::Cow;
use std::sync::Arc;

/// A view of a memory.
pub(super) struct Gathered<'a> {
    pub(super) memory: &'a Buffer,
    pub(super) lying: Lying<'a>,
}

impl Gathered<'_> {
    /// Its elements, row by row.
    pub(super) fn rows(&self, device: &Arc<dyn Device>, ty: Ty, shape: &[u64]) -> Result<Buffer, Error> {
        let storage = &self.lying.storage;
        let program = views::stored(&same(ty, shape.len()), std::slice::from_ref(storage));
        let memory = self.lying.bytes(ty).map_or_else(|| self.memory.clone(), |bytes| self.memory.prefix(bytes));
        let mut argument = Argument::Array { ty, shape: Cow::Borrowed(shape), data: ArrayData::Buffer(&memory) };
        let numbers = self.lying.lay(storage, ty, &mut argument)?;
        let mut sizes: Vec<Option<u64>> = shape.iter().copied().map(Some).collect();
        if let Storage::Strided(_) = storage {
            sizes.push(Some((memory.len() / ty.bytes()) as u64));
        }
        let mut args = vec![argument];
        args.extend(numbers.into_iter().map(|number| Argument::Scalar(Scalar::i64(number))));
        let mut outputs = device.compile(&program)?.run(&sizes, &args)?;
        let missing = || slyz_run::Error::Load { why: "a view has no elements row by row".to_string() };
        Ok(outputs.pop().ok_or_else(missing)?.data)
    }
}

/// The function that gives its argument.
fn same(ty: Ty, rank: usize) -> Program {
    let sizes = (0..rank).map(|axis| SizeDecl { name: format!("n{axis}"), origin: SizeOrigin::Given });
    let shape = (0..rank as u32).map(|axis| Size::Var(SizeVar(axis))).collect();
    let param = Var { id: Id(0), ty: Type::of(ty, shape) };
    let body = Body { params: vec![param], stmts: vec![], results: vec![Id(0)] };
    Program { name: "view".to_string(), sizes: sizes.collect(), body, ..Program::default() }
}
