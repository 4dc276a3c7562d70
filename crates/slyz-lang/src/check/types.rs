//! Types as written: what they are, and what is wrong with them.

use super::body::{Body, ParamType, ResultType, Signature};
use super::settle::Why;
use super::{Dialect, rules, suggest};
use crate::diagnostic::Diagnostic;
use crate::syntax::{Expr, ExprKind, Function, Name, TypeExpr, TypeKind};
use slyz_sir::types::{Scalar, Ty};

/// The most elements of an array, so that sizes in bytes fit every number they go through.
const MOST_ELEMENTS: u64 = 1 << 32;

/// Reads the signature of a function.
pub(super) fn signature(function: &Function, dialect: Dialect, say: &mut dyn FnMut(Diagnostic)) -> Signature {
    let mut params: Vec<(Name, ParamType)> = vec![];
    for param in &function.params {
        if let Some((first, _)) = params.iter().find(|p| p.0.text == param.name.text) {
            let message = format!("`{}` has two parameters called `{}`", function.name.text, param.name.text);
            let diagnostic = Diagnostic::error(rules::DUPLICATE, param.name.span, message);
            say(diagnostic.related(first.span, "the first one").help("give one of them another name"));
        }
        params.push((param.name.clone(), param_type(&param.ty, &param.name, dialect, say)));
    }
    let result = match &function.result {
        None => ResultType::None,
        Some(ty) => match &ty.kind {
            TypeKind::Scalar(ty) => ResultType::Scalar(*ty),
            TypeKind::Wrong => ResultType::Wrong,
            TypeKind::Tensor { .. } | TypeKind::Array { .. } | TypeKind::Tuple(_) => {
                let message = "functions of a kernel give one number or bool";
                let help = "take a mutable tensor as a parameter, and write the results to it";
                say(Diagnostic::error(rules::TENSOR_TYPE, ty.span, message).help(help));
                ResultType::Wrong
            }
            TypeKind::Other(name) => {
                say(unknown(name, ty));
                ResultType::Wrong
            }
        },
    };
    Signature { params, result }
}

fn param_type(ty: &TypeExpr, name: &Name, dialect: Dialect, say: &mut dyn FnMut(Diagnostic)) -> ParamType {
    match &ty.kind {
        TypeKind::Scalar(scalar) => {
            if ty.mutable {
                let message =
                    format!("`{}` is one value of this thread; writing to it would change nothing outside", name.text);
                let tensor = dialect.tensor(*scalar, None, true);
                let help = format!("take a `{tensor}` for results, or declare a variable inside");
                say(Diagnostic::error(rules::ARGUMENT, ty.span, message).help(help));
            }
            ParamType::Scalar(*scalar)
        }
        TypeKind::Tensor { elem, rank } => tensor_type(elem, rank.as_deref(), ty.mutable, say),
        TypeKind::Array { elem, .. } => {
            let scalar = if let TypeKind::Scalar(s) = elem.kind { s } else { Ty::F32 };
            let message = "parameters are numbers, bool and tensors";
            let help = format!("take a `{}`; an array can be passed for it", dialect.tensor(scalar, None, ty.mutable));
            say(Diagnostic::error(rules::ARGUMENT, ty.span, message).help(help));
            ParamType::Wrong
        }
        TypeKind::Tuple(_) => {
            let message = "parameters are numbers, bool and tensors";
            let help = "take a parameter for each part";
            say(Diagnostic::error(rules::ARGUMENT, ty.span, message).help(help));
            ParamType::Wrong
        }
        TypeKind::Other(name) => {
            say(unknown(name, ty));
            ParamType::Wrong
        }
        TypeKind::Wrong => ParamType::Wrong,
    }
}

fn tensor_type(elem: &TypeExpr, rank: Option<&Expr>, mutable: bool, say: &mut dyn FnMut(Diagnostic)) -> ParamType {
    let elem = match &elem.kind {
        TypeKind::Scalar(ty) => *ty,
        TypeKind::Wrong => return ParamType::Wrong,
        TypeKind::Tensor { .. } | TypeKind::Array { .. } => {
            let message = "the elements of a tensor are numbers or bool";
            let help = "give it more axes instead: `Tensor<f32, 2>`";
            say(Diagnostic::error(rules::TENSOR_TYPE, elem.span, message).help(help));
            return ParamType::Wrong;
        }
        TypeKind::Tuple(_) => {
            let message = "the elements of a tensor are numbers or bool";
            say(Diagnostic::error(rules::TENSOR_TYPE, elem.span, message).help("take a tensor for each part"));
            return ParamType::Wrong;
        }
        TypeKind::Other(name) => {
            say(unknown(name, elem));
            return ParamType::Wrong;
        }
    };
    let Some(rank) = rank else { return ParamType::Tensor { elem, rank: 1, flat: true, mutable } };
    match rank.kind {
        ExprKind::Int(rank @ 1..=4, _) => ParamType::Tensor { elem, rank: rank as usize, flat: false, mutable },
        ExprKind::Wrong => ParamType::Wrong,
        _ => {
            let message = "a tensor has one to four axes";
            let help = "write a number from 1 to 4, or leave it out for all elements in one row";
            say(Diagnostic::error(rules::TENSOR_TYPE, rank.span, message).help(help));
            ParamType::Wrong
        }
    }
}

