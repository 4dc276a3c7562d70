//! What can go wrong, from tracing to calling. Every message says what, where, and what to do.

use slyz_run::WriteError;
use slyz_sir::back::harness::ProjectError;
use std::fmt;
use std::panic::Location;

/// A mistake in a traced function.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let outside = lit(1.0f32); // made outside of any traced function
/// let error = slyz::compile(|x: Arr<f32, N>| x + outside).unwrap_err();
/// assert!(error.to_string().contains("outside of any traced function"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub help: String,
    /// File, line and column.
    pub at: &'static Location<'static>,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}\n  --> {}\n  help: {}", self.what, self.at, self.help)
    }
}

impl std::error::Error for TraceError {}

/// Why a function could not be compiled or called.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// use slyz::Error;
/// match compile(|x: Arr<f32, N>| x.argmax())?.call(&[0.0f32; 0]) {
///     Err(Error::Call(mistake)) => println!("{mistake}"), // axis N is empty, …
///     Err(other) => return Err(other),
///     Ok(_) => unreachable!(),
/// }
/// # Ok::<(), slyz::Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The traced function is wrong; all mistakes that were found.
    #[error("{}", .0.iter().map(TraceError::to_string).collect::<Vec<_>>().join("\n"))]
    Trace(Vec<TraceError>),
    /// The arguments of a call do not fit the function.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The data does not fit the shape of the tensor.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// There is no such view of a tensor.
    #[error(transparent)]
    View(#[from] crate::view_error::ViewError),
    /// The device could not compile or run it.
    #[error(transparent)]
    Run(#[from] slyz_run::Error),
    /// Smaller numbers that break the bound that was asked for.
    #[error(
        "with {small}, result {result} is off by {found:.3e} of its largest number, and {bound:.3e} was asked for; allow more with `within`, or ask for f16 or bf16"
    )]
    Quantize {
        /// Which result, from 1.
        result: usize,
        /// The numbers that were asked for.
        small: String,
        /// How far it is off.
        found: f64,
        /// How far it may be.
        bound: f64,
    },
    /// An argument that the function does not have is said to stay the same, or to have a range.
    #[error("there is no argument {argument}: the function has {many}, counted from 1")]
    NoArgument {
        /// Its number, from 1.
        argument: usize,
        /// How many there are.
        many: usize,
    },
    /// Smaller numbers that nothing was measured for.
    #[error(
        "the examples did not call the function they were given, or only with views, so nothing is known of it; call it with tensors, or ask for `quantized`"
    )]
    NoExamples,
    /// A kernel whose text cannot be read.
    #[error("the text of kernel `{name}` is not SIR: {why}. Let `#[graph]` write it")]
    Kernel {
        /// Its name.
        name: String,
        /// What the parser says.
        why: String,
    },
    /// A `.vex` file, or an argument for one of its kernels, is wrong.
    #[cfg(feature = "vex")]
    #[error(transparent)]
    Vex(#[from] VexError),
    /// A `.npy` or `.npz` file cannot be read or written.
    #[cfg(feature = "npy")]
    #[error(transparent)]
    Npy(#[from] slyz_run::npy::NpyError),
    /// An image or a `.safetensors` file cannot be read or written.
    #[cfg(any(feature = "image", feature = "safetensors"))]
    #[error(transparent)]
    File(#[from] FileError),
    /// The kernels of a module cannot be written for a target.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The files of a module cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl Error {
    /// The access outside a tensor that made a launch fail, if that is what this is.
    ///
    /// ```
    /// fn tell(error: &slyz::Error) {
    ///     if let Some(fault) = error.fault() {
    ///         println!("{} went to {:?} of {}", fault.kernel, fault.index, fault.memory);
    ///     }
    /// }
    /// ```
    pub fn fault(&self) -> Option<&slyz_sir::launch::Fault> {
        match self {
            Error::Run(slyz_run::Error::Fault(fault)) => Some(fault),
            _ => None,
        }
    }
}

/// Why a call does not fit its function. Arguments are counted from 1; in structs and tuples the field is told.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// use slyz::{CallError, Error};
/// let f = compile(|x: Arr<f32, N>, y: Arr<f32, N>| x + y)?;
/// let result = f.call(&[1.0f32], &[1.0f32, 2.0]);
/// assert!(matches!(result, Err(Error::Call(CallError::Disagree { argument: 2, known: 1, found: 2, .. }))));
/// # Ok::<(), slyz::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// A result that is to be written into memory of another shape.
    #[error(
        "result {result} has the dimensions {expected:?}, what it is to be written into {found:?}; pass a tensor or view of its dimensions"
    )]
    Into {
        /// Which result, from 1.
        result: usize,
        /// Its dimensions.
        expected: Vec<u64>,
        /// Those of the memory.
        found: Vec<u64>,
    },
    /// A result that is to be written into memory, and whose size is known only when the function has run.
    #[error(
        "how large result {result} is turns out while the function runs, so it cannot be written into memory that is there; use `call`"
    )]
    Counted {
        /// Which result, from 1.
        result: usize,
    },
    /// An axis already has another extent.
    #[error(
        "axis {axis} is {known}{}, but {} has {found} there; pass arrays whose sizes agree",
        known_by.as_ref().map_or(String::new(), |place| format!(" in {place}")), place(*argument, field)
    )]
    Disagree {
        /// Which argument.
        argument: usize,
        /// Which field of it, `first.w`; empty for the whole argument.
        field: String,
        /// The axis.
        axis: String,
        /// Its extent so far.
        known: u64,
        /// The argument or field that says so first; `None` where it was given or follows from others.
        known_by: Option<String>,
        /// The argument's.
        found: u64,
    },
    /// An axis whose extent follows from its type has another one.
    #[error("{} has {found} where its type says {}; pass an array of that size", place(*argument, field), sized(axis, *known))]
    Wrong {
        /// Which argument.
        argument: usize,
        /// Which field of it, `first.w`; empty for the whole argument.
        field: String,
        /// The axis.
        axis: String,
        /// What its type says.
        known: u64,
        /// The argument's.
        found: u64,
    },
    /// Another number of axes.
    #[error("{} has {found} axes, its type has {expected}: {shape}", place(*argument, field))]
    Rank {
        /// Which argument.
        argument: usize,
        /// Which field of it, `first.w`; empty for the whole argument.
        field: String,
        /// By its type.
        expected: usize,
        /// By its data.
        found: usize,
        /// The shape of its type.
        shape: String,
    },
    /// The number of elements is not that of the shape.
    #[error("{} has {found} elements, its shape {shape} needs {expected}; pass that many", place(*argument, field))]
    Length {
        /// Which argument.
        argument: usize,
        /// Which field of it, `first.w`; empty for the whole argument.
        field: String,
        /// By its shape.
        expected: u64,
        /// In its data.
        found: u64,
        /// The shape.
        shape: String,
    },
    /// The number of elements is no multiple of what is known.
    #[error(
        "{}: {found} elements do not divide into shape {shape}, of which {known} are known; pass a multiple",
        place(*argument, field)
    )]
    Divide {
        /// Which argument.
        argument: usize,
        /// Which field of it, `first.w`; empty for the whole argument.
        field: String,
        /// In its data.
        found: u64,
        /// Product of the known extents.
        known: u64,
        /// The shape.
        shape: String,
    },
    /// A flat slice leaves more than one extent open.
    #[error(
        "{}: a flat slice of {found} elements does not tell {axes} apart; pass `(&data, [{dims}])` or a `Tensor`",
        place(*argument, field)
    )]
    Open {
        /// Which argument.
        argument: usize,
        /// Which field of it, `first.w`; empty for the whole argument.
        field: String,
        /// In its data.
        found: u64,
        /// The axes that are not known.
        axes: String,
        /// How the dimensions could be written.
        dims: String,
    },
    /// No argument tells the extent of an axis.
    #[error("no argument tells the extent of axis {axis}; say it with `.size::<{axis}>(n)` before `.call(..)`")]
    Unknown {
        /// The axis.
        axis: String,
    },
    /// A size was given for an axis that the function does not have.
    #[error("`.size::<{axis}>(..)` names an axis whose extent nobody can give to this function; its axes are: {axes}")]
    Stranger {
        /// The axis.
        axis: String,
        /// Those of the function.
        axes: String,
    },
    /// A device gave back something else than the function's results.
    #[error("the device \"{device}\" returned {why}; mend its `Executable::run`")]
    Returned {
        /// Its name.
        device: String,
        /// What it returned.
        why: String,
    },
    /// The product of extents does not fit the index type.
    #[error("the size {size} is larger than 2^63 - 1; call with smaller arrays")]
    Overflow {
        /// As the function spells it.
        size: String,
    },
    /// A position must exist on an axis that is empty in this call.
    #[error(
        "axis {axis} is empty, but `clamp`, `wrap`, `argmax` or `argmin` needs a position on it; pass at least one element, or read with `at_or`"
    )]
    Empty {
        /// The axis.
        axis: String,
    },
    /// Two sizes must be equal and are not.
    #[error(
        "{} and {} must be equal for `reshape`; pass sizes whose products agree",
        sized(left, *left_value), sized(right, *right_value)
    )]
    Unequal {
        /// One size.
        left: String,
        /// Its value.
        left_value: u64,
        /// The other.
        right: String,
        /// Its value.
        right_value: u64,
    },
    /// A slice goes past the end.
    #[error(
        "a slice needs {} elements, but there are {}; pass a longer array, or slice less",
        sized(left, *left_value), sized(right, *right_value)
    )]
    TooShort {
        /// What is needed.
        left: String,
        /// Its value.
        left_value: u64,
        /// What there is.
        right: String,
        /// Its value.
        right_value: u64,
    },
    /// A `Feed` of somebody's own passes another number of scalars and arrays than the parameters have.
    #[error("{found} scalars and arrays are passed, the parameters have {expected}; derive what is passed")]
    Pieces {
        /// Of the parameters.
        expected: usize,
        /// Of the arguments.
        found: usize,
    },
    /// A `Feed` of somebody's own passes elements of another kind than the parameter has.
    #[error("{} has elements of {found} parts, its type has {expected}; derive what is passed", place(*argument, field))]
    Parts {
        /// Which argument.
        argument: usize,
        /// Which field of it, `first.w`; empty for the whole argument.
        field: String,
        /// By its type.
        expected: usize,
        /// In what is passed.
        found: usize,
    },
    /// A position in an argument is outside its axis.
    #[error(
        "{}: element {element} is position {position}, but axis {axis} has {extent}; positions go from 0",
        place(*argument, field)
    )]
    Outside {
        /// Which argument.
        argument: usize,
        /// Which field of it, `first.w`; empty for the whole argument.
        field: String,
        /// Row-major.
        element: usize,
        /// The position.
        position: u64,
        /// The axis.
        axis: String,
        /// Its extent.
        extent: u64,
    },
}

