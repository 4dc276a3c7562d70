//! Operators that machines do not have, as C on vectors: what `expand` says of them, written once and kept.
//!
//! A function of these takes vectors and gives vectors. It does not know which lanes are live: a branch is taken where any lane
//! takes it, by all of them, and blended. What a branch mends is expected to be rare.

use super::writer::CWriter;
use super::{File, function};
use crate::expand::{Part, Vectors};
use crate::kernel::Kernel;
use crate::pass::simplify;
use crate::size::Size;

/// The C of a function of mathematics. Where the prelude knows a machine's own, that is a `macro`.
pub(super) fn text(part: &Part, own: Option<&str>) -> String {
    let Vectors { mut function, called, loose } = part.for_vectors();
    function.body = simplify::root(function.body);
    let name = function.name.clone();
    // Whom it calls is written elsewhere, under its own name.
    let functions = called.iter().map(|called| (called.name.clone(), called.name.clone())).collect();
    let mut file = File { functions, ..File::default() };
    let kernel = Kernel {
        name: name.clone(),
        sizes: vec![],
        memories: vec![],
        functions: called.into_iter().chain([function.clone()]).collect(),
        grid: [const { Size::Const(1) }; 3],
        block: [1; 3],
        precision: None,
        product: None,
        raw: None,
        as_written: false,
        names: Default::default(),
        body: Default::default(),
    };
    let mut writer = CWriter::new(&mut file, &kernel, true);
    writer.masked = false;
    writer.loose = loose;
    let kind = if part.is_rare() { "RARE" } else { "FN" };
    let written = function::text(&mut writer, &function, &name, kind);
    let (head, body) = written.expect("mathematics is arithmetic, branches and loops");
    let Some(own) = own else { return format!("{head} {{\n{body}}}\n") };
    let arguments: Vec<String> = (0..function.body.params.len()).map(|k| format!("x{k}")).collect();
    format!("{head} {{\n#ifdef {own}\n    return {own}({});\n#else\n{body}#endif\n}}\n", arguments.join(", "))
}
