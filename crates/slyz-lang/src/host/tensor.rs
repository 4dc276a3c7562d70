//! What is special about tensors: how they are made, and what can be asked of them.

use super::eval::{axes, from_zero};
use super::exec::element_type;
use super::number::Number;
use super::value::{Elements, Tensor, Value, element, element_bytes};
use super::{Failure, Host, Machine, Outcome, error};
use crate::check::rules;
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::{Expr, ExprKind, Name, TypeExpr};
use slyz_sir::types::{Scalar, Ty, int_range};

/// The most axes of a tensor.
const MOST_AXES: usize = 4;

impl<'a, M: Machine> Host<'a, M> {
    /// `Tensor.name<T>(..)`.
    pub(super) fn make_tensor(
        &mut self,
        name: &'a Name,
        ty: Option<&'a TypeExpr>,
        args: &'a [Expr],
    ) -> Outcome<Value<M::Tensor>> {
        let elem = match ty {
            Some(ty) => Some(element_type(ty).ok_or_else(|| {
                let message = "a tensor holds numbers or bool";
                Box::new(error(rules::TYPE, ty.span, message).help("write a type such as `f32`"))
            })?),
            None => None,
        };
        let wrong = |message: &str, help: &str| Err(error(rules::COUNT, name.span, message).help(help).into());
        match (&name.text[..], args) {
            ("zeros" | "ones", [first, ..]) => {
                let Some(ty) = elem else {
                    let message = format!("`{}` needs the type of the elements", name.text);
                    let help = format!("write `Tensor.{}<f32>(..)`", name.text);
                    return Err(error(rules::TYPE, name.span, message).help(help).into());
                };
                let value = Scalar::from_int(ty, (name.text == "ones").into());
                self.filled(value, args, first.span)
            }
            ("zeros" | "ones", []) => wrong("a tensor needs its sizes", "write `Tensor.zeros<f32>(1024)`"),
            ("filled", [value, rest @ ..]) if !rest.is_empty() => {
                let number = self.number(value)?;
                let value = match elem {
                    Some(ty) => number.want(ty, || "the elements are".to_string())?,
                    None => number.settle()?,
                };
                self.filled(value, rest, rest[0].span)
            }
            ("filled", _) => wrong("`filled` takes a value and the sizes", "write `Tensor.filled(1.0f32, 1024)`"),
            ("from", [list]) => match self.eval_wanting(list, elem)? {
                Value::Tensor(tensor) if elem.is_none_or(|ty| ty == tensor.ty) => Ok(Value::Tensor(tensor)),
                other => {
                    let wanted = elem.map_or("a list".to_string(), |ty| format!("a list of {ty}"));
                    let message = format!("`from` takes {wanted}, but this is {}", other.describe());
                    Err(error(rules::MISMATCH, list.span, message).help("write `Tensor.from([1.0, 2.0])`").into())
                }
            },
            ("from", _) => wrong("`from` takes one list", "write `Tensor.from([1.0, 2.0])`"),
            _ => {
                let message = format!("there is no `Tensor.{}`", name.text);
                let help = "known are `Tensor.zeros<f32>(n)`, `Tensor.ones<f32>(n)`, `Tensor.filled(1.0f32, n)` and `Tensor.from([..])`";
                Err(error(rules::METHOD, name.span, message).help(help).into())
            }
        }
    }

    fn filled(&mut self, value: Scalar, sizes: &'a [Expr], span: Span) -> Outcome<Value<M::Tensor>> {
        let shape = self.sizes(sizes)?;
        self.filled_tensor(value, shape, span)
    }

    /// A tensor of equal elements.
    pub(super) fn filled_tensor(&mut self, value: Scalar, shape: Vec<u64>, span: Span) -> Outcome<Value<M::Tensor>> {
        let bytes = count(&shape).map_or(u64::MAX, |n| n.saturating_mul(value.ty.bytes() as u64));
        self.machine.reserve(bytes).map_err(|failure| failed(&failure, span))?;
        let bytes = filled(value, &shape, span)?;
        Ok(Value::Tensor(Tensor::on_host(value.ty, shape, bytes)))
    }

