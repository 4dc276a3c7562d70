//! `slyz test FILE.vex`: the file is run, and prints what stands behind its `//>`, line by line.

use super::run::{Wishes, run};
use anyhow::anyhow;
use std::fs;
use std::path::Path;

/// Runs a file; what is wrong with what it prints is an error.
pub fn test(path: &Path, device: Option<&str>) -> anyhow::Result<()> {
    let mut out = vec![];
    run(path, Wishes { device, check_races: false }, &mut out)?;
    let text = fs::read_to_string(path)?;
    let expected: Vec<&str> =
        text.lines().filter_map(|line| line.split_once("//>")).map(|(_, told)| told.trim()).collect();
    let printed = String::from_utf8_lossy(&out);
    let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
    if expected.is_empty() {
        return Err(anyhow!("nothing to compare with: write what it prints behind `//>`, line by line"));
    }
    let lines = expected.len().max(printed.len());
    match (0..lines).find(|&k| expected.get(k) != printed.get(k)) {
        None => Ok(()),
        Some(k) => {
            let line = |lines: &[&str]| lines.get(k).map_or("nothing".to_string(), |line| format!("`{line}`"));
            Err(anyhow!("line {} of the output: expected {}, found {}", k + 1, line(&expected), line(&printed)))
        }
    }
}
