//! What the macros expand to. Nothing here is meant to be written by hand; `slyz-macros/README.md` is the contract.
//!
//! A `#[function]` becomes a [`call`], its `if`s become [`cond`]`(..).branch(..)`, its comparisons [`Lt::lt`] and so on:
//! the same text works on host values, where it is decided while tracing, and on traced ones, where it is recorded.
#![allow(missing_docs)]

use crate::arr::Arr;
#[cfg(any(feature = "cpu", feature = "cuda", feature = "wgpu"))]
pub use crate::bundle::{bundled, bundled_of_views, carry, traced};
use crate::elem::{Elem, Exp, Lift, Scalar as ScalarElem, Value, handles, lit, parts_of, value_of};
use crate::exp::binary;
use crate::extent::{Axis, axis_number};
pub use crate::feed::{Fed, Feed};
pub use crate::naperian::axis::{log_number, logs, without_paths};
pub use crate::output::{Outs, Record, Results};
pub use crate::param::{Arrays, Parameters};
use crate::position::Idx;
use crate::record;
use crate::shape::Shape;
pub use crate::trace::{Handle, Key as FunctionKey, Leaf, Loc, Part};
use half::{bf16, f16};
use slyz_sir::choices::Precision;
use slyz_sir::ops::Operator;
pub use slyz_sir::types::Scalar;
use std::any::TypeId;
use std::cell::RefCell;
use std::panic::Location;

/// What `#[derive(Elem)]` asks of its struct, before anything else.
#[diagnostic::on_unimplemented(
    message = "an element is `Copy`: write `#[derive(Clone, Copy, Elem)]`",
    label = "`{Self}` is not `Copy`"
)]
pub trait Copied {}

#[diagnostic::do_not_recommend]
impl<T: Copy> Copied for T {}

pub const fn copied<T: Copied>() {}

/// What `#[derive(Arrays)]` asks of its struct, before anything else.
#[diagnostic::on_unimplemented(
    message = "a struct of arrays is `Copy`: write `#[derive(Clone, Copy, Arrays)]`",
    label = "`{Self}` is not `Copy`"
)]
pub trait CopiedArrays {}

#[diagnostic::do_not_recommend]
impl<T: Copy> CopiedArrays for T {}

pub const fn copied_arrays<T: CopiedArrays>() {}

/// What the parameters of an element struct are where that is of arrays.
pub trait ArraysValue: Value + Arrays {}
impl<V: Value + Arrays> ArraysValue for V {}

/// Conditions of derived implementations. One that cannot hold is an error at once for a type without parameters, unless it speaks of
/// a lifetime of its own; so these have one, and what is wrong with a field is told once, not by each implementation.
macro_rules! conditions {
    ($($Name:ident: $Class:path;)*) => {$(
        pub trait $Name<'a>: $Class {}
        #[diagnostic::do_not_recommend]
        impl<'a, T: $Class> $Name<'a> for T {}
    )*};
}
conditions! {
    IfArrays: Arrays;
    IfCopy: Copy;
    IfClone: Clone;
    IfDebug: std::fmt::Debug;
    IfEqual: PartialEq;
}

/// A parameter of a shared function: a traced value or array, or a host constant, on which it is specialised.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a `#[slyz::function]`",
    note = "use `Exp`, `Idx`, `Arr`, tuples of them, or a host number; or `#[slyz::function(inline)]`"
)]
///
/// The handles that `again` is given know whether they are positions, and of which axis: an `Idx` is made of no others.
pub trait FunctionArg: Copy {
    fn handles(self, out: &mut Vec<Handle>);
    fn again(self, next: &mut dyn FnMut() -> Handle) -> Self;
    fn key(self, out: &mut Vec<u64>);
}

impl<T: ScalarElem> FunctionArg for Exp<T> {
    fn handles(self, out: &mut Vec<Handle>) {
        out.push(self.handle())
    }
    fn again(self, next: &mut dyn FnMut() -> Handle) -> Self {
        Exp::new(next())
    }
    fn key(self, _: &mut Vec<u64>) {}
}

impl<A: Axis> FunctionArg for Idx<A> {
    fn handles(self, out: &mut Vec<Handle>) {
        out.push(self.handle())
    }
    fn again(self, next: &mut dyn FnMut() -> Handle) -> Self {
        Idx::new(next().expect_axis(axis_number::<A>()))
    }
    fn key(self, _: &mut Vec<u64>) {}
}

/// A function of the program takes scalars only, so one with an array is traced in place; `again` is then not called
/// with other handles than these.
impl<T: Elem, S: Shape> FunctionArg for Arr<T, S> {
    fn handles(self, out: &mut Vec<Handle>) {
        out.push(self.handle().as_array_argument())
    }
    fn again(self, next: &mut dyn FnMut() -> Handle) -> Self {
        next();
        self
    }
    fn key(self, _: &mut Vec<u64>) {}
}

