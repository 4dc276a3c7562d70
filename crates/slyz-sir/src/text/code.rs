//! Text to SIR: statements, bodies and operations.
//!
//! Reads any operation at any level, with any number of operands; the verifier says what fits where.

use super::lex::Kind;
use super::literal::unquoted;
use super::parse::{Binder, Parsed, Parser};
use crate::code::{
    AtomicOp, Body, FnId, Fragment, Id, MemId, Monoid, Op, Place, RawCall, Scope, Stmt, SubgroupOp, Type,
};
use crate::ops::Operator;
use crate::raw::{Language, RawCode, RawKernel, Source};
use crate::types::Ty;
use std::sync::Arc;

impl<'t> Parser<'t> {
    /// Statements up to `yield`, `return` or `}`.
    pub fn stmts(&mut self) -> Parsed<Vec<Stmt>> {
        let mut stmts = Vec::new();
        while !matches!(self.peek(), Kind::Word("yield" | "return") | Kind::Mark("}") | Kind::End) {
            stmts.push(self.stmt()?);
        }
        Ok(stmts)
    }

    fn stmt(&mut self) -> Parsed<Stmt> {
        let mut binders = Vec::new();
        if let Kind::Name(_) = self.peek() {
            binders.push(self.binder()?);
            while self.eat(",") {
                binders.push(self.binder()?);
            }
            self.mark("=")?;
        }
        let op = self.op(&binders)?;
        let binds = self.bind(binders)?;
        self.eat(";");
        Ok(Stmt { binds, op })
    }

    /// `|params| { … }`; its names are out of sight behind it.
    fn body(&mut self) -> Parsed<Body> {
        self.deeper(|p| {
            p.scoped(|p| {
                let params = if p.eat("|") { p.params("|")? } else { Vec::new() };
                p.mark("{")?;
                let stmts = p.stmts()?;
                let results = if p.eat_word("yield") { p.names()? } else { Vec::new() };
                p.mark("}")?;
                Ok(Body { params, stmts, results })
            })
        })
    }

    fn monoid(&mut self) -> Parsed<Monoid> {
        self.keyword("with")?;
        let commutative = self.eat_word("commutative");
        let neutral = self.args()?;
        Ok(Monoid { neutral, combine: self.body()?, commutative })
    }

    /// `(a, b)`, or nothing.
    fn args(&mut self) -> Parsed<Vec<Id>> {
        if self.eat("(") { self.list(")", Self::name) } else { Ok(Vec::new()) }
    }

    fn index(&mut self) -> Parsed<Vec<Id>> {
        self.mark("[")?;
        self.list("]", Self::name)
    }

    /// `memory[index]`
    fn element(&mut self) -> Parsed<(MemId, Vec<Id>)> {
        Ok((self.known_memory()?, self.index()?))
    }

    /// The name of a memory.
    pub fn known_memory(&mut self) -> Parsed<MemId> {
        let Kind::Word(name) = self.peek() else { return Err(self.expected("a memory")) };
        let Some(place) = self.memories.iter().position(|memory| memory.name == name) else {
            return Err(self.expected("a memory that is declared in front of the code"));
        };
        self.bump();
        Ok(MemId(place as u32))
    }

    /// `, a, b`, or nothing.
    fn tail(&mut self) -> Parsed<Vec<Id>> {
        let mut names = Vec::new();
        while self.eat(",") {
            names.push(self.name()?);
        }
        Ok(names)
    }

    /// The type of a constant or conversion: written out, or that of the binder.
    fn target(&mut self, binders: &[Binder]) -> Parsed<Ty> {
        if let Some(ty) = self.eat_scalar_ty() {
            return Ok(ty);
        }
        match binders {
            [Binder { var, .. }] => match var.ty {
                Type::Scalar(ty) => Ok(ty),
                Type::Array(..) => Err(self.expected("a scalar type, as the result is an array")),
            },
            _ => Err(self.expected("a type, as there is not one result to tell it")),
        }
    }

