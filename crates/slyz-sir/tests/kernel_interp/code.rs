//! A tiny writer of kernels for these tests: every method appends one statement and gives the names it binds.
//! It checks nothing; that is the interpreter's work here.

use slyz_sir::code::*;
use slyz_sir::kernel::{Access, Kernel, Memory, Space};
use slyz_sir::ops::Operator;
use slyz_sir::size::{Size, SizeDecl, SizeOrigin, SizeVar};
use slyz_sir::types::{Scalar, Ty};
use std::collections::HashMap;

pub const READ: Space = Space::Global(Access::Read);
pub const WRITE: Space = Space::Global(Access::Write);
pub const BOTH: Space = Space::Global(Access::ReadWrite);

#[derive(Default)]
pub struct Code {
    frames: Vec<Vec<Stmt>>,
    tys: HashMap<Id, Ty>,
    params: Vec<Var>,
    pub memories: Vec<Memory>,
    pub functions: Vec<Function>,
}

/// The size variable of that number.
pub fn size(var: u32) -> Size {
    Size::Var(SizeVar(var))
}

impl Code {
    pub fn new() -> Code {
        Code { frames: vec![vec![]], ..Code::default() }
    }

    pub fn memory(&mut self, name: &str, ty: Ty, space: Space, shape: Vec<Size>) -> MemId {
        self.memories.push(Memory { name: name.into(), ty, space, shape });
        MemId(self.memories.len() as u32 - 1)
    }

    pub fn param(&mut self, ty: Ty) -> Id {
        let var = self.var(ty);
        self.params.push(var.clone());
        var.id
    }

    pub fn var(&mut self, ty: Ty) -> Var {
        let id = Id(self.tys.len() as u32);
        self.tys.insert(id, ty);
        Var { id, ty: Type::Scalar(ty) }
    }

    pub fn emit(&mut self, tys: &[Ty], op: Op) -> Vec<Id> {
        let binds: Vec<Var> = tys.iter().map(|&ty| self.var(ty)).collect();
        let ids = binds.iter().map(|b| b.id).collect();
        self.frames.last_mut().unwrap().push(Stmt { binds, op });
        ids
    }

    pub fn scalar(&mut self, value: Scalar) -> Id {
        self.emit(&[value.ty], Op::Const(value))[0]
    }

    pub fn int(&mut self, value: i64) -> Id {
        self.scalar(Scalar::i64(value))
    }

    pub fn extent(&mut self, size: Size) -> Id {
        self.emit(&[Ty::I64], Op::Extent(size))[0]
    }

    pub fn place(&mut self, place: Place, dimension: u8) -> Id {
        self.emit(&[Ty::I64], Op::Place(place, dimension))[0]
    }

    pub fn apply(&mut self, operator: Operator, args: &[Id]) -> Id {
        let tys: Vec<Ty> = args.iter().map(|a| self.tys[a]).collect();
        self.emit(&[operator.result(&tys).unwrap()], Op::Apply(operator, args.to_vec()))[0]
    }

    pub fn add(&mut self, a: Id, b: Id) -> Id {
        self.apply(Operator::Add, &[a, b])
    }

    pub fn mul(&mut self, a: Id, b: Id) -> Id {
        self.apply(Operator::Mul, &[a, b])
    }

    pub fn lt(&mut self, a: Id, b: Id) -> Id {
        self.apply(Operator::Lt, &[a, b])
    }

    pub fn eq(&mut self, a: Id, b: Id) -> Id {
        self.apply(Operator::Eq, &[a, b])
    }

    pub fn load(&mut self, memory: MemId, index: &[Id]) -> Id {
        self.loads(memory, index, 1)[0]
    }

    pub fn loads(&mut self, memory: MemId, index: &[Id], width: usize) -> Vec<Id> {
        let ty = self.memories[memory.0 as usize].ty;
        self.emit(&vec![ty; width], Op::Load { memory, index: index.to_vec() })
    }

    pub fn store(&mut self, memory: MemId, index: &[Id], values: &[Id]) {
        self.emit(&[], Op::Store { memory, index: index.to_vec(), values: values.to_vec() });
    }

