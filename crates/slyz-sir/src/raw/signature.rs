//! Does a source take what a call passes? The parameters of its function are read, in the languages of C's family.

use super::{Language, Source};
use crate::types::Ty;
use std::fmt;

/// What is passed for a parameter of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parameter {
    /// An array that is read.
    Array(Ty),
    /// An array that is written.
    Result(Ty),
    /// A number.
    Scalar(Ty),
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Parameter::Array(ty) => write!(f, "a pointer to {ty} that are read"),
            Parameter::Result(ty) => write!(f, "a pointer to {ty} that are written"),
            Parameter::Scalar(ty) => write!(f, "a scalar of type {ty}"),
        }
    }
}

/// Why a source cannot be called so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// There is no such function.
    #[error("its {language} source has no function `{entry}`; `.entry(..)` names another")]
    NoEntry {
        /// Of the source.
        language: Language,
        /// What was looked for.
        entry: String,
    },
    /// C++ gives it a name that nobody knows.
    #[error(
        "its {language} function `{entry}` is one of C++, which has another name where it is looked for; write `extern \"C\" __global__ void {entry}(..)`"
    )]
    Mangled {
        /// Of the source.
        language: Language,
        /// The function.
        entry: String,
    },
    /// It takes more or fewer.
    #[error("its {language} function `{entry}` takes {takes} parameters, and is passed {passed}: {order}")]
    Count {
        /// Of the source.
        language: Language,
        /// The function.
        entry: String,
        /// What it has.
        takes: usize,
        /// What it gets.
        passed: usize,
        /// What it gets, by kinds.
        order: String,
    },
    /// It takes something else.
    #[error("parameter {number} of its {language} function `{entry}` is `{written}`, and {passed} is passed there")]
    Type {
        /// Of the source.
        language: Language,
        /// The function.
        entry: String,
        /// From 1.
        number: usize,
        /// As it stands in the source.
        written: String,
        /// What is passed.
        passed: Parameter,
    },
}

/// Holds the parameters of a source against what a call passes, as far as they can be read: types of the source's own are believed.
pub fn check(source: &Source, passed: &[Parameter]) -> Result<(), Mismatch> {
    let Source { language, entry, text } = source;
    let (language, entry) = (*language, entry.clone());
    let text = without_comments(text);
    if language == Language::Wgsl {
        return if has_word(&text, &entry) { Ok(()) } else { Err(Mismatch::NoEntry { language, entry }) };
    }
    if language.mangles() && !text.contains("extern \"C\"") {
        return Err(Mismatch::Mangled { language, entry });
    }
    let Some(mut written) = parameters(&text, &entry) else { return Err(Mismatch::NoEntry { language, entry }) };
    if language == Language::Metal {
        written = bound(written);
    }
    let range = [Parameter::Scalar(Ty::I64); 2];
    let range: &[Parameter] = if language == Language::C { &range } else { &[] };
    let expected: Vec<Parameter> = passed.iter().chain(range).copied().collect();
    if written.len() != expected.len() {
        let order = order(&expected, language);
        return Err(Mismatch::Count { language, entry, takes: written.len(), passed: expected.len(), order });
    }
    for (number, (written, passed)) in written.iter().zip(expected).enumerate() {
        if !agrees(written, passed) {
            return Err(Mismatch::Type { language, entry, number: number + 1, written: written.clone(), passed });
        }
    }
    Ok(())
}

fn order(passed: &[Parameter], language: Language) -> String {
    let count = |of: fn(&Parameter) -> bool| passed.iter().filter(|parameter| of(parameter)).count();
    let arrays = count(|parameter| matches!(parameter, Parameter::Array(_)));
    let results = count(|parameter| matches!(parameter, Parameter::Result(_)));
    let scalars = count(|parameter| matches!(parameter, Parameter::Scalar(_)));
    let range = if language == Language::C { ", the last two a range of threads" } else { "" };
    format!("{arrays} arrays, {results} results, {scalars} scalars and extents{range}")
}

/// The text with blanks in place of comments.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        out.push_str(&rest[..at]);
        out.push(' ');
        let comment = &rest[at..];
        rest = match comment.starts_with("//") {
            true => comment.find('\n').map_or("", |end| &comment[end..]),
            false => comment[2..].find("*/").map_or("", |end| &comment[end + 4..]),
        };
    }
    out + rest
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where a word stands by itself.
fn places<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    text.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !word.is_empty() && !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