    fn op(&mut self, binders: &[Binder]) -> Parsed<Op> {
        let Kind::Word(word) = self.peek() else { return Err(self.expected("an operation")) };
        if let Some(operator) = Operator::from_name(word) {
            self.bump();
            return Ok(Op::Apply(operator, self.names()?));
        }
        let read = match word {
            "const" | "extent" | "cast" | "bitcast" | "call" | "at" => Self::scalar_op,
            "if" => Self::if_op,
            "for" => Self::for_op,
            "while" => Self::while_op,
            "lanes" => Self::lanes_op,
            "prefixes" => Self::prefixes_op,
            "filter" => Self::filter_op,
            "sort" => Self::sort_op,
            "scatter" => Self::scatter_op,
            "raw" => Self::raw_op,
            "tabulate" | "fold" | "scan" => Self::array_op,
            "global" | "local" | "block" | "block_dim" | "grid_dim" | "lane" | "subgroup_size" => Self::place_op,
            "load" | "load_fragment" | "store" | "atomic" | "check" | "barrier" | "fence" | "subgroup" | "mma" => {
                Self::thread_op
            }
            _ => return Err(self.expected("an operation")),
        };
        self.bump();
        read(self, word, binders)
    }

    fn scalar_op(&mut self, word: &str, binders: &[Binder]) -> Parsed<Op> {
        Ok(match word {
            "const" => {
                let ty = self.target(binders)?;
                Op::Const(self.literal(ty)?)
            }
            "extent" => Op::Extent(self.size()?),
            "cast" => Op::Cast(self.target(binders)?, self.name()?),
            "bitcast" => Op::Bitcast(self.target(binders)?, self.name()?),
            "call" => {
                let Kind::Word(name) = self.peek() else { return Err(self.expected("a function")) };
                let Some(place) = self.functions.iter().position(|f| f.name == name) else {
                    return Err(self.expected("a function that is declared before"));
                };
                self.bump();
                self.mark("(")?;
                Op::Call(FnId(place as u32), self.list(")", Self::name)?)
            }
            _ => Op::At { array: self.name()?, index: self.index()? },
        })
    }

    // Each in its own function, so that nested code pays the stack of what it uses.

    fn if_op(&mut self, _: &str, _: &[Binder]) -> Parsed<Op> {
        let cond = self.name()?;
        let args = self.args()?;
        let then = self.body()?;
        self.keyword("else")?;
        Ok(Op::If { cond, args, then, otherwise: self.body()? })
    }

    fn for_op(&mut self, _: &str, _: &[Binder]) -> Parsed<Op> {
        let lo = self.name()?;
        self.keyword("to")?;
        let hi = self.name()?;
        self.keyword("step")?;
        Ok(Op::For { lo, hi, step: self.name()?, init: self.args()?, body: self.body()? })
    }

    fn while_op(&mut self, _: &str, _: &[Binder]) -> Parsed<Op> {
        let init = self.args()?;
        let cond = self.body()?;
        self.keyword("do")?;
        Ok(Op::While { init, cond, body: self.body()? })
    }

    fn lanes_op(&mut self, _: &str, _: &[Binder]) -> Parsed<Op> {
        let lo = self.name()?;
        self.keyword("to")?;
        let hi = self.name()?;
        let body = self.body()?;
        let monoid = if self.peek() == Kind::Word("with") { Some(self.monoid()?) } else { None };
        Ok(Op::Lanes { lo, hi, body, monoid })
    }

    fn prefixes_op(&mut self, _: &str, _: &[Binder]) -> Parsed<Op> {
        let lo = self.name()?;
        self.keyword("to")?;
        let hi = self.name()?;
        self.keyword("from")?;
        let from = self.args()?;
        let body = self.body()?;
        let monoid = self.monoid()?;
        self.keyword("put")?;
        Ok(Op::Prefixes { lo, hi, from, body, monoid, put: self.body()? })
    }

