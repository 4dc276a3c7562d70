//! Text to SIR: the token cursor, the names in sight, and everything up to the first statement.
//!
//! Never panics and never recurses deeper than [`DEEPEST`], whatever the text.

use super::case::{Case, Slots};
use super::error::ParseError;
use super::lex::{Kind, Token, tokens};
use crate::choices::{Precision, UnknownChoice};
use crate::code::{Body, Function, Id, Type, Var};
use crate::kernel::{Access, Activation, Factor, Kernel, MatrixProduct, Memory, Space};
use crate::names::Names;
use crate::program::{Module, Program, Require};
use crate::size::{Size, SizeDecl, SizeOrigin, SizeVar};
use crate::types::Ty;
use std::collections::HashMap;

/// How deep sizes may nest, and bodies, which count for [`BODY`]. Far past what programs have, and shallow enough for
/// a stack of 1 MiB without optimisation.
const DEEPEST: usize = 256;

/// What a body counts for: it needs several times the stack of a size.
const BODY: usize = 4;

/// What reading gives. The error is boxed because results lie on the stack at every level of nesting.
pub(super) type Parsed<T> = Result<T, Box<ParseError>>;

/// A place in the tokens, and what the program or kernel being read has declared so far.
pub(super) struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token<'t>>,
    next: usize,
    depth: usize,
    pub sizes: Vec<SizeDecl>,
    pub memories: Vec<Memory>,
    pub functions: Vec<Function>,
    /// The names in sight.
    names: HashMap<&'t str, Id>,
    /// The same in order of binding, to forget them at the end of a body.
    bound: Vec<&'t str>,
    /// The type of every name so far, seen or not.
    types: Vec<Type>,
}

/// A binder that has been read but is not in sight yet: a statement does not see its own results.
pub(super) struct Binder<'t> {
    name: &'t str,
    at: usize,
    pub var: Var,
}

// ---- the cursor

impl<'t> Parser<'t> {
    pub fn new(text: &'t str) -> Result<Parser<'t>, ParseError> {
        Ok(Parser {
            text,
            tokens: tokens(text)?,
            next: 0,
            depth: 0,
            sizes: Vec::new(),
            memories: Vec::new(),
            functions: Vec::new(),
            names: HashMap::new(),
            bound: Vec::new(),
            types: Vec::new(),
        })
    }

    fn token(&self, ahead: usize) -> Token<'t> {
        let end = Token { kind: Kind::End, at: self.text.len() };
        self.tokens.get(self.next + ahead).copied().unwrap_or(end)
    }

    pub fn peek(&self) -> Kind<'t> {
        self.token(0).kind
    }

    /// The kind of the token after the next.
    pub fn peek_past(&self) -> Kind<'t> {
        self.token(1).kind
    }

    /// Where the next token starts.
    pub fn at(&self) -> usize {
        self.token(0).at
    }

    pub fn bump(&mut self) {
        self.next += 1;
    }

    pub fn error(&self, at: usize, expected: impl Into<String>, found: impl Into<String>) -> Box<ParseError> {
        ParseError::new(self.text, at, expected, found).into()
    }

    /// The error that something else stands here.
    pub fn expected(&self, expected: impl Into<String>) -> Box<ParseError> {
        self.error(self.at(), expected, self.peek().describe())
    }

    /// Takes the mark if it is next.
    pub fn eat(&mut self, mark: &str) -> bool {
        let found = matches!(self.peek(), Kind::Mark(m) if m == mark);
        self.next += found as usize;
        found
    }

    pub fn mark(&mut self, mark: &str) -> Parsed<()> {
        if self.eat(mark) { Ok(()) } else { Err(self.expected(format!("`{mark}`"))) }
    }

    /// Takes the word if it is next.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek() == Kind::Word(word);
        self.next += found as usize;
        found
    }

    pub fn keyword(&mut self, word: &str) -> Parsed<()> {
        if self.eat_word(word) { Ok(()) } else { Err(self.expected(format!("`{word}`"))) }
    }

    pub fn word(&mut self, what: &str) -> Parsed<&'t str> {
        let Kind::Word(word) = self.peek() else { return Err(self.expected(what)) };
        self.bump();
        Ok(word)
    }

    pub fn number<N: std::str::FromStr>(&mut self, what: &str) -> Parsed<N> {
        let Kind::Number(digits) = self.peek() else { return Err(self.expected(what)) };
        let number = digits.parse().map_err(|_| self.expected(what))?;
        self.bump();
        Ok(number)
    }

    /// Items with commas between, up to and with the closing mark.
    pub fn list<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.eat(close) {
                return Ok(items);
            }
            if !self.eat(",") {
                return Err(self.expected(format!("`,` or `{close}`")));
            }
        }
    }

    /// Runs `inner`, a body, one level deeper.
    pub fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.nested(BODY, inner)
    }

    fn nested<T>(&mut self, weight: usize, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth + weight > DEEPEST {
            return Err(self.error(self.at(), "less nesting", "one level too many"));
        }
        self.depth += weight;
        let result = inner(self);
        self.depth -= weight;
        result
    }

    pub fn end(&self) -> Parsed<()> {
        if self.peek() == Kind::End { Ok(()) } else { Err(self.expected("the end of the text")) }
    }
}

