//! The C that generated kernels stand on: vector types, memory access and the meaning of every operator.
//!
//! The text lives in `prelude/*.c` and is emitted piecewise: [`emit`] takes the C names that a file mentions and returns
//! what these reach, each piece after those it needs. Nothing here knows kernels; the writer of kernels relies on names only.
//!
//! An operator that the files do not have is written from its algorithm in SIR when somebody asks for it (`mathematics.rs`).
//! Where a machine has an instruction for it, the files define a macro of its name in capitals (`SCALE_F32`), and that is taken.
//!
//! # The source files
//!
//! A blank line ends an item; the item is emitted as a whole or not at all. Lines `//: T L = i8 i32, u8 u32` at its head
//! make one item per alternative, here two, with `$T` and `$L` replaced; several such lines multiply, and `^` is an
//! empty word. That is how an operator is written once for all types of one kind.
//!
//! # Names
//!
//! | name | what |
//! |---|---|
//! | `vf32 vf64 vi32 vu32 vi64 vu64` | `W` lanes; `i8 i16` live in `vi32`, `u8 u16` in `vu32`, `f16 bf16` in `vf32`, `bool` as a mask in `vi32` |
//! | `exp_f32(x)`, `div_i8(a, b)`, `lt_f64(a, b)` | an operator of the table on lanes; comparisons and tests return masks |
//! | `round_f16(x)`, `wrap_u8(x)` | back to the narrow type after an operator on its lanes |
//! | `cast_f64_i16(x)`, `bits_f32_u32(x)` | conversions and bit casts between the types of the table |
//! | `load_T(p, n)`, `store_T(p, v, n)` | the first `n` lanes, contiguous; `bool` is `u8` in memory |
//! | `load_masked_T(p, m)`, `store_masked_T(p, v, m)` | contiguous, under a mask |
//! | `gather_T(p, index, m)`, `scatter_T(p, index, v, m)` | by element index; `_wide` takes 64-bit indices |
//! | `pack_T(v, m)`, `lanes_on(m)` | the lanes of a mask, moved to the front, and their number |
//! | `atomic_add_T(p, index, v, m)`, `own_add_T(…)`, … | lane after lane, the old values; `own` where no other core looks on |
//! | `up_T(below, v, by)` | lanes moved up, and into their place the last ones of another vector |
//! | `all_T(x)`, `lane_T(v, i)`, `iota_i32()`, `first_lanes(n)`, `any(m)`, `all(m)` | between scalars and lanes |
//! | `s_div_i64(a, b)`, `s_cast_f32_i8(x)` | the same on scalars, for the operators whose C spelling means something else |

use super::mathematics;
use crate::expand::{Part, parts};
use std::collections::{BTreeSet, HashMap};
use std::sync::{LazyLock, OnceLock};

/// The source files, in the order of their pieces in emitted text.
const SOURCES: [&str; 8] = [
    include_str!("prelude/target.c"),
    include_str!("prelude/lanes.c"),
    include_str!("prelude/scalars.c"),
    include_str!("prelude/ints.c"),
    include_str!("prelude/floats.c"),
    include_str!("prelude/casts.c"),
    include_str!("prelude/memory.c"),
    include_str!("prelude/atomics.c"),
];

/// A piece of C that is emitted as a whole.
enum Item {
    /// From a paragraph of the sources; alternatives share one, and its comment.
    Typed { paragraph: usize, choice: Choice },
    /// From an algorithm in SIR, and what it came to.
    Written { part: Part, text: OnceLock<String> },
}

/// A paragraph of the sources.
struct Paragraph {
    comment: String,
    template: String,
}

/// All items, and which one defines a name.
struct Prelude {
    items: Vec<Item>,
    paragraphs: Vec<Paragraph>,
    defined: HashMap<String, usize>,
    functions: Vec<String>,
}

static PRELUDE: LazyLock<Prelude> = LazyLock::new(|| Prelude::read(&SOURCES));

