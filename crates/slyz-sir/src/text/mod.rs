//! The text form of SIR, one for both levels: printed, parsed, and the same after a round trip.
//!
//! Printing numbers the names `%0`, `%1`, … in the order they are written, so two values that differ in numbering
//! only print alike, and `print(parse(print(m))) == print(m)`. Parsing checks what text alone can get wrong (syntax,
//! names that are not bound, constants that do not fit, headings that disagree with results); whether the code makes
//! sense is the verifier's business. A [`Plan`](crate::kernel::Plan) is printed for people and never parsed.
//!
//! ```
//! use slyz_sir::text;
//!
//! let source = "program double<N>(%x: f32[N]) -> f32[N] {
//!     %y: f32[N] = tabulate [N] |%i: i64| { %a: f32 = at %x[%i]  %b: f32 = add %a, %a  yield %b }
//!     return %y
//! }";
//! let program = text::parse_program(source)?;
//! let printed = program.to_string();
//! assert!(printed.starts_with("program double<N>(%0: f32[N]) -> f32[N] {"));
//! assert_eq!(text::parse_program(&printed)?.to_string(), printed);
//! # Ok::<(), text::ParseError>(())
//! ```
//!
//! # Grammar
//!
//! Blanks, line ends and `//` comments separate words and mean nothing else. `x*` is any number of `x`, `x,*` is the
//! same with commas between, `x?` is none or one.
//!
//! ```text
//! file      = ((program | kernel) case*)*
//! program     = "program" WORD sizes? "(" binder,* ")" "->" types ("requires" require,*)?
//!             "{" function* stmt* "return" NAME,* "}"
//! kernel    = "kernel" WORD sizes? "(" binder,* ")" "grid" "[" size "," size "," size "]"
//!             "block" "[" NUMBER "," NUMBER "," NUMBER "]" "{" (memory | function | product | rawcode)* stmt* "}"
//! function  = "fn" WORD "(" binder,* ")" "->" types "{" stmt* "return" NAME,* "}"
//! memory    = space WORD ":" SCALAR "[" size,* "]"
//! product   = "product" WORD "of" "turned"? WORD "," "turned"? WORD ("scaled" literal)? ("plus" WORD)? ("rectified" | "gelu")? ("in" "bytes")?
//! rawcode   = "raw" "extents" shape source
//! source    = ("cuda" | "opencl" | "wgsl" | "c") WORD TEXT*
//! space     = "global" ("read" | "write" | "readwrite") | "constant" | "shared" | "scratch" | "local"
//!
//! sizes     = "<" ("counted"? WORD),* ">"
//! require   = "nonempty" size | size "==" size | size "<=" size
//! size      = NUMBER | WORD | "(" size "+" size ")" | "(" size "*" size ")"
//!           | "min" "(" size "," size ")" | "ceil" "(" size "/" NUMBER ")" | "tri" "(" size ")"
//! types     = type | "(" type,* ")"
//! type      = SCALAR | SCALAR "[" size,* "]"
//! binder    = NAME ":" type
//!
//! stmt      = (binder,* "=")? op ";"?
//! body      = ("|" binder,* "|")? "{" stmt* ("yield" NAME,*)? "}"
//! args      = ("(" NAME,* ")")?
//! monoid    = "with" "commutative"? args body
//! index     = "[" NAME,* "]"
//!
//! op        = "const" SCALAR? literal | "extent" size | OPERATOR NAME,*
//!           | "cast" SCALAR? NAME | "bitcast" SCALAR? NAME | "call" WORD "(" NAME,* ")"
//!           | "if" NAME args body "else" body
//!           | "for" NAME "to" NAME "step" NAME args body
//!           | "while" args body "do" body
//!           | "at" NAME index
//!           | "tabulate" shape body | "fold" shape body monoid | "scan" shape body monoid
//!           | "scatter" shape "into" shape body monoid
//!           | "filter" size "as" WORD body
//!           | "raw" WORD "(" NAME,* ")" "threads" shape "block" "[" NUMBER "," NUMBER "," NUMBER "]" "extents" shape source* ("meaning" body)?
//!           | ("global" | "local" | "block" | "block_dim" | "grid_dim") "." ("x" | "y" | "z")
//!           | "lane" | "subgroup_size"
//!           | "load" WORD index | "store" WORD index ("," NAME)*
//!           | "check" WORD index
//!           | "atomic" (OPERATOR | "exchange" | "compare_exchange" | "load" | "store") WORD index ("," NAME)*
//!           | "barrier" scope | "fence" scope
//!           | "subgroup" together NAME,*
//!           | "load_fragment" "turned"? NAME "[" NAME,* "]"
//!           | "mma" ("f16" | "bf16" | "tf32") NAME,*
//!           | "lanes" NAME "to" NAME body monoid?
//!           | "prefixes" NAME "to" NAME "from" "(" NAMES ")" body monoid "put" body
//! shape     = "[" size,* "]"
//! scope     = "subgroup" | "block" | "device"
//! together  = ("reduce" | "scan") OPERATOR | "shuffle" | "shuffle_xor" | "shuffle_up" | "shuffle_down"
//!           | "broadcast" | "ballot" | "any" | "all"
//! literal   = "-"? NUMBER | "-"? "inf" | "nan" | "true" | "false" | "bits" HEX
//!
//! case      = "case" STRING (WORD "=" NUMBER)* launch? "{" given* expect* "}"
//! launch    = "launch" (("threads" | "grid") three)? ("block" three)?
//! three     = "[" NUMBER "," NUMBER "," NUMBER "]"
//! given     = (NAME | WORD) "=" value
//! expect    = "expect" ((WORD "=")? value ("within" NUMBER)? | "error" STRING)
//! value     = SCALAR literal | SCALAR "[" NUMBER,* "]" "[" literal,* "]"
//! ```
//!
//! `SCALAR` is a type such as `f32`, `OPERATOR` a name of the [operator table](crate::ops::TABLE), `NAME` is `%` and
//! letters or digits. A name is seen from its binder to the end of the body that binds it and is not bound again
//! while it is seen. Functions see nothing outside. A constant or conversion has the type of its binder; the type is
//! written in front only where the two differ, in code the verifier would turn down.
//!
//! # Cases
//!
//! After a program or kernel may stand cases with arguments and what they must give: the format of the test corpus.
//! A program's arguments go by the names of its parameters, a kernel's by the names of its memories and parameters; a
//! kernel's memory that is only written may be left out and starts as zeros. Elements are flat and row-major.
//!
//! ```text
//! case "two elements" N=2 {           // sizes that no argument tells
//!   %0 = f32[2] [1.0, 2.0]
//!   %2 = f32 0.5
//!   expect f32[2] [3.0, inf]          // one line per result, in order; in a kernel `expect c = …`
//!   expect f32 1.5 within 2           // may be off by 2 units in the last place
//! }
//! ```