// ---- names

impl<'t> Parser<'t> {
    /// `%x: type`; the name is not in sight before [`Parser::bind`].
    pub fn binder(&mut self) -> Parsed<Binder<'t>> {
        let at = self.at();
        let Kind::Name(name) = self.peek() else {
            return Err(self.expected("a name with its type, such as `%0: f32`"));
        };
        self.bump();
        self.mark(":")?;
        let var = Var { id: Id(self.types.len() as u32), ty: self.ty()? };
        self.types.push(var.ty.clone());
        Ok(Binder { name, at, var })
    }

    pub fn bind(&mut self, binders: Vec<Binder<'t>>) -> Parsed<Vec<Var>> {
        let mut vars = Vec::with_capacity(binders.len());
        for Binder { name, at, var } in binders {
            if self.names.insert(name, var.id).is_some() {
                return Err(self.error(at, "a new name", format!("`%{name}`, which is bound already")));
            }
            self.bound.push(name);
            vars.push(var);
        }
        Ok(vars)
    }

    /// `a: type, b: type` up to the mark, in sight from here on.
    pub fn params(&mut self, close: &str) -> Parsed<Vec<Var>> {
        let binders = self.list(close, Self::binder)?;
        self.bind(binders)
    }

    /// The names in sight, in order of binding.
    pub fn names_in_sight(&self) -> &[&'t str] {
        &self.bound
    }

    /// Runs `inner` and forgets the names it bound.
    pub fn scoped<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let seen = self.bound.len();
        let result = inner(self);
        for name in self.bound.drain(seen..) {
            self.names.remove(name);
        }
        result
    }

    /// A name in sight.
    pub fn name(&mut self) -> Parsed<Id> {
        let Kind::Name(name) = self.peek() else { return Err(self.expected("a name, such as `%0`")) };
        let Some(&id) = self.names.get(name) else {
            return Err(self.error(self.at(), "a name that is bound here", format!("`%{name}`")));
        };
        self.bump();
        Ok(id)
    }

    /// `a, b, c`, perhaps none. A name with a colon behind it is the next statement.
    pub fn names(&mut self) -> Parsed<Vec<Id>> {
        let mut names = Vec::new();
        if matches!(self.peek(), Kind::Name(_)) && self.peek_past() != Kind::Mark(":") {
            names.push(self.name()?);
            while self.eat(",") {
                names.push(self.name()?);
            }
        }
        Ok(names)
    }
}

// ---- sizes and types

impl<'t> Parser<'t> {
    pub fn size(&mut self) -> Parsed<Size> {
        self.nested(1, Self::size_here)
    }

    fn size_here(&mut self) -> Parsed<Size> {
        let call = self.peek_past() == Kind::Mark("(");
        match self.peek() {
            Kind::Number(_) => Ok(Size::Const(self.number("a size below 2^64")?)),
            Kind::Mark("(") => self.sum_or_product(),
            Kind::Word("min") if call => self.min(),
            Kind::Word("ceil") if call => self.ceil(),
            Kind::Word("tri") if call => self.tri(),
            _ => self.size_var().map(Size::Var),
        }
    }

