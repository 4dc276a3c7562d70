//! The messages that users see for typical mistakes. `TRYBUILD=overwrite cargo test -p slyz-messages` blesses them.

#[test]
fn messages() {
    trybuild::TestCases::new().compile_fail("tests/fails/*.rs");
}