    /// `n`, `n, m`, `(n, m)` or `[n, m]`.
    fn sizes(&mut self, sizes: &'a [Expr]) -> Outcome<Vec<u64>> {
        let listed = match sizes {
            [Expr { kind: ExprKind::Tuple(items) | ExprKind::Array(items), .. }] => items,
            _ => sizes,
        };
        let span = sizes.first().map_or(Span::default(), |first| first.span);
        if !(1..=MOST_AXES).contains(&listed.len()) {
            let message = format!("a tensor has 1 to {MOST_AXES} axes, but here are {}", listed.len());
            return Err(error(rules::TENSOR_TYPE, span, message).help("join axes, or use several tensors").into());
        }
        listed.iter().map(|size| self.extent(size, "a size is")).collect()
    }

    /// A size: an integer from 0 on.
    pub(super) fn extent(&mut self, expr: &'a Expr, wish: &str) -> Outcome<u64> {
        let value = self.number(expr)?.want(Ty::I64, || wish.to_string())?.as_int();
        u64::try_from(value).map_err(|_| {
            let message = format!("a size is 0 or more, but this is {value}");
            error("negative-size", expr.span, message).help("pass a size that is not negative").into()
        })
    }

    /// `[a, b]`, `[a; n]`, and lists of lists.
    pub(super) fn list(&mut self, expr: &'a Expr, wanted: Option<Ty>) -> Outcome<Tensor<M::Tensor>> {
        let mut numbers = vec![];
        let shape = self.collect(expr, &mut numbers)?;
        if shape.len() > MOST_AXES {
            let message = format!("a tensor has at most {MOST_AXES} axes");
            return Err(error(rules::TENSOR_TYPE, expr.span, message).help("join axes").into());
        }
        let natural = match &numbers[..] {
            [] => Ty::F32,
            [first] => first.natural(),
            // The elements have the type that they have together.
            _ => super::number::together(&numbers, expr.span)?,
        };
        let ty = wanted.unwrap_or(natural);
        let mut bytes = vec![];
        for number in &numbers {
            bytes.extend(element_bytes(number.want(ty, || "the elements are".to_string())?));
        }
        Ok(Tensor::on_host(ty, shape, bytes))
    }

    /// The numbers of a list in order, and its extents.
    fn collect(&mut self, expr: &'a Expr, numbers: &mut Vec<Number>) -> Outcome<Vec<u64>> {
        let items: Vec<&'a Expr> = match &expr.kind {
            ExprKind::Array(items) => items.iter().collect(),
            ExprKind::Repeat(item, length) => {
                let length = self.extent(length, "a length is")?;
                let start = numbers.len();
                let mut shape = self.collect(item, numbers)?;
                repeat(numbers, start, length, expr.span)?;
                shape.insert(0, length);
                return Ok(shape);
            }
            _ => {
                numbers.push(self.number(expr)?);
                return Ok(vec![]);
            }
        };
        let mut inner: Option<Vec<u64>> = None;
        for item in &items {
            let found = self.collect(item, numbers)?;
            match &inner {
                Some(shape) if *shape != found => {
                    let message = "the lists of a list have different lengths";
                    let error = error("list-shape", item.span, message).related(items[0].span, "the first one");
                    return Err(error.help("make them equally long").into());
                }
                _ => inner = Some(found),
            }
        }
        let mut shape = inner.unwrap_or_default();
        shape.insert(0, items.len() as u64);
        Ok(shape)
    }

    /// `t.len()`, `t.dim(k)`, `t.rank()`, `t.sum()`.
    pub(super) fn tensor_method(
        &mut self,
        tensor: &Tensor<M::Tensor>,
        name: &'a Name,
        args: &'a [Expr],
        span: Span,
    ) -> Outcome<Value<M::Tensor>> {
        let value = match (&name.text[..], args) {
            ("len", []) => Number::i64(tensor.len(), span),
            ("rank", []) => Number::i64(tensor.shape.len() as u64, span),
            ("dim", [axis]) => {
                let number = self.extent(axis, "an axis is")?;
                let Some(&extent) = usize::try_from(number).ok().and_then(|axis| tensor.shape.get(axis)) else {
                    let message = format!("there is no axis {number}: the tensor has {}", axes(tensor.shape.len()));
                    let help = from_zero(tensor.shape.len() as u64);
                    return Err(error(rules::BOUNDS, axis.span, message).help(help).into());
                };
                Number::i64(extent, span)
            }
            ("sum", []) => {
                let bytes = tensor.bytes(self.machine).map_err(|failure| failed(&failure, span))?;
                sum(tensor, bytes, span)?
            }
            ("len" | "rank" | "sum", _) => {
                let message = format!("`.{}` takes no arguments", name.text);
                return Err(error(rules::COUNT, name.span, message).help(format!("write `t.{}()`", name.text)).into());
            }
            ("dim", _) => {
                let message = "`.dim` takes the number of an axis";
                return Err(error(rules::COUNT, name.span, message).help("write `t.dim(0)`").into());
            }
            _ => {
                let message = format!("a tensor has no `.{}`", name.text);
                let help = "known are `.len()`, `.dim(k)`, `.rank()` and `.sum()`";
                return Err(error(rules::METHOD, name.span, message).help(help).into());
            }
        };
        Ok(Value::Number(value))
    }
}

