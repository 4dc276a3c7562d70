//! The Metal Shading Language, a [`Dialect`] of the C-like writer.
//!
//! At `Native` it is what a person writes: the language's own functions, and mathematics as the compiler is told. At `Table` the file asks for safe
//! mathematics: NaN and infinity mean what they mean in the table, and products and sums are not fused.

use super::EmitError;
use super::clike::{Description, Dialect, Helpers, PlaceName, helpers as in_c};
use super::msl_names;
use super::tree::{Prefix, Tree};
use crate::choices::Precision;
use crate::code::{AtomicOp, Scope, SubgroupOp};
use crate::expand;
use crate::kernel::{Kernel, Space};
use crate::lower::gpu::Machine;
use crate::ops::Operator;
use crate::types::{Scalar, Ty};

/// Lanes of a simd-group.
pub const SUBGROUP: u32 = 32;

/// In the order of [`Ty`].
const TYPES: [&str; 13] =
    ["bool", "char", "short", "int", "long", "uchar", "ushort", "uint", "ulong", "half", "bfloat", "float", ""];

/// Names and attributes, in the order of [`PlaceName`].
const PLACES: [(&str, &str); 6] = [
    ("tid", "thread_position_in_grid"),
    ("lid", "thread_position_in_threadgroup"),
    ("gid", "threadgroup_position_in_grid"),
    ("groups", "threadgroups_per_grid"),
    ("lane", "thread_index_in_simdgroup"),
    ("width", "threads_per_simdgroup"),
];

fn is_vector(place: PlaceName) -> bool {
    place < PlaceName::Lane
}

/// The dialect.
#[derive(Clone, Copy, Debug, Default)]
pub struct Msl {
    /// How close results are to the table.
    pub precision: Precision,
}

/// The file of some kernels, and what a launch of each needs to know.
pub fn emit(kernels: &[&Kernel], dialect: &Msl) -> Result<(String, Vec<Description>), EmitError> {
    super::clike::emit(dialect, kernels)
}

/// What the language calls an operator, if it has it.
fn own_name(operator: Operator) -> &'static str {
    match operator {
        Operator::Abs => "fabs",
        Operator::Rem => "fmod",
        Operator::LeadingZeros => "clz",
        Operator::TrailingZeros => "ctz",
        other => other.row().c,
    }
}