    fn sum_or_product(&mut self) -> Parsed<Size> {
        self.mark("(")?;
        let a = self.size()?.into();
        let sum = self.eat("+");
        if !sum && !self.eat("*") {
            return Err(self.expected("`+` or `*`"));
        }
        let b = self.size()?.into();
        self.mark(")")?;
        Ok(if sum { Size::Add(a, b) } else { Size::Mul(a, b) })
    }

    fn min(&mut self) -> Parsed<Size> {
        self.keyword("min")?;
        self.mark("(")?;
        let a = self.size()?.into();
        self.mark(",")?;
        let b = self.size()?.into();
        self.mark(")")?;
        Ok(Size::Min(a, b))
    }

    fn ceil(&mut self) -> Parsed<Size> {
        self.keyword("ceil")?;
        self.mark("(")?;
        let a = self.size()?.into();
        self.mark("/")?;
        let n: std::num::NonZeroU64 = self.number("a constant divisor, 1 or more")?;
        self.mark(")")?;
        Ok(Size::CeilDiv(a, n.get()))
    }

    fn tri(&mut self) -> Parsed<Size> {
        self.keyword("tri")?;
        self.mark("(")?;
        let a = self.size()?.into();
        self.mark(")")?;
        Ok(Size::Tri(a))
    }

    pub fn size_var(&mut self) -> Parsed<SizeVar> {
        let Kind::Word(name) = self.peek() else { return Err(self.expected("a size")) };
        let Some(place) = self.sizes.iter().position(|decl| decl.name == name) else {
            return Err(self.expected("a size variable of the heading"));
        };
        self.bump();
        Ok(SizeVar(place as u32))
    }

    pub fn shape(&mut self) -> Parsed<Vec<Size>> {
        self.mark("[")?;
        self.list("]", Self::size)
    }

    pub fn scalar_ty(&mut self) -> Parsed<Ty> {
        let ty = self.eat_scalar_ty();
        ty.ok_or_else(|| self.expected("a type, such as `f32`"))
    }

    pub fn eat_scalar_ty(&mut self) -> Option<Ty> {
        let Kind::Word(word) = self.peek() else { return None };
        let ty = Ty::from_name(word)?;
        self.bump();
        Some(ty)
    }

    fn ty(&mut self) -> Parsed<Type> {
        let ty = self.scalar_ty()?;
        if self.eat("[") { Ok(Type::Array(ty, self.list("]", Self::size)?)) } else { Ok(Type::Scalar(ty)) }
    }

    fn types(&mut self) -> Parsed<Vec<Type>> {
        if self.eat("(") { self.list(")", Self::ty) } else { Ok(vec![self.ty()?]) }
    }

    fn size_decls(&mut self) -> Parsed<Vec<SizeDecl>> {
        let mut sizes: Vec<SizeDecl> = Vec::new();
        if !self.eat("<") {
            return Ok(sizes);
        }
        self.list(">", |p| {
            let counted = matches!(p.peek_past(), Kind::Word(_)) && p.eat_word("counted");
            let at = p.at();
            let name = p.word("the name of a size variable")?.to_string();
            if sizes.iter().any(|decl| decl.name == name) {
                return Err(p.error(at, "a new size variable", format!("`{name}`, which is declared already")));
            }
            let origin = if counted { SizeOrigin::Counted } else { SizeOrigin::Given };
            sizes.push(SizeDecl { name, origin });
            Ok(())
        })?;
        Ok(sizes)
    }

    fn requires(&mut self) -> Parsed<Vec<Require>> {
        let mut requires = Vec::new();
        if !self.eat_word("requires") {
            return Ok(requires);
        }
        loop {
            let relation = matches!(self.peek_past(), Kind::Mark("==" | "<="));
            requires.push(if !relation && self.eat_word("nonempty") {
                Require::NonEmpty(self.size()?)
            } else {
                let a = self.size()?;
                let equal = self.eat("==");
                if !equal && !self.eat("<=") {
                    return Err(self.expected("`==` or `<=`"));
                }
                let b = self.size()?;
                if equal { Require::Equal(a, b) } else { Require::AtMost(a, b) }
            });
            if !self.eat(",") {
                return Ok(requires);
            }
        }
    }
}

// ---- what a file holds

