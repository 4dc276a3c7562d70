//! The meaning of the typed tree, written down as directly as possible: one thread, one statement after the other.
//!
//! Barriers and fences do nothing here, and subgroups are single threads, so it is a reference for kernels whose threads
//! work alone. An access outside reads zero, writes nothing, and the first one is remembered.

use slyz_lang::typed::*;
use slyz_sir::code::{AtomicOp, Place, SubgroupOp};
use slyz_sir::types::{Scalar, Ty};

/// Memory with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Store {
    pub name: String,
    pub ty: Ty,
    pub shape: Vec<u64>,
    pub data: Vec<Scalar>,
}

/// An access outside: memory and index.
pub type Outside = (String, Vec<i64>);

/// How a statement ends, other than by going on.
enum Exit {
    Break,
    Continue,
    Return(Option<Scalar>),
    /// It ran for too long.
    Tired,
}

type Run<T> = Result<T, Exit>;

struct Frame {
    locals: Vec<Option<Scalar>>,
    /// Memories of the parameters and of the arrays, as numbers of stores.
    params: Vec<Option<usize>>,
    arrays: Vec<usize>,
}

pub struct Reference<'p> {
    program: &'p Program,
    pub stores: Vec<Store>,
    pub outside: Option<Outside>,
    /// Index of the thread; all other places are those of a grid of single threads.
    thread: [i64; 3],
    fuel: u64,
}

