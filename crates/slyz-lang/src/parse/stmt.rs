//! Statements and blocks.

use super::{Parsed, Parser, Reported};
use crate::diagnostic::Diagnostic;
use crate::lex::Kind;
use crate::span::Span;
use crate::syntax::{BinaryOp, Block, Expr, ExprKind, LaunchConfig, Pattern, Space, Stmt, StmtKind, UnaryOp};
use slyz_sir::ops::Operator;

/// Marks of assignments with an operator.
const COMPOUND: [(&str, Operator); 10] = [
    ("+=", Operator::Add),
    ("-=", Operator::Sub),
    ("*=", Operator::Mul),
    ("/=", Operator::Div),
    ("%=", Operator::Rem),
    ("&=", Operator::And),
    ("|=", Operator::Or),
    ("^=", Operator::Xor),
    ("<<=", Operator::Shl),
    (">>=", Operator::Shr),
];

/// How a statement ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// With a `;`.
    Semicolon,
    /// With the line or the block.
    Line,
}

impl<'t> Parser<'t> {
    /// `{ .. }`.
    pub(super) fn block(&mut self) -> Parsed<Block> {
        let open = self.expect("{", "and statements")?;
        self.deeper(|p| p.with_lines(true, |p| Ok(p.block_from(open))))
    }

    /// From behind the `{` to behind the `}`.
    fn block_from(&mut self, open: Span) -> Block {
        let mut stmts: Vec<Stmt> = vec![];
        let mut value = None;
        loop {
            while self.eat(";") {}
            if self.eat("}") {
                return Block { stmts, value, span: self.since(open) };
            }
            if self.at_end() || (self.at_function() && self.at_margin()) {
                return self.unclosed_block(open, stmts, value);
            }
            let start = self.at;
            let (stmt, ended) = self.stmt_or_wrong();
            match stmt {
                Stmt { kind: StmtKind::Expr(expr), .. } if ended == Ended::Line && self.at("}") => {
                    value = Some(Box::new(expr));
                }
                mut stmt => {
                    discard_in(&mut stmt);
                    self.dangling_minus(start, &stmt);
                    stmts.push(stmt);
                }
            }
        }
    }

    fn unclosed_block(&mut self, open: Span, stmts: Vec<Stmt>, value: Option<Box<Expr>>) -> Block {
        if self.unclosed_at.replace(self.at) != Some(self.at) {
            let error = Diagnostic::error("unclosed", open, "this `{` is never closed").help("write `}` where it ends");
            let error =
                if self.at_end() { error } else { error.related(self.span(), "a function begins before it is") };
            self.report(error);
        }
        Block { stmts, value, span: self.since(open) }
    }

    /// `- b` on a line of its own is a statement that does nothing: the line above was meant to go on.
    pub(super) fn dangling_minus(&mut self, start: usize, stmt: &Stmt) {
        let continued = start > 0
            && self.tokens[start].line_before
            && !matches!(self.tokens[start - 1].kind, Kind::Mark(";" | "{"));
        let useless = matches!(
            &stmt.kind,
            StmtKind::Expr(Expr { kind: ExprKind::Unary(UnaryOp::Neg, _) | ExprKind::Binary(..), .. })
        );
        if continued && useless && self.tokens[start].kind == Kind::Mark("-") {
            let error =
                Diagnostic::error("dangling-minus", self.tokens[start].span, "this `-` begins a statement of its own")
                    .help("to go on with the line above, end that line with the `-`");
            self.report(error);
        }
    }

    /// A statement, or `Wrong` and the place where the next one begins.
    fn stmt_or_wrong(&mut self) -> (Stmt, Ended) {
        let start = self.at;
        let span = self.span();
        self.stmt().unwrap_or_else(|Reported| {
            self.synchronise(start);
            (Stmt { kind: StmtKind::Wrong, span }, Ended::Line)
        })
    }

