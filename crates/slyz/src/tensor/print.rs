//! Tensors as text, as NumPy prints arrays: nested brackets, aligned columns, as few digits as tell the elements apart and no more than
//! eight, and of more than 1000 elements only the edges. Nothing else is read of a tensor in memory of a device.

use super::{SMALL, Tensor, read_scalars};
use crate::complex::Complex;
use crate::elem::{Elem, tys_of};
use crate::trace::Ty;
use half::{bf16, f16};
use slyz_run::Buffer;
use slyz_sir::types::Scalar;
use std::any::TypeId;
use std::fmt;
use std::ops::Range;

/// Of more elements only the edges are shown.
const THRESHOLD: usize = 1000;
/// Elements of an edge.
const EDGE: usize = 3;
/// Digits behind the point, at most.
const PRECISION: usize = 8;
const LINE_WIDTH: usize = 75;
const MORE: &str = "...";
/// More axes have no text: each takes a bracket and a column of every line.
const MOST_AXES: usize = 64;

/// As NumPy's `str`.
///
/// ```
/// use slyz::prelude::*;
/// let t = Tensor::<f32>::from_vec([2, 2], vec![1.0, -2.5, 100.0, 0.25])?;
/// assert_eq!(t.to_string(), "[[  1.    -2.5 ]\n [100.     0.25]]");
/// # Ok::<(), slyz::Error>(())
/// ```
impl<T: Elem, S> fmt::Display for Tensor<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match Shown::of(self) {
            Ok(shown) if self.dims.is_empty() => f.write_str(&shown.alone()),
            Ok(shown) => f.write_str(&shown.text(" ", 0)),
            Err(why) => f.write_str(&why),
        }
    }
}

/// As NumPy's `repr`, with our own name of the elements.
///
/// ```
/// use slyz::prelude::*;
/// let t = Tensor::<i32>::from_vec([3], vec![1, 20, -3])?;
/// assert_eq!(format!("{t:?}"), "Tensor([ 1, 20, -3], i32)");
/// # Ok::<(), slyz::Error>(())
/// ```
impl<T: Elem, S> fmt::Debug for Tensor<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        const START: &str = "Tensor(";
        let shown = match Shown::of(self) {
            Ok(shown) => shown,
            Err(why) => return write!(f, "{START}{why})"),
        };
        let mut text = format!("{START}{}", shown.text(", ", START.len()));
        let last = text.chars().rev().take_while(|&c| c != '\n').count();
        let mut end = shown.name();
        if shown.summary || (self.is_empty() && self.dims != [0]) {
            let dims: Vec<String> = self.dims.iter().map(usize::to_string).collect();
            let comma = if dims.len() == 1 { "," } else { "" };
            end = format!("shape=({}{comma}), {end}", dims.join(", "));
        }
        text += if last + end.len() + 3 > LINE_WIDTH { ",\n       " } else { ", " };
        write!(f, "{text}{end})")
    }
}

/// What is shown of a tensor: for every leaf the elements that are printed, in order, and how they look.
struct Shown<'a> {
    dims: &'a [usize],
    /// Are there more?
    summary: bool,
    is_complex: bool,
    leaves: Vec<Column>,
}

/// The elements of a leaf, and how they look.
struct Column {
    ty: Ty,
    values: Vec<Scalar>,
    format: Format,
}

