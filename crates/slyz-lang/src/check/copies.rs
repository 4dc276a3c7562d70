//! How large kernels become: functions that touch memory are written into them once for every call.
//!
//! ```text
//! fn a(x: Tensor<f32>!) { .. }            8 parts
//! fn b(x: Tensor<f32>!) { a(x); a(x) }    2 + 2 * 8
//! fn c(x: Tensor<f32>!) { b(x); b(x) }    2 + 2 * (2 + 2 * 8), and so on: 40 such functions are no file for any compiler
//! ```
//!
//! Counts without copying, so that what is too large is refused before anybody walks through it.

use super::budget::grouped;
use super::rules;
use crate::diagnostic::Diagnostic;
use crate::lower::{DEEPEST_CALL, touches_memory};
use crate::span::Span;
use crate::typed::inside::{any_stmt, each_expr, exprs_of};
use crate::typed::{ExprKind, Function, FunctionId};
use std::cmp::Reverse;

/// The most statements and expressions of a kernel, with a copy of each function that touches memory for each of its calls.
pub const MAX_PARTS: u64 = 1_000_000;

/// What a function comes to where it is called.
struct Weight {
    /// Its own statements and expressions.
    own: u64,
    /// Those with all that is copied into it.
    all: u64,
    /// It is copied to its calls.
    copied: bool,
    /// Functions inside each other, itself included.
    depth: usize,
    calls: Vec<(FunctionId, Span)>,
}

/// The weights of all functions of a program.
pub(super) struct Copies<'p> {
    functions: &'p [Function],
    weights: Vec<Weight>,
}

impl<'p> Copies<'p> {
    pub(super) fn new(functions: &'p [Function]) -> Copies<'p> {
        let mut copies = Copies { functions, weights: vec![] };
        for function in functions {
            let weight = copies.weigh(function);
            copies.weights.push(weight);
        }
        copies
    }

    fn of(&self, id: FunctionId) -> &Weight {
        &self.weights[id.0 as usize]
    }

    fn name(&self, id: FunctionId) -> &'p str {
        &self.functions[id.0 as usize].name
    }

    fn weigh(&self, function: &Function) -> Weight {
        let mut own = 0u64;
        let mut calls = vec![];
        any_stmt(&function.body, &mut |stmt| {
            own += 1;
            for expr in exprs_of(stmt) {
                each_expr(expr, &mut |part| {
                    own += 1;
                    if let ExprKind::Call(id, _) = part.kind {
                        calls.push((id, part.span));
                    }
                });
            }
            false
        });
        let copied = touches_memory(function, &|callee| self.of(callee).copied);
        let inside = || calls.iter().map(|(id, _)| self.of(*id)).filter(|callee| callee.copied);
        let all = inside().fold(own, |sum, callee| sum.saturating_add(callee.all));
        let depth = 1 + inside().map(|callee| callee.depth).max().unwrap_or(0);
        Weight { own, all, copied, depth, calls }
    }

    /// Looks at a function as a launch runs it.
    pub(super) fn kernel(&self, id: FunctionId, say: &mut dyn FnMut(Diagnostic)) {
        if self.of(id).all > MAX_PARTS {
            say(self.too_large(id));
        } else if self.of(id).depth > DEEPEST_CALL {
            say(self.too_deep(id));
        }
    }

    /// The calls that weigh most, from a kernel inward.
    fn road(&self, id: FunctionId, weight: impl Fn(&Weight) -> u64) -> Vec<(FunctionId, Span)> {
        let mut road = vec![];
        let mut here = id;
        loop {
            let copied = self.of(here).calls.iter().filter(|(callee, _)| self.of(*callee).copied);
            // Of equal ones the first in the source.
            let heavy = |(callee, span): &&(FunctionId, Span)| (weight(self.of(*callee)), Reverse(span.start));
            let Some(&(callee, span)) = copied.max_by_key(heavy) else {
                return road;
            };
            road.push((callee, span));
            here = callee;
        }
    }

    /// How often each function stands in a kernel.
    fn counts(&self, id: FunctionId) -> Vec<u64> {
        let mut counts = vec![0u64; self.weights.len()];
        counts[id.0 as usize] = 1;
        // Callers have higher numbers.
        for caller in (0..=id.0 as usize).rev() {
            let copies = counts[caller];
            let copied = self.weights[caller].calls.iter().filter(|(callee, _)| self.of(*callee).copied);
            for (callee, _) in copied {
                let count = &mut counts[callee.0 as usize];
                *count = count.saturating_add(copies);
            }
        }
        counts
    }

    fn too_large(&self, id: FunctionId) -> Diagnostic {
        let kernel = self.name(id);
        let counts = self.counts(id);
        let share = |k: &usize| counts[*k].saturating_mul(self.weights[*k].own);
        let most = (0..counts.len()).max_by_key(share).unwrap_or(id.0 as usize);
        let road = self.road(id, |weight| weight.all);
        let total = number(self.of(id).all);
        let limit = grouped(MAX_PARTS);
        let Some(&(first, span)) = road.first() else {
            let message = format!("`{kernel}` has {total} statements and expressions; a kernel has up to {limit}");
            return Diagnostic::error(rules::SIZE, Span::default(), message).help("cut it into several kernels");
        };
        let message = format!(
            "`{kernel}` becomes too large: functions that touch memory are copied to where they are called, `{}` {} times, \
             which makes {total} statements and expressions; a kernel has up to {limit}",
            self.functions[most].name,
            number(counts[most]),
        );
        let mut diagnostic = Diagnostic::error(rules::SIZE, span, message).label(format!(
            "this copy of `{}` comes to {}",
            self.name(first),
            number(self.of(first).all)
        ));
        for &(callee, span) in road.iter().skip(1).take(3) {
            diagnostic =
                diagnostic.related(span, format!("`{}` comes to {}", self.name(callee), number(self.of(callee).all)));
        }
        diagnostic.help(
            "call such functions in fewer places, for instance from a loop, or let them take numbers instead of tensors: functions \
             of numbers are not copied",
        )
    }

    fn too_deep(&self, id: FunctionId) -> Diagnostic {
        let road = self.road(id, |weight| weight.depth as u64);
        let span = road.first().map_or(Span::default(), |(_, span)| *span);
        let message = format!(
            "{} functions that touch memory call each other from `{}` on; there may be up to {DEEPEST_CALL} inside each other",
            road.len() + 1,
            self.name(id),
        );
        Diagnostic::error(rules::DEEP, span, message).help("join some of them, or call them one after the other")
    }
}

fn number(count: u64) -> String {
    if count == u64::MAX { "countless".to_string() } else { grouped(count) }
}
