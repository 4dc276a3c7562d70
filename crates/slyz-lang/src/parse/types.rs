//! Types: `f32`, `Tensor<f32, 2>!`, `[f32; 256]`, `&mut T`, and whatever else is written in the place of one.

use super::{Parsed, Parser};
use crate::lex::Kind;
use crate::syntax::{TypeExpr, TypeKind};
use slyz_sir::types::Ty;

impl<'t> Parser<'t> {
    /// A type.
    pub(super) fn type_expr(&mut self) -> Parsed<TypeExpr> {
        self.deeper(|p| {
            let start = p.span();
            if p.eat("&") {
                let mutable = p.eat("!") || p.eat_word("mut");
                let inner = p.type_expr()?;
                return Ok(TypeExpr { mutable: mutable || inner.mutable, span: p.since(start), ..inner });
            }
            let kind = p.type_kind()?;
            let mutable = p.same_line() && p.eat("!");
            Ok(TypeExpr { kind, mutable, span: p.since(start) })
        })
    }

    fn type_kind(&mut self) -> Parsed<TypeKind> {
        let start = self.span();
        match *self.kind() {
            Kind::Word("Tensor") => self.tensor(),
            Kind::Word(word) => {
                self.bump();
                if let Some(ty) = Ty::from_name(word) {
                    return Ok(TypeKind::Scalar(ty));
                }
                while self.eat("::") {
                    self.name("a type")?;
                }
                // `i as usize < n` is a comparison: types that take others begin with a capital.
                if self.at("<") && word.starts_with(char::is_uppercase) {
                    self.type_arguments()?;
                }
                Ok(TypeKind::Other(self.written(start)))
            }
            Kind::Mark("[") => self.array(),
            Kind::Mark("(") => {
                let parts = self.list(")", "the types", Self::type_expr)?;
                Ok(TypeKind::Tuple(parts))
            }
            _ => Err(self.expected("a type, such as `f32` or `Tensor<f32>`")),
        }
    }

    fn tensor(&mut self) -> Parsed<TypeKind> {
        let name = self.bump();
        if !self.at("<") {
            self.at -= 1;
            let help = "write `Tensor<f32>`, or `Tensor<f32, 2>` for one with two axes";
            let reported = self.error("element-type", "a tensor needs the type of its elements", help);
            self.at += 1;
            return Err(reported);
        }
        self.bump();
        self.with_lines(false, |p| {
            let elem = Box::new(p.type_expr()?);
            // Sums at most: a comparison or shift would take the closing `>`.
            let rank = if p.eat(",") && !p.at(">") { Some(Box::new(p.sum()?)) } else { None };
            p.close_angle(name.to(p.span()))?;
            Ok(TypeKind::Tensor { elem, rank })
        })
    }

    fn array(&mut self) -> Parsed<TypeKind> {
        let open = self.bump();
        self.with_lines(false, |p| {
            let elem = Box::new(p.type_expr()?);
            if !p.eat(";") {
                let help = "write `[f32; 256]`: the type of the elements, `;` and how many there are";
                return Err(p.error("array-type", "an array needs its length", help));
            }
            let len = Box::new(p.expr()?);
            if !p.eat("]") {
                return Err(p.unclosed(open, "]", "the length"));
            }
            Ok(TypeKind::Array { elem, len })
        })
    }

    /// `<A, B>` of a type that the language does not know; only read past.
    fn type_arguments(&mut self) -> Parsed<()> {
        let open = self.bump();
        self.with_lines(false, |p| {
            while !matches!(p.kind(), Kind::Mark(mark) if mark.starts_with('>')) {
                match p.kind() {
                    Kind::Int(..) => drop(p.bump()),
                    _ => drop(p.type_expr()?),
                }
                if !p.eat(",") {
                    break;
                }
            }
            p.close_angle(open)
        })
    }

    /// One type in angles, as in `zeros<f32>`.
    pub(super) fn type_argument(&mut self) -> Parsed<TypeExpr> {
        let open = self.bump();
        let ty = self.with_lines(false, Self::type_expr)?;
        self.close_angle(open)?;
        Ok(ty)
    }

    /// `>`, also as the first half of `>>` or `>=`.
    fn close_angle(&mut self, open: crate::span::Span) -> Parsed<()> {
        let rest = match *self.kind() {
            Kind::Mark(">") => {
                self.bump();
                return Ok(());
            }
            Kind::Mark(">>") => ">",
            Kind::Mark(">=") => "=",
            Kind::Mark(">>=") => ">=",
            _ => return Err(self.unclosed(open, ">", "the type")),
        };
        let token = &mut self.tokens[self.at];
        token.kind = Kind::Mark(rest);
        token.span.start += 1;
        token.line_before = false;
        Ok(())
    }

    /// Does a type in angles with a call behind it stand here, rather than a comparison? Two comparisons in a row are an
    /// error anyhow, so `a < b > (c)` can be taken for one.
    pub(super) fn at_type_argument(&self) -> bool {
        const FARTHEST: usize = 64;
        if !self.at("<") {
            return false;
        }
        let mut open = 0usize;
        for places in 0..FARTHEST {
            match &self.ahead(places).kind {
                Kind::Mark("<") => open += 1,
                Kind::Mark(">") if open == 1 => return matches!(self.ahead(places + 1).kind, Kind::Mark("(")),
                Kind::Mark(">") => open -= 1,
                Kind::Mark(">>") if open == 2 => return matches!(self.ahead(places + 1).kind, Kind::Mark("(")),
                Kind::Mark(">>") if open > 2 => open -= 2,
                Kind::Mark(",") if open == 1 => return false,
                Kind::Word(_) | Kind::Int(..) | Kind::Mark("[" | "]" | ";" | "," | "&" | "!" | "::") => {}
                _ => return false,
            }
        }
        false
    }

    /// The text from a place to the last token, on one line and not too long.
    pub(super) fn written(&self, start: crate::span::Span) -> String {
        let span = self.since(start);
        let text = self.text.get(span.start as usize..span.end as usize).unwrap_or("");
        let words: Vec<&str> = text.split_whitespace().collect();
        crate::lex::clipped(&words.join(" "))
    }
}
