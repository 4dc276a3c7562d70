//! Products of words of four bytes, as a library of the machine wants them: both factors with signs and with the terms last, and the sums in
//! memory.
//!
//! ```text
//! c[i, j] = f(Σ dot4(a[i, w], b[w, j]))     →     p[i, w] = a[i, w] ⊻ 0x80808080        a byte less 128
//!                                                 q[j, w] = b[w, j]
//!                                                 o[j]    = Σ dot4(0x80808080, q[j, w])
//!                                                 s[i, j] = Σ dot4(p[i, w] ⊻ 0x80808080, q[j, w]) - o[j]
//!                                                 c[i, j] = f(s[i, j] + o[j])
//! ```
//!
//! `s` is the product of `p` and `q`, and what a library makes ([`Matrices`](crate::lower::matrices::Matrices) reads it so). Where there is
//! none, or none for these extents, its kernel runs, which costs what that of `c` did.

use super::{Names, array};
use crate::code::{Body, Id, Monoid, Op, Stmt};
use crate::lower::Product;
use crate::lower::matrices::{Around as _, MIDDLES};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::{Lines, Write};

/// A product of bytes, and what is done with its sums.
pub(super) struct Found<'g> {
    stmt: &'g Stmt,
    shape: &'g [Size],
    body: &'g Body,
    /// The fold, and how many words it goes over.
    fold: &'g Stmt,
    words: &'g Size,
    /// The factors, and whether each has the axes of the result in front, or is one for all of them.
    left: (Id, bool),
    right: (Id, bool),
}

