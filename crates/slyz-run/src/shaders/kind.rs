//! Kinds of adapters: all that lowering asks of a GPU behind wgpu, and writing kernels for it.
//!
//! The device knows the kind of the adapter that it opens. Bundles are made where there is none: for the kinds of [`KNOWN`].

use slyz_sir::back::naga::{FloatControls, Target};
use slyz_sir::choices::Precision;
use slyz_sir::lower::gpu::Machine;
use slyz_sir::pass::spread::Subgroup;

/// What an adapter is to the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// SPIR-V reaches the driver as it is.
    pub(crate) passthrough: bool,
    /// It has integers of 64 bits.
    pub(crate) int64: bool,
    /// It has their atomics.
    pub(crate) atomic64: bool,
    /// It has `f64`.
    pub(crate) float64: bool,
    /// The one size of its subgroups; `None` where they have several, or no operations.
    pub(crate) lanes: Option<u32>,
    /// The most threads of a block.
    pub(crate) threads: u32,
    /// What they share.
    pub(crate) shared_bytes: u32,
    /// The most blocks of a grid, along each axis.
    pub(crate) blocks: u32,
    /// It runs on the CPU.
    pub(crate) software: bool,
    /// The driver ends the loops of a thread after [`MOST_TURNS`](slyz_sir::back::naga::MOST_TURNS).
    pub(crate) ends_loops: bool,
    /// What the driver grants of float arithmetic.
    pub(crate) floats: FloatControls,
    /// Its `fma`, its quotients and its roots of `f32` round once, as far as anybody has seen.
    pub(crate) rounds_once: [bool; 3],
}

/// A GPU behind Vulkan whose subgroups have several sizes, with all that is asked for: those of AMD and Intel.
const VULKAN: Kind = Kind {
    passthrough: true,
    int64: true,
    atomic64: true,
    float64: true,
    lanes: None,
    threads: 1024,
    shared_bytes: 64 << 10,
    blocks: u16::MAX as u32,
    software: false,
    ends_loops: false,
    floats: FloatControls { denormals: [true; 2], specials: [true; 2], nearest: [true; 2] },
    rounds_once: [true, false, false],
};

/// A GPU behind DirectX of that sort, or without `f64` and atomics of 64 bits behind Metal, to which wgpu writes.
const OTHERS: Kind = Kind {
    passthrough: false,
    shared_bytes: 32 << 10,
    floats: FloatControls { denormals: [false; 2], specials: [false; 2], nearest: [false; 2] },
    rounds_once: [false; 3],
    ..VULKAN
};

/// Mesa's lavapipe on processors with AVX.
const LAVAPIPE: Kind = Kind {
    lanes: Some(8),
    shared_bytes: 32 << 10,
    software: true,
    ends_loops: true,
    floats: FloatControls { denormals: [false; 2], ..VULKAN.floats },
    rounds_once: [false, true, true],
    ..VULKAN
};

/// What code is made for where it is not. The third is NVIDIA's behind Vulkan, the fifth behind DirectX; the last has what every WebGPU has.
pub(crate) const KNOWN: [Kind; 6] = [
    LAVAPIPE,
    VULKAN,
    Kind { lanes: Some(32), shared_bytes: 48 << 10, ..VULKAN },
    OTHERS,
    Kind { lanes: Some(32), ..OTHERS },
    Kind { int64: false, atomic64: false, float64: false, ..OTHERS },
];

impl Kind {
    /// What its kernels are written for, at a precision.
    pub(crate) fn target(&self, precision: Precision) -> Target {
        let [fused, exact_division, exact_root] = self.rounds_once;
        Target {
            int64: self.int64,
            atomic64: self.atomic64,
            float64: self.float64,
            subgroups: self.lanes.is_some(),
            fused,
            exact_division,
            exact_root,
            exact_halves: false,
            reassociates: !self.passthrough,
            narrow: !self.int64,
            long_loops: false,
            floats: self.floats,
            precision,
        }
    }

    /// The same in all forms that calls ask for: with positions of 32 bits and, where there are such, of 64, and whatever its conversions of
    /// `f16` turn out to be.
    pub(crate) fn forms(&self, precision: Precision) -> Vec<Target> {
        let target = self.target(precision);
        let widths = [true, false].into_iter().filter(|narrow| *narrow || target.int64);
        let forms = |narrow| [true, false].map(|exact_halves| Target { narrow, exact_halves, ..target });
        widths.flat_map(forms).collect()
    }

    /// What programs are lowered for.
    pub(crate) fn machine(&self) -> Machine {
        let usual = Machine::webgpu();
        Machine {
            max_threads: self.threads,
            meeting_threads: usual.meeting_threads,
            subgroup: self.lanes.map(|size| Subgroup { size, bits: 32, float_extremes: false, reduces_few: false }),
            shared_bytes: self.shared_bytes.into(),
            more_shared_bytes: 0,
            least_bytes: usual.least_bytes,
            max_blocks: [self.blocks.into(); 3],
            atomic_bits: if self.atomic64 { 64 } else { 32 },
            max_positions: if self.int64 { 1 << 39 } else { 1 << 30 },
            vector_bytes: 16,
            fused: self.rounds_once[0],
            splits: true,
            // Each launch has its own count of turns where the driver ends them.
            runs_ahead: true,
            turn_work: if self.ends_loops { 0 } else { usual.turn_work },
            progresses: false,
            has_products: false,
            multiplies: false,
            busy_blocks: if self.software { 64 } else { 2_048 },
            choice: usual.choice,
        }
    }
}