impl<'a> Shown<'a> {
    fn of<T: Elem, S>(tensor: &'a Tensor<T, S>) -> Result<Shown<'a>, String> {
        let dims = tensor.dims();
        if dims.len() > MOST_AXES {
            return Err(format!("(a tensor of {} axes)", dims.len()));
        }
        let summary = tensor.len() > THRESHOLD;
        let runs = runs(dims, summary);
        let is_complex = [TypeId::of::<Complex<f32>>(), TypeId::of::<Complex<f64>>()].contains(&TypeId::of::<T>());
        let mut leaves = vec![];
        for (k, (ty, buffer)) in tys_of::<T>().into_iter().zip(&tensor.leaves).enumerate() {
            let values = read(buffer, ty, &runs).map_err(|error| format!("({error})"))?;
            let format = Format::of(ty, &values, is_complex && k == 1, dims.is_empty());
            leaves.push(Column { ty, values, format });
        }
        Ok(Shown { dims, summary, is_complex, leaves })
    }

    /// The name of the elements.
    fn name(&self) -> String {
        let names: Vec<String> = self.leaves.iter().map(|leaf| leaf.ty.to_string()).collect();
        match &names[..] {
            [name] => name.clone(),
            [part, _] if self.is_complex => format!("Complex<{part}>"),
            _ => format!("({})", names.join(", ")),
        }
    }

    /// An element among others.
    fn element(&self, place: usize) -> String {
        let parts: Vec<String> = self.leaves.iter().map(|leaf| leaf.format.text(leaf.values[place])).collect();
        match &parts[..] {
            [text] => text.clone(),
            [re, im] if self.is_complex => {
                // The letter goes before the blanks that fill the column.
                let digits = im.trim_end().len();
                format!("{re}{}j{}", &im[..digits], &im[digits..])
            }
            _ => format!("({})", parts.join(", ")),
        }
    }

    /// The one element of a tensor without axes.
    fn alone(&self) -> String {
        let part = |leaf: &Column, zeros: &str| {
            let value = leaf.values[0];
            if is_float(leaf.ty) { scalar_text(leaf.ty, value.as_f64(), zeros) } else { leaf.format.text(value) }
        };
        match &self.leaves[..] {
            [leaf] => part(leaf, ".0"),
            [re, im] if self.is_complex => {
                let imaginary = part(im, "");
                let value = re.values[0].as_f64();
                if value == 0.0 && value.is_sign_positive() {
                    return format!("{imaginary}j");
                }
                let sign = if imaginary.starts_with('-') { "" } else { "+" };
                format!("({}{sign}{imaginary}j)", part(re, ""))
            }
            leaves => format!("({})", leaves.iter().map(|leaf| part(leaf, ".0")).collect::<Vec<_>>().join(", ")),
        }
    }

    /// The elements in brackets; lines but the first begin with so many blanks.
    fn text(&self, separator: &str, indent: usize) -> String {
        if self.dims.contains(&0) {
            return "[]".to_string();
        }
        let mut places = 0..usize::MAX;
        self.part(0, &mut places, separator, indent + 1, LINE_WIDTH)
    }

    /// The part of an axis; `places` are those of the elements that are shown and not yet printed.
    fn part(&self, axis: usize, places: &mut Range<usize>, separator: &str, indent: usize, width: usize) -> String {
        let Some(&dim) = self.dims.get(axis) else { return self.element(places.next().unwrap_or(0)) };
        let axes_left = self.dims.len() - axis;
        let edges = edges(dim, self.summary);
        let shown = edges.iter().map(Range::len).sum::<usize>();
        let gap = (edges.len() > 1).then_some(EDGE);
        let mut text = String::new();
        if axes_left > 1 {
            let between = format!("{}{}{}", separator.trim_end(), "\n".repeat(axes_left - 1), " ".repeat(indent));
            for k in 0..shown {
                if k > 0 {
                    text += &between;
                }
                if gap == Some(k) {
                    text += MORE;
                    text += &between;
                }
                text += &self.part(axis + 1, places, separator, indent + 1, width - 1);
            }
            return format!("[{text}]");
        }
        // A line ends where a separator or the bracket still fits.
        let width = width.saturating_sub(separator.trim_end().len().max(1));
        let mut line = indent;
        let mut add = |word: &str| {
            let length = word.chars().count();
            if line + length > width && line > indent {
                text.truncate(text.trim_end().len());
                text += "\n";
                text += &" ".repeat(indent);
                line = indent;
            }
            text += word;
            line += length;
            text += separator;
            line += separator.len();
        };
        for k in 0..shown {
            if gap == Some(k) {
                add(MORE);
            }
            add(&self.element(places.next().unwrap_or(0)));
        }
        text.truncate(text.len() - separator.len());
        format!("[{text}]")
    }
}

/// The positions of an axis that are shown.
fn edges(dim: usize, summary: bool) -> Vec<Range<usize>> {
    if summary && dim > 2 * EDGE { vec![0..EDGE, dim - EDGE..dim] } else { vec![Range { start: 0, end: dim }] }
}

/// The places of elements that are shown, in order; neighbours together.
fn runs(dims: &[usize], summary: bool) -> Vec<Range<usize>> {
    let mut runs = vec![Range { start: 0, end: 1 }];
    let mut inner = 1;
    // From the last axis on: a run of whole parts stays one.
    for &dim in dims.iter().rev() {
        let mut outer: Vec<Range<usize>> = vec![];
        for position in edges(dim, summary).into_iter().flatten() {
            for run in &runs {
                let start = position * inner + run.start;
                match outer.last_mut() {
                    Some(last) if last.end == start => last.end += run.len(),
                    _ => outer.push(start..start + run.len()),
                }
            }
        }
        runs = outer;
        inner *= dim;
    }
    runs
}

/// The elements of some places.
fn read(buffer: &Buffer, ty: Ty, runs: &[Range<usize>]) -> Result<Vec<Scalar>, slyz_run::Error> {
    let width = ty.bytes();
    let mut values = vec![Scalar::bool(false); runs.iter().map(Range::len).sum()];
    let mut out = values.iter_mut();
    let here = buffer.is_host() || buffer.len() <= SMALL;
    for run in runs {
        let bytes = run.start * width..run.end * width;
        if here {
            let bytes = buffer.bytes()?.get(bytes).unwrap_or_default();
            read_scalars(ty, bytes, out.by_ref().take(run.len()));
        } else {
            let mut part = vec![0; bytes.len()];
            buffer.read_at(bytes.start, &mut part)?;
            read_scalars(ty, &part, out.by_ref().take(run.len()));
        }
    }
    Ok(values)
}

/// How the elements of a leaf look, so that they stand in columns.
enum Format {
    Float(FloatFormat),
    Int { width: usize },
    Bool { width: usize },
}

impl Format {
    fn of(ty: Ty, values: &[Scalar], signs: bool, alone: bool) -> Format {
        match ty {
            Ty::Bool => Format::Bool { width: if alone { 0 } else { "False".len() } },
            ty if is_float(ty) => {
                let values: Vec<f64> = values.iter().map(|value| value.as_f64()).collect();
                Format::Float(FloatFormat::of(ty, &values, signs))
            }
            _ => {
                let width = values.iter().map(|value| value.as_int().to_string().len()).max().unwrap_or(0);
                Format::Int { width }
            }
        }
    }

