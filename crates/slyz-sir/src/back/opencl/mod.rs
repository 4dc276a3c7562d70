//! OpenCL C, a [`Dialect`] of the C-like writer.
//!
//! The base is OpenCL C 1.2. What a device has beyond that are facts of the dialect: `double`, 64-bit atomics, subgroups. Half precision is held
//! in `float` and lies in memory as 16 bits, so that it needs no extension. At `Table` a function of the language is used where the
//! specification promises what the table asks for.

use super::EmitError;
use super::clike::{Cell, Description, Dialect, Helpers, PlaceName, Uniform, helpers as in_c};
use super::halves::{bits_of, is_half, is_packed, rounded, value_of};
use super::library::Library;
use super::tree::{Infix, Prefix, Tree};
use crate::choices::Precision;
use crate::code::{AtomicOp, Scope, SubgroupOp};
use crate::expand;
use crate::kernel::{Kernel, Space};
use crate::lower::gpu::Machine;
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};

/// In the order of [`Ty`].
const TYPES: [&str; 13] =
    ["bool", "char", "short", "int", "long", "uchar", "ushort", "uint", "ulong", "float", "float", "float", "double"];

/// Functions in single precision with an instruction of their own.
const INTRINSICS: [&str; 5] = ["exp", "exp2", "log", "log2", "log10"];

/// How far OpenCL's specification lets functions be off, in units in the last place, a line each. Quotients and square roots are not there: the
/// table allows for theirs.
const PROMISED: &str = include_str!("promised.txt");

/// Functions that the language lacks, or promises nothing about.
const MISSING: [&str; 2] = ["powi", "erfinv"];
const UNKNOWN: [&str; 1] = ["lgamma"];

/// What the language lacks, and the extensions that words of it need.
const LIBRARY: Library = Library(&[include_str!("library.cl")]);

/// Words of the language that are no names.
const RESERVED: &str = include_str!("words.txt");

const AXES: [&str; 3] = ["x", "y", "z"];

/// Names, in the order of [`PlaceName`], and the functions that know.
const PLACES: [(&str, &str); 6] = [
    ("tid", "get_global_id"),
    ("lid", "get_local_id"),
    ("gid", "get_group_id"),
    ("groups", "get_num_groups"),
    ("lane", "get_sub_group_local_id"),
    ("width", "get_max_sub_group_size"),
];

/// The most positions of an array whose code is narrow: differences of two fit `int`.
pub const MOST_NARROW: u64 = i32::MAX as u64;

/// The dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenCl {
    /// How precise floats are.
    pub precision: Precision,
    /// Limits of the device, and whether positions fit 32 bits.
    pub machine: Machine,
    /// What the device has.
    pub extras: Extras,
}

/// What OpenCL 1.2 leaves to devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extras {
    /// `double` (`cl_khr_fp64`).
    pub doubles: bool,
    /// Subgroups that exchange values (`cl_khr_subgroup_shuffle` and its kin).
    pub subgroups: bool,
    /// Quotients and roots in single precision that round once, where that is asked for.
    pub exact_quotients: bool,
}

impl Extras {
    /// Everything: files are for devices that nobody has asked.
    pub const ALL: Extras = Extras { doubles: true, subgroups: true, exact_quotients: true };
}

impl OpenCl {
    /// For files: arrays of fewer than 2^31 elements, on any device that has what a kernel asks for.
    pub fn portable(precision: Precision) -> OpenCl {
        let machine = Machine { max_positions: MOST_NARROW, atomic_bits: 64, ..Machine::opencl() };
        OpenCl { precision, machine, extras: Extras::ALL }
    }

    /// Are the language's own functions of floats right?
    fn is_native(&self, ty: Ty) -> bool {
        self.precision == Precision::Native && ty.is_float()
    }
}

/// The file of some kernels, and what a launch of each needs to know.
///
/// ```
/// use slyz_sir::{back::opencl::{self, OpenCl}, choices::Precision, text::parse_kernel};
/// let kernel = parse_kernel("kernel negate<n>() grid [ceil(n / 64), 1, 1] block [64, 1, 1] {
///   global read input: f32[n]  global write output: f32[n]
///   %i: i64 = global.x  %n: i64 = extent n  %inside: bool = lt %i, %n
///   if %inside { %x: f32 = load input[%i]  %y: f32 = neg %x  store output[%i], %y } else {}
/// }")?;
/// let (text, _) = opencl::emit(&[&kernel], &OpenCl::portable(Precision::Native))?;
/// assert!(text.contains("global const float* restrict input"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn emit(kernels: &[&Kernel], dialect: &OpenCl) -> Result<(String, Vec<Description>), EmitError> {
    let (text, descriptions) = super::clike::emit(dialect, kernels)?;
    Ok((format!("{}{text}", LIBRARY.mentioned_by(&text)), descriptions))
}

