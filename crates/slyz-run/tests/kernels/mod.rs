//! Random programs in the language of kernels, as text: what fails is a file of the corpus.
//!
//! Covers narrow and wide elements, loops that threads leave at different turns, branches, early exits, arrays of a thread,
//! memory of a block with barriers, launches of fewer threads than there are elements and of none, several launches on
//! the same tensors. Threads write to their own element only, so that nothing races, and floats are only added,
//! multiplied and compared, which every device rounds alike.

use slyz_trials::Random;
use std::fmt::Write;

/// Elements of tensors. Those of 8 and 16 bits more often than people use them: their vectors are made of parts.
const TYPES: [&str; 11] = ["u8", "i8", "u16", "i16", "i32", "u32", "i64", "f16", "bf16", "f32", "u16"];

/// Lengths of tensors and numbers of threads: around vectors of 4, 8 and 16, several of them, and none.
const LENGTHS: [u64; 14] = [0, 1, 3, 5, 7, 8, 13, 16, 17, 31, 33, 64, 71, 100];

/// The program of a seed.
pub fn program(seed: u64) -> String {
    let mut random = Random(seed);
    let elem = random.pick(&TYPES);
    let other = random.pick(&TYPES);
    let block = (random.below(3) == 0).then(|| random.pick(&[4u64, 8, 12, 32]));
    let guarded = random.below(2) == 0;
    let mut maker = Maker {
        random,
        elem,
        other,
        block,
        guarded,
        text: String::new(),
        locals: vec![],
        fixed: vec![],
        count: 0,
        depth: 1,
    };
    maker.kernel();
    maker.host();
    maker.text
}

struct Maker {
    random: Random,
    /// The type that is computed in, and that of the second tensor.
    elem: &'static str,
    other: &'static str,
    /// Threads of a block, where they meet.
    block: Option<u64>,
    /// Threads look whether their element is there. Else the launch has no more threads than there are elements.
    guarded: bool,
    text: String,
    /// Names of the type that is computed in: those that can be set, and those that cannot.
    locals: Vec<String>,
    fixed: Vec<String>,
    count: usize,
    depth: usize,
}

impl Maker {
    fn line(&mut self, text: &str) {
        let indent = "    ".repeat(self.depth);
        let _ = writeln!(self.text, "{indent}{text}");
    }

    fn fresh(&mut self) -> String {
        self.count += 1;
        format!("v{}", self.count)
    }

    fn is_float(&self) -> bool {
        self.elem.contains('f')
    }

    // ---- the kernel

    fn kernel(&mut self) {
        let (elem, other) = (self.elem, self.other);
        let _ =
            writeln!(self.text, "graph fn k(x: Tensor<{elem}>, y: Tensor<{other}>, out: Tensor<{elem}>!, n: i32) {{");
        match self.block {
            Some(block) => {
                self.line(&format!("threadgroup let! tile: [{elem}; {block}]"));
                self.line(&format!("let i = block.x * {block} + thread.x"));
            }
            None => self.line("let i = thread.x"),
        }
        let start = self.fresh();
        let number = self.number(3);
        self.line(&format!("let! {start} = {number}"));
        self.locals.push(start.clone());
        self.line(&if self.guarded {
            format!("if i < x.len() {{ {start} = x[i] }}")
        } else {
            format!("{start} = x[i]")
        });
        self.statements(5);
        if let Some(block) = self.block {
            let (value, turn) = (self.expr(2), 1 + self.random.below(block));
            self.line(&format!("tile[thread.x] = {value}"));
            self.line("threadgroup.barrier()");
            self.line(&format!("{start} = tile[(thread.x + {turn}) % {block}]"));
            self.statements(3);
        }
        if self.block.is_none() && self.random.below(4) == 0 {
            let condition = self.condition();
            self.line(&format!("if {condition} {{ return }}"));
        }
        let value = self.expr(3);
        self.line(&if self.guarded {
            format!("if i < out.len() {{ out[i] = {value} }}")
        } else {
            format!("out[i] = {value}")
        });
        self.text += "}\n\n";
    }

    fn statements(&mut self, most: u64) {
        for _ in 0..1 + self.random.below(most) {
            self.statement();
        }
    }

    fn block(&mut self, part: impl FnOnce(&mut Self)) {
        let (locals, fixed) = (self.locals.len(), self.fixed.len());
        self.depth += 1;
        part(self);
        self.depth -= 1;
        self.locals.truncate(locals);
        self.fixed.truncate(fixed);
    }

    fn statement(&mut self) {
        let choice = self.random.below(if self.depth > 3 { 4 } else { 9 });
        match choice {
            0 => {
                let (name, value) = (self.fresh(), self.expr(3));
                self.line(&format!("let {name} = {value}"));
                self.fixed.push(name);
            }
            1 => {
                let (name, value) = (self.fresh(), self.expr(3));
                self.line(&format!("let! {name} = {value}"));
                self.locals.push(name);
            }
            2 | 3 => {
                let (name, value) = (self.some_local(), self.expr(3));
                let sign = self.random.pick(&["=", "+=", "-=", "*="]);
                self.line(&format!("{name} {sign} {value}"));
            }
            4 | 5 => {
                let condition = self.condition();
                self.line(&format!("if {condition} {{"));
                self.block(|m| m.statements(3));
                if self.random.below(2) == 0 {
                    self.line("} else {");
                    self.block(|m| m.statements(3));
                }
                self.line("}");
            }
            6 | 7 => {
                let counter = self.fresh();
                let turns = self.turns();
                self.line(&format!("for {counter} in 0..{turns} {{"));
                self.block(|m| {
                    let value = m.cast(&counter);
                    let name = m.some_local();
                    m.line(&format!("{name} += {value}"));
                    m.statements(2);
                    if m.random.below(3) == 0 {
                        let (condition, way) = (m.condition(), m.random.pick(&["break", "continue"]));
                        m.line(&format!("if {condition} {{ {way} }}"));
                    }
                });
                self.line("}");
            }
            _ => {
                let counter = self.fresh();
                let turns = self.turns();
                self.line(&format!("let! {counter} = {turns}"));
                self.line(&format!("while {counter} > 0 {{"));
                self.block(|m| {
                    m.line(&format!("{counter} -= 1"));
                    m.statements(2);
                });
                self.line("}");
            }
        }
    }

