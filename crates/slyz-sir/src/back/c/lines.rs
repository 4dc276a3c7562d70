//! Lines of C, with the names that they mention: so a function knows what it takes from the block around it.

use crate::back::tree::Tree;
use std::collections::HashSet;
use std::fmt::Write;

/// A line, or a part of one. Words mention nothing; trees and other lines mention their names.
#[derive(Clone, Default)]
pub(super) struct Line {
    text: String,
    names: Vec<String>,
}

/// What lines are made of.
pub(super) trait Piece {
    fn add_to(&self, line: &mut Line);
}

impl Piece for str {
    fn add_to(&self, line: &mut Line) {
        line.text += self;
    }
}

impl Piece for String {
    fn add_to(&self, line: &mut Line) {
        line.text += self;
    }
}

impl Piece for Tree {
    fn add_to(&self, line: &mut Line) {
        let _ = write!(line.text, "{self}");
        self.each_name(&mut |name| line.names.push(name.to_string()));
    }
}

impl Piece for Line {
    fn add_to(&self, line: &mut Line) {
        line.text += &self.text;
        line.names.extend(self.names.iter().cloned());
    }
}

impl<P: Piece + ?Sized> Piece for &P {
    fn add_to(&self, line: &mut Line) {
        (**self).add_to(line);
    }
}

macro_rules! line_of {
    ($($piece:ty),*) => {$(
        impl From<$piece> for Line {
            fn from(piece: $piece) -> Line {
                let mut line = Line::default();
                piece.add_to(&mut line);
                line
            }
        }
    )*};
}
line_of!(&str, String, Tree, &Tree);

/// A line of several pieces.
macro_rules! line {
    ($($piece:expr),* $(,)?) => {{
        let mut line = $crate::back::c::lines::Line::default();
        $($crate::back::c::lines::Piece::add_to(&$piece, &mut line);)*
        line
    }};
}
pub(super) use line;

impl Line {
    pub(super) fn each_name(&self, f: &mut dyn FnMut(&str)) {
        self.names.iter().for_each(|name| f(name));
    }
}

/// Lines under each other.
#[derive(Clone, Default)]
pub(super) struct Code {
    text: String,
    names: HashSet<String>,
}

impl Code {
    /// Adds a line, so many times four spaces from the left.
    pub(super) fn add(&mut self, depth: usize, line: impl Into<Line>) {
        let line = line.into();
        let _ = writeln!(self.text, "{:width$}{}", "", line.text, width = depth * 4);
        self.mention(&line);
    }

    pub(super) fn all(&mut self, depth: usize, lines: impl IntoIterator<Item = Line>) {
        lines.into_iter().for_each(|line| self.add(depth, line));
    }

    /// Adds what stands below.
    pub(super) fn append(&mut self, below: &Code) {
        self.text += &below.text;
        self.names.extend(below.names.iter().cloned());
    }

    fn mention(&mut self, line: &Line) {
        line.each_name(&mut |name| {
            if !self.names.contains(name) {
                self.names.insert(name.to_string());
            }
        });
    }

    pub(super) fn mentions(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &name[..])
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_code_are_those_of_its_trees() {
        let mut code = Code::default();
        code.add(1, line!["i64 x = ", Tree::call("f", [Tree::name("a")]), ";"]);
        code.add(1, "b = 0;");
        assert_eq!(code.to_string(), "    i64 x = f(a);\n    b = 0;\n");
        assert!(code.mentions("a") && !code.mentions("b") && !code.mentions("f"));
    }
}
