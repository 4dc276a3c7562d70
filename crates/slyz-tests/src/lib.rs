//! Holds no code: `tests/programs` are tests of `slyz`, as one program, apart from it because of what they depend on.
