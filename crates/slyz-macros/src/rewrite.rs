//! The rewriting of a body, and the rejections.
//!
//! ```text
//! a < b              ::slyz::__private::Lt::lt(&(a), &(b))
//! a && b             ::slyz::__private::cond(a).and(|| b)
//! if c { a } else { b }
//!                    ::slyz::__private::cond(c).branch((), |()| ((), { a }), |()| ((), { b })).1
//! if c { y = a; }    { let (vars, value) = ::slyz::__private::cond(c).branch((y,), |(mut y,)| .., |(y,)| ..);
//!                      (y,) = vars; value }
//! while c { .. }     while ::slyz::__private::Host::host(c) { .. }
//! for p in e { .. }  for p in ::slyz::__private::HostIter::host_iter(e) { .. }
//! ```
//!
//! The rewriting knows no types: the same output serves a host `bool` (one branch runs) and a traced one (both are
//! traced). `!` needs no rewriting, because it can be overloaded. It does not look into the arguments of macros,
//! into nested items, types, or patterns: no traced value can be in the latter three.
//!
//! Note [Spans]: what may fail while tracing is reported with the line of its call, so the calls carry the span of
//! the user's token. Everything else carries the span of the macro, which keeps lints about it away from the user.

use crate::host::{has_let, host_attribute};
use crate::{assigned, returns};
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use std::collections::BTreeMap;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Block, Error, Expr, ExprIf, Ident, Label, Lifetime, Stmt, parse_quote, parse_quote_spanned};

/// The runtime's tuples have this many places; longer lists are nested.
pub const TUPLE: usize = 12;

/// Rewrites the body of a function. `inline`: the function stays an ordinary one, which `?` may leave.
pub fn body(block: &mut Block, inline: bool) -> Result<(), Error> {
    returns::to_values(block);
    let mut rewrite =
        Rewrite { errors: Vec::new(), depth: 0, undecided: false, targets: Vec::new(), question_mark: inline };
    rewrite.statements(block, true);
    match rewrite.errors.into_iter().reduce(|mut all, next| {
        all.combine(next);
        all
    }) {
        None => Ok(()),
        Some(errors) => Err(errors),
    }
}

/// Where a `break` or `continue` may go.
struct Target {
    label: Option<Ident>,
    /// A labelled block is left only by name.
    is_loop: bool,
    /// The number of branches around it.
    depth: usize,
}

struct Rewrite {
    errors: Vec<Error>,
    /// The number of branches around us, counted within the innermost closure.
    depth: usize,
    /// In a branch, with no host decision between: what stands here runs whatever the condition is.
    undecided: bool,
    targets: Vec<Target>,
    /// Whether `?` outside all branches has a host value to return.
    question_mark: bool,
}

impl Rewrite {
    fn reject(&mut self, span: Span, message: impl std::fmt::Display) {
        self.errors.push(Error::new(span, message));
    }

    fn in_branch(&mut self, inside: impl FnOnce(&mut Self)) {
        let undecided = std::mem::replace(&mut self.undecided, true);
        self.depth += 1;
        inside(self);
        self.depth -= 1;
        self.undecided = undecided;
    }

    fn decided(&mut self, inside: impl FnOnce(&mut Self)) {
        let undecided = std::mem::replace(&mut self.undecided, false);
        inside(self);
        self.undecided = undecided;
    }

    fn in_target(&mut self, label: Option<&Label>, is_loop: bool, block: &mut Block) {
        let label = label.map(|label| label.name.ident.clone());
        self.targets.push(Target { label, is_loop, depth: self.depth });
        self.visit_block_mut(block);
        self.targets.pop();
    }

    /// Visits a block. `tail`: it ends the function, so the locals it assigns are dead after it.
    fn statements(&mut self, block: &mut Block, tail: bool) {
        let count = block.stmts.len();
        for (at, stmt) in block.stmts.iter_mut().enumerate() {
            let last = at + 1 == count;
            match stmt {
                Stmt::Expr(expr, semi) => {
                    let is_if = matches!(expr, Expr::If(_));
                    self.expr(expr, tail && last);
                    // A rewritten `if` is no longer block-like: as a statement it needs its semicolon.
                    if is_if && !last && !matches!(expr, Expr::If(_)) {
                        semi.get_or_insert_default();
                    }
                }
                Stmt::Local(_) | Stmt::Item(_) | Stmt::Macro(_) => self.visit_stmt_mut(stmt),
            }
        }
    }