    /// A statement with its end.
    pub(super) fn stmt(&mut self) -> Parsed<(Stmt, Ended)> {
        let start = self.span();
        self.begun = self.at;
        let stmt = self.with_lines(true, |p| p.deeper(Self::stmt_kind))?;
        let span = self.since(start);
        let ended = self.end_of_statement(&stmt)?;
        Ok((Stmt { kind: stmt, span }, ended))
    }

    fn end_of_statement(&mut self, stmt: &StmtKind) -> Parsed<Ended> {
        if self.eat(";") {
            return Ok(Ended::Semicolon);
        }
        if self.at("}") || self.at_end() || self.token().line_before || ends_in_block(stmt) {
            return Ok(Ended::Line);
        }
        let call = matches!(stmt, StmtKind::Expr(Expr { kind: ExprKind::Call { .. }, .. }));
        let single = matches!(stmt, StmtKind::Expr(Expr { kind: ExprKind::Name(_), .. }));
        Err(match *self.kind() {
            Kind::Word("with") if call => {
                self.error("syntax", "`with` behind a plain call", "write `launch` in front of the function's name")
            }
            Kind::Mark("=") => {
                self.error("syntax", "only one `=` in a statement", "write two statements; `==` compares")
            }
            Kind::Mark(":") if single => self.error(
                "syntax",
                "expected the end of the statement, found `:`",
                "new names are declared with `let`",
            ),
            Kind::Word(_) | Kind::Int(..) | Kind::Float(..) | Kind::Text(_) => {
                let message = format!("expected the end of the statement, found {}", self.kind().describe());
                self.error("syntax", message, "put an operator between the two, or the second on a line of its own")
            }
            _ => self.expected("the end of the statement"),
        })
    }

    fn stmt_kind(&mut self) -> Parsed<StmtKind> {
        let next = self.ahead(1).kind.clone();
        let Kind::Word(word) = *self.kind() else { return self.plain() };
        match (word, next) {
            ("let", _) => self.let_stmt(Space::Thread),
            ("threadgroup", Kind::Word("let")) => {
                self.bump();
                self.let_stmt(Space::Threadgroup)
            }
            ("constant", Kind::Word("let")) => {
                self.bump();
                self.let_stmt(Space::Constant)
            }
            ("var" | "mut" | "const" | "static" | "auto", Kind::Word(_)) => {
                let message = format!("`{word}` declares nothing here");
                Err(self.error("syntax", message, "write `let x = ..`, or `let! x = ..` for what will change"))
            }
            ("for", _) => self.for_stmt(),
            ("while", _) => {
                self.bump();
                let cond = self.condition()?;
                Ok(StmtKind::While { cond, body: self.repeated()? })
            }
            ("loop", _) => {
                let cond = Expr { kind: ExprKind::Bool(true), span: self.bump() };
                Ok(StmtKind::While { cond, body: self.repeated()? })
            }
            ("break", _) => {
                self.bump();
                Ok(StmtKind::Break)
            }
            ("continue", _) => {
                self.bump();
                Ok(StmtKind::Continue)
            }
            ("return", _) => {
                self.bump();
                let bare = !self.same_line() || self.at(";") || self.at("}") || self.at_end();
                Ok(StmtKind::Return(if bare { None } else { Some(self.expr()?) }))
            }
            ("launch", _) => Ok(StmtKind::Expr(self.launch()?)),
            ("print", Kind::Mark("(")) => {
                self.bump();
                Ok(StmtKind::Print(self.list(")", "the argument", Self::expr)?))
            }
            ("if", _) => Ok(StmtKind::Expr(self.if_expr()?)),
            ("else", _) => {
                Err(self.error("syntax", "this `else` belongs to no `if`", "it stands behind the `}` of an `if`"))
            }
            ("fn" | "extern", _) | ("graph", Kind::Word("fn")) | ("as_written", Kind::Word("graph")) => {
                Ok(self.nested_function()?.kind)
            }
            _ => self.plain(),
        }
    }

