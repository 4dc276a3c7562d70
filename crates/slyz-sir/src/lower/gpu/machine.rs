//! What the lowering must know about a device.

use crate::lower::Choice;
use crate::pass::spread::{Resources, Subgroup};
use crate::types::Ty;

/// What a block adds while a launch is made.
const TURN_WORK: u64 = 1 << 15;

/// Through Vulkan a filter of 2^28 elements takes 0.75 ms on an H200 with 64 threads a block and 0.81 with 256; through CUDA it is the other way round.
const MEETING_THREADS: u32 = 64;

/// The most shared memory that a block of any GPU of NVIDIA may have.
pub const MOST_SHARED: u64 = 227 << 10;

/// Elements of rows that a thread keeps in registers.
const KEPT_VALUES: u32 = 64;

/// A machine of many threads in blocks.
///
/// The limits are those that every device of the kind keeps; a device that allows more may say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Machine {
    /// The most threads of a block.
    pub max_threads: u32,
    /// Threads that step together; `None` without subgroup operations.
    pub subgroup: Option<Subgroup>,
    /// The most threads of a block that meets at every tile, as those of filters do: the fewer wait for each other, the sooner they go on.
    pub meeting_threads: u32,
    /// Shared memory of a block with others beside it: what tiles are made for.
    pub shared_bytes: u64,
    /// What a block may have on top of that, where it is alone or nearly so: for scratch that else would lie in global memory.
    pub more_shared_bytes: u64,
    /// What an element of it takes at least.
    pub least_bytes: u64,
    /// The most blocks of a grid in x, y, z.
    pub max_blocks: [u64; 3],
    /// The widest integers with atomics.
    pub atomic_bits: u32,
    /// The most positions of any array. A call with larger ones must be refused, or run a plan for a larger bound. Sizes
    /// that are known at the call only are taken to be anything up to this.
    pub max_positions: u64,
    /// The widest access of a thread that is as fast per byte as others; 0 where threads take one element each.
    pub vector_bytes: u32,
    /// `fma` costs what a product does. Where it has to be made of other operations, sums of products do without.
    pub fused: bool,
    /// The device runs a launch whose grid is past its limits in pieces. Then kernels need no loops for sizes that are not
    /// expected.
    pub splits: bool,
    /// The work of a turn, in additions, that a block does faster than a launch of many is made: loops with such turns are one
    /// kernel. 0 where loops had better be short.
    pub turn_work: u64,
    /// The host hears late of what the device has computed, and launches the next turns of a loop meanwhile.
    pub runs_ahead: bool,
    /// Whoever waits keeps nobody from going on: a block may wait for one that began before it, and the lanes of a subgroup meet.
    pub progresses: bool,
    /// It may have a library for products of matrices.
    pub has_products: bool,
    /// Its subgroups multiply fragments of matrices ([`Op::Mma`](crate::code::Op::Mma)).
    pub multiplies: bool,
    /// Blocks that keep it busy: work is cut into about so many where it can be.
    pub busy_blocks: u64,
    /// What is chosen where several choices are right.
    pub choice: Choice,
}

impl Machine {
    /// Apple GPUs. Positions in a grid are 32-bit numbers there.
    pub const fn metal() -> Machine {
        Machine {
            max_threads: 1024,
            meeting_threads: 1024,
            subgroup: Some(Subgroup { size: 32, bits: 32, float_extremes: true, reduces_few: true }),
            shared_bytes: 32 << 10,
            more_shared_bytes: 0,
            least_bytes: 1,
            max_blocks: [u32::MAX as u64; 3],
            atomic_bits: 32,
            // Positions have 32-bit numbers, and so have differences of two, and those behind the last: of threads of its block, and of a
            // step of the widest loop.
            max_positions: i32::MAX as u64,
            vector_bytes: 0,
            fused: true,
            splits: false,
            turn_work: TURN_WORK,
            runs_ahead: false,
            progresses: false,
            has_products: false,
            multiplies: false,
            busy_blocks: 2_048,
            choice: Choice::USUAL,
        }
    }

    /// NVIDIA GPUs, as little as any of them has.
    pub const fn cuda() -> Machine {
        Machine {
            max_threads: 1024,
            meeting_threads: 1024,
            subgroup: Some(Subgroup { size: 32, bits: 64, float_extremes: false, reduces_few: false }),
            shared_bytes: 48 << 10,
            more_shared_bytes: 0,
            least_bytes: 1,
            max_blocks: [(1 << 31) - 1, 65_535, 65_535],
            atomic_bits: 64,
            // More bytes than any of them has.
            max_positions: 1 << 39,
            vector_bytes: 16,
            fused: true,
            splits: false,
            turn_work: TURN_WORK,
            runs_ahead: false,
            progresses: true,
            has_products: true,
            multiplies: false,
            busy_blocks: 2_048,
            choice: Choice::USUAL,
        }
    }

