//! Elements: what arrays hold, how one element looks in traced code ([`Exp`] for a scalar), and what may stand for it.
//!
//! An element is a scalar, a position ([`At`](crate::At)), a tuple or `[_; N]` of elements, or a struct with
//! `#[derive(Elem)]`. Arrays of compound elements are stored as one buffer per scalar leaf.

use crate::state::{LoopState, State};
use crate::trace::{self, Handle, Leaf, Loc, Part, Ty};
use half::{bf16, f16};
use slyz_run::Buffer;
use slyz_sir::types::Scalar as Constant;
use std::any::TypeId;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::{LazyLock, PoisonError, RwLock};

/// A scalar of the function being traced.
///
/// ```
/// use slyz::prelude::*;
/// let f = compile(|x: Exp<f32>, y: Exp<f32>| (x * x + y * y).sqrt())?;
/// assert_eq!(f.call(3.0, 4.0)?.value()?, 5.0);
/// # Ok::<(), slyz::Error>(())
/// ```
pub struct Exp<T> {
    handle: Handle,
    elem: PhantomData<fn() -> T>,
}

impl<T> Clone for Exp<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Exp<T> {}

impl<T> std::fmt::Debug for Exp<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        self.handle.fmt(f)
    }
}

impl<T> Exp<T> {
    pub(crate) fn new(handle: Handle) -> Self {
        Exp { handle: handle.on_axis(0), elem: PhantomData }
    }

    pub(crate) fn handle(self) -> Handle {
        self.handle
    }
}

/// What only this crate can name, so that nobody else writes the functions that return it: that reads are inside rests on what
/// shapes say about each other, so shapes and their relations, unlike axes, are not for users to write.
pub struct Seal(());

impl Seal {
    /// For the traits of the crate.
    pub(crate) const THIS: Seal = Seal(());
}

/// What an array may hold. Scalars, positions, tuples and `[_; N]` are elements; a struct of them becomes one with
/// `#[derive(slyz::Elem)]`. The methods are for the derive, which keeps the host form and the traced form alike.
///
/// ```
/// use slyz::{Elem, Ty};
/// assert_eq!(<(f32, [u8; 2])>::tys(), [Ty::F32, Ty::U8, Ty::U8]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of an array",
    label = "not an element type",
    note = "elements are `f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool`, `At<Axis>`, tuples or `[_; N]` of them, and structs with `#[derive(slyz::Elem)]`"
)]
pub trait Elem: Copy + 'static {
    /// One element in traced code.
    type Exp: Value<Elem = Self> + Lift<Self> + Traced<Form = Self::Exp>;

    /// The scalars it is made of, in order.
    fn parts() -> Vec<Leaf>;

    /// Appends the value of each leaf.
    fn store(self, out: &mut Vec<Constant>);

    /// Takes the value of each leaf.
    fn load(next: &mut dyn FnMut() -> Constant) -> Self;

    /// The types of the leaves.
    fn tys() -> Vec<Ty> {
        Self::parts().into_iter().map(|leaf| leaf.ty).collect()
    }

    /// The bytes of many elements, where they are stored as the host stores them.
    #[doc(hidden)]
    fn view(_: &[Self]) -> Option<&[u8]> {
        None
    }

    /// Such bytes as elements, where they stand.
    #[doc(hidden)]
    fn slice(_: &[u8]) -> Option<&[Self]> {
        None
    }

    /// The memory of many elements without a copy, or the elements.
    #[doc(hidden)]
    fn buffer(data: Vec<Self>) -> Result<Result<Buffer, slyz_run::Error>, Vec<Self>> {
        Err(data)
    }

    /// Elements from such bytes.
    #[doc(hidden)]
    fn collect(_: &[u8]) -> Option<Vec<Self>> {
        None
    }

    /// So many elements, whose bytes somebody fills.
    #[doc(hidden)]
    fn filled(_len: usize, _fill: &mut Fill<'_>) -> Option<Result<Vec<Self>, slyz_run::Error>> {
        None
    }
}

/// Fills the bytes of elements.
#[doc(hidden)]
pub type Fill<'a> = dyn FnMut(&mut [u8]) -> Result<(), slyz_run::Error> + 'a;