impl<'t> Parser<'t> {
    pub fn file(&mut self) -> Parsed<(Module, Vec<Case>)> {
        let mut module = Module::default();
        let mut cases = Vec::new();
        let mut slots: Option<Slots> = None;
        loop {
            let heading = self.token(1).at;
            match self.peek() {
                Kind::Word("program") => {
                    let program = self.program()?;
                    let taken = module.programs.iter().any(|g| g.name == program.name);
                    slots = Some(self.program_slots(&program));
                    self.unique(taken, heading, &program.name, "program")?;
                    module.programs.push(program);
                }
                Kind::Word("kernel") => {
                    let kernel = self.kernel()?;
                    let taken = module.kernels.iter().any(|k| k.name == kernel.name);
                    slots = Some(self.kernel_slots(&kernel));
                    self.unique(taken, heading, &kernel.name, "kernel")?;
                    module.kernels.push(kernel);
                }
                Kind::Word("case") => match &slots {
                    Some(slots) => cases.push(self.case(slots)?),
                    None => return Err(self.expected("a program or kernel before its cases")),
                },
                Kind::End => return Ok((module, cases)),
                Kind::Word(_) | Kind::Name(_) | Kind::Number(_) | Kind::Text(_) | Kind::Mark(_) => {
                    return Err(self.expected("`program`, `kernel` or `case`"));
                }
            }
        }
    }

    fn unique(&self, taken: bool, at: usize, name: &str, what: &str) -> Parsed<()> {
        if !taken {
            return Ok(());
        }
        Err(self.error(at, format!("a new name for the {what}"), format!("`{name}`, which another {what} has")))
    }

    /// Forgets the program or kernel before.
    fn start(&mut self) {
        self.sizes.clear();
        self.memories.clear();
        self.functions.clear();
        self.names.clear();
        self.bound.clear();
        self.types.clear();
    }

    pub fn program(&mut self) -> Parsed<Program> {
        self.start();
        self.keyword("program")?;
        let name = self.word("the name of the program")?.to_string();
        self.sizes = self.size_decls()?;
        self.mark("(")?;
        let params = self.params(")")?;
        self.mark("->")?;
        let at = self.at();
        let results = self.types()?;
        let requires = self.requires()?;
        let precision = self.precision()?;
        self.mark("{")?;
        while self.peek() == Kind::Word("fn") {
            self.function()?;
        }
        let body = self.returning(params, at, &results)?;
        let sizes = self.sizes.clone();
        let functions = std::mem::take(&mut self.functions);
        Ok(Program { name, sizes, functions, requires, precision, names: Names::default(), body })
    }

    pub fn kernel(&mut self) -> Parsed<Kernel> {
        self.start();
        self.keyword("kernel")?;
        let name = self.word("the name of the kernel")?.to_string();
        self.sizes = self.size_decls()?;
        self.mark("(")?;
        let params = self.params(")")?;
        self.keyword("grid")?;
        let grid = self.three(Self::size)?;
        self.keyword("block")?;
        let block = self.three(|p| p.number("a number of threads below 2^32"))?;
        let precision = self.precision()?;
        let as_written = self.eat_word("as_written");
        let mut product = None;
        let mut raw = None;
        self.mark("{")?;
        loop {
            match (self.peek(), self.peek_past()) {
                (Kind::Word("fn"), _) => self.function()?,
                // `local` and `global` with a dot are places, in the first statement.
                (Kind::Word("global" | "constant" | "shared" | "scratch" | "local"), past)
                    if past != Kind::Mark(".") =>
                {
                    self.memory()?
                }
                (Kind::Word("product"), _) => product = Some(self.matrix_product()?),
                (Kind::Word("raw"), _) => raw = Some(self.raw_code()?),
                _ => break,
            }
        }
        let stmts = self.stmts()?;
        self.mark("}")?;
        let body = Body { params, stmts, results: Vec::new() };
        let sizes = self.sizes.clone();
        let memories = std::mem::take(&mut self.memories);
        let functions = std::mem::take(&mut self.functions);
        let names = Names::default();
        Ok(Kernel { name, sizes, memories, functions, grid, block, precision, product, raw, as_written, names, body })
    }

