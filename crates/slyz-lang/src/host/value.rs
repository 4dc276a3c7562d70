//! What names stand for.

use super::number::Number;
use super::{Failure, Machine};
use slyz_sir::types::{Scalar, Ty};
use std::cell::OnceCell;
use std::ops::Deref;
use std::rc::Rc;

/// A value, of a machine whose tensors are `T`.
#[derive(Clone, Debug)]
pub(super) enum Value<T> {
    Number(Number),
    Text(Rc<str>),
    Tensor(Tensor<T>),
    /// What a call without a result gives.
    Nothing,
    /// Passed with `&!` to a call that is not over.
    Lent,
}

impl<T> Value<T> {
    /// What it is, for messages.
    pub(super) fn describe(&self) -> String {
        match self {
            Value::Number(number) => number.natural().to_string(),
            Value::Text(_) => "a text".to_string(),
            Value::Tensor(tensor) => tensor.describe(),
            Value::Nothing => "nothing".to_string(),
            Value::Lent => "passed to a call".to_string(),
        }
    }
}

/// A tensor. Clones share the elements, wherever they have got to; whoever writes makes a copy first, unless it is alone.
#[derive(Debug)]
pub(super) struct Tensor<T>(Rc<Elements<T>>);

/// Elements on the host, on the machine, or the same in both places.
#[derive(Debug)]
pub(super) struct Elements<T> {
    pub(super) ty: Ty,
    pub(super) shape: Vec<u64>,
    /// In the host's byte order.
    host: OnceCell<Vec<u8>>,
    machine: OnceCell<T>,
}

impl<T> Clone for Tensor<T> {
    fn clone(&self) -> Self {
        Tensor(self.0.clone())
    }
}

impl<T> Deref for Tensor<T> {
    type Target = Elements<T>;

    fn deref(&self) -> &Elements<T> {
        &self.0
    }
}

impl<T: Clone> Tensor<T> {
    pub(super) fn on_host(ty: Ty, shape: Vec<u64>, bytes: Vec<u8>) -> Tensor<T> {
        Tensor(Rc::new(Elements { ty, shape, host: OnceCell::from(bytes), machine: OnceCell::new() }))
    }

    pub(super) fn on_machine(ty: Ty, shape: Vec<u64>, tensor: T) -> Tensor<T> {
        Tensor(Rc::new(Elements { ty, shape, host: OnceCell::new(), machine: OnceCell::from(tensor) }))
    }

    /// The elements on the host; a machine's are fetched once.
    pub(super) fn bytes<M: Machine<Tensor = T>>(&self, machine: &mut M) -> Result<&[u8], Failure> {
        if let (None, Some(there)) = (self.host.get(), self.machine.get()) {
            let bytes = machine.download(self.ty, &self.shape, there)?;
            let _ = self.host.set(bytes);
        }
        // One of the two has them.
        Ok(self.host.get().map_or(&[], |bytes| &bytes[..]))
    }

    /// The elements on the machine.
    pub(super) fn upload<M: Machine<Tensor = T>>(&self, machine: &mut M) -> Result<(), Failure> {
        if let (Some(bytes), None) = (self.host.get(), self.machine.get()) {
            let there = machine.upload(self.ty, &self.shape, bytes)?;
            let _ = self.machine.set(there);
        }
        Ok(())
    }

    /// What was uploaded.
    pub(super) fn uploaded(&self) -> Option<&T> {
        self.machine.get()
    }

    /// What was uploaded, to be written: nobody else's, if nobody else has this tensor.
    pub(super) fn into_uploaded(self) -> Option<T> {
        match Rc::try_unwrap(self.0) {
            Ok(elements) => elements.machine.into_inner(),
            Err(shared) => shared.machine.get().cloned(),
        }
    }

    /// Writes an element that is inside.
    pub(super) fn set<M: Machine<Tensor = T>>(
        &mut self,
        machine: &mut M,
        place: usize,
        value: Scalar,
    ) -> Result<(), Failure> {
        let bytes = self.bytes(machine)?;
        if Rc::strong_count(&self.0) > 1 {
            *self = Tensor::on_host(self.ty, self.shape.clone(), bytes.to_vec());
        }
        if let Some(alone) = Rc::get_mut(&mut self.0) {
            // What the machine has is old from here on.
            alone.machine.take();
            let start = place * alone.ty.bytes();
            let bytes = alone.host.get_mut().map_or(&mut [][..], |bytes| &mut bytes[start..]);
            bytes.iter_mut().zip(element_bytes(value)).for_each(|(byte, new)| *byte = new);
        }
        Ok(())
    }
}

impl<T> Elements<T> {
    /// The number of elements; it was counted when the tensor was made.
    pub(super) fn len(&self) -> u64 {
        super::tensor::count(&self.shape).unwrap_or(u64::MAX)
    }

    pub(super) fn describe(&self) -> String {
        match self.shape.len() {
            1 => format!("a tensor of {}", self.ty),
            rank => format!("a tensor of {} with {rank} axes", self.ty),
        }
    }
}

/// The element at a place among the bytes of elements of one type.
pub(super) fn element(ty: Ty, bytes: &[u8], place: usize) -> Option<Scalar> {
    let width = ty.bytes();
    let bytes = bytes.get(place.checked_mul(width)?..)?.get(..width)?;
    let mut word = [0; 8];
    match cfg!(target_endian = "little") {
        true => word[..width].copy_from_slice(bytes),
        false => word[8 - width..].copy_from_slice(bytes),
    }
    Some(Scalar::from_bits(ty, u64::from_ne_bytes(word)))
}

/// The bytes of an element.
pub(super) fn element_bytes(value: Scalar) -> impl Iterator<Item = u8> {
    let width = value.ty.bytes();
    let skipped = if cfg!(target_endian = "little") { 0 } else { 8 - width };
    value.bits.to_ne_bytes().into_iter().skip(skipped).take(width)
}
