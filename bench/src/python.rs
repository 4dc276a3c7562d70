//! Contestants from Python, in a process of their own: `python/contestants.py`, when there is a Python with numpy.
//!
//! They do not alternate with the others, and their answers are checked over there; their times go into the same table.

use crate::job::Row;
use crate::timing::Timing;
use std::path::Path;
use std::process::Command;

/// Runs the script for the jobs of these rows, and adds the times to them. Gives the reason when nothing came of it.
///
/// `PYTHON` names another interpreter than `python3`, such as one of a virtual environment.
pub fn join(rows: &mut [Row], quick: bool) -> Option<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/contestants.py");
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let mut command = Command::new(&python);
    command.arg(script).arg(rayon::current_num_threads().to_string());
    if quick {
        command.arg("--quick");
    }
    command.args(rows.iter().map(|row| row.job.name));
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return Some(format!("{} does not start: {error}", python.to_string_lossy())),
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    for complaint in errors.lines().filter(|line| line.contains(" is wrong about ")) {
        eprintln!("    Python: {complaint}");
    }
    let mut count = 0;
    for (job, timing) in String::from_utf8_lossy(&output.stdout).lines().filter_map(timing) {
        if let Some(row) = rows.iter_mut().find(|row| row.job.name == job) {
            row.timings.push(timing);
            count += 1;
        }
    }
    let last = || errors.trim().lines().last().unwrap_or("it ended without a word").to_string();
    if output.status.success() && count > 0 { None } else { Some(last()) }
}

/// A line of the script: job, contestant, median and least time in milliseconds.
fn timing(line: &str) -> Option<(&str, Timing)> {
    let words: Vec<&str> = line.split('\t').collect();
    let [job, name, median, least] = words[..] else { return None };
    let seconds = |ms: &str| ms.parse::<f64>().ok().map(|ms| ms * 1e-3);
    Some((job, Timing { name: name.to_string(), median: seconds(median)?, least: seconds(least)?, wrong: None }))
}