    fn filter_op(&mut self, _: &str, _: &[Binder]) -> Parsed<Op> {
        let extent = self.size()?;
        self.keyword("as")?;
        let kept = self.size_var()?;
        Ok(Op::Filter { extent, body: self.body()?, kept })
    }

    fn sort_op(&mut self, _: &str, _: &[Binder]) -> Parsed<Op> {
        let shape = self.shape()?;
        self.keyword("by")?;
        self.mark("[")?;
        let widths = self.list("]", |p| p.number("a number of bits"))?;
        Ok(Op::Sort { shape, widths, body: self.body()? })
    }

    fn raw_op(&mut self, _: &str, binders: &[Binder]) -> Parsed<Op> {
        let name = self.word("the name of a raw kernel")?.to_string();
        let args = self.args()?;
        self.keyword("threads")?;
        let threads = self.shape()?;
        self.keyword("block")?;
        let block = self.three(|p| p.number("a number of threads below 2^32"))?;
        self.keyword("extents")?;
        let extents = self.shape()?;
        let mut sources = vec![];
        while let Kind::Word(word) = self.peek()
            && let Some(language) = Language::from_word(word)
        {
            self.bump();
            sources.push(self.raw_source(language)?);
        }
        let meaning = if self.eat_word("meaning") { Some(self.body()?) } else { None };
        let results = binders.iter().map(|binder| (binder.var.ty.elem(), binder.var.ty.shape().to_vec())).collect();
        let kernel = Arc::new(RawKernel { name, block, sources });
        Ok(Op::Raw(Box::new(RawCall { kernel, args, threads, extents, results, meaning })))
    }

    /// `entry "line" "line"`, behind the language.
    fn raw_source(&mut self, language: Language) -> Parsed<Source> {
        let entry = self.word("the function of the source")?.to_string();
        let mut lines = vec![];
        while let Kind::Text(line) = self.peek() {
            self.bump();
            lines.push(unquoted(line));
        }
        Ok(Source { language, entry, text: lines.join("\n") })
    }

    /// `raw extents [N] c entry "line" "line"`, in a kernel.
    pub fn raw_code(&mut self) -> Parsed<RawCode> {
        self.keyword("raw")?;
        self.keyword("extents")?;
        let extents = self.shape()?;
        let Kind::Word(word) = self.peek() else { return Err(self.expected("a language")) };
        let Some(language) = Language::from_word(word) else {
            return Err(self.expected("`cuda`, `opencl`, `wgsl` or `c`"));
        };
        self.bump();
        Ok(RawCode { source: self.raw_source(language)?, extents })
    }

    fn scatter_op(&mut self, _: &str, _: &[Binder]) -> Parsed<Op> {
        let shape = self.shape()?;
        self.keyword("into")?;
        let target = self.shape()?;
        let onto = if self.eat_word("onto") { self.args()? } else { vec![] };
        Ok(Op::Scatter { shape, target, onto, body: self.body()?, monoid: self.monoid()? })
    }

    fn array_op(&mut self, word: &str, _: &[Binder]) -> Parsed<Op> {
        let shape = self.shape()?;
        let body = self.body()?;
        if word == "tabulate" {
            return Ok(Op::Tabulate { shape, body });
        }
        let monoid = self.monoid()?;
        Ok(if word == "fold" { Op::Fold { shape, body, monoid } } else { Op::Scan { shape, body, monoid } })
    }

    fn place_op(&mut self, word: &str, _: &[Binder]) -> Parsed<Op> {
        let place = match word {
            "lane" => return Ok(Op::Place(Place::Lane, 0)),
            "subgroup_size" => return Ok(Op::Place(Place::SubgroupSize, 0)),
            "global" => Place::Global,
            "local" => Place::Local,
            "block" => Place::Block,
            "block_dim" => Place::BlockDim,
            _ => Place::GridDim,
        };
        self.mark(".")?;
        let dimension = match self.peek() {
            Kind::Word("x") => 0,
            Kind::Word("y") => 1,
            Kind::Word("z") => 2,
            _ => return Err(self.expected("`x`, `y` or `z`")),
        };
        self.bump();
        Ok(Op::Place(place, dimension))
    }

