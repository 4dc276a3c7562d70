//! How long it took until a program could run.

use std::fmt;
use std::time::Duration;

/// Where the time of a compilation went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildTime {
    /// Passes, lowering and checks of what they made.
    pub passes: Duration,
    /// Writing the source code.
    pub text: Duration,
    /// Whoever compiles that, or finding it compiled, and loading it.
    pub compiler: Duration,
    /// How many files that were, compiled side by side.
    pub files: usize,
    /// How many of them were found compiled, on disk or in a bundle.
    pub cached: usize,
}

/// `built in 212.4 ms: passes 3.1, C text 1.2, compiler 208.1 ms`
impl fmt::Display for BuildTime {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let BuildTime { passes, text, compiler, files, cached } = *self;
        write!(f, "built in {:.1} ms: ", ms(passes + text + compiler))?;
        write!(f, "passes {:.1} ms, C text {:.1} ms, ", ms(passes), ms(text))?;
        match (files, files - cached) {
            (0, _) => write!(f, "nothing to compile"),
            (_, 0) => write!(f, "found compiled {:.1} ms", ms(compiler)),
            (1, _) => write!(f, "C compiler {:.1} ms", ms(compiler)),
            (_, compiled) if cached == 0 => write!(f, "C compiler {:.1} ms for {compiled} files", ms(compiler)),
            (_, compiled) => {
                write!(f, "C compiler {:.1} ms for {compiled} files, {cached} found compiled", ms(compiler))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_words() {
        let ms = Duration::from_millis;
        let time =
            |files, cached| BuildTime { passes: ms(3), text: ms(1), compiler: ms(200), files, cached }.to_string();
        assert_eq!(time(1, 0), "built in 204.0 ms: passes 3.0 ms, C text 1.0 ms, C compiler 200.0 ms");
        assert!(time(1, 1).ends_with("found compiled 200.0 ms"));
        assert!(time(3, 1).ends_with("C compiler 200.0 ms for 2 files, 1 found compiled"));
    }
}
