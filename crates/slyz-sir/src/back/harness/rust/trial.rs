//! `main.rs` and `expected.rs`: calls of the functions, as anybody would write them.

use super::{Function, literal, rust_type};
use crate::back::harness::cases::{self, Argument, Case, Fill};
use crate::types::Ty;
use std::collections::BTreeSet;

pub(super) const MAIN: &str = include_str!("main.rs");

const HALF: &str = "
/// The bits of a small whole number in half precision.
fn half(number: u64) -> u16 {
    let bits = (number as f32).to_bits();
    (((bits >> 23) - 112) << 10 | (bits >> 13 & 1023)) as u16
}
";
const BFLOAT: &str = "
/// The upper half of a small whole number as a float.
fn bfloat(number: u64) -> u16 {
    ((number as f32).to_bits() >> 16) as u16
}
";
const OF_HALF: &str = "
/// The number behind the bits of half precision.
fn of_half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        31 if fraction > 0.0 => f64::NAN,
        31 => f64::INFINITY,
        0 => fraction * 2f64.powi(-24),
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}
";

/// The name of a list of expected values.
fn expected_name(function: &Function, k: usize) -> String {
    format!("{}_{k}", function.program.name.to_uppercase())
}

/// What the interpreter computed.
pub(super) fn expected(functions: &[Function], cases: &[Case]) -> String {
    let mut out = "//! What the interpreter of Słyż computed: every so many elements of each result.\n".to_string();
    out += "\n// They are as precise as they are.\n#![allow(clippy::excessive_precision, clippy::approx_constant)]\n";
    for (function, case) in functions.iter().zip(cases) {
        for (k, array) in case.expected.iter().flatten().enumerate() {
            let values: Vec<String> = cases::sampled(array).0.into_iter().map(literal).collect();
            let lines: Vec<String> = values.chunks(10).map(|line| format!("    {},\n", line.join(", "))).collect();
            let name = expected_name(function, k);
            out += &format!("\npub const {name}: &[{}] = &[\n{}];\n", rust_type(array.ty), lines.concat());
        }
    }
    out
}

/// The program.
pub(super) fn main(functions: &[Function], cases: &[Case]) -> String {
    let pairs = || functions.iter().zip(cases);
    let mut validated = String::new();
    let mut measured = String::new();
    for (function, case) in pairs() {
        let name = &function.program.name;
        validated +=
            &validate(function, case).unwrap_or_else(|| format!("    println!(\"  {name}: not compared\");\n"));
        measured += &bench(function, case).unwrap_or_default();
    }
    let filled = pairs().filter(|(_, case)| case.fill == Fill::Ramp);
    let filled: BTreeSet<Ty> = filled.flat_map(|(f, _)| f.plan.params.iter().map(|p| p.ty.elem())).collect();
    let compared: BTreeSet<Ty> = pairs().flat_map(|(_, case)| case.expected.iter().flatten()).map(|a| a.ty).collect();
    let mut out = "//! Validates the functions of `kernels.rs`, and with --bench TIMES measures them. Exits with 1 where a result is wrong.\n\
        #![forbid(unsafe_code)]\n\nmod engine;\nmod expected;\nmod kernels;\n\nuse engine::Error;\nuse std::process::ExitCode;\nuse std::time::Instant;\n"
        .to_string();
    out += &format!(
        "\nfn validate() -> Result<bool, Error> {{\n    let mut right = true;\n{validated}    Ok(right)\n}}\n"
    );
    out += &format!("\nfn bench(times: u32) -> Result<(), Error> {{\n{measured}    Ok(())\n}}\n");
    out += if filled.contains(&Ty::F16) { HALF } else { "" };
    out += if filled.contains(&Ty::BF16) { BFLOAT } else { "" };
    out += if compared.contains(&Ty::F16) { OF_HALF } else { "" };
    // Nobody fills anything where all arrays are zeros.
    let is_ramp = out.contains("ramp(");
    let main = if is_ramp { MAIN.to_string() } else { MAIN.replace("fn ramp", "#[allow(dead_code)]\nfn ramp") };
    out + &main
}

