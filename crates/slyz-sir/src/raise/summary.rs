//! What a kernel turned out to be, in words.

use super::Raised;
use crate::code::{Body, Op};
use crate::lower;
use crate::pass;
use crate::size::Size;

impl Raised {
    /// What it is: "a product of matrices M×K by K×N", "a fold over K for each of \[N\]", "a map over \[N\]".
    pub fn summary(&self) -> String {
        let program = pass::optimize(&self.program);
        let shown = |size: &Size| size.display(&|var| program.size_name(var)).to_string();
        let shape = |shape: &[Size]| format!("[{}]", shape.iter().map(shown).collect::<Vec<_>>().join(", "));
        let tabulates = program.body.stmts.iter().filter_map(|stmt| match &stmt.op {
            Op::Tabulate { shape, body } => Some((shape, body)),
            _ => None,
        });
        let said = tabulates.map(|(axes, body)| {
            let product = lower::product_extent(body).zip(<[&Size; 2]>::try_from(axes.iter().collect::<Vec<_>>()).ok());
            if let Some((inner, [rows, columns])) = product {
                let [rows, inner, columns] = [rows, inner, columns].map(shown);
                return format!("a product of matrices {rows}×{inner} by {inner}×{columns}");
            }
            match fold(body) {
                Some(turns) => format!("a fold over {} for each of {}", shape(turns), shape(axes)),
                None => format!("a map over {}", shape(axes)),
            }
        });
        let said: Vec<String> = said.collect();
        if said.is_empty() { "nothing to do".to_string() } else { said.join(", and ") }
    }
}

/// The axes of the first fold.
fn fold(body: &Body) -> Option<&[Size]> {
    body.stmts.iter().find_map(|stmt| match &stmt.op {
        Op::Fold { shape, .. } => Some(&shape[..]),
        op => op.bodies().into_iter().find_map(fold),
    })
}