/// The traced form of an element: `Exp`, `Idx`, or tuples, arrays and derived structs of them. The methods are for
/// the derive: a position that is not built from its own leaves would not be inside its axis.
///
/// ```
/// use slyz::{Elem, Exp, Value};
/// fn same<V: Value>(v: V) -> V { v }
/// fn pair(v: (Exp<f32>, Exp<u32>)) -> (Exp<f32>, Exp<u32>) { same(v) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a traced value",
    label = "expected an `Exp`, an `Idx`, or a tuple of them"
)]
pub trait Value: State + Lift<<Self as Value>::Elem> {
    /// The element it stands for.
    type Elem: Elem<Exp = Self>;

    /// Appends the handle of each leaf.
    #[doc(hidden)]
    fn leaves(self, out: &mut Vec<Handle>);

    /// Takes the handle of each leaf.
    #[doc(hidden)]
    fn build(next: &mut dyn FnMut() -> Handle) -> Self;
}

/// What tells its traced form by itself: a constant, a traced value, or tuples of either. So a choice between constants has a type
/// at once, and `select(1, -1)` is an `Exp<i32>` unless something else says otherwise.
///
/// ```
/// use slyz::prelude::*;
/// let f = compile(|x: Exp<f32>| x.gt(0.0).select(1, -1).abs())?;
/// assert_eq!(f.call(-2.5)?.value()?, 1);
/// # Ok::<(), slyz::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no traced form",
    label = "expected an `Exp`, an `Idx`, a constant, or a tuple of them"
)]
pub trait Traced {
    /// The traced form.
    type Form: Value;
}

/// The element that the traced form of `A` stands for.
pub type ElemOf<A> = <<A as Traced>::Form as Value>::Elem;

#[diagnostic::do_not_recommend]
impl<T: Scalar> Traced for T {
    type Form = Exp<T>;
}

#[diagnostic::do_not_recommend]
impl<T: Scalar> Traced for Exp<T> {
    type Form = Exp<T>;
}

/// Anything that can stand for a traced `T`: the traced form itself, a plain constant, tuples of either.
///
/// ```
/// use slyz::{Exp, Lift};
/// fn twice(x: impl Lift<f32>) -> Exp<f32> { x.lift() * 2.0 }
/// fn three() -> Exp<f32> { twice(1.5) }
/// ```
#[diagnostic::on_unimplemented(
    message = "expected a traced `{T}` (or a constant: `2.0` for floats, `2` for integers), found `{Self}`",
    label = "this does not stand for one `{T}`",
    note = "values of other types are converted with `.cast::<..>()`"
)]
pub trait Lift<T: Elem> {
    /// The traced form.
    fn lift(self) -> T::Exp;
}

/// The leaves of an element: what [`Elem::parts`] said when it was first asked. Tracing, calling and reading must not
/// disagree about them.
pub(crate) fn parts_of<T: Elem>() -> &'static [Leaf] {
    static PARTS: LazyLock<RwLock<ByType<&'static [Leaf]>>> = LazyLock::new(RwLock::default);
    let id = TypeId::of::<T>();
    if let Some(parts) = PARTS.read().unwrap_or_else(PoisonError::into_inner).get(&id) {
        return parts;
    }
    let parts = T::parts();
    // A program has so many types and no more: what is kept for each needs no owner.
    PARTS.write().unwrap_or_else(PoisonError::into_inner).entry(id).or_insert_with(|| parts.leak())
}

/// A map whose keys are types. Every call asks one, and a `TypeId` is as good as a hash already.
type ByType<V> = HashMap<TypeId, V, BuildHasherDefault<TypeHasher>>;

#[derive(Default)]
struct TypeHasher(u64);

impl Hasher for TypeHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 ^= word;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The types of the leaves.
pub(crate) fn tys_of<T: Elem>() -> Vec<Ty> {
    parts_of::<T>().iter().map(|leaf| leaf.ty).collect()
}

/// The handles of a value, one for each leaf of its element. What that calls positions must be positions of that axis.
#[track_caller]
pub(crate) fn handles<V: Value>(value: V) -> Vec<Handle> {
    let mut out = vec![];
    value.leaves(&mut out);
    let parts = parts_of::<V::Elem>();
    if out.len() != parts.len() {
        let what = format!("a value of {} leaves stands for an element of {}", out.len(), parts.len());
        trace::error(Location::caller(), &what, trace::DERIVE);
        return vec![Handle::POISON; parts.len()];
    }
    for (handle, leaf) in out.iter_mut().zip(parts.iter()) {
        *handle = handle.expect_axis(leaf.number);
    }
    out
}

