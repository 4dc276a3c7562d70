//! `slyz_NAME`: the function of a program, in what C and C++ have in common, over the statements of the walk.

use super::Platform;
use super::by_hand::Hand;
use super::launch::read_before;
use super::literal::{c_type, literal};
use crate::back::harness::Entry;
use crate::back::harness::walk::{self, Arithmetic, Names, Repeat, Statement, free};
use crate::code::Type;
use crate::kernel::{BufferId, BufferUse, ScalarArg, Step};
use crate::size::{Size, SizeOrigin, SizeVar};
use crate::types::{Scalar, Ty};
use std::collections::BTreeSet;

const ARITHMETIC: Arithmetic =
    Arithmetic { engine: "host_", min: "host_min", ceil_div: |a, n| format!("(({a} + {}) / {n})", n - 1) };

/// Words of C++ and of its libraries.
const WORDS: &str = include_str!("../../cuda/words.txt");

/// Names that the files use themselves, with or without a number behind them.
const OWN: &str = "call buffer constant turn turns i k error right best times output elements ramp told compare compare_count measured \
    expected number half bfloat calloc memcpy memcmp stdin stdout stderr NULL NAN INFINITY EOF restrict argc argv";

pub(super) fn is_taken(name: &str) -> bool {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let own = OWN.split_whitespace().any(|word| word == stem);
    own || name.starts_with("host_")
        || name.starts_with("slyz")
        || name.ends_with("_t")
        || WORDS.split_whitespace().any(|word| word == name)
}

/// Is it no larger than an axis, which was looked at?
fn is_within_axes(size: &Size) -> bool {
    match size {
        Size::Const(_) | Size::Var(_) => true,
        Size::CeilDiv(a, _) => is_within_axes(a),
        Size::Min(a, b) => is_within_axes(a) || is_within_axes(b),
        Size::Add(..) | Size::Mul(..) | Size::Tri(_) => size.constant().is_some(),
    }
}

/// A result, as the caller sees it.
pub(super) struct Output<'p> {
    /// The parameter.
    pub name: String,
    /// Elements.
    pub ty: Ty,
    /// Extents.
    pub shape: &'p [Size],
    buffer: BufferId,
    /// Do kernels write where the caller wants it?
    direct: bool,
}

/// A function under construction.
pub(super) struct Function<'p> {
    pub entry: &'p Entry,
    pub names: Names,
    pub outputs: Vec<Output<'p>>,
    /// A kernel that a person wrote.
    hand: Option<&'p Hand>,
    pub(super) platform: &'p Platform<'p>,
    pub(super) first_kernel: usize,
    out: String,
    pub(super) depth: usize,
}