    /// `product c of a, turned b scaled 0.5 plus bias rectified`, or `product c of a, turned b in bytes`.
    fn matrix_product(&mut self) -> Parsed<MatrixProduct> {
        self.keyword("product")?;
        let result = self.known_memory()?;
        self.keyword("of")?;
        let left = self.factor()?;
        self.mark(",")?;
        let right = self.factor()?;
        let scale = match self.eat_word("scaled") {
            true => Some(self.literal(Ty::F64)?),
            false => None,
        };
        let bias = match self.eat_word("plus") {
            true => Some(self.known_memory()?),
            false => None,
        };
        let activation = Activation::WORDS.iter().find(|(_, word)| self.eat_word(word)).map(|(known, _)| *known);
        let bytes = self.eat_word("in");
        if bytes {
            self.keyword("bytes")?;
        }
        Ok(MatrixProduct { result, left, right, scale, bias, activation, bytes })
    }

    fn factor(&mut self) -> Parsed<Factor> {
        let turned = self.eat_word("turned");
        Ok(Factor { memory: self.known_memory()?, turned })
    }

    /// `precision table`, where it is said.
    fn precision(&mut self) -> Parsed<Option<Precision>> {
        if self.peek() != Kind::Word("precision") {
            return Ok(None);
        }
        self.keyword("precision")?;
        let at = self.at();
        let name = self.word("a precision")?;
        name.parse().map(Some).map_err(|_: UnknownChoice| {
            let names = Precision::NAMES.map(|(name, _)| name).join(", ");
            self.error(at, format!("a precision: {names}"), format!("`{name}`"))
        })
    }

    pub fn three<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<[T; 3]> {
        self.mark("[")?;
        let x = item(self)?;
        self.mark(",")?;
        let y = item(self)?;
        self.mark(",")?;
        let z = item(self)?;
        self.mark("]")?;
        Ok([x, y, z])
    }

    fn memory(&mut self) -> Parsed<()> {
        let space = match self.word("a memory")? {
            "constant" => Space::Constant,
            "shared" => Space::Shared,
            "scratch" => Space::Scratch,
            "local" => Space::Local,
            _ if self.eat_word("read") => Space::Global(Access::Read),
            _ if self.eat_word("write") => Space::Global(Access::Write),
            _ if self.eat_word("readwrite") => Space::Global(Access::ReadWrite),
            _ => return Err(self.expected("`read`, `write` or `readwrite`")),
        };
        let at = self.at();
        let name = self.word("the name of the memory")?.to_string();
        self.unique(self.memories.iter().any(|m| m.name == name), at, &name, "memory")?;
        self.mark(":")?;
        let ty = self.scalar_ty()?;
        let shape = self.shape()?;
        self.memories.push(Memory { name, ty, space, shape });
        Ok(())
    }

    fn function(&mut self) -> Parsed<()> {
        self.keyword("fn")?;
        let at = self.at();
        let name = self.word("the name of the function")?.to_string();
        self.unique(self.functions.iter().any(|f| f.name == name), at, &name, "function")?;
        // A function sees nothing outside.
        let names = std::mem::take(&mut self.names);
        let bound = std::mem::take(&mut self.bound);
        self.mark("(")?;
        let params = self.params(")")?;
        self.mark("->")?;
        let at = self.at();
        let results = self.types()?;
        self.mark("{")?;
        let body = self.returning(params, at, &results)?;
        (self.names, self.bound) = (names, bound);
        self.functions.push(Function { name, body });
        Ok(())
    }

    /// `stmt* return names }`, with results as the heading, which is at `at`, says.
    fn returning(&mut self, params: Vec<Var>, at: usize, heading: &[Type]) -> Parsed<Body> {
        let stmts = self.stmts()?;
        self.keyword("return")?;
        let place = self.at();
        let results = self.names()?;
        self.mark("}")?;
        if results.len() != heading.len() {
            let expected = format!("as many results as the heading has, {}", heading.len());
            return Err(self.error(place, expected, results.len().to_string()));
        }
        if let Some(k) = results.iter().zip(heading).position(|(id, ty)| self.type_of(*id) != Some(ty)) {
            return Err(self.error(at, format!("the type that result {k} is bound with"), "another in the heading"));
        }
        Ok(Body { params, stmts, results })
    }

    pub fn type_of(&self, id: Id) -> Option<&Type> {
        self.types.get(id.0 as usize)
    }
}
