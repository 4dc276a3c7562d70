//! The mathematics of a CPU, function by function: every operator that is expanded, and the parts that several of them share.

use super::sheet::{E, function_for_lanes};
use super::{Expansion, TABLES, exponential, logarithm, name, trigonometry};
use crate::code::{Body, Function, Id, Type, Var, largest_id};
use crate::types::Ty;
use std::collections::HashSet;

/// A part that operators share, on a float type.
pub(super) struct Shared {
    pub(super) name: &'static str,
    /// Few numbers need it, and what it takes is long.
    pub(super) rare: bool,
    pub(super) params: &'static [Kind],
    pub(super) results: &'static [Kind],
    pub(super) write: for<'a> fn(&[E<'a>]) -> Vec<E<'a>>,
}

/// The type of a value beside floats of one type.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Float,
    /// A signed integer as wide as the float.
    Whole,
}

impl Kind {
    pub(super) fn at(self, ty: Ty) -> Ty {
        match (self, ty) {
            (Kind::Float, ty) => ty,
            (Kind::Whole, Ty::F64) => Ty::I64,
            (Kind::Whole, _) => Ty::I32,
        }
    }
}

/// Each file lists its own.
const SHARED: [&[&Shared]; 3] = [exponential::SHARED, logarithm::SHARED, trigonometry::SHARED];

/// A function of mathematics on a type.
pub(crate) struct Part {
    pub(crate) name: String,
    ty: Ty,
    write: Written,
}

enum Written {
    Operator(Expansion),
    Shared(&'static Shared),
}

/// A function for vectors.
pub(crate) struct Vectors {
    pub(crate) function: Function,
    /// The heads of functions that it calls, in the order of their numbers.
    pub(crate) called: Vec<Function>,
    /// Fused multiplications and additions that may round twice.
    pub(crate) loose: HashSet<Id>,
}

/// All of them.
pub(crate) fn parts() -> impl Iterator<Item = Part> {
    [Ty::F32, Ty::F64].into_iter().flat_map(|ty| {
        let operators = TABLES.iter().copied().flatten().map(move |&(operator, expansion)| Part {
            name: name(operator, ty),
            ty,
            write: Written::Operator(expansion),
        });
        operators.chain(SHARED.iter().copied().flatten().map(move |shared| Part::shared(shared, ty)))
    })
}

impl Part {
    fn shared(shared: &'static Shared, ty: Ty) -> Part {
        Part { name: format!("{}_{ty}", shared.name), ty, write: Written::Shared(shared) }
    }

    /// Is it needed for few numbers only?
    pub(crate) fn is_rare(&self) -> bool {
        matches!(self.write, Written::Shared(shared) if shared.rare)
    }

    /// The function as vectors compute it.
    pub(crate) fn for_vectors(&self) -> Vectors {
        let (function, called, loose) = self.written();
        let mut last = largest_id(&function.body);
        let mut fresh = || {
            last += 1;
            Id(last)
        };
        let called = called.into_iter().map(|shared| {
            let types = shared.params.iter().map(|kind| Type::Scalar(kind.at(self.ty)));
            let params = types.map(|ty| Var { id: fresh(), ty }).collect();
            Function { name: format!("{}_{}", shared.name, self.ty), body: Body { params, ..Body::default() } }
        });
        Vectors { called: called.collect(), function, loose }
    }

    fn written(&self) -> (Function, Vec<&'static Shared>, HashSet<Id>) {
        match self.write {
            Written::Operator(expansion) => {
                function_for_lanes(&self.name, &expansion.params(self.ty), |x| vec![expansion.of(x)])
            }
            Written::Shared(shared) => {
                let params: Vec<Ty> = shared.params.iter().map(|kind| kind.at(self.ty)).collect();
                function_for_lanes(&self.name, &params, shared.write)
            }
        }
    }
}
