//! Kernels as text for the C-like languages of GPUs: one writer, and a [`Dialect`] per language.
//!
//! A kernel is written for one thread (SIMT): scalars, loops, memories, barriers. The writer decides everything that the
//! languages share: which values get names, how wide positions are (`ranges`), how operators of the table are
//! spelled, and which small functions the file needs where a plain spelling would mean something else. A dialect only
//! spells: types, literals, places of threads, barriers, atomics, what subgroups do.
//!
//! ```text
//! describe   kernel → Description: buffers, uniforms, threads; the host's text is written from the same
//! expr       operators, conversions, literals, as trees (`back/tree.rs`)
//! helpers    functions where a plain spelling would be wrong
//! writer     statements, branches, loops
//! memory     loads, stores, atomics, barriers, subgroups
//! names      names that nobody has yet
//! ```
//!
//! What it does not do: `lanes` loops. A lowering for GPUs has spread them over threads.

mod describe;
mod expr;
mod helpers;
mod memory;
mod names;
mod writer;

pub use describe::{BufferSlot, Description, Dispatch, PlaceName, SharedSlot, Uniform, UniformSource};
pub use helpers::Helpers;

use super::EmitError;
use super::tree::Tree;
use crate::code::{AtomicOp, Scope, SubgroupOp};
use crate::kernel::{Kernel, Space};
use crate::lower::gpu::Machine;
use crate::ops::Operator;
use crate::types::{Scalar, Ty};
use names::Names;

/// How a language spells things.
pub trait Dialect {
    /// For messages.
    fn language(&self) -> &'static str;
    /// The first lines of a file.
    fn head(&self) -> &'static str;
    /// A type, or `None` where the language lacks it.
    fn scalar(&self, ty: Ty) -> Option<&'static str>;
    /// What to do about a type that is missing.
    fn remedy(&self, ty: Ty) -> &'static str;
    /// A finite number as a literal of its type, from its sign and digits. 8- and 16-bit integers are bare digits.
    fn literal(&self, value: Scalar, negative: bool, digits: &str) -> Tree;
    /// A float that is not finite.
    fn special(&self, value: Scalar) -> Tree;
    /// The bits of `x` as another type of that width.
    fn bits(&self, to: Ty, x: Tree) -> Tree;
    /// Qualifier of memory; empty where pointers are the same for all.
    fn space(&self, space: Space) -> &'static str;
    /// What stands before functions that kernels call.
    fn inline(&self) -> &'static str {
        "inline"
    }
    /// The declaration of a type with several fields.
    fn record(&self, name: &str, fields: &[String]) -> String {
        format!("struct {name} {{ {} }};\n", fields.join(" "))
    }
    /// A value of such a type, where a function gives it back.
    fn record_value(&self, _name: &str, values: &[String]) -> String {
        format!("{{ {} }}", values.join(", "))
    }
    /// Everything before the body of a kernel.
    fn signature(&self, description: &Description) -> String;
    /// Where a thread stands.
    fn place(&self, place: PlaceName, dimension: u8, rank: usize) -> Tree;
    /// Threads wait; `global` when they also see each other's writes to global memory.
    fn barrier(&self, scope: Scope, global: bool) -> String;
    /// Writes become visible.
    fn fence(&self, scope: Scope) -> String;
    /// The function for an operator on a type. Where the language has none, the dialect adds one to the helpers.
    fn function(&self, operator: Operator, ty: Ty, helpers: &mut Helpers) -> String;
    /// Is there such an atomic on that type?
    fn has_atomic(&self, op: AtomicOp, ty: Ty) -> bool;
    /// An atomic that there is, on an element of a memory: `fetch_add`, `exchange`, `load`, …
    fn atomic(&self, name: &str, space: Space, ty: Ty, element: Tree, value: Option<Tree>) -> Tree;
    /// Replaces an element that is the first of `args` by the second, and gives what it was.
    fn compare_exchange(&self, space: Space, ty: Ty, element: Tree, args: [Tree; 2], helpers: &mut Helpers) -> Tree;
    /// What a subgroup does, of a value and the number of a lane. `None` for reductions and scans that the language lacks.
    fn subgroup(&self, op: SubgroupOp, ty: Ty, args: &[Tree]) -> Option<Tree>;
    /// The type of numbers of lanes.
    fn lane_number(&self) -> Ty;
    /// One bit per active lane of the subgroup, 64 bits.
    fn active_lanes(&self) -> &'static str;
    /// How many active lanes are below this one.
    fn lanes_below(&self) -> &'static str;
    /// Is it how a place begins?
    fn is_place(&self, name: &str) -> bool;
    /// Names that mean something.
    fn is_reserved(&self, name: &str) -> bool;
    /// What the devices have. Hosts refuse calls with arrays of more positions than the machine's.
    fn machine(&self) -> Machine;
    /// Buffers and uniforms of a launch.
    fn max_buffers(&self) -> usize;
}