/// Does the element hold positions?
pub(crate) fn holds_positions<T: Elem>() -> bool {
    parts_of::<T>().iter().any(|leaf| leaf.number != 0)
}

/// A value from its handles; poison where there are too few.
pub(crate) fn value_of<V: Value>(handles: &[Handle]) -> V {
    let parts = parts_of::<V::Elem>();
    let mut handles = handles.iter().zip(parts.iter());
    V::build(&mut || handles.next().map_or(Handle::POISON, |(handle, leaf)| handle.on_axis(leaf.number)))
}

/// What may stand beside an `Exp<T>`: another one, or a constant. An array may too, which makes the result one.
///
/// Beside floats a constant may be an `f64`, and is rounded: so `x * 0.5` means the same for every type of floats, and in functions that
/// are generic over it.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let f = compile(|a: Exp<f32>, x: Arr<f32, N>| a * 2.0 + x)?;
/// assert_eq!(f.call(3.0, &[1.0f32, 2.0])?.to_vec()?, [7.0, 8.0]);
/// fn gelu<T: Float>(x: Exp<T>) -> Exp<T> { x * 0.5 * ((x * 0.7071067811865476).erf() + 1.0) }
/// # Ok::<(), slyz::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand beside an `Exp<{T}>`: constants are `2.0` for floats, `2` for integers; the rest is converted with `.cast::<{T}>()`",
    label = "expected an `Exp<{T}>`, a constant `{T}` or an `Arr<{T}, _>`"
)]
pub trait BesideExp<T>: OneNumber {
    #[doc(hidden)]
    #[track_caller]
    fn number(self) -> Exp<T>;
}

/// A scalar or a constant, and no array. It says nothing about types, so that rustc can tell the two apart for all of them: the result
/// of `x * 0.5` is then known before the type of the constant is.
#[doc(hidden)]
#[diagnostic::on_unimplemented(message = "`{Self}` is no scalar", label = "expected an `Exp`, a constant or an `Arr`")]
pub trait OneNumber: Sized {}

/// A scalar element. There are those of the devices and no others: structs of them are made by `#[derive(slyz::Elem)]`.
///
/// ```
/// use slyz::{Scalar, Ty};
/// assert_eq!(f32::TY, Ty::F32);
/// assert_eq!(i8::from_scalar((-1i8).scalar()), -1);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a scalar element type",
    note = "scalars are `f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool`"
)]
pub trait Scalar: Elem<Exp = Exp<Self>> + Lift<Self> + BesideExp<Self> + std::fmt::Debug + PartialEq {
    /// The type on devices.
    const TY: Ty;

    /// The value on devices.
    fn scalar(self) -> Constant;

    /// The host's value.
    fn from_scalar(value: Constant) -> Self;

    #[doc(hidden)]
    fn scalar_seal() -> Seal;

    /// Takes elements from the bytes that a device stores, as many as there are of both.
    #[doc(hidden)]
    fn fill(data: &mut [Self], bytes: &[u8]);
}

/// Numbers: all scalars but `bool`.
///
/// ```
/// use slyz::Num;
/// assert_eq!((u8::HIGHEST, f32::LOWEST), (255, f32::NEG_INFINITY));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number",
    note = "arithmetic is defined on `f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64`"
)]
pub trait Num: Scalar {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The smallest value; minus infinity for floats.
    const LOWEST: Self;
    /// The largest value; infinity for floats.
    const HIGHEST: Self;
}

/// What can be added up: numbers, and tuples, `[_; N]` and derived structs of numbers, which are added part by part.
///
/// ```
/// use slyz::{Additive, Arr, Axis};
/// fn total<T: Additive, A: Axis>(x: Arr<T, A>) -> T::Exp { x.sum() }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be added up",
    note = "sums are of numbers, and of tuples, `[_; N]` and derived structs of numbers; count `bool`s with `.count()`"
)]
pub trait Additive: Elem {}

