//! `cases.js`: calls of the functions of `kernels.js`, and what the interpreter makes of them.

use super::super::cases::{self, Argument, Case, Fill};
use super::javascript::{self, array_type, element, literal};
use crate::interp::Array;
use crate::kernel::Plan;
use crate::types::{Scalar, Ty};

/// A call, and what it is to give.
pub(super) struct Call {
    /// What the table calls it.
    pub name: String,
    /// Statements and an expression that gives a list of results; without them there is nothing to compare.
    pub run: Option<(Vec<String>, String)>,
    /// Does it name `ramp`?
    pub ramps: bool,
    /// The results.
    pub expected: Vec<Array>,
}

/// The file, with the functions that it calls.
pub(super) fn file(functions: &[&str], calls: &[Call]) -> String {
    let mut out = format!("import {{ {} }} from \"./kernels.js\";\n\n", functions.join(", "));
    if calls.iter().any(|call| call.ramps) {
        out += RAMP;
    }
    out += "/** Calls, with results that the interpreter of Słyż computed: every `stride`-th element of `count`. */\n";
    out += "export const cases = [\n";
    for call in calls {
        out += &format!("  {{\n    name: \"{}\",\n", call.name);
        match &call.run {
            None => out += "    run: null,\n",
            Some((lines, results)) if lines.is_empty() => out += &format!("    run: async () => {results},\n"),
            Some((lines, results)) => {
                out += "    run: async () => {\n";
                lines.iter().for_each(|line| out += &format!("      {line}\n"));
                out += &format!("      return {results};\n    }},\n");
            }
        }
        out += "    expected: [\n";
        call.expected.iter().for_each(|array| out += &expected(array));
        out += "    ],\n  },\n";
    }
    out + "];\n"
}

/// Element `i` of argument `k` is `(i(2k + 1) + k) mod 97 + 1`: no data, small, exact in every type.
const RAMP: &str = "\
/** Simple numbers for argument `k`. */
function ramp(type, count, k) {
  const big = type === BigInt64Array || type === BigUint64Array;
  return type.from({ length: count }, (_, i) => {
    const number = ((i * (2 * k + 1) + k) % 97) + 1;
    return big ? BigInt(number) : number;
  });
}

";

fn expected(array: &Array) -> String {
    let (values, stride) = cases::sampled(array);
    let values: Vec<String> = values.into_iter().map(element).collect();
    let lines: Vec<String> = values.chunks(12).map(|line| format!("          {},\n", line.join(", "))).collect();
    let shape: Vec<String> = array.shape.iter().map(u64::to_string).collect();
    format!(
        "      {{\n        type: \"{}\",\n        shape: [{}],\n        count: {},\n        stride: {stride},\n        \
         tolerance: {},\n        values: [\n{}        ],\n      }},\n",
        array.ty,
        shape.join(", "),
        array.data.len(),
        cases::tolerance(array.ty),
        lines.concat(),
    )
}

/// The call of a program.
pub(super) fn of_program(name: &str, plan: &Plan, case: &Case) -> Call {
    let run = case.expected.as_ref().and_then(|_| call(name, plan, case)).map(|call| (vec![], call));
    let expected = if run.is_some() { case.expected.clone().unwrap_or_default() } else { vec![] };
    let ramps = run.is_some() && case.fill == Fill::Ramp;
    Call { name: name.to_string(), run, ramps, expected }
}

fn call(name: &str, plan: &Plan, case: &Case) -> Option<String> {
    let mut args = vec![];
    for (k, argument) in cases::arguments_of(plan, case.fill, &case.sizes)?.into_iter().enumerate() {
        args.push(match argument {
            Argument::Scalar(value) => literal(value),
            Argument::Array { ty, count } => match (case.fill, ty) {
                (Fill::Zeros, _) => format!("new {}({count})", array_type(ty)),
                (_, Ty::Bool | Ty::BF16) => {
                    let value = |i| element(cases::element(ty, case.fill, k, i));
                    let values: Vec<String> = (0..count).map(value).collect();
                    format!("{}.of({})", array_type(ty), values.join(", "))
                }
                _ => format!("ramp({}, {count}, {k})", array_type(ty)),
            },
        });
    }
    let names = javascript::names(plan);
    let mut sizes = vec![];
    for var in super::super::walk::asked(plan) {
        sizes.push(format!("{}: {}", names.sizes[var], case.sizes.get(var).copied().flatten()?));
    }
    if !sizes.is_empty() {
        args.push(format!("{{ {} }}", sizes.join(", ")));
    }
    let call = format!("{name}({})", args.join(", "));
    Some(if plan.results.len() == 1 { format!("[await {call}]") } else { call })
}

/// A typed array with these elements.
pub(super) fn array(array: &Array) -> String {
    let ty = array_type(array.ty);
    let value = |bits: u64| element(Scalar { ty: array.ty, bits });
    match &array.data[..] {
        all if all.iter().all(|&bits| bits == 0) => format!("new {ty}({})", all.len()),
        all @ [first, ..] if all.len() > 12 && all.iter().all(|bits| bits == first) => {
            format!("new {ty}({}).fill({})", all.len(), value(*first))
        }
        all => format!("{ty}.of({})", all.iter().map(|&bits| value(bits)).collect::<Vec<_>>().join(", ")),
    }
}
