//! Plans for people: buffers, then steps, then the kernels they launch. Not parsed.

use super::print::Printer;
use crate::kernel::{BufferId, BufferUse, Kernel, Loop, Plan, ScalarArg, Step, Turns};
use crate::size::Size;

/// The text of a plan.
///
/// ```text
/// plan total<N>(%0: f32[N]) -> b1: f32[] {
///   b0: f32[N] argument %0
///   b1: f32[] result 0
///   launch sum(x = b0, total = b1)
/// }
/// ```
/// followed by the kernels.
pub fn print_plan(plan: &Plan) -> String {
    let mut writer = Printer::new(&plan.sizes, &[], &[]);
    let params = writer.binders(&plan.params);
    let result = |(buffer, shape): &(BufferId, Vec<Size>)| {
        let ty = plan.buffers.get(buffer.0 as usize).map_or("unknown", |b| b.ty.name());
        format!("b{}: {ty}{}", buffer.0, writer.shape(shape))
    };
    let results: Vec<String> = plan.results.iter().map(result).collect();
    let results = if results.len() == 1 { results.concat() } else { format!("({})", results.join(", ")) };
    writer.open(format!("plan {}{}({params}) -> {results}", plan.name, writer.size_decls()));
    for (k, buffer) in plan.buffers.iter().enumerate() {
        let role = match buffer.role {
            BufferUse::Argument(k) => format!("argument %{k}"),
            BufferUse::Result(k) => format!("result {k}"),
            BufferUse::Temporary => "temporary".to_string(),
        };
        writer.line(&format!("b{k}: {}{} {role}", buffer.ty, writer.shape(&buffer.shape)));
    }
    steps(plan, &mut writer, &plan.steps);
    writer.close();
    for kernel in &plan.kernels {
        writer.out.push('\n');
        writer.out.push_str(&kernel.to_string());
    }
    writer.out
}

fn steps(plan: &Plan, writer: &mut Printer, list: &[Step]) {
    for step in list {
        let text = match step {
            Step::Launch { kernel, buffers, scalars } => launch(plan, *kernel, buffers, scalars),
            Step::Count { size, from } => format!("count {} from b{}", writer.size_var(*size), from.0),
            Step::Free(buffer) => format!("free b{}", buffer.0),
            Step::Loop(Loop { turns, steps: turn, swaps, .. }) => {
                match turns {
                    Turns::Size(size) => writer.open(format!("loop {} times", writer.size(size))),
                    Turns::Read(from) => writer.open(format!("loop b{} times", from.0)),
                    Turns::While { steps: test, holds, done } => {
                        let counted = done.map_or_else(String::new, |done| format!(" counted in b{}", done.0));
                        writer.open(format!("loop while b{}{counted}", holds.0));
                        steps(plan, writer, test);
                        writer.close();
                        writer.open("do".to_string());
                    }
                }
                steps(plan, writer, turn);
                swaps.iter().for_each(|(a, b)| writer.line(&format!("swap b{}, b{}", a.0, b.0)));
                writer.close();
                continue;
            }
            Step::Choose { work, most, small, large } => {
                writer.open(format!("if {} <= {most}", writer.size(work)));
                steps(plan, writer, small);
                writer.close();
                writer.open("else".to_string());
                steps(plan, writer, large);
                writer.close();
                continue;
            }
        };
        writer.line(&text);
    }
}

fn launch(plan: &Plan, kernel: usize, buffers: &[BufferId], scalars: &[ScalarArg]) -> String {
    let found = plan.kernels.get(kernel);
    let name = found.map_or_else(|| format!("kernel{kernel}"), |kernel| kernel.name.clone());
    let memories: Vec<&str> = found.into_iter().flat_map(Kernel::bound_memories).map(|m| m.name.as_str()).collect();
    let buffers = buffers.iter().enumerate().map(|(k, buffer)| match memories.get(k) {
        Some(memory) => format!("{memory} = b{}", buffer.0),
        None => format!("b{}", buffer.0),
    });
    let scalars = scalars.iter().enumerate().map(|(k, scalar)| match scalar {
        ScalarArg::Argument(argument) => format!("%{k} = argument %{argument}"),
        ScalarArg::Turn(depth) => format!("%{k} = turn {depth}"),
        ScalarArg::Const(value) => format!("%{k} = {}", super::literal::literal(*value)),
        ScalarArg::Read(buffer) => format!("%{k} = read b{}", buffer.0),
    });
    let args: Vec<String> = buffers.chain(scalars).collect();
    format!("launch {name}({})", args.join(", "))
}
