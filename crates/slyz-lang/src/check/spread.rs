//! Who shares a value, and who comes by a place in the code.

use crate::span::Span;

/// Threads that surely have the same value. Each knows less than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Spread {
    /// All threads of the launch.
    Grid,
    /// The threads of a block.
    Block,
    /// The threads of a subgroup.
    Subgroup,
    /// Each for itself.
    Thread,
}

/// A value as far as threads share it, and where the difference between them came in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Level {
    pub spread: Spread,
    pub from: Option<(Span, &'static str)>,
    /// It depends on what was in memory.
    pub data: bool,
}

impl Level {
    pub(super) const SAME: Level = Level { spread: Spread::Grid, from: None, data: false };

    pub(super) fn new(spread: Spread, span: Span, remark: &'static str) -> Level {
        Level { spread, from: Some((span, remark)), data: false }
    }

    /// What depends on both.
    pub(super) fn join(self, other: Level) -> Level {
        let wider = if other.spread > self.spread { other } else { self };
        Level { data: self.data || other.data, ..wider }
    }

    /// What all threads of a subgroup get to see.
    pub(super) fn shared(self) -> Level {
        Level { spread: self.spread.min(Spread::Subgroup), ..self }
    }
}

/// Something that only some threads pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gate {
    /// How those that pass are chosen.
    pub level: Level,
    /// The condition.
    pub span: Span,
    /// What happens there, for messages.
    pub remark: &'static str,
}

impl Gate {
    pub(super) const OPEN: Gate = Gate { level: Level::SAME, span: Span { start: 0, end: 0 }, remark: "" };

    /// The narrower of two.
    pub(super) fn join(self, other: Gate) -> Gate {
        if other.level.spread > self.level.spread { other } else { self }
    }

    pub(super) fn spread(self) -> Spread {
        self.level.spread
    }
}
