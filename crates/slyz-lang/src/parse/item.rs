//! What stands at the top of a file: functions, foreign functions, statements of the host.

use super::{Parsed, Parser};
use crate::diagnostic::Diagnostic;
use crate::lex::Kind;
use crate::span::Span;
use crate::syntax::{Function, Item, Param, Role, Stmt, StmtKind, TypeExpr, TypeKind};

/// Items of other languages, which this one has not.
const FOREIGN_ITEMS: [&str; 14] = [
    "import",
    "use",
    "mod",
    "struct",
    "enum",
    "trait",
    "impl",
    "type",
    "class",
    "interface",
    "contract",
    "union",
    "package",
    "macro_rules",
];

impl<'t> Parser<'t> {
    /// All of the file.
    pub(super) fn items(&mut self) -> Vec<Item> {
        let mut items = vec![];
        while !self.at_end() {
            if self.eat(";") {
                continue;
            }
            let start = self.at;
            self.begun = start;
            match self.item() {
                Ok(found) => items.extend(found),
                Err(_) => self.synchronise(start),
            }
            items.append(&mut self.nested);
        }
        items
    }

    /// Does a function begin here?
    pub(super) fn at_function(&self) -> bool {
        let next = &self.ahead(1).kind;
        match self.kind() {
            Kind::Word("fn") => true,
            Kind::Word("graph") => matches!(next, Kind::Word("fn")),
            Kind::Word("as_written") => matches!(next, Kind::Word("graph")),
            Kind::Word("extern") => true,
            Kind::Word("pub" | "export" | "async" | "unsafe" | "inline") => {
                matches!(next, Kind::Word("fn" | "graph" | "extern"))
            }
            _ => false,
        }
    }

    fn item(&mut self) -> Parsed<Vec<Item>> {
        if self.at_function() {
            return self.function_item();
        }
        if self.at("}") {
            let reported =
                self.error("unclosed", "this `}` closes nothing", "remove it, or look for a missing `{` above");
            self.bump();
            return Err(reported);
        }
        if let Kind::Word(word) = *self.kind()
            && FOREIGN_ITEMS.contains(&word)
            && matches!(self.ahead(1).kind, Kind::Word(_) | Kind::Text(_) | Kind::Mark("{"))
            && !self.ahead(1).line_before
        {
            let help = "a file has `graph fn`, `fn`, `extern fn` and statements";
            return Err(self.error("unsupported-item", format!("`{word}` is not part of the language"), help));
        }
        let start = self.at;
        let (mut stmt, _) = self.stmt()?;
        super::stmt::discard_in(&mut stmt);
        self.dangling_minus(start, &stmt);
        Ok(vec![Item::Stmt(stmt)])
    }

    /// A function, or foreign ones.
    pub(super) fn function_item(&mut self) -> Parsed<Vec<Item>> {
        let start = self.span();
        while let Kind::Word(word @ ("pub" | "export" | "async" | "unsafe" | "inline")) = *self.kind() {
            let help = "leave it out: every function of a file is known in all of it";
            self.error("unsupported-item", format!("`{word}` is not part of the language"), help);
            self.bump();
        }
        if self.eat_word("extern") {
            return self.foreign();
        }
        let as_written = self.eat_word("as_written");
        let role = if self.eat_word("graph") { Role::Graph } else { Role::Plain };
        if !self.eat_word("fn") {
            return Err(self.expected("`fn`"));
        }
        let function = self.deeper(|p| p.function(role, start))?;
        Ok(vec![Item::Function(Function { as_written, ..function })])
    }

