//! Shared functions: one C function on vectors, however often it is called.
//!
//! Short ones are inlined by the C compiler, since a call costs about as much as a few operators. The others stay functions: what is
//! inlined into what is inlined doubles with every helper that calls the one before it twice.

use super::lines::{Code, Line, line};
use super::value::{Lane, Value};
use super::writer::{CWriter, Live};
use super::{EmitError, expr};
use crate::back::tree::{Prefix, Tree};
use crate::code::{Body, Function, Id, Op, Stmt, Type};
use crate::kernel::Kernel;
use crate::types::Ty;

/// The most that all inlined copies of a function may come to, in the costs of the operator table.
const INLINED: u64 = 600;

/// What a call costs, in place of what is called.
const CALL: u64 = 4;

/// The functions of a kernel that are inlined wherever they are called, by their numbers.
pub(super) fn inlined(kernel: &Kernel) -> Vec<bool> {
    let mut calls = vec![0; kernel.functions.len()];
    count_calls(&kernel.body, &mut calls);
    kernel.functions.iter().for_each(|function| count_calls(&function.body, &mut calls));
    let mut lengths = vec![None; kernel.functions.len()];
    (0..kernel.functions.len()).for_each(|number| _ = length(kernel, number, &calls, &mut lengths));
    lengths.iter().zip(&calls).map(|(length, calls)| length.is_none_or(|length| is_short(length, *calls))).collect()
}

fn is_short(length: u64, calls: u64) -> bool {
    length.saturating_mul(calls) <= INLINED
}

fn count_calls(body: &Body, calls: &mut [u64]) {
    for stmt in &body.stmts {
        if let Op::Call(function, _) = stmt.op {
            calls[function.0 as usize] += 1;
        }
        stmt.op.bodies().into_iter().for_each(|inner| count_calls(inner, calls));
    }
}

/// How long a function is with what is inlined into it.
fn length(kernel: &Kernel, number: usize, calls: &[u64], lengths: &mut [Option<u64>]) -> u64 {
    fn of_body(kernel: &Kernel, body: &Body, calls: &[u64], lengths: &mut [Option<u64>]) -> u64 {
        let mut sum = 0u64;
        for stmt in &body.stmts {
            let own = match &stmt.op {
                Op::Apply(operator, _) => operator.row().cost.into(),
                Op::Call(function, _) => {
                    let called = function.0 as usize;
                    let length = length(kernel, called, calls, lengths);
                    if is_short(length, calls[called]) { length } else { CALL }
                }
                _ => 1,
            };
            sum = sum.saturating_add(own);
            for inner in stmt.op.bodies() {
                sum = sum.saturating_add(of_body(kernel, inner, calls, lengths));
            }
        }
        sum
    }
    if let Some(known) = lengths[number] {
        return known;
    }
    // Functions do not call themselves: the verifier has seen to that.
    let found = of_body(kernel, &kernel.functions[number].body, calls, lengths);
    lengths[number] = Some(found);
    found
}

/// Does the body run code only in some lanes, so that it must know which are live?
pub(super) fn needs_mask(body: &Body) -> bool {
    body.stmts.iter().any(|s| matches!(s.op, Op::If { .. } | Op::For { .. } | Op::While { .. }))
}

/// Writes the function if it is not there yet; gives its C name.
pub(super) fn write(w: &mut CWriter, number: usize) -> Result<String, EmitError> {
    let kernel = w.kernel;
    let function = &kernel.functions[number];
    if let Some(name) = w.file.functions.get(&function.name) {
        return Ok(name.clone());
    }
    let name = w.file.free_name(&function.name);
    w.file.functions.insert(function.name.clone(), name.clone());
    let kind = if w.inlined[number] { "FN" } else { "KEPT" };
    let (head, body) = text(w, function, &name, kind)?;
    w.file.items.push(format!("{head} {{\n{body}}}\n"));
    Ok(name)
}

/// A function in C: its head, and what stands between its braces.
pub(super) fn text(w: &mut CWriter, function: &Function, name: &str, kind: &str) -> Result<(String, Code), EmitError> {
    let masked = w.masked && needs_mask(&function.body);
    let live = if masked { Live::Mask("live".into()) } else { Live::All };
    let mut parameters = vec![];
    let mut values = vec![];
    for (k, param) in function.body.params.iter().enumerate() {
        let lane = Lane::of(param.ty.elem());
        w.file.lanes_64 |= lane.is_wide();
        let parameter = format!("x{k}");
        parameters.push(format!("{} {parameter}", lane.vector()));
        values.push(Value::vector(param.ty.elem(), lane, Tree::name(parameter)));
    }
    w.set_values(&function.body.params, &values);
    let one = function.body.results.len() == 1;
    let mut results = vec![];
    // A function takes one vector at a time, whoever calls it.
    let ways = w.ways.take();
    let text = w.aside(live, |w| {
        w.stmts(&function.body)?;
        for (k, &id) in function.body.results.iter().enumerate() {
            let value = w.get(id);
            let lane = Lane::of(value.ty);
            w.file.lanes_64 |= lane.is_wide();
            results.push(lane);
            let result = expr::spread(&value, lane);
            w.line(if one { line!["return ", result, ";"] } else { line![format!("*y{k} = "), result, ";"] });
        }
        Ok(())
    })?;
    w.ways = ways;
    if masked {
        parameters.push("vi32 live".into());
    }
    let returned = if one { results[0].vector() } else { "void".into() };
    if !one {
        parameters.extend(results.iter().enumerate().map(|(k, lane)| format!("{} *y{k}", lane.vector())));
    }
    Ok((format!("{kind} {returned} {name}({})", parameters.join(", ")), text))
}

impl CWriter<'_> {
    pub(super) fn call(&mut self, stmt: &Stmt, number: usize, args: &[Id]) -> Result<(), EmitError> {
        let name = super::function::write(self, number)?;
        let kernel = self.kernel;
        let function = &kernel.functions[number];
        let lane = |ty: &Type| Lane::of(ty.elem());
        let mut passed: Vec<Tree> =
            args.iter().zip(&function.body.params).map(|(&a, p)| expr::spread(&self.get(a), lane(&p.ty))).collect();
        if self.masked && super::function::needs_mask(&function.body) {
            passed.push(self.mask());
        }
        if let [bind] = &stmt.binds[..] {
            let value = self.called(bind.ty.elem(), Tree::call(name, passed));
            self.bind(bind.id, value, false);
            return Ok(());
        }
        let mut names = vec![];
        for bind in &stmt.binds {
            let result = self.fresh("r");
            let ty = self.vector_type(lane(&bind.ty));
            let many = self.ways.as_ref().map_or(Line::default(), |ways| line!["[", ways, "]"]);
            self.line(line![ty, " ", result, many, ";"]);
            let result = self.each(&result);
            passed.push(Tree::prefix(Prefix::Address, result.clone()));
            names.push(result);
        }
        self.act_or_line(line![Tree::call(name, passed), ";"]);
        for (bind, result) in stmt.binds.iter().zip(names) {
            let value = self.called(bind.ty.elem(), result);
            self.bind(bind.id, value, false);
        }
        Ok(())
    }

    /// What a function of vectors gave, for whoever called it.
    fn called(&mut self, ty: Ty, result: Tree) -> Value {
        let lane = Lane::of(ty);
        self.file.lanes_64 |= lane.is_wide();
        if self.live != Live::Block {
            return Value::vector(ty, lane, result);
        }
        Value::uniform(ty, expr::through_lanes(lane, result))
    }
}
