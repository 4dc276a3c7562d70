//! What SPIR-V can ask of a driver's float arithmetic: execution modes of `SPV_KHR_float_controls`.
//!
//! Without them a driver may flush denormals to zero (NVIDIA's does) and treat NaNs and infinities as it likes. They are
//! capabilities of the device, so a module asks only for those of [`FloatControls`], and only for widths that it uses.

use crate::choices::Precision;

/// What a device grants, for `f32` and `f64`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FloatControls {
    /// Denormals are kept.
    pub denormals: [bool; 2],
    /// Signed zeros, infinities and NaNs are kept.
    pub specials: [bool; 2],
    /// Results are rounded to the nearest, ties to even.
    pub nearest: [bool; 2],
}

impl FloatControls {
    /// What a precision asks for. Kept denormals make NVIDIA's quotients, roots and powers twice as slow, and no unit in the last place of
    /// a normal number is won by them.
    pub(super) fn at(self, precision: Precision) -> FloatControls {
        match precision {
            Precision::Exact => self,
            Precision::Table => FloatControls { specials: self.specials, ..FloatControls::default() },
            Precision::Native => FloatControls::default(),
        }
    }

    /// Those of the widths that are used.
    pub(super) fn of_widths(self, used: [bool; 2]) -> FloatControls {
        let both = |granted: [bool; 2]| [granted[0] && used[0], granted[1] && used[1]];
        FloatControls { denormals: both(self.denormals), specials: both(self.specials), nearest: both(self.nearest) }
    }
}

const WIDTHS: [u32; 2] = [32, 64];
/// Capability and execution mode of each control.
const DENORM_PRESERVE: [u32; 2] = [4464, 4459];
const SIGNED_ZERO_INF_NAN_PRESERVE: [u32; 2] = [4466, 4461];
const ROUNDING_MODE_RTE: [u32; 2] = [4467, 4462];

const OP_EXTENSION: u32 = 10;
const OP_MEMORY_MODEL: u32 = 14;
const OP_ENTRY_POINT: u32 = 15;
const OP_EXECUTION_MODE: u32 = 16;
const OP_CAPABILITY: u32 = 17;
const OP_TYPE_FLOAT: u32 = 22;
const EXTENSION: &[u8] = b"SPV_KHR_float_controls";

/// The module, asking for the controls.
pub(super) fn controlled(words: &[u32], controls: FloatControls) -> Vec<u32> {
    let mut instructions: Vec<&[u32]> = vec![];
    let (header, mut rest) = words.split_at(words.len().min(5));
    while let Some(&first) = rest.first() {
        let (instruction, behind) = rest.split_at(((first >> 16).max(1) as usize).min(rest.len()));
        instructions.push(instruction);
        rest = behind;
    }
    let opcode = |instruction: &[u32]| instruction[0] & 0xffff;
    let uses = |width: u32| instructions.iter().any(|i| opcode(i) == OP_TYPE_FLOAT && i.get(2) == Some(&width));
    let mut capabilities = vec![];
    let mut modes = vec![];
    let asked = [
        (DENORM_PRESERVE, controls.denormals),
        (SIGNED_ZERO_INF_NAN_PRESERVE, controls.specials),
        (ROUNDING_MODE_RTE, controls.nearest),
    ];
    for ([capability, mode], granted) in asked {
        let widths = WIDTHS.into_iter().zip(granted).filter(|&(width, granted)| granted && uses(width));
        let before = modes.len();
        modes.extend(widths.map(|(width, _)| (mode, width)));
        if modes.len() > before {
            capabilities.push(capability);
        }
    }
    if modes.is_empty() {
        return words.to_vec();
    }
    let mut out = header.to_vec();
    let mut asked = false;
    let mut entries = vec![];
    for (k, instruction) in instructions.iter().enumerate() {
        // Capabilities come first, then extensions.
        if !asked && opcode(instruction) != OP_CAPABILITY {
            asked = true;
            out.extend(capabilities.iter().flat_map(|&capability| [2 << 16 | OP_CAPABILITY, capability]));
            out.extend(extension());
        }
        out.extend_from_slice(instruction);
        if opcode(instruction) == OP_ENTRY_POINT {
            entries.extend(instruction.get(2));
        }
        // Modes stand behind all entry points.
        let next = instructions.get(k + 1).map(|i| opcode(i));
        let entered = matches!(opcode(instruction), OP_MEMORY_MODEL | OP_ENTRY_POINT) && next != Some(OP_ENTRY_POINT);
        if entered {
            let modes = |&entry: &u32| {
                modes.iter().flat_map(move |&(mode, width)| [4 << 16 | OP_EXECUTION_MODE, entry, mode, width])
            };
            out.extend(entries.iter().flat_map(modes));
        }
    }
    out
}

/// `OpExtension` with the name, which ends with a zero.
fn extension() -> Vec<u32> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
    let mut name: Vec<u32> = EXTENSION.chunks(4).map(word).collect();
    if EXTENSION.len().is_multiple_of(4) {
        name.push(0);
    }
    [vec![(name.len() as u32 + 1) << 16 | OP_EXTENSION], name].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(width: u32) -> Vec<u32> {
        let header = [0x0723_0203, 0x0001_0300, 0, 9, 0];
        let capability = [2 << 16 | OP_CAPABILITY, 1];
        let model = [3 << 16 | OP_MEMORY_MODEL, 0, 1];
        let entry = [5 << 16 | OP_ENTRY_POINT, 5, 7, u32::from_le_bytes(*b"main"), 0];
        let float = [3 << 16 | OP_TYPE_FLOAT, 3, width];
        [&header[..], &capability, &model, &entry, &float].concat()
    }

    #[test]
    fn nothing_is_asked_that_is_not_granted_or_used() {
        assert_eq!(controlled(&module(32), FloatControls::default()), module(32));
        let wide = FloatControls { denormals: [false, true], ..Default::default() };
        assert_eq!(controlled(&module(32), wide), module(32));
    }

    #[test]
    fn capability_extension_and_mode() {
        let words = controlled(&module(32), FloatControls { denormals: [true, true], ..Default::default() });
        let first = [2 << 16 | OP_CAPABILITY, 1, 2 << 16 | OP_CAPABILITY, DENORM_PRESERVE[0]];
        assert_eq!(words[5..9], first);
        assert_eq!(words[9], 7 << 16 | OP_EXTENSION);
        assert_eq!(words[10..12], [u32::from_le_bytes(*b"SPV_"), u32::from_le_bytes(*b"KHR_")]);
        let mode = [4 << 16 | OP_EXECUTION_MODE, 7, DENORM_PRESERVE[1], 32];
        assert!(words.windows(4).any(|four| four == mode));
        assert_eq!(words.len(), module(32).len() + 2 + 7 + 4);
    }
}
