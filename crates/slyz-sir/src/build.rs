//! Builds programs, for a front end that runs its program once.
//!
//! Code is written into a stack of open bodies. A statement goes to the outermost open body that binds all its
//! operands, so what does not depend on a loop is computed before it; but never out of a branch, whose point is
//! that it may not run, nor out of a function. Equal statements of one body are made once.
//!
//! The builder checks types and scopes as it goes, so what it finishes is verified by construction.

use crate::code::{Body, FnId, Function, Id, Monoid, Op, Stmt, Type, Var};
use crate::ops::Operator;
use crate::program::{Program, Require};
use crate::size::{Size, SizeDecl, SizeOrigin, SizeVar};
use crate::types::{Scalar, Ty};
use crate::typing::{Context, TypeError, result_types};
use std::collections::HashMap;

/// What kind of body is opened; it decides what may float out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// The body of an array operation or loop: what does not depend on it floats out.
    Loop,
    /// A branch: nothing floats out.
    Branch,
    /// A function: nothing floats out, and nothing outside is visible.
    Function,
}

/// Why something could not be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The name belongs to a body that is closed, or to another function.
    #[error("%{} is not in scope here", .0.0)]
    NotInScope(Id),
    /// The operands do not fit.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// The program has more statements than the cap.
    #[error(
        "the program has more than {0} statements; move work that repeats into `iterate`, `fold` or a shared function"
    )]
    TooLarge(usize),
    /// `close` or `finish` without a matching `open`.
    #[error("bodies are not closed in the order they were opened")]
    Unbalanced,
}

/// A name's type and the open body that binds it.
struct Info {
    ty: Type,
    scope: u32,
    /// Its value, if it is a constant.
    constant: Option<Scalar>,
}

struct Open {
    region: Region,
    scope: u32,
    body: Body,
    /// Statements already made here, by operation.
    made: HashMap<Op, Vec<Id>>,
    name: Option<String>,
}

/// A program under construction.
pub struct Builder {
    program: Program,
    open: Vec<Open>,
    infos: Vec<Info>,
    scopes: u32,
    statements: usize,
    cap: usize,
}

type Built<T> = Result<T, BuildError>;

impl Builder {
    /// A program with nothing in it.
    pub fn new(name: &str) -> Builder {
        let mut builder = Builder {
            program: Program { name: name.into(), ..Program::default() },
            open: vec![],
            infos: vec![],
            scopes: 0,
            statements: 0,
            cap: 1_000_000,
        };
        builder.push_open(Region::Function, None);
        builder
    }

    /// Caps the number of statements.
    pub fn with_cap(mut self, cap: usize) -> Builder {
        self.cap = cap;
        self
    }

    /// Declares a size variable. A name that is taken, or no identifier, is altered until it fits.
    pub fn add_size(&mut self, name: &str, origin: SizeOrigin) -> SizeVar {
        let stem: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let stem = if stem.starts_with(|c: char| c.is_ascii_alphabetic()) { stem } else { format!("n{stem}") };
        let taken = |name: &str| self.program.sizes.iter().any(|s| s.name == name);
        let numbered = (2..).map(|k| format!("{stem}_{k}"));
        let name = std::iter::once(stem.clone()).chain(numbered).find(|n| !taken(n)).unwrap_or(stem);
        self.program.sizes.push(SizeDecl { name, origin });
        SizeVar(self.program.sizes.len() as u32 - 1)
    }

    /// Says that a size variable is counted by a filter.
    pub fn set_counted(&mut self, var: SizeVar) {
        if let Some(decl) = self.program.sizes.get_mut(var.0 as usize) {
            decl.origin = SizeOrigin::Counted;
        }
    }

    /// Adds something that a call must satisfy.
    pub fn require(&mut self, require: Require) {
        if !self.program.requires.contains(&require) {
            self.program.requires.push(require);
        }
    }

    /// Adds a parameter of the program.
    pub fn param(&mut self, ty: Type) -> Id {
        let id = self.fresh(ty.clone(), self.open[0].scope);
        self.open[0].body.params.push(Var { id, ty });
        id
    }

    /// The value of a name that is a constant.
    pub fn constant_of(&self, id: Id) -> Option<Scalar> {
        self.infos.get(id.0 as usize)?.constant
    }

    /// The type of a name.
    pub fn ty(&self, id: Id) -> Option<&Type> {
        self.infos.get(id.0 as usize).map(|info| &info.ty)
    }

    /// May the name be used here?
    pub fn in_scope(&self, id: Id) -> bool {
        self.level_of(id).is_some()
    }

