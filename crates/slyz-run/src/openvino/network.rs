//! A compiled model, and the requests by which threads call it.

use super::opened::refused;
use crate::Error;
use openvino::{CompiledModel, ElementType, InferRequest, InferenceError, Shape, Tensor};
use slyz_sir::code::Type;
use slyz_sir::types::Ty;
use std::sync::{Mutex, PoisonError};

/// Requests that are kept when nobody uses them: each holds the arrays of a call.
const KEPT: usize = 4;

/// A model that OpenVINO has compiled.
pub(super) struct Network {
    model: Mutex<CompiledModel>,
    idle: Mutex<Vec<Request>>,
}

/// One call at a time.
struct Request {
    request: InferRequest,
    /// Arguments of its latest call, with their shapes.
    inputs: Vec<(Vec<u64>, Tensor)>,
}

/// What goes into a model.
pub(super) struct Input<'a> {
    /// The model's name for it.
    pub(super) name: &'a str,
    pub(super) ty: Ty,
    pub(super) shape: Vec<u64>,
    pub(super) bytes: &'a [u8],
}

/// A result as OpenVINO has it: its elements, its extents, and what is made of its bytes.
pub(super) struct Given {
    pub(super) ty: ElementType,
    pub(super) shape: Vec<u64>,
    pub(super) tensor: Tensor,
}

impl Given {
    /// The bytes of its elements.
    pub(super) fn bytes(&self) -> Result<&[u8], InferenceError> {
        // OpenVINO has no address for nothing.
        if self.tensor.get_byte_size()? == 0 { Ok(&[]) } else { self.tensor.get_raw_data() }
    }
}

/// What OpenVINO calls elements of a type, where it computes with them.
pub(super) fn element(ty: Ty) -> Option<ElementType> {
    match ty {
        Ty::Bool => Some(ElementType::Boolean),
        Ty::I32 => Some(ElementType::I32),
        Ty::I64 => Some(ElementType::I64),
        Ty::F16 => Some(ElementType::F16),
        Ty::F32 => Some(ElementType::F32),
        Ty::I8 | Ty::I16 | Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 | Ty::BF16 | Ty::F64 => None,
    }
}

impl Network {
    pub(super) fn new(model: CompiledModel) -> Network {
        Network { model: Mutex::new(model), idle: Mutex::default() }
    }

    /// Runs it, and gives what `take` makes of each of its results.
    pub(super) fn run<T>(
        &self,
        name: &str,
        inputs: &[Input<'_>],
        results: &[Type],
        mut take: impl FnMut(usize, Given) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let failed = |error: InferenceError| refused(&format!("a call of \"{name}\""), &error);
        let mut request = self.request().map_err(failed)?;
        for (place, input) in inputs.iter().enumerate() {
            request.pass(place, input).map_err(failed)?;
        }
        request.request.infer().map_err(failed)?;
        let mut taken = vec![];
        for (number, ty) in results.iter().enumerate() {
            taken.push(take(number, request.given(number, ty).map_err(failed)?)?);
        }
        // One that failed is not used again.
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.push(request);
        }
        Ok(taken)
    }

    fn request(&self) -> Result<Request, InferenceError> {
        if let Some(request) = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Ok(request);
        }
        let request = self.model.lock().unwrap_or_else(PoisonError::into_inner).create_infer_request()?;
        Ok(Request { request, inputs: vec![] })
    }
}

impl Request {
    /// Copies an argument into a tensor of the request's own.
    fn pass(&mut self, place: usize, input: &Input<'_>) -> Result<(), InferenceError> {
        let fits = self.inputs.get(place).is_some_and(|(shape, _)| *shape == input.shape);
        if !fits {
            let tensor = self.tensor(place, input)?;
            self.inputs.truncate(place);
            self.inputs.push((input.shape.clone(), tensor));
        }
        let (_, tensor) = &mut self.inputs[place];
        tensor.get_raw_data_mut()?.copy_from_slice(input.bytes);
        Ok(())
    }

    /// A tensor for an argument, which the request reads.
    fn tensor(&mut self, place: usize, input: &Input<'_>) -> Result<Tensor, InferenceError> {
        if input.shape.is_empty() {
            // OpenVINO's C makes no shapes without axes, so a scalar is put where the request has one.
            return self.request.get_tensor(input.name);
        }
        let extents: Vec<i64> = input.shape.iter().map(|&extent| extent as i64).collect();
        // Types without a name there have become no models.
        let ty = element(input.ty).unwrap_or(ElementType::Dynamic);
        let tensor = Tensor::new(ty, &Shape::new(&extents)?)?;
        self.request.set_input_tensor_by_index(place, &tensor)?;
        Ok(tensor)
    }

    fn given(&self, number: usize, expected: &Type) -> Result<Given, InferenceError> {
        let tensor = self.request.get_output_tensor_by_index(number)?;
        let ty = tensor.get_element_type()?;
        // Nor does it tell those of scalars.
        let shape = match expected.shape().is_empty() && tensor.get_size()? == 1 {
            true => vec![],
            false => tensor.get_shape()?.get_dimensions().iter().map(|&extent| extent as u64).collect(),
        };
        Ok(Given { ty, shape, tensor })
    }
}
