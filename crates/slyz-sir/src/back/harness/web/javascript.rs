//! JavaScript: its words, types and literals, and a function for each program, which walks its plan.

use super::super::walk::{self, Arithmetic, Names, Repeat, Statement};
use super::shader::{Binding, Shader, Word};
use crate::code::Type;
use crate::kernel::{BufferId, Plan, ScalarArg};
use crate::program::Require;
use crate::size::{Size, SizeVar};
use crate::types::{Scalar, Ty};

const WORDS: &str = "arguments await break case catch class const continue debugger default delete do else enum eval export \
    extends false finally for function if implements import in instanceof interface let new null package private protected \
    public return static super switch this throw true try typeof undefined var void while with yield NaN Infinity Math Number \
    Uint8Array Uint16Array Uint32Array Int8Array Int16Array Int32Array Float16Array Float32Array BigInt64Array";

/// Names that the files use, some with a number behind them.
const OURS: &str = "buffer cases engine kernels ramp session threads turn turns";

/// Does a name mean something in the files of a page?
pub(super) fn is_taken(name: &str) -> bool {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let means = |words: &str| words.split_whitespace().any(|word| word == name || word == stem);
    means(WORDS) || means(OURS)
}

/// Numbers of arrays.
pub(super) fn array_type(ty: Ty) -> &'static str {
    match ty {
        Ty::Bool | Ty::U8 => "Uint8Array",
        Ty::I8 => "Int8Array",
        Ty::I16 => "Int16Array",
        Ty::I32 => "Int32Array",
        Ty::I64 => "BigInt64Array",
        Ty::U16 | Ty::BF16 => "Uint16Array",
        Ty::U32 => "Uint32Array",
        Ty::U64 => "BigUint64Array",
        Ty::F16 => "Float16Array",
        Ty::F32 => "Float32Array",
        Ty::F64 => "Float64Array",
    }
}

/// A number that is passed or given by itself.
fn scalar_type(ty: Ty) -> &'static str {
    match ty {
        Ty::Bool => "boolean",
        Ty::I64 | Ty::U64 => "bigint",
        _ => "number",
    }
}

/// A value as an element of an array is written: bits for `bf16`, which JavaScript does not know.
pub(super) fn element(value: Scalar) -> String {
    match value.ty {
        Ty::Bool => u8::from(value.is_true()).to_string(),
        Ty::BF16 => value.bits.to_string(),
        _ => literal(value),
    }
}

/// A value by itself.
pub(super) fn literal(value: Scalar) -> String {
    let x = value.as_f64();
    match value.ty {
        Ty::Bool => value.is_true().to_string(),
        t if t.is_float() && x.is_nan() => "NaN".to_string(),
        t if t.is_float() && x.is_infinite() => format!("{}Infinity", if x < 0.0 { "-" } else { "" }),
        Ty::F64 => format!("{x:?}"),
        t if t.is_float() => format!("{:?}", x as f32),
        Ty::I64 | Ty::U64 => format!("{}n", value.as_int()),
        _ => value.as_int().to_string(),
    }
}

const ARITHMETIC: Arithmetic =
    Arithmetic { engine: "engine.", min: "Math.min", ceil_div: |a, n| format!("Math.ceil({a} / {n})") };

/// Names for the parameters and sizes of a plan.
pub(super) fn names(plan: &Plan) -> Names {
    Names::new(plan, ARITHMETIC, &is_taken)
}

/// What is special about a kernel that a person wrote: the caller says how many threads, and arrays are written in place.
#[derive(Clone, Debug)]
pub(super) struct ByHand {
    /// Threads of a block.
    pub block: [u32; 3],
    /// Parameters that are written, with their buffers.
    pub written: Vec<(usize, BufferId)>,
    /// Buffers that hold constants, and what they hold.
    pub constants: Vec<(BufferId, String)>,
    /// Where faults are told, and the arrays of the kernel as a list of names and ranks.
    pub faults: Option<(BufferId, String)>,
}

/// A function under construction.
pub(super) struct Function<'p> {
    /// Its name.
    pub name: &'p str,
    /// What it runs.
    pub plan: &'p Plan,
    /// What must hold of sizes.
    pub requires: &'p [Require],
    /// The kernels of the plan.
    pub shaders: &'p [Shader],
    /// Names of parameters and sizes.
    pub names: Names,
    /// A kernel that a person wrote.
    pub by_hand: Option<ByHand>,
    depth: usize,
    out: String,
}

