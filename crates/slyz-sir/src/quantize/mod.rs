//! Smaller numbers, where somebody asks for them: programs over `f32` that keep arrays as 16-bit floats, or multiply bytes.
//!
//! ```text
//! program ── optimize ──> candidates ── those that are not left out ──> program over smaller numbers
//!                            │                                              │ what depends on a weight alone
//!                            └─ ranges: how large each one gets              └──> packs, run once for each weight, and the rest
//! ```
//!
//! With `f16` and `bf16`, arrays that have to be stored, and arguments that are said to be weights, are kept in 16 bits and computed with in
//! `f32`. With `i8`, sums of products are made of bytes: both sides are divided by a scale for each row or column, the
//! largest size there over 127, so that nothing is ever cut off; the sums are whole numbers, and are multiplied by the scales.
//!
//! | file | what |
//! |---|---|
//! | `bytes` | products of matrices, in bytes |
//! | `halves` | arrays in 16 bits |
//! | `errors` | how far off results are at most |
//!
//! What depends on one argument alone becomes a program of its own in [`prepare`](crate::prepare).

mod bytes;
mod errors;
mod halves;

pub use errors::{Known, Why, errors, measured};

use crate::code::Id;
use crate::pass;
use crate::program::Program;
use crate::types::Ty;
use crate::write::Lines;
use std::fmt;
use std::str::FromStr;

/// The numbers that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Small {
    /// Half precision: 11 bits, up to 65504.
    F16,
    /// The upper half of an `f32`: 8 bits, as large.
    BF16,
    /// Bytes with a scale for each row and column of a product.
    I8,
}

impl Small {
    /// Every one.
    pub const ALL: [Small; 3] = [Small::F16, Small::BF16, Small::I8];

    /// The largest number that an array may hold, where there is one.
    pub fn largest(self) -> Option<f32> {
        match self {
            Small::F16 => Some(65504.0),
            Small::BF16 | Small::I8 => None,
        }
    }

    /// The type of what is stored.
    pub fn ty(self) -> Ty {
        match self {
            Small::F16 => Ty::F16,
            Small::BF16 => Ty::BF16,
            Small::I8 => Ty::I8,
        }
    }
}

impl fmt::Display for Small {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.ty().name())
    }
}

/// A name of no small number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no kind of small numbers; there are f16, bf16 and i8")]
pub struct UnknownSmall(String);

impl FromStr for Small {
    type Err = UnknownSmall;

    fn from_str(name: &str) -> Result<Small, UnknownSmall> {
        let known = Small::ALL.into_iter().find(|small| small.ty().name() == name);
        known.ok_or_else(|| UnknownSmall(name.to_string()))
    }
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Which numbers.
    pub small: Small,
    /// Arguments that stay the same from call to call, by number. With `None`, the right sides of products are.
    pub weights: Option<Vec<usize>>,
    /// Candidates that are left as they are, by number, and why.
    pub without: Vec<(usize, String)>,
}

impl Request {
    /// All that can be.
    pub fn new(small: Small) -> Request {
        Request { small, weights: None, without: vec![] }
    }
}

/// Something that could be made of smaller numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What it is, for people.
    pub what: String,
    /// Why it is left as it was, where it is.
    pub left: Option<String>,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match &self.left {
            Some(why) => write!(f, "{} stays f32: {why}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// A program over smaller numbers.
#[derive(Clone, Debug)]
pub struct Quantized {
    /// The program.
    pub program: Program,
    /// What was looked at, in the order of the program.
    pub candidates: Vec<Candidate>,
    /// Arguments that stay the same from call to call.
    pub weights: Vec<usize>,
}

/// The program over smaller numbers.
///
/// ```
/// use slyz_sir::{quantize::{Request, Small, quantize}, text::parse_program};
/// let program = parse_program("program dot<N, K, M>(%a: f32[N, K], %b: f32[K, M]) -> f32[N, M] {
///   %zero: f32 = const 0.0
///   %c: f32[N, M] = tabulate [N, M] |%i: i64, %j: i64| {
///     %s: f32 = fold [K] |%k: i64| {
///       %x: f32 = at %a[%i, %k]  %y: f32 = at %b[%k, %j]  %p: f32 = mul %x, %y  yield %p
///     } with commutative (%zero) |%u: f32, %v: f32| { %w: f32 = add %u, %v  yield %w }
///     yield %s
///   }
///   return %c
/// }")?;
/// let quantized = quantize(&program, &Request::new(Small::I8));
/// assert!(quantized.program.to_string().contains("dot4"));
/// assert_eq!(quantized.weights, [1]);
/// # Ok::<(), slyz_sir::text::ParseError>(())
/// ```
pub fn quantize(program: &Program, request: &Request) -> Quantized {
    // What is stored and what is not is seen behind the passes.
    let program = pass::optimize(program);
    match request.small {
        Small::I8 => bytes::quantize(program, request),
        Small::F16 | Small::BF16 => halves::quantize(program, request),
    }
}

/// A program that tells ranges, in scalars of `f32`: the least and the greatest number of each [`measured`] argument, and then how large
/// what each candidate holds gets, where its numbers end. `None` where there is nothing to tell.
pub fn ranges(program: &Program, request: &Request) -> Option<Program> {
    let mut program = pass::optimize(program);
    let mut lines = Lines::new(program.fresh_ids());
    let mut results = errors::extremes(&program, &mut lines);
    if request.small.largest().is_some() {
        let all = Request { without: vec![], ..request.clone() };
        results.extend(halves::largest(&program, &all, &mut lines));
    }
    let mut stmts = lines.take();
    program.body.stmts.append(&mut stmts);
    program.body.results = results;
    (!program.body.results.is_empty()).then(|| pass::dce::run(program))
}

/// Where numbers become smaller.
#[derive(Clone, Copy, Debug)]
enum Site {
    /// Elements of an array are rounded before they are read.
    Stored(Id),
    /// A fold that sums products of bytes: its name, and those of the factors.
    Product {
        /// What it binds.
        sum: Id,
        /// What is multiplied.
        factors: [Id; 2],
    },
}

/// Why a candidate is left, if the request says so.
fn left_out(request: &Request, number: usize) -> Option<String> {
    request.without.iter().find(|(left, _)| *left == number).map(|(_, why)| why.clone())
}