/// Lines that make the arguments of a call, the call, and the bytes of its arguments.
fn call(function: &Function, case: &Case, sizes: &[Option<u64>]) -> Option<(String, String, u64)> {
    let (mut lines, mut args, mut bytes) = (String::new(), vec![], 0);
    let arguments = cases::arguments_of(&function.plan, case.fill, sizes)?;
    for (k, (argument, name)) in arguments.into_iter().zip(&function.names.params).enumerate() {
        match argument {
            Argument::Scalar(value) => args.push(literal(value)),
            Argument::Array { ty, count } => {
                let name_of_type = rust_type(ty);
                let value = match (case.fill, ty) {
                    (Fill::Zeros, Ty::Bool) => format!("vec![false; {count}]"),
                    (Fill::Zeros, Ty::F32 | Ty::F64) => format!("vec![0.0; {count}]"),
                    (Fill::Zeros, _) => format!("vec![0; {count}]"),
                    (Fill::Ramp, Ty::Bool) => format!("(0..{count}).map(|i| ramp({k}, i) % 3 != 0).collect()"),
                    (Fill::Ramp, Ty::F16) => format!("(0..{count}).map(|i| half(ramp({k}, i))).collect()"),
                    (Fill::Ramp, Ty::BF16) => format!("(0..{count}).map(|i| bfloat(ramp({k}, i))).collect()"),
                    (Fill::Ramp, Ty::U64) => format!("(0..{count}).map(|i| ramp({k}, i)).collect()"),
                    (Fill::Ramp, _) => format!("(0..{count}).map(|i| ramp({k}, i) as {name_of_type}).collect()"),
                };
                lines += &format!("        let {name}: Vec<{name_of_type}> = {value};\n");
                bytes += count.saturating_mul(ty.bytes() as u64);
                args.push(format!("&{name}"));
            }
        }
    }
    for k in function.given() {
        args.push(sizes.get(k).copied().flatten()?.to_string());
    }
    Some((lines, format!("kernels::{}({})", function.program.name, args.join(", ")), bytes))
}

fn validate(function: &Function, case: &Case) -> Option<String> {
    let name = &function.program.name;
    let results = case.expected.as_ref()?;
    let (lines, call, _) = call(function, case, &case.sizes)?;
    let mut out = format!("    {{\n{lines}        let found = {call}?;\n");
    for (k, array) in results.iter().enumerate() {
        let (label, found) = match results.len() {
            1 => (name.clone(), "found".to_string()),
            _ => (format!("{name}, result {k}"), format!("found.{k}")),
        };
        let found = if array.shape.is_empty() { format!("&[{found}]") } else { format!("&{found}") };
        let (_, stride) = cases::sampled(array);
        let tolerance =
            if array.ty.is_float() { format!("Some({})", cases::tolerance(array.ty)) } else { "None".to_string() };
        let number = match array.ty {
            Ty::Bool => "|x| f64::from(u8::from(x))",
            Ty::F16 => "of_half",
            Ty::BF16 => "|x| f64::from(f32::from_bits(u32::from(x) << 16))",
            Ty::I64 | Ty::U64 => "|x| x as f64",
            Ty::F64 => "|x| x",
            _ => "f64::from",
        };
        out += &format!(
            "        right &= compare(\n            \"{label}\",\n            {found},\n            expected::{},\n            \
             ({stride}, {}),\n            {tolerance},\n            {number},\n        );\n",
            expected_name(function, k),
            array.data.len()
        );
    }
    Some(out + "    }\n")
}

fn bench(function: &Function, case: &Case) -> Option<String> {
    let name = &function.program.name;
    let sizes = cases::bench_sizes(function.program, case);
    let (lines, call, mut bytes) = call(function, case, &sizes)?;
    for (ty, shape) in function.results() {
        let count = cases::extents(shape, &sizes).map_or(0, |extents| extents.iter().product());
        bytes = bytes.saturating_add(count * ty.bytes() as u64);
    }
    Some(format!("    {{\n{lines}        measure(\"{name}\", times, {bytes}.0, || {call}.map(drop))?;\n    }}\n"))
}
