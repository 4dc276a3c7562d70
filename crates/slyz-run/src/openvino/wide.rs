//! Calls with whole numbers that OpenVINO has no room for are refused: it computes them in 32 bits, and some in 24.

use super::network::Input;
use crate::signature::{Sizes, read_scalars};
use crate::{Error, Kept};
use slyz_sir::back::graph::Graph;
use slyz_sir::back::openvino::{Ends, check_numbers};
use slyz_sir::size::SizeVar;

/// Calls of a graph that are known to be right.
#[derive(Default)]
pub(super) struct Right {
    known: Kept<Numbers>,
}

/// What decides about a call.
struct Numbers {
    sizes: Vec<Option<u64>>,
    inputs: Vec<Option<Ends>>,
}

impl Right {
    /// An error where whole numbers of the call may be too large.
    pub(super) fn check(&self, graph: &Graph, sizes: &Sizes<'_>, inputs: &[Input<'_>]) -> Result<(), Error> {
        let inputs: Vec<Option<Ends>> = inputs.iter().map(ends).collect();
        let fits = |known: &Numbers| known.sizes == sizes.values() && known.inputs == inputs;
        let look = || {
            let value = |SizeVar(var): SizeVar| sizes.values().get(var as usize).copied().flatten();
            check_numbers(graph, &value, &inputs).map_err(|error| Error::Model(error.into()))?;
            Ok(Numbers { sizes: sizes.values().to_vec(), inputs: inputs.clone() })
        };
        self.known.get(fits, look).map(drop)
    }
}

/// The ends of an argument of whole numbers, no nearer to zero than they are: as far as their bits go, so that few calls differ in them.
fn ends(input: &Input<'_>) -> Option<Ends> {
    if !input.ty.is_int() {
        return None;
    }
    let numbers = read_scalars(input.ty, input.bytes).map(|scalar| scalar.as_int() as i64);
    let (lo, hi) = numbers.fold((0, 0), |(lo, hi), number| (number.min(lo), number.max(hi)));
    let ones = |number: i64| (1i128 << (64 - number.leading_zeros())) - 1;
    Some((!(ones(!lo) as i64), ones(hi) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slyz_sir::types::Ty;

    #[test]
    fn ends_go_as_far_as_bits() {
        let of = |numbers: &[i64]| {
            let bytes = bytemuck::cast_slice(numbers);
            ends(&Input { name: "x", ty: Ty::I64, shape: vec![numbers.len() as u64], bytes })
        };
        assert_eq!(of(&[5, 9]), Some((0, 15)));
        assert_eq!(of(&[-5, -1]), Some((-8, 0)));
        assert_eq!(of(&[i32::MIN.into(), i32::MAX.into()]), Some((i32::MIN.into(), i32::MAX.into())));
        assert_eq!(of(&[i64::MIN, i64::MAX]), Some((i64::MIN, i64::MAX)));
        assert_eq!(of(&[]), Some((0, 0)));
    }
}
