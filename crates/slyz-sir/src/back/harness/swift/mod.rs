//! A Swift project that runs the kernels of a [`Project`] on Metal.
//!
//! One `run_<name>` per program or kernel by hand, `validate` with what the interpreter expects, `bench`. What does not depend on the project
//! is in `engine.swift` and `main.swift`; everything else is written from plans and descriptions.

mod by_hand;

pub(super) use by_hand::emit_kernels;

use super::cases::{self, Argument, Case, Fill};
use super::walk::{self, Arithmetic, Names, Repeat, Statement};
use super::{Entry, File, Project, raw};
use crate::back::clike::{Description, Dispatch, UniformSource};
use crate::choices::Precision;
use crate::code::Type;
use crate::interp::Array;
use crate::kernel::{BufferId, BufferUse, ScalarArg};
use crate::launch::LAUNCH_SIZES;
use crate::lower::gpu::Machine;
use crate::size::{Size, SizeVar};
use crate::types::{Scalar, Ty};
use by_hand::Hand;
use std::collections::BTreeSet;
use std::fmt::Write;

const ENGINE: &str = include_str!("engine.swift");
const MAIN: &str = include_str!("main.swift");

const WORDS: &str = "actor as associatedtype async await break case catch class continue default defer deinit do else \
    enum extension fallthrough false fileprivate for func guard if import in indirect init inout internal is let mutating \
    nil nonisolated open operator override precedencegroup private protocol public repeat rethrows return self Self static \
    struct subscript super switch throw throws true try typealias var where while Any Protocol Type";

/// Is it a word of the language?
pub fn is_reserved(name: &str) -> bool {
    WORDS.split_whitespace().any(|word| word == name)
}

/// Does a name mean something in the functions of a file, or in their calls? Everything that those name is a word, with a number behind it perhaps.
fn is_taken(name: &str) -> bool {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let words = ["engine", "session", "buffer", "count", "min", "positions", "expect", "uniform", "times", "require"];
    let of_calls = ["right", "found", "expected", "compare", "measure", "threads"];
    let types = ["Int", "UInt", "Float", "Bool", "Double", "BFloat", "Array", "Engine", "Session"];
    words.contains(&stem) || of_calls.contains(&stem) || types.contains(&stem) || is_reserved(name)
}

/// Where the project finds the Metal source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// In a file of that name, in the folder it is run in; the project validates and measures.
    File(&'a str),
    /// In the Swift file itself; there is no `main`, so that an app can take it in.
    Embedded,
}

/// A function that gives the Metal sources, which stand behind it: ours, and files that people wrote.
pub fn embedded(source: &str, raw: &[File]) -> String {
    let others = raw.iter().map(|file| (file.name.trim_end_matches(".metal"), file.as_text().unwrap_or_default()));
    let all: Vec<(&str, &str)> = std::iter::once(("kernels", source)).chain(others).collect();
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let mut out = format!("func metalSources() throws -> [String] {{\n    return [{}]\n}}\n", names.join(", "));
    for (name, text) in all {
        // As many as no line of the text ends a string with.
        let quote = (1..).map(|count| "#".repeat(count)).find(|quote| !text.contains(&format!("\"\"\"{quote}")));
        let quote = quote.unwrap_or_default();
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let _ = write!(out, "\nprivate let {name} = {quote}\"\"\"\n{text}{end}\"\"\"{quote}\n");
    }
    out
}

/// The Swift file of a project.
pub fn emit(project: &Project, source: Source) -> String {
    let cases: Vec<Case> = project.entries.iter().map(|e| cases::case(&e.program)).collect();
    let functions = project.entries.iter().map(|entry| Function::new(entry).text()).collect();
    emit_with(project, source, functions, &validate(project, &cases), &bench(project, &cases))
}

