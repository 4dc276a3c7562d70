//! Contestants from Python, in a process of their own: `python/contestants.py`, when there is a Python with numpy.
//!
//! They do not alternate with the others, so their times are next to the table, not in it.

use std::path::Path;
use std::process::Command;

/// What Python has to say.
pub enum Python {
    /// Nothing, and why.
    Absent(String),
    /// Job, contestant, median in milliseconds.
    Times(Vec<(String, String, f64)>),
}

/// Runs the script.
pub fn measure() -> Python {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/contestants.py");
    let threads = rayon::current_num_threads().to_string();
    let output = match Command::new("python3").arg(script).arg(threads).output() {
        Ok(output) => output,
        Err(error) => return Python::Absent(format!("python3 does not start: {error}")),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Python::Absent(errors.trim().lines().last().unwrap_or("it failed without a word").to_string());
    }
    let time = |line: &str| {
        let mut words = line.split('\t');
        Some((words.next()?.to_string(), words.next()?.to_string(), words.next()?.parse().ok()?))
    };
    Python::Times(text.lines().filter_map(time).collect())
}