    /// An expression or an assignment. Braces on their own are a block that is always entered.
    fn plain(&mut self) -> Parsed<StmtKind> {
        if self.at("{") {
            let span = self.span();
            let then = self.block()?;
            let cond = Box::new(Expr { kind: ExprKind::Bool(true), span });
            let kind = ExprKind::If { cond, then, otherwise: None };
            return Ok(StmtKind::Expr(Expr { kind, span: self.since(span) }));
        }
        let target = self.expr()?;
        if !self.same_line() {
            return Ok(StmtKind::Expr(target));
        }
        let operator = match *self.kind() {
            Kind::Mark("=") => None,
            Kind::Mark(mark) => match COMPOUND.iter().find(|(known, _)| *known == mark) {
                Some((_, operator)) => Some(BinaryOp::Table(*operator)),
                None => return Ok(StmtKind::Expr(target)),
            },
            _ => return Ok(StmtKind::Expr(target)),
        };
        self.bump();
        let value = self.expr()?;
        Ok(StmtKind::Assign { target, operator, value })
    }

    /// From `let` on. A wrong value or type does not make the name unknown.
    fn let_stmt(&mut self, space: Space) -> Parsed<StmtKind> {
        let start = self.at;
        self.bump();
        let mut mutable = self.eat("!");
        if self.at_word("mut") && matches!(self.ahead(1).kind, Kind::Word(_)) {
            self.error("syntax", "what will change is declared with `let!`", "write `let!` instead of `let mut`");
            self.bump();
            mutable = true;
        }
        if self.at("(") && space == Space::Thread {
            return self.tuple_let(mutable);
        }
        if self.at("(") || self.at("[") {
            return Err(self.error("syntax", "a `let` has one name", "write one `let` for each"));
        }
        let name = self.name("a value")?;
        let mut ty = None;
        if self.eat(":") {
            let Ok(found) = self.type_expr() else { return Ok(self.half_a_let(start, space, mutable, name)) };
            ty = Some(found);
        }
        let mut value = None;
        if self.same_line() && self.eat("=") {
            let Ok(found) = self.expr() else { return Ok(self.half_a_let(start, space, mutable, name)) };
            value = Some(found);
        }
        Ok(StmtKind::Let { space, mutable, name, ty, value })
    }

    /// `let (a, b): (f32, i64) = (x, y)`, from the names on.
    fn tuple_let(&mut self, mutable: bool) -> Parsed<StmtKind> {
        let pattern = self.pattern(mutable)?;
        let ty = if self.eat(":") { Some(self.type_expr()?) } else { None };
        if !self.same_line() || !self.at("=") {
            return Err(self.expected("`=` and a value for each name"));
        }
        self.bump();
        let value = match self.expr() {
            Ok(value) => value,
            // The names are known all the same.
            Err(Reported) => Expr { kind: ExprKind::Wrong, span: pattern.span() },
        };
        Ok(match pattern {
            Pattern::Name { name, mutable } => {
                StmtKind::Let { space: Space::Thread, mutable, name, ty, value: Some(value) }
            }
            Pattern::Ignored(_) | Pattern::Tuple(..) => StmtKind::LetTuple { pattern, ty, value },
        })
    }

    /// A name, `_`, or a tuple of them.
    fn pattern(&mut self, mutable: bool) -> Parsed<Pattern> {
        if self.at("(") {
            let start = self.span();
            let mut parts = self.list(")", "the name", |p| p.pattern(mutable))?;
            let comma = matches!(self.tokens[self.at - 2].kind, Kind::Mark(","));
            return Ok(match parts.pop() {
                Some(only) if parts.is_empty() && !comma => only,
                last => {
                    parts.extend(last);
                    Pattern::Tuple(parts, self.since(start))
                }
            });
        }
        if self.at_word("_") {
            return Ok(Pattern::Ignored(self.bump()));
        }
        if self.at_word("mut") && matches!(self.ahead(1).kind, Kind::Word(_)) {
            return Err(self.error("syntax", "what will change is declared with `let!`", "write `let! (a, b)`"));
        }
        Ok(Pattern::Name { name: self.name("a value")?, mutable })
    }

