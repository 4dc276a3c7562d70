//! CUDA C++ and HIP, a [`Dialect`] of the C-like writer.
//!
//! Half precision is held in `float` and lies in memory as 16 bits, so that no header of NVIDIA's is needed. Code is narrow, with
//! positions of 32 bits, or wide.
//!
//! Where arrays of a block are more than a file may declare, they are parts of one array whose size a launch gives ([`asked_shared_bytes`]):
//!
//! ```text
//! extern __shared__ __align__(16) unsigned char shared_memory[];
//! float* const tile = (float*)shared_memory;
//! float* const next = (float*)(shared_memory + 65536);
//! ```
//!
//! HIP is the same language with another library: warps are wavefronts of 64 or 32 lanes, of which all that are active take part, atomics are clang's own,
//! and there is no PTX.

use super::EmitError;
use super::clike::{Cell, Description, Dialect, Helpers, PlaceName, SharedSlot, helpers as in_c};
use super::halves::{bits_of, is_half, is_packed, rounded, value_of};
use super::library::Library;
use super::tree::{Infix, Prefix, Tree};
use crate::choices::Precision;
use crate::code::{AtomicOp, Fragment, Scope, SubgroupOp};
use crate::expand;
use crate::kernel::{Kernel, SHARED_ALIGNMENT, Space};
use crate::lower::gpu::{MOST_SHARED, Machine};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};

/// In the order of [`Ty`].
const TYPES: [&str; 13] = [
    "bool",
    "signed char",
    "short",
    "int",
    "long long",
    "unsigned char",
    "unsigned short",
    "unsigned",
    "unsigned long long",
    "float",
    "float",
    "float",
    "double",
];

/// Functions in single precision with an instruction of their own, and those that are further off than the table allows.
const INTRINSICS: [&str; 4] = ["exp", "log", "log2", "log10"];
const COARSE: [&str; 2] = ["pow", "hypot"];

/// What CUDA and HIP lack.
/// Shared memory of blocks that have much of it.
const MUCH_SHARED: u64 = 32 << 10;
/// Arrays of a kernel that has few: what it reads, what it writes, and what its blocks tell each other.
const FEW_ARRAYS: usize = 4;

const CUDA: Library =
    Library(&[include_str!("library.cu"), include_str!("shared.cu"), include_str!("redux.cu"), include_str!("mma.cu")]);
const HIP_64: Library = Library(&["// WAVE\n#define WAVE 64", include_str!("library.hip"), include_str!("shared.cu")]);
const HIP_32: Library = Library(&["// WAVE\n#define WAVE 32", include_str!("library.hip"), include_str!("shared.cu")]);

/// Words of C++ and CUDA that are no names.
const RESERVED: &str = include_str!("words.txt");

/// The array that a launch gives the size of.
const SHARED: &str = "shared_memory";

const AXES: [&str; 3] = ["x", "y", "z"];

/// The dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cuda {
    /// How precise floats are.
    pub precision: Precision,
    /// Positions fit 32 bits.
    pub narrow: bool,
    /// Whose GPUs it is for.
    pub vendor: Vendor,
}

/// Whose GPUs code is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// CUDA C++.
    Nvidia,
    /// HIP, with wavefronts of 64 lanes (CDNA) or 32 (RDNA).
    Amd {
        /// Are there 64?
        wide_waves: bool,
    },
}

impl Vendor {
    /// The least that its GPUs have.
    pub fn machine(self) -> Machine {
        match self {
            Vendor::Nvidia => Machine::cuda(),
            Vendor::Amd { wide_waves } => Machine::hip(if wide_waves { 64 } else { 32 }),
        }
    }

    fn library(self) -> Library {
        match self {
            Vendor::Nvidia => CUDA,
            Vendor::Amd { wide_waves: true } => HIP_64,
            Vendor::Amd { wide_waves: false } => HIP_32,
        }
    }

