//! Arguments of calls: what may be passed for a parameter, and how the sizes of a call follow from all of them.

use crate::arr::Arr;
use crate::below::{Known, first_outside};
use crate::elem::{Elem, Exp, Scalar, tys_of};
use crate::error::{CallError, Error, place};
use crate::extent::{Axis, Env, Extent, count};
use crate::lying::{Lying, lay_rows};
use crate::position::{At, Idx};
use crate::shape::Shape;
use crate::trace::{Leaf, Slot};
use slyz_run::{ArrayData, Buffer, Found, Kept};
use slyz_sir::size::SizeError;
use slyz_sir::types::{Scalar as Constant, Ty};
use slyz_sir::views::Storage;
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;

/// One buffer of an argument.
enum Data<'a> {
    Host(&'a [u8]),
    Split(Vec<u8>),
    /// Of a tensor, and what is known about its positions.
    Tensor(&'a Buffer, Known<'a>),
    /// The first elements of a tensor, and what is known about the positions in all of it.
    Part(Buffer, Known<'a>),
}

/// Arguments, taken apart into scalars and arrays: what [`Feed`] makes of them, and nothing to use on its own.
///
/// ```
/// use slyz::{Arr, Fed, Feed, Fix};
/// fn argument<'a, F: Feed<Arr<f32, Fix<2>>>>(data: &'a F, out: &mut Fed<'a>) { data.feed(out) }
/// ```
pub struct Fed<'a>(SmallVec<[Piece<'a>; 4]>);

// A small call asks for no memory to describe its arguments: elements have one leaf as a rule, and arrays few axes.
type Leaves<T> = SmallVec<[T; 1]>;
type Dims = SmallVec<[u64; 4]>;

/// What fills one [`Slot`].
enum Piece<'a> {
    Value(Constant),
    /// A scalar that stays where it is.
    Scalar(Data<'a>),
    Array {
        told: Told,
        leaves: Leaves<Data<'a>>,
        /// How it lies in memory, if not row by row.
        lying: Option<Box<Lying<'a>>>,
    },
}

impl Piece<'_> {
    /// What it says about sizes; nothing without axes.
    fn told(&self) -> Option<&Told> {
        match self {
            Piece::Value(_) | Piece::Scalar(_) => None,
            Piece::Array { told, .. } => Some(told),
        }
    }
}

/// What an array says about its sizes.
#[derive(Clone, PartialEq, Eq)]
struct Told {
    /// Unknown for a flat slice.
    dims: Option<Dims>,
    len: u64,
}

