//! What there is to say about threads that meet at an element of threadgroup memory.

use super::rules;
use crate::diagnostic::Diagnostic;
use crate::lower::lower_placed;
use crate::races::{self, Race, Side, Touch};
use crate::typed::{FunctionId, Home, Program};

/// The races of a program in which everything else is right.
pub(super) fn races(program: &Program) -> Vec<Diagnostic> {
    // Kernels that share nothing need not be looked at.
    if !program.functions.iter().any(|f| f.arrays.iter().any(|array| matches!(array.home, Home::Threadgroup))) {
        return vec![];
    }
    let kernels = program.functions.iter().enumerate().filter(|(_, function)| function.launches);
    // What is too large to be lowered is told by whoever lowers it.
    let placed = kernels.filter_map(|(k, _)| lower_placed(program, FunctionId(k as u32)).ok());
    placed.flat_map(|placed| races::find(&placed)).map(|race| diagnostic_of(&race)).collect()
}

fn diagnostic_of(race: &Race) -> Diagnostic {
    let (first, second) = (race.first, race.second);
    let once = first.span == second.span;
    // In a loop the code that runs first may stand last.
    let before = match second.span.start < first.span.start {
        true => format!("{} here, in the turn before", done(first.touch)),
        false => format!("{} here", done(first.touch)),
    };
    if !race.sure {
        let memory = &race.memory;
        let message = match once {
            true => format!("threads may meet at an element of `{memory}` here, and nothing orders them"),
            false => format!("another thread may meet this one at an element of `{memory}`: no barrier lies between"),
        };
        let diagnostic = Diagnostic::warning(rules::POSSIBLE_RACE, second.span, message);
        let fine = "if no two threads come to the same element, this is fine";
        return match once {
            true => diagnostic.help(format!("let one thread do it, or use an atomic; {fine}")),
            false => diagnostic
                .related(first.span, before)
                .help(format!("put `threadgroup.barrier()` between the two; {fine}")),
        };
    }
    let element = match &race.index {
        Some(index) => index.iter().fold(race.memory.clone(), |text, at| format!("{text}[{at}]")),
        None => race.memory.clone(),
    };
    let [one, other] = [first, second].map(|side| thread(side, race.axes));
    if once {
        let message = format!("threads {one} and {other} both write `{element}` here, and nothing orders them");
        let help = "let the index depend on the thread, let one thread do it, or use an atomic";
        return Diagnostic::error(rules::MISSING_BARRIER, second.span, message).help(help);
    }
    let message = format!(
        "thread {other} {} `{element}`, which thread {one} {}: no barrier lies between",
        does(second.touch),
        does(first.touch)
    );
    Diagnostic::error(rules::MISSING_BARRIER, second.span, message)
        .related(first.span, before)
        .help("put `threadgroup.barrier()` between the two, where all threads of the block come by")
}

fn thread(side: Side, axes: usize) -> String {
    let [x, y, z] = side.thread;
    match axes {
        0 | 1 => x.to_string(),
        2 => format!("({x}, {y})"),
        _ => format!("({x}, {y}, {z})"),
    }
}

fn does(touch: Touch) -> &'static str {
    match touch {
        Touch::Read => "reads",
        Touch::Write => "writes",
        Touch::Atomic => "updates",
    }
}

fn done(touch: Touch) -> &'static str {
    match touch {
        Touch::Read => "read",
        Touch::Write => "written",
        Touch::Atomic => "updated",
    }
}
