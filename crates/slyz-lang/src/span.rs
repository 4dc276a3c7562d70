//! Where something stands in a source.

/// From the first place up to, not including, the last.
///
/// In a `.vex` file places are bytes. In Rust they are numbers of tokens of the item that `#[graph]` stands on: the
/// macro keeps the compiler's spans in a list and gives the tree places in that list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The first place.
    pub start: u32,
    /// Past the last.
    pub end: u32,
}

impl Span {
    /// From `start` to `end`.
    pub fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    /// From the start of one to the end of another.
    pub fn to(self, last: Span) -> Span {
        Span { start: self.start.min(last.start), end: self.end.max(last.end) }
    }
}