impl<'a> Fed<'a> {
    pub(crate) fn new() -> Fed<'a> {
        Fed(SmallVec::new())
    }

    fn value(&mut self, value: Constant) {
        self.0.push(Piece::Value(value));
    }

    /// An array on a device: its dimensions, how many elements it has, and for each leaf the buffer and what is known about its positions.
    pub(crate) fn array_on_device(
        &mut self,
        dims: &[usize],
        len: usize,
        buffers: impl Iterator<Item = (&'a Buffer, Known<'a>)>,
    ) {
        let dims = dims.iter().map(|&dim| dim as u64).collect();
        self.0.push(Piece::Array {
            told: Told { dims: Some(dims), len: len as u64 },
            leaves: buffers.map(|(buffer, known)| Data::Tensor(buffer, known)).collect(),
            lying: None,
        });
    }

    /// A view of an array on a device.
    pub(crate) fn view<T: Elem>(
        &mut self,
        dims: &[usize],
        len: usize,
        lying: Lying<'a>,
        buffers: impl Iterator<Item = (&'a Buffer, Known<'a>)>,
    ) {
        let dims = dims.iter().map(|&dim| dim as u64).collect();
        let leaf = |(ty, (buffer, known)): (Ty, (&'a Buffer, Known<'a>))| match lying.bytes(ty) {
            Some(bytes) if bytes < buffer.len() => Data::Part(buffer.prefix(bytes), known),
            Some(_) | None => Data::Tensor(buffer, known),
        };
        self.0.push(Piece::Array {
            told: Told { dims: Some(dims), len: len as u64 },
            leaves: tys_of::<T>().into_iter().zip(buffers).map(leaf).collect(),
            lying: Some(Box::new(lying)),
        });
    }

    /// How each leaf lies, if one of them does not lie row by row.
    pub(crate) fn storages(&self) -> Option<Vec<Storage>> {
        let lies =
            |piece: &Piece| matches!(piece, Piece::Array { lying: Some(lying), .. } if lying.storage != Storage::Rows);
        if !self.0.iter().any(lies) {
            return None;
        }
        let storage = |piece: &Piece| match piece {
            Piece::Value(_) | Piece::Scalar(_) => vec![Storage::Rows],
            Piece::Array { leaves, lying, .. } => {
                let storage = lying.as_ref().map_or(Storage::Rows, |lying| lying.storage.clone());
                vec![storage; leaves.len()]
            }
        };
        Some(self.0.iter().flat_map(storage).collect())
    }

    /// The leaves of one element on a device, which are scalars of their own.
    pub(crate) fn scalars_on_device(&mut self, buffers: impl Iterator<Item = (&'a Buffer, Known<'a>)>) {
        self.0.extend(buffers.map(|(buffer, known)| Piece::Scalar(Data::Tensor(buffer, known))));
    }

    /// The host's bytes where the elements are stored alike, else one buffer per leaf.
    pub(crate) fn flat<T: Elem>(&mut self, data: &'a [T], dims: Option<Dims>) {
        let leaves = match T::view(data) {
            Some(bytes) => smallvec![Data::Host(bytes)],
            None => split(data).into_iter().map(Data::Split).collect(),
        };
        self.0.push(Piece::Array { told: Told { dims, len: data.len() as u64 }, leaves, lying: None });
    }

    /// A copy of elements that nobody keeps.
    #[cfg(feature = "ndarray")]
    pub(crate) fn copied<T: Elem>(&mut self, data: &[T], dims: Dims) {
        let leaves = split(data).into_iter().map(Data::Split).collect();
        self.0.push(Piece::Array { told: Told { dims: Some(dims), len: data.len() as u64 }, leaves, lying: None });
    }

    fn rows<T: Elem, const M: usize>(&mut self, data: &'a [[T; M]]) {
        self.flat(data.as_flattened(), Some(smallvec![data.len() as u64, M as u64]))
    }

    fn layers<T: Elem, const M: usize, const K: usize>(&mut self, data: &'a [[[T; K]; M]]) {
        let dims = smallvec![data.len() as u64, M as u64, K as u64];
        self.flat(data.as_flattened().as_flattened(), Some(dims))
    }
}

/// What may be passed for a parameter `P`.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// let f = compile(|x: Arr<f32, (N, M)>, a: Exp<f32>| (x * a).sum())?;
/// let data = vec![1.0f32, 2.0, 3.0, 4.0];
/// assert_eq!(f.call(&[[1.0f32, 2.0], [3.0, 4.0]], 1.0)?.value()?, 10.0);
/// assert_eq!(f.call((&data, [2, 2]), 1.0)?.value()?, 10.0);
/// assert_eq!(f.call(&vec![[1.0f32, 2.0], [3.0, 4.0]], 1.0)?.value()?, 10.0);
/// assert_eq!(f.call(&Tensor::from_vec([2, 2], data)?, 1.0)?.value()?, 10.0);
/// # Ok::<(), slyz::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed for a parameter `{P}`",
    label = "wrong argument",
    note = "an `Arr<T, S>` takes `&[T]`, `&Vec<T>`, `&[T; N]`, `(&[T], [rows, cols])`, `&Tensor<T, S>` or `&TensorView<T, R>`; an `Exp<T>` takes a `T`",
    note = "for a matrix also `&[[T; M]]`, `&Vec<[T; M]>` and `&[[T; M]; N]`",
    note = "a struct of arrays `Net` takes the struct of tensors that its derive makes, `NetTensors`, or a reference to one",
    note = "a `Tensor` whose axes have other names is renamed with `.rename::<S>()?`, which checks the sizes"
)]
pub trait Feed<P> {
    #[doc(hidden)]
    fn feed<'a>(&'a self, out: &mut Fed<'a>);
}

