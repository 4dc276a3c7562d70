//! Which products are those of matrices that stand in memory, so that a device's library may make them.

use super::planning::{Home, Lowering};
use super::product::Product;
use crate::code::{Body, Id, Monoid, Op, Stmt};
use crate::ops::Operator;
use crate::types::{Scalar, Ty};
use std::collections::HashMap;

/// What is taken from a byte, in each of four: `dot4` has no signs on the left.
pub(super) const MIDDLES: u64 = 0x8080_8080;

/// A product of matrices, by the names that the program has for them.
pub(super) struct Matrices {
    pub(super) left: Matrix,
    pub(super) right: Matrix,
    pub(super) scale: Option<Scalar>,
    pub(super) bias: Option<Id>,
    pub(super) rectified: bool,
    /// The elements are words of four bytes with signs.
    pub(super) bytes: bool,
}

/// A factor.
pub(super) struct Matrix {
    pub(super) array: Id,
    pub(super) turned: bool,
}

impl Matrices {
    /// Reads a product as one of whole matrices: of floats, or of words of bytes as `gpu/bytes.rs` writes them.
    pub(super) fn of(lowering: &Lowering<'_>, product: &Product<'_>) -> Option<Matrices> {
        let reader = Reader::new(lowering, product);
        reader.bytes().or_else(|| Matrices::of_floats(lowering, product))
    }

    /// One of floats: factors as they stand in arrays, or widened to `f32`; behind the sum at most a scale,
    /// a bias for each column, a rectifier and a rounding, in this order.
    fn of_floats(lowering: &Lowering<'_>, product: &Product<'_>) -> Option<Matrices> {
        let reader = Reader::new(lowering, product);
        reader.sums()?;
        let [outer @ .., row, column] = &product.body.params[..] else { return None };
        let outer: Vec<Id> = outer.iter().map(|param| param.id).collect();
        let [(left, _)] = product.left[..] else { return None };
        let [(right, _)] = product.right[..] else { return None };
        let [item] = product.item.results[..] else { return None };
        let Some(Op::Apply(Operator::Mul, factors)) = reader.made(item) else { return None };
        if factors[..] != [left, right] && factors[..] != [right, left] {
            return None;
        }
        let left = reader.matrix(left, &outer, [row.id, product.inner])?;
        let right = reader.matrix(right, &outer, [product.inner, column.id])?;
        let [result] = product.body.results[..] else { return None };
        let mut found = Matrices { left, right, scale: None, bias: None, rectified: false, bytes: false };
        reader.behind(result, column.id, &mut found).then_some(found)
    }
}

/// What the names of a product stand for.
struct Reader<'a, 'g> {
    lowering: &'a Lowering<'g>,
    product: &'a Product<'g>,
    made: HashMap<Id, &'g Op>,
}

