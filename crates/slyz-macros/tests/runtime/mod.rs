//! The contract of `README.md` in miniature: a runtime that computes at once instead of recording.
//!
//! It stands in for crate `slyz` (which depends on this crate) so that expansions can be compiled and run here. A traced
//! value holds its number, and a traced `if` runs both branches, in order, and keeps the right leaves. It knows three
//! scalars and no arrays.

use std::cell::RefCell;
use std::ops::{Add, AddAssign, BitAnd, BitOr, Mul, MulAssign, Neg, Not, Sub, SubAssign};

thread_local! {
    /// What happened, for tests that look at order and place.
    pub static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

pub fn log(line: impl Into<String>) {
    LOG.with_borrow_mut(|log| log.push(line.into()));
}

pub fn take_log() -> Vec<String> {
    LOG.take()
}

/// The bits of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Handle(pub u64);
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Leaf {
    F32,
    U32,
    Bool,
}
pub type Scalar = u64;

#[derive(Clone, Copy, Debug)]
pub struct Exp<T>(pub T);

pub trait Elem: Copy + 'static {
    type Exp: Value<Elem = Self> + Lift<Self> + Traced<Form = Self::Exp>;
    fn parts() -> Vec<Leaf>;
    fn store(self, out: &mut Vec<Scalar>);
    fn load(next: &mut dyn FnMut() -> Scalar) -> Self;
}
pub trait Value: Copy + Lift<<Self as Value>::Elem> {
    type Elem: Elem<Exp = Self>;
    fn leaves(self, out: &mut Vec<Handle>);
    fn build(next: &mut dyn FnMut() -> Handle) -> Self;
}
pub trait Traced {
    type Form: Value;
}
pub type ElemOf<A> = <<A as Traced>::Form as Value>::Elem;
pub trait Copied {}
impl<T: Copy> Copied for T {}
pub const fn copied<T: Copied>() {}
pub trait Lift<T: Elem> {
    #[track_caller]
    fn lift(self) -> T::Exp;
}
pub trait Additive: Elem {}
pub trait Record: Value {}
/// Arguments of compiled functions, which this runtime does not have.
pub struct Fed<'a>(std::marker::PhantomData<&'a ()>);
impl<'a> Fed<'a> {
    pub fn together(parts: impl IntoIterator<Item = Fed<'a>>) -> Fed<'a> {
        parts.into_iter().for_each(drop);
        Fed(std::marker::PhantomData)
    }
}
pub trait Feed<P> {
    fn feed(&self) -> Fed<'_>;
}
impl<P, A: Feed<P>, const N: usize> Feed<[P; N]> for [A; N] {
    fn feed(&self) -> Fed<'_> {
        Fed::together(self.iter().map(A::feed))
    }
}
impl<P, Q, A: Feed<P>, B: Feed<Q>> Feed<(P, Q)> for (A, B) {
    fn feed(&self) -> Fed<'_> {
        Fed::together([self.0.feed(), self.1.feed()])
    }
}
pub trait Phi: Copy {
    fn leaves(self, out: &mut Vec<Handle>);
    fn build(like: Self, next: &mut dyn FnMut() -> Handle) -> Self;
}
pub trait FunctionArg: Copy {
    fn handles(self, out: &mut Vec<Handle>);
    fn again(self, next: &mut dyn FnMut() -> Handle) -> Self;
    fn key(self, out: &mut Vec<u64>);
}
pub trait Prim: Elem<Exp = Exp<Self>> {
    fn bits(self) -> u64;
    fn of_bits(bits: u64) -> Self;
}

