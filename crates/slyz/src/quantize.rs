//! Which smaller numbers somebody asks for.

use crate::error::Error;
use crate::trace::Slot;
use crate::weights::{Parts, compile_parts, parameters};
use slyz_run::{Device, Executable};
use slyz_sir::prepare::prepare;
use slyz_sir::program::Program;
use slyz_sir::quantize::{Candidate, Request, quantize};
use std::sync::Arc;

pub use slyz_sir::quantize::Small;

/// Which smaller numbers, and how far off results may be: [`Compiled::quantize`](crate::Compiled::quantize).
#[derive(Clone, Debug)]
pub struct Quantize {
    pub(crate) small: Small,
    /// Arguments that stay the same, counted from 1.
    pub(crate) weights: Option<Vec<usize>>,
    pub(crate) bound: Option<f64>,
    /// The least and the greatest number of arguments, by number, where somebody says them.
    pub(crate) ranges: Vec<(usize, f64, f64)>,
}

impl Quantize {
    /// Sums of products in bytes, with a scale for each row and column; the rest stays as it is.
    pub fn i8() -> Quantize {
        Quantize::to(Small::I8)
    }

    /// Arrays that are stored, and weights, in half precision.
    pub fn f16() -> Quantize {
        Quantize::to(Small::F16)
    }

    /// The same with the upper halves of `f32`: fewer digits, but as large.
    pub fn bf16() -> Quantize {
        Quantize::to(Small::BF16)
    }

    /// Those numbers.
    pub fn to(small: Small) -> Quantize {
        Quantize { small, weights: None, bound: None, ranges: vec![] }
    }

    /// No result may be off by more than this part of its largest number: `0.01` is a hundredth. What makes more is left in `f32`.
    pub fn within(self, bound: f64) -> Quantize {
        Quantize { bound: Some(bound), ..self }
    }

    /// An argument, counted from 1, holds numbers from `low` to `high` only. What [`Compiled::explain`](crate::Compiled::explain) says is
    /// proven is then proven for all of these, and else for those between the least and the greatest of the examples.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// use slyz::Quantize;
    /// axis!(N, K, M);
    /// let f = compile(|x: Arr<f32, (N, K)>, w: Arr<f32, (K, M)>| x.matmul(w))?;
    /// let (x, w) = ([[1.0f32, -0.5]], [[1.0f32], [0.25]]);
    /// let how = Quantize::i8().within(0.05).range(1, -1.0, 1.0);
    /// let small = f.quantize(&how, |f| f.call(&x, &w))?;
    /// assert!(small.explain().to_string().contains("proven: alone it makes results at most"));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn range(mut self, argument: usize, low: f64, high: f64) -> Quantize {
        self.ranges.push((argument, low, high));
        self
    }

    /// Arguments that stay the same from call to call, counted from 1: what is made of them alone is made once. Without this, the right
    /// sides of products are for bytes, and none for 16 bits.
    pub fn weights(self, arguments: impl IntoIterator<Item = usize>) -> Quantize {
        Quantize { weights: Some(arguments.into_iter().collect()), ..self }
    }

    /// The same for a program with these parameters.
    pub(crate) fn request(&self, slots: &[Slot]) -> Result<Request, Error> {
        let weights = self.weights.as_deref().map(|weights| parameters(slots, weights)).transpose()?;
        Ok(Request { weights, ..Request::new(self.small) })
    }
}

/// A traced program over smaller numbers.
pub(crate) fn compile_smaller(
    device: &dyn Device,
    program: &Program,
    request: &Request,
) -> Result<(Arc<dyn Executable>, Parts), Error> {
    let quantized = quantize(program, request);
    let parts = prepare(&quantized.program, &quantized.weights);
    let told = |candidate: &Candidate| match candidate.left {
        None => format!("{candidate} is {}", request.small),
        Some(_) => candidate.to_string(),
    };
    let mut told: Vec<String> = quantized.candidates.iter().map(told).collect();
    if told.is_empty() {
        told.push(format!("nothing here can be {}", request.small));
    }
    compile_parts(device, parts, told)
}
