//! Whole numbers past 32 bits, in which OpenVINO computes all of them: calls that have them are refused.

use super::network::Input;
use crate::signature::{Sizes, read_scalars};
use crate::{ArgumentProblem, Error};
use slyz_sir::back::graph::Graph;
use slyz_sir::types::Ty;

/// An error where an argument has such a number.
pub(super) fn check(name: &str, _graph: &Graph, _sizes: &Sizes<'_>, inputs: &[Input<'_>]) -> Result<(), Error> {
    for (index, input) in inputs.iter().enumerate().filter(|(_, input)| input.ty == Ty::I64) {
        let numbers = read_scalars(input.ty, input.bytes).map(|scalar| scalar.as_int());
        let mut past = numbers.enumerate().filter(|(_, value)| i32::try_from(*value).is_err());
        if let Some((at, value)) = past.next() {
            let problem = ArgumentProblem::Wide { at, value };
            return Err(Error::Argument { name: name.to_string(), index, problem });
        }
    }
    Ok(())
}