    /// What a file begins with.
    fn include(self) -> &'static str {
        match self {
            Vendor::Nvidia => "",
            Vendor::Amd { .. } => "#include <hip/hip_runtime.h>\n\n",
        }
    }

    fn is_amd(self) -> bool {
        self != Vendor::Nvidia
    }
}

/// The file of a kernel, and what a launch of it needs to know.
///
/// ```
/// use slyz_sir::{back::cuda::{self, Vendor}, choices::Precision, text::parse_kernel};
/// let kernel = parse_kernel("kernel negate<n>() grid [ceil(n / 64), 1, 1] block [64, 1, 1] {
///   global read input: f32[n]  global write output: f32[n]
///   %i: i64 = global.x  %n: i64 = extent n  %inside: bool = lt %i, %n
///   if %inside { %x: f32 = load input[%i]  %y: f32 = neg %x  store output[%i], %y } else {}
/// }")?;
/// let dialect = cuda::Cuda { precision: Precision::Native, narrow: true, vendor: Vendor::Nvidia };
/// let (text, _) = cuda::emit(&kernel, &dialect)?;
/// assert!(text.contains("extern \"C\" __global__ void __launch_bounds__(64) negate("));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn emit(kernel: &Kernel, dialect: &Cuda) -> Result<(String, Description), EmitError> {
    let (text, mut descriptions) = emit_all(&[kernel], dialect)?;
    let Some(description) = descriptions.pop() else {
        return Err(EmitError::Form { kernel: kernel.name.clone(), what: "no description".to_string() });
    };
    Ok((text, description))
}

/// The file of some kernels.
pub fn emit_all(kernels: &[&Kernel], dialect: &Cuda) -> Result<(String, Vec<Description>), EmitError> {
    let (text, descriptions) = super::clike::emit(dialect, kernels)?;
    let include = dialect.vendor.include();
    let library = dialect.vendor.library();
    Ok((format!("{include}{}{text}", library.mentioned_by(&text)), descriptions))
}

/// The shared memory that a launch of the kernel has to ask for, as the file cannot: 0 unless it is more than every GPU gives to any block.
/// The driver wants to be told before the first launch (`CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`).
pub fn asked_shared_bytes(d: &Description) -> u64 {
    if shared_bytes(d) <= Machine::cuda().shared_bytes {
        return 0;
    }
    let last = shared_starts(d).zip(&d.shared).last();
    last.map_or(0, |(start, shared)| start + shared_size(shared))
}

/// Where memories of a block begin in the one that a launch gives.
fn shared_starts(d: &Description) -> impl Iterator<Item = u64> {
    d.shared.iter().scan(0, |end, shared| {
        let start = *end;
        *end += shared_size(shared).next_multiple_of(SHARED_ALIGNMENT);
        Some(start)
    })
}

/// The bytes of all memories of a block.
fn shared_bytes(d: &Description) -> u64 {
    d.shared.iter().map(shared_size).sum()
}

/// The bytes of a memory of a block.
fn shared_size(shared: &SharedSlot) -> u64 {
    elements(shared) * shared.ty.bytes() as u64
}

/// Words are read four at a time.
fn aligned(shared: &SharedSlot) -> String {
    if shared.ty == Ty::U32 { format!("__align__({SHARED_ALIGNMENT}) ") } else { String::new() }
}

/// Arrays have an element at least.
fn elements(shared: &SharedSlot) -> u64 {
    Size::product(&shared.shape).constant().unwrap_or(1).max(1)
}

/// What lies in memory.
fn stored(ty: Ty) -> &'static str {
    if is_half(ty) { "unsigned short" } else { TYPES[ty as usize] }
}

