//! SPIR-V whose float arithmetic is taken at its word.
//!
//! Compilers of shaders may contract `a * b + c`, reassociate sums and cancel what mathematics cancels, unless a result is
//! decorated `NoContraction`, which naga cannot say. Here every arithmetic result gets the decoration:
//!
//! ```text
//! %5 = OpFMul %float %3 %4         OpDecorate %5 NoContraction
//!                                   …
//!                                   %5 = OpFMul %float %3 %4
//! ```
//!
//! What it does not do: look at anything but opcodes. The words are naga's, so they are well formed.

/// Words before the first instruction: magic number, version, generator, bound, schema.
const HEADER: usize = 5;

const OP_EXT_INST: u32 = 12;
const OP_DECORATE: u32 = 71;
const NO_CONTRACTION: u32 = 42;

/// Everything that stands before types, constants and functions: sources and names, extensions, capabilities, entry points and
/// decorations.
fn is_preamble(opcode: u32) -> bool {
    matches!(opcode, 2..=7 | 10 | 11 | 14..=17 | 71..=75 | 330..=332 | 5632 | 5633)
}

/// Operations on floats that compilers are fond of rewriting: negation, sums, differences, products, quotients, and by their
/// number in the extended set `Sqrt` and `Fma`.
fn is_arithmetic(opcode: u32, operands: &[u32]) -> bool {
    match opcode {
        127 | 129 | 131 | 133 | 136 => true,
        OP_EXT_INST => matches!(operands.get(3), Some(31 | 50)),
        _ => false,
    }
}

/// The module with every arithmetic result decorated.
pub(super) fn decorated(words: &[u32]) -> Vec<u32> {
    let mut at = HEADER;
    let mut preamble = HEADER;
    let mut results = vec![];
    while let Some(&first) = words.get(at) {
        let opcode = first & 0xffff;
        let count = (first >> 16).max(1) as usize;
        let operands = words.get(at + 1..at + count).unwrap_or_default();
        if is_preamble(opcode) {
            preamble = at + count;
        }
        if let (true, Some(&result)) = (is_arithmetic(opcode, operands), operands.get(1)) {
            results.push(result);
        }
        at += count;
    }
    let (before, behind) = words.split_at(preamble.min(words.len()));
    let decorations = results.into_iter().flat_map(|id| [3 << 16 | OP_DECORATE, id, NO_CONTRACTION]);
    before.iter().copied().chain(decorations).chain(behind.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decorations_come_before_types() {
        let header = [0x0723_0203, 0x0001_0300, 0, 9, 0];
        let (name, void) = ([2 << 16 | 5, 1], [2 << 16 | 19, 2]);
        let (product, sum) = ([5 << 16 | 133, 3, 6, 4, 4], [5 << 16 | 128, 3, 7, 4, 4]);
        let fma = [8 << 16 | OP_EXT_INST, 3, 8, 1, 50, 4, 4, 4];
        let words = [&header[..], &name, &void, &product, &sum, &fma].concat();
        let marks = [3 << 16 | OP_DECORATE, 6, NO_CONTRACTION, 3 << 16 | OP_DECORATE, 8, NO_CONTRACTION];
        let expected = [&header[..], &name, &marks, &void, &product, &sum, &fma].concat();
        assert_eq!(decorated(&words), expected);
    }
}