/// How messages call an argument, or a field of one.
pub(crate) fn place(argument: usize, field: &str) -> String {
    if field.is_empty() { format!("argument {argument}") } else { format!("field {field} of argument {argument}") }
}

/// A size and its value; a size that is a number speaks for itself.
fn sized(size: &str, value: u64) -> String {
    if size == value.to_string() { size.to_string() } else { format!("{size} = {value}") }
}

/// Why a tensor cannot have that shape.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// use slyz::{Error, TensorError};
/// let result = Tensor::<f32, N>::from_vec([3], vec![1.0]);
/// assert!(matches!(result, Err(Error::Tensor(TensorError::Length { expected: 3, found: 1, .. }))));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// The number of elements is not the product of the dimensions.
    #[error("{found} elements do not make the dimensions {dims:?}; pass {expected}")]
    Length {
        /// The dimensions.
        dims: Vec<usize>,
        /// Their product.
        expected: u64,
        /// Elements passed.
        found: u64,
    },
    /// A device that was to take the data has another amount of it.
    #[error("the device \"{device}\" has {found} bytes of an array of {expected}; mend its `Device::upload`")]
    Moved {
        /// Its name.
        device: String,
        /// Bytes that it was given.
        expected: u64,
        /// Bytes that it gave back.
        found: u64,
    },
    /// A position that the tensor does not have.
    #[error(
        "there is no position {position:?} in a tensor of the dimensions {dims:?}; give a number below each of them"
    )]
    Outside {
        /// The position.
        position: Vec<usize>,
        /// The dimensions.
        dims: Vec<usize>,
    },
    /// Elements that do not stand in memory of the host as a slice of them would.
    #[error("the elements cannot be borrowed as a slice: {why}; copy them with `to_vec`")]
    NoSlice {
        /// Where they are.
        why: String,
    },
    /// More elements than memory can hold.
    #[error("a tensor of the dimensions {dims:?} is too large for the memory of this machine; make a smaller one")]
    TooLarge {
        /// The dimensions.
        dims: Vec<usize>,
    },
    /// The dimensions do not fit the shape.
    #[error("the dimensions {dims:?} do not fit the shape {shape}: {why}")]
    Shape {
        /// The dimensions.
        dims: Vec<usize>,
        /// The shape.
        shape: String,
        /// Where they differ.
        why: String,
    },
}