#[diagnostic::do_not_recommend]
impl<T: Num> Additive for T {}
impl<T: Additive, const N: usize> Additive for [T; N] {}

/// Floating-point numbers.
///
/// ```
/// use slyz::{Exp, Float};
/// fn gelu<T: Float>(x: Exp<T>) -> Exp<T> { x * 0.5 * ((x * 0.7071067811865476).erf() + 1.0) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a floating-point type",
    label = "needs `f32`, `f64`, `f16` or `bf16`",
    note = "convert with `.cast::<f32>()`"
)]
pub trait Float: Num {
    /// Not a number.
    const NAN: Self;

    /// The nearest value.
    fn of(x: f64) -> Self;
}

/// Integers.
///
/// ```
/// use slyz::{Exp, Int};
/// fn parity<T: Int>(x: Exp<T>) -> Exp<T> { x.count_ones() % T::of_i64(2) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an integer type",
    label = "needs one of `i8 i16 i32 i64 u8 u16 u32 u64`",
    note = "convert with `.cast::<i32>()`"
)]
pub trait Int: Num + Bits {
    /// The value modulo the width.
    fn of_i64(x: i64) -> Self;
}

/// What has bits: integers and `bool`.
///
/// ```
/// use slyz::{Bits, Exp};
/// fn both<T: Bits>(a: Exp<T>, b: Exp<T>) -> Exp<T> { a & b }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no bit operations",
    note = "`& | ^ !` are defined on integers and `bool`"
)]
pub trait Bits: Scalar {}

/// Scalars whose every bit pattern is a value; `bool` is the other case.
macro_rules! plain {
    ($($t:ident $ty:ident |$x:ident| $to:expr, |$bits:ident| $from:expr;)*) => {$(
        impl Elem for $t {
            type Exp = Exp<$t>;
            fn parts() -> Vec<Leaf> { vec![Leaf::of(Ty::$ty)] }
            fn store(self, out: &mut Vec<Constant>) { out.push(self.scalar()) }
            fn load(next: &mut dyn FnMut() -> Constant) -> $t { Self::from_scalar(next()) }
            fn view(data: &[$t]) -> Option<&[u8]> { Some(bytemuck::cast_slice(data)) }
            fn slice(bytes: &[u8]) -> Option<&[$t]> { bytemuck::try_cast_slice(bytes).ok() }
            fn buffer(data: Vec<$t>) -> Result<Result<Buffer, slyz_run::Error>, Vec<$t>> { Ok(Buffer::from_vec(data)) }
            fn collect(bytes: &[u8]) -> Option<Vec<$t>> { Some(bytemuck::pod_collect_to_vec(bytes)) }
            fn filled(len: usize, fill: &mut Fill<'_>) -> Option<Result<Vec<$t>, slyz_run::Error>> {
                let mut data = bytemuck::zeroed_vec(len);
                Some(fill(bytemuck::cast_slice_mut(&mut data)).map(|()| data))
            }
        }
        impl Scalar for $t {
            const TY: Ty = Ty::$ty;
            fn scalar(self) -> Constant {
                let $x = self;
                Constant { ty: Ty::$ty, bits: $to }
            }
            fn from_scalar(value: Constant) -> $t {
                let $bits = if value.ty == Ty::$ty { value.bits } else { value.cast(Ty::$ty).bits };
                $from
            }
            fn scalar_seal() -> Seal { Seal::THIS }
            fn fill(data: &mut [$t], bytes: &[u8]) {
                let to: &mut [u8] = bytemuck::cast_slice_mut(data);
                let len = to.len().min(bytes.len());
                to[..len].copy_from_slice(&bytes[..len]);
            }
        }
    )*};
}
plain! {
    f32 F32 |x| x.to_bits() as u64, |b| f32::from_bits(b as u32);
    f64 F64 |x| x.to_bits(), |b| f64::from_bits(b);
    f16 F16 |x| x.to_bits() as u64, |b| f16::from_bits(b as u16);
    bf16 BF16 |x| x.to_bits() as u64, |b| bf16::from_bits(b as u16);
    i8 I8 |x| x as u8 as u64, |b| b as i8;
    i16 I16 |x| x as u16 as u64, |b| b as i16;
    i32 I32 |x| x as u32 as u64, |b| b as i32;
    i64 I64 |x| x as u64, |b| b as i64;
    u8 U8 |x| x as u64, |b| b as u8;
    u16 U16 |x| x as u64, |b| b as u16;
    u32 U32 |x| x as u64, |b| b as u32;
    u64 U64 |x| x, |b| b;
}

