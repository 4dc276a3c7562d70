//! Which functions a kernel is made of, and in which order they are checked: callees first.
//!
//! Finds recursion on the way. Also settles what `thread` means in each: a kernel that reads `block`, itself or in something it calls,
//! sees the index inside its block. A function that two kernels call with different meanings is checked, and kept, twice.

use super::rules;
use super::visit::{Node, visit};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::{ExprKind, Function, Role};
use std::collections::{HashMap, HashSet};

/// The most levels of blocks and expressions inside each other, those of called functions included.
const MAX_DEPTH: usize = 512;
/// The same for what is read by recursion, in one function.
const MAX_NESTED: usize = 256;

/// A function with a meaning of `thread`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Instance {
    /// Among the functions of the file.
    pub function: usize,
    /// `thread` is the index inside the block.
    pub inside_block: bool,
}

/// What is found.
#[derive(Default)]
pub(super) struct Reached {
    /// Callees before callers.
    pub instances: Vec<Instance>,
    /// Instances that are what a launch of their function runs.
    pub own: HashSet<Instance>,
    /// Does a function read `thread`, itself or in what it calls? Otherwise both meanings are one.
    pub reads_thread: Vec<bool>,
    /// Calls that close a circle.
    pub recursive: HashSet<Span>,
    /// Functions that nest too deep to be looked at.
    pub too_deep: HashMap<usize, Span>,
    pub diagnostics: Vec<Diagnostic>,
}

#[derive(Default)]
struct Seen {
    /// Which function, where, and how deep inside.
    calls: Vec<(usize, Span, usize)>,
    depth: usize,
    thread: bool,
    block: bool,
}

impl Reached {
    /// The instance of a function that is called where `thread` has that meaning.
    pub(super) fn instance(&self, function: usize, inside_block: bool) -> Instance {
        Instance { function, inside_block: inside_block && self.reads_thread[function] }
    }
}

/// From all graph functions of a file.
pub(super) fn reach(functions: &[&Function], by_name: &HashMap<&str, usize>) -> Reached {
    let mut reached = Reached::default();
    let mut seen: Vec<Seen> = vec![];
    for (k, function) in functions.iter().enumerate() {
        seen.push(look(k, function, by_name, &mut reached));
    }
    let order = in_order(functions, &seen, &mut reached);
    let mut reads_thread = vec![false; functions.len()];
    let mut reads_block = vec![false; functions.len()];
    let mut depth = vec![0; functions.len()];
    for &k in &order {
        depth[k] = seen[k].depth;
        for &(callee, span, at) in &seen[k].calls {
            depth[k] = depth[k].max(at + depth[callee]);
            if depth[k] > MAX_DEPTH {
                reached.too_deep.entry(k).or_insert(span);
            }
        }
        // Its callers are not to blame.
        if reached.too_deep.contains_key(&k) {
            depth[k] = 0;
        }
        reads_thread[k] = seen[k].thread || seen[k].calls.iter().any(|c| reads_thread[c.0]);
        reads_block[k] = seen[k].block || seen[k].calls.iter().any(|c| reads_block[c.0]);
    }
    reached.reads_thread = reads_thread;
    let mut wanted = HashSet::new();
    // Callers come last, so that going backwards meets every caller of a function before it.
    for &k in order.iter().rev() {
        if functions[k].role == Role::Graph {
            let own = reached.instance(k, reads_block[k]);
            reached.own.insert(own);
            wanted.insert(own);
        }
        for inside_block in [false, true] {
            if wanted.contains(&Instance { function: k, inside_block }) {
                wanted.extend(seen[k].calls.iter().map(|c| reached.instance(c.0, inside_block)));
            }
        }
    }
    let both = |&function: &usize| [false, true].map(|inside_block| Instance { function, inside_block });
    reached.instances = order.iter().flat_map(both).filter(|i| wanted.contains(i)).collect();
    reached
}

/// What one function calls and reads.
fn look(number: usize, function: &Function, by_name: &HashMap<&str, usize>, reached: &mut Reached) -> Seen {
    let mut seen = Seen::default();
    let mut deep = None;
    visit(Node::Block(&function.body), &mut |node, depth| {
        seen.depth = seen.depth.max(depth.all);
        if depth.all > MAX_DEPTH || depth.nested > MAX_NESTED {
            deep = Some(match node {
                Node::Block(block) => block.span,
                Node::Stmt(stmt) => stmt.span,
                Node::Expr(expr) => expr.span,
                Node::Type(ty) => ty.span,
                Node::Pattern(pattern) => pattern.span(),
            });
            return false;
        }
        let Node::Expr(expr) = node else { return true };
        match &expr.kind {
            ExprKind::Call { function, .. } => {
                seen.calls.extend(by_name.get(&function.text[..]).map(|&k| (k, function.span, depth.all)))
            }
            ExprKind::Field(of, _) => match &of.kind {
                ExprKind::Name(name) if name == "thread" => seen.thread = true,
                ExprKind::Name(name) if name == "block" => seen.block = true,
                _ => {}
            },
            _ => {}
        }
        true
    });
    if let Some(span) = deep {
        reached.too_deep.insert(number, span);
        seen.calls.clear();
    }
    seen
}

/// What to say about a function that nests too deep.
pub(super) fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::error(
        rules::DEEP,
        span,
        "this nests too deep: functions have up to 256 levels, and 512 with those that they call",
    )
    .help("compute parts of it in separate statements, or in a function of their own")
}

/// Functions that graph functions reach, callees first. Depth first, with a list for a stack.
fn in_order(functions: &[&Function], seen: &[Seen], reached: &mut Reached) -> Vec<usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; functions.len()];
    let mut order = vec![];
    for root in (0..functions.len()).filter(|&k| functions[k].role == Role::Graph) {
        if state[root] != State::New {
            continue;
        }
        state[root] = State::Open;
        let mut path = vec![(root, 0)];
        while let Some((function, next)) = path.last_mut() {
            let Some(&(callee, span, _)) = seen[*function].calls.get(*next) else {
                state[*function] = State::Done;
                order.push(*function);
                path.pop();
                continue;
            };
            *next += 1;
            match state[callee] {
                State::New => {
                    state[callee] = State::Open;
                    path.push((callee, 0));
                }
                State::Open => {
                    let names: Vec<&str> = path.iter().map(|p| &functions[p.0].name.text[..]).collect();
                    let from = path.iter().position(|p| p.0 == callee).unwrap_or(0);
                    reached.recursive.insert(span);
                    reached.diagnostics.push(recursion(&names[from..], functions[callee], span));
                }
                State::Done => {}
            }
        }
    }
    order
}

fn recursion(cycle: &[&str], callee: &Function, span: Span) -> Diagnostic {
    let name = &callee.name.text;
    let message = if cycle.len() == 1 {
        format!("`{name}` calls itself; functions of a kernel cannot be recursive")
    } else {
        let road: Vec<String> = cycle.iter().chain([&&name[..]]).map(|n| format!("`{n}`")).collect();
        format!("functions of a kernel cannot be recursive: {}", road.join(" calls "))
    };
    Diagnostic::error(rules::RECURSION, span, message)
        .label("closes the circle")
        .related(callee.name.span, format!("`{name}` is declared here"))
        .help("write it as a loop, with a local array for what is still to be done")
}
