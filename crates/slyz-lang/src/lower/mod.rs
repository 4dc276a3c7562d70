//! Lowering: from the typed tree of a function to a kernel for one thread.
//!
//! ```text
//! typed::Function ── flatten ── exits ──> code with one way in and one way out
//!                 ── control, values, access ──> SIR, one assignment per name
//! ```
//!
//! * `flatten` takes statements out of expressions, `exits` takes out `break`, `continue` and `return`.
//! * `reach` finds what is called: functions of numbers stay functions, all others become part of the kernel.
//! * `memories` declares tensors, arrays and sizes; `access` reads and writes them, behind a `check` where it is not known to
//!   be inside.
//! * `live` says which locals a branch gives and a loop carries; `writer` holds the code that is made.
//!
//! It knows no blocks and no devices, proves nothing about indices (that is the pass `bounds`), and reports nothing
//! about programs: the checker has done that. What it makes is for people to read, too.

mod access;
mod control;
mod exits;
mod flatten;
mod live;
mod memories;
mod reach;
mod values;
mod walk;
mod writer;

pub(crate) use reach::touches_memory;
pub(crate) use writer::{DEEPEST_CALL, accessed};

use crate::span::Span;
use crate::typed::{Function, FunctionId, ParamKind, Program};
use live::Locals;
use slyz_sir::code::{self, Body, FnId, MemId};
use slyz_sir::kernel::Kernel;
use slyz_sir::launch::Template;
use slyz_sir::nesting;
use slyz_sir::size::{Size, SizeVar};
use slyz_sir::write::Write as _;
use std::collections::HashMap;
use std::fmt;
use writer::{Frame, Lowered, TemplateWriter, Value};

/// The most statements of a kernel, with all that it calls.
pub const MAX_STATEMENTS: usize = 200_000;

/// A kernel that is too large for devices to compile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{function}` is too large: {what}")]
pub struct TooLarge {
    /// The function whose code went past the limit.
    pub function: String,
    /// Which limit.
    pub what: Excess,
}

/// What there is too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// Statements.
    Statements,
    /// Blocks or calls inside each other.
    Nesting,
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Excess::Statements => write!(
                f,
                "with the functions it calls, which become part of it, the kernel has more than {MAX_STATEMENTS} statements; \
                 call functions that touch memory in fewer places, for instance from a loop"
            ),
            Excess::Nesting => f.write_str(
                "blocks, loops and calls stand too deep inside each other; move inner parts after each other, or into \
                 functions of numbers only",
            ),
        }
    }
}

/// A kernel, and where its accesses stand in the source.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) template: Template,
    /// The accesses to memory of the block, in the order of the code.
    pub(crate) accesses: Vec<Span>,
}

/// The kernel of a graph function.
///
/// The program is one that the checker made, and the function one of it; a result that it gives is dropped. The size variables, memories and
/// parameters of the kernel stand in the order that [`slyz_sir::launch`] describes.
pub fn lower(program: &Program, function: FunctionId) -> Result<Template, TooLarge> {
    lower_placed(program, function).map(|placed| placed.template)
}

/// The same, with places.
pub(crate) fn lower_placed(program: &Program, function: FunctionId) -> Result<Placed, TooLarge> {
    let root = &program.functions[function.0 as usize];
    let reached = reach::reached(program, function)?;
    let memories = memories::memories(program, &reached, function);
    let kept = reached.iter().filter(|(id, reached)| !reached.touches && **id != function);
    let functions: HashMap<FunctionId, FnId> = kept.map(|(&id, _)| id).zip((0..).map(FnId)).collect();
    // Accesses are checked in all that a kernel calls, or in nothing: a launch is safe as a whole.
    let mut writer = TemplateWriter::new(program, &reached, &memories, &functions, !root.unchecked);
    let mut names = memories::Names::default();
    let mut lowered = vec![];
    for (&id, reached) in &reached {
        if functions.contains_key(&id) {
            let function = &program.functions[id.0 as usize];
            let body = body(&mut writer, id, function, &reached.code)?;
            lowered.push(code::Function { name: names.unique(&function.name), body });
        }
    }
    let mut body = body(&mut writer, function, root, &reached[&function].code)?;
    body.results.clear();
    let accesses = std::mem::take(&mut writer.accesses);
    let values = std::mem::take(&mut writer.names);
    let grid = [0, 1, 2].map(|axis| Size::Var(SizeVar(axis)));
    let kernel = Kernel {
        name: memories::legal(&root.name),
        sizes: memories.sizes,
        memories: memories.memories,
        functions: lowered,
        grid,
        block: [1, 1, 1],
        precision: None,
        product: None,
        raw: None,
        as_written: root.as_written,
        names: values,
        body,
    };
    if nesting::check(&kernel.functions, &kernel.body).is_err() {
        return Err(TooLarge { function: root.name.clone(), what: Excess::Nesting });
    }
    debug_assert_eq!(slyz_sir::verify::kernel(&kernel), Ok(()), "{kernel}");
    Ok(Placed { template: Template { kernel, constants: memories.constants }, accesses })
}

/// The body of a function or of the kernel: scalar parameters, and the result, if there is one.
fn body<'p>(
    writer: &mut TemplateWriter<'p>,
    id: FunctionId,
    function: &Function,
    code: &'p exits::Structured,
) -> Lowered<Body> {
    let mut params = vec![];
    let mut locals = vec![None; code.locals.len()];
    let mut tensors = vec![];
    for param in &function.params {
        tensors.push(match param.kind {
            ParamKind::Scalar(local, ty) => {
                let var = writer.var(ty);
                locals[local.0 as usize] = Some(Value::Name(var.id));
                writer.names.note(var.id, &param.name);
                params.push(var);
                None
            }
            ParamKind::Tensor { .. } => Some(MemId(tensors.iter().flatten().count() as u32)),
        });
    }
    let frame = Frame { function: id, types: &code.locals, locals, log: vec![], tensors };
    writer.enter(frame, |writer| {
        writer.root(params, |writer| {
            let mut after = Locals::default();
            code.result.into_iter().for_each(|result| after.insert(result));
            writer.stmts(&code.body, &after)?;
            Ok(code.result.map(|result| writer.get(result)).into_iter().collect())
        })
    })
}
