//! Products of floats, as a library of the machine wants them: factors that stand in memory, and little behind the sums.
//!
//! ```text
//! c[i, j] = f(Σ g(i, k) · h(k, j))     →     p[i, k] = g(i, k)        unless that is an element of a matrix
//!                                            q[k, j] = h(k, j)        the same
//!                                            s[i, j] = Σ p[i, k] · q[k, j]
//!                                            c[i, j] = f(s[i, j])
//! ```
//!
//! Where the library does all of `f`, it stays with the product. Factors that were halves before they were widened stand in memory as halves. It is done for what a library makes on tensor cores: halves,
//! and `f32` where the GPU's own ways are asked for. Others our kernel makes about as fast.

use super::{Names, array};
use crate::choices::Precision;
use crate::code::{Body, Id, Monoid, Op, Stmt, Var};
use crate::lower::Product;
use crate::lower::matrices::Reader;
use crate::ops::Operator;
use crate::size::Size;
use crate::types::Ty;
use crate::write::{Lines, Write};

/// A product of floats, and what is done with its sums.
pub(super) struct Found<'g> {
    stmt: &'g Stmt,
    shape: &'g [Size],
    body: &'g Body,
    product: Product<'g>,
    left: Factor,
    right: Factor,
    /// The library does all that is done with the sums.
    ends: bool,
}

/// One of its factors. Of its positions it has two: row and term, or term and column.
struct Factor {
    /// What computes it, from the positions of the result and of the term.
    value: Body,
    /// Its type in memory.
    ty: Ty,
    place: FactorPlace,
}

/// Where a factor is.
enum FactorPlace {
    /// In memory, all of the matrix.
    There,
    /// Nowhere yet; for each position of the axes in front, or the same for all.
    Computed { is_each: bool },
}

impl<'g> Found<'g> {
    pub(super) fn of(
        stmt: &'g Stmt,
        (shape, body): (&'g [Size], &'g Body),
        product: Product<'g>,
        names: &Names<'g>,
    ) -> Option<Found<'g>> {
        let reader = Reader::new(names, &product);
        let [left, right] = reader.factors()?;
        let sums = product.fold.binds[0].ty.elem();
        let [row, column] = [&shape[shape.len() - 2], &shape[shape.len() - 1]];
        let left = Factor::of(&reader, &product, names, left, ([row, product.extent], shape, [0, 2]))?;
        let right = Factor::of(&reader, &product, names, right, ([product.extent, column], shape, [2, 1]))?;
        let halves = |ty: Ty| matches!(ty, Ty::F16 | Ty::BF16);
        let on_tensor_cores = sums == Ty::F32
            && left.ty == right.ty
            && (halves(left.ty) || names.program.precision == Some(Precision::Native) && left.ty == Ty::F32);
        let alone = matches!((&left.place, &right.place), (FactorPlace::There, FactorPlace::There));
        let asks_for_bits = names.program.precision == Some(Precision::Exact);
        // The library may take it as it is.
        let ends = reader.end().is_some();
        let pays = on_tensor_cores && !asks_for_bits && !(alone && ends);
        pays.then_some(Found { stmt, shape, body, product, left, right, ends })
    }

    pub(super) fn write(&self, lines: &mut Lines) {
        let Found { shape, product, .. } = self;
        let [outer @ .., rows, columns] = self.shape else { return };
        let terms = product.extent;
        let left = self.left.written(lines, [outer, &[rows.clone(), terms.clone()]], [0, 2]);
        let right = self.right.written(lines, [outer, &[terms.clone(), columns.clone()]], [2, 1]);
        let fold = |w: &mut Lines, at: &[Id]| {
            let body = w.nested(&[Ty::I64], |w, term| {
                let at = [at, term].concat();
                let a = self.left.element(w, left, &at, [0, 2]);
                let b = self.right.element(w, right, &at, [2, 1]);
                vec![w.apply(Operator::Mul, &[a, b], Ty::F32)]
            });
            let combine = product.monoid.combine.freshened(&mut || w.fresh());
            let monoid = Monoid { combine, ..product.monoid.clone() };
            Op::Fold { shape: vec![terms.clone()], body, monoid }
        };
        let sums = (!self.ends).then(|| {
            array(lines, (Ty::F32, shape), |w, at| {
                let op = fold(w, at);
                w.push(op, Ty::F32)
            })
        });

        // What was there, with the sum from memory, or from the matrices.
        let at: Vec<Id> = self.body.params.iter().map(|param| param.id).collect();
        let mut body = self.body.clone();
        let place = self.body.stmts.iter().position(|stmt| std::ptr::eq(stmt, product.fold));
        if let Some(stmt) = place.and_then(|place| body.stmts.get_mut(place)) {
            stmt.op = match sums {
                Some(array) => Op::At { array, index: at },
                None => fold(lines, &at),
            };
        }
        let op = Op::Tabulate { shape: self.shape.to_vec(), body };
        lines.out().push(Stmt { binds: self.stmt.binds.clone(), op });
    }
}