/// One buffer per leaf.
pub(crate) fn split<T: Elem>(data: &[T]) -> Vec<Vec<u8>> {
    const SOME: usize = 256;
    let tys = tys_of::<T>();
    let mut leaves: Vec<Vec<u8>> = tys.iter().map(|ty| Vec::with_capacity(ty.bytes() * data.len())).collect();
    let mut scalars = Vec::with_capacity(SOME * tys.len());
    for elements in data.chunks(SOME) {
        scalars.clear();
        for (k, element) in elements.iter().enumerate() {
            element.store(&mut scalars);
            // Anybody can write `store`.
            scalars.resize((k + 1) * tys.len(), Constant::bool(false));
        }
        for (k, (leaf, ty)) in leaves.iter_mut().zip(&tys).enumerate() {
            push_scalars(leaf, ty.bytes(), scalars.iter().skip(k).step_by(tys.len()));
        }
    }
    leaves
}

fn push_scalars<'a>(out: &mut Vec<u8>, width: usize, scalars: impl Iterator<Item = &'a Constant>) {
    match width {
        1 => out.extend(scalars.map(|scalar| scalar.bits as u8)),
        2 => scalars.for_each(|scalar| out.extend_from_slice(&(scalar.bits as u16).to_ne_bytes())),
        4 => scalars.for_each(|scalar| out.extend_from_slice(&(scalar.bits as u32).to_ne_bytes())),
        _ => scalars.for_each(|scalar| out.extend_from_slice(&scalar.bits.to_ne_bytes())),
    }
}

/// The scalar at a place of a buffer.
pub(crate) fn scalar_at(ty: slyz_sir::types::Ty, bytes: &[u8], place: usize) -> Option<Constant> {
    let width = ty.bytes();
    let bytes = bytes.get(place * width..(place + 1) * width)?;
    let bits = match *bytes {
        [a] => a as u64,
        [a, b] => u16::from_ne_bytes([a, b]) as u64,
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]) as u64,
        _ => u64::from_ne_bytes(bytes.try_into().ok()?),
    };
    Some(Constant::from_bits(ty, bits))
}

impl<T: Scalar> Feed<Exp<T>> for T {
    fn feed<'a>(&'a self, out: &mut Fed<'a>) {
        out.value(self.scalar())
    }
}

impl<A: Axis> Feed<Idx<A>> for At<A> {
    fn feed<'a>(&'a self, out: &mut Fed<'a>) {
        out.value(Constant::i64(self.get() as i64))
    }
}

impl<P, A: Feed<P>, const N: usize> Feed<[P; N]> for [A; N] {
    fn feed<'a>(&'a self, out: &mut Fed<'a>) {
        self.iter().for_each(|part| part.feed(out))
    }
}

#[diagnostic::do_not_recommend]
impl<P, A: Feed<P>, const N: usize> Feed<[P; N]> for &[A; N] {
    fn feed<'a>(&'a self, out: &mut Fed<'a>) {
        self.iter().for_each(|part| part.feed(out))
    }
}

macro_rules! tuples {
    ($($P:ident $A:ident $i:tt),*) => {
        impl<$($P, $A: Feed<$P>),*> Feed<($($P,)*)> for ($($A,)*) {
            fn feed<'a>(&'a self, out: &mut Fed<'a>) { $(self.$i.feed(out);)* }
        }
        #[diagnostic::do_not_recommend]
        impl<$($P, $A: Feed<$P>),*> Feed<($($P,)*)> for &($($A,)*) {
            fn feed<'a>(&'a self, out: &mut Fed<'a>) { $(self.$i.feed(out);)* }
        }
    };
}
tuples!(P A 0, Q B 1);
tuples!(P A 0, Q B 1, R C 2);
tuples!(P A 0, Q B 1, R C 2, S D 3);
tuples!(P A 0, Q B 1, R C 2, S D 3, T E 4);
tuples!(P A 0, Q B 1, R C 2, S D 3, T E 4, U F 5);
tuples!(P A 0, Q B 1, R C 2, S D 3, T E 4, U F 5, V G 6);
tuples!(P A 0, Q B 1, R C 2, S D 3, T E 4, U F 5, V G 6, W H 7);