impl Dialect for Msl {
    fn language(&self) -> &'static str {
        "Metal"
    }

    fn head(&self) -> &'static str {
        match self.precision {
            Precision::Native => "#include <metal_stdlib>\n#include <simd/simd.h>\nusing namespace metal;\n",
            Precision::Table | Precision::Exact => {
                "#include <metal_stdlib>\n#include <simd/simd.h>\nusing namespace metal;\n\n\
                 #pragma METAL fp math_mode(safe)\n#pragma METAL fp contract(off)\n"
            }
        }
    }

    fn scalar(&self, ty: Ty) -> Option<&'static str> {
        Some(TYPES[ty as usize]).filter(|name| !name.is_empty())
    }

    fn remedy(&self, _: Ty) -> &'static str {
        "use f32, or run this kernel on the CPU"
    }

    fn literal(&self, value: Scalar, negative: bool, digits: &str) -> Tree {
        let suffix = match value.ty {
            Ty::F32 | Ty::BF16 => "f",
            Ty::F16 => "h",
            Ty::U32 => "u",
            Ty::I64 => "L",
            Ty::U64 => "UL",
            _ => "",
        };
        let number = Tree::literal(value, negative, format!("{digits}{suffix}"));
        if value.ty == Ty::BF16 { Tree::cast("bfloat", number) } else { number }
    }

    fn special(&self, value: Scalar, _: &Helpers) -> Tree {
        let x = value.as_f64();
        let number = Tree::literal(value, x < 0.0, if x.is_nan() { "NAN" } else { "INFINITY" });
        if value.ty == Ty::F32 { number } else { Tree::cast(TYPES[value.ty as usize], number) }
    }

    fn bits(&self, _: Ty, to: Ty, x: Tree) -> Tree {
        bits(TYPES[to as usize], x)
    }

    fn space(&self, space: Space) -> &'static str {
        match space {
            Space::Global(_) => "device",
            Space::Shared | Space::Scratch => "threadgroup",
            Space::Local => "thread",
            Space::Constant => "constant",
        }
    }

    fn signature(&self, d: &Description) -> String {
        let ty = |ty: Ty| TYPES[ty as usize];
        let mixed = d.buffers.iter().any(|b| b.written) && d.buffers.iter().any(|b| !b.written);
        let written = if mixed { "      " } else { "" };
        let buffers = d.buffers.iter().map(|b| {
            let access = if b.written { written } else { " const" };
            format!("device{access} {}* {} [[buffer({})]]", ty(b.ty), b.name, b.index)
        });
        let shared =
            d.shared.iter().map(|s| format!("threadgroup {}* {} [[threadgroup({})]]", ty(s.ty), s.name, s.index));
        let uniforms = d.uniforms.iter().map(|u| format!("constant {}& {} [[buffer({})]]", ty(u.ty), u.name, u.index));
        let vector = ["uint", "uint2", "uint3"][d.rank.clamp(1, 3) - 1];
        let places = d.places.iter().map(|&place| {
            let (name, attribute) = PLACES[place as usize];
            format!("{} {name} [[{attribute}]]", if is_vector(place) { vector } else { "uint" })
        });
        let params: Vec<String> = buffers.chain(shared).chain(uniforms).chain(places).collect();
        format!("kernel void {}(\n    {}\n)", d.name, params.join(",\n    "))
    }

    fn place(&self, place: PlaceName, dimension: u8, rank: usize) -> Tree {
        let name = Tree::name(PLACES[place as usize].0);
        let axis = ["x", "y", "z"][dimension.min(2) as usize];
        if rank == 1 || !is_vector(place) { name } else { Tree::member(name, axis) }
    }

    fn barrier(&self, scope: Scope, global: bool) -> Vec<String> {
        let who = if scope == Scope::Subgroup { "simdgroup" } else { "threadgroup" };
        let device = if global { "mem_flags::mem_device | " } else { "" };
        vec![format!("{who}_barrier({device}mem_flags::mem_threadgroup);")]
    }

    fn fence(&self, scope: Scope) -> String {
        let scope = ["simdgroup", "threadgroup", "device"][scope as usize];
        let flags = "mem_flags::mem_device | mem_flags::mem_threadgroup";
        format!("atomic_thread_fence({flags}, memory_order_seq_cst, thread_scope_{scope});")
    }

    fn lacks(&self, operator: Operator, ty: Ty) -> bool {
        !msl_names::is_word(own_name(operator)) && expand::operator(operator, ty).is_some()
    }

    fn wide_bits(&self, operator: Operator, helpers: &Helpers) -> (String, Ty) {
        in_c::wide_bits(self, operator, helpers)
    }

    fn divide(&self, operator: Operator, ty: Ty, helpers: &Helpers) -> String {
        in_c::divide(self, operator, ty, helpers)
    }

    fn extreme(&self, operator: Operator, ty: Ty, helpers: &Helpers) -> String {
        if self.is_native(ty) {
            return operator.name().to_string();
        }
        in_c::extreme(self, operator, ty, helpers)
    }

    fn to_int(&self, from: Ty, to: Ty, helpers: &Helpers) -> String {
        in_c::to_int(self, from, to, helpers)
    }

    fn absolute(&self, ty: Ty, helpers: &Helpers) -> String {
        in_c::absolute(self, ty, helpers)
    }

    fn sign(&self, ty: Ty, helpers: &Helpers) -> String {
        if self.is_native(ty) {
            return "sign".to_string();
        }
        in_c::sign(self, ty, helpers)
    }

    fn dot4(&self, helpers: &Helpers) -> String {
        in_c::dot4(self, helpers)
    }

    fn function(&self, operator: Operator, _: Ty, _: &Helpers) -> String {
        own_name(operator).to_string()
    }

    fn has_atomic(&self, op: AtomicOp, ty: Ty) -> bool {
        matches!(ty, Ty::I32 | Ty::U32) || ty == Ty::F32 && op == AtomicOp::Update(Operator::Add)
    }

    fn atomic(&self, name: &str, space: Space, ty: Ty, element: Tree, value: Option<Tree>) -> Tree {
        let pointer = self.atomic_pointer(space, ty, element);
        let args = [pointer].into_iter().chain(value).chain([Tree::name("memory_order_relaxed")]);
        Tree::call(format!("atomic_{name}_explicit"), args)
    }

    fn compare_exchange(&self, space: Space, ty: Ty, element: Tree, args: [Tree; 2], helpers: &Helpers) -> Tree {
        let pointer = self.atomic_pointer(space, ty, element);
        let space = self.space(space);
        let t = TYPES[ty as usize];
        let name = format!("atomic_swap_{t}_{space}");
        let exchange =
            "atomic_compare_exchange_weak_explicit(at, &old, value, memory_order_relaxed, memory_order_relaxed)";
        // The weak form may fail for no reason.
        helpers.add(&name, || {
            format!(
                "inline {t} {name}({space} atomic_{t}* at, {t} expected, {t} value) {{
    {t} old = expected;
    while (!{exchange}) {{
        if (old != expected) break;
    }}
    return old;
}}
"
            )
        });
        Tree::call(name, [pointer].into_iter().chain(args))
    }

    fn subgroup(&self, op: SubgroupOp, ty: Ty, args: &[Tree]) -> Option<Tree> {
        let name = function_of_simdgroup(op)?;
        let call = |first: Tree| Tree::call(name, [first].into_iter().chain(args[1..].iter().cloned()));
        let own = TYPES[ty as usize];
        let x = args[0].clone();
        Some(match (op, ty) {
            (SubgroupOp::Any | SubgroupOp::All, _) => call(x),
            (SubgroupOp::Ballot, _) => Tree::cast("ulong", call(x)),
            (SubgroupOp::Reduce(_) | SubgroupOp::Scan(_), Ty::Bool | Ty::I64 | Ty::U64 | Ty::BF16) => return None,
            // As something that lanes do exchange.
            (_, Ty::Bool) => Tree::cast(own, call(Tree::cast("ushort", x))),
            (_, Ty::I64 | Ty::U64) => bits(own, call(bits("uint2", x))),
            (_, Ty::BF16) => bits(own, call(bits("ushort", x))),
            _ => call(x),
        })
    }

    fn lane_number(&self) -> Ty {
        Ty::U16
    }
    fn active_lanes(&self) -> &'static str {
        "(ulong)simd_active_threads_mask()"
    }

    fn lanes_below(&self) -> &'static str {
        "simd_prefix_exclusive_sum(1u)"
    }

    fn is_place(&self, name: &str) -> bool {
        PLACES.iter().any(|(place, _)| *place == name)
    }

    fn is_reserved(&self, name: &str) -> bool {
        msl_names::is_reserved(name, &TYPES)
    }

    fn machine(&self) -> Machine {
        Machine::metal()
    }

    fn max_buffers(&self) -> usize {
        31
    }
}