    fn expr(&mut self, expr: &mut Expr, tail: bool) {
        match expr {
            Expr::If(it) if host_attribute(it).is_some() => self.host_chain(it, tail),
            Expr::If(it) if has_let(&it.cond) => self.host_if(it, tail),
            Expr::If(it) => *expr = self.traced_if(it, tail),
            Expr::Block(it) if it.label.is_none() => self.statements(&mut it.block, tail),
            Expr::Block(it) => self.in_target(it.label.as_ref(), false, &mut it.block),
            Expr::Match(it) => {
                self.visit_expr_mut(&mut it.expr);
                for arm in &mut it.arms {
                    if let Some((_, guard)) = &mut arm.guard {
                        self.host_condition(guard);
                    }
                    self.decided(|rewrite| rewrite.expr(&mut arm.body, tail));
                }
            }
            _ => self.leaf(expr),
        }
    }

    fn leaf(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Binary(_) => self.binary(expr),
            Expr::Assign(it) if matches!(*it.left, Expr::Index(_)) => {
                visit_mut::visit_expr_assign_mut(self, it);
                let Expr::Index(place) = &*it.left else { return };
                let (array, index, value) = (&place.expr, &place.index, &it.right);
                let span = it.eq_token.span();
                // An array of the host, or one of the device: then it is another array from here on.
                *expr = parse_quote_spanned!(span=> ::slyz::__private::SetElement::set_element(&mut #array, #index, #value));
            }
            Expr::While(it) => {
                self.host_condition(&mut it.cond);
                self.in_target(it.label.as_ref(), true, &mut it.body);
            }
            Expr::Loop(it) => self.in_target(it.label.as_ref(), true, &mut it.body),
            Expr::ForLoop(it) => {
                self.visit_expr_mut(&mut it.expr);
                let items = &it.expr;
                it.expr = parse_quote_spanned!(items.span()=> ::slyz::__private::HostIter::host_iter(#items));
                self.in_target(it.label.as_ref(), true, &mut it.body);
            }
            Expr::Closure(it) => self.closure(it),
            Expr::Repeat(it) => self.visit_expr_mut(&mut it.expr), // the length is a constant
            Expr::Const(_) => {}
            Expr::Return(it) if self.depth > 0 => self.reject(it.return_token.span, RETURN),
            Expr::Break(it) if self.leaves_branch(it.label.as_ref()) => self.reject(it.break_token.span, BREAK),
            Expr::Continue(it) if self.leaves_branch(it.label.as_ref()) => {
                self.reject(it.continue_token.span, CONTINUE);
            }
            Expr::Try(it) if self.depth > 0 => self.reject(it.question_token.span, TRY_IN_BRANCH),
            Expr::Try(it) if !self.question_mark => self.reject(it.question_token.span, TRY),
            Expr::Await(it) => self.reject(it.await_token.span, "`.await` cannot be traced"),
            Expr::Async(it) => self.reject(it.async_token.span, "`async` cannot be traced"),
            Expr::Unsafe(it) => self.reject(it.unsafe_token.span, UNSAFE),
            _ => visit_mut::visit_expr_mut(self, expr),
        }
    }

    fn traced_if(&mut self, it: &mut ExprIf, tail: bool) -> Expr {
        let in_then = assigned::in_block(&it.then_branch);
        let in_else = it.else_branch.as_ref().map(|(_, other)| assigned::in_expr(other)).unwrap_or_default();
        let vars: BTreeMap<_, _> = in_then.iter().chain(&in_else).collect();
        if let Some(this) = vars.get(&"self".to_owned()) {
            self.reject(this.span(), SELF);
        }
        self.visit_expr_mut(&mut it.cond);
        let mut other = it.else_branch.take().map_or_else(|| parse_quote!({}), |(_, other)| *other);
        self.in_branch(|rewrite| {
            rewrite.statements(&mut it.then_branch, tail);
            rewrite.expr(&mut other, tail);
        });
        let (cond, then, span) = (&it.cond, &it.then_branch, it.if_token.span);
        if tail || vars.is_empty() {
            // After a tail `if` nobody reads the locals, so they need not come out: each branch has its own copies.
            let copies = |vars: &BTreeMap<String, Ident>, value: TokenStream| {
                let vars = vars.values();
                if vars.len() == 0 { value } else { quote!({ #(let mut #vars = #vars;)* #value }) }
            };
            let then = copies(&in_then, quote!(#then));
            let other = copies(&in_else, quote!(#other));
            let then = quote!(|()| ((), #then));
            let other = quote!(|()| ((), #other));
            return parse_quote_spanned!(span=> ::slyz::__private::cond(#cond).branch((), #then, #other).1);
        }
        let names = tuple(vars.values().map(|name| quote!(#name)).collect());
        let closure = |mine: &BTreeMap<String, Ident>, value: TokenStream| {
            let params = vars.iter().map(|(key, name)| match mine.contains_key(*key) {
                true => quote!(mut #name),
                false => quote!(#name),
            });
            let params = tuple(params.collect());
            quote!(|#params| { let __slyz_value = #value; (#names, __slyz_value) })
        };
        let then = closure(&in_then, quote!(#then));
        let other = closure(&in_else, quote!(#other));
        let branch = quote_spanned!(span=> ::slyz::__private::cond(#cond).branch(#names, #then, #other));
        parse_quote!({ let (__slyz_vars, __slyz_value) = #branch; #names = __slyz_vars; __slyz_value })
    }

    /// `#[host] if`: the attribute cannot be written on an `else if`, so it holds for the whole chain.
    fn host_chain(&mut self, it: &mut ExprIf, tail: bool) {
        if let Some(at) = host_attribute(it) {
            it.attrs.remove(at);
        }
        self.host_condition(&mut it.cond);
        self.decided(|rewrite| {
            rewrite.statements(&mut it.then_branch, tail);
            match it.else_branch.as_mut().map(|(_, other)| &mut **other) {
                Some(Expr::If(next)) => rewrite.host_chain(next, tail),
                Some(other) => rewrite.expr(other, tail),
                None => {}
            }
        });
    }

    /// `if let`: the host's, but an `else if` after it is an `if` like any other.
    fn host_if(&mut self, it: &mut ExprIf, tail: bool) {
        self.host_condition(&mut it.cond);
        self.decided(|rewrite| {
            rewrite.statements(&mut it.then_branch, tail);
            if let Some((_, other)) = &mut it.else_branch {
                rewrite.expr(other, tail);
                // Only a block or an `if` may follow `else`.
                if !matches!(**other, Expr::If(_) | Expr::Block(_)) {
                    **other = parse_quote!({ #other });
                }
            }
        });
    }

    fn host_condition(&mut self, cond: &mut Expr) {
        match cond {
            Expr::Let(it) => self.visit_expr_mut(&mut it.expr),
            Expr::Binary(it) if has_let(&it.left) || has_let(&it.right) => {
                self.host_condition(&mut it.left);
                self.host_condition(&mut it.right);
            }
            _ => {
                self.visit_expr_mut(cond);
                *cond = parse_quote_spanned!(cond.span()=> ::slyz::__private::Host::host(#cond));
            }
        }
    }

    fn binary(&mut self, expr: &mut Expr) {
        let Expr::Binary(it) = expr else { return };
        self.visit_expr_mut(&mut it.left);
        let span = it.op.span();
        if matches!(it.op, BinOp::And(_) | BinOp::Or(_)) {
            self.in_branch(|rewrite| rewrite.visit_expr_mut(&mut it.right));
            let (left, right) = (&it.left, &it.right);
            let right = quote!(|| #right);
            let method = Ident::new(if matches!(it.op, BinOp::And(_)) { "and" } else { "or" }, span);
            *expr = parse_quote_spanned!(span=> ::slyz::__private::cond(#left).#method(#right));
            return;
        }
        self.visit_expr_mut(&mut it.right);
        let (class, method) = match it.op {
            BinOp::Lt(_) => ("Lt", "lt"),
            BinOp::Le(_) => ("Le", "le"),
            BinOp::Gt(_) => ("Gt", "gt"),
            BinOp::Ge(_) => ("Ge", "ge"),
            BinOp::Eq(_) => ("Eq", "eq"),
            BinOp::Ne(_) => ("Ne", "ne"),
            _ => return,
        };
        let class = Ident::new(class, span);
        let method = Ident::new(method, span);
        let (left, right) = (&it.left, &it.right);
        *expr = parse_quote_spanned!(span=> ::slyz::__private::#class::#method(&(#left), &(#right)));
    }

    /// The body of a closure is the body of a function of its own.
    fn closure(&mut self, it: &mut syn::ExprClosure) {
        if let Some(token) = it.asyncness {
            return self.reject(token.span, "`async` cannot be traced");
        }
        returns::in_tail(&mut it.body);
        let depth = std::mem::take(&mut self.depth);
        let targets = std::mem::take(&mut self.targets);
        let question_mark = std::mem::replace(&mut self.question_mark, true);
        self.visit_expr_mut(&mut it.body);
        (self.depth, self.targets, self.question_mark) = (depth, targets, question_mark);
    }

    /// Whether a `break` or `continue` goes out of the branch we are in. One with no target is left to rustc.
    fn leaves_branch(&self, label: Option<&Lifetime>) -> bool {
        let target = self.targets.iter().rfind(|target| match label {
            Some(label) => target.label.as_ref() == Some(&label.ident),
            None => target.is_loop,
        });
        target.is_some_and(|target| target.depth < self.depth)
    }
}

impl VisitMut for Rewrite {
    fn visit_block_mut(&mut self, it: &mut Block) {
        self.statements(it, false);
    }

    fn visit_expr_mut(&mut self, it: &mut Expr) {
        self.expr(it, false);
    }

    fn visit_macro_mut(&mut self, it: &mut syn::Macro) {
        let Some(name) = it.path.segments.last().map(|segment| &segment.ident) else { return };
        if self.undecided && PANICS.iter().any(|panics| name == panics) {
            self.reject(
                name.span(),
                format_args!(
                    "`{name}!` cannot depend on an `if`: on a traced condition both branches are traced\n\
                     help: if the condition is a plain `bool`, write `#[host] if ..`\n\
                     help: a device function cannot fail; return a value that says so"
                ),
            );
        }
    }

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
    fn visit_type_mut(&mut self, _: &mut syn::Type) {}
    fn visit_path_mut(&mut self, _: &mut syn::Path) {}
    fn visit_angle_bracketed_generic_arguments_mut(&mut self, _: &mut syn::AngleBracketedGenericArguments) {}
    fn visit_pat_mut(&mut self, _: &mut syn::Pat) {}
}

/// One tuple of any number of things, also as a pattern.
fn tuple(items: Vec<TokenStream>) -> TokenStream {
    if items.len() <= TUPLE {
        return quote!((#(#items,)*));
    }
    tuple(items.chunks(TUPLE).map(|chunk| tuple(chunk.to_vec())).collect())
}

/// The macros that end the tracing.
const PANICS: [&str; 10] = [
    "panic",
    "todo",
    "unimplemented",
    "unreachable",
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
];

const RETURN: &str = "`return` cannot leave an `if` from here: on a traced condition both branches are traced\n\
    help: make it the last statement of a branch whose `if` ends the function, or of `if c { return x; }` before the \
    rest\n\
    help: if the condition is a plain `bool`, write `#[host] if ..`";

const BREAK: &str = "`break` cannot depend on an `if`: on a traced condition both branches are traced\n\
    help: use `repeat_while(init, |s| condition, |s| step)`\n\
    help: if the condition is a plain `bool`, write `#[host] if ..`";

const CONTINUE: &str = "`continue` cannot depend on an `if`: on a traced condition both branches are traced\n\
    help: turn the rest of the loop body into the other branch\n\
    help: if the condition is a plain `bool`, write `#[host] if ..`";

const TRY_IN_BRANCH: &str = "`?` cannot leave an `if`: on a traced condition both branches are traced\n\
    help: use `?` before the `if`\n\
    help: if the condition is a plain `bool`, write `#[host] if ..`";

const TRY: &str = "`?` cannot leave a traced function: it returns a traced value, not a `Result`\n\
    help: use `?` before the call, or make the function `#[function(inline)]`";

const UNSAFE: &str = "`unsafe` has no meaning in a traced function";

const SELF: &str = "`self` cannot be assigned in a branch: on a traced condition both branches are traced\n\
    help: assign a local in the branch, and `self` after the `if`\n\
    help: if the condition is a plain `bool`, write `#[host] if ..`";