impl<T: Elem, S: Shape> Feed<Arr<T, S>> for &[T] {
    fn feed<'a>(&'a self, out: &mut Fed<'a>) {
        out.flat(self, None)
    }
}

impl<T: Elem, S: Shape> Feed<Arr<T, S>> for &Vec<T> {
    fn feed<'a>(&'a self, out: &mut Fed<'a>) {
        out.flat(self, None)
    }
}

impl<T: Elem, S: Shape, const N: usize> Feed<Arr<T, S>> for &[T; N] {
    fn feed<'a>(&'a self, out: &mut Fed<'a>) {
        out.flat(*self, None)
    }
}

/// Nested arrays tell the sizes of matrices and cubes.
macro_rules! nested {
    ($([$($N:ident)?] $Rows:ty, $Layers:ty;)*) => {$(
        impl<T: Elem, A: Axis, B: Axis, $(const $N: usize,)? const M: usize> Feed<Arr<T, (A, B)>> for $Rows {
            fn feed<'a>(&'a self, out: &mut Fed<'a>) { out.rows(&self[..]) }
        }
        impl<T: Elem, A: Axis, B: Axis, C: Axis, $(const $N: usize,)? const M: usize, const K: usize>
            Feed<Arr<T, (A, B, C)>> for $Layers
        {
            fn feed<'a>(&'a self, out: &mut Fed<'a>) { out.layers(&self[..]) }
        }
    )*};
}
nested! {
    [N] &[[T; M]; N], &[[[T; K]; M]; N];
    [] &[[T; M]], &[[[T; K]; M]];
    [] &Vec<[T; M]>, &Vec<[[T; K]; M]>;
}

impl<T: Elem, S: Shape, D: AsRef<[T]> + ?Sized, const R: usize> Feed<Arr<T, S>> for (&D, [usize; R]) {
    fn feed<'a>(&'a self, out: &mut Fed<'a>) {
        out.flat(self.0.as_ref(), Some(self.1.iter().map(|&dim| dim as u64).collect()))
    }
}

/// What the arguments of a call say about its sizes, worked out.
pub(crate) struct Solved {
    /// What each piece of the arguments said; `None` for one without axes.
    told: Vec<Option<Told>>,
    /// The named axes.
    pub(crate) env: Env,
    /// Those of the program, in its order; `None` for what is counted.
    pub(crate) sizes: Vec<Option<u64>>,
    /// The extents of each slot.
    shapes: Vec<Vec<u64>>,
}

/// The sizes of calls. Calls repeat them, and working them out takes longer than a small call.
pub(crate) type KeptSizes = Kept<Solved>;

/// The sizes of a program, in order; those that are counted while it runs have none.
type ProgramSizes = Vec<Option<u64>>;

/// The sizes of a call with these arguments: those of an earlier one, if its arguments said the same.
pub(crate) fn solved<'k>(
    kept: &'k KeptSizes,
    slots: &[Slot],
    Fed(args): &Fed,
    given: &Env,
    sizes: &dyn Fn(&mut Env) -> Result<ProgramSizes, CallError>,
) -> Result<Found<'k, Solved>, CallError> {
    let said_the_same = |solved: &Solved| solved.told.iter().map(Option::as_ref).eq(args.iter().map(Piece::told));
    all_fit(slots, args)?;
    kept.get(said_the_same, || {
        let mut env = solve(slots, args, given)?;
        let sizes = sizes(&mut env)?;
        let extent = |axis: &Extent| axis.eval(&env).map_err(|_| overflow(axis));
        let shape = |slot: &Slot| slot.axes.iter().map(extent).collect::<Result<Vec<u64>, CallError>>();
        let shapes = slots.iter().map(shape).collect::<Result<_, _>>()?;
        let told = args.iter().map(|arg| arg.told().cloned()).collect();
        Ok(Solved { told, env, sizes, shapes })
    })
}