impl<'p> Reference<'p> {
    /// Runs one thread of a graph function over the tensors. `None` if it takes too long.
    pub fn thread(
        program: &'p Program,
        function: FunctionId,
        tensors: Vec<Store>,
        scalars: &[Scalar],
        thread: [i64; 3],
    ) -> Option<Reference<'p>> {
        let tensor_count = tensors.len();
        let mut machine = Reference { program, stores: tensors, outside: None, thread, fuel: 3_000 };
        let (mut stores, mut values) = (0.., scalars.iter());
        let args = program.functions[function.0 as usize].params.iter().map(|param| match param.kind {
            ParamKind::Scalar(..) => Err(*values.next().unwrap()),
            ParamKind::Tensor { .. } => Ok(stores.next().unwrap()),
        });
        let args: Vec<Result<usize, Scalar>> = args.collect();
        let done = machine.call(function, &args);
        machine.stores.truncate(tensor_count);
        match done {
            Err(Exit::Tired) => None,
            _ => Some(machine),
        }
    }

    fn call(&mut self, id: FunctionId, args: &[Result<usize, Scalar>]) -> Run<Option<Scalar>> {
        let function = &self.program.functions[id.0 as usize];
        let mut frame = Frame { locals: vec![None; function.locals.len()], params: vec![], arrays: vec![] };
        for (param, arg) in function.params.iter().zip(args) {
            frame.params.push(arg.ok());
            if let (ParamKind::Scalar(local, _), Err(value)) = (&param.kind, arg) {
                frame.locals[local.0 as usize] = Some(*value);
            }
        }
        for array in &function.arrays {
            frame.arrays.push(self.stores.len());
            let count: u64 = array.shape.iter().product();
            let data = match &array.home {
                Home::Constant(elements) => elements.clone(),
                Home::Thread | Home::Threadgroup => vec![Scalar::from_bits(array.elem, 0); count as usize],
            };
            let (name, shape) = (array.name.clone(), array.shape.clone());
            self.stores.push(Store { name, ty: array.elem, shape, data });
        }
        match self.list(&mut frame, &function.body) {
            Ok(()) => Ok(None),
            Err(Exit::Return(value)) => Ok(value),
            Err(exit) => Err(exit),
        }
    }

    fn list(&mut self, frame: &mut Frame, stmts: &[Stmt]) -> Run<()> {
        stmts.iter().try_for_each(|stmt| self.stmt(frame, stmt))
    }

    /// A turn of a loop; says whether the loop goes on.
    fn turn(&mut self, frame: &mut Frame, body: &[Stmt]) -> Run<bool> {
        match self.list(frame, body) {
            Ok(()) | Err(Exit::Continue) => Ok(true),
            Err(Exit::Break) => Ok(false),
            Err(exit) => Err(exit),
        }
    }

    fn stmt(&mut self, frame: &mut Frame, stmt: &Stmt) -> Run<()> {
        self.fuel = self.fuel.checked_sub(1).ok_or(Exit::Tired)?;
        match stmt {
            Stmt::Set(local, value) => {
                let value = self.expr(frame, value)?;
                frame.locals[local.0 as usize] = Some(value);
            }
            Stmt::Store { memory, index, value, .. } => {
                let at = self.place(frame, *memory, index)?;
                let value = self.expr(frame, value)?;
                if let Some(element) = self.element(at) {
                    *element = value;
                }
            }
            Stmt::Fill(array, value) => {
                let value = self.expr(frame, value)?;
                self.stores[frame.arrays[array.0 as usize]].data.fill(value);
            }
            Stmt::Expr(expr) => drop(self.expr(frame, expr)?),
            Stmt::If { cond, then, otherwise } => {
                let side = if self.expr(frame, cond)?.is_true() { then } else { otherwise };
                self.list(frame, side)?;
            }
            Stmt::For { counter, lo, hi, step, body } => {
                // One after the other: what leaves in a bound leaves the bounds after it alone.
                let lo = self.expr(frame, lo)?;
                let hi = self.expr(frame, hi)?.as_int();
                let step = self.expr(frame, step)?.as_int().max(1);
                let mut at = lo.as_int();
                while at < hi {
                    frame.locals[counter.0 as usize] = Some(Scalar::from_int(lo.ty, at));
                    if !self.turn(frame, body)? {
                        break;
                    }
                    at += step;
                }
            }
            Stmt::While { cond, body } => {
                // The condition is part of the loop: exits in it are exits of this loop.
                loop {
                    self.fuel = self.fuel.checked_sub(1).ok_or(Exit::Tired)?;
                    let holds = match self.expr(frame, cond) {
                        Ok(holds) => holds.is_true(),
                        Err(Exit::Continue) => continue,
                        Err(Exit::Break) => false,
                        Err(exit) => return Err(exit),
                    };
                    if !holds || !self.turn(frame, body)? {
                        break;
                    }
                }
            }
            Stmt::Break => return Err(Exit::Break),
            Stmt::Continue => return Err(Exit::Continue),
            Stmt::Return(value) => {
                let value = value.as_ref().map(|value| self.expr(frame, value)).transpose()?;
                return Err(Exit::Return(value));
            }
            Stmt::Barrier(_) | Stmt::Fence(_) => {}
        }
        Ok(())
    }

    fn exprs(&mut self, frame: &mut Frame, exprs: &[Expr]) -> Run<Vec<Scalar>> {
        exprs.iter().map(|expr| self.expr(frame, expr)).collect()
    }

    fn expr(&mut self, frame: &mut Frame, expr: &Expr) -> Run<Scalar> {
        self.fuel = self.fuel.checked_sub(1).ok_or(Exit::Tired)?;
        let value = match &expr.kind {
            ExprKind::Const(value) => *value,
            ExprKind::Local(local) => frame.locals[local.0 as usize].expect("a local is set before it is read"),
            ExprKind::Place(place, dimension) => Scalar::i64(match place {
                Place::Global | Place::Block => self.thread[usize::from(*dimension)],
                Place::Local | Place::Lane => 0,
                Place::BlockDim | Place::SubgroupSize => 1,
                Place::GridDim => 1,
            }),
            ExprKind::Extent(memory, axis) => {
                let shape = &self.stores[store(frame, *memory)].shape;
                let all = shape.iter().product();
                Scalar::i64(axis.map_or(all, |axis| shape[usize::from(axis)]) as i64)
            }
            ExprKind::Apply(operator, args) => operator.eval(&self.exprs(frame, args)?).expect("types fit"),
            ExprKind::AndThen(a, b) => Scalar::bool(self.expr(frame, a)?.is_true() && self.expr(frame, b)?.is_true()),
            ExprKind::OrElse(a, b) => Scalar::bool(self.expr(frame, a)?.is_true() || self.expr(frame, b)?.is_true()),
            ExprKind::Cast(arg) => self.expr(frame, arg)?.cast(expr.ty),
            ExprKind::Bitcast(arg) => Scalar::from_bits(expr.ty, self.expr(frame, arg)?.bits),
            ExprKind::Load(memory, index) => {
                let at = self.place(frame, *memory, index)?;
                self.see(&at);
                self.element(at).map_or(Scalar::from_bits(expr.ty, 0), |element| *element)
            }
            ExprKind::Atomic { op, memory, index, args } => {
                let at = self.place(frame, *memory, index)?;
                let args = self.exprs(frame, args)?;
                self.see(&at);
                match self.element(at) {
                    None => Scalar::from_bits(expr.ty, 0),
                    Some(element) => {
                        let old = *element;
                        *element = match op {
                            AtomicOp::Update(operator) => operator.eval(&[old, args[0]]).unwrap(),
                            AtomicOp::Exchange | AtomicOp::Store => args[0],
                            AtomicOp::CompareExchange => {
                                if old == args[0] {
                                    args[1]
                                } else {
                                    old
                                }
                            }
                            AtomicOp::Load => old,
                            AtomicOp::Claim => unreachable!("no source says it"),
                        };
                        old
                    }
                }
            }
            ExprKind::Subgroup(op, args) => {
                let args = self.exprs(frame, args)?;
                if *op == SubgroupOp::Ballot { args[0].cast(Ty::U64) } else { args[0] }
            }
            ExprKind::Call(function, args) => {
                let args: Run<Vec<Result<usize, Scalar>>> = args
                    .iter()
                    .map(|arg| match arg {
                        Arg::Value(expr) => self.expr(frame, expr).map(Err),
                        Arg::Memory(memory) => Ok(Ok(store(frame, *memory))),
                    })
                    .collect();
                self.call(*function, &args?)?.unwrap_or(Scalar::bool(false))
            }
            ExprKind::If { cond, then, otherwise } => {
                let (stmts, value) = if self.expr(frame, cond)?.is_true() { then } else { otherwise };
                self.list(frame, stmts)?;
                self.expr(frame, value)?
            }
        };
        assert_eq!(value.ty, expr.ty, "{expr:?}");
        Ok(value)
    }

    /// Evaluates an index: the store, the index, and the element, if there is one.
    fn place(&mut self, frame: &mut Frame, memory: MemoryRef, index: &[Expr]) -> Run<(usize, Vec<i64>)> {
        let index = self.exprs(frame, index)?.iter().map(|at| at.as_int() as i64).collect();
        Ok((store(frame, memory), index))
    }

    fn see(&mut self, (at, index): &(usize, Vec<i64>)) {
        let store = &self.stores[*at];
        if offset(store, index).is_none() && self.outside.is_none() {
            self.outside = Some((store.name.clone(), index.clone()));
        }
    }

    fn element(&mut self, at: (usize, Vec<i64>)) -> Option<&mut Scalar> {
        self.see(&at);
        let store = &mut self.stores[at.0];
        offset(store, &at.1).map(|offset| &mut store.data[offset])
    }
}

fn store(frame: &Frame, memory: MemoryRef) -> usize {
    match memory {
        MemoryRef::Param(at) => frame.params[at as usize].expect("a tensor"),
        MemoryRef::Array(array) => frame.arrays[array.0 as usize],
    }
}

/// Where the element is. One number into several axes counts in row-major order.
fn offset(store: &Store, index: &[i64]) -> Option<usize> {
    if index.len() == 1 {
        return (0..store.data.len() as i64).contains(&index[0]).then_some(index[0] as usize);
    }
    store.shape.iter().zip(index).try_fold(0, |sum, (&extent, &at)| {
        (0..extent as i64).contains(&at).then(|| sum * extent as usize + at as usize)
    })
}
