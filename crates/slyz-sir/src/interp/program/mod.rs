//! Runs a program on the host: the meaning of the program level.
//!
//! [`run`] checks what a call brings (sizes, arguments, requirements) and hands over to the evaluator. Arrays are
//! strict: each is computed in full when its statement runs, inside bodies too. It is written to be believed, not to be
//! fast. It does not verify the program first; what a verified program cannot do is answered by [`InterpError::Malformed`].

mod eval;

use super::{Array, Value};
use crate::code::{Id, Type, Var, largest_id};
use crate::nesting;
use crate::program::{Program, Require};
use crate::size::{Size, SizeError, SizeOrigin, SizeVar};
use crate::types::Scalar;
use crate::verify::MAX_ID;
use eval::Machine;

/// Why a program did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InterpError {
    /// The number of sizes passed is not the number declared.
    #[error("the program declares {expected} size variables, but {found} sizes were passed; pass `None` to infer one")]
    SizeCount {
        /// Declared.
        expected: usize,
        /// Passed.
        found: usize,
    },
    /// Nobody knows what it computes.
    #[error(
        "the raw kernel `{0}` has no meaning, so only devices that it is written for run it; give it one with `.meaning(..)`"
    )]
    Raw(String),
    /// No argument tells the size, and the caller did not either.
    #[error("no argument has `{0}` as an axis of its own, so its size must be passed")]
    SizeUnknown(String),
    /// A filter counts this size; the caller cannot say it.
    #[error("`{0}` is counted while the program runs; pass `None` for it")]
    SizeCounted(String),
    /// A size has no value, or one past the index type.
    #[error("in the size {size}: {why}")]
    Size {
        /// As in SIR text.
        size: String,
        /// What is wrong with it.
        why: SizeError,
    },
    /// The number of arguments is wrong.
    #[error("the program takes {expected} arguments, but {found} were passed")]
    ArgumentCount {
        /// Parameters.
        expected: usize,
        /// Arguments.
        found: usize,
    },
    /// An argument has another type or shape than its parameter.
    #[error("argument {place}: {why}")]
    Argument {
        /// Counted from 0.
        place: usize,
        /// What is wrong with it.
        why: String,
    },
    /// The call does not satisfy something that the program asks for.
    #[error("the program requires {0}")]
    Require(String),
    /// A read outside an array. Only code that no front end wrote can do this.
    #[error("%{} of shape {shape:?} is read at {index:?}, which is outside", array.0)]
    OutOfBounds {
        /// The array.
        array: Id,
        /// Where it was read.
        index: Vec<i64>,
        /// Its extents.
        shape: Vec<u64>,
    },
    /// An array has more elements than the host can hold, or than [`Options::elements`] allows.
    #[error("%{} has {elements} elements, more than fit in memory or than were allowed", id.0)]
    OutOfMemory {
        /// The array.
        id: Id,
        /// How many; the largest number when there are more.
        elements: u64,
    },
    /// The budget of [`Options::turns`] is spent.
    #[error("the program ran more than {0} turns of loops and elements of arrays; it may not end")]
    Budget(u64),
    /// A loop goes on past [`Options::loop_turns`].
    #[error("a loop did not end within {0} turns")]
    Endless(u64),
    /// A number came up that [`Options::refuse_denormals`] refuses.
    #[error("%{} is {}, a denormal number, which was not allowed", id.0, value.as_f64())]
    Denormal {
        /// What would have been bound to it.
        id: Id,
        /// The number.
        value: Scalar,
    },
    /// The code nests too deep to be walked.
    #[error(transparent)]
    TooDeep(#[from] nesting::TooDeep),
    /// The code breaks a rule of the verifier; the text says which.
    #[error("the program is malformed: {0}")]
    Malformed(String),
}

/// How far a run may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The most bodies that are run: turns of loops, elements of array operations, calls. No limit by default.
    pub turns: Option<u64>,
    /// The most turns of a loop that data end. No limit by default.
    pub loop_turns: Option<u64>,
    /// The most elements one array may have. What memory holds by default.
    pub elements: Option<u64>,
    /// Ends at the first denormal number that is computed or read: some GPUs take it for zero.
    pub refuse_denormals: bool,
}