impl Msl {
    /// Are the language's own functions of floats right?
    fn is_native(&self, ty: Ty) -> bool {
        self.precision == Precision::Native && ty.is_float()
    }

    fn atomic_pointer(&self, space: Space, ty: Ty, element: Tree) -> Tree {
        let pointer = format!("{} atomic_{}*", self.space(space), TYPES[ty as usize]);
        Tree::cast(pointer, Tree::prefix(Prefix::Address, element))
    }
}

fn bits(to: &str, x: Tree) -> Tree {
    Tree::call(format!("as_type<{to}>"), [x])
}

fn function_of_simdgroup(op: SubgroupOp) -> Option<&'static str> {
    Some(match op {
        SubgroupOp::Any => "simd_any",
        SubgroupOp::All => "simd_all",
        SubgroupOp::Ballot => "simd_ballot",
        SubgroupOp::Reduce(Operator::Add) => "simd_sum",
        SubgroupOp::Reduce(Operator::Mul) => "simd_product",
        SubgroupOp::Reduce(Operator::Min) => "simd_min",
        SubgroupOp::Reduce(Operator::Max) => "simd_max",
        SubgroupOp::Reduce(Operator::And) => "simd_and",
        SubgroupOp::Reduce(Operator::Or) => "simd_or",
        SubgroupOp::Reduce(Operator::Xor) => "simd_xor",
        SubgroupOp::Scan(Operator::Add) => "simd_prefix_inclusive_sum",
        SubgroupOp::Scan(Operator::Mul) => "simd_prefix_inclusive_product",
        SubgroupOp::Reduce(_) | SubgroupOp::Scan(_) => return None,
        SubgroupOp::Shuffle => "simd_shuffle",
        SubgroupOp::ShuffleXor => "simd_shuffle_xor",
        SubgroupOp::ShuffleUp => "simd_shuffle_up",
        SubgroupOp::ShuffleDown => "simd_shuffle_down",
        SubgroupOp::Broadcast => "simd_broadcast_first",
    })
}