impl Elem for bool {
    type Exp = Exp<bool>;
    fn parts() -> Vec<Leaf> {
        vec![Leaf::of(Ty::Bool)]
    }
    fn store(self, out: &mut Vec<Constant>) {
        out.push(Constant::bool(self))
    }
    fn load(next: &mut dyn FnMut() -> Constant) -> bool {
        next().is_true()
    }
    fn view(data: &[bool]) -> Option<&[u8]> {
        Some(bytemuck::cast_slice(data))
    }
    fn slice(bytes: &[u8]) -> Option<&[bool]> {
        bytemuck::checked::try_cast_slice(bytes).ok()
    }
    fn buffer(data: Vec<bool>) -> Result<Result<Buffer, slyz_run::Error>, Vec<bool>> {
        Ok(Buffer::from_vec(data))
    }
    fn collect(bytes: &[u8]) -> Option<Vec<bool>> {
        Some(bytes.iter().map(|&byte| byte != 0).collect())
    }
}

impl Scalar for bool {
    const TY: Ty = Ty::Bool;
    fn scalar(self) -> Constant {
        Constant::bool(self)
    }
    fn from_scalar(value: Constant) -> bool {
        value.is_true()
    }
    fn scalar_seal() -> Seal {
        Seal::THIS
    }
    fn fill(data: &mut [bool], bytes: &[u8]) {
        data.iter_mut().zip(bytes).for_each(|(to, &byte)| *to = byte != 0);
    }
}

macro_rules! ints {
    ($($t:ident)*) => {$(
        impl Num for $t {
            const ZERO: $t = 0;
            const ONE: $t = 1;
            const LOWEST: $t = $t::MIN;
            const HIGHEST: $t = $t::MAX;
        }
        impl Int for $t { fn of_i64(x: i64) -> $t { x as $t } }
        impl Bits for $t {}
    )*};
}
ints!(i8 i16 i32 i64 u8 u16 u32 u64);
impl Bits for bool {}

macro_rules! floats {
    ($($t:ident $zero:expr, $one:expr, |$x:ident| $of:expr;)*) => {$(
        impl Num for $t {
            const ZERO: $t = $zero;
            const ONE: $t = $one;
            const LOWEST: $t = $t::NEG_INFINITY;
            const HIGHEST: $t = $t::INFINITY;
        }
        impl Float for $t {
            const NAN: $t = $t::NAN;
            fn of($x: f64) -> $t { $of }
        }
    )*};
}
floats! {
    f32 0.0, 1.0, |x| x as f32;
    f64 0.0, 1.0, |x| x;
    f16 f16::ZERO, f16::ONE, |x| f16::from_f64(x);
    bf16 bf16::ZERO, bf16::ONE, |x| bf16::from_f64(x);
}

impl<T: Scalar> Value for Exp<T> {
    type Elem = T;
    fn leaves(self, out: &mut Vec<Handle>) {
        out.push(self.handle())
    }
    fn build(next: &mut dyn FnMut() -> Handle) -> Self {
        Exp::new(next())
    }
}

#[diagnostic::do_not_recommend]
impl<T: Scalar> Lift<T> for Exp<T> {
    fn lift(self) -> Exp<T> {
        self
    }
}

// One by one, not for every `T: Scalar`: else whatever is no scalar would be held to stand for itself.
macro_rules! constants {
    ($($t:ident)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Lift<$t> for $t {
            #[track_caller]
            fn lift(self) -> Exp<$t> { lit(self) }
        }
    )*};
}
constants!(f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool);

