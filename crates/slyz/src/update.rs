//! Updates: the same array with some of its elements changed.
//!
//! They are pure: the old array stays what it was. Where nobody reads it any more it is changed in place, which
//! [`Compiled::explain`](crate::Compiled::explain) tells.

use crate::arr::Arr;
use crate::elem::{Additive, Elem, Lift, handles, tys_of, value_of};
use crate::extent::Axis;
use crate::monoid::{Monoid, Sum, with_parts};
use crate::position::Idx;
use crate::record::{self, MonoidParts};
use crate::scatter::ScatterTo;
use crate::shape::{Position, Shape, Stack};
use crate::trace::{self, Handle, Loc};
use slyz_sir::types::Scalar;
use std::panic::Location;

impl<T: Elem, S: Shape> Arr<T, S> {
    /// The array with another element at one position. A [`Near`](crate::Near) outside changes nothing.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>, k: Exp<i32>| x.with(Near::new(k), 9.0))?;
    /// assert_eq!(f.call(&[1.0f32, 2.0, 3.0], 1)?.to_vec()?, [1.0, 9.0, 3.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn with(self, p: impl ScatterTo<Shape = S>, value: impl Lift<T>) -> Arr<T, S> {
        let at: Loc = Location::caller();
        let mut sent = vec![];
        p.numbers(&mut sent);
        sent.extend(handles(value.lift()));
        if S::axes().is_empty() {
            return Arr::new(trace::array_of(at, &sent));
        }
        self.last(at, &mut |at, parts| {
            record::scatter_onto(at, &[crate::Extent::fixed(1)], self.handle(), &mut |_| sent.clone(), parts)
        })
    }

    /// The array with another row, or whatever stands at one position of its first axis.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// fn cleared(x: Arr<f32, (N, M)>, i: Idx<N>) -> Arr<f32, (N, M)> { x.with_row(i, fill::<f32, M>(0.0)) }
    /// ```
    #[track_caller]
    pub fn with_row<A: Axis, P: Stack<A, Out = S>>(self, i: Idx<A>, row: Arr<T, P>) -> Arr<T, S> {
        let at: Loc = Location::caller();
        let count = tys_of::<T>().len();
        self.place(at, &P::axes(), &|inner| {
            let mut sent = vec![i.handle()];
            sent.extend(inner);
            sent.extend(record::read(at, row.handle(), count, inner));
            sent
        })
    }

    /// The array with a part of it replaced, from the place `start` on in every axis. What falls outside is dropped.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<i32, N>, part: Arr<i32, M>| x.with_slice(Near::new(2), part))?;
    /// assert_eq!(f.call(&[0, 0, 0, 0], &[7, 8, 9])?.to_vec()?, [0, 0, 7, 8]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn with_slice<P: Shape>(self, start: impl ScatterTo<Shape = S>, part: Arr<T, P>) -> Arr<T, S> {
        let at: Loc = Location::caller();
        let mut first = vec![];
        start.numbers(&mut first);
        if first.len() != P::axes().len() {
            let what = format!("a part of {} axes is put into an array of {}", P::axes().len(), first.len());
            trace::error(at, &what, "give the part as many axes: `.reshape()` or `stack(|_: Idx<Fix<1>>| part)`");
            return Arr::new(Handle::POISON);
        }
        let count = tys_of::<T>().len();
        self.place(at, &P::axes(), &|inner| {
            let add = |(&first, &offset): (&Handle, &Handle)| {
                record::apply(at, slyz_sir::ops::Operator::Add, &[first, offset])
            };
            let mut sent: Vec<Handle> = first.iter().zip(inner).map(add).collect();
            sent.extend(record::read(at, part.handle(), count, inner));
            sent
        })
    }

    /// The array with values combined into computed places, in order; what falls outside is dropped.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|best: Arr<i32, M>, x: Arr<i32, N>| best.scatter(MaxOf, |i: Idx<N>| (Near::new(i.i64() / 2), x.at(i))))?;
    /// assert_eq!(f.call(&[4, 4], &[1, 2, 3, 9])?.to_vec()?, [4, 9]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn scatter<P, W, V>(self, m: impl Monoid<T>, f: impl Fn(P) -> (W, V)) -> Arr<T, S>
    where
        P: Position,
        W: ScatterTo<Shape = S>,
        V: Lift<T>,
    {
        let at: Loc = Location::caller();
        let body = &mut |position: &[Handle]| sent(f(value_of(position)));
        let axes = <P::Shape as Shape>::axes();
        Arr::new(with_parts(at, &m, |parts| record::scatter_onto(at, &axes, self.handle(), body, parts)))
    }

    /// The array with values added at computed places.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, M>, to: Arr<At<M>, N>| x.scatter_add(|i: Idx<N>| (to.at(i), 1.0)))?;
    /// assert_eq!(f.call(&[0.0f32, 5.0], &[1, 1, 0].map(At::new))?.to_vec()?, [1.0, 7.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn scatter_add<P, W, V>(self, f: impl Fn(P) -> (W, V)) -> Arr<T, S>
    where
        T: Additive,
        Sum: Monoid<T>,
        P: Position,
        W: ScatterTo<Shape = S>,
        V: Lift<T>,
    {
        self.scatter(Sum, f)
    }

    /// The array with values written to computed places: of several for one place the last stays.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<i32, M>| x.scatter_last(|i: Idx<Fix<3>>| (Near::new(i.i64() * 2), i.to::<i32>())))?;
    /// assert_eq!(f.call(&[9, 9, 9, 9])?.to_vec()?, [0, 9, 1, 9]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn scatter_last<P, W, V>(self, f: impl Fn(P) -> (W, V)) -> Arr<T, S>
    where
        P: Position,
        W: ScatterTo<Shape = S>,
        V: Lift<T>,
    {
        let at: Loc = Location::caller();
        let axes = <P::Shape as Shape>::axes();
        self.last(at, &mut |at, parts| {
            let body = &mut |position: &[Handle]| sent(f(value_of(position)));
            record::scatter_onto(at, &axes, self.handle(), body, parts)
        })
    }

    /// The last writer's values at all places of a part.
    fn place(self, at: Loc, axes: &[crate::Extent], f: &dyn Fn(&[Handle]) -> Vec<Handle>) -> Arr<T, S> {
        if axes.is_empty() {
            let only = f(&[]);
            return self.last(at, &mut |at, parts| {
                record::scatter_onto(at, &[crate::Extent::fixed(1)], self.handle(), &mut |_| only.clone(), parts)
            });
        }
        self.last(at, &mut |at, parts| record::scatter_onto(at, axes, self.handle(), &mut |inner| f(inner), parts))
    }

    /// A scatter in which the last writer wins.
    fn last(self, at: Loc, scatter: &mut dyn FnMut(Loc, MonoidParts) -> Handle) -> Arr<T, S> {
        let tys = tys_of::<T>();
        let count = tys.len();
        // What it starts from is there, so nobody asks for a neutral element.
        let neutral = tys.iter().map(|&ty| record::constant(at, Scalar::from_bits(ty, 0))).collect();
        let combine = &mut |both: &[Handle]| both[count..].to_vec();
        Arr::new(scatter(at, MonoidParts { neutral, tys, combine, commutative: false }))
    }
}

fn sent<T: Elem, W: ScatterTo, V: Lift<T>>((place, value): (W, V)) -> Vec<Handle> {
    let mut out = vec![];
    place.numbers(&mut out);
    out.extend(handles(value.lift()));
    out
}
