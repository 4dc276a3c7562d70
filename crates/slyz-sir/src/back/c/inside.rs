//! The middle of a row: turns of a loop over lanes in which no position has to be moved to a border.
//!
//! A stencil reads at positions of the loop, moved by what is the same in all turns, and clamped to bounds that are so too. From the
//! bounds follows where the loop has to look at them at all; in between it reads plain vectors.

use super::writer::CWriter;
use crate::back::tree::{Infix, Tree};
use crate::code::{Body, Id, Op};
use crate::ops::Operator;
use crate::types::Ty;
use std::collections::{HashMap, HashSet};

/// Whether a turn is in the middle: a parameter of the function of the lanes.
pub(super) const INSIDE: &str = "inside";

/// Where the middle is, and which positions it is about.
#[derive(Default)]
pub(super) struct Middle {
    pub(super) clamped: HashSet<Id>,
    /// It begins behind all of these, and ends before the first of those.
    from: Vec<Tree>,
    to: Vec<Tree>,
}

impl Middle {
    pub(super) fn begin(&self) -> Option<Tree> {
        joined("s_max_i64", &self.from)
    }

    pub(super) fn end(&self, hi: Tree) -> Option<Tree> {
        joined("s_min_i64", &[&[hi], &self.to[..]].concat())
    }
}

fn joined(function: &str, trees: &[Tree]) -> Option<Tree> {
    trees.iter().cloned().reduce(|a, b| Tree::call(function, [a, b]))
}

/// A number that all turns agree on: one that is known, and what is added to it.
#[derive(Clone, Default)]
struct Sum {
    known: i64,
    rest: Option<Tree>,
}

impl Sum {
    fn and(self, infix: Infix, other: Sum) -> Sum {
        let known = match infix {
            Infix::Sub => self.known.wrapping_sub(other.known),
            _ => self.known.wrapping_add(other.known),
        };
        let rest = match (self.rest, other.rest) {
            (rest, None) => rest,
            (None, Some(more)) if infix == Infix::Add => Some(more),
            (rest, Some(more)) => Some(Tree::infix(infix, rest.unwrap_or_else(|| Tree::int(0)), more)),
        };
        Sum { known, rest }
    }

    fn tree(self) -> Tree {
        match (self.rest, self.known) {
            (None, known) => Tree::int(known),
            (Some(rest), 0) => rest,
            (Some(rest), known @ ..0) => Tree::infix(Infix::Sub, rest, Tree::int(known.wrapping_neg())),
            (Some(rest), known) => Tree::infix(Infix::Add, rest, Tree::int(known)),
        }
    }
}

impl CWriter<'_> {
    /// What the loop around a body can know of positions before it runs.
    pub(super) fn middle(&self, body: &Body) -> Middle {
        let mut middle = Middle::default();
        let Some(first) = body.params.first() else { return middle };
        // How far each position is from that of the lane.
        let mut moved: HashMap<Id, Sum> = HashMap::from([(first.id, Sum::default())]);
        let mut constants: HashMap<Id, i64> = HashMap::new();
        for stmt in &body.stmts {
            let [bind] = &stmt.binds[..] else { continue };
            let around = |id: &Id| match constants.get(id) {
                Some(&known) => Some(Sum { known, rest: None }),
                None => self.around(*id),
            };
            match &stmt.op {
                Op::Const(value) if value.ty == Ty::I64 => {
                    constants.insert(bind.id, value.bits as i64);
                }
                Op::Apply(operator @ (Operator::Add | Operator::Sub), args) => {
                    let [a, b] = &args[..] else { continue };
                    let infix = if *operator == Operator::Add { Infix::Add } else { Infix::Sub };
                    let sum = match (moved.get(a), moved.get(b)) {
                        (Some(by), None) => around(b).map(|more| by.clone().and(infix, more)),
                        (None, Some(by)) if infix == Infix::Add => around(a).map(|more| by.clone().and(infix, more)),
                        _ => None,
                    };
                    if let Some(sum) = sum {
                        moved.insert(bind.id, sum);
                    }
                }
                Op::Apply(Operator::Clamp, args) => {
                    let [at, low, high] = &args[..] else { continue };
                    let (Some(by), Some(low), Some(high)) = (moved.get(at), around(low), around(high)) else {
                        continue;
                    };
                    let one = Sum { known: 1, rest: None };
                    let from = low.and(Infix::Sub, by.clone()).tree();
                    let to = high.and(Infix::Sub, by.clone()).and(Infix::Add, one).tree();
                    middle.clamped.insert(bind.id);
                    if !middle.from.contains(&from) {
                        middle.from.push(from);
                    }
                    if !middle.to.contains(&to) {
                        middle.to.push(to);
                    }
                }
                _ => {}
            }
        }
        middle
    }

    /// A value of the code around, if all lanes agree on it.
    fn around(&self, id: Id) -> Option<Sum> {
        let value = self.values.get(&id)?;
        let known = value.range.filter(|(low, high)| low == high).and_then(|(low, _)| i64::try_from(low).ok());
        let rest = value.uniform_tree()?;
        Some(known.map_or(Sum { known: 0, rest: Some(rest) }, |known| Sum { known, rest: None }))
    }
}