    /// The number of the body that binds the name; bodies are numbered from 0, the program's own, as they are opened.
    pub fn scope(&self, id: Id) -> Option<u32> {
        self.infos.get(id.0 as usize).map(|info| info.scope)
    }

    /// How many bodies are open, the program's own included.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// Is a body open inside the program's own (or a function's)?
    pub fn inside_body(&self) -> bool {
        self.open.len() > 1
    }

    /// Throws away the innermost open bodies until `depth` are left, as after a panic in the traced program.
    pub fn unwind(&mut self, depth: usize) {
        self.open.truncate(depth.max(1));
    }

    fn fresh(&mut self, ty: Type, scope: u32) -> Id {
        self.infos.push(Info { ty, scope, constant: None });
        Id(self.infos.len() as u32 - 1)
    }

    fn push_open(&mut self, region: Region, name: Option<String>) {
        let scope = self.scopes;
        self.scopes += 1;
        self.open.push(Open { region, scope, body: Body::default(), made: HashMap::new(), name });
    }

    /// The innermost function's place in the stack: nothing below it is visible.
    fn base(&self) -> usize {
        self.open.iter().rposition(|o| o.region == Region::Function).unwrap_or(0)
    }

    /// The place in the stack of the body that binds the name.
    fn level_of(&self, id: Id) -> Option<usize> {
        let scope = self.infos.get(id.0 as usize)?.scope;
        let base = self.base();
        self.open[base..].iter().position(|o| o.scope == scope).map(|k| base + k)
    }

    /// Opens a body with parameters of the given types.
    pub fn open(&mut self, region: Region, params: &[Type]) -> Vec<Id> {
        self.push_open(region, None);
        self.add_params(params)
    }

    /// Opens the body of a function.
    pub fn open_function(&mut self, name: &str, params: &[Type]) -> Vec<Id> {
        self.push_open(Region::Function, Some(name.into()));
        self.add_params(params)
    }

    fn add_params(&mut self, params: &[Type]) -> Vec<Id> {
        let top = self.open.len() - 1;
        let scope = self.open[top].scope;
        let ids: Vec<Id> = params.iter().map(|ty| self.fresh(ty.clone(), scope)).collect();
        self.open[top].body.params = ids.iter().zip(params).map(|(&id, ty)| Var { id, ty: ty.clone() }).collect();
        ids
    }

    /// Closes the innermost body.
    pub fn close(&mut self, results: &[Id]) -> Built<Body> {
        for &id in results {
            self.level_of(id).ok_or(BuildError::NotInScope(id))?;
        }
        if self.open.len() < 2 || self.open.last().is_none_or(|o| o.region == Region::Function) {
            return Err(BuildError::Unbalanced);
        }
        let mut open = self.open.pop().ok_or(BuildError::Unbalanced)?;
        open.body.results = results.to_vec();
        Ok(open.body)
    }

    /// Closes the function opened last and adds it to the program under a name like the one asked for.
    pub fn close_function(&mut self, results: &[Id]) -> Built<FnId> {
        for &id in results {
            self.level_of(id).ok_or(BuildError::NotInScope(id))?;
        }
        match self.open.pop() {
            Some(Open { region: Region::Function, name: Some(name), mut body, .. }) if !self.open.is_empty() => {
                body.results = results.to_vec();
                let name = self.free_function_name(&name);
                self.program.functions.push(Function { name, body });
                Ok(FnId(self.program.functions.len() as u32 - 1))
            }
            _ => Err(BuildError::Unbalanced),
        }
    }

    fn free_function_name(&self, asked: &str) -> String {
        let stem: String = asked.rsplit("::").next().unwrap_or(asked).to_owned();
        let stem: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let taken = |name: &str| self.program.functions.iter().any(|f| f.name == name);
        let numbered = (2..).map(|k| format!("{stem}_{k}"));
        std::iter::once(stem.clone()).chain(numbered).find(|n| !taken(n)).unwrap_or(stem)
    }