/// The file of some kernels in a language, and what a launch of each needs to know. Their names are the kernels' own.
///
/// ```
/// use slyz_sir::{back::{clike, msl::Msl}, text::parse_kernel};
/// let kernel = parse_kernel("kernel negate<n>() grid [ceil(n / 64), 1, 1] block [64, 1, 1] {
///   global read input: f32[n]  global write output: f32[n]
///   %i: i64 = global.x  %n: i64 = extent n  %inside: bool = lt %i, %n
///   if %inside { %x: f32 = load input[%i]  %y: f32 = neg %x  store output[%i], %y } else {}
/// }")?;
/// let (text, _) = clike::emit(&Msl, &[&kernel])?;
/// assert!(text.contains("uint tid [[thread_position_in_grid]]"));
/// assert!(text.contains("output[idx] = -input[tid];"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn emit(dialect: &dyn Dialect, kernels: &[&Kernel]) -> Result<(String, Vec<Description>), EmitError> {
    let mut file = File::new(dialect, kernels.iter().map(|k| k.name.clone()));
    let descriptions = kernels.iter().map(|k| file.kernel(k)).collect::<Result<Vec<_>, _>>()?;
    Ok((file.text(), descriptions))
}

/// Kernels of one file.
pub struct File<'d> {
    dialect: &'d dyn Dialect,
    helpers: Helpers,
    /// Shared functions that are written: printed body and name.
    functions: Vec<(String, String)>,
    taken: Names,
    items: Vec<String>,
}

impl<'d> File<'d> {
    /// An empty file. Nothing of it will have one of the `reserved` names.
    pub fn new(dialect: &'d dyn Dialect, reserved: impl IntoIterator<Item = String>) -> File<'d> {
        let taken = reserved.into_iter().collect();
        File { dialect, helpers: Helpers::default(), functions: vec![], taken, items: vec![] }
    }

    /// Adds a verified kernel, and says what a launch of it needs to know.
    pub fn kernel(&mut self, kernel: &Kernel) -> Result<Description, EmitError> {
        let dialect = self.dialect;
        let mut local = Names::default();
        let mut free_name = |asked: &str| local.free(asked, &|name| is_taken(dialect, name));
        let description = Description::new(kernel, &dialect.machine(), &mut free_name);
        let count = description.buffers.len() + description.uniforms.len();
        let limit = dialect.max_buffers();
        if count > limit {
            return Err(EmitError::Buffers { kernel: kernel.name.clone(), language: dialect.language(), count, limit });
        }
        let text = writer::kernel(self, &description, local)?;
        self.items.push(text);
        Ok(description)
    }

    /// The file.
    pub fn text(&self) -> String {
        let parts = std::iter::once(self.dialect.head().to_string());
        parts
            .chain(self.helpers.texts().map(String::from))
            .chain(self.items.iter().cloned())
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// Words of the language, and names that the writer gives: places, positions, and helpers, which end with a type.
fn is_taken(dialect: &dyn Dialect, name: &str) -> bool {
    const OURS: [&str; 3] = ["idx", "iidx", "oidx"];
    let helper = name.rsplit_once('_').is_some_and(|(_, end)| Ty::from_name(end).is_some());
    dialect.is_reserved(name) || dialect.is_place(name) || OURS.contains(&name) || helper || name.starts_with("atomic_")
}
