//! What can go wrong between a program and its results. Every message says what to do about it.

use slyz_sir::back::EmitError;
#[cfg(feature = "openvino")]
use slyz_sir::back::graph::GraphError;
use slyz_sir::interp::kernel::KernelError;
use slyz_sir::interp::program::InterpError;
use slyz_sir::launch::Fault;
use slyz_sir::types::Ty;
use slyz_sir::verify::VerifyError;
use std::path::PathBuf;
use std::sync::Arc;

/// A failure to find a device, to compile a program, or to run it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No device has that name.
    #[error("there is no device \"{name}\"; this build has: {}. Ask for one of these, or unset SLYZ_DEVICE", .available.join(", "))]
    UnknownDevice {
        /// What was asked for.
        name: String,
        /// What there is.
        available: Vec<String>,
    },
    /// An environment variable says something that there is not.
    #[error("{variable}: {why}. Set it to one of these, or unset it")]
    Setting {
        /// The variable.
        variable: &'static str,
        /// What is wrong.
        why: String,
    },
    /// The program breaks a rule of the verifier.
    #[error("the program is not valid: {0}. Build programs with a front end or with slyz_sir::build")]
    Program(#[from] VerifyError),
    /// The plan of the program cannot be written as C.
    #[error("the program cannot be compiled for the CPU: {0}")]
    Emit(#[source] EmitError),
    /// The C compiler does not exist or cannot be executed.
    #[error(
        "no C compiler: \"{command}\" cannot be run ({why}). Install gcc or clang, or name one in SLYZ_CC; the device \"interpreter\" needs none"
    )]
    NoCompiler {
        /// What was tried.
        command: String,
        /// What the system said.
        why: String,
    },
    /// The C compiler ran and refused.
    #[error(
        "the C compiler failed ({status}) on \"{command}\":\n{stderr}\nThe source is kept at {}. Set SLYZ_CC to another compiler (gcc 9 or clang 11, or newer)", .file.display()
    )]
    CompilerFailed {
        /// The whole command line.
        command: String,
        /// Exit status, or why it could not be started.
        status: String,
        /// The beginning of what it wrote.
        stderr: String,
        /// The source it was given.
        file: PathBuf,
    },
    /// The C compiler did not come to an end in its time and was killed.
    #[error(
        "the C compiler did not end in {seconds} s and was killed: \"{command}\". Set SLYZ_CC_SECONDS to more if it is only slow, or SLYZ_CC to another compiler; the device \"interpreter\" needs none"
    )]
    CompilerHangs {
        /// The whole command line.
        command: String,
        /// How long it was waited for.
        seconds: f64,
    },
    /// A folder or file that compiling needs cannot be had.
    #[error("cannot write {}: {why}. Free some space, or set TMPDIR to a folder that can be written", .path.display())]
    Temporary {
        /// Which.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// The disk cache is not used. Calls work without it; this is what the warning says.
    #[error("the cache folder {} is not used: {why}", .path.display())]
    Cache {
        /// The folder.
        path: PathBuf,
        /// Why not, and the cure.
        why: String,
    },
    /// What the compiler built cannot be loaded.
    #[error("the compiled code cannot be loaded: {why}. Check that SLYZ_CC builds for this machine")]
    Load {
        /// What the loader said.
        why: String,
    },
    /// A bundle of compiled code cannot be made, or read.
    #[error("the bundle is not usable: {why}. Build the program anew")]
    Bundle {
        /// Why not.
        why: String,
    },
    /// Memory that the call needs cannot be had.
    #[error("out of memory: {bytes} bytes for {what}. Call with smaller sizes, or free tensors that are not needed")]
    OutOfMemory {
        /// What for.
        what: String,
        /// How much.
        bytes: u64,
    },
    /// More than the index type or the address space can hold.
    #[error("{what} is too large for this machine: {why}. Call with smaller sizes")]
    TooLarge {
        /// What.
        what: String,
        /// Which limit.
        why: String,
    },
    /// A loop went on past the bound that was set.
    #[error(
        "the loop {name} did not end within {most} turns, the bound that SLYZ_MAX_TURNS sets. Its condition may hold for ever; \
         if not, set a larger bound or none"
    )]
    Turns {
        /// The loop.
        name: String,
        /// The bound.
        most: u64,
    },
    /// Too many or too few arguments.
    #[error("the function \"{name}\" takes {expected} arguments, not {found}")]
    ArgumentCount {
        /// The function.
        name: String,
        /// How many it takes.
        expected: usize,
        /// How many came.
        found: usize,
    },
    /// An argument does not fit its parameter.
    #[error("argument {} of \"{name}\": {problem}", .index + 1)]
    Argument {
        /// The function.
        name: String,
        /// Counted from 0 here, from 1 in the message.
        index: usize,
        /// What is wrong with it.
        problem: ArgumentProblem,
    },
    /// The values of the size variables do not match their declarations.
    #[error("the sizes of \"{name}\": {why}")]
    Sizes {
        /// The function.
        name: String,
        /// What is wrong, and the cure.
        why: String,
    },
    /// The sizes are known, and the function is not defined on them.
    #[error("\"{name}\" needs {condition}, but here {values}")]
    Requirement {
        /// The function.
        name: String,
        /// What must hold.
        condition: String,
        /// What the sizes are.
        values: String,
    },
    /// A plan breaks its own rules. The lowering is wrong, not the caller.
    #[error(
        "the plan of \"{name}\" is not valid: {why}. This is a bug in Słyż; the device \"interpreter\" may still run it"
    )]
    Plan {
        /// The function.
        name: String,
        /// The rule.
        why: String,
    },
    /// A kernel cannot be written for the adapter.
    #[cfg(any(feature = "cuda", feature = "hip", feature = "opencl", feature = "shaders"))]
    #[error("the program cannot be compiled for the GPU: {0}")]
    Shader(#[source] EmitError),
    /// An array cannot be shared with another library.
    #[error("the array cannot be shared by DLPack: {why}")]
    NotLent {
        /// Why, and the cure.
        why: String,
    },
    /// An array cannot be shared with cudarc.
    #[cfg(feature = "cudarc")]
    #[error("the array cannot be shared with cudarc: {why}")]
    NotShared {
        /// Why, and the cure.
        why: String,
    },
    /// CUDA is not to be had here.
    #[cfg(feature = "cuda")]
    #[error("no CUDA: {what}: {why}. The devices \"wgpu\" and \"cpu\" need none of it")]
    NoCuda {
        /// What is missing.
        what: String,
        /// What was found, and the cure.
        why: String,
    },
    /// HIP is not to be had here.
    #[cfg(feature = "hip")]
    #[error("no HIP: {what}: {why}. The devices \"wgpu\" and \"cpu\" need none of it")]
    NoHip {
        /// What is missing.
        what: String,
        /// What was found, and the cure.
        why: String,
    },
    /// OpenCL is not to be had here.
    #[cfg(feature = "opencl")]
    #[error("no OpenCL: {what}: {why}. The devices \"wgpu\" and \"cpu\" need none of it")]
    NoOpenCl {
        /// What is missing.
        what: String,
        /// What was found, and the cure.
        why: String,
    },
    /// OpenVINO is not to be had here.
    #[cfg(feature = "openvino")]
    #[error("no OpenVINO: {what}: {why}. The devices \"wgpu\" and \"cpu\" need none of it")]
    NoOpenVino {
        /// What is missing.
        what: String,
        /// What was found, and the cure.
        why: String,
    },
    /// A program that has no model, or a kernel by hand.
    #[cfg(feature = "openvino")]
    #[error("the device \"openvino\" does not take it: {0}. The device \"cpu\" does")]
    Model(Box<GraphError>),
    /// OpenVINO does not do what it is asked.
    #[cfg(feature = "openvino")]
    #[error("OpenVINO refused {what}: {why}. Use the device \"cpu\"")]
    OpenVino {
        /// What was asked of it.
        what: String,
        /// What it said.
        why: String,
    },
    /// No adapter does what is asked.
    #[cfg(feature = "wgpu")]
    #[error(
        "no GPU adapter: {why}. Install a driver for Vulkan, Metal or DirectX 12 (mesa-vulkan-drivers and libvulkan1 have one without a GPU), or use the device \"cpu\""
    )]
    NoAdapter {
        /// What was found instead.
        why: String,
    },
    /// The GPU stopped working: it was reset, unplugged, or its driver gave up.
    #[cfg(any(feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu"))]
    #[error("the GPU was lost: {why}. Start the program again, or use the device \"cpu\"")]
    DeviceLost {
        /// What the driver said.
        why: String,
    },
    /// The driver refused something that should be right.
    #[cfg(any(feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu"))]
    #[error("the GPU driver refused {what}: {why}. Update the driver, or use the device \"cpu\"")]
    Driver {
        /// What was asked of it.
        what: String,
        /// What it said.
        why: String,
    },
    /// An argument of a launch does not fit its parameter.
    #[error("argument `{parameter}` of kernel `{kernel}`: {problem}")]
    Parameter {
        /// The kernel.
        kernel: String,
        /// Its parameter.
        parameter: String,
        /// What is wrong with the argument.
        problem: ArgumentProblem,
    },
    /// The threads of a launch do not fit the kernel or the device.
    #[error("the threads of kernel `{kernel}`: {why}")]
    Threads {
        /// The kernel.
        kernel: String,
        /// What is wrong, and the cure.
        why: String,
    },
    /// A kernel went outside a tensor or an array. All other accesses of the launch were done.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
    /// A kernel that breaks a rule of the verifier.
    #[error("the kernel is not valid: {0}. This is a bug in Słyż, or the kernel was not made by a front end")]
    Kernel(VerifyError),
    /// A launch that the interpreter stops.
    #[error("the interpreter: {0}")]
    Stopped(Box<KernelError>),
    /// The interpreter has no answer.
    #[error("the interpreter: {0}")]
    Interpreter(#[from] InterpError),
    /// A call that waited until its result was read.
    #[error("a call that waited for this: {why}")]
    Later {
        /// What went wrong. It is the same for all its results.
        #[source]
        why: Arc<Error>,
    },
}