macro_rules! prims {
    ($($t:ident $ty:ident $bits:expr, $of:expr;)*) => {$(
        impl Prim for $t {
            fn bits(self) -> u64 { $bits(self) }
            fn of_bits(bits: u64) -> Self { $of(bits) }
        }
        impl Elem for $t {
            type Exp = Exp<$t>;
            fn parts() -> Vec<Leaf> { vec![Leaf::$ty] }
            fn store(self, out: &mut Vec<Scalar>) { out.push(self.bits()) }
            fn load(next: &mut dyn FnMut() -> Scalar) -> Self { Self::of_bits(next()) }
        }
        impl Lift<$t> for $t {
            fn lift(self) -> Exp<$t> { Exp(self) }
        }
    )*};
}
prims! {
    f32 F32 |x: f32| u64::from(x.to_bits()), |b| f32::from_bits(b as u32);
    u32 U32 u64::from, |b| b as u32;
    bool Bool u64::from, |b| b != 0;
}
impl<T: Prim> Traced for T {
    type Form = Exp<T>;
}
impl<T: Prim> Traced for Exp<T> {
    type Form = Exp<T>;
}
impl<T: Prim> Lift<T> for Exp<T> {
    fn lift(self) -> Exp<T> {
        self
    }
}
impl<T: Prim> Value for Exp<T> {
    type Elem = T;
    fn leaves(self, out: &mut Vec<Handle>) {
        out.push(Handle(self.0.bits()));
    }
    fn build(next: &mut dyn FnMut() -> Handle) -> Self {
        Exp(T::of_bits(next().0))
    }
}
impl<T: Prim> Phi for Exp<T> {
    fn leaves(self, out: &mut Vec<Handle>) {
        Value::leaves(self, out);
    }
    fn build(_: Self, next: &mut dyn FnMut() -> Handle) -> Self {
        Value::build(next)
    }
}
impl<T: Prim> FunctionArg for Exp<T> {
    fn handles(self, out: &mut Vec<Handle>) {
        Value::leaves(self, out);
    }
    fn again(self, next: &mut dyn FnMut() -> Handle) -> Self {
        Value::build(next)
    }
    fn key(self, _: &mut Vec<u64>) {}
}
impl FunctionArg for usize {
    fn handles(self, _: &mut Vec<Handle>) {}
    fn again(self, _: &mut dyn FnMut() -> Handle) -> Self {
        self
    }
    fn key(self, out: &mut Vec<u64>) {
        out.push(self as u64);
    }
}

macro_rules! tuples {
    ($(($($A:ident $V:ident $i:tt),*))*) => {$(
        #[allow(unused_variables)]
        impl<$($A: Elem),*> Elem for ($($A,)*) {
            type Exp = ($($A::Exp,)*);
            fn parts() -> Vec<Leaf> { [$($A::parts()),*].concat() }
            fn store(self, out: &mut Vec<Scalar>) { $(self.$i.store(out);)* }
            fn load(next: &mut dyn FnMut() -> Scalar) -> Self { ($($A::load(next),)*) }
        }
        #[allow(unused_variables)]
        impl<$($A: Value),*> Value for ($($A,)*) {
            type Elem = ($($A::Elem,)*);
            fn leaves(self, out: &mut Vec<Handle>) { $(Value::leaves(self.$i, out);)* }
            fn build(next: &mut dyn FnMut() -> Handle) -> Self { ($(<$A as Value>::build(next),)*) }
        }
        impl<$($A: Traced),*> Traced for ($($A,)*) {
            type Form = ($($A::Form,)*);
        }
        impl<$($A: Elem, $V: Lift<$A>),*> Lift<($($A,)*)> for ($($V,)*) {
            fn lift(self) -> ($($A::Exp,)*) { ($(self.$i.lift(),)*) }
        }
        #[allow(unused_variables)]
        impl<$($A: Phi),*> Phi for ($($A,)*) {
            fn leaves(self, out: &mut Vec<Handle>) { $(Phi::leaves(self.$i, out);)* }
            fn build(like: Self, next: &mut dyn FnMut() -> Handle) -> Self { ($(<$A as Phi>::build(like.$i, next),)*) }
        }
        #[allow(unused_variables)]
        impl<$($A: FunctionArg),*> FunctionArg for ($($A,)*) {
            fn handles(self, out: &mut Vec<Handle>) { $(self.$i.handles(out);)* }
            fn again(self, next: &mut dyn FnMut() -> Handle) -> Self { ($(self.$i.again(next),)*) }
            fn key(self, out: &mut Vec<u64>) { $(self.$i.key(out);)* }
        }
    )*};
}
tuples! { (A U 0) (A U 0, B V 1) (A U 0, B V 1, C W 2) (A U 0, B V 1, C W 2, D X 3) }

