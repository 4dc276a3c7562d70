//! On what and when it was measured.

use crate::native::Native;
use std::process::Command;

/// What the head of a table says.
pub struct Machine {
    /// The command that made it.
    pub command: String,
    /// The day.
    pub date: String,
    /// The processor, as it names itself.
    pub model: String,
    /// Versions of the compilers.
    pub compilers: String,
    /// How many threads everybody had.
    pub threads: usize,
    /// How many processes wanted a processor in the last minute, ours among them, where the system tells.
    pub load: Option<String>,
}

/// The first line a command prints.
fn says(command: &str, argument: &str) -> Option<String> {
    let output = Command::new(command).arg(argument).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).lines().next()?.to_string())
}

/// This machine, now.
pub fn describe(date: Option<String>, native: &Native) -> Machine {
    let unknown = || "unknown".to_string();
    let model = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_string())
    });
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = if arguments.is_empty() { String::new() } else { format!(" -- {}", arguments.join(" ")) };
    Machine {
        command: format!("cargo run --release -p bench{rest}"),
        date: date.or_else(|| says("date", "+%Y-%m-%d")).unwrap_or_else(unknown),
        model: model.or_else(|| says("uname", "-m")).unwrap_or_else(unknown),
        compilers: format!("{}; {}", native.compiler, says("rustc", "--version").unwrap_or_else(unknown)),
        threads: rayon::current_num_threads(),
        load: std::fs::read_to_string("/proc/loadavg").ok().and_then(|s| Some(s.split(' ').next()?.to_string())),
    }
}
