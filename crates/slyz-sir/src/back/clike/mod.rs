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
//! variables  where loops and branches go on in the variable of a value
//! memory     loads, stores, atomics, barriers, subgroups
//! names      names that nobody has yet
//! roles      what people would call a value
//! ```
//!
//! What it does not do: `lanes` loops. A lowering for GPUs has spread them over threads.

mod control;
mod describe;
mod expr;
mod functions;
pub mod helpers;
mod lines;
mod memory;
mod names;
mod roles;
mod variables;
mod writer;

pub use describe::{BufferSlot, Description, Dispatch, PlaceName, SharedSlot, Uniform, UniformSource};
pub use helpers::Helpers;

use super::EmitError;
use super::tree::Tree;
use crate::code::{AtomicOp, Fragment, Scope, SubgroupOp};
use crate::expand::{Means, as_calls};
use crate::kernel::{Kernel, Memory, Space};
use crate::lower::gpu::Machine;
use crate::ops::Operator;
use crate::types::{Scalar, Ty};
use names::Names;

/// How the counter of a loop goes on.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// To the next number.
    One,
    /// By so many.
    By(&'a Tree),
    /// To so many times as much.
    Times(&'a Tree),
}

impl Step<'_> {
    /// What a turn ends with; `one` counts by one.
    pub fn text(self, name: &str, one: &str) -> String {
        match self {
            Step::One => one.to_string(),
            Step::By(by) => format!("{name} += {by}"),
            Step::Times(times) => format!("{name} *= {times}"),
        }
    }
}

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
    fn special(&self, value: Scalar, helpers: &Helpers) -> Tree;
    /// What `i64` is held in: `i32` where the language has no more and arrays are small enough.
    fn positions(&self) -> Ty {
        Ty::I64
    }
    /// Does the language convert between integers by itself, as C does?
    fn converts(&self) -> bool {
        true
    }
    /// Do signed integers wrap around? In C their overflow means nothing.
    fn wraps(&self) -> bool {
        false
    }
    /// Do integers divide as the table says, by zero too?
    fn divides(&self) -> bool {
        false
    }
    /// What operators on integers of fewer than 32 bits give.
    fn promoted(&self, _ty: Ty) -> Ty {
        Ty::I32
    }
    /// Are floats of that type held in a wider one, and rounded after every operator?
    fn rounds(&self, _ty: Ty) -> bool {
        false
    }
    /// The type of the number of bits that a shift goes.
    fn shift_amount(&self) -> Ty {
        Ty::I32
    }
    /// A number as another type, by the language's own conversion.
    fn cast(&self, _from: Ty, to: Ty, x: Tree, _helpers: &Helpers) -> Tree {
        Tree::cast(self.scalar(to).unwrap_or_default(), x)
    }
    /// One of two values.
    fn choice(&self, condition: Tree, a: Tree, b: Tree) -> Tree {
        Tree::choice(condition, a, b)
    }
    /// The bits of `x` as another type of that width.
    fn bits(&self, from: Ty, to: Ty, x: Tree) -> Tree;
    /// Qualifier of memory; empty where pointers are the same for all.
    fn space(&self, space: Space) -> &'static str;
    /// What stands before functions that kernels call.
    fn inline(&self) -> &'static str {
        "inline"
    }
    /// Everything before the body of a function that kernels call; parameters as types and names.
    fn function_head(&self, name: &str, parameters: &[(String, String)], result: &str) -> String {
        let parameters: Vec<String> = parameters.iter().map(|(ty, name)| format!("{ty} {name}")).collect();
        format!("{} {result} {name}({})", self.inline(), parameters.join(", "))
    }
    /// The same for one that gives nothing.
    fn procedure_head(&self, name: &str, parameters: &[(String, String)]) -> String {
        self.function_head(name, parameters, "void")
    }
    /// Are memories of a kernel parameters of it, which its functions do not see?
    fn passes_memories(&self) -> bool {
        true
    }
    /// A name for a value. Without a value it is assigned later.
    fn declare(&self, declared: Declared, ty: &str, name: &str, value: Option<&Tree>) -> String {
        let _ = declared;
        match value {
            Some(value) => format!("{ty} {name} = {value};"),
            None => format!("{ty} {name};"),
        }
    }
    /// Is a memory written as an array of arrays?
    fn nests(&self, _memory: &Memory) -> bool {
        false
    }
    /// The memory of a thread.
    fn local_array(&self, ty: &str, name: &str, elements: Option<u64>) -> String {
        match elements {
            Some(elements) => format!("{ty} {name}[{elements}];"),
            None => format!("{ty} {name};"),
        }
    }
    /// `if`, before its block.
    fn if_head(&self, condition: &Tree) -> String {
        format!("if ({condition})")
    }
    /// A loop, before its block; without a condition it is left by `break`.
    fn while_head(&self, condition: Option<&Tree>) -> String {
        condition.map_or("while (true)".to_string(), |condition| format!("while ({condition})"))
    }
    /// A loop with a counter, before its block.
    fn for_head(&self, [ty, name]: [&str; 2], first: &Tree, compared: &Tree, step: Step<'_>) -> String {
        let next = step.text(name, &format!("++{name}"));
        format!("for ({ty} {name} = {first}; {compared}; {next})")
    }
    /// May a single statement stand without braces?
    fn goes_without_braces(&self) -> bool {
        true
    }
    /// A call whose result nobody wants.
    fn unused(&self, call: &Tree) -> String {
        format!("{call};")
    }
    /// The declaration of a type with several fields, as types and names.
    fn record(&self, name: &str, fields: &[(String, String)]) -> String {
        let fields: Vec<String> = fields.iter().map(|(ty, name)| format!("{ty} {name};")).collect();
        format!("struct {name} {{ {} }};\n", fields.join(" "))
    }
    /// A value of such a type, where a function gives it back.
    fn record_value(&self, _name: &str, values: &[String]) -> String {
        format!("{{ {} }}", values.join(", "))
    }
    /// Everything before the body of a kernel.
    fn signature(&self, description: &Description) -> String;
    /// The first lines of the body of a kernel, of what the others mention.
    fn prologue(&self, _description: &Description, _mentions: &dyn Fn(&str) -> bool) -> Vec<String> {
        vec![]
    }
    /// The type of so many neighbours that are read and written at once, with fields `x`, `y`, `z`, `w`.
    fn vector(&self, _ty: Ty, _count: usize) -> Option<&'static str> {
        None
    }
    /// The type of four words that hold eight neighbours of 16 bits, for which there are functions `low_half` and `high_half`.
    fn vector_of_words(&self, _ty: Ty) -> Option<&'static str> {
        None
    }
    /// Such neighbours, of which one is the first.
    fn vector_read(&self, vector: &str, first: &Tree) -> String {
        format!("*(const {vector}*)&{first}")
    }
    /// May neighbours in memory of a block be read and written at once?
    fn has_shared_vectors(&self) -> bool {
        false
    }
    /// A product of fragments: six words of the factors, and the sums so far, or none of them where it has no word for it. It is of the type
    /// that holds four floats.
    fn mma(&self, _fragment: Fragment, _words: &[Tree], _sums: Tree) -> Option<Tree> {
        None
    }
    /// A fragment whose row of a lane begins at the element.
    fn load_fragment(&self, _first: Tree, _turned: bool) -> Option<Tree> {
        None
    }
    /// A value as it lies in memory.
    fn packed(&self, _: &Cell, value: Tree) -> Tree {
        value
    }
    /// Writes such neighbours.
    fn vector_write(&self, vector: &str, first: &Tree, values: &[Tree]) -> String {
        let value = Tree::call(format!("make_{vector}"), values.iter().cloned());
        format!("*({vector}*)&{first} = {value};")
    }
    /// Where a thread stands.
    fn place(&self, place: PlaceName, dimension: u8, rank: usize) -> Tree;
    /// Threads wait; `global` when they also see each other's writes to global memory.
    fn barrier(&self, scope: Scope, global: bool) -> Vec<String>;
    /// Writes become visible.
    fn fence(&self, scope: Scope) -> String;
    /// A value that is the same in all threads.
    fn uniform(&self, uniform: &Uniform) -> Tree {
        Tree::name(&uniform.name)
    }
    /// What is read from an element.
    fn read(&self, _cell: &Cell, element: Tree, _helpers: &Helpers) -> Tree {
        element
    }
    /// What all threads of a block read together from an element of its memory, where the language must be told that they do.
    fn read_together(&self, _cell: &Cell, _element: &Tree) -> Option<Tree> {
        None
    }
    /// A value into an element.
    fn write(&self, _cell: &Cell, element: Tree, value: Tree, _helpers: &Helpers) -> String {
        element.assignment(&value)
    }
    /// An error where the devices lack something that a kernel needs.
    fn check(&self, _description: &Description) -> Result<(), EmitError> {
        Ok(())
    }
    /// Has the language no function for a float operator? Then the table's own is written out.
    fn lacks(&self, _operator: Operator, _ty: Ty) -> bool {
        false
    }
    /// A function of all bits of a `u64`, and the type of its result.
    fn wide_bits(&self, operator: Operator, helpers: &Helpers) -> (String, Ty);
    /// Total division or remainder of integers, where plain ones are not.
    fn divide(&self, operator: Operator, ty: Ty, helpers: &Helpers) -> String;
    /// The smaller or larger of two numbers.
    fn extreme(&self, operator: Operator, ty: Ty, helpers: &Helpers) -> String;
    /// A float as an integer: saturating, 0 for NaN.
    fn to_int(&self, from: Ty, to: Ty, helpers: &Helpers) -> String;
    /// The size of a signed integer.
    fn absolute(&self, ty: Ty, helpers: &Helpers) -> String;
    /// -1, 0 or 1.
    fn sign(&self, ty: Ty, helpers: &Helpers) -> String;
    /// `c` and the sum of four products of bytes.
    fn dot4(&self, helpers: &Helpers) -> String;
    /// The function for an operator on a type. Where the language has none, the dialect adds one to the helpers.
    fn function(&self, operator: Operator, ty: Ty, helpers: &Helpers) -> String;
    /// Is there such an atomic on that type?
    fn has_atomic(&self, op: AtomicOp, ty: Ty) -> bool;
    /// An atomic that there is, on an element of a memory: `fetch_add`, `exchange`, `load`, …
    fn atomic(&self, name: &str, space: Space, ty: Ty, element: Tree, value: Option<Tree>) -> Tree;
    /// An element of floats as a word of that type, for atomics on its bits. Where an atomic says of what type its word is, that is the element.
    fn as_word(&self, _space: Space, _bits: Ty, element: Tree) -> Tree {
        element
    }
    /// Replaces an element that is the first of `args` by the second, and gives what it was.
    fn compare_exchange(&self, space: Space, ty: Ty, element: Tree, args: [Tree; 2], helpers: &Helpers) -> Tree;
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
    /// Can a host launch any number of threads? Otherwise it launches whole blocks, and those past the end do nothing.
    fn counts_threads(&self) -> bool {
        true
    }
    /// Are there loops over lanes for what subgroups do not do by themselves?
    fn walks_lanes(&self) -> bool {
        true
    }
    /// What the devices have. Hosts refuse calls with arrays of more positions than the machine's.
    fn machine(&self) -> Machine;
    /// Buffers and uniforms of a launch.
    fn max_buffers(&self) -> usize;
}

