//! What is certain about the host's launches: that the function is there, can be launched, and gets as many arguments as it takes.
//!
//! Everything else of the host is checked by running it.

use super::body::ResultType;
use super::call::plural;
use super::visit::{Node, visit};
use super::{Names, rules, suggest};
use crate::diagnostic::Diagnostic;
use crate::syntax::{ExprKind, Item, Name, Role, StmtKind};

/// Looks at the launches of a host function or statement.
pub(super) fn look(item: &Item, names: &Names, say: &mut dyn FnMut(Diagnostic)) {
    let root = match item {
        Item::Function(function) => Node::Block(&function.body),
        Item::Stmt(stmt) => Node::Stmt(stmt),
        Item::Foreign(_) => return,
    };
    visit(root, &mut |node, _| {
        match node {
            Node::Stmt(stmt) => {
                if let StmtKind::Launch { function, args, .. } = &stmt.kind {
                    launch(function, args.len(), names, say);
                }
            }
            Node::Expr(expr) => {
                if let ExprKind::Call { function, args, .. } = &expr.kind
                    && names.by_name.get(&function.text[..]).is_some_and(|&k| names.functions[k].role == Role::Graph)
                {
                    launch(function, args.len(), names, say);
                }
            }
            Node::Block(_) | Node::Type(_) => {}
        }
        true
    });
}

fn launch(name: &Name, args: usize, names: &Names, say: &mut dyn FnMut(Diagnostic)) {
    let Some(&number) = names.by_name.get(&name.text[..]) else {
        let graphs = names.functions.iter().filter(|f| f.role == Role::Graph).map(|f| &f.name.text[..]);
        let help = match suggest::nearest(&name.text, graphs) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("write it: `graph fn {}(..)`", name.text),
        };
        say(Diagnostic::error(rules::FUNCTION, name.span, format!("there is no function `{}`", name.text)).help(help));
        return;
    };
    let (function, signature) = (names.functions[number], &names.signatures[number]);
    let why = match (function.role, signature.result) {
        (Role::Plain, _) => Some(("it is a plain function", "declare it as `graph fn`, or call it without `launch`")),
        (Role::Graph, ResultType::Scalar(_)) => {
            Some(("it has a result", "write the result to a mutable tensor; only other kernels can call it as it is"))
        }
        (Role::Graph, ResultType::None | ResultType::Wrong) => None,
    };
    if let Some((why, help)) = why {
        let message = format!("`{}` cannot be launched: {why}", name.text);
        let diagnostic =
            Diagnostic::error(rules::LAUNCH, name.span, message).related(function.name.span, "declared here");
        say(diagnostic.help(help));
        return;
    }
    if args != signature.params.len() {
        let wanted = plural(signature.params.len(), "argument");
        let message = format!("`{}` takes {wanted}, found {args}", name.text);
        let list: Vec<&str> = signature.params.iter().map(|p| &p.0.text[..]).collect();
        let diagnostic =
            Diagnostic::error(rules::COUNT, name.span, message).related(function.name.span, "declared here");
        say(diagnostic.help(format!("pass ({})", list.join(", "))));
    }
}
