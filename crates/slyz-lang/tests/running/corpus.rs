//! `tests/corpus/*.vex`: each file prints what stands behind its `//>`, line by line. Devices run them in `slyz-run`.

use crate::program::run;
use std::path::Path;

#[test]
fn files_print_what_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let entries = std::fs::read_dir(folder).expect("the folder tests/corpus");
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "vex"));
    files.sort();
    let mut wrong = vec![];
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        let told = text.lines().filter_map(|line| line.split_once("//>")).map(|(_, told)| told.trim());
        let ran = run(&text);
        if !ran.diagnostics.is_empty() || !ran.printed.lines().map(str::trim_end).eq(told) {
            let shown = slyz_lang::render::render(&file.to_string_lossy(), &text, &ran.diagnostics);
            wrong.push(format!("{}:\n{}\n{shown}", file.display(), ran.printed));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ\n{}", wrong.len(), files.len(), wrong.join("\n"));
}