    /// NVIDIA GPUs of an architecture: 90 for `sm_90`. Blocks have the memory there that they have to ask for, and tensor cores.
    pub const fn cuda_of(architecture: u32) -> Machine {
        let most: u64 = match architecture {
            70 | 72 => 96 << 10,
            75 => 64 << 10,
            80 | 87 => 163 << 10,
            86 | 89 | 120.. => 99 << 10,
            90..120 => MOST_SHARED,
            _ => 48 << 10,
        };
        Machine { multiplies: architecture >= 80, ..Machine::cuda().with_shared(most) }
    }

    /// AMD GPUs, with wavefronts of so many lanes.
    pub const fn hip(lanes: u32) -> Machine {
        Machine {
            subgroup: Some(Subgroup { size: lanes, bits: 64, float_extremes: false, reduces_few: false }),
            // Whether blocks go on while others wait, nobody says.
            progresses: false,
            has_products: false,
            ..Machine::cuda()
        }
    }

    /// OpenCL 1.2 on GPUs, as little as any of them has. Subgroups differ from device to device.
    pub const fn opencl() -> Machine {
        Machine {
            max_threads: 256,
            meeting_threads: 256,
            subgroup: None,
            shared_bytes: 32 << 10,
            more_shared_bytes: 0,
            least_bytes: 1,
            max_blocks: [(1 << 31) - 1, 65_535, 65_535],
            atomic_bits: 32,
            max_positions: 1 << 39,
            vector_bytes: 16,
            fused: true,
            splits: false,
            turn_work: TURN_WORK,
            runs_ahead: false,
            progresses: false,
            has_products: false,
            multiplies: false,
            busy_blocks: 2_048,
            choice: Choice::USUAL,
        }
    }

    /// WebGPU with its default limits, where subgroups differ from device to device.
    pub const fn webgpu() -> Machine {
        Machine {
            max_threads: 256,
            meeting_threads: MEETING_THREADS,
            subgroup: None,
            shared_bytes: 16 << 10,
            more_shared_bytes: 0,
            least_bytes: 4,
            max_blocks: [65_535; 3],
            atomic_bits: 32,
            max_positions: 1 << 32,
            vector_bytes: 16,
            fused: false,
            splits: false,
            turn_work: TURN_WORK,
            runs_ahead: true,
            progresses: false,
            has_products: false,
            multiplies: false,
            busy_blocks: 2_048,
            choice: Choice::USUAL,
        }
    }

    /// The same machine for plans whose launches are cut into pieces ([`super::Windowed`]): grids have no limits, so that no block
    /// loops over what a grid does not reach, which would be all over the arrays.
    pub const fn in_pieces(self) -> Machine {
        Machine { max_blocks: [i64::MAX as u64; 3], ..self }
    }

    /// The same machine where a block may have so many bytes of shared memory. Tiles stay as they are.
    pub const fn with_shared(self, most: u64) -> Machine {
        Machine { more_shared_bytes: most.saturating_sub(self.shared_bytes), ..self }
    }

    /// The most shared memory that a block may have.
    pub const fn most_shared_bytes(&self) -> u64 {
        self.shared_bytes + self.more_shared_bytes
    }

    /// The same machine with other choices.
    pub(crate) const fn choosing(self, choice: Choice) -> Machine {
        let vector_bytes = if choice.memory { self.vector_bytes } else { 0 };
        Machine { choice, vector_bytes, ..self }
    }

    /// The same machine for blocks that meet at every tile.
    pub(super) const fn meeting(self) -> Machine {
        let most = if self.max_threads < self.meeting_threads { self.max_threads } else { self.meeting_threads };
        Machine { max_threads: most, ..self }
    }

    /// Are launches cut into pieces?
    pub(super) fn cuts_launches(&self) -> bool {
        self.max_blocks == [i64::MAX as u64; 3]
    }

    /// Has it few cores, such as a GPU in software? There threads cost time, and hide none.
    pub(super) fn is_small(&self) -> bool {
        self.busy_blocks < 512
    }

    /// Is it better to keep or to compute again what would go through memory? Software has no registers for it.
    pub(super) fn keeps_rows(&self) -> bool {
        !self.is_small() && self.choice.memory
    }

    /// Shared memory that a value of each of the types takes.
    pub(super) fn shared_size(&self, tys: &[Ty]) -> u64 {
        tys.iter().map(|ty| (ty.bytes() as u64).max(self.least_bytes)).sum()
    }

    /// What one block may use.
    pub(super) fn resources(&self) -> Resources {
        let turns_at_once = if self.vector_bytes > 0 { 4 } else { 1 };
        Resources {
            subgroup: self.subgroup,
            shared_bytes: self.shared_bytes,
            more_shared_bytes: self.more_shared_bytes,
            least_bytes: self.least_bytes,
            turns_at_once,
            kept_values: if self.keeps_rows() { KEPT_VALUES } else { 0 },
        }
    }

    /// Threads of a block when nothing asks for another number.
    pub(super) fn threads(&self) -> u32 {
        self.max_threads.clamp(1, self.choice.threads)
    }
}