    /// Makes a statement, or finds the equal one that is already there.
    pub fn make(&mut self, op: Op) -> Built<Vec<Id>> {
        let mut bad = None;
        let mut level = self.base();
        let mut visit = |id: Id, level: &mut usize| match self.level_of(id) {
            Some(at) => *level = at.max(*level),
            None => bad = Some(id),
        };
        op.each_operand(&mut |id| visit(id, &mut level));
        for body in op.bodies() {
            body.each_free(&mut |id| visit(id, &mut level));
        }
        if let Some(id) = bad {
            return Err(BuildError::NotInScope(id));
        }
        // A branch holds on to what is made in it.
        let sticky = self.open.iter().rposition(|o| o.region == Region::Branch).unwrap_or(0).max(level);
        let simple = op.bodies().is_empty();
        if simple && let Some(ids) = self.open[level..=sticky].iter().find_map(|o| o.made.get(&op)) {
            return Ok(ids.clone());
        }
        if self.statements >= self.cap {
            return Err(BuildError::TooLarge(self.cap));
        }
        let types = |id: Id| self.ty(id).cloned();
        let cx = Context { types: &types, functions: &self.program.functions, memories: &[] };
        let tys = result_types(&op, 1, &cx)?;
        let scope = self.open[sticky].scope;
        let ids: Vec<Id> = tys.iter().map(|ty| self.fresh(ty.clone(), scope)).collect();
        if let Op::Const(value) = op {
            self.infos[ids[0].0 as usize].constant = Some(value);
        }
        let binds = ids.iter().zip(tys).map(|(&id, ty)| Var { id, ty }).collect();
        let home = &mut self.open[sticky];
        if simple {
            home.made.insert(op.clone(), ids.clone());
        }
        home.body.stmts.push(Stmt { binds, op });
        self.statements += 1;
        Ok(ids)
    }

    fn one(&mut self, op: Op) -> Built<Id> {
        Ok(self.make(op)?[0])
    }

    /// A constant.
    pub fn constant(&mut self, value: Scalar) -> Built<Id> {
        self.one(Op::Const(value))
    }

    /// The value of a size.
    pub fn extent(&mut self, size: Size) -> Built<Id> {
        self.one(Op::Extent(size))
    }

    /// An operator.
    pub fn apply(&mut self, operator: Operator, args: &[Id]) -> Built<Id> {
        self.one(Op::Apply(operator, args.to_vec()))
    }

    /// A conversion; the same type gives the operand itself.
    pub fn cast(&mut self, to: Ty, arg: Id) -> Built<Id> {
        match self.ty(arg) {
            Some(Type::Scalar(ty)) if *ty == to && self.in_scope(arg) => Ok(arg),
            _ => self.one(Op::Cast(to, arg)),
        }
    }

    /// The same bits as another type.
    pub fn bitcast(&mut self, to: Ty, arg: Id) -> Built<Id> {
        self.one(Op::Bitcast(to, arg))
    }

    /// An element of an array.
    pub fn at(&mut self, array: Id, index: &[Id]) -> Built<Id> {
        self.one(Op::At { array, index: index.to_vec() })
    }

    /// A call of a shared function.
    pub fn call(&mut self, function: FnId, args: &[Id]) -> Built<Vec<Id>> {
        self.make(Op::Call(function, args.to_vec()))
    }

    /// An array from its elements.
    pub fn tabulate(&mut self, shape: Vec<Size>, body: Body) -> Built<Vec<Id>> {
        self.make(Op::Tabulate { shape, body })
    }

    /// A reduction.
    pub fn fold(&mut self, shape: Vec<Size>, body: Body, monoid: Monoid) -> Built<Vec<Id>> {
        self.make(Op::Fold { shape, body, monoid })
    }

    /// Prefixes along the last axis.
    pub fn scan(&mut self, shape: Vec<Size>, body: Body, monoid: Monoid) -> Built<Vec<Id>> {
        self.make(Op::Scan { shape, body, monoid })
    }

    /// Values at computed positions.
    pub fn scatter(&mut self, shape: Vec<Size>, body: Body, target: Vec<Size>, monoid: Monoid) -> Built<Vec<Id>> {
        self.make(Op::Scatter { shape, body, target, onto: vec![], monoid })
    }

    /// The values that are kept; counts them into `kept`.
    pub fn filter(&mut self, extent: Size, body: Body, kept: SizeVar) -> Built<Vec<Id>> {
        self.make(Op::Filter { extent, body, kept })
    }

    /// Checks and gives back the finished program.
    pub fn finish(mut self, results: &[Id]) -> Built<Program> {
        if self.open.len() != 1 {
            return Err(BuildError::Unbalanced);
        }
        for &id in results {
            self.level_of(id).ok_or(BuildError::NotInScope(id))?;
        }
        let open = self.open.pop().ok_or(BuildError::Unbalanced)?;
        self.program.body = open.body;
        self.program.body.results = results.to_vec();
        Ok(self.program)
    }
}
