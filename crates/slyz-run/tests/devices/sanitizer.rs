//! Tests once more, with generated C under AddressSanitizer.
//!
//! A test calls [`again`] with the names of other tests of its file. The test program starts itself with these, with the
//! sanitizer's library preloaded, a compiler that makes generated C tell it about every access, and a pool whose blocks end where
//! the arrays end. An access outside ends that process, and the test that started it fails.
//!
//! Where the C compiler has no sanitizer, such tests are skipped and say so, unless `SLYZ_REQUIRE_SANITIZER=1`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Set in the process that the sanitizer watches.
const WATCHED: &str = "SLYZ_SANITIZED";

/// Does the sanitizer watch this process?
pub fn is_on() -> bool {
    std::env::var_os(WATCHED).is_some()
}

/// Tells whoever reads about a fault what was running.
pub fn note(what: impl FnOnce() -> String) {
    if is_on() {
        eprintln!("{}", what());
    }
}

/// Runs these tests of this program under the sanitizer, with these settings. All must pass.
pub fn again(tests: &[&str], settings: &[(&str, &str)]) {
    let Some(done) = run(tests, settings) else { return };
    let [out, told] = [&done.stdout, &done.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let passed = done.status.success() && out.contains(&format!("{} passed", tests.len()));
    assert!(passed, "{tests:?} under AddressSanitizer: {}\n{}\n{}", done.status, last(&out, 3000), excerpt(&told));
    println!("{tests:?} under AddressSanitizer: {}", last(out.trim_end(), 200));
}

/// What became of these tests under the sanitizer; `None` where there is none.
pub fn run(tests: &[&str], settings: &[(&str, &str)]) -> Option<Output> {
    if !slyz_trials::has_sanitizer() {
        return None;
    }
    let library = slyz_trials::asan().expect("it was found");
    let own = std::env::current_exe().expect("a test is a program");
    let mut command = Command::new(own);
    command.args(tests).args(["--exact", "--nocapture"]);
    command.env(WATCHED, "1").env("SLYZ_POOL_EXACT", "1").env("SLYZ_CC", compiler_for_it());
    command
        .env("LD_PRELOAD", library)
        .env("ASAN_OPTIONS", "detect_leaks=0:malloc_context_size=4:detect_odr_violation=0");
    command.envs(settings.iter().filter(|(name, _)| std::env::var_os(name).is_none()).copied());
    Some(command.output().expect("the test program starts again"))
}

fn compiler() -> String {
    std::env::var("CC").unwrap_or_else(|_| "cc".into())
}

/// A compiler that has the sanitizer look at every access. Its own processes are not watched. It does not optimise: these tests
/// wait for the compiler, and an access is outside or not whatever becomes of the code around it.
fn compiler_for_it() -> PathBuf {
    let script = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sanitizing-cc");
    // gcc 12 fails on some vectors where it does not optimise.
    let (cc, watch) = (compiler(), "-fsanitize=address");
    let text =
        format!("#!/bin/sh\nunset LD_PRELOAD\n{cc} \"$@\" -O0 {watch} 2>/dev/null || exec {cc} \"$@\" {watch}\n");
    if std::fs::read_to_string(&script).ok().as_ref() != Some(&text) {
        // Other tests may start it at this moment: it is there whole, or not at all.
        let fresh = script.with_extension(std::process::id().to_string());
        std::fs::write(&fresh, text).expect("the build directory is writable");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&fresh, mode).expect("a file of ours");
        std::fs::rename(&fresh, &script).expect("the build directory is writable");
    }
    script
}

/// The end of a text.
fn last(text: &str, most: usize) -> &str {
    let start = text.char_indices().rev().take(most).last().map_or(0, |(at, _)| at);
    &text[start..]
}

/// What was running when the sanitizer stopped the process, and what it said.
fn excerpt(told: &str) -> String {
    match told.split_once("ERROR: AddressSanitizer") {
        Some((before, after)) => {
            let after: String = after.chars().take(2000).collect();
            format!("{}ERROR: AddressSanitizer{after}", last(before, 6000))
        }
        None => last(told, 6000).to_string(),
    }
}
