//! The Metal Shading Language, a [`Dialect`] of the C-like writer.
//!
//! The file asks for safe mathematics: NaN and infinity mean what they mean in the table, and products and sums are not fused.

use super::clike::{Description, Dialect, EmitError, File, Helpers, PlaceName};
use crate::code::{AtomicOp, Scope, SubgroupOp};
use crate::kernel::{Kernel, Space};
use crate::lower::gpu::Machine;
use crate::ops::Operator;
use crate::types::{Scalar, Ty};

/// Lanes of a simd-group.
pub const SUBGROUP: u32 = 32;

/// The dialect.
pub struct Msl;

/// The file of some kernels, and what a launch of each needs to know. Their names are the kernels' own.
///
/// ```
/// use slyz_sir::{back::msl, text::parse_kernel};
/// let kernel = parse_kernel("kernel negate<n>() grid [ceil(n / 64), 1, 1] block [64, 1, 1] {
///   global read input: f32[n]  global write output: f32[n]
///   %i: i64 = global.x  %n: i64 = extent n  %inside: bool = lt %i, %n
///   if %inside { %x: f32 = load input[%i]  %y: f32 = neg %x  store output[%i], %y } else {}
/// }")?;
/// let (text, _) = msl::emit(&[&kernel])?;
/// assert!(text.contains("uint tid [[thread_position_in_grid]]"));
/// assert!(text.contains("output[idx] = -input[tid];"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn emit(kernels: &[&Kernel]) -> Result<(String, Vec<Description>), EmitError> {
    let mut file = File::new(&Msl, kernels.iter().map(|k| k.name.clone()));
    let descriptions = kernels.iter().map(|k| file.kernel(k)).collect::<Result<Vec<_>, _>>()?;
    Ok((file.text(), descriptions))
}

/// Words of the language, names of its types and of the functions that generated code calls.
const RESERVED: &str = "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept \
    const const_cast constexpr continue decltype default delete do double dynamic_cast else enum explicit export extern \
    false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq \
    private protected public register reinterpret_cast requires return short signed sizeof static static_assert \
    static_cast struct switch template this thread_local throw true try typedef typeid typename union unsigned using \
    virtual void volatile wchar_t while xor xor_eq kernel vertex fragment device constant threadgroup thread \
    threadgroup_imageblock ray_data object_data mesh object main metal half bfloat uchar ushort uint ulong size_t \
    ptrdiff_t atomic_int atomic_uint atomic_float atomic_bool atomic_ulong sampler texture2d buffer simd vec matrix packed \
    mem_flags memory_order_relaxed INFINITY NAN MAXFLOAT abs min max fabs floor ceil round trunc sqrt rsqrt exp exp2 log \
    log2 log10 pow sin cos tan asin acos atan atan2 sinh cosh tanh fma fmod copysign signbit isnan isinf isfinite clz ctz \
    popcount sign clamp mix step length distance dot cross normalize select any all saturate fract frexp ldexp modf as_type";

