//! Whole files from their text to what they print, in the interpreter.

mod corpus;
mod fuzz;
#[path = "../golden/mod.rs"]
mod golden;
mod goldens;
mod page;
mod program;
mod watched;
