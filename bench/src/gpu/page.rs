//! The results of a GPU as text.

use super::hand::Gpu;
use super::{Row, Wishes};
use crate::timing::Timing;
use std::fmt::Write;

fn ms(seconds: f64) -> String {
    format!("{:.3}", seconds * 1e3)
}

fn rate(row: &Row) -> String {
    if row.flops > 0 {
        format!("{:.2} TFLOP/s", row.flops as f64 / row.ours.median / 1e12)
    } else {
        format!("{:.1} GB/s", row.bytes as f64 / row.ours.median / 1e9)
    }
}

fn of_copy(row: &Row, copy_rate: f64) -> String {
    if row.flops > 0 {
        return "–".to_string();
    }
    format!("{:.2}", row.bytes as f64 / row.ours.median / copy_rate)
}

fn best(row: &Row) -> Option<&Timing> {
    row.hand.iter().min_by(|a, b| a.median.total_cmp(&b.median))
}

/// A row, when it is done.
pub fn line(row: &Row, copy_rate: f64) -> String {
    let mut text = format!("{:<32} ours {} ({}), {}", row.title, ms(row.ours.median), ms(row.ours.least), rate(row));
    let _ = write!(text, ", {} of copy", of_copy(row, copy_rate));
    for hand in &row.hand {
        let _ = write!(text, "; {} {} ({})", hand.name, ms(hand.median), ms(hand.least));
    }
    for (kernel, seconds) in row.parts.iter().filter(|_| row.parts.len() > 1) {
        let _ = write!(text, "\n    {kernel} {}", ms(*seconds));
    }
    if let Some(why) = &row.ours.wrong {
        let _ = write!(text, "\n    WRONG: {why}");
    }
    text
}

/// All of it, in Markdown.
pub fn page(gpu: &Gpu, wishes: &Wishes, copy_rate: f64, rows: &[Row], small: &[Timing; 2]) -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut page = format!("# {} through {}\n\n", gpu.name, wishes.device);
    let date = wishes.date.as_deref().unwrap_or("unknown");
    let _ = writeln!(page, "`cargo run --release -p bench -- {}`, {date}; {}.\n", arguments.join(" "), gpu.driver);
    let _ = writeln!(
        page,
        "Medians in milliseconds, the fastest run in brackets. Arguments and results stay on the device; calls are started \
        one behind the other and waited for together. The device copies {:.1} GB/s (bytes read and written, same run, by the faster of the driver's copy and a kernel). \
        \"Of copy\" is the rate at which ours moves the bytes that must be moved, over that; \"by hand\" is the best \
        kernel in `bench/kernels/wgsl`, compiled by wgpu without run-time checks, and its time over ours.\n",
        copy_rate / 1e9
    );
    page +=
        "| job, `f32` | ours | launches | rate | of copy | by hand | by hand / ours |\n|---|---|---|---|---|---|---|\n";
    for row in rows {
        let ours = format!("{} ({})", ms(row.ours.median), ms(row.ours.least));
        let wrong = if row.ours.wrong.is_some() { " (wrong)" } else { "" };
        let (hand, ratio) = best(row).map_or(("–".to_string(), "–".to_string()), |hand| {
            let time = format!("{} ({}), {}", ms(hand.median), ms(hand.least), hand.name);
            (time, format!("{:.2}", hand.median / row.ours.median))
        });
        let _ = writeln!(
            page,
            "| {} | {ours}{wrong} | {} | {} | {} | {hand} | {ratio} |",
            row.title,
            row.launches,
            rate(row),
            of_copy(row, copy_rate)
        );
    }
    let [hand, ours] = small;
    let _ = writeln!(
        page,
        "\nA call on 16 elements: {:.1} µs; a launch and its submission by hand: {:.1} µs; ratio {:.2}.",
        ours.median * 1e6,
        hand.median * 1e6,
        ours.median / hand.median
    );
    page
}
