//! Memory of blocks and threads: what all arrays of a kernel, and of what it calls, come to.

use super::body::Marks;
use super::rules;
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::typed::{Array, Function, FunctionId, Home};

/// Bytes of threadgroup memory that every device has.
pub const THREADGROUP_BYTES: u64 = 32_768;
/// Bytes of arrays for one thread that every device copes with.
pub const THREAD_BYTES: u64 = 16_384;

fn bytes(array: &Array) -> u64 {
    array.shape.iter().product::<u64>().saturating_mul(array.elem.bytes() as u64)
}

/// Digits in groups of three.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Adds up the arrays of a kernel. `functions` are the kernel and what it calls.
pub(super) fn kernel(
    id: FunctionId,
    reached: &[FunctionId],
    functions: &[Function],
    marks: &[Marks],
    say: &mut dyn FnMut(Diagnostic),
) {
    let kernel = &functions[id.0 as usize].name;
    let of = |wanted: fn(&Home) -> bool| -> Vec<(&Array, Span)> {
        let all = reached.iter().flat_map(|f| {
            let function = &functions[f.0 as usize];
            let marks = &marks[f.0 as usize];
            function.arrays.iter().zip(marks.arrays.iter().copied())
        });
        all.filter(|(array, _)| wanted(&array.home)).collect()
    };
    let block = of(|home| matches!(home, Home::Threadgroup));
    let thread = of(|home| matches!(home, Home::Thread));
    let help = "make the arrays smaller, and go over the data in more steps";
    for (arrays, most, rule, whose) in [
        (block, THREADGROUP_BYTES, rules::THREADGROUP_MEMORY, "threadgroup memory"),
        (thread, THREAD_BYTES, rules::LOCAL_MEMORY, "memory for arrays of one thread"),
    ] {
        let total = arrays.iter().fold(0u64, |sum, (array, _)| sum.saturating_add(bytes(array)));
        let Some((largest, span)) = arrays.iter().max_by_key(|(array, _)| bytes(array)) else { continue };
        if total <= most {
            continue;
        }
        let message = format!("`{kernel}` wants {} bytes of {whose}; there are {}", grouped(total), grouped(most));
        let mut diagnostic = Diagnostic::error(rule, *span, message)
            .label(format!("`{}` takes {} bytes", largest.name, grouped(bytes(largest))))
            .help(help);
        for (array, at) in arrays.iter().filter(|(_, at)| at != span).take(8) {
            diagnostic = diagnostic.related(*at, format!("`{}` takes {} bytes", array.name, grouped(bytes(array))));
        }
        say(diagnostic);
    }
}
