//! What kernels have no room for, and what to write instead.

use super::rules;
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::Forbidden;

/// Names in front of `.new` and its like that make something on the heap.
const OWNERS: [&str; 14] = [
    "Box", "Vec", "String", "Rc", "Arc", "HashMap", "HashSet", "BTreeMap", "BTreeSet", "VecDeque", "Tensor", "Map",
    "Set", "Str",
];

/// Methods that make something on the heap.
const MAKERS: [&str; 10] =
    ["to_string", "to_vec", "to_owned", "collect", "push", "push_str", "format", "concat", "append", "extend"];

/// Functions and methods that end in a panic.
const PANICS: [&str; 14] = [
    "panic",
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "unreachable",
    "todo",
    "unimplemented",
    "unwrap",
    "expect",
    "throw",
    "abort",
    "exit",
    "error",
];

/// Functions of hosts that people reach for first.
const HOST: [&str; 6] = ["print", "println", "eprintln", "dbg", "launch", "printf"];

/// A text in a kernel.
pub(super) fn text(span: Span) -> Diagnostic {
    heap(span, "a text")
}

fn heap(span: Span, what: &str) -> Diagnostic {
    Diagnostic::error(rules::HEAP, span, format!("{what} needs a heap, and kernels have none"))
        .help("use a local array of a fixed length, or pass a tensor in")
}

/// A construct that the parser recognised.
pub(super) fn construct(what: Forbidden, text: &str, span: Span) -> Diagnostic {
    match what {
        Forbidden::Go => Diagnostic::error(rules::GO, span, "kernels have no `go`: all threads run this code already")
            .help("launch more threads, or another kernel"),
        Forbidden::Await => {
            Diagnostic::error(rules::AWAIT, span, format!("kernels have no `{text}`: they are synchronous"))
                .help("wait on the host, before or after the launch")
        }
        Forbidden::Panic => panic(text, span),
        Forbidden::Heap => heap(span, &format!("`{text}`")),
        Forbidden::Pattern => {
            let message = format!("write one `let` for each name: kernels have no room for {text}");
            Diagnostic::error(rules::UNSUPPORTED, span, message).help(
                "`let` takes a name or a tuple of names: `let (a, b) = (x, y);`; several of one type are an array, `let v = [a, b];`",
            )
        }
        Forbidden::Unsupported => {
            Diagnostic::error(rules::UNSUPPORTED, span, format!("kernels have no room for {}", named(text))).help(
                "kernels are made of `let`, `if`, `for`, `while`, assignments and calls of functions written like them",
            )
        }
    }
}

/// Words are quoted; descriptions such as "a closure" are not.
fn named(text: &str) -> String {
    if text.contains([' ', '`']) { text.into() } else { format!("`{text}`") }
}

fn panic(text: &str, span: Span) -> Diagnostic {
    Diagnostic::error(rules::PANIC, span, format!("`{text}` cannot leave a kernel"))
        .help("use `return` to end this thread early, and write what went wrong to a tensor")
}

/// A function that exists elsewhere and is refused by name.
pub(super) fn function(path: &str, span: Span) -> Option<Diagnostic> {
    let (owner, last) = match path.rsplit_once("::") {
        Some((owner, last)) => (owner.rsplit("::").next(), last),
        None => (None, path),
    };
    if owner.is_some_and(|o| OWNERS.contains(&o)) {
        return Some(heap(span, &format!("`{path}`")));
    }
    if owner.is_none() && PANICS.contains(&last) {
        return Some(panic(path, span));
    }
    if owner.is_none() && HOST.contains(&last) {
        return Some(host(path, span));
    }
    owner.map(|_| foreign(path, span))
}

/// A method that exists elsewhere and is refused by name.
pub(super) fn method(receiver: Option<&str>, name: &str, span: Span) -> Option<Diagnostic> {
    if let Some(owner) = receiver.filter(|o| OWNERS.contains(o)) {
        return Some(heap(span, &format!("`{owner}.{name}`")));
    }
    if MAKERS.contains(&name) {
        return Some(heap(span, &format!("`.{name}`")));
    }
    PANICS.contains(&name).then(|| panic(name, span))
}

/// Something of the host's.
pub(super) fn host(what: &str, span: Span) -> Diagnostic {
    Diagnostic::error(rules::HOST, span, format!("`{what}` is the host's business; kernels do not have it"))
        .help("write results to a mutable tensor, and let the host go on from there")
}

/// Code of another language.
pub(super) fn foreign(path: &str, span: Span) -> Diagnostic {
    Diagnostic::error(
        rules::FOREIGN,
        span,
        format!("`{path}` does not exist on the device: kernels cannot call foreign code"),
    )
    .help("write what it does as a function of this language, or call it on the host and pass the result in")
}
