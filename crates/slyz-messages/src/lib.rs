//! Holds no code: `tests/fails` are programs that rustc refuses, with what it says. Apart because trybuild builds all dependencies of its crate again.
