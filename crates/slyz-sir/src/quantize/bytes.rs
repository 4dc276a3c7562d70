//! Sums of products in bytes.
//!
//! ```text
//! c[i, j] = Σ a[i, k] · b[k, j]           s[i] = max |a[i, ·]| / 127      t[j] = max |b[·, j]| / 127
//!                                         p[i, k] = round(a[i, k] / s[i]) + 128      q[k, j] = round(b[k, j] / t[j])
//!                                    →    o[j] = Σ 128 · q[k, j]
//!                                         c[i, j] = (Σ p[i, k] · q[k, j] - o[j]) · s[i] · t[j]
//! ```
//!
//! Four bytes along `k` are a word, and `dot4` multiplies words; machines want those of one side without signs, which is why 128 is added and
//! taken away. Sums of whole numbers do not round, and `k` is short enough for them. An infinity or NaN makes the scale infinite, and what it
//! is in NaN or infinite.

use super::{Candidate, Quantized, Request, Site, left_out};
use crate::code::{Body, Id, Monoid, Op, Stmt, Type, Var};
use crate::lower::Product;
use crate::ops::Operator;
use crate::program::{Program, Require};
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic, Lines, Write};
use std::collections::HashSet;

/// The most terms whose sum fits 32 bits.
const MOST_TERMS: u64 = 1 << 17;
/// The largest byte that is used on either side of zero.
const LARGEST: f32 = 127.0;

pub(super) fn quantize(mut program: Program, request: &Request) -> Quantized {
    let mut lines = Lines::new(program.fresh_ids());
    let arrays: HashSet<Id> = program.body.params.iter().map(|param| param.id).collect();
    let mut candidates = vec![];
    let mut weights: Vec<usize> = vec![];
    for stmt in std::mem::take(&mut program.body.stmts) {
        let Some(found) = Found::of(&stmt) else {
            lines.out().push(stmt);
            continue;
        };
        let what = found.describe(&program);
        let left = left_out(request, candidates.len());
        if left.is_none() {
            let used = found.right.arrays(&arrays);
            weights.extend((0..program.body.params.len()).filter(|&k| used.contains(&program.body.params[k].id)));
            program.requires.push(Require::AtMost(found.terms.clone(), Size::Const(MOST_TERMS)));
            let written = found.write(&mut lines);
            lines.out().push(written);
        } else {
            lines.out().push(stmt);
        }
        candidates.push(Candidate { what, left });
    }
    program.body.stmts = lines.take();
    weights.sort_unstable();
    weights.dedup();
    Quantized { program, candidates, weights: request.weights.clone().unwrap_or(weights) }
}

/// What each candidate is.
pub(super) fn sites(program: &Program) -> Vec<Option<Site>> {
    let found = program.body.stmts.iter().filter_map(Found::of);
    found.map(|found| Some(Site::Product { sum: found.sum, factors: [found.left.value, found.right.value] })).collect()
}

/// A product of matrices, and perhaps something done with its sums.
struct Found<'g> {
    stmt: &'g Stmt,
    shape: &'g [Size],
    body: &'g Body,
    /// The fold's place among the statements, and its result.
    place: usize,
    sum: Id,
    terms: Size,
    left: Side<'g>,
    right: Side<'g>,
}

/// One factor: a value for each position on some axes of the result, and each term.
struct Side<'g> {
    /// Those axes of the result that it depends on, by number; its own is the last.
    axes: Vec<usize>,
    shape: Vec<Size>,
    params: Vec<Id>,
    inner: Id,
    stmts: Vec<&'g Stmt>,
    value: Id,
    ty: Ty,
}

/// A side in bytes.
struct Words {
    scale: Id,
    words: Id,
}

