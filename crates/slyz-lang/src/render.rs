//! Diagnostics as people read them: the place, the lines, carets, the cure.
//!
//! ```text
//! error[unknown-name]: there is no `colour`
//!  --> relu.vex:3:9
//!   |
//! 3 |     if colour < n {
//!   |        ^^^^^^ not known here
//!   |
//!   = help: did you mean `color`?
//! ```
//!
//! Plain text without colours. Lines end at `\n` or `\r\n`; a tab is shown as four blanks; columns count characters.
//! Of a place that spans many lines the first and the last are shown.

use crate::diagnostic::{Diagnostic, Severity};
use crate::span::Span;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Blanks for a tab.
const TAB: usize = 4;
/// Of longer lines only the part around the place is shown.
const WIDEST: usize = 160;

/// All diagnostics of a file, each followed by an empty line. The text is the one they were found in.
///
/// ```
/// use slyz_lang::{parse::parse, render::render};
///
/// let text = "let = 3";
/// let shown = render("three.vex", text, &parse(text).1);
/// assert!(shown.starts_with("error[syntax]: expected the name of a value, found `=`\n --> three.vex:1:5\n"));
/// ```
pub fn render(file_name: &str, text: &str, diagnostics: &[Diagnostic]) -> String {
    let source = Source::new(text);
    let mut out = String::new();
    for diagnostic in diagnostics {
        source.diagnostic(&mut out, file_name, diagnostic);
        out.push('\n');
    }
    out
}

/// A text and where its lines begin.
struct Source<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

/// Something to draw on a line: from one column to another, with a remark.
struct Underline<'d> {
    from: usize,
    to: usize,
    mark: char,
    remark: &'d str,
}

impl<'t> Source<'t> {
    fn new(text: &'t str) -> Source<'t> {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(k, _)| k + 1)).collect();
        Source { text, starts }
    }

    /// The nearest place at or before a byte that begins a character of the text.
    fn place(&self, byte: u32) -> usize {
        let mut place = (byte as usize).min(self.text.len());
        while !self.text.is_char_boundary(place) {
            place -= 1;
        }
        place
    }

    fn line_of(&self, place: usize) -> usize {
        self.starts.partition_point(|&start| start <= place) - 1
    }

    fn line(&self, line: usize) -> &'t str {
        let start = self.starts[line];
        let end = self.starts.get(line + 1).map_or(self.text.len(), |&next| next - 1);
        let shown = &self.text[start..end];
        shown.strip_suffix('\r').unwrap_or(shown)
    }

    /// The column of a place in its line as shown, from 0.
    fn column(&self, line: usize, place: usize) -> usize {
        let shown = self.line(line);
        let length = place.saturating_sub(self.starts[line]).min(shown.len());
        shown[..length].chars().map(width).sum()
    }

    fn diagnostic(&self, out: &mut String, file_name: &str, diagnostic: &Diagnostic) {
        let word = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let mut lines: BTreeMap<usize, Vec<Underline>> = BTreeMap::new();
        self.underline(&mut lines, diagnostic.span, '^', &diagnostic.label);
        for (span, remark) in &diagnostic.related {
            self.underline(&mut lines, *span, '-', remark);
        }
        let start = self.place(diagnostic.span.start);
        let line = self.line_of(start);
        let column = self.text[self.starts[line]..start].chars().count() + 1;
        let margin = lines.keys().last().map_or(1, |last| (last + 1).to_string().len());
        let _ = writeln!(out, "{word}[{}]: {}", diagnostic.rule, diagnostic.message);
        let _ = writeln!(out, "{:margin$}--> {file_name}:{}:{column}", "", line + 1);
        let _ = writeln!(out, "{:margin$} |", "");
        let mut before = None;
        for (line, underlines) in lines {
            if before.is_some_and(|before| line > before + 1) {
                let _ = writeln!(out, "{:.<1$}", "", margin.max(3));
            }
            before = Some(line);
            self.source_line(out, margin, line, underlines);
        }
        if let Some(help) = &diagnostic.help {
            let _ = writeln!(out, "{:margin$} |", "");
            let mut helps = help.lines();
            let _ = writeln!(out, "{:margin$} = help: {}", "", helps.next().unwrap_or(""));
            for more in helps {
                let _ = writeln!(out, "{:margin$}         {more}", "");
            }
        }
    }

    /// Where to draw for a span: on its line, or on its first and last line.
    fn underline<'d>(&self, lines: &mut BTreeMap<usize, Vec<Underline<'d>>>, span: Span, mark: char, remark: &'d str) {
        let start = self.place(span.start);
        let end = self.place(span.end).max(start);
        let first = self.line_of(start);
        let last = self.line_of(end);
        let from = self.column(first, start);
        if first == last {
            let to = self.column(last, end).max(from + 1);
            lines.entry(first).or_default().push(Underline { from, to, mark, remark });
            return;
        }
        let whole = self.line(first).chars().map(width).sum::<usize>().max(from + 1);
        lines.entry(first).or_default().push(Underline { from, to: whole, mark, remark: "" });
        let blank: usize = self.line(last).chars().take_while(|c| c.is_whitespace()).map(width).sum();
        let to = self.column(last, end).max(1);
        lines.entry(last).or_default().push(Underline { from: blank.min(to - 1), to, mark, remark });
    }

    /// A line of the text, and under it a line for each underline, from right to left.
    fn source_line(&self, out: &mut String, margin: usize, line: usize, mut underlines: Vec<Underline>) {
        underlines.sort_by_key(|u| (std::cmp::Reverse(u.from), u.mark == '-'));
        // Of a long line the part around what is underlined.
        let first = underlines.iter().map(|u| u.from).min().unwrap_or(0);
        let cut = if self.line(line).chars().nth(WIDEST).is_some() { first.saturating_sub(WIDEST / 4) } else { 0 };
        let columns = self.line(line).chars().flat_map(|c| std::iter::repeat_n(drawn(c), width(c)));
        let shown: String = columns.skip(cut).take(WIDEST).collect();
        let _ = writeln!(out, "{}", format!("{:>margin$} | {shown}", line + 1).trim_end());
        for Underline { from, to, mark, remark } in underlines {
            let from = from.saturating_sub(cut).min(WIDEST);
            let to = to.saturating_sub(cut).clamp(from + 1, WIDEST + 1);
            let mut drawing = format!("{:margin$} | {:from$}", "", "");
            drawing.extend(std::iter::repeat_n(mark, to - from));
            let _ = writeln!(out, "{}", format!("{drawing} {remark}").trim_end());
        }
    }
}