/// The prelude for a file that mentions the C names in `used`; names it does not define are left to the file. `lanes64`
/// says that the file holds 64-bit lanes, which halves the number of lanes in it.
///
/// ```
/// use slyz_sir::back::c::prelude;
/// let text = prelude::emit(&["load_f32", "exp_f32"].map(String::from).into(), false);
/// assert!(text.contains("vf32 exp_f32(vf32 x0)") && !text.contains("sin_f32"));
/// ```
pub fn emit(used: &BTreeSet<String>, lanes64: bool) -> String {
    let prelude = &*PRELUDE;
    let mut order = Vec::new();
    let mut seen = BTreeSet::new();
    prelude.visit(0, &mut seen, &mut order);
    let roots: BTreeSet<usize> = used.iter().filter_map(|name| prelude.defined.get(name).copied()).collect();
    for root in roots {
        prelude.visit(root, &mut seen, &mut order);
    }
    let mut text = format!("#define LANES_64 {}\n", lanes64 as u8);
    let mut last = None;
    for (item, code) in order {
        let paragraph = match prelude.items[item] {
            Item::Typed { paragraph, .. } => Some(paragraph),
            Item::Written { .. } => None,
        };
        if last != paragraph || paragraph.is_none() {
            text.push('\n');
            text.push_str(paragraph.map_or("", |paragraph| &prelude.paragraphs[paragraph].comment));
        }
        text.push_str(&code);
        last = paragraph;
    }
    text
}

/// The prelude for a C file: what it names is looked up as what the prelude's own functions name.
pub(super) fn emit_for(code: &str, lanes64: bool) -> String {
    let used = identifiers(code).filter(|name| defines(name)).map(String::from).collect();
    emit(&used, lanes64)
}

/// The names of all functions that the prelude defines, in source order.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRELUDE.functions.iter().map(String::as_str)
}

/// Does the prelude define the name, as a function, type, table or macro?
pub(super) fn defines(name: &str) -> bool {
    PRELUDE.defined.contains_key(name)
}

impl Prelude {
    fn read(sources: &[&str]) -> Prelude {
        let paragraphs = sources.iter().flat_map(|source| source.split("\n\n"));
        let mut prelude = Prelude { items: vec![], paragraphs: vec![], defined: HashMap::new(), functions: vec![] };
        for (paragraph, text) in paragraphs.enumerate() {
            let mut comment = String::new();
            let mut template = String::new();
            let mut choices = vec![Vec::new()];
            for line in text.lines() {
                if let Some(rule) = line.strip_prefix("//:") {
                    choices = multiply(&choices, rule);
                } else if template.is_empty() && line.starts_with("//") {
                    comment.push_str(line);
                    comment.push('\n');
                } else {
                    template.push_str(line);
                    template.push('\n');
                }
            }
            let names = definitions(&template);
            prelude.defined.reserve(names.len() * choices.len());
            for choice in choices.into_iter().filter(|_| !template.trim().is_empty()) {
                for (name, function) in &names {
                    let name = replace(name, &choice);
                    let previous = prelude.defined.insert(name.clone(), prelude.items.len());
                    assert!(previous.is_none() || !function, "the C prelude defines {name} twice");
                    if *function {
                        prelude.functions.push(name);
                    }
                }
                prelude.items.push(Item::Typed { paragraph, choice });
            }
            prelude.paragraphs.push(Paragraph { comment, template });
        }
        prelude.add_mathematics();
        prelude
    }

    /// The operators that the sources do not have.
    fn add_mathematics(&mut self) {
        for part in parts().filter(|part| !self.defined.contains_key(&part.name)).collect::<Vec<Part>>() {
            self.defined.insert(part.name.clone(), self.items.len());
            self.functions.push(part.name.clone());
            self.items.push(Item::Written { part, text: OnceLock::new() });
        }
    }

    fn code(&self, item: usize) -> String {
        match &self.items[item] {
            Item::Typed { paragraph, choice } => replace(&self.paragraphs[*paragraph].template, choice),
            Item::Written { part, text } => {
                let own = part.name.to_uppercase();
                let own = self.defined.contains_key(&own).then_some(own);
                text.get_or_init(|| mathematics::text(part, own.as_deref())).clone()
            }
        }
    }

    /// Appends an item after those it needs. Functions of the prelude do not call each other in circles.
    fn visit(&self, item: usize, seen: &mut BTreeSet<usize>, order: &mut Vec<(usize, String)>) {
        if seen.insert(item) {
            let code = self.code(item);
            // The items it mentions, in source order. Few items are ever asked, so nobody keeps the answer.
            let mentioned = identifiers(&code).filter_map(|name| self.defined.get(name).copied());
            for need in mentioned.collect::<BTreeSet<usize>>() {
                self.visit(need, seen, order);
            }
            order.push((item, code));
        }
    }
}