impl Dialect for Cuda {
    fn language(&self) -> &'static str {
        if self.vendor.is_amd() { "HIP" } else { "CUDA" }
    }

    fn head(&self) -> &'static str {
        ""
    }

    fn scalar(&self, ty: Ty) -> Option<&'static str> {
        Some(TYPES[ty as usize])
    }

    fn remedy(&self, _: Ty) -> &'static str {
        "use another type"
    }

    fn literal(&self, value: Scalar, negative: bool, digits: &str) -> Tree {
        in_c::number(value, negative, digits, ["LL", "ULL"])
    }

    fn special(&self, value: Scalar, _: &Helpers) -> Tree {
        let infinity = ["__int_as_float(0x7f800000)", "__longlong_as_double(0x7ff0000000000000LL)"];
        let nan = ["__int_as_float(0x7fc00000)", "__longlong_as_double(0x7ff8000000000000LL)"];
        in_c::beyond_numbers(value, [infinity, nan])
    }

    fn rounds(&self, ty: Ty) -> bool {
        is_half(ty)
    }

    fn cast(&self, from: Ty, to: Ty, x: Tree, _: &Helpers) -> Tree {
        if !is_half(to) || from == to {
            return Tree::cast(TYPES[to as usize], x);
        }
        let single = match from {
            Ty::F64 => Tree::call("odd_float", [x]),
            Ty::I64 | Ty::U64 => {
                let whole = Tree::cast(TYPES[from as usize], x);
                Tree::call("odd_float", [Tree::call("odd_double", [whole])])
            }
            Ty::I32 | Ty::U32 => Tree::call("odd_float", [Tree::cast("double", x)]),
            _ => Tree::cast("float", x),
        };
        rounded(to, single)
    }

    fn bits(&self, from: Ty, to: Ty, x: Tree) -> Tree {
        let name = TYPES[to as usize];
        match (from, to) {
            (Ty::F16 | Ty::BF16, Ty::F16 | Ty::BF16) => value_of(to, bits_of(from, x)),
            (Ty::F16 | Ty::BF16, _) => Tree::cast(name, bits_of(from, x)),
            (_, Ty::F16 | Ty::BF16) => value_of(to, Tree::cast("unsigned short", x)),
            (Ty::F32, Ty::I32) => Tree::call("__float_as_int", [x]),
            (Ty::F32, _) => Tree::call("__float_as_uint", [x]),
            (Ty::I32, _) => Tree::call("__int_as_float", [x]),
            (Ty::U32, _) => Tree::call("__uint_as_float", [x]),
            (Ty::F64, _) => Tree::cast(name, Tree::call("__double_as_longlong", [x])),
            _ => Tree::call("__longlong_as_double", [Tree::cast("long long", x)]),
        }
    }

    fn space(&self, _: Space) -> &'static str {
        ""
    }

    fn inline(&self) -> &'static str {
        "__device__ inline"
    }

    fn signature(&self, d: &Description) -> String {
        let params = in_c::parameters(d, |ty, name| format!("{ty}* __restrict__ {name}"), stored);
        let threads: u32 = d.block.iter().product();
        // While one block reads, others compute: registers are shared out so that a core has two at work of the large ones that keep rows in
        // registers, and three of those that keep much of few arrays in shared memory, as sorts of keys do. (Sorts of pairs have more in
        // registers, which would spill.) Of those that multiply fragments there are 16 subgroups. AMD's second number means
        // something else.
        let at_work = match threads {
            _ if d.multiplies => Some(512 / threads),
            512 => Some(2),
            256 if shared_bytes(d) > MUCH_SHARED && d.buffers.len() <= FEW_ARRAYS => Some(3),
            _ => None,
        };
        let bounds = match at_work.filter(|_| !self.vendor.is_amd()) {
            Some(blocks) => format!("{threads}, {blocks}"),
            None => threads.to_string(),
        };
        let name = &d.name;
        format!("extern \"C\" __global__ void __launch_bounds__({bounds}) {name}(\n    {params}\n)")
    }

    fn prologue(&self, d: &Description, mentions: &dyn Fn(&str) -> bool) -> Vec<String> {
        let mut lines = vec![];
        let asked = asked_shared_bytes(d);
        if asked > 0 {
            lines.push(format!("extern __shared__ __align__({SHARED_ALIGNMENT}) unsigned char {SHARED}[];"));
        }
        for (shared, start) in d.shared.iter().zip(shared_starts(d)) {
            let (ty, name) = (stored(shared.ty), &shared.name);
            lines.push(match start {
                _ if asked == 0 => format!("__shared__ {}{ty} {name}[{}];", aligned(shared), elements(shared)),
                0 => format!("{ty}* const {name} = ({ty}*){SHARED};"),
                start => format!("{ty}* const {name} = ({ty}*)({SHARED} + {start});"),
            });
        }
        if d.places.contains(&PlaceName::Global) {
            for (dimension, axis) in AXES.into_iter().enumerate().take(d.rank.clamp(1, 3)) {
                let block = d.block[dimension];
                let name = global(dimension, d.rank);
                if !mentions(&name) {
                    continue;
                }
                lines.push(match block {
                    1 => format!("const unsigned {name} = blockIdx.{axis};"),
                    _ => format!("const unsigned {name} = blockIdx.{axis} * {block} + threadIdx.{axis};"),
                });
            }
        }
        lines
    }

    fn place(&self, place: PlaceName, dimension: u8, rank: usize) -> Tree {
        let dimension = usize::from(dimension.min(2));
        let of = |name: &str| Tree::member(Tree::name(name), AXES[dimension]);
        match place {
            PlaceName::Global => Tree::name(global(dimension, rank)),
            PlaceName::Local => of("threadIdx"),
            PlaceName::Block => of("blockIdx"),
            PlaceName::GridDim => of("gridDim"),
            PlaceName::Lane => Tree::call("lane_id", []),
            PlaceName::SubgroupSize if self.vendor.is_amd() => Tree::name("WAVE"),
            PlaceName::SubgroupSize => Tree::name("32u"),
        }
    }

    fn uniform(&self, uniform: &super::clike::Uniform) -> Tree {
        value_of(uniform.ty, Tree::name(&uniform.name))
    }

    fn read(&self, cell: &Cell, element: Tree, _: &Helpers) -> Tree {
        match cell.memory.ty {
            // Which NaN it is nobody asks.
            Ty::F16 if is_packed(cell) && self.precision != Precision::Exact && !self.vendor.is_amd() => {
                Tree::call("half_number", [element])
            }
            ty if is_packed(cell) => value_of(ty, element),
            _ => element,
        }
    }

    fn write(&self, cell: &Cell, element: Tree, value: Tree, _: &Helpers) -> String {
        element.assignment(&self.packed(cell, value))
    }

    fn packed(&self, cell: &Cell, value: Tree) -> Tree {
        if is_packed(cell) { bits_of(cell.memory.ty, value) } else { value }
    }

    fn vector(&self, ty: Ty, count: usize) -> Option<&'static str> {
        Some(match (ty, count) {
            (Ty::F32, 4) => "float4",
            (Ty::F32, 2) => "float2",
            (Ty::I32, 4) => "int4",
            (Ty::I32, 2) => "int2",
            (Ty::U32, 4) => "uint4",
            (Ty::U32, 2) => "uint2",
            (Ty::F16 | Ty::BF16, 4) => "ushort4",
            (Ty::F16 | Ty::BF16, 2) => "ushort2",
            (Ty::F64, 2) => "double2",
            (Ty::I64, 2) => "longlong2",
            (Ty::U64, 2) => "ulonglong2",
            _ => return None,
        })
    }

    fn vector_of_words(&self, ty: Ty) -> Option<&'static str> {
        is_half(ty).then_some("uint4")
    }

    fn has_shared_vectors(&self) -> bool {
        true
    }

    fn mma(&self, fragment: Fragment, words: &[Tree], sums: Tree) -> Option<Tree> {
        let function = format!("mma_{}", fragment.name());
        (!self.vendor.is_amd()).then(|| Tree::call(function, words.iter().cloned().chain([sums])))
    }

    fn load_fragment(&self, first: Tree, turned: bool) -> Option<Tree> {
        let function = if turned { "load_turned" } else { "load_fragment" };
        (!self.vendor.is_amd()).then(|| Tree::call(function, [Tree::prefix(Prefix::Address, first)]))
    }

    fn barrier(&self, scope: Scope, _: bool) -> Vec<String> {
        let line = match scope {
            Scope::Subgroup if self.vendor.is_amd() => "wave_barrier();",
            Scope::Subgroup => "__syncwarp();",
            Scope::Block | Scope::Device => "__syncthreads();",
        };
        vec![line.to_string()]
    }

    fn fence(&self, scope: Scope) -> String {
        if scope == Scope::Device { "__threadfence();" } else { "__threadfence_block();" }.to_string()
    }

    /// CUDA's own functions are within the table, but for some.
    fn lacks(&self, operator: Operator, ty: Ty) -> bool {
        let name = operator.row().c;
        let missing = operator == Operator::Powi;
        match self.precision {
            Precision::Native => missing,
            Precision::Table => missing || ty == Ty::F32 && COARSE.contains(&name),
            Precision::Exact => operator != Operator::Fma && expand::operator(operator, ty).is_some(),
        }
    }

    fn wide_bits(&self, operator: Operator, helpers: &Helpers) -> (String, Ty) {
        if operator == Operator::TrailingZeros {
            return in_c::wide_bits(self, operator, helpers);
        }
        let result = if operator.counts_bits() { Ty::I32 } else { Ty::U64 };
        (self.function(operator, Ty::U64, helpers), result)
    }

    fn divide(&self, operator: Operator, ty: Ty, helpers: &Helpers) -> String {
        in_c::divide(self, operator, ty, helpers)
    }

    /// Theirs knows of NaN what ours does, but not which of two zeros it gives.
    fn extreme(&self, operator: Operator, ty: Ty, helpers: &Helpers) -> String {
        if !ty.is_float() {
            return in_c::extreme(self, operator, ty, helpers);
        }
        let own = format!("f{}{}", operator.name(), if ty == Ty::F64 { "" } else { "f" });
        if self.precision == Precision::Native {
            return own;
        }
        let t = TYPES[ty as usize];
        let name = format!("{}_{ty}", operator.name());
        helpers.add(&name, || {
            format!("__device__ inline {t} {name}({t} a, {t} b) {{ return a == b ? b : {own}(a, b); }}\n")
        })
    }

    fn to_int(&self, from: Ty, to: Ty, helpers: &Helpers) -> String {
        in_c::to_int(self, from, to, helpers)
    }

    fn absolute(&self, ty: Ty, helpers: &Helpers) -> String {
        in_c::absolute(self, ty, helpers)
    }

    fn sign(&self, ty: Ty, helpers: &Helpers) -> String {
        in_c::sign(self, ty, helpers)
    }

    fn dot4(&self, helpers: &Helpers) -> String {
        if self.vendor.is_amd() { in_c::dot4(self, helpers) } else { "dot4".to_string() }
    }

    fn function(&self, operator: Operator, ty: Ty, helpers: &Helpers) -> String {
        use Operator::{Abs, IsFinite, IsNan, LeadingZeros, Max, Min, Popcount, Rem, ReverseBits, TrailingZeros};
        let name = match operator {
            // HIP's are templates, and a place of a thread is of no type of theirs.
            Min | Max if self.vendor.is_amd() && !ty.is_float() => return in_c::extreme(self, operator, ty, helpers),
            IsNan => return "isnan".to_string(),
            IsFinite => return "isfinite".to_string(),
            ReverseBits => return if ty.bits() > 32 { "__brevll" } else { "__brev" }.to_string(),
            LeadingZeros => return if ty.bits() > 32 { "__clzll" } else { "__clz" }.to_string(),
            Popcount => return if ty.bits() > 32 { "__popcll" } else { "__popc" }.to_string(),
            TrailingZeros => return "count_trailing_zeros".to_string(),
            Abs => "fabs",
            Rem => "fmod",
            other => other.row().c,
        };
        let single = ty.is_float() && ty != Ty::F64;
        match single {
            true if self.precision == Precision::Native && INTRINSICS.contains(&name) => format!("__{name}f"),
            true => format!("{name}f"),
            false => name.to_string(),
        }
    }

    fn has_atomic(&self, op: AtomicOp, ty: Ty) -> bool {
        let adds = op == AtomicOp::Update(Operator::Add);
        matches!(ty, Ty::I32 | Ty::U32 | Ty::I64 | Ty::U64) || adds && matches!(ty, Ty::F32 | Ty::F64)
    }

    fn atomic(&self, name: &str, _: Space, ty: Ty, element: Tree, value: Option<Tree>) -> Tree {
        let address = Tree::prefix(Prefix::Address, element);
        let Some(value) = value else { return Tree::call("peek", [address]) };
        if self.vendor.is_amd() {
            let how = ["__ATOMIC_RELAXED", "__HIP_MEMORY_SCOPE_AGENT"].map(Tree::name);
            return Tree::call(format!("__hip_atomic_{name}"), [address, value].into_iter().chain(how));
        }
        // Those on long words are of unsigned ones, and there is no difference.
        let wide = ty == Ty::I64 && !matches!(name, "fetch_min" | "fetch_max");
        let (address, value) = match wide {
            true => (Tree::cast("unsigned long long*", address), Tree::cast("unsigned long long", value)),
            false => (address, value),
        };
        let negated = |value: Tree| Tree::infix(Infix::Sub, Tree::name("0ULL"), value);
        let (function, value) = match name {
            "fetch_sub" if ty.bits() == 64 => ("atomicAdd", negated(value)),
            "fetch_add" => ("atomicAdd", value),
            "fetch_sub" => ("atomicSub", value),
            "fetch_min" => ("atomicMin", value),
            "fetch_max" => ("atomicMax", value),
            "fetch_and" => ("atomicAnd", value),
            "fetch_or" => ("atomicOr", value),
            "fetch_xor" => ("atomicXor", value),
            _ => ("atomicExch", value),
        };
        let old = Tree::call(function, [address, value]);
        if wide { Tree::cast("long long", old) } else { old }
    }

    fn as_word(&self, _: Space, bits: Ty, element: Tree) -> Tree {
        in_c::as_word(TYPES[bits as usize], element)
    }

    fn compare_exchange(&self, _: Space, ty: Ty, element: Tree, [expected, value]: [Tree; 2], _: &Helpers) -> Tree {
        let address = Tree::prefix(Prefix::Address, element);
        if self.vendor.is_amd() {
            let own = |x: Tree| Tree::cast(TYPES[ty as usize], x);
            return Tree::call("swap", [address, own(expected), own(value)]);
        }
        if ty != Ty::I64 {
            return Tree::call("atomicCAS", [address, expected, value]);
        }
        let long = |x: Tree| Tree::cast("unsigned long long", x);
        let address = Tree::cast("unsigned long long*", address);
        Tree::cast("long long", Tree::call("atomicCAS", [address, long(expected), long(value)]))
    }

    fn subgroup(&self, op: SubgroupOp, ty: Ty, args: &[Tree]) -> Option<Tree> {
        // NVIDIA wants to be told who takes part.
        let active = || Some(Tree::name("__activemask()")).filter(|_| !self.vendor.is_amd());
        let call = |name: &str, args: &[Tree]| {
            let suffix = if self.vendor.is_amd() { "" } else { "_sync" };
            Tree::call(format!("__{name}{suffix}"), active().into_iter().chain(args.iter().cloned()))
        };
        let x = args[0].clone();
        // As something that lanes do exchange.
        let narrow = ty == Ty::Bool || !ty.is_float() && ty.bits() < 32;
        let x = if narrow { Tree::cast("int", x) } else { x };
        let given = match op {
            SubgroupOp::Any => {
                return Some(Tree::infix(Infix::Ne, call("any", &[x]), Tree::int(0)));
            }
            SubgroupOp::All => {
                return Some(Tree::infix(Infix::Ne, call("all", &[x]), Tree::int(0)));
            }
            SubgroupOp::Ballot => {
                return Some(Tree::cast("unsigned long long", call("ballot", &[x])));
            }
            SubgroupOp::Reduce(operator) => Tree::call(reduction(operator, ty, self.vendor)?, [x]),
            SubgroupOp::Scan(operator @ (Operator::Add | Operator::Mul)) if !narrow && !is_half(ty) => {
                Tree::call(format!("warp_scan_{}", operator.name()), [x])
            }
            SubgroupOp::Scan(_) => return None,
            SubgroupOp::Shuffle => call("shfl", &[x, args[1].clone()]),
            SubgroupOp::ShuffleXor => call("shfl_xor", &[x, args[1].clone()]),
            SubgroupOp::ShuffleUp => call("shfl_up", &[x, args[1].clone()]),
            SubgroupOp::ShuffleDown => call("shfl_down", &[x, args[1].clone()]),
            SubgroupOp::Broadcast => {
                let first = match active() {
                    Some(active) => Tree::infix(Infix::Sub, Tree::call("__ffs", [active]), Tree::int(1)),
                    None => Tree::call("first_lane", [Tree::call("active_lanes", [])]),
                };
                call("shfl", &[x, first])
            }
        };
        Some(if narrow { Tree::cast(TYPES[ty as usize], given) } else { given })
    }

    fn lane_number(&self) -> Ty {
        Ty::U32
    }

    fn active_lanes(&self) -> &'static str {
        if self.vendor.is_amd() { "active_lanes()" } else { "(unsigned long long)__activemask()" }
    }

    fn lanes_below(&self) -> &'static str {
        "lanes_below()"
    }

    fn is_place(&self, name: &str) -> bool {
        matches!(name, "tid" | "tid_x" | "tid_y" | "tid_z")
    }

    fn is_reserved(&self, name: &str) -> bool {
        RESERVED.split_whitespace().any(|word| word == name)
            || self.vendor.library().has(name)
            || name == SHARED
            || name.starts_with("__")
    }

    fn counts_threads(&self) -> bool {
        false
    }

    fn machine(&self) -> Machine {
        let machine = self.vendor.machine();
        let max_positions = if self.narrow { MOST_NARROW } else { machine.max_positions };
        // A launch asks for what not all of them have.
        let machine = if self.vendor.is_amd() { machine } else { machine.with_shared(MOST_SHARED) };
        Machine { max_positions, ..machine }
    }

    fn max_buffers(&self) -> usize {
        // Parameters have 4 KiB.
        500
    }
}

/// The most positions of an array whose code is narrow: differences of two fit `int`.
pub const MOST_NARROW: u64 = i32::MAX as u64;

/// Where a thread stands in the grid.
fn global(dimension: usize, rank: usize) -> String {
    if rank == 1 { "tid".to_string() } else { format!("tid_{}", AXES[dimension]) }
}

/// The function that joins what lanes have. NVIDIA's GPUs have one instruction for words.
fn reduction(operator: Operator, ty: Ty, vendor: Vendor) -> Option<String> {
    use Operator::{Add, And, Max, Min, Mul, Or, Xor};
    let known = match operator {
        Add | Mul => !is_half(ty) && ty != Ty::Bool,
        Min | Max => !ty.is_float() && ty != Ty::Bool,
        And | Or | Xor => !ty.is_float(),
        _ => false,
    };
    let at_once = !vendor.is_amd() && !ty.is_float() && ty.bits() <= 32 && operator != Mul;
    known.then(|| format!("{}_{}", if at_once { "redux" } else { "warp" }, operator.name()))
}
