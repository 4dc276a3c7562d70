//! What a kernel turned out to be, in words.

use super::{Candidate, Raised};
use crate::code::{Body, Op};
use crate::launch::Template;
use crate::lower;
use crate::pass;
use crate::size::Size;
use crate::threads::Field;

/// Says whether a kernel is raised, and to what; or why it stays as written. It is about launches that fit, in blocks of the usual shape.
///
/// ```
/// use slyz_sir::{launch::Template, raise, text::parse_kernel};
/// let kernel = parse_kernel("kernel double<grid_x, grid_y, grid_z, threads_x, threads_y, threads_z, x_len>()
///   grid [grid_x, grid_y, grid_z] block [1, 1, 1] {
///     global readwrite x: f32[x_len]
///     %i: i64 = global.x  %n: i64 = extent x_len  %inside: bool = lt %i, %n
///     if %inside { %a: f32 = load x[%i]  %b: f32 = add %a, %a  store x[%i], %b } else {}
///   }")?;
/// assert_eq!(raise::explain(&Template { kernel, constants: vec![] }), "raised: a map over [x_len]");
/// # Ok::<(), slyz_sir::text::ParseError>(())
/// ```
pub fn explain(template: &Template) -> String {
    let block = Field::usual_block(template.nature());
    let raised = Candidate::new(template).and_then(|candidate| candidate.raise(block, None, true));
    match raised {
        Ok(raised) => format!("raised: {}", raised.summary()),
        Err(why) => format!("as written: {why}"),
    }
}

impl Raised {
    /// What it is: "a product of matrices M×K by K×N", "a fold over K for each of \[N\]", "a map over \[N\]".
    pub fn summary(&self) -> String {
        let program = pass::optimize(&self.program);
        let shown = |size: &Size| size.display(&|var| program.size_name(var)).to_string();
        let shape = |shape: &[Size]| format!("[{}]", shape.iter().map(shown).collect::<Vec<_>>().join(", "));
        let said = program.body.stmts.iter().filter_map(|stmt| {
            let (axes, body) = match &stmt.op {
                Op::Tabulate { shape, body } => (shape, body),
                Op::Fold { shape: turns, .. } => return Some(format!("a fold over {}", shape(turns))),
                _ => return None,
            };
            let product = lower::product_extent(body).zip(<[&Size; 2]>::try_from(axes.iter().collect::<Vec<_>>()).ok());
            if let Some((inner, [rows, columns])) = product {
                let [rows, inner, columns] = [rows, inner, columns].map(shown);
                return Some(format!("a product of matrices {rows}×{inner} by {inner}×{columns}"));
            }
            Some(match collective(body) {
                Some((what, turns)) => format!("{what} over {} for each of {}", shape(turns), shape(axes)),
                None => format!("a map over {}", shape(axes)),
            })
        });
        let said: Vec<String> = said.collect();
        if said.is_empty() { "nothing to do".to_string() } else { said.join(", and ") }
    }
}

/// The first fold or scan in there, and its axes.
fn collective(body: &Body) -> Option<(&'static str, &[Size])> {
    body.stmts.iter().find_map(|stmt| match &stmt.op {
        Op::Fold { shape, .. } => Some(("a fold", &shape[..])),
        Op::Scan { shape, .. } => Some(("prefixes", &shape[..])),
        op => op.bodies().into_iter().find_map(collective),
    })
}
