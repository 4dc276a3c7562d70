//! The trace: the function being compiled, as it is recorded.
//!
//! Each thread has a stack of traces, one per `compile` that is running. A [`Handle`] is a name in one of them.
//! Mistakes never panic: they are noted with their place, the operation gives a poisoned handle, and `compile`
//! returns all of them. What operations record is in `record.rs`; nothing here is generic over user types.

use crate::error::TraceError;
use crate::extent::{Axis, Extent, NamedAxis, axis_number};
use slyz_sir::build::{BuildError, Builder};
use slyz_sir::choices::Precision;
use slyz_sir::code::{FnId, Id, Op, Type};
use slyz_sir::names::Names;
use slyz_sir::program::{Program, Require};
use slyz_sir::quantize::Small;
use slyz_sir::size::{Size, SizeOrigin, SizeVar};
pub use slyz_sir::types::Ty;
use std::any::TypeId;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::panic::Location;

/// A place in the user's source.
#[doc(hidden)]
pub type Loc = &'static Location<'static>;

/// What to do where the parts of an element are not what it says.
pub(crate) const DERIVE: &str = "derive `Elem` instead of implementing `Elem` and `Value` by hand";

/// What every traced value holds: 12 bytes, `Copy`, and bound to its thread, as the trace is.
///
/// ```
/// assert_eq!(size_of::<slyz::Exp<f32>>(), size_of::<slyz::Handle>());
/// ```
#[derive(Clone, Copy)]
pub struct Handle {
    /// A name of the program, or for an array the number of its record.
    pub(crate) id: u32,
    /// The trace; 0 is poison.
    pub(crate) trace: u32,
    /// The number of the axis it is a position of; 0 for anything else.
    axis: u32,
    _here: PhantomData<*const ()>,
}

impl Handle {
    /// Do both stand for one value?
    pub(crate) fn is_same(self, other: Handle) -> bool {
        (self.id, self.trace) == (other.id, other.trace)
    }

    /// Stands for a value that could not be made; someone has already complained.
    pub(crate) const POISON: Handle = Handle { id: 0, trace: 0, axis: 0, _here: PhantomData };

    /// A number that is none: for asking what kind of value something is.
    pub(crate) const NUMBER: Handle = Handle { id: 0, trace: u32::MAX - 1, axis: 0, _here: PhantomData };

    /// Stands for an array among the arguments of a shared function.
    pub(crate) fn as_array_argument(self) -> Handle {
        Handle { trace: u32::MAX, axis: 0, ..self }
    }

    pub(crate) fn is_array(self) -> bool {
        self.trace == u32::MAX
    }

    /// The same value as a position of the axis with that number, or as a plain number for 0.
    pub(crate) fn on_axis(self, axis: u32) -> Handle {
        Handle { axis, ..self }
    }

    /// Is it a position of the axis with that number? What is not is turned into a mistake: reads rely on it.
    #[track_caller]
    pub(crate) fn expect_axis(self, axis: u32) -> Handle {
        if axis == 0 || self.axis == axis || self.trace == 0 {
            return self;
        }
        error(Location::caller(), "a number stands where a position of another axis must be", DERIVE);
        Handle::POISON
    }

    /// The number of the axis it is a position of; 0 for anything else.
    pub(crate) fn axis(self) -> u32 {
        self.axis
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        if self.trace == 0 { f.write_str("%poison") } else { write!(f, "%{}", self.id) }
    }
}

/// One buffer of an array: what it stores, and for positions the axis they must lie on.
///
/// ```
/// use slyz::{Elem, Leaf, Ty};
/// assert_eq!(<(f32, bool)>::parts(), [Leaf::of(Ty::F32), Leaf::of(Ty::Bool)]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    pub(crate) ty: Ty,
    /// The axis of positions, with its name.
    pub(crate) axis: Option<(Extent, String)>,
    /// The number of that axis, or 0.
    pub(crate) number: u32,
}