    fn thread_op(&mut self, word: &str, _: &[Binder]) -> Parsed<Op> {
        Ok(match word {
            "load" => {
                let (memory, index) = self.element()?;
                Op::Load { memory, index }
            }
            "load_fragment" => {
                let turned = self.eat_word("turned");
                let (memory, index) = self.element()?;
                Op::LoadFragment { memory, index, turned }
            }
            "store" => {
                let (memory, index) = self.element()?;
                Op::Store { memory, index, values: self.tail()? }
            }
            "atomic" => {
                let op = self.atomic()?;
                let (memory, index) = self.element()?;
                Op::Atomic { op, memory, index, args: self.tail()? }
            }
            "check" => {
                let (memory, index) = self.element()?;
                Op::Check { memory, index }
            }
            "barrier" => Op::Barrier(self.scope()?),
            "fence" => Op::Fence(self.scope()?),
            "mma" => Op::Mma(self.fragment()?, self.names()?),
            _ => Op::Subgroup(self.together()?, self.names()?),
        })
    }

    fn operator(&mut self) -> Parsed<Operator> {
        let Kind::Word(word) = self.peek() else { return Err(self.expected("an operator")) };
        let operator = Operator::from_name(word).ok_or_else(|| self.expected("an operator"))?;
        self.bump();
        Ok(operator)
    }

    fn atomic(&mut self) -> Parsed<AtomicOp> {
        let op = match self.peek() {
            Kind::Word("exchange") => AtomicOp::Exchange,
            Kind::Word("compare_exchange") => AtomicOp::CompareExchange,
            Kind::Word("claim") => AtomicOp::Claim,
            Kind::Word("load") => AtomicOp::Load,
            Kind::Word("store") => AtomicOp::Store,
            _ => return self.operator().map(AtomicOp::Update),
        };
        self.bump();
        Ok(op)
    }

    fn scope(&mut self) -> Parsed<Scope> {
        let scope = match self.peek() {
            Kind::Word("subgroup") => Scope::Subgroup,
            Kind::Word("block") => Scope::Block,
            Kind::Word("device") => Scope::Device,
            _ => return Err(self.expected("`subgroup`, `block` or `device`")),
        };
        self.bump();
        Ok(scope)
    }

    fn fragment(&mut self) -> Parsed<Fragment> {
        let known = Fragment::ALL.into_iter().find(|fragment| self.peek() == Kind::Word(fragment.name()));
        let fragment = known.ok_or_else(|| self.expected("`f16`, `bf16` or `tf32`"))?;
        self.bump();
        Ok(fragment)
    }

    fn together(&mut self) -> Parsed<SubgroupOp> {
        if self.eat_word("reduce") {
            return self.operator().map(SubgroupOp::Reduce);
        }
        if self.eat_word("scan") {
            return self.operator().map(SubgroupOp::Scan);
        }
        let op = match self.peek() {
            Kind::Word("shuffle") => SubgroupOp::Shuffle,
            Kind::Word("shuffle_xor") => SubgroupOp::ShuffleXor,
            Kind::Word("shuffle_up") => SubgroupOp::ShuffleUp,
            Kind::Word("shuffle_down") => SubgroupOp::ShuffleDown,
            Kind::Word("broadcast") => SubgroupOp::Broadcast,
            Kind::Word("ballot") => SubgroupOp::Ballot,
            Kind::Word("any") => SubgroupOp::Any,
            Kind::Word("all") => SubgroupOp::All,
            _ => return Err(self.expected("what a subgroup does, such as `reduce add` or `shuffle`")),
        };
        self.bump();
        Ok(op)
    }
}