impl Factor {
    /// A factor by the value that is multiplied. Its axes are two of row, column and term; `own` says which.
    fn of<'g>(
        reader: &Reader<'_, 'g>,
        product: &Product<'g>,
        names: &Names<'g>,
        value: Id,
        (extents, shape, own): ([&Size; 2], &[Size], [usize; 2]),
    ) -> Option<Factor> {
        let [outer @ .., row, column] = &product.body.params[..] else { return None };
        let outer: Vec<Id> = outer.iter().map(|param| param.id).collect();
        let axes = [row.id, column.id, product.inner];
        let axes = own.map(|k| axes[k]);
        let wide = product.left.iter().chain(&product.right).find(|(id, _)| *id == value).map(|(_, ty)| *ty)?;
        let stmts: Vec<Stmt> = product.slice(&[value], false).into_iter().cloned().collect();
        // Halves that are widened here are halves in memory.
        let type_of =
            |id: Id| stmts.iter().flat_map(|stmt| &stmt.binds).find(|bind| bind.id == id).map(|bind| bind.ty.elem());
        let narrow = reader.narrow(value).and_then(|id| Some((id, type_of(id)?)));
        let narrow = narrow.filter(|(_, ty)| matches!(ty, Ty::F16 | Ty::BF16));
        let (result, ty) = narrow.unwrap_or((value, wide));
        let whole = reader.matrix(value, &outer, axes).is_some_and(|matrix| {
            let mut expected = extents;
            if matrix.turned {
                expected.reverse();
            }
            let known = names.shape(matrix.array).unwrap_or(&[]);
            let (others, last) = known.split_at(known.len() - 2);
            last.iter().eq(expected) && (others.is_empty() || *others == shape[..shape.len() - 2])
        });
        let inner = Var { id: product.inner, ty: product.item.params[0].ty.clone() };
        let params = product.body.params.iter().cloned().chain([inner]).collect();
        let value = Body { params, stmts, results: vec![result] };
        let place = if whole {
            FactorPlace::There
        } else {
            let mut is_each = false;
            Body { params: vec![], ..value.clone() }.each_free(&mut |id| is_each |= outer.contains(&id));
            FactorPlace::Computed { is_each }
        };
        Some(Factor { value, ty, place })
    }

    /// Writes the matrix, unless it is there.
    fn written(&self, lines: &mut Lines, [outer, own]: [&[Size]; 2], axes: [usize; 2]) -> Option<Id> {
        let FactorPlace::Computed { is_each } = self.place else { return None };
        let shape = [if is_each { outer } else { &[] }, own].concat();
        let matrix = array(lines, (self.ty, &shape), |w, at| {
            let (others, last) = at.split_at(at.len() - 2);
            // It does not look at the others.
            let mut positions = vec![at[0]; self.value.params.len()];
            positions[..others.len()].copy_from_slice(others);
            let behind = positions.len() - 3;
            for (&axis, &position) in axes.iter().zip(last) {
                positions[behind + axis] = position;
            }
            self.value_at(w, &positions)
        });
        Some(matrix)
    }

    /// The value at a position of the result and a term, written here.
    fn value_at(&self, w: &mut Lines, at: &[Id]) -> Id {
        let mut fresh = || w.fresh();
        let body = self.value.instantiate(at, &mut fresh);
        w.out().extend(body.stmts);
        body.results[0]
    }

    /// What is multiplied, at a position of the result and a term.
    fn element(&self, w: &mut Lines, matrix: Option<Id>, at: &[Id], axes: [usize; 2]) -> Id {
        let element = match (matrix, &self.place) {
            (Some(array), FactorPlace::Computed { is_each }) => {
                let behind = at.len() - 3;
                let own = axes.map(|axis| at[behind + axis]);
                let outer = if *is_each { &at[..behind] } else { &[] };
                w.push(Op::At { array, index: [outer, &own[..]].concat() }, self.ty)
            }
            _ => self.value_at(w, at),
        };
        if self.ty == Ty::F32 { element } else { w.push(Op::Cast(Ty::F32, element), Ty::F32) }
    }
}
