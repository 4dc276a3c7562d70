//! Why a kernel cannot be written for a target: one list for all backends.

use crate::code::Id;
use crate::ops::Operator;
use crate::types::Ty;

/// Why a kernel cannot be written in a language or for a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmitError {
    /// The language has no such type.
    #[error("kernel `{kernel}`: {language} has no {ty}; {remedy}")]
    Type {
        /// The kernel.
        kernel: String,
        /// The language.
        language: &'static str,
        /// The type.
        ty: Ty,
        /// What to do.
        remedy: &'static str,
    },
    /// The language has no such atomic.
    #[error(
        "kernel `{kernel}`: {language} has no atomic `{what}` on {ty}; use i32 or u32, or combine in another way than by atomics"
    )]
    Atomic {
        /// The kernel.
        kernel: String,
        /// The language.
        language: &'static str,
        /// The operation.
        what: String,
        /// The type.
        ty: Ty,
    },
    /// Products of fragments of matrices.
    #[error(
        "kernel `{kernel}` multiplies fragments of matrices (`mma`), which {language} has no word for; it is CUDA's, from sm_80 on"
    )]
    Fragments {
        /// The kernel.
        kernel: String,
        /// The language.
        language: &'static str,
    },
    /// `lanes` in a kernel for threads.
    #[error("kernel `{0}` holds a `lanes` loop; lower the program for a GPU, which spreads it over threads")]
    Lanes(String),
    /// Written by hand, in another language or for a device alone.
    #[error(
        "the raw kernel `{kernel}` is not written in {language}, and has no meaning; give it a source in that language, or a meaning"
    )]
    Raw {
        /// The kernel.
        kernel: String,
        /// What was needed.
        language: &'static str,
    },
    /// What a person wrote is not what it is called as.
    #[error("the raw kernel `{kernel}`: {why}")]
    RawSource {
        /// The kernel.
        kernel: String,
        /// What is wrong with it.
        why: String,
    },
    /// The kernel holds checks.
    #[error("kernel `{0}` holds `check`s; make them code with the pass `report` first")]
    Check(String),
    /// Array operations in a kernel.
    #[error("kernel `{0}` holds array operations; lower the program first")]
    Level(String),
    /// More buffers and uniforms than a launch can pass.
    #[error(
        "kernel `{kernel}`: {count} buffers and run-time values are passed, {language} allows {limit}; give back fewer results at once"
    )]
    Buffers {
        /// The kernel.
        kernel: String,
        /// The language.
        language: &'static str,
        /// What it wants.
        count: usize,
        /// What there is.
        limit: usize,
    },
    /// More memory than a block has.
    #[error(
        "kernel `{kernel}`: a block wants {bytes} bytes of shared memory, {language} has {limit}; make blocks smaller"
    )]
    SharedMemory {
        /// The kernel.
        kernel: String,
        /// The language.
        language: &'static str,
        /// What it wants.
        bytes: u64,
        /// What there is.
        limit: u64,
    },
    /// The kernel is written for threads of a block.
    #[error("kernel `{0}` is written for a block of threads; lower it for the CPU first")]
    Threads(String),
    /// Lanes disagree where they must agree.
    #[error("%{} differs between lanes where one value is needed", .0.0)]
    Varying(Id),
    /// The target lacks a feature.
    #[error(
        "kernel `{kernel}` needs {what}, which this adapter does not have ({interface} {feature}). {remedy}, or run on the device \"cpu\""
    )]
    Lacks {
        /// Its name.
        kernel: String,
        /// In words.
        what: String,
        /// What has the feature, such as `wgpu feature`.
        interface: &'static str,
        /// The feature's name there.
        feature: &'static str,
        /// What to do instead.
        remedy: &'static str,
    },
    /// The language has it only as an extension.
    #[error(
        "kernel `{kernel}` needs {what}, which {language} does not have. Use 32-bit numbers, ask for the extension {extension}, which Vulkan \
         devices have and browsers have not, or build for the target c"
    )]
    Extension {
        /// Its name.
        kernel: String,
        /// The language.
        language: &'static str,
        /// In words.
        what: String,
        /// What to ask for.
        extension: &'static str,
    },
    /// The operator has no expansion for the type yet.
    #[error("kernel `{kernel}`: `{}` on {ty} has no form on GPUs yet. Compute it in f32, or run on the device \"cpu\"", .operator.name())]
    Operator {
        /// The kernel's name.
        kernel: String,
        /// Which.
        operator: Operator,
        /// On what.
        ty: Ty,
    },
    /// The kernel has a form that GPUs do not run.
    #[error("kernel `{kernel}` has {what}; lower the program for a GPU first")]
    Form {
        /// Its name.
        kernel: String,
        /// In words.
        what: String,
    },
    /// The verifier or naga's validator refuse what was made. The backend is wrong, not the caller.
    #[error("the module of kernel `{kernel}` is not valid: {why}. This is a bug in Słyż")]
    Invalid {
        /// Its name.
        kernel: String,
        /// What naga says.
        why: String,
    },
}