/// Runs a program.
///
/// `sizes` has one entry per size variable. `None` for a given one means: take it from the first argument that has the
/// variable as an axis. Counted ones are always `None`.
///
/// ```
/// use slyz_sir::{build::{Builder, Region}, code::Type, interp::{program::run, Array, Value}};
/// use slyz_sir::{ops::Operator, size::{Size, SizeOrigin}, types::{Scalar, Ty}};
///
/// let mut b = Builder::new("double");
/// let n = Size::Var(b.add_size("N", SizeOrigin::Given));
/// let x = b.param(Type::Array(Ty::I32, vec![n.clone()]));
/// let i = b.open(Region::Loop, &[Type::Scalar(Ty::I64)]);
/// let v = b.at(x, &i)?;
/// let twice = b.apply(Operator::Add, &[v, v])?;
/// let body = b.close(&[twice])?;
/// let y = b.tabulate(vec![n], body)?;
/// let program = b.finish(&y)?;
///
/// let x = Array { ty: Ty::I32, shape: vec![3], data: vec![1, 2, 3] };
/// let y = run(&program, &[None], &[Value::Array(x)])?;
/// assert_eq!(y, [Value::Array(Array { ty: Ty::I32, shape: vec![3], data: vec![2, 4, 6] })]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(program: &Program, sizes: &[Option<u64>], args: &[Value]) -> Result<Vec<Value>, InterpError> {
    run_with(program, sizes, args, &Options::default())
}

/// Runs a program within limits.
pub fn run_with(
    program: &Program,
    sizes: &[Option<u64>],
    args: &[Value],
    options: &Options,
) -> Result<Vec<Value>, InterpError> {
    run_watched(program, sizes, args, options, &mut |_| {})
}

/// The turns of a loop of the program itself, in no other and in no array: how many are taken, and how many there are, where that is known before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Turns that are taken; 0 when the loop begins.
    pub done: u64,
    /// Turns there are.
    pub of: Option<u64>,
}

/// The same, and tells of every turn of the program's own loops.
pub fn run_watched(
    program: &Program,
    sizes: &[Option<u64>],
    args: &[Value],
    options: &Options,
    watch: &mut dyn FnMut(Taken),
) -> Result<Vec<Value>, InterpError> {
    check_code(program)?;
    let sizes = solve_sizes(program, sizes, args)?;
    let mut machine = Machine::new(program, sizes, *options, watch)?;
    for (place, (param, arg)) in program.body.params.iter().zip(args).enumerate() {
        machine.check_argument(param, arg).map_err(|why| InterpError::Argument { place, why })?;
        machine.bind_argument(param.id, arg)?;
    }
    machine.check_requires()?;
    machine.run_body(&program.body)?;
    program.body.results.iter().map(|&id| machine.take_result(id)).collect()
}

/// What must hold before the code can be walked at all.
fn check_code(program: &Program) -> Result<(), InterpError> {
    nesting::check(&program.functions, &program.body)?;
    for require in &program.requires {
        require.sizes().try_for_each(nesting::check_size)?;
    }
    let bodies = program.functions.iter().map(|f| &f.body).chain([&program.body]);
    match bodies.map(largest_id).max() {
        Some(id) if id > MAX_ID => {
            Err(InterpError::Malformed(format!("%{id} is past the largest name, %{MAX_ID}; number names densely")))
        }
        Some(_) | None => Ok(()),
    }
}

/// The sizes of a call: those passed, and the rest from axes of arguments that are a variable by themselves.
/// Every given one has a value then, and no counted one.
pub fn solve_sizes(program: &Program, given: &[Option<u64>], args: &[Value]) -> Result<Vec<Option<u64>>, InterpError> {
    let (params, decls) = (&program.body.params, &program.sizes);
    if given.len() != decls.len() {
        return Err(InterpError::SizeCount { expected: decls.len(), found: given.len() });
    }
    if args.len() != params.len() {
        return Err(InterpError::ArgumentCount { expected: params.len(), found: args.len() });
    }
    let mut sizes = given.to_vec();
    for (param, arg) in params.iter().zip(args) {
        let Value::Array(array) = arg else { continue };
        for (size, &extent) in param.ty.shape().iter().zip(&array.shape) {
            if let Size::Var(SizeVar(v)) = size
                && let Some(entry) = sizes.get_mut(*v as usize)
                && decls[*v as usize].origin == SizeOrigin::Given
            {
                entry.get_or_insert(extent);
            }
        }
    }
    for (decl, size) in decls.iter().zip(&sizes) {
        match (decl.origin, size) {
            (SizeOrigin::Given, None) => return Err(InterpError::SizeUnknown(decl.name.clone())),
            (SizeOrigin::Counted, Some(_)) => return Err(InterpError::SizeCounted(decl.name.clone())),
            (SizeOrigin::Given, Some(n)) if *n > i64::MAX as u64 => {
                return Err(InterpError::Size { size: decl.name.clone(), why: SizeError::Overflow });
            }
            (SizeOrigin::Given, Some(_)) | (SizeOrigin::Counted, None) => {}
        }
    }
    Ok(sizes)
}

