//! Results as text: a line while it runs, and a page of Markdown.

use crate::growth::Curve;
use crate::job::{OURS, Row};
use crate::machine::Machine;
use crate::timing::Timing;
use std::fmt::Write;

fn ms(seconds: f64) -> String {
    let ms = seconds * 1e3;
    if ms < 10.0 { format!("{ms:.2}") } else { format!("{ms:.1}") }
}

fn time(timing: &Timing) -> String {
    let wrong = if timing.wrong.is_some() { " (wrong)" } else { "" };
    ms(timing.median) + wrong
}

fn share(value: Option<f64>) -> String {
    value.map_or("–".to_string(), |value| format!("{value:.2}"))
}

/// A job, as it is printed when it is done.
pub fn row_text(row: &Row) -> String {
    let mut text = format!("{:<26}", row.job.title);
    for timing in &row.timings {
        let _ = write!(text, " {} {} ({})", timing.name, ms(timing.median), ms(timing.least));
    }
    let (median, least) = (row.share(|t| t.median), row.share(|t| t.least));
    let _ = writeln!(text, "  ours {} ({}) of best, {} runs", share(median), share(least), row.repetitions);
    for timing in &row.timings {
        if let Some(why) = &timing.wrong {
            let _ = writeln!(text, "    {} is WRONG: {why}", timing.name);
        }
    }
    text
}

/// Contestants in the order of the columns.
pub const COLUMNS: [&str; 12] =
    [OURS, "C", "C-nt", "rayon", "ndarray", "faer", "gemm", "candle", "numpy", "numba", "JAX", "torch"];

/// The columns that have a time.
pub fn columns(rows: &[Row]) -> Vec<&'static str> {
    let is_there = |column: &&str| rows.iter().any(|row| row.timings.iter().any(|timing| timing.name == **column));
    COLUMNS.into_iter().filter(is_there).collect()
}

/// The whole page. `python` says why Python is not among the contestants.
pub fn page(machine: &Machine, rows: &[Row], latencies: &[Timing], python: Option<&str>) -> String {
    let columns = columns(rows);
    let mut page = String::from("# Speed on the CPU\n\n");
    let Machine { command, date, model, compilers, threads, load } = machine;
    let load = load.as_ref().map_or(String::new(), |load| format!("; load average {load} at the end"));
    let _ = writeln!(page, "`{command}`, {date}; {model}, {threads} threads{load}; {compilers}.\n");
    page += "Milliseconds, median of runs in which the contestants alternate; every result is checked. \"C\" is hand-written \
        vector C (`bench/kernels`), \"C-nt\" with non-temporal stores, \"rayon\" plain Rust on all threads with the \
        standard library's mathematics; ndarray multiplies matrices with `matrixmultiply`. Outputs are there \
        beforehand; ours come from the pool. \"Share\" is the best other contestant's time over ours: above 1, ours is \
        the fastest. In brackets the same for the fastest run of each, which other work on the machine disturbs less.\n\n";
    let _ = writeln!(page, "| job | {} | best | share | to reach |", columns.join(" | "));
    let _ = writeln!(page, "|---|{}---|---|---|", "---|".repeat(columns.len()));
    for row in rows {
        let _ = write!(page, "| {} |", row.job.title);
        for &column in &columns {
            let timing = row.timings.iter().find(|timing| timing.name == column);
            let _ = write!(page, " {} |", timing.map_or("–".to_string(), time));
        }
        let best = row.best(|t| t.median).map_or("–", |best| &best.name);
        let (median, least) = (share(row.share(|t| t.median)), share(row.share(|t| t.least)));
        let _ = writeln!(page, " {best} | {median} ({least}) | {} |", share(row.job.target));
    }
    page += "\nUntil Black-Scholes runs, in milliseconds; the first process has an empty disk cache, the second finds it filled:\n\n| | median | least |\n|---|---|---|\n";
    for latency in latencies {
        let _ = writeln!(page, "| {} | {} | {} |", latency.name, ms(latency.median), ms(latency.least));
    }
    match python {
        Some(why) => {
            let _ = writeln!(page, "\nPython is not among the contestants ({why}).");
        }
        None => page += "\nnumpy, numba, JAX and torch ran after the others, in a process of their own.\n",
    }
    page
}

/// Growth, in nanoseconds per element.
pub fn growth(curves: &[Curve]) -> String {
    let mut text = String::from("      elements");
    let width = |curve: &Curve| curve.name.len().max(12) + 2;
    text.extend(curves.iter().map(|curve| format!("{:>1$}", curve.name, width(curve))));
    let sizes = curves.first().map_or(&[][..], |curve| &curve.points);
    for (k, (n, _)) in sizes.iter().enumerate() {
        let _ = write!(text, "\n{n:>14}");
        text.extend(curves.iter().map(|curve| format!("{:>1$.3}", curve.points[k].1 * 1e9, width(curve))));
    }
    text + "\n"
}