    fn text(&self, value: Scalar) -> String {
        match self {
            Format::Float(format) => format.text(value.as_f64()),
            Format::Int { width } => format!("{:>width$}", value.as_int()),
            Format::Bool { width } => format!("{:>width$}", if value.is_true() { "True" } else { "False" }),
        }
    }
}

fn is_float(ty: Ty) -> bool {
    match ty {
        Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 => true,
        Ty::Bool | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => false,
    }
}

/// Decimal digits that a type keeps, which is where scientific notation begins.
fn digits_of(ty: Ty) -> i32 {
    match ty {
        Ty::BF16 => 2,
        Ty::F16 => 3,
        Ty::F32 => 6,
        _ => 15,
    }
}

/// How floats look: all with an exponent or none, with points below each other.
struct FloatFormat {
    ty: Ty,
    /// Is a `+` written?
    signs: bool,
    scientific: bool,
    /// Columns before the point, and behind it.
    left: usize,
    right: usize,
    /// Digits behind the point, of scientific ones.
    precision: usize,
    /// Digits of exponents.
    exponent: usize,
}

impl FloatFormat {
    fn of(ty: Ty, values: &[f64], signs: bool) -> FloatFormat {
        let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        let sizes = finite.iter().map(|value| value.abs()).filter(|&size| size != 0.0);
        let largest = sizes.clone().fold(f64::NEG_INFINITY, f64::max);
        let smallest = sizes.fold(f64::INFINITY, f64::min);
        let limit = 10f64.powi(digits_of(ty).min(PRECISION as i32));
        let scientific =
            largest >= limit || (largest > 0.0 && (smallest < 1e-4 || quotient(ty, largest, smallest) > 1000.0));
        let mut format = FloatFormat { ty, signs, scientific, left: 0, right: 0, precision: 0, exponent: 0 };
        let digits: Vec<(f64, Digits)> = finite.iter().map(|&value| (value, format.digits(value))).collect();
        for (value, digits) in &digits {
            let sign = format.sign(*value).len();
            if scientific {
                format.left = format.left.max(sign + 1);
                format.precision = format.precision.max(digits.digits.len() - 1);
                format.exponent = format.exponent.max(digits.exponent.unsigned_abs().to_string().len().max(2));
            } else {
                let (whole, fraction) = digits.positional();
                format.left = format.left.max(sign + whole.len());
                format.right = format.right.max(fraction.len());
            }
        }
        if scientific {
            format.right = format.exponent + 2 + format.precision;
        }
        for value in values.iter().filter(|value| !value.is_finite()) {
            let text = if value.is_nan() { "nan".len() } else { "inf".len() + usize::from(signs || *value < 0.0) };
            format.left = format.left.max(text.saturating_sub(format.right + 1));
        }
        format
    }

    fn sign(&self, value: f64) -> &'static str {
        match (value.is_sign_negative() && !value.is_nan(), self.signs) {
            (true, _) => "-",
            (false, true) => "+",
            (false, false) => "",
        }
    }

    /// The digits that are shown.
    fn digits(&self, value: f64) -> Digits {
        let shortest = Digits::shortest(self.ty, value.abs());
        let behind = shortest.digits.len() as i32 - 1 - if self.scientific { 0 } else { shortest.exponent };
        if behind <= PRECISION as i32 {
            return shortest;
        }
        // Rust rounds what is cut off as NumPy does: by the value itself, halves to even digits.
        let text = match self.scientific {
            true => format!("{:.PRECISION$e}", value.abs()),
            false => format!("{:.PRECISION$}", value.abs()),
        };
        Digits::of(&text)
    }