/// The file with these functions, and what compares and measures them.
fn emit_with(project: &Project, source: Source, functions: Vec<String>, validated: &str, measured: &str) -> String {
    let mut out = String::from("import Foundation\nimport Metal\n\n");
    let _ = writeln!(out, "/// The most positions of an array that kernels count.");
    let _ = writeln!(out, "let maxPositions = {}\n", Machine::metal().max_positions);
    let _ = writeln!(out, "/// May Metal's compiler contract, reorder and leave NaNs out of account?");
    let _ = writeln!(out, "let fastMath = {}\n", is_native(project));
    match source {
        Source::File(name) => {
            let names = std::iter::once(name).chain(project.raw.iter().map(|file| &file.name[..]));
            let names: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
            let _ = writeln!(out, "func metalSources() throws -> [String] {{");
            let read = "try String(contentsOfFile: $0, encoding: .utf8)";
            let _ = writeln!(out, "    return try [{}].map {{ {read} }}\n}}\n", names.join(", "));
        }
        Source::Embedded => {
            out += &embedded(&project.source, &project.raw);
            out += "\n";
        }
    }
    out += ENGINE;
    out += "\n";
    elements(project, &mut out);
    for function in functions {
        out += &function;
        out += "\n";
    }
    out += "/// Compares every kernel with what the interpreter of Słyż computed. False where one differs.\n";
    let _ = write!(out, "func validate() throws -> Bool {{\n    var right = true\n{validated}    return right\n}}\n\n");
    out += "/// Prints the best of some times, and the bytes of arguments and results per second.\n";
    let _ = write!(out, "func bench(_ times: Int) throws {{\n{measured}}}\n");
    if let Source::File(_) = source {
        out += "\n";
        out += MAIN;
    }
    out
}

/// Does nobody ask for more than Metal's own arithmetic?
fn is_native(project: &Project) -> bool {
    let mut kernels = project.entries.iter().flat_map(|entry| &entry.plan.kernels);
    project.precision == Precision::Native && kernels.all(|k| matches!(k.precision, None | Some(Precision::Native)))
}

fn swift_type(ty: Ty) -> &'static str {
    match ty {
        Ty::Bool => "Bool",
        Ty::I8 => "Int8",
        Ty::I16 => "Int16",
        Ty::I32 => "Int32",
        Ty::I64 => "Int64",
        Ty::U8 => "UInt8",
        Ty::U16 => "UInt16",
        Ty::U32 => "UInt32",
        Ty::U64 => "UInt64",
        Ty::F16 => "Float16",
        Ty::BF16 => "BFloat16",
        Ty::F32 => "Float",
        Ty::F64 => "Double",
    }
}

/// How elements of the types that the project uses are compared.
fn elements(project: &Project, out: &mut String) {
    let buffers = project.entries.iter().flat_map(|e| &e.plan.buffers).map(|b| b.ty);
    let params = project.entries.iter().flat_map(|e| &e.plan.params).map(|p| p.ty.elem());
    for ty in buffers.chain(params).collect::<BTreeSet<Ty>>() {
        let name = swift_type(ty);
        let tolerance = cases::tolerance(ty);
        if ty == Ty::BF16 {
            *out += "/// The upper half of a Float.\nstruct BFloat16: CustomStringConvertible {\n    var bits: UInt16\n\n    init(_ x: Float) {\n        \
                let all = x.bitPattern\n        bits = x.isNaN ? 0x7fc0 : UInt16(truncatingIfNeeded: (all &+ 0x7fff &+ (all >> 16 & 1)) >> 16)\n    }\n\n    \
                var float: Float { return Float(bitPattern: UInt32(bits) << 16) }\n    \
                var description: String { return float.description }\n}\n\n";
        }
        let number = match ty {
            Ty::Bool => "self ? 1.0 : 0.0",
            Ty::BF16 => "Double(float)",
            _ => "Double(self)",
        };
        let _ = writeln!(out, "extension {name}: Element {{");
        let _ = writeln!(out, "    var number: Double {{ return {number} }}");
        let _ = writeln!(out, "    static var tolerance: Double {{ return {tolerance} }}\n}}\n");
    }
}

/// A `run_` function under construction.
struct Function<'p> {
    entry: &'p Entry,
    names: Names,
    /// A kernel that a person wrote.
    hand: Option<&'p Hand<'p>>,
    out: String,
}

const ARITHMETIC: Arithmetic =
    Arithmetic { engine: "", min: "min", ceil_div: |a, n| format!("(({a} + {}) / {n})", n - 1) };