fn has_word(text: &str, word: &str) -> bool {
    places(text, word).next().is_some()
}

/// The parameters of a function, as they are written. Of several places the first that a body or a `;` follows is its declaration.
fn parameters(text: &str, entry: &str) -> Option<Vec<String>> {
    places(text, entry).find_map(|at| {
        let list = text[at + entry.len()..].trim_start().strip_prefix('(')?;
        let mut depth = 0;
        let mut parts = vec![String::new()];
        for (at, c) in list.char_indices() {
            match c {
                ')' if depth == 0 => {
                    let next = list[at + 1..].trim_start().chars().next();
                    let declares = matches!(next, Some('{' | ';'));
                    let parts: Vec<String> = parts.iter().map(|part| part.trim().to_string()).collect();
                    let nothing = matches!(&parts[..], [one] if one.is_empty() || one == "void");
                    return declares.then_some(if nothing { vec![] } else { parts });
                }
                ',' if depth == 0 => {
                    parts.push(String::new());
                    continue;
                }
                '(' | '<' | '[' => depth += 1,
                ')' | '>' | ']' => depth -= 1,
                _ => {}
            }
            parts.last_mut()?.push(c);
        }
        None
    })
}

/// Of the parameters of a Metal function those that are bound, by their numbers and without these. Others say where a thread stands.
fn bound(written: Vec<String>) -> Vec<String> {
    let number = |parameter: &str| {
        let (before, attribute) = parameter.split_once("[[")?;
        let number = attribute.trim_start().strip_prefix("buffer")?.trim_start().strip_prefix('(')?;
        let number: usize = number.split_once(')')?.0.trim().parse().ok()?;
        Some((number, before.trim().to_string()))
    };
    let mut bound: Vec<(usize, String)> = written.iter().filter_map(|parameter| number(parameter)).collect();
    bound.sort_by_key(|(number, _)| *number);
    bound.into_iter().map(|(_, parameter)| parameter).collect()
}

/// Can a parameter be what is passed?
fn agrees(written: &str, passed: Parameter) -> bool {
    let spaced: String = written.chars().map(|c| if is_word(c) { c } else { ' ' }).collect();
    let mut words: Vec<&str> = spaced.split_whitespace().collect();
    // The last word is the name, unless nothing but a type stands there.
    if words.len() > 1 && known(&words[words.len() - 1..]).is_none() {
        words.pop();
    }
    let is_const = words.iter().any(|word| CONSTANT.contains(word));
    let is_pointer = written.contains(['*', '[']);
    words.retain(|word| !QUALIFIERS.contains(word));
    let ty = known(&words);
    let same = |expected: Ty| ty.is_none_or(|ty| ty.contains(&expected));
    match passed {
        Parameter::Array(expected) => is_pointer && same(expected),
        Parameter::Result(expected) => is_pointer && !is_const && same(expected),
        Parameter::Scalar(expected) => !is_pointer && same(expected),
    }
}

/// Nobody writes through it.
const CONSTANT: [&str; 3] = ["const", "constant", "__constant"];

const QUALIFIERS: [&str; 12] = [
    "const",
    "volatile",
    "restrict",
    "__restrict__",
    "__restrict",
    "__global",
    "global",
    "__constant",
    "constant",
    "device",
    "register",
    "struct",
];