impl Elem for () {
    type Exp = ();
    fn parts() -> Vec<Leaf> {
        Vec::new()
    }
    fn store(self, _: &mut Vec<Scalar>) {}
    fn load(_: &mut dyn FnMut() -> Scalar) -> Self {}
}
impl Value for () {
    type Elem = ();
    fn leaves(self, _: &mut Vec<Handle>) {}
    fn build(_: &mut dyn FnMut() -> Handle) -> Self {}
}
impl Traced for () {
    type Form = ();
}
impl Lift<()> for () {
    fn lift(self) {}
}
impl Phi for () {
    fn leaves(self, _: &mut Vec<Handle>) {}
    fn build(_: Self, _: &mut dyn FnMut() -> Handle) -> Self {}
}

impl<T: Elem, const N: usize> Elem for [T; N] {
    type Exp = [T::Exp; N];
    fn parts() -> Vec<Leaf> {
        (0..N).flat_map(|_| T::parts()).collect()
    }
    fn store(self, out: &mut Vec<Scalar>) {
        self.into_iter().for_each(|x| x.store(out));
    }
    fn load(next: &mut dyn FnMut() -> Scalar) -> Self {
        std::array::from_fn(|_| T::load(next))
    }
}
impl<V: Value, const N: usize> Value for [V; N] {
    type Elem = [V::Elem; N];
    fn leaves(self, out: &mut Vec<Handle>) {
        self.into_iter().for_each(|x| x.leaves(out));
    }
    fn build(next: &mut dyn FnMut() -> Handle) -> Self {
        std::array::from_fn(|_| V::build(next))
    }
}
impl<V: Traced, const N: usize> Traced for [V; N] {
    type Form = [V::Form; N];
}
impl<T: Elem, V: Lift<T>, const N: usize> Lift<[T; N]> for [V; N] {
    fn lift(self) -> [T::Exp; N] {
        self.map(|x| x.lift())
    }
}
impl<P: Phi, const N: usize> Phi for [P; N] {
    fn leaves(self, out: &mut Vec<Handle>) {
        self.into_iter().for_each(|x| x.leaves(out));
    }
    fn build(like: Self, next: &mut dyn FnMut() -> Handle) -> Self {
        like.map(|x| P::build(x, next))
    }
}
impl<A: FunctionArg, const N: usize> FunctionArg for [A; N] {
    fn handles(self, out: &mut Vec<Handle>) {
        self.into_iter().for_each(|x| x.handles(out));
    }
    fn again(self, next: &mut dyn FnMut() -> Handle) -> Self {
        self.map(|x| x.again(next))
    }
    fn key(self, out: &mut Vec<u64>) {
        self.into_iter().for_each(|x| x.key(out));
    }
}

pub fn arg<A: FunctionArg>(arg: A) -> A {
    arg
}

#[track_caller]
pub fn call<A: FunctionArg, R: Value, F: Fn(A) -> R + 'static>(name: &str, args: A, body: F) -> R {
    let (mut handles, mut key) = (Vec::new(), Vec::new());
    args.handles(&mut handles);
    args.key(&mut key);
    log(format!("{name} {key:?} line {}", std::panic::Location::caller().line()));
    let mut handles = handles.into_iter();
    body(args.again(&mut || handles.next().expect("as many handles as before")))
}

pub struct If<C>(C);

pub fn cond<C>(cond: C) -> If<C> {
    If(cond)
}