impl<'p> Function<'p> {
    fn new(entry: &'p Entry) -> Function<'p> {
        Function { entry, names: Names::new(&entry.plan, ARITHMETIC, &is_taken), hand: None, out: String::new() }
    }

    /// The function of a kernel that a person wrote.
    fn by_hand(entry: &'p Entry, hand: &'p Hand) -> Function<'p> {
        let mut function = Function { hand: Some(hand), ..Function::new(entry) };
        function.names.params = hand.params.clone();
        function
    }

    /// Sizes that the caller gives. Those of a launch follow from its threads.
    fn asked(&self) -> Vec<usize> {
        let first = if self.hand.is_some() { LAUNCH_SIZES } else { 0 };
        walk::asked(&self.entry.plan).into_iter().filter(|&k| k >= first).collect()
    }

    /// Is it one of the sizes of a launch by hand: blocks, then threads?
    fn is_of_launch(&self, SizeVar(k): SizeVar) -> bool {
        self.hand.is_some() && (k as usize) < LAUNCH_SIZES
    }

    /// The sizes of a launch, of its threads.
    fn count_blocks(&mut self) {
        let Some(hand) = self.hand else { return };
        let name = &self.entry.plan.name;
        self.line(format!("try require(min(threads.0, threads.1, threads.2) >= 0, \"{name}\", \"threads >= 0\")"));
        for (k, block) in hand.block.into_iter().enumerate() {
            let (blocks, threads) = (self.names.sizes[k].clone(), self.names.sizes[3 + k].clone());
            self.line(format!("let {threads} = try positions(\"{name}\", \"{threads}\", [threads.{k}])"));
            self.line(format!("let {blocks} = ({threads} + {}) / {block}", block - 1));
            // Not every kernel asks for all of them.
            self.line(format!("_ = ({threads}, {blocks})"));
        }
    }

    fn line(&mut self, text: impl AsRef<str>) {
        self.out += "    ";
        self.out += text.as_ref();
        self.out.push('\n');
    }

    fn signature(&self) -> String {
        let mut params = vec![];
        for (param, name) in self.entry.plan.params.iter().zip(&self.names.params) {
            let ty = swift_type(param.ty.elem());
            let is_written = self.hand.is_some_and(|hand| hand.special.is_written(params.len()));
            params.push(match param.ty {
                Type::Scalar(_) => format!("_ {name}: {ty}"),
                Type::Array(..) if is_written => format!("_ {name}: inout [{ty}]"),
                Type::Array(..) => format!("_ {name}: [{ty}]"),
            });
        }
        for var in self.asked() {
            params.push(format!("{}: Int", self.names.sizes[var]));
        }
        if self.hand.is_some() {
            params.push("threads: (Int, Int, Int)".to_string());
            return format!("func run_{}({}) throws", self.entry.program.name, params.join(", "));
        }
        let results: Vec<String> = self
            .entry
            .plan
            .results
            .iter()
            .map(|(id, shape)| {
                let ty = swift_type(self.entry.plan.buffers[id.0 as usize].ty);
                if shape.is_empty() { ty.to_string() } else { format!("[{ty}]") }
            })
            .collect();
        let result = match &results[..] {
            [one] => one.clone(),
            many => format!("({})", many.join(", ")),
        };
        format!("func run_{}({}) throws -> {result}", self.entry.program.name, params.join(", "))
    }

    fn text(mut self) -> String {
        let plan = &self.entry.plan;
        let name = &self.entry.program.name;
        self.out = format!("{} {{\n", self.signature());
        self.line("let engine = try Engine.shared()");
        self.count_blocks();
        for statement in walk::statements(&self.entry.program.requires, plan) {
            self.statement(&statement);
        }
        self.line("try session.finish()");
        if let Some(hand) = self.hand {
            for (param, BufferId(id)) in &hand.special.written {
                let name = self.names.params[*param].clone();
                self.line(format!("{name} = engine.read(buffer{id}, {name}.count)"));
            }
            self.out += "}\n";
            return self.out;
        }
        let mut results = vec![];
        for (id, shape) in &plan.results {
            let ty = swift_type(plan.buffers[id.0 as usize].ty);
            let count = if shape.is_empty() { "1".into() } else { self.names.count(shape, "result", name) };
            let data = format!("engine.read(buffer{}, {count}) as [{ty}]", id.0);
            results.push(if shape.is_empty() { format!("({data})[0]") } else { data });
        }
        let attempt = if results.iter().any(|r| r.contains("positions(")) { "try " } else { "" };
        self.line(match &results[..] {
            [one] => format!("return {attempt}{one}"),
            many => format!("return {attempt}({})", many.join(", ")),
        });
        self.out += "}\n";
        self.out
    }

