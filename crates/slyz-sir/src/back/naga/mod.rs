//! Kernels as `naga` modules: WGSL and SPIR-V for every device that wgpu reaches.
//!
//! [`emit`] builds the module in naga's own arenas and has it validated; [`wgsl`] and [`spirv`] write it out. Operators mean
//! what the table says: where naga's own differ (NaN in `min`, ties in `round`, what the precision of `exp` may be) the
//! table's meaning is written out, from the [`expand`](crate::expand) module where it is long.
//!
//! | SIR | in registers | in a buffer |
//! |---|---|---|
//! | `i8 i16`, `u8 u16` | `i32`, `u32`, kept in range after every operator | packed into words of 32 bits |
//! | `bool` | `bool` | a byte of a word |
//! | `f16 bf16` | `f32`, rounded after every operator | packed |
//! | `i64`, `u64`, `f64` | the same, where the target has them | the same |
//! | `i64`, where the target has no 64-bit integers | `i32` | two words, of which the lower one counts |
//!
//! Writes to packed elements are atomic on their words: threads that share a word do not disturb each other.
//!
//! An `i64` that is known to fit 32 bits, or of which only the low word counts, is held in them. How large arrays may be for
//! that, the device says ([`Target::narrow`]).

mod casts;
mod control;
mod ends;
mod exact;
mod faults;
mod floats;
mod memory;
mod raw;
mod scalars;
mod turns;
mod writer;

pub use floats::FloatControls;
pub use turns::{MOST_TURNS, certain_turns, most_turns};

use super::EmitError;
use crate::choices::Precision;
use crate::kernel::Kernel;
use crate::size::Size;
use crate::types::Ty;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};

/// What the device that runs the module can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Target {
    /// It has 64-bit integers. Without them `i64` is computed in 32 bits, which is right for positions of arrays of less than
    /// 2^31 elements; `u64` is an error.
    pub int64: bool,
    /// It has 64-bit integer atomics.
    pub atomic64: bool,
    /// It has `f64`.
    pub float64: bool,
    /// It has subgroup operations.
    pub subgroups: bool,
    /// Its `fma` of `f32` rounds once. Otherwise, and on `f64`, `fma` is made of other operations.
    pub fused: bool,
    /// Its division of `f32` gives the nearest number. Otherwise it is made to, where `fma` is there for it.
    pub exact_division: bool,
    /// Its square root of an `f32` is the nearest number. Otherwise it is made so, where `fma` is there for it.
    pub exact_root: bool,
    /// Its conversions between `f32` and `f16`s in words are as the table says: subnormal numbers are kept, and the nearest is taken, of two the
    /// even one. Otherwise, and where bits are asked for, they are made of integers.
    pub exact_halves: bool,
    /// Its compiler may reorder or contract float arithmetic. Then results are hidden from it, which costs an integer operation
    /// each.
    pub reassociates: bool,
    /// Every array of the launch has less than 2^31 elements, and every size that the code mentions, with the variables in it, is
    /// less than 2^31, so that positions fit 32 bits. Those that are seen to are 32-bit numbers then; the others, and data, stay what they are.
    pub narrow: bool,
    /// Its driver ends loops after [`MOST_TURNS`], and the kernel may turn more often: code of loops is there several times in a
    /// turn then.
    pub long_loops: bool,
    /// What SPIR-V may ask of float arithmetic.
    pub floats: FloatControls,
    /// How close results are to the table. A kernel may ask for another.
    pub precision: Precision,
}

impl Target {
    /// As much of the target as the module of a kernel hangs on: the modules of targets that agree in it are the same, word by word, and
    /// where one of them runs, the other does.
    pub fn of_kernel(&self, kernel: &Kernel) -> Target {
        let precision = kernel.precision.unwrap_or(self.precision);
        let exact = precision == Precision::Exact;
        // At `Exact` what is made of other operations may be made of these.
        let float64 = self.float64 && (exact || kernel.mentions(Ty::F64));
        let in_64_bits = kernel.memories.iter().any(|memory| memory.ty.bytes() == 8);
        let halves = precision == Precision::Table && kernel.mentions(Ty::F16);
        Target {
            atomic64: self.atomic64 && in_64_bits,
            float64,
            exact_division: self.exact_division && exact,
            exact_root: self.exact_root && exact,
            exact_halves: self.exact_halves && halves,
            floats: self.floats.at(precision).of_widths([true, float64]),
            precision,
            ..*self
        }
    }
}

/// What a launch passes to a kernel, and what is known of it without its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Sizes that the launch must evaluate and pass.
    pub extents: Vec<Size>,
    /// Bytes of the uniform buffer.
    pub uniform_bytes: u64,
    /// Every loop is seen to end whatever the data are.
    pub ends: bool,
    /// A person wrote it: its uniform buffer has the scalars first, and words of 32 bits.
    pub raw: bool,
}

impl Interface {
    /// Of a verified kernel: that of its module.
    pub fn of(kernel: &Kernel) -> Interface {
        match &kernel.raw {
            Some(code) => raw::interface(kernel, code),
            None => writer::interface(kernel),
        }
    }
}