    fn text(&self, value: f64) -> String {
        let sign = self.sign(value);
        if !value.is_finite() {
            let name = if value.is_nan() { "nan" } else { "inf" };
            let width = self.left + self.right + 1;
            return format!("{:>width$}", format!("{sign}{name}"));
        }
        let digits = self.digits(value);
        let (left, right) = (self.left, self.right);
        if !self.scientific {
            let (whole, fraction) = digits.positional();
            return format!("{:>left$}.{fraction:<right$}", format!("{sign}{whole}"));
        }
        let (precision, exponent) = (self.precision, self.exponent);
        // Others need more digits; those that follow are its own, and not zeros.
        let is_short = digits.digits.len() - 1 < precision;
        let digits = if is_short { Digits::of(&format!("{:.precision$e}", value.abs())) } else { digits };
        let (first, rest) = digits.digits.split_at(1);
        let minus = if digits.exponent < 0 { '-' } else { '+' };
        let size = digits.exponent.unsigned_abs();
        format!("{:>left$}.{rest:0<precision$}e{minus}{size:0>exponent$}", format!("{sign}{first}"))
    }
}

/// Divided as the type divides: what is too large for it is infinite.
fn quotient(ty: Ty, a: f64, b: f64) -> f64 {
    match ty {
        Ty::F16 => f16::from_f64(a / b).to_f64(),
        Ty::BF16 => bf16::from_f64(a / b).to_f64(),
        Ty::F32 => f64::from(a as f32 / b as f32),
        _ => a / b,
    }
}

/// A number that is not negative, in decimal: `d.ddd` times a power of ten, without zeros at the end.
struct Digits {
    /// At least one.
    digits: String,
    exponent: i32,
}

impl Digits {
    /// As few digits as tell the number from all others of its type.
    fn shortest(ty: Ty, value: f64) -> Digits {
        let few = |is_same: &dyn Fn(f64) -> bool| {
            let texts = (0..=PRECISION).map(|precision| format!("{value:.precision$e}"));
            let mut same = texts.filter(|text| text.parse().is_ok_and(is_same));
            Digits::of(&same.next().unwrap_or_else(|| format!("{value:e}")))
        };
        match ty {
            Ty::F16 => few(&|other| f16::from_f64(other).to_f64() == value),
            Ty::BF16 => few(&|other| bf16::from_f64(other).to_f64() == value),
            Ty::F32 => Digits::of(&format!("{:e}", value as f32)),
            _ => Digits::of(&format!("{value:e}")),
        }
    }

    /// From a text of Rust's, with or without exponent.
    fn of(text: &str) -> Digits {
        let (number, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let all = format!("{whole}{fraction}");
        let zeros = all.len() - all.trim_start_matches('0').len();
        let digits = all.trim_start_matches('0').trim_end_matches('0');
        if digits.is_empty() {
            return Digits { digits: "0".to_string(), exponent: 0 };
        }
        let exponent = exponent.parse::<i32>().unwrap_or(0) + whole.len() as i32 - 1 - zeros as i32;
        Digits { digits: digits.to_string(), exponent }
    }

    /// What stands before the point, and behind it.
    fn positional(&self) -> (String, String) {
        let digits = &self.digits;
        if self.exponent < 0 {
            let zeros = "0".repeat(self.exponent.unsigned_abs() as usize - 1);
            return ("0".to_string(), if digits == "0" { String::new() } else { format!("{zeros}{digits}") });
        }
        let whole = self.exponent as usize + 1;
        if digits.len() <= whole {
            let mut whole_digits = digits.clone();
            whole_digits += &"0".repeat(whole - digits.len());
            return (whole_digits, String::new());
        }
        (digits[..whole].to_string(), digits[whole..].to_string())
    }
}

/// A float that stands alone: all of its digits, and an exponent where it is very large or small.
fn scalar_text(ty: Ty, value: f64, zeros: &str) -> String {
    if !value.is_finite() {
        return if value.is_nan() {
            "nan"
        } else if value < 0.0 {
            "-inf"
        } else {
            "inf"
        }
        .to_string();
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let digits = Digits::shortest(ty, value.abs());
    if value == 0.0 || (1e-4..1e16).contains(&value.abs()) {
        let (whole, fraction) = digits.positional();
        let end = if fraction.is_empty() { zeros.to_string() } else { format!(".{fraction}") };
        return format!("{sign}{whole}{end}");
    }
    let (first, rest) = digits.digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let minus = if digits.exponent < 0 { '-' } else { '+' };
    format!("{sign}{first}{point}{rest}e{minus}{:02}", digits.exponent.unsigned_abs())
}
