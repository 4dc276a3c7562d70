//! Expressions, by precedence: `||`, `&&`, comparisons, `|`, `^`, `&`, shifts, sums, products, `as`, signs, calls.

use super::{Parsed, Parser};
use crate::diagnostic::Diagnostic;
use crate::lex::Kind;
use crate::span::Span;
use crate::syntax::{BinaryOp, Block, Expr, ExprKind, Forbidden, Name, TypeExpr, UnaryOp};
use slyz_sir::ops::Operator;

/// What stands between two operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Infix {
    Operator(BinaryOp),
    /// `*+`
    Fma,
    /// `as`
    Cast,
}

const COMPARISON: u8 = 3;
const SUM: u8 = 8;
const PRODUCT: u8 = 9;
const CAST: u8 = 10;

/// How tight an operator binds; tighter is more.
fn infix(kind: &Kind) -> Option<(Infix, u8)> {
    let (operator, power) = match kind {
        Kind::Word("as") => return Some((Infix::Cast, CAST)),
        Kind::Mark(mark) => match *mark {
            "*+" => return Some((Infix::Fma, PRODUCT)),
            "||" => return Some((Infix::Operator(BinaryOp::OrElse), 1)),
            "&&" => return Some((Infix::Operator(BinaryOp::AndThen), 2)),
            "<" => (Operator::Lt, COMPARISON),
            "<=" => (Operator::Le, COMPARISON),
            ">" => (Operator::Gt, COMPARISON),
            ">=" => (Operator::Ge, COMPARISON),
            "==" => (Operator::Eq, COMPARISON),
            "!=" => (Operator::Ne, COMPARISON),
            "|" => (Operator::Or, 4),
            "^" => (Operator::Xor, 5),
            "&" => (Operator::And, 6),
            "<<" => (Operator::Shl, 7),
            ">>" => (Operator::Shr, 7),
            "+" => (Operator::Add, SUM),
            "-" => (Operator::Sub, SUM),
            "*" => (Operator::Mul, PRODUCT),
            "/" => (Operator::Div, PRODUCT),
            "%" => (Operator::Rem, PRODUCT),
            _ => return None,
        },
        Kind::Word(_) | Kind::Int(..) | Kind::Float(..) | Kind::Text(_) | Kind::Wrong | Kind::End => return None,
    };
    Some((Infix::Operator(BinaryOp::Table(operator)), power))
}

/// Macros and functions that end a program, or take memory.
fn forbidden_call(name: &str) -> Option<Forbidden> {
    match name {
        "panic" | "assert" | "assert_eq" | "assert_ne" | "debug_assert" | "unreachable" | "todo" | "unimplemented" => {
            Some(Forbidden::Panic)
        }
        "vec" | "format" | "string" => Some(Forbidden::Heap),
        _ => None,
    }
}