    fn half_a_let(&mut self, start: usize, space: Space, mutable: bool, name: crate::syntax::Name) -> StmtKind {
        self.synchronise(start);
        let value = Some(Expr { kind: ExprKind::Wrong, span: name.span });
        StmtKind::Let { space, mutable, name, ty: None, value }
    }

    /// The condition of `if` or `while`. If it is wrong, its block is read all the same.
    pub(super) fn condition(&mut self) -> Parsed<Expr> {
        let start = self.at;
        let span = self.span();
        let found = self.expr().and_then(|cond| {
            if self.at("=") {
                return Err(self.error("syntax", "`=` in a condition", "`==` compares"));
            }
            if self.at("{") { Ok(cond) } else { Err(self.expected("`{` behind the condition")) }
        });
        found.or_else(|Reported| self.skip_to_block(start).map(|()| Expr { kind: ExprKind::Wrong, span }))
    }

    /// Goes to the `{` on the line.
    fn skip_to_block(&mut self, start: usize) -> Parsed<()> {
        while !self.at("{") {
            if self.at_end() || self.at("}") || (self.token().line_before && self.at > start) {
                return Err(Reported);
            }
            self.bump();
        }
        Ok(())
    }

    /// The body of a loop.
    fn repeated(&mut self) -> Parsed<Block> {
        let mut body = self.block()?;
        discard_value(&mut body);
        Ok(body)
    }

    fn for_stmt(&mut self) -> Parsed<StmtKind> {
        let start = self.at;
        self.bump();
        if self.at("(") {
            return Err(self.error("syntax", "`for` counts through a range", "write `for i in 0..n { .. }`"));
        }
        let name = self.name("a counter")?;
        let header = self.range().and_then(|range| {
            if self.at("{") { Ok(range) } else { Err(self.expected("`step` or `{` behind the range")) }
        });
        let (lo, hi, inclusive, step) = header.or_else(|Reported| {
            self.skip_to_block(start)?;
            let wrong = Expr { kind: ExprKind::Wrong, span: name.span };
            Ok((wrong.clone(), wrong, false, None))
        })?;
        Ok(StmtKind::For { name, lo, hi, inclusive, step, body: self.repeated()? })
    }

    /// `in a..b`, `in a..=b step s`, `in (a..b).step_by(s)`.
    fn range(&mut self) -> Parsed<(Expr, Expr, bool, Option<Expr>)> {
        if !self.eat_word("in") {
            return Err(self.error("syntax", "expected `in` and a range behind the counter", "write `for i in 0..n`"));
        }
        if self.at_range_in_brackets() {
            let open = self.bump();
            let (lo, hi, inclusive) = self.with_lines(false, Self::bounds)?;
            if !self.eat(")") {
                return Err(self.unclosed(open, ")", "the range"));
            }
            let by = self.at(".") && matches!(self.ahead(1).kind, Kind::Word("step_by"));
            if !by {
                return Ok((lo, hi, inclusive, self.step()?));
            }
            self.bump();
            self.bump();
            let open = self.expect("(", "and the step")?;
            let step = self.with_lines(false, Self::expr)?;
            if !self.eat(")") {
                return Err(self.unclosed(open, ")", "the step"));
            }
            return Ok((lo, hi, inclusive, Some(step)));
        }
        let (lo, hi, inclusive) = self.bounds()?;
        Ok((lo, hi, inclusive, self.step()?))
    }

    fn step(&mut self) -> Parsed<Option<Expr>> {
        if self.eat_word("step") { Ok(Some(self.expr()?)) } else { Ok(None) }
    }

    fn bounds(&mut self) -> Parsed<(Expr, Expr, bool)> {
        let lo = self.expr()?;
        let inclusive = self.at("..=");
        if !inclusive && !self.at("..") {
            let help = "write `for i in 0..n`; over a tensor, `for i in 0..t.len()`";
            return Err(self.error("syntax", "`for` counts through a range", help));
        }
        self.bump();
        let hi = self.expr()?;
        Ok((lo, hi, inclusive))
    }