impl Machine<'_> {
    fn check_argument(&self, param: &Var, arg: &Value) -> Result<(), String> {
        match (&param.ty, arg) {
            (Type::Scalar(ty), Value::Scalar(value)) => {
                if value.ty != *ty {
                    return Err(format!("a {ty} is needed, found a {}", value.ty));
                }
                check_bits(*value)
            }
            (Type::Array(ty, shape), Value::Array(array)) => {
                if array.ty != *ty {
                    return Err(format!("an array of {ty} is needed, found one of {}", array.ty));
                }
                if array.shape.len() != shape.len() {
                    return Err(format!("{} axes are needed, found {}", shape.len(), array.shape.len()));
                }
                for (axis, (size, &found)) in shape.iter().zip(&array.shape).enumerate() {
                    let want = self.size(size).map_err(|e| e.to_string())?;
                    if want != found {
                        let name = self.show(size);
                        return Err(format!("axis {axis} has {found} positions, but {name} is {want}"));
                    }
                }
                let elements = array.shape.iter().try_fold(1u64, |n, &m| n.checked_mul(m));
                if elements != Some(array.data.len() as u64) {
                    return Err(format!("the shape {:?} does not have {} elements", array.shape, array.data.len()));
                }
                array.data.iter().try_for_each(|&bits| check_bits(Scalar { ty: *ty, bits }))
            }
            (Type::Scalar(ty), Value::Array(_)) => Err(format!("a {ty} is needed, found an array")),
            (Type::Array(ty, _), Value::Scalar(_)) => Err(format!("an array of {ty} is needed, found a scalar")),
        }
    }

    /// Checks each requirement once, as soon as all its sizes are known: after the filter that counts the last one.
    fn check_requires(&mut self) -> Result<(), InterpError> {
        let program = self.program;
        let mut waiting = std::mem::take(&mut self.waiting);
        let mut failed = None;
        waiting.retain(|&k| match program.requires[k].holds(|size| self.size(size)) {
            Ok(true) => false,
            Ok(false) => {
                failed.get_or_insert(InterpError::Require(self.show_require(&program.requires[k])));
                false
            }
            Err(InterpError::Size { why: SizeError::Unknown(_), .. }) => true,
            Err(error) => {
                failed.get_or_insert(error);
                false
            }
        });
        self.waiting = waiting;
        failed.map_or(Ok(()), Err)
    }

    fn show_require(&self, require: &Require) -> String {
        let valued = |size: &Size| match self.size(size) {
            Ok(n) => format!("{} (here {n})", self.show(size)),
            Err(_) => self.show(size),
        };
        match require {
            Require::NonEmpty(a) => format!("that {} is not 0", self.show(a)),
            Require::Equal(a, b) => format!("{} to equal {}", valued(a), valued(b)),
            Require::AtMost(a, b) => format!("{} to be at most {}", valued(a), valued(b)),
        }
    }

    /// A size in SIR text.
    fn show(&self, size: &Size) -> String {
        size.display(&|v| self.program.size_name(v)).to_string()
    }

    /// The value of a size.
    fn size(&self, size: &Size) -> Result<u64, InterpError> {
        let env = |v: SizeVar| self.sizes.get(v.0 as usize).copied().flatten();
        size.eval(&env).map_err(|why| InterpError::Size { size: self.show(size), why })
    }
}

fn check_bits(value: Scalar) -> Result<(), String> {
    if Scalar::from_bits(value.ty, value.bits) == value {
        Ok(())
    } else {
        Err(format!("the bits {:#x} are wider than a {}", value.bits, value.ty))
    }
}

/// A copy of elements that fails instead of ending the process.
fn copied(id: Id, array: &Array) -> Result<Array, InterpError> {
    let mut data = eval::reserve(id, array.data.len() as u64, None)?;
    data.extend_from_slice(&array.data);
    Ok(Array { ty: array.ty, shape: array.shape.clone(), data })
}