/// How a name is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// It keeps its value.
    Once,
    /// It is assigned again.
    Changing,
}

/// A memory as its elements are read and written.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    /// In the text.
    pub name: &'a str,
    /// What was declared.
    pub memory: &'a Memory,
    /// There are atomics on it.
    pub atomic: bool,
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
/// let (text, _) = clike::emit(&Msl::default(), &[&kernel])?;
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
        if kernel.raw.is_some() {
            return Err(EmitError::Raw { kernel: kernel.name.clone(), language: dialect.language() });
        }
        let mut local = Names::default();
        let mut free_name = |asked: &str| local.free(asked, &|name| is_taken(dialect, name));
        let fused = dialect.machine().fused;
        let means = Means { fused, paired: !fused, lanes: false };
        let calling = as_calls(kernel, means, &|operator, ty| dialect.lacks(operator, ty));
        let kernel = calling.as_ref().unwrap_or(kernel);
        let mut description = Description::new(kernel, &dialect.machine(), dialect.counts_threads(), &mut free_name);
        if dialect.is_reserved(&description.name) {
            description.name += "_kernel";
        }
        let count = description.buffers.len() + description.uniforms.len();
        let limit = dialect.max_buffers();
        if count > limit {
            return Err(EmitError::Buffers { kernel: kernel.name.clone(), language: dialect.language(), count, limit });
        }
        dialect.check(&description)?;
        let text = writer::kernel(self, &description, local)?;
        self.items.push(text);
        Ok(description)
    }

    /// The file.
    pub fn text(&self) -> String {
        let parts = std::iter::once(self.dialect.head().to_string());
        parts
            .filter(|head| !head.is_empty())
            .chain(self.helpers.texts())
            .chain(self.items.iter().cloned())
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// Words of the language, and names that the writer gives: places, positions, and helpers, which end with a type.
fn is_taken(dialect: &dyn Dialect, name: &str) -> bool {
    const OURS: [&str; 3] = ["idx", "iidx", "oidx"];
    let helper = name.rsplit_once('_').is_some_and(|(_, end)| Ty::from_name(end).is_some());
    let prefixed = ["atomic_", "tell_outside"].iter().any(|prefix| name.starts_with(prefix));
    dialect.is_reserved(name) || dialect.is_place(name) || OURS.contains(&name) || helper || prefixed
}