    fn function(&mut self, role: Role, start: Span) -> Parsed<Function> {
        let name = self.name("a function")?;
        if self.at("<") {
            let help = "write the types out, or a function for each of them";
            return Err(self.error("unsupported-item", "functions have no type parameters", help));
        }
        if !self.at("(") {
            return Err(self.expected("`(` and the parameters"));
        }
        let params = self.list(")", "the parameter", Self::param)?;
        let result = if self.eat(":") || self.eat("->") { Some(self.type_expr()?) } else { None };
        let span = self.since(start);
        if !self.at("{") {
            return Err(self.expected("`{` and the code of the function"));
        }
        let mut body = self.block()?;
        if result.is_none() {
            super::stmt::discard_value(&mut body);
        }
        Ok(Function { role, unchecked: false, as_written: false, name, params, result, body, span })
    }

    /// A parameter. One that is wrong costs only itself.
    fn param(&mut self) -> Parsed<Param> {
        let start = self.at;
        let name = self.name("a parameter")?;
        let typed = if self.at(":") {
            self.bump();
            self.type_expr()
        } else {
            let help = format!("write `{}: f32` or `{0}: Tensor<f32>`", name.text);
            let error =
                Diagnostic::error("parameter-type", name.span, format!("parameter `{}` has no type", name.text));
            Err(self.report(error.help(help)))
        };
        let ty = typed.unwrap_or_else(|_| {
            self.skip_parameter(start);
            TypeExpr { kind: TypeKind::Wrong, mutable: false, span: name.span }
        });
        Ok(Param { name, ty })
    }

    /// Goes to the `,` or `)` behind a parameter.
    fn skip_parameter(&mut self, start: usize) {
        let stop = self.at;
        self.at = start;
        let (mut open, mut angles) = (0usize, 0usize);
        while !self.at_end() && !self.at("{") && !self.at_function() {
            match self.kind() {
                Kind::Mark(")") if open == 0 && self.at >= stop => return,
                Kind::Mark(",") if open == 0 && angles == 0 && self.at >= stop => return,
                Kind::Mark("(" | "[") => open += 1,
                Kind::Mark(")" | "]") => open = open.saturating_sub(1),
                Kind::Mark("<") => angles += 1,
                Kind::Mark(">") => angles = angles.saturating_sub(1),
                _ => {}
            }
            self.bump();
        }
    }

    /// Behind `extern`: one function, or several in braces. Of each only the name is kept.
    fn foreign(&mut self) -> Parsed<Vec<Item>> {
        if let Kind::Text(_) = self.kind() {
            self.bump();
        }
        if !self.at("{") {
            return Ok(vec![self.foreign_function()?]);
        }
        let open = self.bump();
        self.with_lines(true, |p| {
            let mut items = vec![];
            while !p.eat("}") {
                if p.at_end() {
                    let error = Diagnostic::error("unclosed", open, "this `{` is never closed");
                    return Err(p.report(error.help("write `}` where the foreign functions end")));
                }
                if !p.eat(";") {
                    items.push(p.foreign_function()?);
                }
            }
            Ok(items)
        })
    }

    fn foreign_function(&mut self) -> Parsed<Item> {
        if !self.eat_word("fn") {
            return Err(self.expected("`fn` and the name of a foreign function"));
        }
        let name = self.name("a foreign function")?;
        if !self.at("(") {
            return Err(self.expected("`(` and the parameters"));
        }
        self.list(")", "the parameter", |p| {
            if matches!(p.kind(), Kind::Word(_)) && matches!(p.ahead(1).kind, Kind::Mark(":")) {
                p.bump();
                p.bump();
            }
            if p.at("...") {
                p.bump();
                return Ok(());
            }
            p.type_expr().map(drop)
        })?;
        if self.eat(":") || self.eat("->") {
            self.type_expr()?;
        }
        Ok(Item::Foreign(name))
    }

    /// A function where a statement is expected. At the margin a `}` is missing above; elsewhere it is meant so.
    pub(super) fn nested_function(&mut self) -> Parsed<Stmt> {
        let start = self.span();
        self.error("nested-function", "a function inside a function", "move it to the top of the file");
        let items = self.function_item()?;
        self.nested.extend(items);
        Ok(Stmt { kind: StmtKind::Wrong, span: self.since(start) })
    }
}
