//! Results as pictures: SVG, written by hand, readable on light and dark pages.

use crate::growth::{Curve, FIRST};
use crate::job::{OURS, Row};
use std::fmt::Write;

const HEAD: &str = "font-family=\"system-ui, sans-serif\" font-size=\"12\"";

/// The colour of a contestant, and its place in the legend.
const COLOURS: [(&str, &str); 12] = [
    (OURS, "#d1495b"),
    ("C", "#30638e"),
    ("C-nt", "#5b9bd5"),
    ("rayon", "#edae49"),
    ("ndarray", "#8d6a9f"),
    ("faer", "#3d8b63"),
    ("gemm", "#8fbc94"),
    ("candle", "#c97b63"),
    ("numpy", "#4d7ea8"),
    ("numba", "#6aa5a9"),
    ("JAX", "#7b4b94"),
    ("torch", "#e07a3f"),
];

/// Speeds beside the best of each job: a bar for every contestant.
pub fn bars(rows: &[Row]) -> String {
    let (left, width, bar) = (190.0, 560.0, 7.0);
    let mut body = String::new();
    let mut y = 50.0;
    for row in rows {
        let best = row.timings.iter().map(|timing| timing.median).fold(f64::INFINITY, f64::min);
        let height = bar * row.timings.len() as f64;
        let _ = writeln!(
            body,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            left - 8.0,
            y + height / 2.0 + 4.0,
            row.job.title
        );
        for timing in &row.timings {
            let length = (best / timing.median * width).max(1.0);
            let colour = COLOURS.iter().find(|(name, _)| *name == timing.name).map_or("#999", |(_, colour)| colour);
            let (name, ms) = (&timing.name, timing.median * 1e3);
            let _ = writeln!(
                body,
                "<rect x=\"{left}\" y=\"{y}\" width=\"{length:.1}\" height=\"{}\" fill=\"{colour}\"><title>{name}: {ms:.2} ms</title></rect>",
                bar - 1.0
            );
            y += bar;
        }
        y += 8.0;
    }
    let mut legend = String::new();
    let columns = crate::table::columns(rows);
    let step = (width / columns.len().max(1) as f64).min(78.0);
    for (k, (name, colour)) in COLOURS.iter().filter(|(name, _)| columns.contains(name)).enumerate() {
        let x = left + step * k as f64;
        let _ = writeln!(
            legend,
            "<rect x=\"{x}\" y=\"30\" width=\"10\" height=\"10\" fill=\"{colour}\"/><text x=\"{}\" y=\"39\">{name}</text>",
            x + 14.0
        );
    }
    frame(left + width + 20.0, y + 10.0, "Speed beside the fastest of each job (longer is faster)", &(legend + &body))
}

/// Time per element against size, both logarithmic.
pub fn growth(title: &str, curves: &[Curve]) -> String {
    let (left, top, width, height) = (70.0, 75.0, 620.0, 340.0);
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let (low, high) = points().fold((f64::INFINITY, 0f64), |(low, high), &(_, t)| (low.min(t), high.max(t)));
    let (low, high) = (low.log10().floor(), high.log10().ceil());
    let last = points().map(|&(n, _)| n.ilog2()).max().unwrap_or(26);
    let first = f64::from(FIRST);
    let x = |n: usize| left + (f64::from(n.ilog2()) - first) / (f64::from(last) - first) * width;
    let y = |t: f64| top + (high - t.log10()) / (high - low) * height;
    let mut body = String::new();
    for decade in low as i32..=high as i32 {
        let (t, line) = (10f64.powi(decade), y(10f64.powi(decade)));
        let _ = writeln!(
            body,
            "<path d=\"M{left} {line:.1}h{width}\" stroke=\"#9995\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{} ns</text>",
            left - 8.0,
            line + 4.0,
            t * 1e9
        );
    }
    for exponent in (FIRST..=last).step_by(2) {
        let place = x(1 << exponent);
        let _ = writeln!(
            body,
            "<text x=\"{place:.1}\" y=\"{}\" text-anchor=\"middle\">2^{exponent}</text>",
            top + height + 20.0
        );
    }
    let looks =
        [("#d1495b", ""), ("#30638e", ""), ("#d1495b", "5 4"), ("#30638e", "5 4"), ("#3a7d44", ""), ("#3a7d44", "5 4")];
    for (k, (curve, (colour, dashes))) in curves.iter().zip(looks).enumerate() {
        let line: Vec<String> = curve.points.iter().map(|&(n, t)| format!("{:.1},{:.1}", x(n), y(t))).collect();
        let style = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"");
        let name = &curve.name;
        let place = left + 210.0 * (k % 3) as f64;
        let line_of_names = 35.0 + 16.0 * (k / 3) as f64;
        let _ = writeln!(
            body,
            "<polyline points=\"{}\" {style}/><path d=\"M{place} {line_of_names}h24\" {style}/><text x=\"{}\" y=\"{}\">{name}</text>",
            line.join(" "),
            place + 30.0,
            line_of_names + 4.0
        );
    }
    frame(left + width + 30.0, top + height + 35.0, title, &body)
}

fn frame(width: f64, height: f64, title: &str, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" {HEAD}>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"12\" y=\"18\" font-size=\"14\" font-weight=\"bold\">{title}</text>\n{body}</svg>\n"
    )
}