/// One thing that the arguments say about sizes.
struct Fact<'a> {
    slot: &'a Slot,
    /// The extents whose product is known, all of the slot's or one of them.
    axes: &'a [Extent],
    names: &'a [String],
    total: u64,
    /// A flat slice, whose axes are not told apart.
    flat: bool,
}

/// The extents of the named axes, from what is given and what the arguments say. Facts that need what others tell are
/// tried again until nothing new is learnt.
fn solve(slots: &[Slot], args: &[Piece], given: &Env) -> Result<Env, CallError> {
    let facts = facts(slots, args)?;
    solve_facts(facts, given).map_err(|error| match error {
        CallError::Disagree { argument, field, axis, known, found, known_by: None } => {
            let known_by = who_said(slots, args, &axis, known);
            CallError::Disagree { argument, field, axis, known, found, known_by }
        }
        other => other,
    })
}

/// The first part of an argument that says so much of an axis.
fn who_said(slots: &[Slot], args: &[Piece], axis: &str, extent: u64) -> Option<String> {
    let said = |slot: &Slot, arg: &Piece| {
        let Told { dims, len } = arg.told()?;
        let mut axes = slot.names.iter();
        let says = match dims {
            Some(dims) => axes.zip(dims).any(|(name, &dim)| name == axis && dim == extent),
            None => axes.len() == 1 && axes.any(|name| name == axis && *len == extent),
        };
        says.then(|| place(slot.argument, &slot.field))
    };
    slots.iter().zip(args).find_map(|(slot, arg)| said(slot, arg))
}

fn facts<'a>(slots: &'a [Slot], args: &[Piece]) -> Result<Vec<Fact<'a>>, CallError> {
    let mut facts = vec![];
    for (slot, arg) in slots.iter().zip(args) {
        let Some(Told { dims, len }) = arg.told() else { continue };
        match dims {
            Some(dims) => {
                check_dims(slot, dims, *len)?;
                facts.extend(dims.iter().enumerate().map(|(i, &total)| Fact {
                    slot,
                    axes: &slot.axes[i..=i],
                    names: &slot.names[i..=i],
                    total,
                    flat: false,
                }));
            }
            None => facts.push(Fact { slot, axes: &slot.axes, names: &slot.names, total: *len, flat: true }),
        }
    }
    Ok(facts)
}

/// The sizes of one array with these dimensions; for tensors.
pub(crate) fn solve_dims(slot: &Slot, dims: &[u64]) -> Result<Env, CallError> {
    let len = count(dims.iter().copied()).unwrap_or(u64::MAX);
    let told = Told { dims: Some(dims.into()), len };
    let leaves = Leaves::new();
    solve(std::slice::from_ref(slot), &[Piece::Array { told, leaves, lying: None }], &Env::new())
}

fn check_dims(slot: &Slot, dims: &[u64], len: u64) -> Result<(), CallError> {
    let argument = slot.argument;
    let field = slot.field.clone();
    if dims.len() != slot.axes.len() {
        let expected = slot.axes.len();
        let found = dims.len();
        return Err(CallError::Rank { argument, field, expected, found, shape: shape_text(&slot.names) });
    }
    let product = count(dims.iter().copied());
    match product {
        Some(product) if product == len => Ok(()),
        Some(expected) => Err(CallError::Length { argument, field, expected, found: len, shape: format!("{dims:?}") }),
        None => Err(CallError::Overflow { size: format!("{dims:?}") }),
    }
}

fn shape_text(names: &[String]) -> String {
    if let [name] = names { name.clone() } else { format!("({})", names.join(", ")) }
}