    /// Is there a `..` inside the round brackets that open here?
    fn at_range_in_brackets(&self) -> bool {
        let mut open = 0usize;
        for token in &self.tokens[self.at..] {
            match token.kind {
                Kind::Mark("(" | "[") => open += 1,
                Kind::Mark(")" | "]") => open = open.saturating_sub(1),
                Kind::Mark(".." | "..=") => return open == 1,
                Kind::Mark("{" | "}" | ";") => return false,
                _ => {}
            }
            if open == 0 {
                return false;
            }
        }
        false
    }

    /// `launch f(..) with threads: n`. `with` may begin the next line.
    pub(super) fn launch(&mut self) -> Parsed<Expr> {
        let start = self.span();
        self.bump();
        let function = self.name("a graph function")?;
        if !self.at("(") {
            return Err(self.expected(format!("`(` and the arguments of `{}`", function.text)));
        }
        let args = self.list(")", "the argument", Self::expr)?;
        let mut config = LaunchConfig::default();
        if self.eat_word("with") {
            loop {
                self.launch_part(&mut config)?;
                if !self.eat(",") {
                    break;
                }
            }
        }
        Ok(Expr { kind: ExprKind::Launch { function, args, config: config.into() }, span: self.since(start) })
    }

    /// `threads: n`, `grid: (x, y)` or `block: (x, y)`.
    fn launch_part(&mut self, config: &mut LaunchConfig) -> Parsed<()> {
        let what = "`threads:`, `grid:` or `block:`";
        let part = match *self.kind() {
            Kind::Word("threads") => &mut config.threads,
            Kind::Word("grid") => &mut config.grid,
            Kind::Word("block") => &mut config.block,
            _ => return Err(self.expected(what)),
        };
        if part.is_some() {
            let message = format!("{} is given twice", self.kind().describe());
            return Err(self.error("syntax", message, "keep one of them"));
        }
        self.bump();
        self.expect(":", "and how many")?;
        let start = self.span();
        let value = self.expr()?;
        let numbers = match value.kind {
            ExprKind::Tuple(numbers) => numbers,
            _ => vec![value],
        };
        if !(1..=3).contains(&numbers.len()) {
            let error =
                Diagnostic::error("syntax", self.since(start), "a launch has 1 to 3 axes").help("write `(x, y, z)`");
            return Err(self.report(error));
        }
        *part = Some(numbers);
        Ok(())
    }
}

/// Is the `}` of a block end enough?
fn ends_in_block(stmt: &StmtKind) -> bool {
    match stmt {
        StmtKind::For { .. } | StmtKind::While { .. } | StmtKind::Wrong => true,
        StmtKind::Expr(expr) => matches!(expr.kind, ExprKind::If { .. }),
        StmtKind::Let { .. }
        | StmtKind::LetTuple { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(_)
        | StmtKind::Print(_) => false,
    }
}

/// The block is no value: what its last line computes is computed for what it does. So the tree has values where somebody
/// looks at them only.
pub(super) fn discard_value(block: &mut Block) {
    let Some(value) = block.value.take() else { return };
    let span = value.span;
    let mut stmt = Stmt { kind: StmtKind::Expr(*value), span };
    discard_in(&mut stmt);
    block.stmts.push(stmt);
}

/// The same for the branches of a statement.
pub(super) fn discard_in(stmt: &mut Stmt) {
    if let StmtKind::Expr(expr) = &mut stmt.kind {
        discard_branches(expr);
    }
}

fn discard_branches(expr: &mut Expr) {
    let ExprKind::If { then, otherwise, .. } = &mut expr.kind else { return };
    discard_value(then);
    match otherwise {
        // `else if` stays the value of a block without braces.
        Some(Block { stmts, value: Some(next), span }) if stmts.is_empty() && *span == next.span => {
            discard_branches(next)
        }
        Some(block) => discard_value(block),
        None => {}
    }
}
