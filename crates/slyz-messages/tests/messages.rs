//! The messages that users see for typical mistakes. `TRYBUILD=overwrite cargo test -p slyz-messages` blesses them.

use std::path::Path;

#[test]
fn messages() {
    files_of_vex();
    trybuild::TestCases::new().compile_fail("tests/fails/*.rs");
}

/// Puts the files of `vex!` beside the manifest that trybuild writes, where the macro looks for them.
fn files_of_vex() {
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
    let package = built.join("tests/trybuild/slyz-messages");
    std::fs::create_dir_all(&package).expect("a folder for trybuild");
    let fails = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fails");
    for entry in fails.read_dir().expect("the folder tests/fails") {
        let file = entry.expect("an entry of tests/fails").path();
        if let (Some(name), true) = (file.file_name(), file.extension().is_some_and(|kind| kind == "vex")) {
            std::fs::copy(&file, package.join(name)).expect("a copy of a file");
        }
    }
}