/// The types that words of C's family can mean; nothing where they are the source's own.
fn known(words: &[&str]) -> Option<&'static [Ty]> {
    Some(match words {
        ["float"] => &[Ty::F32],
        ["double"] => &[Ty::F64],
        ["half" | "__half" | "_Float16"] => &[Ty::F16],
        ["bool" | "_Bool"] => &[Ty::Bool],
        // What flags are kept in.
        ["unsigned", "char"] | ["uchar" | "uint8_t"] => &[Ty::U8, Ty::Bool],
        ["char"] | ["signed", "char"] | ["int8_t"] => &[Ty::I8],
        ["short"] | ["short", "int"] | ["int16_t"] => &[Ty::I16],
        ["unsigned", "short"] | ["ushort" | "uint16_t"] => &[Ty::U16],
        ["int" | "signed" | "int32_t"] => &[Ty::I32],
        ["unsigned" | "uint" | "uint32_t"] | ["unsigned", "int"] => &[Ty::U32],
        ["long" | "int64_t" | "ptrdiff_t"] | ["long", "long"] | ["long", "int"] | ["long", "long", "int"] => &[Ty::I64],
        ["ulong" | "uint64_t" | "size_t"] | ["unsigned", "long"] | ["unsigned", "long", "long"] => &[Ty::U64],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source { language: Language::Cuda, entry: "saxpy".to_string(), text: text.to_string() }
    }

    const PASSED: [Parameter; 5] = [
        Parameter::Array(Ty::F32),
        Parameter::Array(Ty::F32),
        Parameter::Result(Ty::F32),
        Parameter::Scalar(Ty::F32),
        Parameter::Scalar(Ty::I64),
    ];

    #[test]
    fn what_fits_is_taken() {
        for text in [
            "extern \"C\" __global__ void saxpy(const float* x, const float *y, float *out, float a, long long n) {}",
            "// saxpy(int)\nextern \"C\" __global__ void saxpy(float const *__restrict__ x, const float y[], float *out,\n const float a, int64_t n) { use(saxpy); }",
            "typedef float real; extern \"C\" { __global__ void saxpy(real *x, real *y, real *out, real a, number n) {} }",
            "extern \"C\" void saxpy(const float *, const float *, float *, float, long long); /* saxpy() */",
        ] {
            assert_eq!(check(&source(text), &PASSED), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (text, says) in [
            ("void axpy() {}", "its CUDA source has no function `saxpy`"),
            (
                "void saxpy(const float *x, float *out) {}",
                "takes 2 parameters, and is passed 5: 2 arrays, 1 results, 2 scalars",
            ),
            (
                "void saxpy(const float *x, const double *y, float *out, float a, long long n) {}",
                "parameter 2 of its CUDA function `saxpy` is `const double *y`, and a pointer to f32",
            ),
            ("void saxpy(const float *x, const float *y, const float *out, float a, long long n) {}", "parameter 3"),
            ("void saxpy(const float *x, const float *y, float *out, float a, int n) {}", "parameter 5"),
        ] {
            let text = format!("extern \"C\" {text}");
            let error = check(&source(&text), &PASSED).expect_err(&text).to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn functions_of_cpp_are_not_found() {
        let error = check(&source("__global__ void saxpy() {}"), &[]).map_err(|error| error.to_string());
        assert!(error.is_err_and(|error| error.contains("write `extern \"C\" __global__ void saxpy(..)`")));
    }

    #[test]
    fn functions_of_metal_are_read_by_their_bindings() {
        let metal = |text: &str| Source { language: Language::Metal, ..source(text) };
        let head = "kernel void saxpy(uint i [[thread_position_in_grid]], device const float *x [[buffer(0)]]";
        let rest =
            "device float* out [[buffer(2)]], constant float &a [[buffer(3)]], constant long& n [[ buffer(4) ]])";
        let fits = format!("{head}, device const float *y [[buffer(1)]], {rest} {{}}");
        assert_eq!(check(&metal(&fits), &PASSED), Ok(()));
        let short = check(&metal(&format!("{head}, {rest} {{}}")), &PASSED).map_err(|error| error.to_string());
        assert!(short.is_err_and(|error| error.contains("takes 4 parameters, and is passed 5")));
        let read = fits.replace("device float* out", "constant float* out");
        let read = check(&metal(&read), &PASSED).map_err(|error| error.to_string());
        assert!(read.is_err_and(|error| error.contains("parameter 3 of its Metal function")));
    }

    #[test]
    fn c_is_told_a_range_of_threads() {
        let c = |text: &str| Source { language: Language::C, ..source(text) };
        let passed = &PASSED[..3];
        let fits = "void saxpy(const float *x, const float *y, float *out, int64_t begin, int64_t end) {}";
        assert_eq!(check(&c(fits), passed), Ok(()));
        assert!(check(&c("void saxpy(const float *x, const float *y, float *out) {}"), passed).is_err());
    }
}
