//! What names stand for.

use super::number::Number;
use slyz_sir::types::{Scalar, Ty};
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

/// A tensor: on the host, on the machine, or the same in both places.
#[derive(Clone, Debug)]
pub(super) struct Tensor<T> {
    pub(super) ty: Ty,
    pub(super) shape: Vec<u64>,
    /// The elements in the host's byte order.
    pub(super) host: Option<Rc<Vec<u8>>>,
    pub(super) machine: Option<T>,
}

impl<T> Tensor<T> {
    pub(super) fn on_host(ty: Ty, shape: Vec<u64>, bytes: Vec<u8>) -> Tensor<T> {
        Tensor { ty, shape, host: Some(Rc::new(bytes)), machine: None }
    }

    /// The number of elements; it was counted when the tensor was made.
    pub(super) fn len(&self) -> u64 {
        self.shape.iter().product()
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