impl If<bool> {
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

impl From<bool> for Exp<bool> {
    fn from(x: bool) -> Self {
        Exp(x)
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
        log(format!("if line {}", std::panic::Location::caller().line()));
        let (then, other) = (then(vars), other(vars));
        let (mut a, mut b) = (Vec::new(), Vec::new());
        then.0.leaves(&mut a);
        then.1.lift().leaves(&mut a);
        other.0.leaves(&mut b);
        other.1.lift().leaves(&mut b);
        let mut chosen = if self.0.0 { a } else { b }.into_iter();
        let mut next = || chosen.next().expect("as many leaves as before");
        (S::build(vars, &mut next), V::build(&mut next))
    }
    pub fn and<B: Lift<bool>>(self, right: impl Fn() -> B) -> Exp<bool> {
        self.0 & right().lift()
    }
    pub fn or<B: Lift<bool>>(self, right: impl Fn() -> B) -> Exp<bool> {
        self.0 | right().lift()
    }
}

pub trait Host {
    fn host(self) -> bool;
}
impl Host for bool {
    fn host(self) -> bool {
        self
    }
}
pub trait HostIter {
    type Iter: Iterator;
    fn host_iter(self) -> Self::Iter;
}
impl<I: IntoIterator> HostIter for I {
    type Iter = I::IntoIter;
    fn host_iter(self) -> I::IntoIter {
        self.into_iter()
    }
}

macro_rules! compare {
    ($($Class:ident $method:ident $Host:ident;)*) => {$(
        pub trait $Class<R: ?Sized> {
            type Out;
            fn $method(&self, right: &R) -> Self::Out;
        }
        impl<L: $Host<R> + ?Sized, R: ?Sized> $Class<R> for L {
            type Out = bool;
            fn $method(&self, right: &R) -> bool { $Host::$method(self, right) }
        }
        impl<T: PartialOrd> $Class<Exp<T>> for Exp<T> {
            type Out = Exp<bool>;
            fn $method(&self, right: &Exp<T>) -> Exp<bool> { Exp($Host::$method(&self.0, &right.0)) }
        }
        compare!(@ $Class $method $Host f32 u32);
    )*};
    (@ $Class:ident $method:ident $Host:ident $($t:ident)*) => {$(
        impl $Class<$t> for Exp<$t> {
            type Out = Exp<bool>;
            fn $method(&self, right: &$t) -> Exp<bool> { Exp($Host::$method(&self.0, right)) }
        }
        impl $Class<Exp<$t>> for $t {
            type Out = Exp<bool>;
            fn $method(&self, right: &Exp<$t>) -> Exp<bool> { Exp($Host::$method(self, &right.0)) }
        }
    )*};
}
compare! { Lt lt PartialOrd; Le le PartialOrd; Gt gt PartialOrd; Ge ge PartialOrd; Eq eq PartialEq; Ne ne PartialEq; }

impl<T: Prim + Neg<Output = T>> Neg for Exp<T> {
    type Output = Self;
    fn neg(self) -> Self {
        Exp(-self.0)
    }
}
macro_rules! not_and_or {
    ($($Class:ident $method:ident $op:tt),*) => {
        impl Not for Exp<bool> {
            type Output = Self;
            fn not(self) -> Self { Exp(!self.0) }
        }
        $(impl $Class for Exp<bool> {
            type Output = Self;
            fn $method(self, right: Self) -> Self { Exp(self.0 $op right.0) }
        })*
    };
}
not_and_or!(BitAnd bitand &, BitOr bitor |);
macro_rules! arithmetic {
    ($($Class:ident $method:ident $Assign:ident $assign:ident;)*) => {$(
        impl<T: Prim + $Class<Output = T>, R: Lift<T>> $Class<R> for Exp<T> {
            type Output = Exp<T>;
            fn $method(self, right: R) -> Exp<T> { Exp(self.0.$method(right.lift().0)) }
        }
        impl<T: Prim + $Class<Output = T>, R: Lift<T>> $Assign<R> for Exp<T> {
            fn $assign(&mut self, right: R) { self.0 = self.0.$method(right.lift().0); }
        }
        impl $Class<Exp<f32>> for f32 {
            type Output = Exp<f32>;
            fn $method(self, right: Exp<f32>) -> Exp<f32> { Exp(self.$method(right.0)) }
        }
    )*};
}
arithmetic! { Add add AddAssign add_assign; Sub sub SubAssign sub_assign; Mul mul MulAssign mul_assign; }
impl Exp<f32> {
    pub fn abs(self) -> Self {
        Exp(self.0.abs())
    }
    pub fn max(self, other: impl Lift<f32>) -> Self {
        Exp(self.0.max(other.lift().0))
    }
}

pub fn lit<T: Prim>(x: T) -> Exp<T> {
    Exp(x)
}

// What `#[derive(Axis)]` needs.
#[derive(Debug, PartialEq)]
pub enum Extent {
    Const(u64),
}
pub trait Axis: 'static {
    fn size() -> Extent;
    fn name() -> String;
}
pub trait EnumAxis: Axis + Sized {
    const ALL: &'static [fn() -> Self];
    fn number(&self) -> u32;
}
pub struct Idx<A> {
    pub number: u32,
    axis: std::marker::PhantomData<A>,
}
pub fn position_of<A>(number: u32) -> Idx<A> {
    Idx { number, axis: std::marker::PhantomData }
}