/// What lies in memory and is passed to kernels: `bool` is neither.
fn stored(ty: Ty) -> &'static str {
    match ty {
        Ty::Bool => "uchar",
        Ty::F16 | Ty::BF16 => "ushort",
        ty => TYPES[ty as usize],
    }
}

/// How far the specification lets a function be off, in units in the last place.
fn promised(name: &str) -> u32 {
    let mut lines = PROMISED.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(known, _)| *known == name).and_then(|(_, ulps)| ulps.parse().ok()).unwrap_or(0)
}

/// What the language calls an operator.
fn own_name(operator: Operator) -> &'static str {
    match operator {
        Operator::Abs => "fabs",
        Operator::Rem => "fmod",
        Operator::LeadingZeros => "clz",
        Operator::TrailingZeros => "count_trailing_zeros",
        other => other.row().c,
    }
}

impl Dialect for OpenCl {
    fn language(&self) -> &'static str {
        "OpenCL"
    }

    fn head(&self) -> &'static str {
        match self.precision {
            Precision::Native => "",
            Precision::Table | Precision::Exact => "#pragma OPENCL FP_CONTRACT OFF\n",
        }
    }

    fn scalar(&self, ty: Ty) -> Option<&'static str> {
        Some(TYPES[ty as usize]).filter(|_| ty != Ty::F64 || self.extras.doubles)
    }

    fn remedy(&self, _: Ty) -> &'static str {
        "the device lacks cl_khr_fp64: use f32, or run on the device \"cpu\""
    }

    fn literal(&self, value: Scalar, negative: bool, digits: &str) -> Tree {
        in_c::number(value, negative, digits, ["L", "UL"])
    }

    fn special(&self, value: Scalar, _: &Helpers) -> Tree {
        let infinity = ["INFINITY", "as_double(0x7ff0000000000000L)"];
        // Which NaN theirs is, is not said.
        let nan = ["as_float(0x7fc00000)", "as_double(0x7ff8000000000000L)"];
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
            Ty::F64 => Tree::call("odd_double", [x]),
            Ty::U64 => Tree::call("odd_ulong", [Tree::cast("ulong", x)]),
            Ty::I32 | Ty::U32 | Ty::I64 => Tree::call("odd_long", [Tree::cast("long", x)]),
            _ => Tree::cast("float", x),
        };
        rounded(to, single)
    }

    fn bits(&self, from: Ty, to: Ty, x: Tree) -> Tree {
        match (from, to) {
            (Ty::F16 | Ty::BF16, Ty::F16 | Ty::BF16) => value_of(to, bits_of(from, x)),
            (Ty::F16 | Ty::BF16, _) => Tree::cast(TYPES[to as usize], bits_of(from, x)),
            (_, Ty::F16 | Ty::BF16) => value_of(to, Tree::cast("ushort", x)),
            _ => Tree::call(format!("as_{}", TYPES[to as usize]), [x]),
        }
    }

    fn space(&self, space: Space) -> &'static str {
        match space {
            Space::Global(_) => "global",
            Space::Shared | Space::Scratch => "local",
            Space::Local => "private",
            Space::Constant => "global const",
        }
    }

    fn inline(&self) -> &'static str {
        // Without `static` it would have to be defined once more, for calls that are not inlined.
        "static inline"
    }

    fn record(&self, name: &str, fields: &[(String, String)]) -> String {
        let fields: Vec<String> = fields.iter().map(|(ty, name)| format!("{ty} {name};")).collect();
        format!("typedef struct {{ {} }} {name};\n", fields.join(" "))
    }

    fn record_value(&self, name: &str, values: &[String]) -> String {
        format!("({name}){{ {} }}", values.join(", "))
    }

    fn signature(&self, d: &Description) -> String {
        let params = in_c::parameters(d, |ty, name| format!("global {ty}* restrict {name}"), stored);
        let [x, y, z] = d.block;
        let name = &d.name;
        format!("kernel __attribute__((reqd_work_group_size({x}, {y}, {z}))) void {name}(\n    {params}\n)")
    }

    fn prologue(&self, d: &Description, mentions: &dyn Fn(&str) -> bool) -> Vec<String> {
        let mut lines = vec![];
        for shared in &d.shared {
            let elements = Size::product(&shared.shape).constant().unwrap_or(1).max(1);
            lines.push(format!("local {} {}[{elements}];", stored(shared.ty), shared.name));
        }
        for place in [PlaceName::Global, PlaceName::Local, PlaceName::Block, PlaceName::GridDim] {
            for dimension in 0..d.rank.clamp(1, 3) {
                let name = place_name(place, dimension, d.rank);
                if mentions(&name) {
                    lines.push(format!("const uint {name} = {}({dimension});", PLACES[place as usize].1));
                }
            }
        }
        for place in [PlaceName::Lane, PlaceName::SubgroupSize] {
            let (name, function) = PLACES[place as usize];
            if mentions(name) {
                lines.push(format!("const uint {name} = {function}();"));
            }
        }
        lines
    }

    fn place(&self, place: PlaceName, dimension: u8, rank: usize) -> Tree {
        match place {
            PlaceName::Lane | PlaceName::SubgroupSize => Tree::name(PLACES[place as usize].0),
            PlaceName::Global | PlaceName::Local | PlaceName::Block | PlaceName::GridDim => {
                Tree::name(place_name(place, usize::from(dimension.min(2)), rank))
            }
        }
    }

    fn uniform(&self, uniform: &Uniform) -> Tree {
        value_of(uniform.ty, Tree::name(&uniform.name))
    }

    fn read(&self, cell: &Cell, element: Tree, _: &Helpers) -> Tree {
        if is_packed(cell) { value_of(cell.memory.ty, element) } else { element }
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
            (Ty::I64, 2) => "long2",
            (Ty::U64, 2) => "ulong2",
            _ => return None,
        })
    }

    fn vector_read(&self, vector: &str, first: &Tree) -> String {
        format!("*(global const {vector}*)&{first}")
    }

    fn vector_write(&self, vector: &str, first: &Tree, values: &[Tree]) -> String {
        let values: Vec<String> = values.iter().map(Tree::to_string).collect();
        format!("*(global {vector}*)&{first} = ({vector})({});", values.join(", "))
    }

    fn barrier(&self, scope: Scope, global: bool) -> Vec<String> {
        let who = if scope == Scope::Subgroup { "sub_group_barrier" } else { "barrier" };
        let device = if global { " | CLK_GLOBAL_MEM_FENCE" } else { "" };
        vec![format!("{who}(CLK_LOCAL_MEM_FENCE{device});")]
    }

    fn fence(&self, _: Scope) -> String {
        "mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);".to_string()
    }

    fn check(&self, d: &Description) -> Result<(), EmitError> {
        let lacks = |what: &str, interface, feature, remedy| EmitError::Lacks {
            kernel: d.kernel.name.clone(),
            what: what.to_string(),
            interface,
            feature,
            remedy,
        };
        if d.uses_subgroups && !self.extras.subgroups {
            let remedy = "Work together in blocks";
            return Err(lacks("subgroups", "OpenCL extension", "cl_khr_subgroup_shuffle", remedy));
        }
        if self.precision == Precision::Exact && !self.extras.exact_quotients {
            let feature = "CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT";
            let remedy = "Ask for the precision table";
            return Err(lacks("quotients that round once", "OpenCL capability", feature, remedy));
        }
        Ok(())
    }

    fn lacks(&self, operator: Operator, ty: Ty) -> bool {
        let name = operator.row().c;
        let missing = MISSING.contains(&name);
        match self.precision {
            Precision::Native => missing,
            Precision::Table => missing || UNKNOWN.contains(&name) || promised(name) > operator.row().ulp,
            Precision::Exact => operator != Operator::Fma && expand::operator(operator, ty).is_some(),
        }
    }

    fn wide_bits(&self, operator: Operator, helpers: &Helpers) -> (String, Ty) {
        match operator {
            Operator::LeadingZeros | Operator::Popcount => (own_name(operator).to_string(), Ty::U64),
            _ => in_c::wide_bits(self, operator, helpers),
        }
    }

    fn divide(&self, operator: Operator, ty: Ty, helpers: &Helpers) -> String {
        in_c::divide(self, operator, ty, helpers)
    }

    fn extreme(&self, operator: Operator, ty: Ty, helpers: &Helpers) -> String {
        match ty.is_float() {
            true if self.is_native(ty) => format!("f{}", operator.name()),
            true => in_c::extreme(self, operator, ty, helpers),
            false => operator.name().to_string(),
        }
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
        in_c::dot4(self, helpers)
    }

    fn function(&self, operator: Operator, ty: Ty, _: &Helpers) -> String {
        let name = own_name(operator);
        let single = ty.is_float() && ty != Ty::F64;
        match self.precision == Precision::Native && single && INTRINSICS.contains(&name) {
            true => format!("native_{name}"),
            false => name.to_string(),
        }
    }

    fn has_atomic(&self, _: AtomicOp, ty: Ty) -> bool {
        matches!(ty, Ty::I32 | Ty::U32) || matches!(ty, Ty::I64 | Ty::U64) && self.machine.atomic_bits >= 64
    }

    fn atomic(&self, name: &str, space: Space, ty: Ty, element: Tree, value: Option<Tree>) -> Tree {
        let address = Tree::prefix(Prefix::Address, element);
        let Some(value) = value else {
            let seen = format!("volatile {} {}*", self.space(space), TYPES[ty as usize]);
            return Tree::prefix(Prefix::Deref, Tree::cast(seen, address));
        };
        let name = name.strip_prefix("fetch_").unwrap_or("xchg");
        Tree::call(format!("{}_{name}", family(ty)), [address, value])
    }

    fn as_word(&self, space: Space, bits: Ty, element: Tree) -> Tree {
        in_c::as_word(&format!("{} {}", self.space(space), TYPES[bits as usize]), element)
    }

    fn compare_exchange(&self, _: Space, ty: Ty, element: Tree, [expected, value]: [Tree; 2], _: &Helpers) -> Tree {
        let address = Tree::prefix(Prefix::Address, element);
        Tree::call(format!("{}_cmpxchg", family(ty)), [address, expected, value])
    }

    fn subgroup(&self, op: SubgroupOp, ty: Ty, args: &[Tree]) -> Option<Tree> {
        let narrow = ty == Ty::Bool || !ty.is_float() && ty.bits() < 32;
        let x = args[0].clone();
        // As something that lanes do exchange.
        let x = if narrow { Tree::cast("int", x) } else { x };
        let call = |name: &str| Tree::call(name, [x.clone()].into_iter().chain(args[1..].iter().cloned()));
        let truth = |votes: Tree| Tree::infix(Infix::Ne, votes, Tree::int(0));
        let whole = !narrow && !ty.is_float();
        let given = match op {
            SubgroupOp::Any => return Some(truth(call("sub_group_any"))),
            SubgroupOp::All => return Some(truth(call("sub_group_all"))),
            SubgroupOp::Ballot => {
                let words = Tree::member(call("sub_group_ballot"), "xy");
                return Some(Tree::call("as_ulong", [words]));
            }
            SubgroupOp::Reduce(Operator::Add) if whole => call("sub_group_reduce_add"),
            SubgroupOp::Reduce(Operator::Min) if whole => call("sub_group_reduce_min"),
            SubgroupOp::Reduce(Operator::Max) if whole => call("sub_group_reduce_max"),
            SubgroupOp::Scan(Operator::Add) if whole => call("sub_group_scan_inclusive_add"),
            // In the order of the lanes.
            SubgroupOp::Reduce(_) | SubgroupOp::Scan(_) => return None,
            SubgroupOp::Shuffle => call("sub_group_shuffle"),
            SubgroupOp::ShuffleXor => call("sub_group_shuffle_xor"),
            SubgroupOp::ShuffleUp => call("sub_group_shuffle_up"),
            SubgroupOp::ShuffleDown => call("sub_group_shuffle_down"),
            SubgroupOp::Broadcast => call("sub_group_broadcast_first"),
        };
        Some(if narrow { Tree::cast(TYPES[ty as usize], given) } else { given })
    }

    fn lane_number(&self) -> Ty {
        Ty::U32
    }

    fn active_lanes(&self) -> &'static str {
        "as_ulong(sub_group_ballot(1).xy)"
    }

    fn lanes_below(&self) -> &'static str {
        "sub_group_ballot_exclusive_scan(sub_group_ballot(1))"
    }

    fn is_place(&self, name: &str) -> bool {
        let stem = AXES.iter().find_map(|axis| name.strip_suffix(axis)?.strip_suffix('_')).unwrap_or(name);
        PLACES.iter().any(|(place, _)| *place == stem)
    }

    fn is_reserved(&self, name: &str) -> bool {
        const PREFIXES: [&str; 12] = [
            "__",
            "get_",
            "as_",
            "convert_",
            "native_",
            "half_",
            "vload",
            "vstore",
            "sub_group_",
            "work_group_",
            "CLK_",
            "cl_",
        ];
        // Vectors: float2, uint16, …
        let element = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let vector = element != name && TYPES.contains(&element);
        let word = RESERVED.split_whitespace().any(|word| word == name);
        vector || word || LIBRARY.has(name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    }

    fn counts_threads(&self) -> bool {
        false
    }

    fn machine(&self) -> Machine {
        self.machine
    }

    fn max_buffers(&self) -> usize {
        // Parameters have 1 KiB on every device.
        120
    }
}

/// What the names of atomics begin with.
fn family(ty: Ty) -> &'static str {
    if ty.bits() == 64 { "atom" } else { "atomic" }
}

/// Where a thread stands on an axis.
fn place_name(place: PlaceName, dimension: usize, rank: usize) -> String {
    let name = PLACES[place as usize].0;
    if rank == 1 { name.to_string() } else { format!("{name}_{}", AXES[dimension]) }
}
