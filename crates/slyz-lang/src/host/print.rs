//! What people see: `print(..)`.

use super::eval::no_value;
use super::tensor::failed;
use super::value::{Value, element};
use super::{Host, Machine, Outcome, error};
use crate::span::Span;
use crate::syntax::Expr;
use slyz_sir::types::{Scalar, Ty};

/// Of larger tensors only so many elements are shown.
const MOST_ELEMENTS: usize = 1000;

impl<'a, M: Machine> Host<'a, M> {
    /// The arguments with blanks between them, and a new line.
    pub(super) fn print(&mut self, args: &'a [Expr], span: Span) -> Outcome<()> {
        if !self.machine.prints() {
            return self.unseen(args);
        }
        let shown = args.iter().map(|arg| self.shown(arg)).collect::<Outcome<Vec<String>>>()?;
        writeln!(self.out, "{}", shown.join(" ")).map_err(|cause| {
            error("output", span, format!("the output cannot be written: {cause}")).help("look where it goes to").into()
        })
    }

    /// Arguments that nobody looks at: what they are is checked, and what they hold is not asked for.
    fn unseen(&mut self, args: &'a [Expr]) -> Outcome<()> {
        for arg in args {
            match self.eval(arg) {
                Ok(Value::Text(_) | Value::Number(_) | Value::Tensor(_)) => {}
                Ok(Value::Nothing | Value::Lent) => return Err(no_value(arg.span)),
                Err(_) if self.machine.resumes() => {}
                Err(wrong) => return Err(wrong),
            }
        }
        Ok(())
    }

    fn shown(&mut self, arg: &'a Expr) -> Outcome<String> {
        match self.eval(arg)? {
            Value::Text(text) => Ok(text.to_string()),
            Value::Number(number) => Ok(scalar(number.settle()?)),
            Value::Tensor(tensor) => {
                let bytes = tensor.bytes(self.machine).map_err(|failure| failed(&failure, arg.span))?;
                Ok(list(tensor.ty, &tensor.shape, bytes))
            }
            Value::Nothing | Value::Lent => Err(no_value(arg.span)),
        }
    }
}

/// A tensor as nested lists.
fn list(ty: Ty, shape: &[u64], bytes: &[u8]) -> String {
    let total = super::tensor::count(shape).unwrap_or(u64::MAX);
    let mut text = String::new();
    let mut place = 0;
    nested(ty, shape, bytes, &mut place, &mut text);
    if total > MOST_ELEMENTS as u64 {
        text.push_str(&format!(" ({total} elements)"));
    }
    text
}

fn nested(ty: Ty, shape: &[u64], bytes: &[u8], place: &mut usize, text: &mut String) {
    let Some((&extent, inner)) = shape.split_first() else {
        text.push_str(&element(ty, bytes, *place).map_or(String::new(), scalar));
        *place += 1;
        return;
    };
    // A list of nothing counts as an element: there may be many of them.
    *place += usize::from(extent == 0);
    text.push('[');
    for k in 0..extent {
        if k > 0 {
            text.push_str(", ");
        }
        if *place >= MOST_ELEMENTS {
            text.push('…');
            break;
        }
        nested(ty, inner, bytes, place, text);
    }
    text.push(']');
}

/// A number as Rust writes it.
fn scalar(value: Scalar) -> String {
    match value.ty {
        Ty::Bool => value.is_true().to_string(),
        Ty::F32 => format!("{:?}", value.as_f64() as f32),
        Ty::F64 => format!("{:?}", value.as_f64()),
        Ty::F16 | Ty::BF16 => half(value),
        Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => value.as_int().to_string(),
    }
}

/// The shortest decimal that is that number; as an `f64` it would need more digits.
fn half(value: Scalar) -> String {
    let wide = value.as_f64();
    let short = |digits: usize| format!("{wide:.digits$e}").parse::<f64>().ok();
    let found = (0..10).filter_map(short).find(|&short| Scalar::from_f64(value.ty, short) == value);
    format!("{:?}", found.unwrap_or(wide))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let shown = [
            Scalar::f32(1.0),
            Scalar::f32(0.1),
            Scalar::from_f64(Ty::F64, -2.5e-9),
            Scalar::from_f64(Ty::F16, 0.1),
            Scalar::from_f64(Ty::BF16, 3.0),
            Scalar::f32(f32::NAN),
            Scalar::from_f64(Ty::F16, f64::INFINITY),
            Scalar::from_int(Ty::U64, u64::MAX.into()),
            Scalar::from_int(Ty::I8, -5),
            Scalar::bool(true),
        ]
        .map(scalar);
        let expected = ["1.0", "0.1", "-2.5e-9", "0.1", "3.0", "NaN", "inf", "18446744073709551615", "-5", "true"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn lists() {
        assert_eq!(list(Ty::U8, &[2, 3], &[1, 2, 3, 4, 5, 6]), "[[1, 2, 3], [4, 5, 6]]");
        assert_eq!(list(Ty::U8, &[0], &[]), "[]");
        assert_eq!(list(Ty::U8, &[2, 0], &[]), "[[], []]");
        assert_eq!(list(Ty::U8, &[0, 1 << 40], &[]), "[]");
        let long = list(Ty::U8, &[3, 600], &[7; 1800]);
        assert!(long.ends_with("7, 7, …], …] (1800 elements)"), "{long}");
        assert!(list(Ty::U8, &[1 << 40, 0], &[]).ends_with("[], …]"));
    }
}