fn solve_facts(mut facts: Vec<Fact>, given: &Env) -> Result<Env, CallError> {
    let mut env = given.clone();
    // Plain names first: what they say needs no other facts, and their messages are the clearest.
    facts.sort_by_key(|fact| fact.flat || !is_name(fact.axes));
    loop {
        let before = facts.len();
        let mut open = vec![];
        for fact in facts {
            if !learn(&fact, &mut env)? {
                open.push(fact);
            }
        }
        match open.first() {
            None => return Ok(env),
            Some(fact) if open.len() == before => return Err(not_told(fact, &env)),
            Some(_) => facts = open,
        }
    }
}

/// Checks the fact or learns from it; false when too little is known yet.
fn learn(fact: &Fact, env: &mut Env) -> Result<bool, CallError> {
    let Fact { slot, total, .. } = *fact;
    let mut known = 1u64;
    let mut unknown = vec![];
    for axis in fact.axes {
        match axis.eval(env) {
            Ok(extent) => known = known.checked_mul(extent).ok_or_else(|| overflow(axis))?,
            Err(SizeError::Unknown(_)) => unknown.push(axis),
            Err(SizeError::Overflow) => return Err(overflow(axis)),
        }
    }
    let argument = slot.argument;
    let field = || slot.field.clone();
    let axis = || fact.names.join(", ");
    match unknown[..] {
        [] if known == total => Ok(true),
        [] if fact.flat && fact.axes.len() != 1 => {
            let shape = shape_text(&slot.names);
            Err(CallError::Length { argument, field: field(), expected: known, found: total, shape })
        }
        [] if is_name(fact.axes) => {
            Err(CallError::Disagree { argument, field: field(), axis: axis(), known, known_by: None, found: total })
        }
        [] => Err(CallError::Wrong { argument, field: field(), axis: axis(), known, found: total }),
        [one] if known > 0 && total.is_multiple_of(known) => match one.solve(env, total / known) {
            Some((id, extent)) => {
                env.insert(id, extent);
                // Solving may round; the fact itself is the judge.
                learn(fact, env)
            }
            None => Ok(false),
        },
        [one] if known > 0 && one.as_named().is_some() => {
            Err(CallError::Divide { argument, field: field(), found: total, known, shape: shape_text(&slot.names) })
        }
        _ => Ok(false),
    }
}

/// A single axis that is a name by itself.
fn is_name(axes: &[Extent]) -> bool {
    matches!(axes, [axis] if axis.as_named().is_some())
}

fn overflow(size: &Extent) -> CallError {
    CallError::Overflow { size: size.to_string() }
}

fn not_told(fact: &Fact, env: &Env) -> CallError {
    let unknown = |axis: &&Extent| axis.eval(env).is_err();
    let names = |axes: Vec<&Extent>| axes.into_iter().map(Extent::to_string).collect::<Vec<_>>();
    let open = names(fact.axes.iter().filter(unknown).collect());
    if fact.flat && fact.axes.len() > 1 {
        let dims = fact.names.iter().map(|name| name.to_lowercase()).collect::<Vec<_>>().join(", ");
        let argument = fact.slot.argument;
        let field = fact.slot.field.clone();
        return CallError::Open { argument, field, found: fact.total, axes: open.join(" and "), dims };
    }
    let axis = fact.axes.iter().find_map(|axis| match axis.eval(env) {
        Err(SizeError::Unknown(axis)) => Some(axis.to_string()),
        Ok(_) | Err(SizeError::Overflow) => None,
    });
    CallError::Unknown { axis: axis.unwrap_or_else(|| open.join(", ")) }
}

/// What a device takes. The list is filled where it stands: moving it would cost more than asking for memory.
pub(crate) type Arguments<'a> = SmallVec<[slyz_run::Argument<'a>; 4]>;