impl<'t> Parser<'t> {
    /// An expression.
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.binary(0)
    }

    /// An expression without comparisons and shifts.
    pub(super) fn sum(&mut self) -> Parsed<Expr> {
        self.binary(SUM)
    }

    /// The operator at the token, if it goes on with the expression; see **Lines** in `parse`.
    fn operator(&self) -> Option<(Infix, u8)> {
        let found = infix(self.kind())?;
        if !self.same_line() && self.at("-") { None } else { Some(found) }
    }

    /// An expression of operators that bind at least that tight.
    fn binary(&mut self, least: u8) -> Parsed<Expr> {
        self.deeper(|p| {
            let mut left = p.unary()?;
            while let Some((infix, power)) = p.operator().filter(|(_, power)| *power >= least) {
                let at = p.bump();
                left = match infix {
                    Infix::Cast => {
                        let ty = p.type_expr()?;
                        Expr { span: left.span.to(ty.span), kind: ExprKind::Cast(left.into(), ty) }
                    }
                    Infix::Fma => p.fma(left)?,
                    Infix::Operator(operator) => {
                        p.increment(at)?;
                        let right = p.binary(power + 1)?;
                        let span = left.span.to(right.span);
                        Expr { kind: ExprKind::Binary(operator, at, left.into(), right.into()), span }
                    }
                };
                p.taller()?;
                if power == COMPARISON {
                    p.one_comparison(at)?;
                }
            }
            Ok(left)
        })
    }

    /// `i++` of other languages.
    fn increment(&mut self, at: Span) -> Parsed<()> {
        let text = &self.text[at.start as usize..at.end as usize];
        let twice = matches!(text, "+" | "-") && self.at(text) && self.span().start == at.end;
        let nothing_behind =
            self.ahead(1).line_before || matches!(self.ahead(1).kind, Kind::End | Kind::Mark(";" | "}" | ")"));
        if twice && nothing_behind {
            let help = format!("write `{text}= 1`");
            return Err(self.error("syntax", format!("`{text}{text}` is not part of the language"), help));
        }
        Ok(())
    }

    /// `a < b < c` means nothing.
    fn one_comparison(&mut self, first: Span) -> Parsed<()> {
        if self.operator().is_none_or(|(_, power)| power != COMPARISON) {
            return Ok(());
        }
        let error = Diagnostic::error("comparison-chain", self.span(), "comparisons do not chain")
            .related(first, "the first comparison")
            .help("write `a < b && b < c`; brackets around a comparison make it an operand");
        Err(self.report(error))
    }

    /// Behind `a *+`: `b + c`, or `b - c`.
    fn fma(&mut self, a: Expr) -> Parsed<Expr> {
        let b = self.binary(CAST)?;
        let negative = match self.operator() {
            Some((Infix::Operator(BinaryOp::Table(Operator::Add)), _)) => false,
            Some((Infix::Operator(BinaryOp::Table(Operator::Sub)), _)) => true,
            Some((_, PRODUCT)) => {
                let help = "put the factor in brackets: `a *+ (b * c) + d`";
                return Err(self.error("fma", "a factor of `*+` that is a product", help));
            }
            _ => {
                let help = "`a *+ b + c` rounds once; for a plain product write `a * b`";
                return Err(self.error("fma", "`*+` wants a sum: `a *+ b + c`", help));
            }
        };
        let minus = self.bump();
        let c = self.binary(PRODUCT)?;
        let span = a.span.to(c.span);
        let c = match negative {
            true => Expr { span: minus.to(c.span), kind: ExprKind::Unary(UnaryOp::Neg, c.into()) },
            false => c,
        };
        Ok(Expr { kind: ExprKind::Fma(a.into(), b.into(), c.into()), span })
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let Kind::Mark(mark @ ("-" | "!" | "&" | "+" | "*")) = *self.kind() else { return self.postfix() };
        match mark {
            "+" => return Err(self.error("syntax", "expected a value, found `+`", "a number needs no `+` in front")),
            "*" => {
                return Err(self.error(
                    "syntax",
                    "expected a value, found `*`",
                    "there are no pointers; leave the `*` out",
                ));
            }
            _ => {}
        }
        self.bump();
        let mutable = mark == "&" && (self.eat("!") || self.eat_word("mut"));
        let inner = Box::new(self.deeper(Self::unary)?);
        let kind = match mark {
            "-" => ExprKind::Unary(UnaryOp::Neg, inner),
            "!" => ExprKind::Unary(UnaryOp::Not, inner),
            _ => ExprKind::Borrow(mutable, inner),
        };
        Ok(Expr { kind, span: self.since(start) })
    }

    /// A value and what is stuck to its end.
    fn postfix(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let mut expr = self.primary()?;
        loop {
            let kind = match *self.kind() {
                Kind::Mark(".") => self.member(expr)?,
                Kind::Mark("[") if self.same_line() => {
                    let index = self.list("]", "the index", Self::expr)?;
                    if index.is_empty() {
                        self.at -= 1;
                        return Err(self.expected("an index"));
                    }
                    ExprKind::Index(expr.into(), index)
                }
                Kind::Mark("(") if self.same_line() => {
                    return Err(self.error("syntax", "only names can be called", "write the name of a function"));
                }
                Kind::Mark("?") if self.same_line() => self.question()?,
                _ => return Ok(expr),
            };
            self.taller()?;
            expr = Expr { kind, span: self.since(start) };
        }
    }

    /// `.name`, `.name(..)`, `.name<T>(..)`.
    fn member(&mut self, receiver: Expr) -> Parsed<ExprKind> {
        self.bump();
        if matches!(self.kind(), Kind::Int(..) | Kind::Float(..)) {
            return Err(self.error("syntax", "values have no numbered fields", "read an element with `[i]`"));
        }
        let Kind::Word(word) = *self.kind() else {
            return Err(self.expected("a name behind the `.`"));
        };
        let name = Name { text: word.to_string(), span: self.bump() };
        if word == "await" {
            return Ok(ExprKind::Foreign { what: Forbidden::Await, text: ".await".to_string() });
        }
        match self.arguments()? {
            Some((ty, args)) => Ok(ExprKind::Method { receiver: receiver.into(), name, ty, args }),
            None => Ok(ExprKind::Field(receiver.into(), name)),
        }
    }

    /// `(..)` or `<T>(..)` behind a name.
    fn arguments(&mut self) -> Parsed<Option<(Option<TypeExpr>, Vec<Expr>)>> {
        if !self.same_line() {
            return Ok(None);
        }
        let ty = if self.at_type_argument() { Some(self.type_argument()?) } else { None };
        if !self.at("(") {
            return Ok(None);
        }
        Ok(Some((ty, self.list(")", "the argument", Self::expr)?)))
    }

    /// `x?` of Rust, or `c ? a : b` of C.
    fn question(&mut self) -> Parsed<ExprKind> {
        let next = self.ahead(1);
        let choice = !next.line_before
            && matches!(next.kind, Kind::Word(_) | Kind::Int(..) | Kind::Float(..) | Kind::Mark("(" | "-"));
        if choice {
            return Err(self.error("syntax", "`?` chooses nothing here", "write `if c { a } else { b }`"));
        }
        self.bump();
        Ok(ExprKind::Foreign { what: Forbidden::Unsupported, text: "?".to_string() })
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let kind = match self.kind().clone() {
            Kind::Int(value, ty) => ExprKind::Int(value, ty),
            Kind::Float(digits, ty) => ExprKind::Float(digits, ty),
            Kind::Text(text) => ExprKind::Text(text),
            Kind::Wrong => ExprKind::Wrong,
            Kind::Word(word) => return self.word(word),
            Kind::Mark("(") => return self.round(),
            Kind::Mark("[") => return self.square(),
            Kind::Mark("|" | "||") => return self.closure(),
            Kind::Mark(".") if matches!(self.ahead(1).kind, Kind::Int(..)) => {
                return Err(self.error("number", "a number begins with a digit", "write `0.5` instead of `.5`"));
            }
            Kind::Mark(_) | Kind::End => return Err(self.expected("a value")),
        };
        self.bump();
        Ok(Expr { kind, span: start })
    }

    /// What begins with a word.
    fn word(&mut self, word: &'t str) -> Parsed<Expr> {
        let start = self.span();
        if let Some(foreign) = self.foreign_word(word)? {
            return Ok(foreign);
        }
        match word {
            "true" | "false" => {
                self.bump();
                return Ok(Expr { kind: ExprKind::Bool(word == "true"), span: start });
            }
            "if" => return self.if_expr(),
            "launch" => return self.launch(),
            _ if super::RESERVED.contains(&word) => return Err(self.expected("a value")),
            _ => {}
        }
        self.bump();
        if self.at("::") {
            let help = format!("write `.` as in `{word}.name`");
            return Err(self.error("syntax", "there are no paths in this language", help));
        }
        let bang =
            self.at("!") && self.span().start == start.end && matches!(self.ahead(1).kind, Kind::Mark("(" | "[" | "{"));
        if bang {
            return self.macro_call(word, start);
        }
        let kind = match self.arguments()? {
            Some(_) if forbidden_call(word).is_some() => {
                let what = forbidden_call(word).unwrap_or(Forbidden::Unsupported);
                ExprKind::Foreign { what, text: word.to_string() }
            }
            Some((ty, args)) => ExprKind::Call { function: Name { text: word.to_string(), span: start }, ty, args },
            None => ExprKind::Name(word.to_string()),
        };
        Ok(Expr { kind, span: self.since(start) })
    }

    /// `name!(..)`: read past.
    fn macro_call(&mut self, word: &str, start: Span) -> Parsed<Expr> {
        self.bump();
        self.skip_group();
        let what = forbidden_call(word).unwrap_or(Forbidden::Unsupported);
        Ok(Expr { kind: ExprKind::Foreign { what, text: format!("{word}!") }, span: self.since(start) })
    }

    /// Goes past what the opening mark at the token opens.
    fn skip_group(&mut self) {
        let mut open = 0usize;
        while !self.at_end() {
            match self.kind() {
                Kind::Mark("(" | "[" | "{") => open += 1,
                Kind::Mark(")" | "]" | "}") => open = open.saturating_sub(1),
                _ => {}
            }
            self.bump();
            if open == 0 {
                return;
            }
        }
    }

    /// `go`, `await` and others, where they are not plain names: an operand stands right behind them.
    fn foreign_word(&mut self, word: &'t str) -> Parsed<Option<Expr>> {
        let start = self.span();
        let next = self.ahead(1);
        let block = matches!(next.kind, Kind::Mark("{"));
        let operand = match next.kind {
            _ if next.line_before => false,
            Kind::Word(next) => !matches!(next, "as" | "step" | "with" | "in"),
            Kind::Text(_) | Kind::Int(..) | Kind::Float(..) => true,
            Kind::Mark(_) | Kind::Wrong | Kind::End => false,
        };
        let what = match word {
            "go" if block || operand => Forbidden::Go,
            "await" if operand => Forbidden::Await,
            "async" if block || operand => Forbidden::Await,
            "throw" if operand => Forbidden::Panic,
            "new" if operand => Forbidden::Heap,
            "unsafe" | "try" if block => Forbidden::Unsupported,
            "match" | "switch" if operand => Forbidden::Unsupported,
            _ => return Ok(None),
        };
        self.bump();
        match word {
            "match" | "switch" => {
                self.expr()?;
                if self.at("{") {
                    self.skip_group();
                }
            }
            _ if block => drop(self.block()?),
            _ => drop(self.expr()?),
        }
        Ok(Some(Expr { kind: ExprKind::Foreign { what, text: word.to_string() }, span: self.since(start) }))
    }

    /// `|x| ..`: read past.
    fn closure(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if !self.eat("||") {
            self.list("|", "the parameter", |p| {
                p.name("a parameter")?;
                if p.eat(":") { p.type_expr().map(drop) } else { Ok(()) }
            })?;
        }
        match self.at("{") {
            true => drop(self.block()?),
            false => drop(self.expr()?),
        }
        let kind = ExprKind::Foreign { what: Forbidden::Unsupported, text: "|..|".to_string() };
        Ok(Expr { kind, span: self.since(start) })
    }

    /// `(a)` or `(a, b)`.
    fn round(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let mut items = self.list(")", "the value", Self::expr)?;
        let comma = matches!(self.tokens[self.at - 2].kind, Kind::Mark(","));
        let span = self.since(start);
        match items.pop() {
            Some(only) if items.is_empty() && !comma => Ok(Expr { span, ..only }),
            last => {
                items.extend(last);
                Ok(Expr { kind: ExprKind::Tuple(items), span })
            }
        }
    }

    /// `[a, b]` or `[a; n]`.
    fn square(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let mut length = None;
        let mut items = self.list("]", "the element", |p| {
            let item = p.expr()?;
            if length.is_none() && p.eat(";") {
                length = Some(p.expr()?);
                if !p.at("]") {
                    return Err(p.unclosed(start, "]", "the length"));
                }
            }
            Ok(item)
        })?;
        let span = self.since(start);
        let kind = match (length, items.pop()) {
            (Some(length), Some(item)) if items.is_empty() => ExprKind::Repeat(item.into(), length.into()),
            (Some(length), _) => {
                let error = Diagnostic::error("syntax", length.span, "a length behind several elements");
                return Err(self.report(error.help("write `[x; n]` for n times the same, or all elements")));
            }
            (None, last) => {
                items.extend(last);
                ExprKind::Array(items)
            }
        };
        Ok(Expr { kind, span })
    }

    /// `if c { .. } else if d { .. } else { .. }`. `else` may begin a line.
    pub(super) fn if_expr(&mut self) -> Parsed<Expr> {
        self.deeper(|p| {
            let start = p.bump();
            let cond = Box::new(p.with_lines(true, Self::condition)?);
            let then = p.block()?;
            let mut otherwise = None;
            if p.eat_word("else") {
                otherwise = Some(match p.at_word("if") {
                    true => {
                        let next = p.if_expr()?;
                        Block { stmts: vec![], span: next.span, value: Some(next.into()) }
                    }
                    false => p.block()?,
                });
            }
            Ok(Expr { kind: ExprKind::If { cond, then, otherwise }, span: p.since(start) })
        })
    }
}
