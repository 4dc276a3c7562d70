//! Cases: arguments and what they must give, behind the program or kernel they are about.
//!
//! Checks that every argument is there, once, with the element type and rank it is declared with. Whether the sizes
//! agree is seen when the case is run.
//!
//! A case of a kernel that leaves its threads open ([`crate::launch`]) says how it is launched, and may say that this fails:
//!
//! ```text
//! case "every element" launch { … }
//! case "the first five" launch threads [5, 1, 1] { … }
//! case "in blocks" launch grid [2, 1, 1] block [32, 1, 1] { … expect error "`x[3]`" }
//! ```

use super::lex::Kind;
use super::parse::{Parsed, Parser};
use crate::code::Type;
use crate::interp::{Array, Value};
use crate::kernel::{Access, Kernel, Space};
use crate::program::Program;
use crate::size::{Size, SizeDecl, SizeVar};
use crate::threads::Threads;
use crate::types::{Scalar, Ty};

/// What a case is about, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A program of the module.
    Program(String),
    /// A kernel of the module.
    Kernel(String),
}

/// One run: arguments, and the results they must give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What the case shows.
    pub name: String,
    /// What is run.
    pub subject: Subject,
    /// Sizes by name. For a program those that are written in the case; for a kernel also those that the shapes of its
    /// memories tell.
    pub sizes: Vec<(String, u64)>,
    /// The threads of a kernel that leaves them open.
    pub launch: Option<Threads>,
    /// For a program its arguments in order. For a kernel its global and constant memories in order, as arrays, then
    /// its parameters.
    pub args: Vec<Value>,
    /// For a program its results in order. For a kernel some of its memories, after the launch.
    pub expect: Vec<Expect>,
    /// The launch fails, and that is part of what is said.
    pub fails: Option<String>,
}

/// A value that must come out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expect {
    /// The memory of a kernel it is read from.
    pub memory: Option<String>,
    /// The value.
    pub value: Value,
    /// How many units in the last place a float may be off.
    pub ulp: u32,
}

/// What a case must give and may expect: the subject as seen from outside.
pub(super) struct Slots {
    subject: Subject,
    sizes: Vec<SizeDecl>,
    args: Vec<Slot>,
    /// Of a program.
    results: Vec<Slot>,
}

/// A value by name.
struct Slot {
    /// Without the `%`.
    name: String,
    ty: Ty,
    /// `None` for a scalar; a kernel's memory of rank 0 is an array.
    shape: Option<Vec<Size>>,
    /// A memory, whose name has no `%`.
    memory: bool,
    /// A memory that is not read, so a case need not give it.
    written: bool,
}

/// A memory that a case does not give is filled in up to this many elements.
const MOST_FILLED: u64 = 1 << 20;

impl Slot {
    fn of(name: String, ty: &Type) -> Slot {
        let shape = match ty {
            Type::Scalar(_) => None,
            Type::Array(_, shape) => Some(shape.clone()),
        };
        Slot { name, ty: ty.elem(), shape, memory: false, written: false }
    }

    fn fits(&self, value: &Value) -> bool {
        match (value, &self.shape) {
            (Value::Scalar(scalar), None) => scalar.ty == self.ty,
            (Value::Array(array), Some(shape)) => array.ty == self.ty && array.shape.len() == shape.len(),
            (Value::Scalar(_), Some(_)) | (Value::Array(_), None) => false,
        }
    }

    fn describe(&self) -> String {
        match &self.shape {
            None => format!("one {}", self.ty),
            Some(shape) => format!("an array of {} and rank {}", self.ty, shape.len()),
        }
    }

    fn shown(&self) -> String {
        format!("`{}{}`", if self.memory { "" } else { "%" }, self.name)
    }
}

impl<'t> Parser<'t> {
    /// What cases behind this program, the last one read, look like.
    pub fn program_slots(&self, program: &Program) -> Slots {
        let args = self.param_slots(&program.body.params);
        let result = |id| self.type_of(id).map(|ty| Slot::of(String::new(), ty));
        let results = program.body.results.iter().filter_map(|&id| result(id)).collect();
        Slots { subject: Subject::Program(program.name.clone()), sizes: program.sizes.clone(), args, results }
    }

    /// The same for a kernel.
    pub fn kernel_slots(&self, kernel: &Kernel) -> Slots {
        let mut args = Vec::new();
        for memory in &kernel.memories {
            let written = match memory.space {
                Space::Global(Access::Write) => true,
                Space::Global(Access::Read | Access::ReadWrite) | Space::Constant => false,
                Space::Shared | Space::Scratch | Space::Local => continue,
            };
            let name = memory.name.clone();
            let shape = Some(memory.shape.clone());
            args.push(Slot { name, ty: memory.ty, shape, memory: true, written });
        }
        args.extend(self.param_slots(&kernel.body.params));
        Slots { subject: Subject::Kernel(kernel.name.clone()), sizes: kernel.sizes.clone(), args, results: Vec::new() }
    }

