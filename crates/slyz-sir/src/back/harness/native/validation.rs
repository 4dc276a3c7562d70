//! `expected.h` and the program that validates and measures: calls of the functions of the header, as anybody would write them.

use super::function::Function;
use super::literal::{BFLOAT, HALF, c_type, literal, number};
use crate::back::harness::cases::{self, Argument, Case, Fill};
use crate::types::{Scalar, Ty};
use std::collections::BTreeSet;

const MAIN: &str = include_str!("main.c");

/// The name of a list of expected values.
fn expected_name(function: &Function, k: usize) -> String {
    format!("expected_{}_{k}", function.entry.program.name)
}

/// Calls of a function, and what comes of them.
#[derive(Default)]
pub(super) struct Trial {
    /// The function.
    pub name: String,
    /// Lists of values.
    pub values: String,
    /// Functions that compare, with their names.
    pub validations: Vec<(String, String)>,
    /// The function that measures.
    pub bench: Option<String>,
    /// Types of what is filled by a formula, and of what is compared.
    pub filled: BTreeSet<Ty>,
    pub compared: BTreeSet<Ty>,
}

/// A list of values.
pub(super) fn list(name: &str, ty: Ty, values: impl Iterator<Item = Scalar>) -> String {
    let mut values: Vec<String> = values.map(literal).collect();
    if values.is_empty() {
        // Lists of C have an element at least.
        values.push("0".to_string());
    }
    let lines: Vec<String> = values.chunks(10).map(|line| format!("    {},\n", line.join(", "))).collect();
    format!("\nstatic const {} {name}[] = {{\n{}}};\n", c_type(ty), lines.concat())
}

/// The call of a program that its case is.
pub(super) fn trial(function: &Function, case: &Case, seconds: &str) -> Trial {
    let name = &function.entry.program.name;
    let mut values = String::new();
    for (k, array) in case.expected.iter().flatten().enumerate() {
        values += &list(&expected_name(function, k), array.ty, cases::sampled(array).0.into_iter());
    }
    Trial {
        name: name.clone(),
        values,
        validations: validate(function, case).map(|text| (format!("validate_{name}"), text)).into_iter().collect(),
        bench: bench(function, case, seconds),
        filled: function.entry.plan.params.iter().map(|p| p.ty.elem()).collect(),
        compared: function.outputs.iter().map(|output| output.ty).collect(),
    }
}

/// What the interpreter computed.
pub(super) fn expected(trials: &[Trial]) -> String {
    let mut out = "/* What the interpreter of Slyz computed: every so many elements of each result. */\n".to_string();
    trials.iter().for_each(|trial| out += &trial.values);
    out
}

/// The program.
pub(super) fn main(header: &str, trials: &[Trial]) -> String {
    let filled: BTreeSet<Ty> = trials.iter().flat_map(|trial| trial.filled.clone()).collect();
    let compared: BTreeSet<Ty> = trials.iter().flat_map(|trial| trial.compared.clone()).collect();
    let mut out = format!(
        "/* Validates the functions of {header}, and with --bench TIMES measures them. Exits with 1 where a result is wrong. */\n"
    );
    out += &format!("#include \"{header}\"\n");
    for name in ["math", "stdio", "stdlib", "string"] {
        out += &format!("#include <{name}.h>\n");
    }
    out += "#include \"expected.h\"\n\n";
    out += MAIN;
    out.push('\n');
    compared.iter().for_each(|ty| out += &number(*ty));
    out += if filled.contains(&Ty::F16) { HALF } else { "" };
    out += if filled.contains(&Ty::BF16) { BFLOAT } else { "" };
    let mut validated = vec![];
    let mut measured = vec![];
    for Trial { name, validations, bench, .. } in trials {
        for (validate, text) in validations {
            out += text;
            validated.push(format!("    right &= {validate}();\n"));
        }
        if validations.is_empty() {
            validated.push(format!("    printf(\"  {name}: not compared\\n\");\n"));
        }
        if let Some(text) = bench {
            out += text;
            measured.push(format!("    if (bench_{name}(times)) return 1;\n"));
        }
    }
    out += "int main(int argc, char **argv) {\n    int right = 1;\n    printf(\"validating:\\n\");\n";
    out += &validated.concat();
    out += "    if (!right) return 1;\n    if (argc < 2 || strcmp(argv[1], \"--bench\") != 0) return 0;\n";
    out += "    int times = argc > 2 ? atoi(argv[2]) : 10;\n    printf(\"best of %d:\\n\", times);\n";
    out + &measured.concat() + "    return 0;\n}\n"
}

/// Lines that make the arguments of a call and the room for its results; the call; lines that free them.
struct Call {
    before: String,
    call: String,
    after: String,
    /// Of arguments and results.
    bytes: u64,
}