impl<T: Scalar> State for Exp<T> {
    fn save(self, out: &mut Vec<Part>) {
        out.push(Part::scalar(self.handle()));
    }
    fn restore(next: &mut dyn FnMut() -> Part) -> Self {
        Exp::new(next().expect(Part::scalar(Handle::NUMBER)))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Scalar> LoopState<Exp<T>> for Exp<T> {
    fn start(self) -> Exp<T> {
        self
    }
}

macro_rules! starting_constants {
    ($($t:ident)*) => {$(
        #[diagnostic::do_not_recommend]
        impl LoopState<Exp<$t>> for $t {
            #[track_caller]
            fn start(self) -> Exp<$t> { lit(self) }
        }
    )*};
}
starting_constants!(f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool);

/// A constant in traced code. Most operations take plain Rust constants, so this is seldom needed.
///
/// ```
/// use slyz::prelude::*;
/// let f = compile(|x: Exp<f32>| x.gt(0.0).select(lit(1.0), x))?;
/// assert_eq!(f.call(3.0)?.value()?, 1.0);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn lit<T: Scalar>(x: T) -> Exp<T> {
    let at: Loc = Location::caller();
    Exp::new(crate::record::constant(at, x.scalar()))
}

impl Elem for () {
    type Exp = ();
    fn parts() -> Vec<Leaf> {
        vec![]
    }
    fn store(self, _: &mut Vec<Constant>) {}
    fn load(_: &mut dyn FnMut() -> Constant) {}
}

impl Value for () {
    type Elem = ();
    fn leaves(self, _: &mut Vec<Handle>) {}
    fn build(_: &mut dyn FnMut() -> Handle) {}
}

impl Traced for () {
    type Form = ();
}

#[diagnostic::do_not_recommend]
impl Lift<()> for () {
    fn lift(self) {}
}

macro_rules! tuples {
    ($($V:ident $T:ident $i:tt),*) => {
        impl<$($T: Elem),*> Elem for ($($T,)*) {
            type Exp = ($($T::Exp,)*);
            fn parts() -> Vec<Leaf> { [$($T::parts()),*].concat() }
            fn store(self, out: &mut Vec<Constant>) { $(self.$i.store(out);)* }
            fn load(next: &mut dyn FnMut() -> Constant) -> Self { ($($T::load(next),)*) }
        }
        impl<$($T: Additive),*> Additive for ($($T,)*) {}
        impl<$($V: Value),*> Value for ($($V,)*) {
            type Elem = ($($V::Elem,)*);
            fn leaves(self, out: &mut Vec<Handle>) { $(self.$i.leaves(out);)* }
            fn build(next: &mut dyn FnMut() -> Handle) -> Self { ($($V::build(next),)*) }
        }
        impl<$($V: Traced),*> Traced for ($($V,)*) {
            type Form = ($($V::Form,)*);
        }
        #[diagnostic::do_not_recommend]
        impl<$($T: Elem, $V: Lift<$T>),*> Lift<($($T,)*)> for ($($V,)*) {
            #[track_caller]
            fn lift(self) -> ($($T::Exp,)*) { ($(self.$i.lift(),)*) }
        }
    };
}
tuples!(A P 0, B Q 1);
tuples!(A P 0, B Q 1, C R 2);
tuples!(A P 0, B Q 1, C R 2, D S 3);
tuples!(A P 0, B Q 1, C R 2, D S 3, E T 4);
tuples!(A P 0, B Q 1, C R 2, D S 3, E T 4, F U 5);

impl<T: Elem, const N: usize> Elem for [T; N] {
    type Exp = [T::Exp; N];
    fn parts() -> Vec<Leaf> {
        (0..N).flat_map(|_| T::parts()).collect()
    }
    fn store(self, out: &mut Vec<Constant>) {
        for x in self {
            x.store(out)
        }
    }
    fn load(next: &mut dyn FnMut() -> Constant) -> Self {
        std::array::from_fn(|_| T::load(next))
    }
}

impl<V: Traced, const N: usize> Traced for [V; N] {
    type Form = [V::Form; N];
}

impl<V: Value, const N: usize> Value for [V; N] {
    type Elem = [V::Elem; N];
    fn leaves(self, out: &mut Vec<Handle>) {
        for v in self {
            v.leaves(out)
        }
    }
    fn build(next: &mut dyn FnMut() -> Handle) -> Self {
        std::array::from_fn(|_| V::build(next))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Elem, V: Lift<T>, const N: usize> Lift<[T; N]> for [V; N] {
    #[track_caller]
    fn lift(self) -> [T::Exp; N] {
        self.map(|v| v.lift())
    }
}