    pub fn case(&mut self, slots: &Slots) -> Parsed<Case> {
        self.keyword("case")?;
        let Kind::Text(name) = self.peek() else { return Err(self.expected("the name of the case in quotes")) };
        let place = self.at();
        self.bump();
        let mut sizes = self.case_sizes(slots)?;
        let in_kernel = matches!(slots.subject, Subject::Kernel(_));
        let launch = if in_kernel && self.eat_word("launch") { Some(self.threads()?) } else { None };
        self.mark("{")?;
        let given = self.case_args(slots)?;
        if in_kernel {
            solve(slots, &given, &mut sizes);
        }
        let mut args = Vec::with_capacity(given.len());
        for (slot, value) in slots.args.iter().zip(given) {
            let value = value.or_else(|| zeros(slots, slot, &sizes));
            let missing = || self.error(place, format!("a value for {}", slot.shown()), "none in this case");
            args.push(value.ok_or_else(missing)?);
        }
        let mut expect = Vec::new();
        let mut fails = None;
        while self.peek() == Kind::Word("expect") {
            if launch.is_some() && self.peek_past() == Kind::Word("error") {
                fails = Some(self.expected_error()?);
                continue;
            }
            let expected =
                if in_kernel { self.kernel_expect(slots)? } else { self.program_expect(slots, expect.len())? };
            expect.push(expected);
        }
        if !in_kernel && expect.len() < slots.results.len() {
            return Err(self.expected(format!("`expect` for result {}", expect.len())));
        }
        if !self.eat("}") {
            return Err(self.expected("an argument, `expect` or `}`"));
        }
        Ok(Case { name: name.to_string(), subject: slots.subject.clone(), sizes, launch, args, expect, fails })
    }

    /// `threads [5, 1, 1] block [32, 1, 1]`, or `grid` in place of `threads`, or less.
    fn threads(&mut self) -> Parsed<Threads> {
        let threads =
            if self.eat_word("threads") { Some(self.three(|p| p.number("a number of threads"))?) } else { None };
        let counts_blocks = threads.is_none() && self.eat_word("grid");
        let grid = if counts_blocks { Some(self.three(|p| p.number("a number of blocks"))?) } else { None };
        let block = if self.eat_word("block") { Some(self.three(|p| p.number("threads of a block"))?) } else { None };
        match (threads, grid, block) {
            (None, None, None) => Ok(Threads::Inferred),
            (Some(threads), _, None) => Ok(Threads::Exact(threads)),
            (Some(threads), _, Some(block)) => Ok(Threads::InBlocks { threads, block }),
            (None, Some(grid), Some(block)) => Ok(Threads::Blocks { grid, block }),
            (None, Some(_), None) => Err(self.expected("`block`, and how many threads each has")),
            (None, None, Some(_)) => Err(self.expected("`threads` or `grid` in front of `block`")),
        }
    }

    /// `expect error "outside"`
    fn expected_error(&mut self) -> Parsed<String> {
        self.keyword("expect")?;
        self.keyword("error")?;
        let Kind::Text(text) = self.peek() else { return Err(self.expected("a part of the message in quotes")) };
        self.bump();
        Ok(text.to_string())
    }

    /// `N=2 M=3`
    fn case_sizes(&mut self, slots: &Slots) -> Parsed<Vec<(String, u64)>> {
        let mut sizes: Vec<(String, u64)> = Vec::new();
        while let Kind::Word(name) = self.peek() {
            if name == "launch" && self.peek_past() != Kind::Mark("=") {
                break;
            }
            let declared = slots.sizes.iter().any(|decl| decl.name == name);
            if !declared || sizes.iter().any(|(known, _)| known == name) {
                return Err(self.expected("a size variable of the heading that has no value yet, or `{`"));
            }
            self.bump();
            self.mark("=")?;
            sizes.push((name.to_string(), self.number("a size below 2^64")?));
        }
        Ok(sizes)
    }