macro_rules! host_args {
    ($($t:ty: |$x:ident| $key:expr;)*) => {$(
        impl FunctionArg for $t {
            fn handles(self, _: &mut Vec<Handle>) {}
            fn again(self, _: &mut dyn FnMut() -> Handle) -> Self { self }
            fn key(self, out: &mut Vec<u64>) {
                let $x = self;
                out.push($key)
            }
        }
    )*};
}
host_args! {
    bool: |x| x as u64;
    char: |x| x as u64;
    i8: |x| x as u64;
    i16: |x| x as u64;
    i32: |x| x as u64;
    i64: |x| x as u64;
    isize: |x| x as u64;
    u8: |x| x as u64;
    u16: |x| x as u64;
    u32: |x| x as u64;
    u64: |x| x;
    usize: |x| x as u64;
    f16: |x| x.to_bits() as u64;
    bf16: |x| x.to_bits() as u64;
    f32: |x| x.to_bits() as u64;
    f64: |x| x.to_bits();
}

impl<X: FunctionArg, const N: usize> FunctionArg for [X; N] {
    fn handles(self, out: &mut Vec<Handle>) {
        for x in self {
            x.handles(out)
        }
    }
    fn again(self, next: &mut dyn FnMut() -> Handle) -> Self {
        self.map(|x| x.again(next))
    }
    fn key(self, out: &mut Vec<u64>) {
        for x in self {
            x.key(out)
        }
    }
}

/// Locals that may be assigned in a traced branch.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` variable is assigned inside an `if` on a traced condition",
    note = "both branches are traced, so only `Exp`, `Idx` and tuples of them can differ between branches"
)]
pub trait Phi: Copy {
    fn leaves(self, out: &mut Vec<Handle>);
    fn build(like: Self, next: &mut dyn FnMut() -> Handle) -> Self;
}

/// `x[p] = v` in a `#[function]`: of an array of the device it is [`Arr::with`](crate::Arr::with).
#[diagnostic::on_unimplemented(
    message = "an element of `{Self}` at `{P}` cannot be set",
    label = "`x[p] = v` is for an `Arr` at an `Idx` or a `Near`, or tuples of them, and for host arrays at a `usize`"
)]
pub trait SetElement<P, V> {
    fn set_element(&mut self, place: P, value: V);
}

impl<T: Elem, S: Shape, P: crate::ScatterTo<Shape = S>, V: Lift<T>> SetElement<P, V> for Arr<T, S> {
    #[track_caller]
    fn set_element(&mut self, place: P, value: V) {
        *self = self.with(place, value);
    }
}

impl<T, const N: usize> SetElement<usize, T> for [T; N] {
    #[track_caller]
    fn set_element(&mut self, place: usize, value: T) {
        self[place] = value;
    }
}

impl<T> SetElement<usize, T> for Vec<T> {
    #[track_caller]
    fn set_element(&mut self, place: usize, value: T) {
        self[place] = value;
    }
}

impl<T> SetElement<usize, T> for [T] {
    #[track_caller]
    fn set_element(&mut self, place: usize, value: T) {
        self[place] = value;
    }
}

impl<T: ScalarElem> Phi for Exp<T> {
    fn leaves(self, out: &mut Vec<Handle>) {
        out.push(self.handle())
    }
    fn build(_: Self, next: &mut dyn FnMut() -> Handle) -> Self {
        Exp::new(next())
    }
}

impl<A: Axis> Phi for Idx<A> {
    fn leaves(self, out: &mut Vec<Handle>) {
        out.push(self.handle())
    }
    fn build(_: Self, next: &mut dyn FnMut() -> Handle) -> Self {
        Idx::new(next().expect_axis(axis_number::<A>()))
    }
}

impl<P: Phi, const N: usize> Phi for [P; N] {
    fn leaves(self, out: &mut Vec<Handle>) {
        for x in self {
            x.leaves(out)
        }
    }
    fn build(like: Self, next: &mut dyn FnMut() -> Handle) -> Self {
        like.map(|x| P::build(x, next))
    }
}

macro_rules! tuples {
    ($($A:ident $i:tt),*) => {
        impl<$($A: FunctionArg),*> FunctionArg for ($($A,)*) {
            fn handles(self, _out: &mut Vec<Handle>) { $(self.$i.handles(_out);)* }
            #[allow(clippy::unused_unit)]
            fn again(self, _next: &mut dyn FnMut() -> Handle) -> Self { ($(self.$i.again(_next),)*) }
            fn key(self, _out: &mut Vec<u64>) { $(self.$i.key(_out);)* }
        }
        impl<$($A: Phi),*> Phi for ($($A,)*) {
            fn leaves(self, _out: &mut Vec<Handle>) { $(self.$i.leaves(_out);)* }
            #[allow(clippy::unused_unit)]
            fn build(_like: Self, _next: &mut dyn FnMut() -> Handle) -> Self { ($($A::build(_like.$i, _next),)*) }
        }
    };
}
tuples!();
tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);

