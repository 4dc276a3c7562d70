//! Which products are those of matrices that stand in memory, so that a device's library may make them.

use super::planning::{Home, Lowering};
use super::product::Product;
use crate::choices::Precision;
use crate::code::{Body, Id, Monoid, Op, Stmt};
use crate::kernel::Activation;
use crate::ops::Operator;
use crate::program::Program;
use crate::types::{Scalar, Ty};
use std::collections::HashMap;

/// What is taken from a byte, in each of four: `dot4` has no signs on the left.
pub(super) const MIDDLES: u64 = 0x8080_8080;

/// A product of matrices, by the names that the program has for them.
pub(super) struct Matrices {
    pub(super) left: Matrix,
    pub(super) right: Matrix,
    pub(super) end: End,
    /// The elements are words of four bytes with signs.
    pub(super) bytes: bool,
}

/// What a library does with the sums.
#[derive(Default)]
pub(super) struct End {
    pub(super) scale: Option<Scalar>,
    pub(super) bias: Option<Id>,
    pub(super) activation: Option<Activation>,
}

/// A factor.
pub(super) struct Matrix {
    pub(super) array: Id,
    pub(super) turned: bool,
}

/// What stands around a product, at the top level of its program.
pub(super) trait Around<'g> {
    fn program(&self) -> &'g Program;

    /// What makes a value that is computed wherever it is wanted.
    fn again(&self, id: Id) -> Option<&'g Op>;

    /// Does an array stand in memory?
    fn is_in_memory(&self, array: Id) -> bool;
}

impl<'g> Around<'g> for Lowering<'g> {
    fn program(&self) -> &'g Program {
        self.program
    }

    fn again(&self, id: Id) -> Option<&'g Op> {
        match self.home(id) {
            Home::Again(stmt) => Some(&stmt.op),
            Home::Scalar(..) | Home::Array(..) | Home::Kept(..) | Home::Counter(_) => None,
        }
    }

    fn is_in_memory(&self, array: Id) -> bool {
        matches!(self.home(array), Home::Array(..))
    }
}

impl Matrices {
    /// Reads a product as one of whole matrices: of floats, or of words of bytes as `gpu/apart/bytes.rs` writes them.
    pub(super) fn of<'g>(around: &dyn Around<'g>, product: &Product<'g>) -> Option<Matrices> {
        let reader = Reader::new(around, product);
        reader.bytes().or_else(|| reader.floats())
    }
}

/// What the names of a product stand for.
pub(super) struct Reader<'a, 'g> {
    around: &'a dyn Around<'g>,
    product: &'a Product<'g>,
    made: HashMap<Id, &'g Op>,
}