    /// What stands before the first `expect`, in the order of the slots.
    fn case_args(&mut self, slots: &Slots) -> Parsed<Vec<Option<Value>>> {
        let mut given: Vec<Option<Value>> = slots.args.iter().map(|_| None).collect();
        loop {
            let (name, memory) = match self.peek() {
                Kind::Word("expect") if self.peek_past() != Kind::Mark("=") => return Ok(given),
                Kind::Word(name) => (name, true),
                Kind::Name(name) => (name, false),
                Kind::Number(_) | Kind::Text(_) | Kind::Mark(_) | Kind::End => return Ok(given),
            };
            let Some(k) = slots.args.iter().position(|slot| slot.name == name && slot.memory == memory) else {
                return Err(self.expected("an argument of the program or kernel, or `expect`"));
            };
            if given[k].is_some() {
                return Err(self.expected("an argument that has no value yet"));
            }
            self.bump();
            self.mark("=")?;
            given[k] = Some(self.fitting(&slots.args[k])?);
        }
    }

    fn program_expect(&mut self, slots: &Slots, k: usize) -> Parsed<Expect> {
        let Some(slot) = slots.results.get(k) else {
            return Err(self.expected("`}` after the last result"));
        };
        self.keyword("expect")?;
        Ok(Expect { memory: None, value: self.fitting(slot)?, ulp: self.within()? })
    }

    fn kernel_expect(&mut self, slots: &Slots) -> Parsed<Expect> {
        self.keyword("expect")?;
        let Kind::Word(name) = self.peek() else { return Err(self.expected("a memory")) };
        let Some(slot) = slots.args.iter().find(|slot| slot.memory && slot.name == name) else {
            return Err(self.expected("a global memory of the kernel"));
        };
        self.bump();
        self.mark("=")?;
        Ok(Expect { memory: Some(name.to_string()), value: self.fitting(slot)?, ulp: self.within()? })
    }

    fn within(&mut self) -> Parsed<u32> {
        if self.eat_word("within") { self.number("a number of units in the last place") } else { Ok(0) }
    }

    fn fitting(&mut self, slot: &Slot) -> Parsed<Value> {
        let at = self.at();
        let value = self.value()?;
        if slot.fits(&value) { Ok(value) } else { Err(self.error(at, slot.describe(), "another type")) }
    }

    /// `f32 0.5` or `f32[2] [1.0, 2.0]`
    fn value(&mut self) -> Parsed<Value> {
        let ty = self.scalar_ty()?;
        let at = self.at();
        if !self.eat("[") {
            return Ok(Value::Scalar(self.literal(ty)?));
        }
        let shape = self.list("]", |p| p.number::<u64>("an extent below 2^64"))?;
        self.mark("[")?;
        let data = self.list("]", |p| p.literal(ty).map(|scalar| scalar.bits))?;
        if cells(&shape) != Some(data.len() as u64) {
            let cells = cells(&shape).map_or_else(|| "more than 2^64".to_string(), |cells| cells.to_string());
            return Err(self.error(at, format!("a shape of {} elements", data.len()), format!("one of {cells}")));
        }
        Ok(Value::Array(Array { ty, shape, data }))
    }

    /// Parameters are the first names a program or kernel binds, and are in sight to its end.
    fn param_slots(&self, params: &[crate::code::Var]) -> Vec<Slot> {
        params.iter().zip(self.names_in_sight()).map(|(var, name)| Slot::of(name.to_string(), &var.ty)).collect()
    }
}

/// The number of elements of a shape.
fn cells(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) { Some(0) } else { shape.iter().try_fold(1u64, |cells, &n| cells.checked_mul(n)) }
}

/// Adds the sizes that are an axis of a given memory.
fn solve(slots: &Slots, given: &[Option<Value>], sizes: &mut Vec<(String, u64)>) {
    for (slot, value) in slots.args.iter().zip(given) {
        let (Some(axes), Some(Value::Array(array))) = (&slot.shape, value) else { continue };
        for (axis, &extent) in axes.iter().zip(&array.shape) {
            let Size::Var(var) = axis else { continue };
            let Some(decl) = slots.sizes.get(var.0 as usize) else { continue };
            if sizes.iter().all(|(name, _)| *name != decl.name) {
                sizes.push((decl.name.clone(), extent));
            }
        }
    }
}

/// A written memory before the launch, if its sizes are known.
fn zeros(slots: &Slots, slot: &Slot, sizes: &[(String, u64)]) -> Option<Value> {
    let axes = slot.shape.as_ref().filter(|_| slot.written)?;
    let value = |var: SizeVar| {
        let decl = slots.sizes.get(var.0 as usize)?;
        sizes.iter().find(|(name, _)| *name == decl.name).map(|(_, n)| *n)
    };
    let shape: Option<Vec<u64>> = axes.iter().map(|size| size.eval(&value).ok()).collect();
    let shape = shape?;
    let cells = cells(&shape).filter(|&cells| cells <= MOST_FILLED)?;
    let data = vec![Scalar::from_int(slot.ty, 0).bits; cells as usize];
    Some(Value::Array(Array { ty: slot.ty, shape, data }))
}