impl<'p> Function<'p> {
    pub(super) fn new(name: &'p str, plan: &'p Plan, requires: &'p [Require], shaders: &'p [Shader]) -> Function<'p> {
        let names = names(plan);
        Function { name, plan, requires, shaders, names, by_hand: None, depth: 0, out: String::new() }
    }

    fn line(&mut self, text: impl AsRef<str>) {
        self.out += &"  ".repeat(self.depth);
        self.out += text.as_ref();
        self.out.push('\n');
    }

    /// Sizes that the caller names. Those of the launch follow from the number of threads.
    pub(super) fn asked(&self) -> Vec<usize> {
        let first = if self.by_hand.is_some() { crate::launch::LAUNCH_SIZES } else { 0 };
        walk::asked(self.plan).into_iter().filter(|&k| k >= first).collect()
    }

    /// A shape as people read it.
    fn shape(&self, ty: Ty, shape: &[Size]) -> String {
        let name = |var: SizeVar| self.names.sizes[var.0 as usize].clone();
        let extents: Vec<String> = shape.iter().map(|size| size.display(&name).to_string()).collect();
        if shape.is_empty() { ty.to_string() } else { format!("{ty}[{}]", extents.join(", ")) }
    }

    /// The comment and the first line.
    fn head(&mut self) {
        self.line("/**");
        for (k, (param, name)) in self.plan.params.iter().zip(&self.names.params.clone()).enumerate() {
            let ty = param.ty.elem();
            let shape = self.shape(ty, param.ty.shape());
            let kind = if param.ty.shape().is_empty() { scalar_type(ty) } else { array_type(ty) };
            let written = self.by_hand.as_ref().is_some_and(|hand| hand.written.iter().any(|(at, _)| *at == k));
            let note = if written { ", written" } else { "" };
            self.line(format!(" * @param {{{kind}}} {name} {shape}{note}"));
        }
        let asked: Vec<String> = self.asked().into_iter().map(|k| self.names.sizes[k].clone()).collect();
        let mut fields: Vec<String> = asked.iter().map(|size| format!("{size}: number")).collect();
        let mut options = asked;
        if self.by_hand.is_some() {
            fields.insert(0, "threads: number | number[]".to_string());
            options.insert(0, "threads".to_string());
        }
        let mut params = self.names.params.clone();
        if !options.is_empty() {
            self.line(format!(" * @param {{{{ {} }}}} sizes", fields.join(", ")));
            params.push(format!("{{ {} }} = {{}}", options.join(", ")));
        }
        self.line(format!(" * @returns {{Promise<{}>}}{}", self.result_type(), self.result_shapes()));
        self.line(" */");
        self.line(format!("export async function {}({}) {{", self.name, params.join(", ")));
    }

    fn results(&self) -> impl Iterator<Item = (BufferId, Ty, &'p [Size])> + use<'p> {
        let plan = self.plan;
        plan.results.iter().map(move |(id, shape)| (*id, plan.buffers[id.0 as usize].ty, &shape[..]))
    }

    fn result_type(&self) -> String {
        let kind = |ty, shape: &[Size]| if shape.is_empty() { scalar_type(ty) } else { array_type(ty) };
        let types: Vec<&str> = self.results().map(|(_, ty, shape)| kind(ty, shape)).collect();
        match &types[..] {
            [] => "void".to_string(),
            [one] => one.to_string(),
            many => format!("[{}]", many.join(", ")),
        }
    }

    fn result_shapes(&self) -> String {
        let shapes: Vec<String> = self.results().map(|(_, ty, shape)| self.shape(ty, shape)).collect();
        if shapes.is_empty() { String::new() } else { format!(" {}", shapes.join(", ")) }
    }

    /// The whole function.
    pub(super) fn text(mut self) -> String {
        self.head();
        self.depth = 1;
        for (param, name) in self.plan.params.iter().zip(self.names.params.clone()) {
            if let Type::Array(ty, _) = &param.ty {
                self.line(format!("engine.array(\"{}\", \"{name}\", {name}, {});", self.name, array_type(*ty)));
            }
        }
        if let Some(ByHand { block: [x, y, z], .. }) = self.by_hand {
            self.line(format!("const [threads_x, threads_y, threads_z] = engine.triple(\"{}\", threads);", self.name));
            for (axis, size) in [("x", x), ("y", y), ("z", z)] {
                let threads = format!("threads_{axis}");
                let blocks = if size == 1 { threads } else { format!("Math.ceil({threads} / {size})") };
                self.line(format!("const grid_{axis} = {blocks};"));
            }
        }
        for statement in walk::statements(self.requires, self.plan) {
            self.statement(&statement);
        }
        self.give();
        self.depth = 1;
        self.line("});");
        self.out += "}\n";
        self.out
    }

    /// Reads the results.
    fn give(&mut self) {
        if let Some(hand) = self.by_hand.clone() {
            if let Some((BufferId(id), arrays)) = hand.faults {
                self.line(format!("await session.noFaults(\"{}\", buffer{id}, {arrays});", self.name));
            }
            for (param, BufferId(id)) in hand.written {
                self.line(format!("await session.readInto(buffer{id}, {});", self.names.params[param]));
            }
            return;
        }
        let read = |(BufferId(id), ty, shape): (BufferId, Ty, &[Size])| {
            let count = if shape.is_empty() { "1".into() } else { self.names.count(shape, "the result", self.name) };
            let data = format!("session.read(buffer{id}, {}, {count})", array_type(ty));
            match (shape.is_empty(), ty) {
                (false, _) => format!("await {data}"),
                (true, Ty::Bool) => format!("await session.holds(buffer{id})"),
                (true, Ty::BF16) => format!("engine.fromBf16((await {data})[0])"),
                (true, _) => format!("(await {data})[0]"),
            }
        };
        let results: Vec<String> = self.results().map(read).collect();
        match &results[..] {
            [one] => self.line(format!("return {};", one.strip_prefix("await ").unwrap_or(one))),
            many => {
                self.line("return [");
                many.iter().for_each(|one| self.line(format!("  {one},")));
                self.line("];");
            }
        }
    }

    fn inner(&mut self, statements: &[Statement]) {
        self.depth += 1;
        statements.iter().for_each(|statement| self.statement(statement));
        self.depth -= 1;
    }

    fn statement(&mut self, statement: &Statement) {
        let name = self.name;
        let size = |var: &SizeVar| &self.names.sizes[var.0 as usize];
        let line = match statement {
            Statement::Told { size: var, param } => {
                format!("const {} = {}.length;", size(var), self.names.params[*param])
            }
            // An axis is not negative.
            Statement::Asked(_) => return,
            // These follow from the number of threads, which is looked at.
            Statement::Axis(SizeVar(k)) if self.by_hand.is_some() && (*k as usize) < crate::launch::LAUNCH_SIZES => {
                return;
            }
            Statement::Axis(var) => format!("engine.axis(\"{name}\", \"{0}\", {0});", size(var)),
            Statement::Expect { shape: [Size::Var(var)], param } if walk::told_by(self.plan, *var) == Some(*param) => {
                return;
            }
            Statement::Expect { param, shape } => {
                let array = &self.names.params[*param];
                format!("engine.expect(\"{name}\", \"{array}\", {array}, {});", self.names.count(shape, array, name))
            }
            Statement::Require(rule) => {
                let holds = self.names.rule(rule, "===");
                format!("engine.require({holds}, \"{name}\", \"{holds}\");")
            }
            Statement::Begin => {
                let line = format!("return engine.call(\"{name}\", async (session) => {{");
                self.line(line);
                self.depth += 1;
                return;
            }
            Statement::Upload { buffer: BufferId(id), param } => {
                let value = &self.names.params[*param];
                match &self.plan.params[*param].ty {
                    Type::Array(..) => format!("const buffer{id} = session.upload({value});"),
                    Type::Scalar(ty) => {
                        format!("const buffer{id} = session.upload(Uint32Array.of(engine.word.{ty}({value})));")
                    }
                }
            }
            Statement::Allocate { buffer, swapped } => self.allocate(*buffer, *swapped),
            Statement::Launch { kernel, buffers, scalars } => self.launch(&self.shaders[*kernel], buffers, scalars),
            Statement::Count { size: var, from } => {
                format!("const {} = await session.count(buffer{});", size(var), from.0)
            }
            Statement::Loop { depth, turns, body, swaps } => return self.turns(*depth, turns, body, swaps),
            Statement::Choose { work, most, small, large } => {
                self.line(format!("if ({} <= {most}) {{", self.names.size(work)));
                self.inner(small);
                self.line("} else {");
                self.inner(large);
                "}".to_string()
            }
        };
        self.line(line);
    }

    fn allocate(&self, buffer: BufferId, swapped: bool) -> String {
        let word = if swapped { "let" } else { "const" };
        let BufferId(id) = buffer;
        let constants = self.by_hand.iter().flat_map(|hand| &hand.constants);
        if let Some((_, values)) = constants.into_iter().find(|(at, _)| *at == buffer) {
            return format!("{word} buffer{id} = session.upload({values});");
        }
        let buffer = &self.plan.buffers[id as usize];
        let count = self.names.count(&buffer.shape, walk::what_is(buffer.role), self.name);
        format!("{word} buffer{id} = session.allocate({} * {count});", buffer.ty.bytes())
    }

    fn turns(&mut self, depth: u32, turns: &Repeat, body: &[Statement], swaps: &[(BufferId, BufferId)]) {
        let turn = format!("turn{depth}");
        let up_to = match turns {
            Repeat::Size(size) => format!("{turn} < {}", self.names.size(size)),
            Repeat::Read(from) => {
                self.line(format!("const turns{} = await session.count(buffer{});", from.0, from.0));
                format!("{turn} < turns{}", from.0)
            }
            Repeat::While { .. } => String::new(),
        };
        self.line(format!("for (let {turn} = 0; {up_to}; {turn}++) {{"));
        if let Repeat::While { test, holds } = turns {
            self.inner(test);
            self.line(format!("  if (!(await session.holds(buffer{}))) break;", holds.0));
        }
        self.inner(body);
        for (BufferId(a), BufferId(b)) in swaps {
            self.line(format!("  [buffer{a}, buffer{b}] = [buffer{b}, buffer{a}];"));
        }
        self.line("}");
    }

    fn launch(&self, shader: &Shader, buffers: &[BufferId], scalars: &[ScalarArg]) -> String {
        let bound = shader.bindings.iter().filter_map(|binding| match binding {
            Binding::Storage { place, .. } => Some(format!("buffer{}", buffers[*place].0)),
            Binding::Uniform => None,
        });
        let words = shader.words.iter().map(|word| match word {
            Word::Size(size) => self.names.size(size),
            Word::Scalar(k) => match scalars[*k] {
                ScalarArg::Argument(k) => {
                    format!("engine.word.{}({})", self.plan.params[k].ty.elem(), self.names.params[k])
                }
                ScalarArg::Turn(depth) => format!("turn{depth}"),
                ScalarArg::Const(value) => format!("engine.word.{}({})", value.ty, literal(value)),
                ScalarArg::Read(BufferId(id)) => {
                    let ty = self.plan.buffers[id as usize].ty;
                    format!("engine.word.{ty}((await session.read(buffer{id}, {}, 1))[0])", array_type(ty))
                }
            },
            Word::Zero => "0".to_string(),
        });
        let bound: Vec<String> = bound.collect();
        let words: Vec<String> = words.collect();
        let (bound, words, groups) = (bound.join(", "), words.join(", "), self.names.list(&shader.groups));
        let short = format!("await session.launch(kernels.{}, [{bound}], [{words}], {groups});", shader.name);
        if short.len() <= 100 {
            return short;
        }
        let pad = "  ".repeat(self.depth);
        let kernel = &shader.name;
        format!(
            "await session.launch(\n{pad}  kernels.{kernel},\n{pad}  [{bound}],\n{pad}  [{words}],\n{pad}  {groups},\n{pad});"
        )
    }
}

/// The descriptions of kernels, as the engine takes them.
pub(super) fn kernels(shaders: &[Shader]) -> String {
    let mut out = String::from("/** @type {Record<string, import(\"./engine.js\").Kernel>} */\nconst kernels = {\n");
    for shader in shaders {
        let bindings: Vec<&str> = shader
            .bindings
            .iter()
            .map(|binding| match binding {
                Binding::Storage { written: true, .. } => "\"storage\"",
                Binding::Storage { written: false, .. } => "\"read-only-storage\"",
                Binding::Uniform => "\"uniform\"",
            })
            .collect();
        out += &format!("  {}: {{\n", shader.name);
        out += &format!("    file: \"{}\",\n    entry: \"{}\",\n", shader.file(), shader.entry);
        out += &format!("    bindings: [{}],\n  }},\n", bindings.join(", "));
    }
    out + "};\n"
}
