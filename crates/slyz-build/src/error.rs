//! Why nothing was written.

use slyz_run::bundle::NoTarget;
use std::fmt;
use std::path::{Path, PathBuf};

/// Why a bundle cannot be written.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A function cannot be traced.
    #[error(transparent)]
    Function(#[from] slyz::Error),
    /// A program cannot be read.
    #[error(transparent)]
    Text(#[from] slyz_sir::text::ParseError),
    /// It cannot be compiled.
    #[error(transparent)]
    Compile(#[from] slyz_run::Error),
    /// What was asked for is no target.
    #[error(transparent)]
    Target(#[from] NoTarget),
    /// Code of another architecture than the program's.
    #[error(
        "code for {target} is of no use in a program for {architecture}. Leave `targets` out, or name \"baseline\""
    )]
    Foreign {
        /// What was asked for.
        target: String,
        /// What the program is built for.
        architecture: String,
    },
    /// The program is built for another machine, and nobody says which compiler does that.
    #[error("the program is built for {0}. Set SLYZ_CC to a C compiler for it")]
    Cross(String),
    /// Two entries of one name.
    #[error("the bundle has \"{0}\" already. Give each entry a name of its own")]
    Twice(String),
    /// No name.
    #[error("\"{0}\" is no name for an entry of a bundle. Use letters, digits, `_` and `-`")]
    Name(String),
    /// A closure, or a generic function.
    #[error(
        "`{0}` cannot be called by another program. Put a plain function into the bundle, with `pub fn`, in a module or a crate that both have"
    )]
    Path(String),
    /// Nobody runs this as a build script.
    #[error("{0} is not set. Call this from build.rs, which cargo runs")]
    NotInBuild(&'static str),
    /// A file cannot be written.
    #[error("cannot write {}: {why}", .path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
}

/// As its message: that is what cargo shows of a build script whose `main` gives an error.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Error {
    pub(crate) fn write(path: &Path, error: &std::io::Error) -> Error {
        Error::Write { path: path.to_path_buf(), why: error.to_string() }
    }
}