/// A type nobody knows here, or one that needs a heap.
pub(super) fn unknown(name: &str, ty: &TypeExpr) -> Diagnostic {
    let head = name.split(['<', ' ']).next().unwrap_or(name).trim_start_matches('&');
    if ["String", "Box", "Vec", "str", "Rc", "Arc", "HashMap", "VecDeque", "Str"].contains(&head) {
        let message = format!("`{name}` lives on a heap, and kernels have none");
        let help = "use numbers, bool, tensors, and arrays of a fixed length";
        return Diagnostic::error(rules::HEAP, ty.span, message).help(help);
    }
    let diagnostic = Diagnostic::error(rules::TYPE, ty.span, format!("there is no type `{name}` in kernels"));
    let known = Ty::ALL.iter().map(|t| t.name()).chain(["Tensor"]);
    let same = match head {
        "usize" | "isize" | "int" | "long" | "uint" => Some("i64"),
        "float" => Some("f32"),
        "double" => Some("f64"),
        "half" => Some("f16"),
        "boolean" => Some("bool"),
        _ => suggest::nearest(head, known),
    };
    match (head, same) {
        ("usize" | "isize", _) => diagnostic.help("positions and lengths are `i64`"),
        (_, Some(same)) => diagnostic.help(format!("did you mean `{same}`?")),
        (_, None) => {
            diagnostic.help("there are i8 to i64, u8 to u64, f16, bf16, f32, f64, bool, `Tensor<T>` and `[T; N]`")
        }
    }
}

impl<'a> Body<'_, 'a> {
    /// A type that must be a number or bool.
    pub(super) fn scalar_type(&mut self, ty: &'a TypeExpr) -> Option<Ty> {
        match &ty.kind {
            TypeKind::Scalar(ty) => return Some(*ty),
            TypeKind::Wrong => {}
            TypeKind::Other(name) => self.say(unknown(name, ty)),
            TypeKind::Tuple(_) => {
                let message = "a tuple is not the type of one value";
                let help = "give each part a name: `let (a, b): (f32, i64) = ..`";
                self.say(Diagnostic::error(rules::TYPE, ty.span, message).help(help));
            }
            TypeKind::Tensor { .. } | TypeKind::Array { .. } => {
                let message = "values are converted to numbers and bool only";
                let help = "convert element by element";
                self.say(Diagnostic::error(rules::TYPE, ty.span, message).help(help));
            }
        }
        self.marks.broken = true;
        None
    }

    /// Element type and extents of an array type.
    pub(super) fn array_type(&mut self, ty: &'a TypeExpr) -> Option<(Ty, Vec<u64>)> {
        let mut shape = vec![];
        let mut inner = ty;
        while let TypeKind::Array { elem, len } = &inner.kind {
            shape.push(self.length(len)?);
            inner = elem;
        }
        let elem = self.scalar_type(inner)?;
        if shape.len() > 4 {
            let message = format!("this array has {} axes", shape.len());
            self.say(Diagnostic::error(rules::LENGTH, ty.span, message).help("arrays have up to 4 axes"));
            return None;
        }
        let fits = shape.iter().try_fold(1u64, |all, &n| all.checked_mul(n).filter(|&n| n <= MOST_ELEMENTS));
        if fits.is_none() {
            let message = "this array is larger than any memory";
            self.say(Diagnostic::error(rules::LENGTH, ty.span, message).help("make it shorter, or pass a tensor in"));
            return None;
        }
        Some((elem, shape))
    }

    /// The length of an array.
    pub(super) fn length(&mut self, len: &'a Expr) -> Option<u64> {
        let draft = self.infer(len);
        if draft.class == super::draft::Class::Wrong {
            return None;
        }
        let value = self.settle(draft, Ty::I64, Why::Length);
        let found = self.constant(&value).map(Scalar::as_int);
        match found {
            Some(n) if n >= 1 && n <= i128::from(MOST_ELEMENTS) => return Some(n as u64),
            Some(n) => {
                let message = format!("an array cannot have {n} elements");
                let help = "its length is a number from 1 on";
                self.say(Diagnostic::error(rules::LENGTH, len.span, message).help(help));
            }
            None => {
                let message = "the length of an array is known before the kernel runs";
                let help = format!("write a number, or a name declared as `{}`", self.dialect.constant("N", "i64"));
                self.say(Diagnostic::error(rules::LENGTH, len.span, message).help(help));
            }
        }
        None
    }
}