/// What a shared function gives back.
#[diagnostic::on_unimplemented(
    message = "a `#[slyz::function]` cannot return `{Self}`",
    note = "it returns an `Exp`, an `Idx`, a tuple of them, or an `Arr`"
)]
pub trait Ret: Sized {
    fn share(at: Loc, name: &str, key: FunctionKey, args: &[Handle], body: &mut dyn FnMut(&[Handle]) -> Self) -> Self;
}

impl<V: Value> Ret for V {
    fn share(at: Loc, name: &str, key: FunctionKey, args: &[Handle], body: &mut dyn FnMut(&[Handle]) -> Self) -> Self {
        let count = parts_of::<V::Elem>().len();
        value_of(&record::call(at, name, key, args, count, &mut |args| handles(body(args))))
    }
}

/// An array result cannot come out of a function of the program: the body is traced in place.
impl<T: Elem, S: Shape> Ret for Arr<T, S> {
    fn share(_: Loc, _: &str, _: FunctionKey, args: &[Handle], body: &mut dyn FnMut(&[Handle]) -> Self) -> Self {
        body(args)
    }
}

/// Marks the type of a parameter, for the place of its error, and notes its name.
pub fn arg<A: FunctionArg>(name: &'static str, arg: A) -> A {
    let mut handles = vec![];
    arg.handles(&mut handles);
    crate::trace::name(name, &handles);
    arg
}

/// The whole body of a shared function.
#[track_caller]
pub fn call<A: FunctionArg, R: Ret, F: Fn(A) -> R + 'static>(name: &'static str, args: A, body: F) -> R {
    let at: Loc = Location::caller();
    let mut handles = vec![];
    let mut key = vec![];
    args.handles(&mut handles);
    // What is a position here is one in the body, and the body is for calls with such arguments only.
    let axes: Vec<u32> = handles.iter().map(|handle| handle.axis()).collect();
    key.extend(axes.iter().map(|&axis| u64::from(axis)));
    args.key(&mut key);
    R::share(at, name, (TypeId::of::<F>(), key), &handles, &mut |handles| {
        let mut handles = handles.iter().zip(&axes).map(|(handle, &axis)| handle.on_axis(axis));
        body(args.again(&mut || handles.next().unwrap_or(Handle::POISON)))
    })
}

/// What is traced is at least as precise as that.
pub fn precise(precision: Precision) {
    crate::trace::with(|trace| trace.precision = trace.precision.max(Some(precision)));
}

/// What is traced is to be made of smaller numbers. Of several, the first is.
pub fn smaller(small: slyz_sir::quantize::Small) {
    crate::trace::with(|trace| trace.small = trace.small.or(Some(small)));
}

/// A condition, of the host or traced: inherent methods on two types, so that each has its own bounds.
pub struct If<C>(C);

/// The condition of an `if`, or the left side of `&&` and `||`.
pub fn cond<C: Cond>(cond: C) -> If<C> {
    If(cond)
}

#[diagnostic::on_unimplemented(
    message = "a condition must be a `bool` or a traced `Exp<bool>`, found `{Self}`",
    label = "not a condition"
)]
pub trait Cond {}
impl Cond for bool {}
impl Cond for Exp<bool> {}

impl If<bool> {
    /// `vars` are the outer locals assigned in a branch; `Fn` makes any other mutation a compile error.
    pub fn branch<S, R>(self, vars: S, then: impl Fn(S) -> (S, R), other: impl Fn(S) -> (S, R)) -> (S, R) {
        if self.0 { then(vars) } else { other(vars) }
    }
    pub fn and<B>(self, right: impl Fn() -> B) -> B
    where
        bool: Into<B>,
    {
        if self.0 { right() } else { false.into() }
    }
    pub fn or<B>(self, right: impl Fn() -> B) -> B
    where
        bool: Into<B>,
    {
        if self.0 { true.into() } else { right() }
    }
}