    pub fn atomic(&mut self, op: AtomicOp, memory: MemId, index: &[Id], args: &[Id]) -> Id {
        let ty = self.memories[memory.0 as usize].ty;
        self.emit(&[ty], Op::Atomic { op, memory, index: index.to_vec(), args: args.to_vec() })[0]
    }

    pub fn barrier(&mut self, scope: Scope) {
        self.emit(&[], Op::Barrier(scope));
    }

    pub fn fence(&mut self) {
        self.emit(&[], Op::Fence(Scope::Device));
    }

    pub fn subgroup(&mut self, op: SubgroupOp, ty: Ty, args: &[Id]) -> Id {
        self.emit(&[ty], Op::Subgroup(op, args.to_vec()))[0]
    }

    pub fn body(&mut self, params: Vec<Var>, f: impl FnOnce(&mut Code, &[Id]) -> Vec<Id>) -> Body {
        self.frames.push(vec![]);
        let ids: Vec<Id> = params.iter().map(|p| p.id).collect();
        let results = f(self, &ids);
        Body { params, stmts: self.frames.pop().unwrap(), results }
    }

    pub fn when(&mut self, cond: Id, f: impl FnOnce(&mut Code)) {
        self.choose(
            cond,
            |c| {
                f(c);
                vec![]
            },
            |_| vec![],
        );
    }

    pub fn choose(
        &mut self,
        cond: Id,
        then: impl FnOnce(&mut Code) -> Vec<Id>,
        otherwise: impl FnOnce(&mut Code) -> Vec<Id>,
    ) -> Vec<Id> {
        let then = self.body(vec![], |c, _| then(c));
        let otherwise = self.body(vec![], |c, _| otherwise(c));
        let tys: Vec<Ty> = then.results.iter().map(|r| self.tys[r]).collect();
        self.emit(&tys, Op::If { cond, args: vec![], then, otherwise })
    }

    pub fn count(&mut self, lo: Id, hi: Id, init: &[Id], f: impl FnOnce(&mut Code, &[Id]) -> Vec<Id>) -> Vec<Id> {
        let step = self.int(1);
        let tys: Vec<Ty> = init.iter().map(|i| self.tys[i]).collect();
        let params = [Ty::I64].iter().chain(&tys).map(|&ty| self.var(ty)).collect();
        let body = self.body(params, f);
        self.emit(&tys, Op::For { lo, hi, step, init: init.to_vec(), body })
    }

    pub fn repeat(
        &mut self,
        init: &[Id],
        cond: impl FnOnce(&mut Code, &[Id]) -> Id,
        f: impl FnOnce(&mut Code, &[Id]) -> Vec<Id>,
    ) -> Vec<Id> {
        let tys: Vec<Ty> = init.iter().map(|i| self.tys[i]).collect();
        let params = tys.iter().map(|&ty| self.var(ty)).collect();
        let cond = self.body(params, |c, s| vec![cond(c, s)]);
        let params = tys.iter().map(|&ty| self.var(ty)).collect();
        let body = self.body(params, f);
        self.emit(&tys, Op::While { init: init.to_vec(), cond, body })
    }

    pub fn lanes(&mut self, lo: Id, hi: Id, f: impl FnOnce(&mut Code, Id)) {
        let turn = self.var(Ty::I64);
        let body = self.body(vec![turn], |c, k| {
            f(c, k[0]);
            vec![]
        });
        self.emit(&[], Op::Lanes { lo, hi, body, monoid: None });
    }

    /// The kernel, with size variables of these names.
    pub fn kernel(mut self, name: &str, sizes: &[&str], grid: [Size; 3], block: [u32; 3]) -> Kernel {
        let decl = |name: &&str| SizeDecl { name: name.to_string(), origin: SizeOrigin::Given };
        Kernel {
            name: name.into(),
            sizes: sizes.iter().map(decl).collect(),
            memories: self.memories,
            functions: self.functions,
            grid,
            block,
            precision: None,
            product: None,
            raw: None,
            as_written: false,
            names: Default::default(),
            body: Body { params: self.params, stmts: self.frames.pop().unwrap(), results: vec![] },
        }
    }
}