/// A character as it is shown. One that would not be seen, or would move the cursor, is shown as `·`.
fn drawn(c: char) -> char {
    match c {
        '\t' => ' ',
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => '·',
        _ if c.is_control() => '·',
        _ => c,
    }
}

/// Columns of a character as it is shown.
fn width(c: char) -> usize {
    if c == '\t' { TAB } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str, diagnostic: Diagnostic) -> String {
        render("f.vex", text, &[diagnostic])
    }

    fn error(start: u32, end: u32) -> Diagnostic {
        Diagnostic::error("rule", Span::new(start, end), "message").label("label")
    }

    #[test]
    fn one_line() {
        let shown = drawn("let a = b\nlet c = d\n", error(18, 19).related(Span::new(4, 5), "here").help("do\nthis"));
        let expected = "\
error[rule]: message
 --> f.vex:2:9
  |
1 | let a = b
  |     - here
2 | let c = d
  |         ^ label
  |
  = help: do
          this

";
        assert_eq!(shown, expected);
    }

    #[test]
    fn far_apart_and_in_order_of_lines() {
        let text: String = (1..=12).map(|k| format!("line {k}\n")).collect();
        let shown = drawn(&text, error(0, 4).related(Span::new(text.len() as u32 - 8, text.len() as u32 - 4), "there"));
        let expected = "\
error[rule]: message
  --> f.vex:1:1
   |
 1 | line 1
   | ^^^^ label
...
12 | line 12
   | ---- there

";
        assert_eq!(shown, expected);
    }

    #[test]
    fn many_lines() {
        let shown = drawn("a(\n  b,\n  c)", error(0, 12));
        let expected = "\
error[rule]: message
 --> f.vex:1:1
  |
1 | a(
  | ^^
...
3 |   c)
  |   ^^ label

";
        assert_eq!(shown, expected);
    }

    #[test]
    fn ends_and_empty_files() {
        let expected = "error[rule]: message\n --> f.vex:1:1\n  |\n1 |\n  | ^ label\n\n";
        assert_eq!(drawn("", error(0, 0)), expected);
        // Past the end, and inside of a character: drawn at the nearest place.
        assert_eq!(drawn("", error(7, 9)), expected);
        assert!(drawn("ü", error(1, 2)).contains("f.vex:1:1"));
        assert!(drawn("ab\n", error(3, 3)).contains("f.vex:2:1"));
        assert!(drawn("ab", error(2, 2)).ends_with("1 | ab\n  |   ^ label\n\n"));
        assert!(drawn("ab\r\ncd", error(2, 4)).contains("1 | ab\n  |   ^\n2 | cd\n  | ^ label"));
    }

    #[test]
    fn tabs_letters_and_what_is_not_seen() {
        assert!(drawn("\tü = x", error(6, 7)).contains("f.vex:1:6\n  |\n1 |     ü = x\n  |         ^ label\n"));
        assert!(drawn("a\u{202e}b\u{7}", error(4, 5)).contains("1 | a·b·\n  |   ^ label"));
    }

    #[test]
    fn long_lines_are_cut() {
        let text = "x".repeat(1000) + "y";
        let shown = drawn(&text, error(1000, 1001));
        assert!(shown.contains("f.vex:1:1001") && shown.lines().all(|line| line.len() < 200));
        let caret = shown.lines().find_map(|line| line.find('^'));
        assert_eq!(caret, shown.lines().find_map(|line| line.find('y')));
        assert!(drawn(&text, error(0, 1001)).lines().all(|line| line.len() < 200));
    }
}