/// Why a file does not become a tensor, or a tensor a file.
#[cfg(any(feature = "image", feature = "safetensors"))]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The system does not let it be read or written.
    #[error("{file}: {why}")]
    System {
        /// The file.
        file: String,
        /// What the system says.
        why: String,
    },
    /// It is none of its kind, or damaged.
    #[error("{file}{what} cannot be read: {why}; it may be damaged or of another kind, save it again", file = in_front(.file))]
    Damaged {
        /// The file, where it has a name.
        file: String,
        /// Of which kind it should be.
        what: &'static str,
        /// What is wrong.
        why: String,
    },
    /// It cannot be written that way.
    #[error("{file}{what} cannot be written: {why}", file = in_front(.file))]
    Unwritable {
        /// The file, where it has a name.
        file: String,
        /// Of which kind it should be.
        what: &'static str,
        /// Why not, and the cure.
        why: String,
    },
    /// A file has no tensor of that name.
    #[error("there is no tensor `{name}` in the file; there are: {}", .known.join(", "))]
    Name {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// Other elements than are asked for.
    #[error("the elements of `{name}` are {found}, and {wanted} are asked for; read them as {found}")]
    Type {
        /// The tensor.
        name: String,
        /// Its elements.
        found: String,
        /// Those of whoever reads it.
        wanted: String,
    },
    /// Elements that such files have none of.
    #[error("such files have no elements of {wanted}; write a tensor for each part")]
    Elements {
        /// The elements.
        wanted: String,
    },
}