impl Leaf {
    /// Plain data.
    ///
    /// ```
    /// use slyz::{Leaf, Ty};
    /// assert_eq!(Leaf::of(Ty::F32), Leaf::of(Ty::F32));
    /// ```
    pub fn of(ty: Ty) -> Leaf {
        Leaf { ty, axis: None, number: 0 }
    }

    /// Positions on an axis.
    ///
    /// ```
    /// use slyz::{At, Elem, Fix, Leaf};
    /// assert_eq!(At::<Fix<3>>::parts(), [Leaf::positions::<Fix<3>>()]);
    /// ```
    pub fn positions<A: Axis>() -> Leaf {
        let axis = Some((Extent::of::<A>(), A::name()));
        Leaf { ty: Ty::I64, axis, number: axis_number::<A>() }
    }
}

/// What a call must pass for one scalar or array of its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    /// The argument it is in, from 1.
    pub argument: usize,
    /// The fields that lead to it, with dots; empty for a whole argument.
    pub field: String,
    pub axes: Vec<Extent>,
    /// The names of the axes, as the type spells them.
    pub names: Vec<String>,
    pub leaves: Vec<Leaf>,
}

/// A result of the traced function, in the order it is returned.
pub(crate) enum Out {
    Scalar(Handle),
    Array(Handle),
}

/// One scalar or array of a state.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Part {
    pub(crate) handle: Handle,
    /// The type of an array; `None` for a scalar.
    pub(crate) array: Option<TypeId>,
}

impl Part {
    pub(crate) fn scalar(handle: Handle) -> Part {
        Part { handle, array: None }
    }

    pub(crate) fn out(self) -> Out {
        match self.array {
            Some(_) => Out::Array(self.handle),
            None => Out::Scalar(self.handle),
        }
    }

    /// The same kind of part with another value.
    pub(crate) fn like(self, handle: Handle) -> Part {
        Part { handle: handle.on_axis(self.handle.axis()), array: self.array }
    }

    /// Is the other one of the same kind? That arrays of positions, and positions, are what they say rests on it.
    pub(crate) fn is_like(self, other: Part) -> bool {
        let poisoned = self.handle.trace == 0 || other.handle.trace == 0;
        poisoned || (self.array == other.array && self.handle.axis() == other.handle.axis())
    }

    /// The handle of a part that should be of that kind.
    #[track_caller]
    pub(crate) fn expect(self, kind: Part) -> Handle {
        if self.is_like(kind) {
            return self.handle;
        }
        let help = "derive the struct's traits instead of implementing `State` by hand";
        error(Location::caller(), "a part of a state stands where one of another type must be", help);
        Handle::POISON
    }
}

/// A finished trace.
pub(crate) struct Traced {
    pub program: Program,
    /// The axis behind each size variable of the program.
    pub sizes: Vec<NamedAxis>,
    pub slots: Vec<Slot>,
    /// The smaller numbers that a function asked for.
    pub small: Option<Small>,
}

/// What tells shared functions apart: the type of the closure, and the host constants among the arguments.
#[doc(hidden)]
pub type Key = (TypeId, Vec<u64>);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Its body is being traced.
    Open,
    /// A function of the program.
    Shared(FnId),
    /// Its body is more than scalar code and must be traced at every call.
    Inline,
    /// Its body had mistakes.
    Failed,
}

/// Where a body was opened, and by what.
struct BodyNote {
    what: &'static str,
    at: Loc,
}

/// One function under construction.
pub(crate) struct Trace {
    number: u32,
    pub builder: Builder,
    /// By the builder's number of the body.
    bodies: Vec<BodyNote>,
    /// Where each name was made.
    made: Vec<Option<Loc>>,
    /// The leaves of each array.
    arrays: Vec<Vec<Id>>,
    errors: Vec<TraceError>,
    /// The cap on statements was hit and reported.
    full: bool,
    pub functions: HashMap<Key, State>,
    /// The shared functions whose bodies are open, innermost last: have they left scalar code?
    pub open_functions: Vec<bool>,
    sizes: Vec<NamedAxis>,
    /// Axes that a filter counts, and where.
    counted: HashMap<TypeId, Loc>,
    slots: Vec<Slot>,
    /// Parameters that nobody has named, and what their names will end with: they are parts of what people name.
    unnamed: HashMap<Id, String>,
    names: Names,
    /// The most that a function asked for.
    pub precision: Option<Precision>,
    /// The smaller numbers that a function asked for.
    pub small: Option<Small>,
}