    fn statement(&mut self, statement: &Statement) {
        let name = &self.entry.program.name;
        let size = |var: &SizeVar| &self.names.sizes[var.0 as usize];
        let line = match statement {
            Statement::Told { size: var, param } => format!("let {} = {}.count", size(var), self.names.params[*param]),
            Statement::Asked(var) | Statement::Axis(var) if self.is_of_launch(*var) => return,
            Statement::Asked(var) => format!("try require({0} >= 0, \"{name}\", \"{0} >= 0\")", size(var)),
            Statement::Axis(var) => format!("_ = try positions(\"{name}\", \"an axis {0}\", [{0}])", size(var)),
            Statement::Expect { param, shape } => {
                let array = &self.names.params[*param];
                let count = self.names.count(shape, array, name);
                format!("try expect(\"{name}\", \"{array}\", {array}.count, {count})")
            }
            Statement::Require(rule) => {
                let holds = self.names.rule(rule, "==");
                format!("try require({holds}, \"{name}\", \"{holds}\")")
            }
            Statement::Begin => "let session = Session(engine)".to_string(),
            Statement::Upload { buffer, param } => {
                format!("let buffer{} = try engine.buffer({})", buffer.0, self.argument(*param))
            }
            Statement::Allocate { buffer: BufferId(id), swapped } => {
                let constants = self.hand.into_iter().flat_map(|hand| &hand.special.constants);
                if let Some((_, values)) = { constants }.find(|(at, _)| at.0 == *id) {
                    self.line(format!("let buffer{id} = try engine.buffer({})", by_hand::constants(values)));
                    return;
                }
                let buffer = &self.entry.plan.buffers[*id as usize];
                let count = self.names.count(&buffer.shape, walk::what_is(buffer.role), name);
                let word = if *swapped { "var" } else { "let" };
                format!("{word} buffer{id} = try engine.buffer(bytes: {count} * {})", buffer.ty.bytes())
            }
            Statement::Launch { kernel, buffers, scalars } => {
                if scalars.iter().any(|scalar| scalar.read().is_some()) {
                    self.line("try session.finish()");
                }
                self.launch(&self.entry.kernels[*kernel], buffers, scalars)
            }
            Statement::Count { size: var, from } => {
                let line = format!("let {} = Int({})", size(var), read(*from, "Int64"));
                self.line("try session.finish()");
                line
            }
            Statement::Loop { depth, turns, body, swaps } => return self.turns(*depth, turns, body, swaps),
            Statement::Choose { work, most, small, large } => {
                self.line(format!("if {} <= {most} {{", self.names.size(work)));
                small.iter().for_each(|statement| self.statement(statement));
                self.line("} else {");
                large.iter().for_each(|statement| self.statement(statement));
                "}".to_string()
            }
        };
        self.line(line);
    }

    fn turns(&mut self, depth: u32, turns: &Repeat, body: &[Statement], swaps: &[(BufferId, BufferId)]) {
        let turn = format!("turn{depth}");
        match turns {
            Repeat::Size(size) => self.line(format!("for {turn} in 0..<{} {{", self.names.size(size))),
            Repeat::Read(from) => {
                self.line("try session.finish()");
                self.line(format!("for {turn} in 0..<max(0, Int({})) {{", read(*from, "Int64")));
            }
            Repeat::While { test, holds } => {
                self.line(format!("for {turn} in 0... {{"));
                test.iter().for_each(|statement| self.statement(statement));
                self.line("try session.finish()");
                self.line(format!("if !{} {{ break }}", read(*holds, swift_type(Ty::Bool))));
            }
        }
        self.line(format!("_ = {turn}"));
        body.iter().for_each(|statement| self.statement(statement));
        swaps.iter().for_each(|(a, b)| self.line(format!("swap(&buffer{}, &buffer{})", a.0, b.0)));
        self.line("}");
    }

