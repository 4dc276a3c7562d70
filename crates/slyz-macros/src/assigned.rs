//! Which outer locals does a branch assign?
//!
//! A branch becomes an `Fn` closure; the locals found here are handed in and out. Only assignment is looked for:
//! any other mutation (`v.push(x)`, `&mut v`, `*r = x`) is then an error of rustc's, which is what we want.
//! The arguments of macros are not looked into, for the same reason.

use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};
use syn::{Arm, BinOp, Block, Expr, Ident, Pat};

/// The locals that `expr` assigns but does not declare, in alphabetical order.
pub fn in_expr(expr: &Expr) -> BTreeMap<String, Ident> {
    let mut search = Search::default();
    search.visit_expr(expr);
    search.found
}

/// The locals that `block` assigns but does not declare, in alphabetical order.
pub fn in_block(block: &Block) -> BTreeMap<String, Ident> {
    let mut search = Search::default();
    search.visit_block(block);
    search.found
}

/// Whether the operator assigns its left side.
fn assigns(op: &BinOp) -> bool {
    use BinOp::*;
    let arithmetic = matches!(op, AddAssign(_) | SubAssign(_) | MulAssign(_) | DivAssign(_) | RemAssign(_));
    let bits = matches!(op, BitXorAssign(_) | BitAndAssign(_) | BitOrAssign(_) | ShlAssign(_) | ShrAssign(_));
    arithmetic || bits
}

#[derive(Default)]
struct Search {
    /// The names declared inside, one set per open scope.
    scopes: Vec<BTreeSet<String>>,
    found: BTreeMap<String, Ident>,
}

impl Search {
    fn scoped(&mut self, inside: impl FnOnce(&mut Self)) {
        self.scopes.push(BTreeSet::new());
        inside(self);
        self.scopes.pop();
    }

    fn declare(&mut self, pat: &Pat) {
        struct Names<'a>(&'a mut BTreeSet<String>);
        impl Visit<'_> for Names<'_> {
            fn visit_pat_ident(&mut self, it: &syn::PatIdent) {
                self.0.insert(it.ident.to_string());
                visit::visit_pat_ident(self, it);
            }
        }
        if let Some(scope) = self.scopes.last_mut() {
            Names(scope).visit_pat(pat);
        }
    }

    /// Notes the locals on the left of an assignment.
    fn target(&mut self, expr: &Expr) {
        match expr {
            Expr::Path(it) => {
                let Some(ident) = it.path.get_ident() else { return };
                let name = ident.to_string();
                if !self.scopes.iter().any(|scope| scope.contains(&name)) {
                    self.found.entry(name).or_insert_with(|| ident.clone());
                }
            }
            Expr::Field(it) => self.target(&it.base),
            Expr::Index(it) => self.target(&it.expr),
            Expr::Paren(it) => self.target(&it.expr),
            Expr::Group(it) => self.target(&it.expr),
            Expr::Tuple(it) => it.elems.iter().for_each(|e| self.target(e)),
            Expr::Array(it) => it.elems.iter().for_each(|e| self.target(e)),
            Expr::Call(it) => it.args.iter().for_each(|e| self.target(e)),
            Expr::Struct(it) => it.fields.iter().for_each(|f| self.target(&f.expr)),
            _ => {}
        }
    }
}

impl Visit<'_> for Search {
    fn visit_block(&mut self, it: &Block) {
        self.scoped(|search| visit::visit_block(search, it));
    }

    fn visit_local(&mut self, it: &syn::Local) {
        if let Some(init) = &it.init {
            visit::visit_local_init(self, init);
        }
        self.declare(&it.pat);
    }

    fn visit_expr_let(&mut self, it: &syn::ExprLet) {
        self.visit_expr(&it.expr);
        self.declare(&it.pat);
    }

    // The names of `if let` and `while let` live in the body, not in the `else`.
    fn visit_expr_if(&mut self, it: &syn::ExprIf) {
        self.scoped(|search| {
            search.visit_expr(&it.cond);
            search.visit_block(&it.then_branch);
        });
        if let Some((_, other)) = &it.else_branch {
            self.visit_expr(other);
        }
    }

    fn visit_expr_while(&mut self, it: &syn::ExprWhile) {
        self.scoped(|search| visit::visit_expr_while(search, it));
    }

    fn visit_expr_closure(&mut self, it: &syn::ExprClosure) {
        self.scoped(|search| {
            it.inputs.iter().for_each(|pat| search.declare(pat));
            search.visit_expr(&it.body);
        });
    }

    fn visit_expr_for_loop(&mut self, it: &syn::ExprForLoop) {
        self.visit_expr(&it.expr);
        self.scoped(|search| {
            search.declare(&it.pat);
            search.visit_block(&it.body);
        });
    }

    fn visit_arm(&mut self, it: &Arm) {
        self.scoped(|search| {
            search.declare(&it.pat);
            visit::visit_arm(search, it);
        });
    }

    fn visit_expr_assign(&mut self, it: &syn::ExprAssign) {
        self.target(&it.left);
        visit::visit_expr_assign(self, it);
    }

    fn visit_expr_binary(&mut self, it: &syn::ExprBinary) {
        if assigns(&it.op) {
            self.target(&it.left);
        }
        visit::visit_expr_binary(self, it);
    }

    // Nested items have no access to our locals.
    fn visit_item(&mut self, _: &syn::Item) {}
}