    /// A small number of turns: the same for all threads, or another for each.
    fn turns(&mut self) -> String {
        match self.random.below(4) {
            0 => format!("{}i64", self.random.below(6)),
            1 => "(n as i64)".into(),
            2 => "(i % 5)".into(),
            _ => {
                let value = self.some_value();
                format!("(({value} as i64) & 7)")
            }
        }
    }

    // ---- values

    fn number(&mut self, below: u64) -> String {
        let value = self.random.below(below);
        if self.is_float() { format!("(({value}.5) as {})", self.elem) } else { format!("{value}{}", self.elem) }
    }

    fn some_local(&mut self) -> String {
        self.locals[self.random.below(self.locals.len() as u64) as usize].clone()
    }

    fn some_value(&mut self) -> String {
        let k = self.random.below((self.locals.len() + self.fixed.len()) as u64) as usize;
        if k < self.locals.len() { self.locals[k].clone() } else { self.fixed[k - self.locals.len()].clone() }
    }

    fn cast(&self, value: &str) -> String {
        format!("({value} as {})", self.elem)
    }

    fn expr(&mut self, depth: u64) -> String {
        if depth == 0 {
            return self.some_value();
        }
        match self.random.below(9) {
            0 => self.number(40),
            1 | 2 => self.some_value(),
            3 => {
                let read = match self.random.below(3) {
                    0 => format!("(if i < y.len() {{ y[i] }} else {{ (1 as {}) }})", self.other),
                    1 => format!("(if y.len() > 0 {{ y[(i * 3 + 1) % y.len()] }} else {{ (2 as {}) }})", self.other),
                    _ => "n".into(),
                };
                self.cast(&read)
            }
            4 => {
                let condition = self.condition();
                let (a, b) = (self.expr(depth - 1), self.expr(depth - 1));
                format!("(if {condition} {{ {a} }} else {{ {b} }})")
            }
            5 => {
                let function = self.random.pick(&["min", "max"]);
                let (a, b) = (self.expr(depth - 1), self.expr(depth - 1));
                format!("{function}({a}, {b})")
            }
            _ => {
                let signs: &[&str] =
                    if self.is_float() { &["+", "-", "*"] } else { &["+", "-", "*", "/", "%", "&", "|", "^"] };
                let sign = self.random.pick(signs);
                let (a, b) = (self.expr(depth - 1), self.expr(depth - 1));
                format!("({a} {sign} {b})")
            }
        }
    }

    fn condition(&mut self) -> String {
        match self.random.below(4) {
            0 => format!("i {} {}", self.random.pick(&["<", ">", "=="]), self.random.below(40)),
            1 => format!("i % {} == 0", 2 + self.random.below(3)),
            _ => {
                let sign = self.random.pick(&["<", "<=", "==", "!="]);
                let (a, b) = (self.expr(1), self.expr(1));
                format!("{a} {sign} {b}")
            }
        }
    }

    // ---- the host

    fn tensor(&mut self, name: &str, ty: &str, length: u64) {
        let numbers: Vec<String> = (0..length)
            .map(|_| match (ty.contains('f'), ty.starts_with('u')) {
                (true, _) => format!("{}.{}", self.random.below(40) as i64 - 20, self.random.pick(&["0", "5", "25"])),
                (false, true) => self.random.below(256).to_string(),
                (false, false) => (self.random.below(256) as i64 - 128).to_string(),
            })
            .collect();
        let (open, list) = if length == 0 {
            (format!("zeros<{ty}>(0"), String::new())
        } else {
            (format!("from<{ty}>("), format!("[{}]", numbers.join(", ")))
        };
        let _ = writeln!(self.text, "let {name} = Tensor.{open}{list})");
    }

    fn host(&mut self) {
        let [x, y, out] = [0; 3].map(|_| self.random.pick(&LENGTHS));
        // Without guards all tensors have an element for every thread.
        let [x, out] = if self.guarded { [x, out] } else { [x.max(out), x.max(out)] };
        let (elem, other) = (self.elem, self.other);
        self.tensor("x", elem, x);
        self.tensor("y", other, y);
        let _ = writeln!(self.text, "let! out = Tensor.zeros<{elem}>({out})");
        for _ in 0..1 + self.random.below(3) {
            let n = self.random.below(9) as i64 - 2;
            let wish = self.random.pick(&LENGTHS);
            let threads = if self.guarded { wish } else { wish.min(out) };
            let threads = match self.block {
                Some(block) => format!("grid: {}, block: {block}", threads / block),
                None => format!("threads: {threads}"),
            };
            let mut read = "x".to_string();
            if self.random.below(3) == 0 {
                read = self.fresh();
                let _ = writeln!(self.text, "let {read} = out");
            }
            let _ = writeln!(self.text, "launch k({read}, y, &!out, {n}) with {threads}");
            let _ = writeln!(self.text, "print(out)");
        }
    }
}
