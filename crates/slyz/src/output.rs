//! What functions give back: traced results, and the tensors that a call makes of them.

use crate::arr::Arr;
use crate::elem::{Elem, Exp, Scalar, Value, handles, parts_of};
use crate::extent::Axis;
use crate::feed::Solved;
use crate::position::Idx;
use crate::shape::Shape;
use crate::tensor::Tensor;
use crate::trace::{Leaf, Out};
use slyz_run::Found;

/// The results of a call, to be handed out in order.
#[doc(hidden)]
pub struct Results<'k> {
    pub(crate) outputs: std::vec::IntoIter<slyz_run::Output>,
    /// They are what the function means: positions among them are inside.
    pub(crate) believed: bool,
    /// What they are, by the types of what was returned. Who reads them may ask for something else, but does not get the promise that
    /// numbers are positions.
    pub(crate) leaves: std::slice::Iter<'k, Leaf>,
    pub(crate) solved: Found<'k, Solved>,
}

impl Results<'_> {
    fn tensor<T: Elem, S>(&mut self) -> Tensor<T, S> {
        let parts = parts_of::<T>();
        let mut dims = None;
        let leaf = |output: slyz_run::Output| {
            dims.get_or_insert(output.shape);
            output.data
        };
        let leaves = self.outputs.by_ref().take(parts.len()).map(leaf).collect();
        // In the memory of the shape.
        let dims = dims.unwrap_or_default().into_iter().map(|dim| dim as usize).collect();
        let env = &self.solved.env;
        let below = |(part, given): (&Leaf, &Leaf)| match &given.axis {
            Some((axis, _)) if part == given => axis.eval(env).unwrap_or(u64::MAX),
            Some(_) | None => u64::MAX,
        };
        let given = self.leaves.by_ref().take(parts.len());
        let positions = self.believed && parts.iter().any(|part| part.axis.is_some());
        let below = if positions {
            parts.iter().zip(given).map(below).collect()
        } else {
            given.for_each(drop);
            vec![]
        };
        Tensor::from_leaves(dims, leaves, below)
    }
}

/// What a compiled function gives back: `Arr`, `Exp`, `Idx`, derived structs, or tuples and `[_; N]` of all these. A call gives its
/// `Host`: a tensor for an array, a struct of tensors for a struct with `#[derive(slyz::Arrays)]`. A struct with
/// `#[derive(slyz::Elem)]` is one element, and comes as one tensor.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let (sum, top) = compile(|x: Arr<f32, N>| (x.sum(), x.argmax()))?.call(&[1.0f32, 3.0])?;
/// assert_eq!((sum.value()?, top.value()?.get()), (4.0, 1));
/// # Ok::<(), slyz::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a compiled function cannot return `{Self}`",
    label = "expected `Arr<T, S>`, `Exp<T>`, or a tuple or derived struct of them",
    note = "a struct of arrays becomes one with `#[derive(slyz::Arrays)]`"
)]
pub trait Output {
    /// What a call gives.
    type Host;

    #[doc(hidden)]
    fn outs(self, out: &mut Outs);

    #[doc(hidden)]
    fn read(results: &mut Results) -> Self::Host;
}

/// The results of a traced function, collected.
#[doc(hidden)]
#[derive(Default)]
pub struct Outs {
    pub(crate) outs: Vec<Out>,
    /// What they are, one by one.
    pub(crate) leaves: Vec<Leaf>,
}

impl<T: Elem, S: Shape> Output for Arr<T, S> {
    type Host = Tensor<T, S>;
    fn outs(self, out: &mut Outs) {
        out.outs.push(Out::Array(self.handle()));
        out.leaves.extend_from_slice(parts_of::<T>());
    }
    fn read(results: &mut Results) -> Tensor<T, S> {
        results.tensor()
    }
}

/// Traced values that come back as one tensor. A tuple is no record: its parts come back one by one.
#[doc(hidden)]
pub trait Record: Value {}

impl<T: Scalar> Record for Exp<T> {}
impl<A: Axis> Record for Idx<A> {}

#[diagnostic::do_not_recommend]
impl<V: Record> Output for V {
    type Host = Tensor<V::Elem, ()>;
    fn outs(self, out: &mut Outs) {
        out.outs.extend(handles(self).into_iter().map(Out::Scalar));
        out.leaves.extend_from_slice(parts_of::<V::Elem>());
    }
    fn read(results: &mut Results) -> Tensor<V::Elem, ()> {
        results.tensor()
    }
}

impl<A: Output, const N: usize> Output for [A; N] {
    type Host = [A::Host; N];
    fn outs(self, out: &mut Outs) {
        self.into_iter().for_each(|part| part.outs(out))
    }
    fn read(results: &mut Results) -> Self::Host {
        std::array::from_fn(|_| A::read(results))
    }
}

macro_rules! outputs {
    ($($A:ident $i:tt),*) => {
        impl<$($A: Output),*> Output for ($($A,)*) {
            type Host = ($($A::Host,)*);
            fn outs(self, out: &mut Outs) { $(self.$i.outs(out);)* }
            fn read(results: &mut Results) -> Self::Host { ($($A::read(results),)*) }
        }
    };
}
outputs!(A 0, B 1);
outputs!(A 0, B 1, C 2);
outputs!(A 0, B 1, C 2, D 3);
outputs!(A 0, B 1, C 2, D 3, E 4);
outputs!(A 0, B 1, C 2, D 3, E 4, F 5);
outputs!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
outputs!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