impl<'g> Found<'g> {
    fn of(stmt: &'g Stmt) -> Option<Found<'g>> {
        let Op::Tabulate { shape, body } = &stmt.op else { return None };
        let product = Product::of(body)?;
        let ([(left, left_ty)], [(right, right_ty)]) = (&product.left[..], &product.right[..]) else { return None };
        let mixed = product.slice(&product.item.results, true);
        let ([Stmt { binds, op: Op::Apply(Operator::Mul, factors) }], [result]) =
            (&mixed[..], &product.item.results[..])
        else {
            return None;
        };
        let is_product = binds[0].id == *result && (factors[..] == [*left, *right] || factors[..] == [*right, *left]);
        let sums = product.monoid.operator() == Some(Operator::Add) && binds[0].ty == Type::Scalar(Ty::F32);
        let floats = [left_ty, right_ty].iter().all(|ty| matches!(ty, Ty::F32 | Ty::F16 | Ty::BF16));
        if !is_product || !sums || !floats {
            return None;
        }
        let place = body.stmts.iter().position(|s| std::ptr::eq(s, product.fold))?;
        let rows = shape.len() - 2;
        let side = |value: Id, ty: Ty, own: usize| Side::of(&product, shape, value, ty, own);
        Some(Found {
            stmt,
            shape,
            body,
            place,
            sum: product.fold.binds[0].id,
            terms: product.extent.clone(),
            left: side(*left, *left_ty, rows),
            right: side(*right, *right_ty, rows + 1),
        })
    }

    fn describe(&self, program: &Program) -> String {
        let name = |var| program.size_name(var);
        let extents: Vec<String> = self.shape.iter().map(|size| size.display(&name).to_string()).collect();
        format!("the product [{}] over {}", extents.join(", "), self.terms.display(&name))
    }

    /// Writes both sides in bytes, and gives the product of them.
    fn write(&self, lines: &mut Lines) -> Stmt {
        let four = Size::CeilDiv(self.terms.clone().into(), 4);
        let left = self.left.write(lines, &self.terms, false);
        let right = self.right.write(lines, &self.terms, true);
        let zero = lines.constant(Scalar::from_int(Ty::I32, 0));
        let offset = self.offset(lines, &right, &four, zero);
        let around = lines.begin();
        self.body.stmts[..self.place].iter().for_each(|stmt| lines.out().push(stmt.clone()));
        let at = |side: &Side| side.axes.iter().map(|&axis| self.body.params[axis].id).collect::<Vec<Id>>();
        let (rows, columns) = (at(&self.left), at(&self.right));
        let item = lines.nested(&[Ty::I64], |w, word| {
            let a = w.push(Op::At { array: left.words, index: [&rows[..], word].concat() }, Ty::I32);
            let b = w.push(Op::At { array: right.words, index: self.right.place(&columns, word[0]) }, Ty::I32);
            vec![w.apply(Operator::Dot4, &[a, b, zero], Ty::I32)]
        });
        let monoid = sum(lines, zero);
        let total = lines.push(Op::Fold { shape: vec![four], body: item, monoid }, Ty::I32);
        let offset = lines.push(Op::At { array: offset, index: columns.clone() }, Ty::I32);
        let whole = lines.apply(Operator::Sub, &[total, offset], Ty::I32);
        let whole = lines.push(Op::Cast(Ty::F32, whole), Ty::F32);
        let s = lines.push(Op::At { array: left.scale, index: rows }, Ty::F32);
        let t = lines.push(Op::At { array: right.scale, index: columns }, Ty::F32);
        let scaled = lines.apply(Operator::Mul, &[whole, s], Ty::F32);
        let binds = vec![Var { id: self.sum, ty: Type::Scalar(Ty::F32) }];
        lines.out().push(Stmt { binds, op: Op::Apply(Operator::Mul, vec![scaled, t]) });
        self.body.stmts[self.place + 1..].iter().for_each(|stmt| lines.out().push(stmt.clone()));
        let stmts = lines.end(around);
        let body = Body { stmts, ..self.body.clone() };
        Stmt { binds: self.stmt.binds.clone(), op: Op::Tabulate { shape: self.shape.to_vec(), body } }
    }

    /// What the 128 that are added on the left come to.
    fn offset(&self, lines: &mut Lines, right: &Words, four: &Size, zero: Id) -> Id {
        let shape = &self.right.shape;
        let body = lines.nested(&vec![Ty::I64; shape.len()], |w, at| {
            let item = w.nested(&[Ty::I64], |w, word| {
                let bytes = w.push(Op::At { array: right.words, index: self.right.place(at, word[0]) }, Ty::I32);
                let middle = w.constant(Scalar::from_bits(Ty::I32, 0x8080_8080));
                vec![w.apply(Operator::Dot4, &[middle, bytes, zero], Ty::I32)]
            });
            let monoid = sum(w, zero);
            vec![w.push(Op::Fold { shape: vec![four.clone()], body: item, monoid }, Ty::I32)]
        });
        array(lines, shape.clone(), body, Ty::I32)
    }
}

impl<'g> Side<'g> {
    fn of(product: &Product<'g>, shape: &[Size], value: Id, ty: Ty, own: usize) -> Side<'g> {
        let stmts = product.slice(&[value], false);
        let mut used = HashSet::new();
        for stmt in &stmts {
            stmt.op.each_operand(&mut |id| used.extend([id]));
            stmt.op.bodies().iter().for_each(|body| body.each_free(&mut |id| used.extend([id])));
        }
        let outer = shape.len() - 2;
        let params = &product.body.params;
        let axes: Vec<usize> = (0..outer).filter(|&axis| used.contains(&params[axis].id)).chain([own]).collect();
        let extents = axes.iter().map(|&axis| shape[axis].clone()).collect();
        let ids = axes.iter().map(|&axis| params[axis].id).collect();
        Side { axes, shape: extents, params: ids, inner: product.inner, stmts, value, ty }
    }

    /// The arrays of these that it reads.
    fn arrays(&self, known: &HashSet<Id>) -> HashSet<Id> {
        let reads = self.stmts.iter().filter_map(|stmt| match stmt.op {
            Op::At { array, .. } if known.contains(&array) => Some(array),
            _ => None,
        });
        reads.collect()
    }

    /// The index of a word of the right side: words stand above each other, so that columns are neighbours.
    fn place(&self, at: &[Id], word: Id) -> Vec<Id> {
        let (own, outer) = at.split_last().expect("an axis of its own");
        [outer, &[word, *own]].concat()
    }

    /// The value at a position and a term.
    fn value(&self, lines: &mut Lines, at: &[Id], term: Id) -> Id {
        let params = self.params.iter().chain([&self.inner]);
        let params = params.map(|&id| Var { id, ty: Type::Scalar(Ty::I64) }).collect();
        let stmts = self.stmts.iter().map(|&stmt| stmt.clone()).collect();
        let body = Body { params, stmts, results: vec![self.value] };
        let body = body.instantiate(&[at, &[term]].concat(), &mut || lines.fresh());
        lines.out().extend(body.stmts);
        match self.ty {
            Ty::F32 => body.results[0],
            _ => lines.push(Op::Cast(Ty::F32, body.results[0]), Ty::F32),
        }
    }

    /// The scales, and the words of four bytes.
    fn write(&self, lines: &mut Lines, terms: &Size, is_right: bool) -> Words {
        let nothing = lines.constant(Scalar::f32(0.0));
        let scales = lines.nested(&vec![Ty::I64; self.shape.len()], |w, at| {
            let item = w.nested(&[Ty::I64], |w, term| {
                let value = self.value(w, at, term[0]);
                let size = w.apply(Operator::Abs, &[value], Ty::F32);
                let is_nan = w.apply(Operator::IsNan, &[value], Ty::Bool);
                let infinity = w.constant(Scalar::f32(f32::INFINITY));
                vec![w.apply(Operator::Select, &[is_nan, infinity, size], Ty::F32)]
            });
            let combine = w.nested(&[Ty::F32; 2], |w, pair| vec![w.apply(Operator::Max, pair, Ty::F32)]);
            let monoid = Monoid { neutral: vec![nothing], combine, commutative: true };
            let largest = w.push(Op::Fold { shape: vec![terms.clone()], body: item, monoid }, Ty::F32);
            let steps = w.constant(Scalar::f32(LARGEST));
            vec![w.apply(Operator::Div, &[largest, steps], Ty::F32)]
        });
        let scale = array(lines, self.shape.clone(), scales, Ty::F32);
        let four = Size::CeilDiv(terms.clone().into(), 4);
        let mut shape = self.shape.clone();
        let last = shape.len() - 1;
        shape.insert(if is_right { last } else { last + 1 }, four);
        let words = lines.nested(&vec![Ty::I64; shape.len()], |w, index| {
            let mut at = index.to_vec();
            let word = at.remove(if is_right { last } else { last + 1 });
            let scale = w.push(Op::At { array: scale, index: at.clone() }, Ty::F32);
            vec![self.word(w, &at, word, scale, terms, is_right)]
        });
        Words { scale, words: array(lines, shape, words, Ty::I32) }
    }

    /// Four bytes, from a term on. Behind the last there are zeros.
    fn word(&self, w: &mut Lines, at: &[Id], word: Id, scale: Id, terms: &Size, is_right: bool) -> Id {
        let nothing = w.constant(Scalar::f32(0.0));
        let is_some = w.apply(Operator::Gt, &[scale, nothing], Ty::Bool);
        let inverse = w.apply(Operator::Recip, &[scale], Ty::F32);
        let inverse = w.apply(Operator::Select, &[is_some, inverse, nothing], Ty::F32);
        let [low, high] = [-LARGEST, LARGEST].map(|x| w.constant(Scalar::f32(x)));
        let extent = w.extent(terms);
        let last = w.value(extent - 1);
        let mut bytes = None;
        for k in 0..4 {
            let term = w.value(word * 4 + k);
            let is_inside = w.value(term.below(extent));
            let near = w.value(term.least(last));
            let value = self.value(w, at, near);
            let steps = w.apply(Operator::Mul, &[value, inverse], Ty::F32);
            let steps = w.apply(Operator::Round, &[steps], Ty::F32);
            let steps = w.apply(Operator::Clamp, &[steps, low, high], Ty::F32);
            let steps = w.apply(Operator::Select, &[is_inside, steps, nothing], Ty::F32);
            let byte = w.push(Op::Cast(Ty::I32, steps), Ty::I32);
            let (operator, by) = if is_right { (Operator::And, 255) } else { (Operator::Add, 128) };
            let by = w.constant(Scalar::from_int(Ty::I32, by));
            let byte = w.apply(operator, &[byte, by], Ty::I32);
            let shift = w.constant(Scalar::from_int(Ty::I32, 8 * i128::from(k)));
            let byte = w.apply(Operator::Shl, &[byte, shift], Ty::I32);
            bytes = Some(match bytes {
                Some(before) => w.apply(Operator::Or, &[before, byte], Ty::I32),
                None => byte,
            });
        }
        bytes.expect("four bytes")
    }
}

/// A sum of whole numbers.
fn sum(lines: &mut Lines, zero: Id) -> Monoid {
    let combine = lines.nested(&[Ty::I32; 2], |w, pair| vec![w.apply(Operator::Add, pair, Ty::I32)]);
    Monoid { neutral: vec![zero], combine, commutative: true }
}

fn array(lines: &mut Lines, shape: Vec<Size>, body: Body, ty: Ty) -> Id {
    let id = lines.fresh();
    let binds = vec![Var { id, ty: Type::Array(ty, shape.clone()) }];
    lines.out().push(Stmt { binds, op: Op::Tabulate { shape, body } });
    id
}