#[cfg(any(feature = "image", feature = "safetensors"))]
fn in_front(file: &str) -> String {
    if file.is_empty() { String::new() } else { format!("{file}: ") }
}

#[cfg(feature = "vex")]
/// What is wrong with a `.vex` file, or with the arguments for one of its kernels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VexError {
    /// The file cannot be read.
    #[error("cannot read `{file}`: {why}; pass the path of a `.vex` file")]
    Unreadable {
        /// Its name.
        file: String,
        /// What the system says.
        why: String,
    },
    /// The text is wrong: all of its mistakes, drawn.
    #[error("{0}")]
    Wrong(String),
    /// No kernel has that name.
    #[error("there is no kernel `{name}`; {}", listed(.known))]
    Unknown {
        /// The name.
        name: String,
        /// The kernels there are, with their parameters.
        known: Vec<String>,
    },
    /// Too few or too many arguments.
    #[error("`{signature}` takes {wanted} arguments, found {found}; pass one for each parameter, in order")]
    Count {
        /// The kernel.
        signature: String,
        /// How many it has.
        wanted: usize,
        /// How many were passed.
        found: usize,
    },
    /// An argument of another kind than its parameter.
    #[error("argument {argument} of `{signature}`: {why}")]
    Argument {
        /// The kernel.
        signature: String,
        /// Which one, from 1.
        argument: usize,
        /// What does not fit, and what would.
        why: String,
    },
}

#[cfg(feature = "vex")]
fn listed(known: &[String]) -> String {
    let quoted: Vec<String> = known.iter().map(|signature| format!("`{signature}`")).collect();
    match quoted.len() {
        0 => "there are none: a kernel is a `graph fn` without a result".to_string(),
        1 => format!("there is {}", quoted[0]),
        _ => format!("there are {}", quoted.join(", ")),
    }
}