/// One choice of words for the variables of a template.
type Choice = Vec<(String, String)>;

/// Every choice so far with every alternative of a rule `A B = x y, z w`.
fn multiply(choices: &[Choice], rule: &str) -> Vec<Choice> {
    let (variables, alternatives) = rule.split_once('=').expect("a template rule of the C prelude has a `=`");
    let alternatives: Vec<Choice> = alternatives
        .split(", ")
        .map(|words| {
            let words = words.split_whitespace().map(|word| if word == "^" { "" } else { word });
            variables.split_whitespace().map(String::from).zip(words.map(String::from)).collect()
        })
        .collect();
    choices.iter().flat_map(|choice| alternatives.iter().map(|more| [&choice[..], more].concat())).collect()
}

/// The template with `$NAME` replaced, the longest name that fits, as one may begin another.
fn replace(template: &str, choice: &Choice) -> String {
    let mut pieces = template.split('$');
    let mut text = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let fits = choice.iter().filter(|(variable, _)| piece.starts_with(variable.as_str()));
        match fits.max_by_key(|(variable, _)| variable.len()) {
            Some((variable, word)) => {
                text.push_str(word);
                text.push_str(&piece[variable.len()..]);
            }
            None => {
                text.push('$');
                text.push_str(piece);
            }
        }
    }
    text
}

/// The names that a template defines at its top level, variables in them, and whether they are functions.
fn definitions(template: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    for line in template.lines() {
        let last = |text: &str| text.rsplit(|c| !word(c)).find(|w| !w.is_empty()).map(String::from);
        let before = |end: char| line.split(end).next().and_then(last);
        if line.starts_with("FN ") || line.starts_with("RARE ") {
            found.extend(before('(').map(|name| (name, true)));
        } else if line.starts_with("static ") {
            found.extend(before('[').map(|name| (name, false)));
        } else if line.starts_with("typedef ") {
            found.extend(before(';').map(|name| (name, false)));
        } else if let Some((_, rest)) = line.split_once("define ").filter(|_| line.starts_with('#')) {
            found.extend(rest.split(|c| !word(c)).find(|w| !w.is_empty()).map(|name| (name.to_string(), false)));
        }
    }
    found
}

/// The identifiers of a piece of C, comments left out.
pub(in crate::back) fn identifiers(code: &str) -> impl Iterator<Item = &str> {
    let words = |line: &'_ str| line.split("//").next().unwrap_or_default().len();
    code.lines()
        .map(move |line| &line[..words(line)])
        .flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::TABLE;
    use crate::types::Ty;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn only_what_is_reached_comes_out_and_in_order() {
        let text = emit(&set(&["sin_f32", "kernel"]), false);
        assert!(text.starts_with("#define LANES_64 0\n"));
        let at = |piece: &str| text.find(piece).unwrap_or_else(|| panic!("{piece} is missing"));
        assert!(at("vf32 all_f32(") < at("vf32 mla_f32(") && at("void reduce_large_f32(") < at("vf32 sin_f32("));
        assert!(!text.contains("exp_f32") && !text.contains('$') && !text.contains("//:"));
        assert!(!emit(&set(&["load_f32", "add"]), false).contains("load_u8"));
    }

    #[test]
    fn every_operator_has_its_function() {
        let names: BTreeSet<&str> = names().collect();
        let infix = ["add", "sub", "mul", "neg", "and", "or", "xor", "not"];
        for row in TABLE.iter().filter(|row| !infix.contains(&row.name)) {
            // Half precision is computed in f32, and float division is plain C.
            let lanes = |ty: &Ty| !matches!(ty, Ty::F16 | Ty::BF16 | Ty::Bool);
            for ty in Ty::ALL.into_iter().filter(|ty| row.domain.has(*ty)).filter(lanes) {
                let plain = row.name == "div" && ty.is_float();
                let name = format!("{}_{ty}", row.name);
                assert!(plain || names.contains(name.as_str()), "{name} is missing");
            }
        }
        for (a, b) in Ty::ALL.into_iter().flat_map(|a| Ty::ALL.map(|b| (a, b))) {
            for name in [format!("cast_{a}_{b}"), format!("s_cast_{a}_{b}")] {
                assert!(names.contains(name.as_str()), "{name} is missing");
            }
        }
    }
}