    fn argument(&self, k: usize) -> String {
        match self.entry.plan.params[k].ty {
            Type::Array(..) => self.names.params[k].clone(),
            Type::Scalar(_) => format!("[{}]", self.names.params[k]),
        }
    }

    fn launch(&self, d: &Description, buffers: &[BufferId], scalars: &[ScalarArg]) -> String {
        let bound: Vec<String> = d.buffers.iter().map(|b| format!("buffer{}", buffers[b.place].0)).collect();
        let mut text = format!("try session.launch(\n        \"{}\", buffers: [{}]", d.name, bound.join(", "));
        if !d.uniforms.is_empty() {
            let uniforms: Vec<String> = d
                .uniforms
                .iter()
                .map(|u| match u.source {
                    UniformSource::Size(var) => {
                        format!("uniform({}({}))", swift_type(u.ty), self.names.sizes[var.0 as usize])
                    }
                    UniformSource::Scalar(k) => match scalars[k] {
                        ScalarArg::Argument(k) => format!("uniform({})", self.names.params[k]),
                        ScalarArg::Turn(depth) => format!("uniform({}(turn{depth}))", swift_type(u.ty)),
                        ScalarArg::Const(value) => format!("uniform({} as {})", literal(value), swift_type(u.ty)),
                        ScalarArg::Read(from) => format!("uniform({})", read(from, swift_type(u.ty))),
                    },
                    UniformSource::Extent(k) => {
                        format!("uniform({}({}))", swift_type(u.ty), self.names.size(&raw::extent(&d.kernel, k)))
                    }
                })
                .collect();
            let _ = write!(text, ", uniforms: [{}]", uniforms.join(", "));
        }
        let triple = |sizes: &[Size; 3]| {
            let sizes: Vec<String> = sizes.iter().map(|s| self.names.size(s)).collect();
            format!("({})", sizes.join(", "))
        };
        match &d.dispatch {
            Dispatch::Threads(threads) => {
                let _ = write!(text, ",\n        threads: {})", triple(threads));
            }
            Dispatch::Blocks(grid) => {
                if !d.shared.is_empty() {
                    let bytes = d.shared.iter().map(|s| {
                        let elements = Size::product(&s.shape) * Size::Const(s.ty.bytes() as u64);
                        self.names.size(&elements)
                    });
                    let _ = write!(text, ", shared: [{}]", bytes.collect::<Vec<_>>().join(", "));
                }
                let [x, y, z] = d.block;
                let _ = write!(text, ",\n        groups: {}, block: ({x}, {y}, {z})", triple(grid));
                if d.uses_subgroups {
                    let _ = write!(text, ", simdWidth: {}", crate::back::msl::SUBGROUP);
                }
                text.push(')');
            }
        }
        text
    }
}

/// The one element of a buffer.
fn read(from: BufferId, ty: &str) -> String {
    format!("(engine.read(buffer{}, 1) as [{ty}])[0]", from.0)
}

/// A value as Swift writes it.
fn literal(value: Scalar) -> String {
    let ty = swift_type(value.ty);
    let x = value.as_f64();
    match value.ty {
        Ty::Bool => value.is_true().to_string(),
        Ty::BF16 => format!("{ty}({})", literal(value.cast(Ty::F32))),
        t if t.is_float() && x.is_nan() => format!("{ty}.nan"),
        t if t.is_float() && x.is_infinite() => format!("{}{ty}.infinity", if x < 0.0 { "-" } else { "" }),
        Ty::F64 => format!("{x:?}"),
        t if t.is_float() => format!("{:?}", x as f32),
        _ => value.as_int().to_string(),
    }
}

