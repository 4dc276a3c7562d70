//! What people choose about the code that is made: how precise it is, and what becomes of accesses that are not proven.

use std::fmt;
use std::str::FromStr;

/// How close float results are to what the operator table says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Precision {
    /// The target's own functions and contraction, as a person writes for that target: `exp(x)`, `max(a, b)`, `a / b`.
    Native,
    /// Every operator within its units in the last place, and NaN as the table has it; nothing is emulated.
    #[default]
    Table,
    /// The bits of the interpreter.
    Exact,
}

/// What becomes of an access that is not proven to be inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Checks {
    /// It reads zero or writes nothing, and the first one is told: kernel, tensor, index and thread.
    #[default]
    Report,
    /// It reads zero or writes nothing.
    Guard,
    /// It is taken to be inside. Whoever launches the kernel promises that it is.
    Trust,
}

/// What a language has beside its standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Extension {
    /// `i64` and `u64`.
    Int64,
    /// `f64`.
    Float64,
}

/// A choice was named that there is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {what} `{name}`; there are {known}")]
pub struct UnknownChoice {
    what: &'static str,
    name: String,
    known: String,
}

impl Precision {
    /// All, by their names.
    pub const NAMES: [(&'static str, Precision); 3] =
        [("native", Precision::Native), ("table", Precision::Table), ("exact", Precision::Exact)];
}

impl Checks {
    /// All, by their names.
    pub const NAMES: [(&'static str, Checks); 3] =
        [("report", Checks::Report), ("guard", Checks::Guard), ("trust", Checks::Trust)];
}

fn named<T: Copy>(what: &'static str, names: &[(&'static str, T)], name: &str) -> Result<T, UnknownChoice> {
    let known = || names.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let found = names.iter().find(|(known, _)| *known == name).map(|(_, choice)| *choice);
    found.ok_or_else(|| UnknownChoice { what, name: name.to_string(), known: known() })
}

fn name_of<T: PartialEq>(names: &[(&'static str, T)], choice: &T) -> &'static str {
    names.iter().find(|(_, known)| known == choice).map_or("", |(name, _)| name)
}

impl FromStr for Precision {
    type Err = UnknownChoice;

    /// ```
    /// use slyz_sir::choices::Precision;
    /// assert_eq!("table".parse(), Ok(Precision::Table));
    /// let error = "double".parse::<Precision>().unwrap_err();
    /// assert_eq!(error.to_string(), "there is no precision `double`; there are native, table, exact");
    /// ```
    fn from_str(name: &str) -> Result<Precision, UnknownChoice> {
        named("precision", &Precision::NAMES, name)
    }
}

impl Extension {
    /// All, by their names.
    pub const NAMES: [(&'static str, Extension); 2] = [("int64", Extension::Int64), ("float64", Extension::Float64)];
}

impl FromStr for Extension {
    type Err = UnknownChoice;

    fn from_str(name: &str) -> Result<Extension, UnknownChoice> {
        named("extension", &Extension::NAMES, name)
    }
}

impl FromStr for Checks {
    type Err = UnknownChoice;

    fn from_str(name: &str) -> Result<Checks, UnknownChoice> {
        named("way to check", &Checks::NAMES, name)
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name_of(&Precision::NAMES, self))
    }
}

impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name_of(&Checks::NAMES, self))
    }
}