impl<'a, 'g> Reader<'a, 'g> {
    pub(super) fn new(around: &'a dyn Around<'g>, product: &'a Product<'g>) -> Reader<'a, 'g> {
        let one = |stmt: &'g Stmt| match &stmt.binds[..] {
            [bind] => Some((bind.id, &stmt.op)),
            _ => None,
        };
        let stmts = |body: &'g Body| body.stmts.iter().filter_map(one);
        let made = stmts(product.body).chain(stmts(product.item)).collect();
        Reader { around, product, made }
    }

    /// One of floats: factors as they stand in arrays, or widened to `f32`; behind the sum at most a scale,
    /// a bias for each column, a rectifier or a `gelu_tanh`, and a rounding, in this order.
    fn floats(&self) -> Option<Matrices> {
        let [outer @ .., row, column] = &self.product.body.params[..] else { return None };
        let outer: Vec<Id> = outer.iter().map(|param| param.id).collect();
        let [left, right] = self.factors()?;
        let left = self.matrix(left, &outer, [row.id, self.product.inner])?;
        let right = self.matrix(right, &outer, [self.product.inner, column.id])?;
        Some(Matrices { left, right, end: self.end()?, bytes: false })
    }

    /// What is done with the sums, if a library does all of it.
    pub(super) fn end(&self) -> Option<End> {
        let ([.., column], [result]) = (&self.product.body.params[..], &self.product.body.results[..]) else {
            return None;
        };
        let mut end = End::default();
        self.behind(*result, column.id, &mut end).then_some(end)
    }

    /// What is multiplied, where the fold adds up products of floats: the value of a row, and that of a column.
    pub(super) fn factors(&self) -> Option<[Id; 2]> {
        self.sums()?;
        let [(left, _)] = self.product.left[..] else { return None };
        let [(right, _)] = self.product.right[..] else { return None };
        let [item] = self.product.item.results[..] else { return None };
        let Some(Op::Apply(Operator::Mul, factors)) = self.made(item) else { return None };
        let both = factors[..] == [left, right] || factors[..] == [right, left];
        both.then_some([left, right])
    }

    /// What a value was before it was widened to `f32`.
    pub(super) fn narrow(&self, value: Id) -> Option<Id> {
        match self.made(value)? {
            Op::Cast(Ty::F32, narrow) => Some(*narrow),
            _ => None,
        }
    }

    pub(super) fn made(&self, id: Id) -> Option<&'g Op> {
        self.made.get(&id).copied()
    }

    fn constant(&self, id: Id) -> Option<Scalar> {
        match self.made(id).or_else(|| self.around.again(id))? {
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
        let found = Matrices { left, right, end: End::default(), bytes: true };
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
        let made = self.around.program().body.stmts.iter().find(|stmt| stmt.binds[0].id == array);
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
    pub(super) fn matrix(&self, value: Id, outer: &[Id], [first, second]: [Id; 2]) -> Option<Matrix> {
        let read = self.made(self.narrow(value).unwrap_or(value))?;
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
        self.made(array).is_none() && self.around.is_in_memory(array)
    }

    /// Follows a result back to the sum; `false` if anything else is on the way.
    fn behind(&self, result: Id, column: Id, found: &mut End) -> bool {
        let sum = self.product.fold.binds[0].id;
        let mut at = result;
        if let Some(Op::Cast(_, wide)) = self.made(at) {
            at = *wide;
        }
        let mut stage = 0;
        if let Some(x) = self.gelu(at) {
            // The library's is as near as halves are, and as the GPU's own functions.
            let is_half = at != result;
            if !is_half && self.around.program().precision != Some(Precision::Native) {
                return false;
            }
            found.activation = Some(Activation::Gelu);
            (at, stage) = (x, 1);
        }
        while at != sum {
            let Some(Op::Apply(operator, args)) = self.made(at) else { return false };
            let [a, b] = args[..] else { return false };
            // The chain goes on where the sum is; the other operand ends here.
            let ends = |id: Id| self.constant(id).is_some() || self.bias(id, column).is_some();
            let (on, end) = if ends(b) { (a, b) } else { (b, a) };
            let now = match operator {
                Operator::Max if self.is_zero(end) => {
                    found.activation = Some(Activation::Rectified);
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

    /// The argument of a `gelu_tanh`, as [`Activation::Gelu`] has it.
    fn gelu(&self, value: Id) -> Option<Id> {
        self.either(value, Operator::Mul, |half, share| {
            let x = self.scaled(half, 0.5)?;
            let tanh = self.either(share, Operator::Add, |tanh, one| self.is_number(one, 1.0).then_some(tanh))?;
            let Op::Apply(Operator::Tanh, args) = self.made(tanh)? else { return None };
            let sum = self.scaled(args[0], std::f64::consts::FRAC_2_PI.sqrt())?;
            let cube = self.either(sum, Operator::Add, |a, b| (a == x).then_some(b))?;
            let cube = self.scaled(cube, 0.044715)?;
            let square = self.either(cube, Operator::Mul, |a, b| (b == x).then_some(a))?;
            self.either(square, Operator::Mul, |a, b| (a == x && b == x).then_some(x))
        })
    }

    /// What a number is multiplied by a constant.
    fn scaled(&self, value: Id, by: f64) -> Option<Id> {
        self.either(value, Operator::Mul, |a, b| self.is_number(b, by).then_some(a))
    }

    fn is_number(&self, id: Id, number: f64) -> bool {
        self.constant(id).is_some_and(|scalar| (scalar.as_f64() - number).abs() < 1e-6)
    }

    /// What is found in the operands of an operator in one order or the other.
    fn either(&self, value: Id, operator: Operator, find: impl Fn(Id, Id) -> Option<Id>) -> Option<Id> {
        let Op::Apply(found, args) = self.made(value)? else { return None };
        let [a, b] = args[..] else { return None };
        let is_it = *found == operator;
        is_it.then(|| find(a, b).or_else(|| find(b, a))).flatten()
    }

    /// The array with a number for each column that a value is of.
    fn bias(&self, value: Id, column: Id) -> Option<Id> {
        match self.made(value)? {
            Op::At { array, index } if index[..] == [column] && self.is_here(*array) => Some(*array),
            _ => None,
        }
    }
}