/// A kernel as a module with one entry point, named `main`.
///
/// Group 0 has a storage buffer for each global and constant memory of the kernel, in order, and behind them a uniform buffer:
/// the values of [`Interface::extents`], then the bits of the kernel's scalar parameters, each a little-endian 64-bit word, then
/// at least one word of 0 up to a multiple of 16 bytes.
#[derive(Clone, Debug)]
pub struct Module {
    /// What naga works with.
    pub module: naga::Module,
    /// What naga's validator found out.
    pub info: ModuleInfo,
    /// What a launch passes to it.
    pub interface: Interface,
    /// What its SPIR-V asks of float arithmetic.
    pub floats: FloatControls,
    /// May drivers contract products and sums?
    pub contracts: bool,
}

/// Writes a verified kernel as a module.
///
/// ```
/// use slyz_sir::back::naga::{Target, emit, wgsl};
/// use slyz_sir::lower::gpu::{Machine, lower};
/// let program = slyz_sir::text::parse_program(
///     "program twice<N>(%x: f32[N]) -> (f32[N]) {
///        %y: f32[N] = tabulate [N] |%i: i64| { %a: f32 = at %x[%i]
///          %b: f32 = add %a, %a
///          yield %b }
///        return %y }",
/// )?;
/// let plan = lower(&program, &Machine::webgpu());
/// let module = emit(&plan.kernels[0], &Target::default())?;
/// assert!(wgsl(&module)?.contains("@compute @workgroup_size(256, 1, 1)"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn emit(kernel: &Kernel, target: &Target) -> Result<Module, EmitError> {
    if let Some(code) = &kernel.raw {
        return raw::module(kernel, code, target);
    }
    let precision = kernel.precision.unwrap_or(target.precision);
    let target = &Target { precision, ..*target };
    let words = crate::expand::float_atomics(kernel);
    let interface = Interface::of(kernel);
    let module = writer::write(words.as_ref().unwrap_or(kernel), &interface, target)?;
    let info = validate(&module, target).map_err(|why| EmitError::Invalid { kernel: kernel.name.clone(), why })?;
    let contracts = precision == Precision::Native;
    let floats = target.floats.at(precision);
    Ok(Module { module, info, interface, floats, contracts })
}

fn validate(module: &naga::Module, target: &Target) -> Result<ModuleInfo, String> {
    // Of `f16` in words, which every target has.
    let mut capabilities = Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    capabilities.set(Capabilities::SHADER_INT64, target.int64);
    capabilities.set(Capabilities::SHADER_INT64_ATOMIC_ALL_OPS, target.atomic64);
    capabilities.set(Capabilities::FLOAT64, target.float64);
    capabilities.set(Capabilities::SUBGROUP | Capabilities::SUBGROUP_BARRIER, target.subgroups);
    let mut validator = Validator::new(ValidationFlags::all(), capabilities);
    validator.subgroup_stages(naga::valid::ShaderStages::COMPUTE);
    validator.subgroup_operations(naga::valid::SubgroupOperationSet::all());
    validator.validate(module).map_err(|error| {
        let mut text = error.as_inner().to_string();
        let mut source = std::error::Error::source(error.as_inner());
        while let Some(error) = source {
            text += &format!(": {error}");
            source = error.source();
        }
        text
    })
}

/// A module of WGSL that [`wgsl`] wrote. Some conversions of constants naga writes and does not read.
pub fn read(text: &str) -> Result<naga::Module, String> {
    naga::front::wgsl::parse_str(text).map_err(|error| error.emit_to_string(text))
}

/// The module as WGSL.
pub fn wgsl(module: &Module) -> Result<String, EmitError> {
    naga::back::wgsl::write_string(&module.module, &module.info, naga::back::wgsl::WriterFlags::empty())
        .map_err(|error| invalid(module, &error))
}

/// The module as words of SPIR-V 1.3.
///
/// Float arithmetic in it is decorated `NoContraction`, so that drivers neither contract nor reassociate it; at `Native` they may. Nothing is checked
/// at run time: positions of a verified kernel are inside, and divisors are made safe by the code itself. Only loops that might
/// not end get naga's bound, since a compiler may draw any conclusion from an endless one.
pub fn spirv(module: &Module) -> Result<Vec<u32>, EmitError> {
    let unchecked = naga::proc::BoundsCheckPolicy::Unchecked;
    let options = naga::back::spv::Options {
        lang_version: (1, 3),
        flags: naga::back::spv::WriterFlags::DEBUG,
        bounds_check_policies: naga::proc::BoundsCheckPolicies {
            index: unchecked,
            buffer: unchecked,
            image_load: unchecked,
            binding_array: unchecked,
        },
        zero_initialize_workgroup_memory: naga::back::spv::ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: !module.interface.ends,
        emit_int_div_checks: false,
        ..Default::default()
    };
    let words = naga::back::spv::write_vec(&module.module, &module.info, &options, None);
    words
        .map(|words| if module.contracts { words } else { exact::decorated(&words) })
        .map(|words| floats::controlled(&words, module.floats))
        .map_err(|error| invalid(module, &error))
}

fn invalid(module: &Module, error: &dyn std::error::Error) -> EmitError {
    let kernel = module.module.entry_points.first().map(|e| e.name.clone()).unwrap_or_default();
    EmitError::Invalid { kernel, why: error.to_string() }
}