#[derive(Default)]
struct Stack {
    last: u32,
    traces: Vec<Trace>,
}

thread_local! {
    static STACK: RefCell<Stack> = RefCell::default();
    static ON_BEHALF: Cell<Option<Loc>> = const { Cell::new(None) };
}

/// Works on the innermost trace, or does nothing when there is none. `f` must not call user code.
pub(crate) fn with<R>(f: impl FnOnce(&mut Trace) -> R) -> Option<R> {
    STACK.with(|stack| stack.borrow_mut().traces.last_mut().map(f))
}

/// Runs library code that was called from `at`: `#[track_caller]` does not reach into closures.
pub(crate) fn on_behalf<R>(at: Loc, f: impl FnOnce() -> R) -> R {
    struct Back(Option<Loc>);
    impl Drop for Back {
        fn drop(&mut self) {
            ON_BEHALF.set(self.0);
        }
    }
    let _back = Back(ON_BEHALF.replace(Some(here(at))));
    f()
}

/// The place to blame for what is called from `at`.
pub(crate) fn here(at: Loc) -> Loc {
    ON_BEHALF.get().unwrap_or(at)
}

/// How many mistakes are worth reading.
const MOST_ERRORS: usize = 50;

impl Trace {
    pub fn error(&mut self, at: Loc, what: impl Into<String>, help: impl Into<String>) {
        let error = TraceError { what: what.into(), help: help.into(), at };
        if self.errors.len() < MOST_ERRORS && !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    pub fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    /// Notes what the builder refused.
    pub fn refuse(&mut self, at: Loc, error: BuildError) {
        match error {
            BuildError::TooLarge(_) if self.full => {}
            BuildError::TooLarge(cap) => {
                self.full = true;
                let help = "a Rust loop is unrolled while tracing; move work that repeats into `iterate`, `fold` or a `#[slyz::function]`";
                self.error(at, format!("the function has more than {cap} operations"), help);
            }
            BuildError::NotInScope(id) => self.escaped(id, at),
            BuildError::Type(why) => {
                self.error(at, why.to_string(), "change the types of the operands, or `.cast()` them")
            }
            BuildError::Unbalanced => self.error(
                at,
                error.to_string(),
                "do not call `compile` or keep closures across bodies in this function",
            ),
        }
    }

    fn handle(&self, id: u32) -> Handle {
        Handle { id, trace: self.number, axis: 0, _here: PhantomData }
    }

    pub fn scalar(&self, id: Id) -> Handle {
        self.handle(id.0)
    }

    pub fn array(&mut self, leaves: Vec<Id>) -> Handle {
        self.arrays.push(leaves);
        self.handle(self.arrays.len() as u32 - 1)
    }

    /// Does the handle belong to this trace?
    fn owns(&mut self, handle: Handle, at: Loc) -> bool {
        if handle.trace == 0 {
            if self.errors.is_empty() {
                let help = "make it inside the function given to `compile`, or pass it as an argument";
                self.error(at, "a value made outside of any traced function is used here", help);
            }
        } else if handle.trace != self.number {
            let help = "values live only inside the function being compiled; pass data as arguments";
            self.error(at, "a value of another traced function is used here", help);
        }
        handle.trace == self.number
    }

    fn visible(&mut self, id: Id, at: Loc) -> bool {
        let visible = self.builder.in_scope(id);
        if !visible {
            self.escaped(id, at);
        }
        visible
    }

    fn escaped(&mut self, id: Id, at: Loc) {
        let made = self.made.get(id.0 as usize).copied().flatten();
        let made = made.map_or(String::new(), |made| format!("it was made at {made}"));
        let note = self.builder.scope(id).and_then(|scope| self.bodies.get(scope as usize));
        let (what, help) = match note {
            Some(BodyNote { what: "function", .. }) | None => (
                "a value from outside a `#[slyz::function]` is used inside it".to_string(),
                format!("{made}; pass it as an argument of the function"),
            ),
            Some(BodyNote { what, at }) => (
                format!("a value has left the `{what}` body it belongs to"),
                format!(
                    "{made} inside the `{what}` at {at}; return it from that body, then read the result with `.at(..)`"
                ),
            ),
        };
        self.error(at, what, help);
    }

    /// The name behind a scalar, or `None` after noting why there is none.
    pub fn id(&mut self, handle: Handle, at: Loc) -> Option<Id> {
        let id = Id(handle.id);
        (self.owns(handle, at) && self.visible(id, at)).then_some(id)
    }

    /// The names behind scalars; every mistake among them is noted.
    pub fn ids(&mut self, handles: &[Handle], at: Loc) -> Option<Vec<Id>> {
        let ids: Vec<Option<Id>> = handles.iter().map(|&h| self.id(h, at)).collect();
        ids.into_iter().collect()
    }

    /// The leaves behind an array.
    pub fn leaves(&mut self, handle: Handle, at: Loc) -> Option<Vec<Id>> {
        if !self.owns(handle, at) {
            return None;
        }
        let leaves = self.arrays.get(handle.id as usize)?.clone();
        leaves.iter().all(|&id| self.visible(id, at)).then_some(leaves)
    }

    /// The names behind results of either kind.
    pub fn out(&mut self, out: &Out, at: Loc) -> Option<Vec<Id>> {
        match out {
            Out::Scalar(handle) => self.id(*handle, at).map(|id| vec![id]),
            Out::Array(handle) => self.leaves(*handle, at),
        }
    }

    /// The names behind the parts of a state.
    pub fn parts(&mut self, parts: &[Part], at: Loc) -> Option<Vec<Id>> {
        let ids: Vec<Option<Vec<Id>>> = parts.iter().map(|part| self.out(&part.out(), at)).collect();
        Some(ids.into_iter().collect::<Option<Vec<Vec<Id>>>>()?.concat())
    }

    /// The parts of a state with these names, of the same kinds as others.
    pub fn parts_of(&mut self, ids: &[Id], like: &[Part]) -> Vec<Part> {
        let mut rest = ids;
        let mut part = |kind: &Part| {
            let leaves = match kind.array {
                Some(_) => self.arrays.get(kind.handle.id as usize).map_or(0, Vec::len),
                None => 1,
            };
            let (own, behind) = rest.split_at_checked(leaves).unwrap_or_default();
            rest = behind;
            let handle = match (kind.array, own.first()) {
                (Some(_), _) => self.array(own.to_vec()),
                (None, Some(&id)) => self.scalar(id),
                (None, None) => Handle::POISON,
            };
            kind.like(handle)
        };
        like.iter().map(&mut part).collect()
    }

    pub fn note(&mut self, ids: &[Id], at: Loc) {
        for id in ids {
            let place = id.0 as usize;
            if self.made.len() <= place {
                self.made.resize(place + 1, None);
            }
            self.made[place].get_or_insert(at);
        }
    }

    /// Remembers what opened a body; call it for every body the builder opens, in order.
    pub fn note_body(&mut self, what: &'static str, at: Loc) {
        self.bodies.push(BodyNote { what, at });
    }

    pub fn make(&mut self, at: Loc, op: Op) -> Option<Vec<Id>> {
        if let Some(left) = self.open_functions.last_mut() {
            *left |= !is_scalar_code(&op);
        }
        match self.builder.make(op) {
            Ok(ids) => {
                self.note(&ids, at);
                Some(ids)
            }
            Err(error) => {
                self.refuse(at, error);
                None
            }
        }
    }

    /// The size of an axis in this program. Named axes get their size variable here.
    pub fn size(&mut self, extent: &Extent) -> Size {
        extent.size().renamed(&mut |axis| self.size_var(axis))
    }

    pub fn shape(&mut self, axes: &[Extent]) -> Vec<Size> {
        axes.iter().map(|axis| self.size(axis)).collect()
    }

    fn size_var(&mut self, axis: NamedAxis) -> SizeVar {
        match self.sizes.iter().position(|known| known.id == axis.id) {
            Some(place) => SizeVar(place as u32),
            None => {
                self.sizes.push(axis);
                self.builder.add_size(axis.name, SizeOrigin::Given)
            }
        }
    }

    /// Makes a filter the source of a named axis: once per function, outside of bodies, and before any other use.
    pub fn count(&mut self, at: Loc, axis: &Extent) -> Option<SizeVar> {
        let Some(named) = axis.as_named() else {
            let help = "name a fresh axis with `axis!(..)` for the result of `filter`";
            self.error(at, format!("the extent {axis} is fixed, and a filter counts its own"), help);
            return None;
        };
        let name = named.name;
        if self.builder.inside_body() {
            let help = "filter outside of bodies; inside, use `fold` with a condition";
            self.error(at, format!("axis {name} would have a different extent at each position"), help);
            return None;
        }
        if let Some(first) = self.counted.insert(named.id, at) {
            let help = "two filters keep different numbers of elements: give each result its own axis";
            self.error(at, format!("axis {name} already has its extent from {first}"), help);
            return None;
        }
        if self.sizes.iter().any(|known| known.id == named.id) {
            let help = "give the result of `filter` its own axis, and filter before the axis is used";
            self.error(at, format!("axis {name} already has its extent from a parameter or an earlier use"), help);
            return None;
        }
        let var = self.size_var(named);
        self.builder.set_counted(var);
        Some(var)
    }

    /// Says that a call must be able to number the positions of an axis: numbers that are computed for them would wrap around
    /// else. Counted axes are checked when they are counted.
    pub fn require_countable(&mut self, size: Size) {
        if size.constant().is_none() {
            self.builder.require(Require::AtMost(size, Size::Const(i64::MAX as u64)));
        }
    }

    /// Adds something that a call must satisfy. It is checked before anything runs, so counted axes cannot be part of it.
    pub fn require(&mut self, at: Loc, require: Require) {
        let mut late = None;
        for size in require.sizes() {
            size.each_var(&mut |var| {
                let NamedAxis { id, name } = self.sizes[var.0 as usize];
                if self.counted.contains_key(&id) {
                    late = Some(name);
                }
            });
        }
        if let Some(name) = late {
            let help = "read with `at_or`, or fold with a monoid that has an answer for no elements";
            self.error(at, format!("axis {name} is counted while the function runs, and may be too small here"), help);
            return;
        }
        match require.holds(|size| size.constant().ok_or(())) {
            Ok(true) => {}
            Ok(false) => self.error(at, never(&require), "change the axes so that the sizes fit"),
            // The call tells.
            Err(()) => self.builder.require(require),
        }
    }
}

/// Why constant sizes never satisfy a requirement.
fn never(require: &Require) -> String {
    let number = |size: &Size| size.constant().unwrap_or_default();
    match require {
        Require::NonEmpty(_) => "the axis has no positions at all".to_string(),
        Require::Equal(a, b) => format!("{} elements cannot become {}", number(a), number(b)),
        Require::AtMost(a, b) => format!("the slice ends at {}, the axis at {}", number(a), number(b)),
    }
}

/// May it stand in a shared function? Those see no arrays and no sizes.
fn is_scalar_code(op: &Op) -> bool {
    matches!(
        op,
        Op::Const(_)
            | Op::Apply(..)
            | Op::Cast(..)
            | Op::Bitcast(..)
            | Op::Call(..)
            | Op::If { .. }
            | Op::For { .. }
            | Op::While { .. }
    )
}

/// A parameter of the traced function.
pub(crate) fn parameter(at: Loc, slot: Slot) -> Vec<Handle> {
    with(|trace| {
        let shape = trace.shape(&slot.axes);
        let ids: Vec<Id> =
            slot.leaves.iter().map(|leaf| trace.builder.param(Type::of(leaf.ty, shape.clone()))).collect();
        trace.note(&ids, at);
        let several = ids.len() > 1;
        let fields = slot.field.split('.').filter(|field| !field.is_empty());
        let field: String = fields.map(|field| format!("_{field}")).collect();
        for (k, id) in ids.iter().enumerate() {
            let leaf = if several { format!("_{k}") } else { String::new() };
            trace.unnamed.insert(*id, format!("{field}{leaf}"));
        }
        trace.slots.push(slot);
        ids.into_iter().map(|id| trace.scalar(id)).collect()
    })
    .unwrap_or_default()
}

/// Notes what a function calls what it is given, as far as those are parameters of the program.
pub(crate) fn name(name: &str, handles: &[Handle]) {
    with(|trace| {
        for handle in handles.iter().filter(|_| !name.is_empty()) {
            let ids = match handle.is_array() {
                true => trace.arrays.get(handle.id as usize).cloned().unwrap_or_default(),
                false if handle.trace == trace.number => vec![Id(handle.id)],
                false => vec![],
            };
            for id in ids {
                if let Some(part) = trace.unnamed.remove(&id) {
                    trace.names.note(id, &format!("{name}{part}"));
                }
            }
        }
    });
}

/// An array of names that are its leaves.
pub(crate) fn array_of(at: Loc, leaves: &[Handle]) -> Handle {
    with(|trace| trace.ids(leaves, at).map(|ids| trace.array(ids))).flatten().unwrap_or(Handle::POISON)
}

/// Notes a mistake.
pub(crate) fn error(at: Loc, what: &str, help: &str) {
    with(|trace| trace.error(here(at), what, help));
}

/// Traces `f`, whose results are the results of the program.
pub(crate) fn run(at: Loc, name: &str, f: &mut dyn FnMut() -> Vec<Out>) -> Result<Traced, Vec<TraceError>> {
    /// Takes the trace off the stack, also when the user's function panics.
    struct Pop;
    impl Drop for Pop {
        fn drop(&mut self) {
            STACK.with(|stack| stack.borrow_mut().traces.pop());
        }
    }
    STACK.with(|stack| {
        let mut stack = stack.borrow_mut();
        stack.last += 1;
        let trace = Trace {
            number: stack.last,
            builder: Builder::new(name),
            bodies: vec![BodyNote { what: "function", at }],
            made: vec![],
            arrays: vec![],
            errors: vec![],
            full: false,
            functions: HashMap::new(),
            open_functions: vec![],
            sizes: vec![],
            counted: HashMap::new(),
            slots: vec![],
            unnamed: HashMap::new(),
            names: Names::default(),
            precision: None,
            small: None,
        };
        stack.traces.push(trace);
    });
    let pop = Pop;
    // A trace inside a library closure starts with a clean slate of whom to blame.
    let behalf = ON_BEHALF.replace(None);
    let outs = f();
    ON_BEHALF.set(behalf);
    let ids = with(|trace| {
        let ids: Vec<Option<Vec<Id>>> = outs.iter().map(|out| trace.out(out, at)).collect();
        ids.into_iter().collect::<Option<Vec<_>>>()
    });
    let trace = STACK.with(|stack| stack.borrow_mut().traces.pop());
    std::mem::forget(pop);
    let Some(mut trace) = trace else { return Err(vec![]) };
    match ids.flatten() {
        Some(ids) if trace.errors.is_empty() => match trace.builder.finish(&ids.concat()) {
            Ok(program) => {
                let program = Program { precision: trace.precision, names: trace.names, ..program };
                Ok(Traced { program, sizes: trace.sizes, slots: trace.slots, small: trace.small })
            }
            Err(error) => {
                let help = "return a value of this function's own body".to_string();
                trace.errors.push(TraceError { what: error.to_string(), help, at });
                Err(trace.errors)
            }
        },
        Some(_) | None => Err(trace.errors),
    }
}