/// What is wrong with an argument.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentProblem {
    /// An array came for a scalar parameter.
    #[error("the parameter is one {0}; pass a scalar")]
    NotScalar(Ty),
    /// A scalar came for an array parameter.
    #[error("the parameter is an array of {0}; pass an array")]
    NotArray(Ty),
    /// Another element type.
    #[error("its elements are {found}, the parameter's are {expected}; convert it first")]
    Type {
        /// The parameter's.
        expected: Ty,
        /// The argument's.
        found: Ty,
    },
    /// Another number of axes.
    #[error("it has {found} axes, the parameter has {expected}")]
    Rank {
        /// The parameter's.
        expected: usize,
        /// The argument's.
        found: usize,
    },
    /// An axis of another extent.
    #[error("axis {axis} has extent {found}, but {size} is {expected} in this call; pass arrays whose sizes agree")]
    Extent {
        /// Outermost is 0.
        axis: usize,
        /// The extent, as the function spells it.
        size: String,
        /// Its value.
        expected: u64,
        /// The argument's.
        found: u64,
    },
    /// Data that its own shape does not describe.
    #[error("its shape needs {expected} bytes, its data has {found}")]
    Bytes {
        /// By the shape.
        expected: u64,
        /// What came.
        found: u64,
    },
    /// An argument that is only read, for a parameter that is written.
    #[error("the kernel writes it; pass it to be written, as `&mut`")]
    ReadOnly,
    /// A `bool` that is neither.
    #[error("element {at} is a bool with the byte {byte}; only 0 and 1 are allowed")]
    Bool {
        /// Row-major.
        at: usize,
        /// The byte.
        byte: u8,
    },
}
