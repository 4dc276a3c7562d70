//! Results into memory of the caller: what `call_into` writes to.

use crate::arr::Arr;
use crate::elem::{Elem, parts_of};
use crate::error::{CallError, Error};
use crate::lying::Lying;
use crate::shape::Shape;
use crate::tensor::Tensor;
use slyz_run::{ArrayData, Buffer, Device, LaunchArray, Output, Threads};
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::views::putting;
use std::sync::Arc;

/// What may be written to instead of a result `R`: a tensor or a view that can be written for an array, and tuples of them for tuples.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let f = compile(|x: Arr<f32, N>| (x * 2.0, x + 1.0))?;
/// let mut double = Tensor::<f32, N>::zeros([2])?;
/// let mut both = Tensor::<f32>::zeros([2, 2])?;
/// f.call_into((&mut double, &mut both.view_mut::<2>()?.select::<1>(1, 0)?), &[1.0f32, 2.0])?;
/// assert_eq!((double.to_vec()?, both.to_vec()?), (vec![2.0, 4.0], vec![2.0, 0.0, 3.0, 0.0]));
/// # Ok::<(), slyz::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a result `{R}` cannot be written into `{Self}`",
    label = "expected `&mut Tensor<T, S>` or `&mut TensorViewMut<T, R>`",
    note = "a tuple of results takes a tuple of them; a result without axes is `.call(..)?.value()?`"
)]
pub trait Receive<R> {
    #[doc(hidden)]
    fn receive<'a>(&'a mut self, out: &mut Vec<Receiver<'a>>);
}

/// Where one array of a result goes.
#[doc(hidden)]
pub struct Receiver<'a> {
    ty: Ty,
    shape: Vec<u64>,
    buffer: &'a mut Buffer,
    /// How the array lies in the memory; none where it is all of it, row by row.
    lying: Option<Lying<'a>>,
}

fn extents(shape: &[usize]) -> Vec<u64> {
    shape.iter().map(|&extent| extent as u64).collect()
}

impl<T: Elem, S: Shape> Receive<Arr<T, S>> for &mut Tensor<T, S> {
    fn receive<'a>(&'a mut self, out: &mut Vec<Receiver<'a>>) {
        let shape = extents(self.dims());
        let leaves = parts_of::<T>().iter().zip(self.buffers_mut());
        out.extend(leaves.map(|(part, buffer)| Receiver { ty: part.ty, shape: shape.clone(), buffer, lying: None }));
    }
}

macro_rules! tuples {
    ($($R:ident $A:ident $i:tt),*) => {
        impl<$($R, $A: Receive<$R>),*> Receive<($($R,)*)> for ($($A,)*) {
            fn receive<'a>(&'a mut self, out: &mut Vec<Receiver<'a>>) { $(self.$i.receive(out);)* }
        }
    };
}
tuples!(P A 0, Q B 1);
tuples!(P A 0, Q B 1, R C 2);
tuples!(P A 0, Q B 1, R C 2, S D 3);

impl<'a> Receiver<'a> {
    /// A part of a memory, or all of it.
    pub(crate) fn new(ty: Ty, shape: &[usize], buffer: &'a mut Buffer, lying: Lying<'a>) -> Receiver<'a> {
        let lying = (!lying.is_whole(ty, buffer.len())).then_some(lying);
        Receiver { ty, shape: extents(shape), buffer, lying }
    }

    /// Does the array that comes have this type and these extents? Those that are counted while a function runs are not known before.
    pub(crate) fn fits(&self, result: usize, ty: Ty, shape: &[Option<u64>]) -> Result<(), CallError> {
        let found = self.shape.clone();
        if shape.contains(&None) {
            return Err(CallError::Counted { result });
        }
        let expected: Vec<u64> = shape.iter().flatten().copied().collect();
        if ty != self.ty || expected != found {
            return Err(CallError::Into { result, expected, found });
        }
        Ok(())
    }

    /// The memory, where all of it is to be written.
    pub(crate) fn whole(&mut self) -> Option<&mut Buffer> {
        if self.lying.is_none() { Some(self.buffer) } else { None }
    }

    /// Puts a result, which has been held against the type and the shape, where it goes.
    // What is written is in the memory, which no kernel looks at.
    #[allow(unsafe_code)]
    pub(crate) fn put(&mut self, device: &Arc<dyn Device>, output: &Output) -> Result<(), Error> {
        let Some(lying) = &self.lying else {
            *self.buffer = output.data.clone();
            return Ok(());
        };
        let places = lying.places(self.ty, self.buffer.len())?;
        let len: u64 = self.shape.iter().product();
        if len == 0 {
            return Ok(());
        }
        let launcher = device.prepare(&Arc::new(putting(self.ty, self.shape.len())))?;
        let memory = vec![(self.buffer.len() / self.ty.bytes()) as u64];
        let values = LaunchArray::Read { ty: self.ty, shape: vec![len], data: ArrayData::Buffer(&output.data) };
        let memories = vec![values, LaunchArray::Write { ty: self.ty, shape: memory, data: self.buffer }];
        let inner = self.shape.iter().skip(1).map(|&extent| extent as i64);
        let scalars = inner.chain(places).map(Scalar::i64).collect();
        let launch = slyz_run::Launch { threads: Threads::Exact([len, 1, 1]), memories, scalars };
        // SAFETY: `Lying::places` has held the view against the memory.
        Ok(unsafe { launcher.launch_unchecked(launch) }?)
    }
}