impl If<Exp<bool>> {
    #[track_caller]
    pub fn branch<S: Phi, T: Elem<Exp = V>, V: Value<Elem = T>, A: Lift<T>, B: Lift<T>>(
        self,
        vars: S,
        then: impl Fn(S) -> (S, A),
        other: impl Fn(S) -> (S, B),
    ) -> (S, V) {
        let at: Loc = Location::caller();
        let mut outer = vec![];
        vars.leaves(&mut outer);
        let assigned = outer.len();
        let count = outer.len() + parts_of::<T>().len();
        // The axes that both sides leave positions of in the variables.
        let axes: RefCell<Vec<Option<u32>>> = RefCell::new(vec![None; assigned]);
        let flat = |vars: S, value: V| {
            let mut out = vec![];
            vars.leaves(&mut out);
            if out.len() != assigned {
                crate::trace::error(at, "a variable changes its number of parts in a branch", crate::trace::DERIVE);
                out.resize(assigned, Handle::POISON);
            }
            for (known, handle) in axes.borrow_mut().iter_mut().zip(&out) {
                *known = Some(if known.is_none_or(|axis| axis == handle.axis()) { handle.axis() } else { 0 });
            }
            out.extend(handles(value));
            out
        };
        let then = &mut |_: &[Handle]| {
            let (vars, value) = then(vars);
            flat(vars, value.lift())
        };
        let other = &mut |_: &[Handle]| {
            let (vars, value) = other(vars);
            flat(vars, value.lift())
        };
        let out = record::branch(at, self.0.handle(), &[], &[], count, then, other);
        let axes = axes.into_inner();
        let mut assigned_now = out[..assigned].iter().zip(axes).map(|(handle, axis)| handle.on_axis(axis.unwrap_or(0)));
        let vars = S::build(vars, &mut || assigned_now.next().unwrap_or(Handle::POISON));
        (vars, value_of(&out[assigned..]))
    }

    #[track_caller]
    pub fn and<B: Lift<bool>>(self, right: impl Fn() -> B) -> Exp<bool> {
        self.0 & right().lift()
    }

    #[track_caller]
    pub fn or<B: Lift<bool>>(self, right: impl Fn() -> B) -> Exp<bool> {
        self.0 | right().lift()
    }
}

/// Comparisons: one trait each, for all host types, and traced as soon as one side is.
macro_rules! compare {
    ($($Tr:ident $m:ident $Host:ident;)*) => {$(
        #[diagnostic::on_unimplemented(message = "cannot compare `{Self}` with `{R}`")]
        pub trait $Tr<R: ?Sized> {
            type Out;
            #[track_caller]
            fn $m(&self, right: &R) -> Self::Out;
        }
        impl<L: $Host<R> + ?Sized, R: ?Sized> $Tr<R> for L {
            type Out = bool;
            fn $m(&self, right: &R) -> bool { $Host::$m(self, right) }
        }
        impl<T: ScalarElem> $Tr<Exp<T>> for Exp<T> {
            type Out = Exp<bool>;
            #[track_caller]
            fn $m(&self, right: &Exp<T>) -> Exp<bool> { binary(Operator::$Tr, *self, *right) }
        }
        impl<A: Axis> $Tr<Idx<A>> for Idx<A> {
            type Out = Exp<bool>;
            #[track_caller]
            fn $m(&self, right: &Idx<A>) -> Exp<bool> { binary(Operator::$Tr, self.i64(), right.i64()) }
        }
        compare!(@ $Tr $m f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool);
    )*};
    (@ $Tr:ident $m:ident $($t:ident)*) => {$(
        impl $Tr<$t> for Exp<$t> {
            type Out = Exp<bool>;
            #[track_caller]
            fn $m(&self, right: &$t) -> Exp<bool> { binary(Operator::$Tr, *self, lit(*right)) }
        }
        impl $Tr<Exp<$t>> for $t {
            type Out = Exp<bool>;
            #[track_caller]
            fn $m(&self, right: &Exp<$t>) -> Exp<bool> { binary(Operator::$Tr, lit(*self), *right) }
        }
    )*};
}
compare! {
    Lt lt PartialOrd;
    Le le PartialOrd;
    Gt gt PartialOrd;
    Ge ge PartialOrd;
    Eq eq PartialEq;
    Ne ne PartialEq;
}

/// Conditions that are decided while tracing.
#[diagnostic::on_unimplemented(
    message = "this cannot depend on a traced condition",
    label = "this is known only on the device",
    note = "for a loop write `repeat_while(init, |s| condition, |s| step)`; for a choice write a plain `if`, without `#[host]`"
)]
pub trait Host {
    fn host(self) -> bool;
}

impl Host for bool {
    fn host(self) -> bool {
        self
    }
}

/// What a `for` runs over while tracing.
#[diagnostic::on_unimplemented(
    message = "a `for` loop cannot run over `{Self}`",
    label = "not a host iterator",
    note = "host loops are unrolled while tracing; over a traced count write `iterate(n, init, |i, s| ..)`, over an axis `fold`"
)]
pub trait HostIter {
    type Iter: Iterator;
    fn host_iter(self) -> Self::Iter;
}

impl<T: IntoIterator> HostIter for T {
    type Iter = T::IntoIter;
    fn host_iter(self) -> T::IntoIter {
        self.into_iter()
    }
}