fn call(function: &Function, case: &Case, sizes: &[Option<u64>], counts: &[u64]) -> Option<Call> {
    let plan = &function.entry.plan;
    let mut call = Call { before: String::new(), call: String::new(), after: String::new(), bytes: 0 };
    let mut args = vec![];
    for (k, (argument, name)) in
        cases::arguments_of(plan, case.fill, sizes)?.into_iter().zip(&function.names.params).enumerate()
    {
        match argument {
            Argument::Scalar(value) => args.push(literal(value)),
            Argument::Array { ty, count } => {
                let name_of_type = c_type(ty);
                call.before +=
                    &format!("    {name_of_type} *{name} = ({name_of_type} *)elements({count}, sizeof *{name});\n");
                if case.fill == Fill::Ramp {
                    let value = match ty {
                        Ty::Bool => format!("ramp({k}, i) % 3 != 0"),
                        Ty::F16 => format!("half(ramp({k}, i))"),
                        Ty::BF16 => format!("bfloat(ramp({k}, i))"),
                        _ => format!("({name_of_type})ramp({k}, i)"),
                    };
                    call.before += &format!("    for (int64_t i = 0; i < {count}; i++) {name}[i] = {value};\n");
                }
                call.after += &format!("    free({name});\n");
                call.bytes = call.bytes.saturating_add(count.saturating_mul(ty.bytes() as u64));
                args.push(name.clone());
            }
        }
    }
    for (output, count) in function.outputs.iter().zip(counts) {
        let (name, ty) = (&output.name, c_type(output.ty));
        call.before += &format!("    {ty} *{name} = ({ty} *)elements({count}, sizeof *{name});\n");
        call.after += &format!("    free({name});\n");
        call.bytes = call.bytes.saturating_add(count.saturating_mul(output.ty.bytes() as u64));
        args.push(name.clone());
    }
    for var in function.given() {
        args.push(sizes.get(var).copied().flatten()?.to_string());
    }
    args.extend(function.counted().into_iter().map(|k| format!("&{}", function.room(k))));
    call.call = format!("slyz_{}({})", function.entry.program.name, args.join(", "));
    Some(call)
}

fn validate(function: &Function, case: &Case) -> Option<String> {
    let name = &function.entry.program.name;
    let expected = case.expected.as_ref()?;
    let counts: Vec<u64> = expected.iter().map(|array| array.data.len() as u64).collect();
    let Call { before, call, after, .. } = call(function, case, &case.sizes, &counts)?;
    let mut out = format!("static int validate_{name}(void) {{\n{before}");
    let mut compared = String::new();
    for k in function.counted() {
        // An extent that is the size itself says what it is to be.
        let var = crate::size::Size::Var(crate::size::SizeVar(k as u32));
        let places = function.outputs.iter().zip(expected);
        let extents = places.flat_map(|(output, array)| output.shape.iter().zip(&array.shape));
        let (_, count) = { extents }.find(|(size, _)| **size == var)?;
        let room = function.room(k);
        out += &format!("    int64_t {room} = {count};\n");
        compared += &format!("    right = right && compare_count(\"{name}\", {room}, {count});\n");
    }
    out += &format!("    int right = !told(\"{name}\", {call});\n{compared}");
    for (k, (array, output)) in expected.iter().zip(&function.outputs).enumerate() {
        let label = if expected.len() == 1 { name.clone() } else { format!("{name}, result {k}") };
        let (values, stride) = cases::sampled(array);
        let tolerance = if array.ty.is_float() { cases::tolerance(array.ty) } else { "-1.0" };
        out += &format!(
            "    if (right) right = compare(\n        \"{label}\", {}, {}, sizeof *{}, number_{}, {}, {stride}, {tolerance});\n",
            output.name,
            expected_name(function, k),
            output.name,
            array.ty,
            values.len(),
        );
    }
    Some(out + &after + "    return right;\n}\n\n")
}

fn bench(function: &Function, case: &Case, seconds: &str) -> Option<String> {
    let name = &function.entry.program.name;
    let sizes = cases::bench_sizes(&function.entry.program, case);
    // Nobody knows how much room results need whose sizes are counted.
    let count = |output: &super::function::Output| {
        cases::extents(output.shape, &sizes)?.into_iter().try_fold(1u64, u64::checked_mul)
    };
    let counts = function.outputs.iter().map(count).collect::<Option<Vec<u64>>>()?;
    let Call { before, call, after, bytes } = call(function, case, &sizes, &counts)?;
    Some(bench_text(name, seconds, &before, &call, &after, bytes))
}

/// A function that measures a call, with lines before and after it.
pub(super) fn bench_text(name: &str, seconds: &str, before: &str, call: &str, after: &str, bytes: u64) -> String {
    let mut out =
        format!("static int bench_{name}(int times) {{\n{before}    int error = 0;\n    double best = INFINITY;\n");
    out += &format!("    for (int k = 0; k < times && !error; k++) {{\n        error = told(\"{name}\", {call});\n");
    out += &format!("        best = fmin(best, {seconds}());\n    }}\n");
    out += &format!("    if (!error) measured(\"{name}\", best, {bytes}.0);\n{after}");
    out + "    return error;\n}\n\n"
}