impl<'p> Function<'p> {
    /// For an entry whose kernels are numbered from `first_kernel` on.
    pub fn new(
        entry: &'p Entry,
        platform: &'p Platform<'p>,
        first_kernel: usize,
        hand: Option<&'p Hand>,
    ) -> Function<'p> {
        let plan = &entry.plan;
        let mut names = Names::new(plan, ARITHMETIC, &is_taken);
        if let Some(hand) = hand {
            names.params = hand.params.clone();
        }
        let results = &plan.results;
        let output = |(k, (buffer, shape)): (usize, &'p (BufferId, Vec<Size>))| {
            let asked = if results.len() == 1 { "output".to_string() } else { format!("output{k}") };
            let known = |name: &str| names.params.iter().chain(&names.sizes).any(|other| other == name);
            let declared = &plan.buffers[buffer.0 as usize];
            let once = results.iter().filter(|(other, _)| other == buffer).count() == 1;
            let whole = Size::product(&declared.shape) == Size::product(shape);
            let written = matches!(declared.role, BufferUse::Result(_));
            let direct = platform.is_cpu() && once && whole && written;
            Output { name: free(&asked, &known), ty: declared.ty, shape, buffer: *buffer, direct }
        };
        let outputs = results.iter().enumerate().map(output).collect();
        Function { entry, names, outputs, hand, platform, first_kernel, out: String::new(), depth: 1 }
    }

    /// Sizes that the caller gives. How many blocks a launch has follows from its threads.
    pub fn given(&self) -> impl Iterator<Item = usize> + '_ {
        let sizes = self.entry.plan.sizes.iter().enumerate().filter(|(k, _)| !self.counts_blocks(*k));
        sizes.filter(|(_, decl)| decl.origin == SizeOrigin::Given).map(|(k, _)| k)
    }

    /// Is it one of the first three sizes of a kernel that a person wrote?
    fn counts_blocks(&self, size: usize) -> bool {
        self.hand.is_some() && size < 3
    }

    /// Does a kernel that a person wrote write into this argument?
    fn is_written(&self, param: usize) -> bool {
        self.hand.is_some_and(|hand| hand.special.is_written(param))
    }

    /// Sizes of results that the function counts, and tells.
    pub fn counted(&self) -> Vec<usize> {
        let mut seen = vec![];
        let plan = &self.entry.plan;
        let mut see = |SizeVar(k): SizeVar| {
            let k = k as usize;
            if plan.sizes[k].origin == SizeOrigin::Counted && !seen.contains(&k) {
                seen.push(k);
            }
        };
        self.outputs.iter().flat_map(|output| output.shape).for_each(|size| size.each_var(&mut see));
        seen
    }

    /// The parameter that tells a counted size.
    pub fn room(&self, size: usize) -> String {
        format!("{}_room", self.names.sizes[size])
    }

    /// The head of the function.
    pub fn signature(&self) -> String {
        let mut params = vec![];
        for (k, (param, name)) in self.entry.plan.params.iter().zip(&self.names.params).enumerate() {
            let ty = c_type(param.ty.elem());
            params.push(match param.ty {
                Type::Scalar(_) => format!("{ty} {name}"),
                Type::Array(..) if self.is_written(k) => format!("{ty} *{name}"),
                Type::Array(..) => format!("const {ty} *{name}"),
            });
        }
        params.extend(self.outputs.iter().map(|output| format!("{} *{}", c_type(output.ty), output.name)));
        params.extend(self.given().map(|k| format!("int64_t {}", self.names.sizes[k])));
        params.extend(self.counted().into_iter().map(|k| format!("int64_t *{}", self.room(k))));
        if params.is_empty() {
            params.push("void".to_string());
        }
        format!("int slyz_{}({})", self.entry.program.name, params.join(", "))
    }

    /// What the caller passes, in a comment.
    pub fn comment(&self) -> String {
        let shape = |shape: &[Size]| {
            let extents: Vec<String> = shape.iter().map(|size| self.spelled(size)).collect();
            if shape.is_empty() { String::new() } else { format!("[{}]", extents.join(", ")) }
        };
        let mut parts = vec![];
        for (k, (param, name)) in self.entry.plan.params.iter().zip(&self.names.params).enumerate() {
            let written = if self.is_written(k) { ", written" } else { "" };
            parts.push(format!("{name}: {}{}{written}", param.ty.elem(), shape(param.ty.shape())));
        }
        if let Some(Hand { block: [x, y, z], .. }) = self.hand {
            return format!("/* {}. Threads in x, y and z, in blocks of {x} * {y} * {z}. */\n", parts.join("; "));
        }
        let results =
            self.outputs.iter().map(|output| format!("{}: {}{}", output.name, output.ty, shape(output.shape)));
        let results: Vec<String> = results.collect();
        let mut text = format!("/* {} -> {}.", parts.join(", "), results.join(", "));
        for k in self.counted() {
            text += &format!(
                " *{} says how large {} may be, and is told how large it is.",
                self.room(k),
                self.names.sizes[k]
            );
        }
        text + " */\n"
    }

    /// A size for readers.
    fn spelled(&self, size: &Size) -> String {
        match size {
            Size::Mul(a, b) => format!("{} * {}", self.spelled(a), self.spelled(b)),
            size => self.names.size(size),
        }
    }

    fn line(&mut self, text: impl AsRef<str>) {
        self.out += &"    ".repeat(self.depth);
        self.out += text.as_ref();
        self.out.push('\n');
    }

    fn inner(&mut self, statements: &[Statement]) {
        self.depth += 1;
        statements.iter().for_each(|statement| self.statement(statement));
        self.depth -= 1;
    }

    /// Parameters whose values nothing asks for.
    fn unused(&self) -> Vec<usize> {
        let plan = &self.entry.plan;
        let mut used = BTreeSet::new();
        let mut bound: Vec<BufferId> = plan.results.iter().map(|(id, _)| *id).collect();
        for step in plan.all_steps() {
            bound.extend(step.buffers());
            if let Step::Launch { scalars, .. } = step {
                let argument = |scalar: &ScalarArg| match scalar {
                    ScalarArg::Argument(k) => Some(*k),
                    ScalarArg::Turn(_) | ScalarArg::Const(_) | ScalarArg::Read(_) => None,
                };
                used.extend(scalars.iter().filter_map(argument));
            }
        }
        for id in bound {
            if let BufferUse::Argument(k) = plan.buffers[id.0 as usize].role {
                used.insert(k);
            }
        }
        (0..plan.params.len()).filter(|k| !used.contains(k)).collect()
    }

    /// The whole function.
    pub fn text(mut self) -> String {
        let plan = &self.entry.plan;
        self.out = format!("{} {{\n", self.signature());
        for k in self.unused() {
            self.line(format!("(void){};", self.names.params[k]));
        }
        self.line("host_call call = host_begin();");
        for (k, decl) in plan.sizes.iter().enumerate() {
            if decl.origin == SizeOrigin::Counted {
                self.line(format!("int64_t {} = 0;", self.names.sizes[k]));
            }
        }
        for from in self.read_numbers() {
            let ty = c_type(plan.buffers[from.0 as usize].ty);
            self.line(format!("{ty} {} = 0;", read_before(from)));
        }
        for statement in walk::statements(&self.entry.program.requires, plan) {
            self.statement(&statement);
        }
        let read = |output: &Output| {
            let count = self.names.size(&Size::product(output.shape));
            format!("host_read(&call, {0}, buffer{1}, {count}, sizeof *{0});", output.name, output.buffer.0)
        };
        let mut reads: Vec<String> = self.outputs.iter().filter(|output| !output.direct).map(read).collect();
        if let Some(hand) = self.hand.filter(|_| !self.platform.is_cpu()) {
            let back = |(param, buffer): &(usize, BufferId)| {
                let name = &self.names.params[*param];
                let count = self.names.size(&Size::product(plan.params[*param].ty.shape()));
                format!("host_read(&call, {name}, buffer{}, {count}, sizeof *{name});", buffer.0)
            };
            reads.extend(hand.special.written.iter().map(back));
        }
        reads.into_iter().for_each(|text| self.line(text));
        self.line("return host_end(&call);");
        self.out + "}\n"
    }

    fn statement(&mut self, statement: &Statement) {
        let size = |var: &SizeVar| &self.names.sizes[var.0 as usize];
        let line = match statement {
            // Pointers do not know how long their arrays are.
            Statement::Told { .. } | Statement::Asked(_) | Statement::Expect { .. } => return,
            Statement::Begin => return self.count_blocks(),
            Statement::Axis(var) if self.counts_blocks(var.0 as usize) => return,
            Statement::Axis(var) => format!("{0} = host_axis(&call, {0});", size(var)),
            Statement::Require(rule) => {
                format!("host_require(&call, {}, SLYZ_REQUIREMENT);", self.names.rule(rule, "=="))
            }
            Statement::Upload { buffer, param } => {
                let name = &self.names.params[*param];
                let (data, count, each) = match &self.entry.plan.params[*param].ty {
                    Type::Array(_, shape) => {
                        (name.clone(), self.names.size(&Size::product(shape)), format!("sizeof *{name}"))
                    }
                    Type::Scalar(_) => (format!("&{name}"), "1".to_string(), format!("sizeof {name}")),
                };
                format!("host_buffer buffer{} = host_upload(&call, {data}, {count}, {each});", buffer.0)
            }
            Statement::Allocate { buffer, swapped } => self.allocate(*buffer, *swapped),
            Statement::Launch { kernel, buffers, scalars } => {
                self.check_extents(*kernel);
                self.read_scalars(scalars);
                self.launch(*kernel, buffers, scalars)
            }
            Statement::Count { size: var, from } => {
                let counted = format!("host_read_count(&call, buffer{})", from.0);
                if self.counted().contains(&(var.0 as usize)) {
                    format!("{} = host_counted(&call, {counted}, {});", size(var), self.room(var.0 as usize))
                } else {
                    format!("{} = {counted};", size(var))
                }
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

    /// The blocks of a launch of so many threads.
    fn count_blocks(&mut self) {
        let Some(hand) = self.hand else { return };
        for (k, block) in hand.block.into_iter().enumerate() {
            let threads = Size::Var(SizeVar(3 + k as u32));
            let blocks = if block == 1 { threads } else { Size::CeilDiv(Box::new(threads), block.into()) };
            self.line(format!("int64_t {} = {};", self.names.sizes[k], self.names.size(&blocks)));
        }
    }

    fn allocate(&mut self, buffer: BufferId, swapped: bool) -> String {
        let BufferId(id) = buffer;
        let constants = self.hand.into_iter().flat_map(|hand| &hand.special.constants);
        if let Some((_, values)) = { constants }.find(|(at, _)| *at == buffer) {
            let (ty, count) = (c_type(values.ty), values.data.len());
            let elements: Vec<String> =
                values.data.iter().map(|&bits| literal(Scalar { ty: values.ty, bits })).collect();
            self.line(format!("static const {ty} constant{id}[] = {{{}}};", elements.join(", ")));
            return format!(
                "host_buffer buffer{id} = host_upload(&call, constant{id}, {count}, sizeof *constant{id});"
            );
        }
        let declared = &self.entry.plan.buffers[id as usize];
        let count = self.names.size(&Size::product(&declared.shape));
        let each = declared.ty.bytes();
        let direct = self.outputs.iter_mut().find(|output| output.direct && output.buffer == buffer);
        match direct {
            // What changes places is copied at the end.
            Some(output) if swapped => output.direct = false,
            Some(output) => {
                return format!("host_buffer buffer{id} = host_room(&call, {}, {count}, {each});", output.name);
            }
            None => {}
        }
        format!("host_buffer buffer{id} = host_allocate(&call, {count}, {each});")
    }

    fn turns(&mut self, depth: u32, turns: &Repeat, body: &[Statement], swaps: &[(BufferId, BufferId)]) {
        let turn = format!("turn{depth}");
        let (more, below) = match turns {
            Repeat::Size(size) => (String::new(), format!("{turn} < {} && ", self.names.size(size))),
            Repeat::Read(from) => {
                let count = format!(", turns{depth} = host_read_count(&call, buffer{})", from.0);
                (count, format!("{turn} < turns{depth} && "))
            }
            Repeat::While { .. } => (String::new(), String::new()),
        };
        self.line(format!("for (int64_t {turn} = 0{more}; {below}!call.error; {turn}++) {{"));
        if let Repeat::While { test, holds } = turns {
            self.inner(test);
            self.line(format!("    if (!host_read_bool(&call, buffer{})) break;", holds.0));
        }
        self.inner(body);
        swaps.iter().for_each(|(a, b)| self.line(format!("    host_swap(&buffer{}, &buffer{});", a.0, b.0)));
        self.line("}");
    }

    /// Numbers that the device has computed, and that a raw kernel is passed. They are declared once, however often they are read.
    fn read_scalars(&mut self, scalars: &[ScalarArg]) {
        for from in scalars.iter().filter_map(ScalarArg::read) {
            let name = read_before(from);
            self.line(format!("host_read(&call, &{name}, buffer{}, 1, sizeof {name});", from.0));
        }
    }

    /// The numbers that launches of the function read.
    fn read_numbers(&self) -> BTreeSet<BufferId> {
        let read = |step: &Step| match step {
            Step::Launch { scalars, .. } => scalars.iter().filter_map(ScalarArg::read).collect(),
            Step::Count { .. } | Step::Free(_) | Step::Loop(_) | Step::Choose { .. } => vec![],
        };
        self.entry.plan.all_steps().into_iter().flat_map(read).collect()
    }

    /// Extents of the code that are larger than axes and arrays can be counted, too.
    fn check_extents(&mut self, kernel: usize) {
        for size in self.entry.plan.kernels[kernel].extents().iter().filter(|size| !is_within_axes(size)) {
            self.line(format!("host_axis(&call, {});", self.names.size(size)));
        }
    }
}