impl<'a, 'g> Reader<'a, 'g> {
    fn new(lowering: &'a Lowering<'g>, product: &'a Product<'g>) -> Reader<'a, 'g> {
        let one = |stmt: &'g Stmt| match &stmt.binds[..] {
            [bind] => Some((bind.id, &stmt.op)),
            _ => None,
        };
        let stmts = |body: &'g Body| body.stmts.iter().filter_map(one);
        let made = stmts(product.body).chain(stmts(product.item)).collect();
        Reader { lowering, product, made }
    }

    fn made(&self, id: Id) -> Option<&'g Op> {
        self.made.get(&id).copied()
    }

    fn constant(&self, id: Id) -> Option<Scalar> {
        let op = match self.made(id) {
            Some(op) => op,
            None => match self.lowering.home(id) {
                Home::Again(stmt) => &stmt.op,
                Home::Scalar(..) | Home::Array(..) | Home::Kept(..) | Home::Counter(_) => return None,
            },
        };
        match op {
            Op::Const(scalar) => Some(*scalar),
            _ => None,
        }
    }

    fn is_zero(&self, id: Id) -> bool {
        self.constant(id).is_some_and(|scalar| scalar.as_f64() == 0.0)
    }

    /// Does the fold add floats, from zero?
    fn sums(&self) -> Option<()> {
        let monoid = self.product.monoid;
        let [bind] = &self.product.fold.binds[..] else { return None };
        let [neutral] = monoid.neutral[..] else { return None };
        let adds = monoid.operator() == Some(Operator::Add) && bind.ty.elem().is_float();
        (adds && self.is_zero(neutral)).then_some(())
    }

    /// Words of bytes: `Σ dot4(left[i, w] ⊻ 0x80808080, right[j, w]) - o[j]`, where `o` is what the 128 that the dot product has too many in each
    /// byte of the left come to.
    fn bytes(&self) -> Option<Matrices> {
        let [outer @ .., row, column] = &self.product.body.params[..] else { return None };
        let outer: Vec<Id> = outer.iter().map(|param| param.id).collect();
        let ([(left, Ty::I32)], [(right, Ty::I32)]) = (&self.product.left[..], &self.product.right[..]) else {
            return None;
        };
        let (Op::Apply(Operator::Dot4, factors), Op::Apply(Operator::Xor, signed)) =
            (self.made(*self.product.item.results.first()?)?, self.made(*left)?)
        else {
            return None;
        };
        let inner = self.product.inner;
        let ([a, b, nothing], [word, middles]) = (&factors[..], &signed[..]) else { return None };
        let signs = [*a, *b] == [*left, *right] && self.is_zero(*nothing) && self.are_middles(*middles);
        let left = self.matrix(*word, &outer, [row.id, inner])?;
        let right = self.matrix(*right, &outer, [inner, column.id])?;
        let [result] = self.product.body.results[..] else { return None };
        let Op::Apply(Operator::Sub, less) = self.made(result)? else { return None };
        let [sum, offset] = less[..] else { return None };
        let Op::At { array: offset, index } = self.made(offset)? else { return None };
        let (others, own) = index.split_at(index.len().checked_sub(1)?);
        let sums = sum == self.product.fold.binds[0].id && self.adds(self.product.monoid);
        let known = self.is_offset(*offset, &right) && own == [column.id] && (others.is_empty() || *others == outer);
        let found = Matrices { left, right, scale: None, bias: None, rectified: false, bytes: true };
        (signs && sums && known && !found.left.turned && found.right.turned).then_some(found)
    }

    fn are_middles(&self, id: Id) -> bool {
        self.constant(id).is_some_and(|scalar| scalar.bits == MIDDLES)
    }

    /// Does a monoid add words, from zero?
    fn adds(&self, monoid: &Monoid) -> bool {
        monoid.operator() == Some(Operator::Add) && monoid.neutral.iter().all(|&id| self.is_zero(id))
    }

    /// Is an array, for each column of a turned matrix, the sum of `dot4(0x80808080, word)` over its words?
    fn is_offset(&self, array: Id, of: &Matrix) -> bool {
        let made = self.lowering.program.body.stmts.iter().find(|stmt| stmt.binds[0].id == array);
        let Some(Stmt { op: Op::Tabulate { body, .. }, .. }) = made else { return false };
        let ([Stmt { binds, op: Op::Fold { shape, body: item, monoid } }], [result]) =
            (&body.stmts[..], &body.results[..])
        else {
            return false;
        };
        let ([read, dot], [term]) = (&item.stmts[..], &item.results[..]) else { return false };
        let (Op::At { array: from, index }, Op::Apply(Operator::Dot4, factors)) = (&read.op, &dot.op) else {
            return false;
        };
        let ([word], [middles, b, nothing]) = (&item.params[..], &factors[..]) else { return false };
        let at: Vec<Id> = body.params.iter().map(|param| param.id).chain([word.id]).collect();
        let reads = *from == of.array && *index == at && read.binds[0].id == *b && dot.binds[0].id == *term;
        let sums = binds[0].id == *result && self.adds(monoid) && shape[..] == [self.product.extent.clone()];
        reads && sums && self.are_middles(*middles) && self.is_zero(*nothing)
    }

    /// The matrix whose elements a value is, by positions of the two axes.
    fn matrix(&self, value: Id, outer: &[Id], [first, second]: [Id; 2]) -> Option<Matrix> {
        let read = match self.made(value)? {
            Op::Cast(Ty::F32, narrow) => self.made(*narrow)?,
            op => op,
        };
        let Op::At { array, index } = read else { return None };
        let (others, last) = index.split_at(index.len().checked_sub(2)?);
        let turned = match last {
            [a, b] if [*a, *b] == [first, second] => false,
            [a, b] if [*a, *b] == [second, first] => true,
            _ => return None,
        };
        let whole = others.is_empty() || others == outer;
        (whole && self.is_here(*array)).then_some(Matrix { array: *array, turned })
    }

    /// Does an array stand in memory?
    fn is_here(&self, array: Id) -> bool {
        self.made(array).is_none() && matches!(self.lowering.home(array), Home::Array(..))
    }

    /// Follows a result back to the sum; `false` if anything else is on the way.
    fn behind(&self, result: Id, column: Id, found: &mut Matrices) -> bool {
        let sum = self.product.fold.binds[0].id;
        let mut at = result;
        if let Some(Op::Cast(_, wide)) = self.made(at) {
            at = *wide;
        }
        let mut stage = 0;
        while at != sum {
            let Some(Op::Apply(operator, args)) = self.made(at) else { return false };
            let [a, b] = args[..] else { return false };
            // The chain goes on where the sum is; the other operand ends here.
            let ends = |id: Id| self.constant(id).is_some() || self.bias(id, column).is_some();
            let (on, end) = if ends(b) { (a, b) } else { (b, a) };
            let now = match operator {
                Operator::Max if self.is_zero(end) => {
                    found.rectified = true;
                    1
                }
                Operator::Add => {
                    found.bias = self.bias(end, column);
                    if found.bias.is_some() { 2 } else { 0 }
                }
                Operator::Mul => {
                    found.scale = self.constant(end).map(|scale| Scalar::from_f64(Ty::F64, scale.as_f64()));
                    if found.scale.is_some() { 3 } else { 0 }
                }
                _ => 0,
            };
            if now <= stage {
                return false;
            }
            stage = now;
            at = on;
        }
        true
    }

    /// The array with a number for each column that a value is of.
    fn bias(&self, value: Id, column: Id) -> Option<Id> {
        match self.made(value)? {
            Op::At { array, index } if index[..] == [column] && self.is_here(*array) => Some(*array),
            _ => None,
        }
    }
}