mod case;
mod code;
mod error;
mod lex;
mod literal;
mod parse;
mod plan;
mod print;

pub use case::{Case, Expect, Subject};
pub use error::ParseError;
pub use literal::print_value;
pub use plan::print_plan;

use crate::kernel::Kernel;
use crate::program::{Module, Program};

/// The text of a module: its programs, then its kernels.
pub fn print_module(module: &Module) -> String {
    module.to_string()
}

/// Reads a module. Cases are read and dropped; [`parse_file`] keeps them.
pub fn parse_module(text: &str) -> Result<Module, ParseError> {
    parse_file(text).map(|(module, _)| module)
}

/// Reads a module and the cases in it.
pub fn parse_file(text: &str) -> Result<(Module, Vec<Case>), ParseError> {
    whole(text, parse::Parser::file)
}

/// Reads one program and nothing else.
pub fn parse_program(text: &str) -> Result<Program, ParseError> {
    whole(text, parse::Parser::program)
}

/// Reads one kernel and nothing else.
pub fn parse_kernel(text: &str) -> Result<Kernel, ParseError> {
    whole(text, parse::Parser::kernel)
}

/// Reads the whole text as one thing.
fn whole<'t, T>(text: &'t str, read: impl FnOnce(&mut parse::Parser<'t>) -> parse::Parsed<T>) -> Result<T, ParseError> {
    let mut parser = parse::Parser::new(text)?;
    let result = read(&mut parser).and_then(|result| parser.end().map(|()| result));
    result.map_err(|error| *error)
}