/// The lines that make the arguments of a call, and the call.
fn call(function: &Function, case: &Case, sizes: &[Option<u64>]) -> Option<(Vec<String>, String)> {
    let mut lines = vec![];
    let mut args = vec![];
    for (k, (argument, name)) in
        cases::arguments_of(&function.entry.plan, case.fill, sizes)?.iter().zip(&function.names.params).enumerate()
    {
        match *argument {
            Argument::Scalar(value) => args.push(literal(value)),
            Argument::Array { ty, count } => {
                let number =
                    if k == 0 { "$0 % 97 + 1".to_string() } else { format!("($0 * {} + {k}) % 97 + 1", 2 * k + 1) };
                let swift = swift_type(ty);
                let value = match (case.fill, ty) {
                    (Fill::Zeros, _) => {
                        let zero = literal(Scalar::from_bits(ty, 0));
                        format!("Array(repeating: {zero}, count: {count})")
                    }
                    (_, Ty::Bool) => format!("(0..<{count}).map {{ ({number}) % 3 != 0 }}"),
                    (_, Ty::BF16) => format!("(0..<{count}).map {{ BFloat16(Float({number})) }}"),
                    _ => format!("(0..<{count}).map {{ {swift}({number}) }}"),
                };
                lines.push(format!("let {name}: [{swift}] = {value}"));
                args.push(name.clone());
            }
        }
    }
    for var in walk::asked(&function.entry.plan) {
        args.push(format!("{}: {}", function.names.sizes[var], sizes.get(var).copied().flatten()?));
    }
    Some((lines, format!("try run_{}({})", function.entry.program.name, args.join(", "))))
}

fn validate(project: &Project, cases: &[Case]) -> String {
    let mut out = String::new();
    for (entry, case) in project.entries.iter().zip(cases) {
        let function = Function::new(entry);
        let name = &entry.program.name;
        let ready = case.expected.as_ref().zip(call(&function, case, &case.sizes));
        let Some((expected, (lines, call))) = ready else {
            let _ = writeln!(
                out,
                "    // {name}: too large, or not defined on simple inputs\n    print(\"  {name}: not compared\")"
            );
            continue;
        };
        let _ = writeln!(out, "    do {{  // {name}");
        lines.iter().for_each(|line| out += &format!("        {line}\n"));
        let _ = writeln!(out, "        let found = {call}");
        for (k, array) in expected.iter().enumerate() {
            let mut found = "found".to_string();
            let mut label = name.clone();
            if expected.len() > 1 {
                (found, label) = (format!("found.{k}"), format!("{name}, result {k}"));
            }
            if entry.plan.results[k].1.is_empty() {
                found = format!("[{found}]");
            }
            let (values, stride) = sampled(array);
            let _ = writeln!(out, "        let expected{k}: [{}] = [{values}]", swift_type(array.ty));
            let _ = writeln!(
                out,
                "        right = compare(\"{label}\", {found}, expected{k}, stride: {stride}, count: {}) && right",
                array.data.len()
            );
        }
        out += "    }\n";
    }
    out
}

/// Every so many elements, in lines.
fn sampled(array: &Array) -> (String, usize) {
    let (values, stride) = cases::sampled(array);
    let values: Vec<String> = values.into_iter().map(literal).collect();
    let lines: Vec<String> = values.chunks(12).map(|line| line.join(", ")).collect();
    if lines.len() <= 1 {
        (lines.concat(), stride)
    } else {
        (format!("\n            {}\n        ", lines.join(",\n            ")), stride)
    }
}

fn bench(project: &Project, cases: &[Case]) -> String {
    let mut out = String::new();
    for (entry, case) in project.entries.iter().zip(cases) {
        let function = Function::new(entry);
        let name = &entry.program.name;
        let sizes = cases::bench_sizes(&entry.program, case);
        let Some((lines, call)) = call(&function, case, &sizes) else { continue };
        let passed = |role: &BufferUse| matches!(role, BufferUse::Argument(_) | BufferUse::Result(_));
        let buffers = entry.plan.buffers.iter().filter(|b| passed(&b.role));
        let bytes = buffers.filter_map(|b| {
            let shape = cases::extents(&b.shape, &sizes)?;
            Some(shape.iter().product::<u64>() * b.ty.bytes() as u64)
        });
        let bytes: u64 = bytes.sum();
        let _ = writeln!(out, "    do {{  // {name}");
        lines.iter().for_each(|line| out += &format!("        {line}\n"));
        let _ = writeln!(out, "        try measure(\"{name}\", times, bytes: {bytes}) {{ _ = {call} }}\n    }}");
    }
    out
}

/// The bytes of an array.
fn bytes_of(array: &Array) -> usize {
    array.data.len() * array.ty.bytes()
}