impl<'g> Found<'g> {
    pub(super) fn of(
        stmt: &'g Stmt,
        (shape, body): (&'g [Size], &'g Body),
        product: &Product<'g>,
        names: &Names<'g>,
    ) -> Option<Found<'g>> {
        let [outer @ .., row, column] = &body.params[..] else { return None };
        let outer: Vec<Id> = outer.iter().map(|param| param.id).collect();
        let extents = [&shape[shape.len() - 2], &shape[shape.len() - 1], product.extent];
        let ([(left, Ty::I32)], [(right, Ty::I32)]) = (&product.left[..], &product.right[..]) else { return None };
        let made = |id: Id| product.item.stmts.iter().find(|stmt| stmt.binds[0].id == id).map(|stmt| &stmt.op);
        let Op::Apply(Operator::Dot4, factors) = made(*product.item.results.first()?)? else { return None };
        let is_zero =
            |id: &Id| matches!(names.again(*id), Some(Op::Const(value)) if value.ty == Ty::I32 && value.bits == 0);
        let adds = product.monoid.operator() == Some(Operator::Add) && product.monoid.neutral.iter().all(is_zero);
        if !adds || factors[..2] != [*left, *right] || !is_zero(&factors[2]) {
            return None;
        }
        // An array of the top level, at these two positions behind those of the other axes, all of it.
        let whole = |value: Id, last: [Id; 2], extents: [&Size; 2]| {
            let Op::At { array, index } = made(value)? else { return None };
            let (others, own) = index.split_at(index.len().checked_sub(2)?);
            let known = names.shape(*array)?;
            let is_all = known[known.len() - 2..].iter().eq(extents);
            let is_each = !others.is_empty();
            (own == last && is_all && (others.is_empty() || *others == outer)).then_some((*array, is_each))
        };
        let [rows, columns, words] = extents;
        Some(Found {
            stmt,
            shape,
            body,
            fold: product.fold,
            words,
            left: whole(*left, [row.id, product.inner], [rows, words])?,
            right: whole(*right, [product.inner, column.id], [words, columns])?,
        })
    }

    /// The axes of the result in front of its last two, where a factor has them.
    fn outer(&self, is_each: bool) -> &'g [Size] {
        if is_each { &self.shape[..self.shape.len() - 2] } else { &[] }
    }

    pub(super) fn write(&self, lines: &mut Lines) {
        let zero = lines.constant(Scalar::from_int(Ty::I32, 0));
        let middles = lines.constant(Scalar::from_bits(Ty::I32, MIDDLES));
        let [.., rows, columns] = self.shape else { return };
        let (left, left_each) = self.left;
        let (right, right_each) = self.right;

        let shape = [self.outer(left_each), &[rows.clone(), self.words.clone()]].concat();
        let signed = array(lines, (Ty::I32, &shape), |w, at| {
            let word = w.push(Op::At { array: left, index: at.to_vec() }, Ty::I32);
            w.apply(Operator::Xor, &[word, middles], Ty::I32)
        });
        let shape = [self.outer(right_each), &[columns.clone(), self.words.clone()]].concat();
        let turned = array(lines, (Ty::I32, &shape), |w, at| {
            let [outer @ .., column, word] = at else { return zero };
            w.push(Op::At { array: right, index: [outer, &[*word, *column]].concat() }, Ty::I32)
        });
        let shape = [self.outer(right_each), std::slice::from_ref(columns)].concat();
        let offset = array(lines, (Ty::I32, &shape), |w, at| {
            let terms = w.nested(&[Ty::I64], |w, word| {
                let b = w.push(Op::At { array: turned, index: [at, word].concat() }, Ty::I32);
                vec![w.apply(Operator::Dot4, &[middles, b, zero], Ty::I32)]
            });
            self.sum(w, terms, zero)
        });
        let sums = array(lines, (Ty::I32, self.shape), |w, at| {
            let [outer @ .., row, column] = at else { return zero };
            let of = |is_each: bool, own: Id| if is_each { [outer, &[own]].concat() } else { vec![own] };
            let (rows, columns) = (of(left_each, *row), of(right_each, *column));
            let terms = w.nested(&[Ty::I64], |w, word| {
                let a = w.push(Op::At { array: signed, index: [&rows[..], word].concat() }, Ty::I32);
                let a = w.apply(Operator::Xor, &[a, middles], Ty::I32);
                let b = w.push(Op::At { array: turned, index: [&columns[..], word].concat() }, Ty::I32);
                vec![w.apply(Operator::Dot4, &[a, b, zero], Ty::I32)]
            });
            let total = self.sum(w, terms, zero);
            let less = w.push(Op::At { array: offset, index: columns }, Ty::I32);
            w.apply(Operator::Sub, &[total, less], Ty::I32)
        });

        // What was there, with the sum from memory.
        let at: Vec<Id> = self.body.params.iter().map(|param| param.id).collect();
        let around = lines.begin();
        for stmt in &self.body.stmts {
            if !std::ptr::eq(stmt, self.fold) {
                lines.out().push(stmt.clone());
                continue;
            }
            let sum = lines.push(Op::At { array: sums, index: at.clone() }, Ty::I32);
            let own = at.len() - 1;
            let columns = if right_each { [&at[..own - 1], &at[own..]].concat() } else { at[own..].to_vec() };
            let more = lines.push(Op::At { array: offset, index: columns }, Ty::I32);
            let op = Op::Apply(Operator::Add, vec![sum, more]);
            lines.out().push(Stmt { binds: stmt.binds.clone(), op });
        }
        let stmts = lines.end(around);
        let body = Body { stmts, ..self.body.clone() };
        let op = Op::Tabulate { shape: self.shape.to_vec(), body };
        lines.out().push(Stmt { binds: self.stmt.binds.clone(), op });
    }

    /// The sum over all words.
    fn sum(&self, w: &mut Lines, body: Body, zero: Id) -> Id {
        let combine = w.nested(&[Ty::I32; 2], |w, pair| vec![w.apply(Operator::Add, pair, Ty::I32)]);
        let monoid = Monoid { neutral: vec![zero], combine, commutative: true };
        w.push(Op::Fold { shape: vec![self.words.clone()], body, monoid }, Ty::I32)
    }
}