/// Floats are summed in `f64` and rounded once; integers exactly.
fn sum<T>(tensor: &Elements<T>, bytes: &[u8], span: Span) -> Outcome<Number> {
    let ty = tensor.ty;
    let count = tensor.len() as usize;
    let elements = (0..count).filter_map(|place| element(ty, bytes, place));
    if ty.is_float() {
        // Nothing is 0.0 to people, though -0.0 is what changes no sum.
        let total = elements.map(Scalar::as_f64).reduce(|a, b| a + b).unwrap_or(0.0);
        return Ok(Number::value(Scalar::from_f64(ty, total), span));
    }
    let total: i128 = elements.map(Scalar::as_int).sum();
    let ty = if ty == Ty::Bool { Ty::I64 } else { ty };
    let (low, high) = int_range(ty);
    if !(low..=high).contains(&total) {
        let message = format!("the sum is {total}, which is no {ty}");
        return Err(error(rules::RANGE, span, message)
            .help("add the elements in a loop, each `as i64` or `as f64`")
            .into());
    }
    Ok(Number::value(Scalar::from_int(ty, total), span))
}

/// What a machine could not do, at a place.
pub(super) fn failed(failure: &Failure, span: Span) -> Box<Diagnostic> {
    match failure {
        Failure::Fault(fault) => {
            let [x, y, z] = fault.thread;
            let message = format!(
                "kernel `{}`: `{}{:?}` is out of bounds in thread ({x}, {y}, {z}); the shape is {:?}",
                fault.kernel, fault.memory, fault.index, fault.shape
            );
            let help = "guard the access with an `if`, or launch fewer threads";
            error("out-of-bounds", span, message).label("that access read and wrote nothing").help(help).into()
        }
        Failure::Other(message) => error("machine", span, message).into(),
    }
}

/// A repeated list: what was read since `start`, that many times.
fn repeat(numbers: &mut Vec<Number>, start: usize, length: u64, span: Span) -> Outcome<()> {
    let once: Vec<Number> = numbers.split_off(start);
    let total = usize::try_from(length).ok().and_then(|length| length.checked_mul(once.len()));
    let room = total.is_some_and(|total| total <= 1 << 24 && numbers.try_reserve(total).is_ok());
    if !room {
        let message = "this list is too long to be written out";
        return Err(error("list-length", span, message).help("use `Tensor.filled(value, n)`").into());
    }
    for _ in 0..length {
        numbers.extend(once.iter().cloned());
    }
    Ok(())
}

/// The elements of a shape, if they can be counted: none where an extent is 0, however large the others are.
pub(super) fn count(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) { Some(0) } else { shape.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent)) }
}

/// The bytes of so many equal elements.
fn filled(value: Scalar, shape: &[u64], span: Span) -> Outcome<Vec<u8>> {
    let size = count(shape).and_then(|count| usize::try_from(count).ok()?.checked_mul(value.ty.bytes()));
    // Asked for first: what there is no room for is an error rather than the end of the program.
    let room = size.filter(|&size| size <= isize::MAX as usize && Vec::<u8>::new().try_reserve_exact(size).is_ok());
    let Some(size) = room else {
        let message = format!("there is no memory for a tensor of {} with the shape {shape:?}", value.ty);
        return Err(error("memory", span, message).help("make it smaller").into());
    };
    if value.bits == 0 {
        return Ok(vec![0; size]);
    }
    let once: Vec<u8> = element_bytes(value).collect();
    Ok(once.repeat(size / once.len()))
}
