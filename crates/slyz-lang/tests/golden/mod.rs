//! Texts that were looked at once: any difference fails, `BLESS=1` rewrites them.

use std::path::{Path, PathBuf};

/// The `.vex` files of a folder under `tests`, in order.
pub fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "vex"))
        .collect();
    files.sort();
    files
}

/// Compares what is found for every file with the `.txt` beside it.
pub fn compare(files: &[PathBuf], found: impl Fn(&str, &str) -> String) {
    let bless = std::env::var_os("BLESS").is_some();
    let mut different = vec![];
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy();
        let found = found(&name, &std::fs::read_to_string(file).unwrap());
        let golden = file.with_extension("txt");
        if std::fs::read_to_string(&golden).unwrap_or_default() == found {
            continue;
        }
        if bless {
            std::fs::write(&golden, found).unwrap();
        } else {
            different.push(format!("{name}: found\n{found}"));
        }
    }
    assert!(different.is_empty(), "{}\nBLESS=1 rewrites the files.", different.join("\n"));
}