/// The arguments as the device takes them, one per leaf. Whoever wrote the [`Feed`]s of a call, a slot gets what it has leaves for,
/// and positions are checked to be on their axes. Arrays are laid as `storages` say, one for each leaf, or row by row.
pub(crate) fn arguments<'a>(
    slots: &[Slot],
    Fed(args): &'a Fed,
    Solved { env, shapes, .. }: &'a Solved,
    storages: Option<&[Storage]>,
    out: &mut Arguments<'a>,
) -> Result<(), Error> {
    let mut storages = storages.into_iter().flatten();
    for ((slot, piece), shape) in slots.iter().zip(args).zip(shapes) {
        let (data, lying) = match piece {
            Piece::Value(value) => {
                fits(slot, 1)?;
                storages.next();
                if let Some((axis, name)) = &slot.leaves[0].axis {
                    let extent = axis.eval(env).map_err(|_| CallError::Unknown { axis: name.to_string() })?;
                    if value.bits >= extent {
                        return Err(outside(slot, 0, value.bits, name, extent).into());
                    }
                }
                out.push(slyz_run::Argument::Scalar(*value));
                continue;
            }
            Piece::Scalar(data) => (std::slice::from_ref(data), None),
            Piece::Array { leaves, lying, .. } => (&leaves[..], lying.as_ref()),
        };
        if let Some(lying) = lying {
            lying.is_right()?;
        }
        fits(slot, data.len())?;
        for (leaf, data) in slot.leaves.iter().zip(data) {
            let mut argument = array_argument(slot, leaf, shape, data, env)?;
            let storage = storages.next().unwrap_or(&Storage::Rows);
            let numbers = match lying {
                Some(lying) => lying.lay(storage, leaf.ty, &mut argument)?,
                None => lay_rows(storage, leaf.ty, &mut argument),
            };
            out.push(argument);
            out.extend(numbers.into_iter().map(|number| slyz_run::Argument::Scalar(Constant::i64(number))));
        }
    }
    Ok(())
}

/// Has the slot so many leaves?
fn fits(slot: &Slot, found: usize) -> Result<(), CallError> {
    let expected = slot.leaves.len();
    let argument = slot.argument;
    if found == expected {
        Ok(())
    } else {
        Err(CallError::Parts { argument, field: slot.field.clone(), expected, found })
    }
}

/// Is there a piece for each slot? Those who derive what they pass need not ask.
fn all_fit(slots: &[Slot], args: &[Piece]) -> Result<(), CallError> {
    let expected = slots.len();
    let found = args.len();
    if found == expected { Ok(()) } else { Err(CallError::Pieces { expected, found }) }
}

fn array_argument<'a>(
    slot: &Slot,
    leaf: &Leaf,
    shape: &'a [u64],
    data: &'a Data,
    env: &Env,
) -> Result<slyz_run::Argument<'a>, Error> {
    let (data, known, is_whole) = match data {
        Data::Host(bytes) => (ArrayData::Host(bytes), None, true),
        Data::Split(bytes) => (ArrayData::Host(bytes), None, true),
        Data::Tensor(buffer, known) => (ArrayData::Buffer(buffer), Some(known), true),
        Data::Part(buffer, known) => (ArrayData::Buffer(buffer), Some(known), false),
    };
    if let Some((axis, name)) = &leaf.axis {
        let extent = match axis.eval(env) {
            Ok(extent) => extent,
            Err(_) if data.is_empty() => u64::MAX,
            Err(_) => return Err(CallError::Unknown { axis: name.to_string() }.into()),
        };
        // Positions that a call gave, or that were looked at, are inside an axis that was so long then. If it is no shorter now,
        // they stay where they are.
        if known.is_none_or(|known| known.bound() > extent) {
            if let Some((element, position)) = first_outside(data.bytes()?, extent) {
                return Err(outside(slot, element, position, name, extent).into());
            }
            // Of a part nothing follows for the rest.
            known.filter(|_| is_whole).inspect(|known| known.learn(extent));
        }
    }
    Ok(slyz_run::Argument::Array { ty: leaf.ty, shape: Cow::Borrowed(shape), data })
}

fn outside(slot: &Slot, element: usize, position: u64, axis: &str, extent: u64) -> CallError {
    let field = slot.field.clone();
    CallError::Outside { argument: slot.argument, field, element, position, axis: axis.to_string(), extent }
}