impl Dialect for Msl {
    fn language(&self) -> &'static str {
        "Metal"
    }

    fn head(&self) -> &'static str {
        "#include <metal_stdlib>\n#include <simd/simd.h>\nusing namespace metal;\n\n\
         #pragma METAL fp math_mode(safe)\n#pragma METAL fp contract(off)\n"
    }

    fn scalar(&self, ty: Ty) -> Option<&'static str> {
        Some(match ty {
            Ty::Bool => "bool",
            Ty::I8 => "char",
            Ty::I16 => "short",
            Ty::I32 => "int",
            Ty::I64 => "long",
            Ty::U8 => "uchar",
            Ty::U16 => "ushort",
            Ty::U32 => "uint",
            Ty::U64 => "ulong",
            Ty::F16 => "half",
            Ty::BF16 => "bfloat",
            Ty::F32 => "float",
            Ty::F64 => return None,
        })
    }

    fn remedy(&self, _: Ty) -> &'static str {
        "use f32, or run this kernel on the CPU"
    }

    fn literal(&self, ty: Ty, digits: &str) -> String {
        match ty {
            Ty::F32 => format!("{digits}f"),
            Ty::F16 => format!("{digits}h"),
            Ty::BF16 => format!("(bfloat){digits}f"),
            Ty::U32 => format!("{digits}u"),
            Ty::I64 => format!("{digits}L"),
            Ty::U64 => format!("{digits}UL"),
            _ => digits.to_string(),
        }
    }

    fn special(&self, value: Scalar) -> String {
        let cast =
            if value.ty == Ty::F32 { String::new() } else { format!("({})", self.scalar(value.ty).unwrap_or("float")) };
        let x = value.as_f64();
        format!(
            "{cast}{}",
            if x.is_nan() {
                "NAN"
            } else if x > 0.0 {
                "INFINITY"
            } else {
                "-INFINITY"
            }
        )
    }

    fn bits(&self, to: Ty, x: &str) -> String {
        format!("as_type<{}>({x})", self.scalar(to).unwrap_or("float"))
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
        let ty = |ty| self.scalar(ty).unwrap_or("float");
        let mixed = d.buffers.iter().any(|b| b.written) && d.buffers.iter().any(|b| !b.written);
        let mut params = vec![];
        for b in &d.buffers {
            let access = if !b.written {
                " const"
            } else if mixed {
                "      "
            } else {
                ""
            };
            params.push(format!("device{access} {}* {} [[buffer({})]]", ty(b.ty), b.name, b.index));
        }
        for s in &d.shared {
            params.push(format!("threadgroup {}* {} [[threadgroup({})]]", ty(s.ty), s.name, s.index));
        }
        for u in &d.uniforms {
            params.push(format!("constant {}& {} [[buffer({})]]", ty(u.ty), u.name, u.index));
        }
        let vector = ["uint", "uint2", "uint3"][d.rank.clamp(1, 3) - 1];
        for place in &d.places {
            params.push(match place {
                PlaceName::Global => format!("{vector} tid [[thread_position_in_grid]]"),
                PlaceName::Local => format!("{vector} lid [[thread_position_in_threadgroup]]"),
                PlaceName::Block => format!("{vector} gid [[threadgroup_position_in_grid]]"),
                PlaceName::GridDim => format!("{vector} groups [[threadgroups_per_grid]]"),
                PlaceName::Lane => "uint lane [[thread_index_in_simdgroup]]".into(),
                PlaceName::SubgroupSize => "uint width [[threads_per_simdgroup]]".into(),
            });
        }
        format!("kernel void {}(\n    {}\n)", d.name, params.join(",\n    "))
    }

    fn place(&self, place: PlaceName, dimension: u8, rank: usize) -> String {
        let name = match place {
            PlaceName::Global => "tid",
            PlaceName::Local => "lid",
            PlaceName::Block => "gid",
            PlaceName::GridDim => "groups",
            PlaceName::Lane => return "lane".into(),
            PlaceName::SubgroupSize => return "width".into(),
        };
        if rank == 1 { name.into() } else { format!("{name}.{}", ["x", "y", "z"][dimension.min(2) as usize]) }
    }

    fn barrier(&self, scope: Scope, global: bool) -> String {
        let who = if scope == Scope::Subgroup { "simdgroup" } else { "threadgroup" };
        let device = if global { "mem_flags::mem_device | " } else { "" };
        format!("{who}_barrier({device}mem_flags::mem_threadgroup);")
    }

    fn fence(&self, scope: Scope) -> String {
        let scope = match scope {
            Scope::Subgroup => "simdgroup",
            Scope::Block => "threadgroup",
            Scope::Device => "device",
        };
        format!(
            "atomic_thread_fence(mem_flags::mem_device | mem_flags::mem_threadgroup, memory_order_seq_cst, thread_scope_{scope});"
        )
    }

    fn function(&self, operator: Operator) -> Option<&'static str> {
        Some(match operator {
            Operator::Ln => "log",
            Operator::Abs => "fabs",
            Operator::Rem => "fmod",
            Operator::LeadingZeros => "clz",
            Operator::TrailingZeros => "ctz",
            Operator::Cbrt | Operator::Expm1 | Operator::Ln1p | Operator::Hypot | Operator::Erf | Operator::Powi => {
                return None;
            }
            other => other.name(),
        })
    }

    fn atomic(
        &self,
        op: AtomicOp,
        space: Space,
        ty: Ty,
        place: &str,
        args: &[String],
        helpers: &mut Helpers,
    ) -> Option<String> {
        let space = self.space(space);
        // A float is exchanged by its bits; only addition is on floats.
        let adds = op == AtomicOp::Update(Operator::Add);
        let (carrier, float) = match ty {
            Ty::I32 => ("int", false),
            Ty::U32 => ("uint", false),
            Ty::F32 if adds => ("float", false),
            Ty::F32 => ("uint", true),
            _ => return None,
        };
        let bits = |x: &String| if float { format!("as_type<uint>({x})") } else { x.clone() };
        let back = |x: String| if float { format!("as_type<float>({x})") } else { x };
        let at = format!("({space} atomic_{carrier}*)&{place}");
        let call = |name: &str, args: String| format!("atomic_{name}_explicit({at}{args}, memory_order_relaxed)");
        Some(match op {
            AtomicOp::Update(operator) if float => {
                let name = format!("atomic_{}_f32_{space}", operator.name());
                let sign = if operator == Operator::Min { "<" } else { ">" };
                helpers.add(&name, || format!("inline float {name}({space} atomic_uint* at, float x) {{
    uint old = atomic_load_explicit(at, memory_order_relaxed);
    while ((x {sign} as_type<float>(old) || isnan(as_type<float>(old))) && !isnan(x)) {{
        if (atomic_compare_exchange_weak_explicit(at, &old, as_type<uint>(x), memory_order_relaxed, memory_order_relaxed)) break;
    }}
    return as_type<float>(old);
}}
"));
                format!("{name}({at}, {})", args[0])
            }
            AtomicOp::Update(operator) => call(&format!("fetch_{}", operator.name()), format!(", {}", args[0])),
            AtomicOp::Exchange | AtomicOp::Store => back(call("exchange", format!(", {}", bits(&args[0])))),
            AtomicOp::Load => back(call("load", String::new())),
            AtomicOp::CompareExchange => {
                let name = format!("atomic_swap_{carrier}_{space}");
                helpers.add(&name, || {
                    format!(
                        "inline {carrier} {name}({space} atomic_{carrier}* at, {carrier} expected, {carrier} value) {{
    {carrier} old = expected;
    while (!atomic_compare_exchange_weak_explicit(at, &old, value, memory_order_relaxed, memory_order_relaxed)) {{
        if (old != expected) break;
    }}
    return old;
}}
"
                    )
                });
                back(format!("{name}({at}, {}, {})", bits(&args[0]), bits(&args[1])))
            }
        })
    }

    fn subgroup(&self, op: SubgroupOp, ty: Ty, args: &[String]) -> Option<String> {
        let x = &args[0];
        let name = match op {
            SubgroupOp::Any => return Some(format!("simd_any({x})")),
            SubgroupOp::All => return Some(format!("simd_all({x})")),
            SubgroupOp::Ballot => return Some(format!("(ulong)simd_ballot({x})")),
            SubgroupOp::Reduce(operator) => match (ty, operator) {
                (Ty::Bool, Operator::And) => return Some(format!("simd_all({x})")),
                (Ty::Bool, Operator::Or) => return Some(format!("simd_any({x})")),
                (Ty::Bool | Ty::I64 | Ty::U64 | Ty::BF16, _) => return None,
                (_, Operator::Add) => "simd_sum",
                (_, Operator::Mul) => "simd_product",
                (_, Operator::Min) => "simd_min",
                (_, Operator::Max) => "simd_max",
                (_, Operator::And) => "simd_and",
                (_, Operator::Or) => "simd_or",
                (_, Operator::Xor) => "simd_xor",
                _ => return None,
            },
            SubgroupOp::Scan(operator) => match (ty, operator) {
                (Ty::Bool | Ty::I64 | Ty::U64 | Ty::BF16, _) => return None,
                (_, Operator::Add) => "simd_prefix_inclusive_sum",
                (_, Operator::Mul) => "simd_prefix_inclusive_product",
                _ => return None,
            },
            SubgroupOp::Shuffle => "simd_shuffle",
            SubgroupOp::ShuffleXor => "simd_shuffle_xor",
            SubgroupOp::ShuffleUp => "simd_shuffle_up",
            SubgroupOp::ShuffleDown => "simd_shuffle_down",
            SubgroupOp::Broadcast => "simd_broadcast_first",
        };
        let lane = args.get(1).map_or(String::new(), |lane| format!(", (ushort){lane}"));
        // Lanes exchange 16 and 32 bits, and vectors of them.
        Some(match ty {
            Ty::Bool => format!("(bool){name}((ushort)({x}){lane})"),
            Ty::I64 | Ty::U64 => self.bits(ty, &format!("{name}(as_type<uint2>({x}){lane})")),
            Ty::BF16 => self.bits(ty, &format!("{name}(as_type<ushort>({x}){lane})")),
            _ => format!("{name}({x}{lane})"),
        })
    }

    fn active_lanes(&self) -> &'static str {
        "(ulong)simd_active_threads_mask()"
    }

    fn lanes_below(&self) -> &'static str {
        "simd_prefix_exclusive_sum(1u)"
    }

    fn is_reserved(&self, name: &str) -> bool {
        // Vectors: float2, uint3, …
        let element = name.strip_suffix(['2', '3', '4']).unwrap_or_default();
        let vector = Ty::ALL.iter().any(|&ty| self.scalar(ty) == Some(element));
        vector
            || RESERVED.split_whitespace().any(|word| word == name)
            || name.contains("__")
            || name.starts_with("simd_")
    }

    fn shared_limit(&self) -> u64 {
        Machine::metal().shared_bytes
    }

    fn max_buffers(&self) -> usize {
        31
    }

    fn max_positions(&self) -> u64 {
        Machine::metal().max_positions
    }
}
