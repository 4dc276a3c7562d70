//! The code of a thread as the code of a position.

use super::layout::Layouts;
use super::poly::{Poly, Term};
use super::rows::Running;
use super::tiles::Tiles;
use super::{Numbers, Passed, Unraised, does};
use crate::code::{Body, Id, MemId, Op, Stmt, Type, Var};
use crate::kernel::Kernel;
use crate::names::Names;
use crate::ops::Operator;
use crate::size::{Size, SizeVar};
use crate::types::{Scalar, Ty};
use crate::write::{Lines, Write};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What a name of the kernel is in the program.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// A position, written where it is needed.
    Poly(Poly),
    /// A value that is written.
    Code(Id),
    /// A condition that always or never holds.
    Settled(bool),
}

/// A size variable of the program.
#[derive(Clone, Debug)]
pub(super) struct SizeOf {
    pub(super) name: String,
    pub(super) value: Option<i128>,
    /// It is that variable over a number, rounded down.
    pub(super) quotient: Option<(u32, i128)>,
}

/// The threads along an axis that do something.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) extent: Size,
    pub(super) value: Option<i128>,
}

/// A thread, a place in a block or the counter of a loop.
#[derive(Clone, Debug)]
pub(super) struct Atom {
    /// What it is written as, where that is a name.
    pub(super) id: Option<Id>,
    /// How many values it has, from 0 on.
    pub(super) extent: Option<Size>,
    /// The least and the most that it can be.
    pub(super) range: Option<(i128, i128)>,
}

/// Atoms of threads: their indices in the grid, in the block, and those of their blocks.
pub(super) const THREAD: u32 = 0;
pub(super) const LOCAL: u32 = 3;
pub(super) const BLOCK: u32 = 6;
const OWN_ATOMS: usize = 9;

/// A kernel on its way.
pub(super) struct Lift<'k> {
    pub(super) kernel: &'k Kernel,
    pub(super) numbers: Option<Numbers<'k>>,
    pub(super) reassociates: bool,
    pub(super) layouts: Layouts,
    pub(super) lines: Lines,
    pub(super) axes: [Axis; 3],
    pub(super) atoms: Vec<Atom>,
    pub(super) sizes: Vec<SizeOf>,
    pub(super) size_names: HashMap<String, u32>,
    pub(super) env: HashMap<Id, Value>,
    pub(super) definitions: HashMap<Id, &'k Stmt>,
    pub(super) types: HashMap<Id, Ty>,
    /// Constants that are written, wherever.
    pub(super) constants: HashMap<Id, Scalar>,
    /// Conditions that hold, or do not, for all threads that do something.
    pub(super) settled: HashMap<Id, bool>,
    pub(super) params: BTreeMap<usize, (Passed, Var)>,
    pub(super) names: Names,
    /// What a thread has stored to its elements so far.
    pub(super) stored: HashMap<MemId, Id>,
    /// The rows that it has written so far, as arrays.
    pub(super) rows: HashMap<MemId, Id>,
    /// The tensors whose rows are being written, element by element.
    pub(super) in_row: Vec<MemId>,
    /// What a turn has reached or stored, by its name in the kernel.
    pub(super) running: HashMap<Id, Running>,
    /// The counter that goes along them.
    pub(super) row_counter: Option<u32>,
    /// Branches and loops around the code that is written.
    pub(super) depth: usize,
    /// The atoms of counters, by their names in the kernel.
    pub(super) counters: HashMap<Id, u32>,
    /// A loop by which few threads go through many positions: its counter is the thread, along that axis.
    pub(super) strided: Option<(Id, u32)>,
    /// Is the code here run by every thread that comes to the innermost branch?
    pub(super) certain: bool,
    /// Was something read that may be outside where the code is not run?
    pub(super) risky: bool,
    /// Was something of the kind read anywhere?
    pub(super) ever_risky: bool,
    /// Parameters whose numbers were asked for.
    pub(super) counted: BTreeSet<usize>,
    pub(super) tiles: Tiles,
    /// The places in a block of another thread, whose code is written here.
    pub(super) elsewhere: [Option<Poly>; 3],
    /// Positions at which each tensor is accessed; `None` for one that is no polynomial.
    pub(super) accessed: HashMap<MemId, Vec<Option<Vec<Poly>>>>,
    pub(super) written: Vec<(MemId, Vec<Poly>)>,
    /// Nobody knows yet where tensors are written.
    pub(super) looking: bool,
}

fn define<'k>(body: &'k Body, into: &mut HashMap<Id, &'k Stmt>, types: &mut HashMap<Id, Ty>) {
    types.extend(body.params.iter().map(|param| (param.id, param.ty.elem())));
    for stmt in &body.stmts {
        into.extend(stmt.binds.iter().map(|bind| (bind.id, stmt)));
        types.extend(stmt.binds.iter().map(|bind| (bind.id, bind.ty.elem())));
        stmt.op.bodies().into_iter().for_each(|inner| define(inner, into, types));
    }
}

impl<'k> Lift<'k> {
    pub(super) fn new(kernel: &'k Kernel, numbers: Option<Numbers<'k>>, reassociates: bool) -> Lift<'k> {
        let mut definitions = HashMap::new();
        let mut types = HashMap::new();
        define(&kernel.body, &mut definitions, &mut types);
        let axis = Axis { extent: Size::Const(1), value: Some(1) };
        let atom = Atom { id: None, extent: None, range: None };
        Lift {
            kernel,
            numbers,
            reassociates,
            layouts: Layouts::default(),
            lines: Lines::new(kernel.fresh_ids()),
            axes: [axis.clone(), axis.clone(), axis],
            atoms: vec![atom; OWN_ATOMS],
            sizes: vec![],
            size_names: HashMap::new(),
            env: HashMap::new(),
            definitions,
            types,
            constants: HashMap::new(),
            settled: HashMap::new(),
            params: BTreeMap::new(),
            names: Names::default(),
            stored: HashMap::new(),
            rows: HashMap::new(),
            in_row: vec![],
            row_counter: None,
            running: HashMap::new(),
            depth: 0,
            counters: HashMap::new(),
            strided: None,
            certain: true,
            risky: false,
            ever_risky: false,
            counted: BTreeSet::new(),
            tiles: Tiles::default(),
            elsewhere: [None, None, None],
            accessed: HashMap::new(),
            written: vec![],
            looking: false,
        }
    }

    /// The same once more, with what was learnt.
    pub(super) fn again(self, layouts: Layouts) -> Lift<'k> {
        let Lift { kernel, numbers, reassociates, sizes, size_names, counters, atoms, counted, .. } = self;
        Lift { sizes, size_names, counters, atoms, counted, layouts, ..Lift::new(kernel, numbers, reassociates) }
    }

    /// Goes through the code to see where tensors are accessed.
    pub(super) fn look(&mut self) -> Result<(), Unraised> {
        self.looking = true;
        self.begin()?;
        let kernel = self.kernel;
        self.stmts(&kernel.body.stmts)
    }

    pub(super) fn begin(&mut self) -> Result<(), Unraised> {
        self.find_space()?;
        for axis in 0..3u32 {
            let Axis { extent, value } = self.axes[axis as usize].clone();
            let last = value.map(|value| (value - 1).max(0));
            let block = i128::from(self.kernel.block[axis as usize].max(1));
            let id = self.lines.fresh();
            let range = |last: i128| (0, last);
            self.atoms[(THREAD + axis) as usize] = Atom { id: Some(id), extent: Some(extent), range: last.map(range) };
            self.atoms[(LOCAL + axis) as usize] = Atom { id: None, extent: None, range: Some((0, block - 1)) };
            self.atoms[(BLOCK + axis) as usize] =
                Atom { id: None, extent: None, range: last.map(|last| (0, last / block)) };
        }
        for (k, param) in self.kernel.body.params.iter().enumerate() {
            let id = self.lines.fresh();
            let ty = param.ty.elem();
            let memories = self.kernel.memories.len();
            if let Some(name) = self.kernel.names.get(param.id) {
                self.names.note(id, name);
            }
            self.params.insert(memories + k, (Passed::Scalar(k), Var { id, ty: Type::Scalar(ty) }));
            self.env.insert(param.id, Value::Code(id));
        }
        Ok(())
    }

    /// Writes a position.
    pub(super) fn write(&mut self, poly: &Poly) -> Id {
        let poly = self.normal(poly);
        let mut sum: Option<Id> = None;
        let products: Vec<(Vec<Term>, i128)> = poly.products().map(|(product, by)| (product.to_vec(), by)).collect();
        let (first, last): (Vec<_>, Vec<_>) = products.into_iter().partition(|&(_, by)| by > 0);
        for (product, by) in first.into_iter().chain(last) {
            let times = i64::try_from(by.abs()).unwrap_or(i64::MAX);
            let mut value = None;
            for term in product {
                let factor = self.write_term(term);
                value = Some(match value {
                    Some(before) => self.lines.apply(Operator::Mul, &[before, factor], Ty::I64),
                    None => factor,
                });
            }
            // A number by itself may be the least one, which has no opposite.
            let Some(value) = value else {
                let number = self.lines.number(i64::try_from(by).unwrap_or(i64::MAX));
                sum = Some(match sum {
                    Some(before) => self.lines.apply(Operator::Add, &[before, number], Ty::I64),
                    None => number,
                });
                continue;
            };
            let value = if times == 1 {
                value
            } else {
                let number = self.lines.number(times);
                self.lines.apply(Operator::Mul, &[value, number], Ty::I64)
            };
            sum = Some(match sum {
                Some(before) if by < 0 => self.lines.apply(Operator::Sub, &[before, value], Ty::I64),
                Some(before) => self.lines.apply(Operator::Add, &[before, value], Ty::I64),
                None if by < 0 => self.lines.apply(Operator::Neg, &[value], Ty::I64),
                None => value,
            });
        }
        sum.unwrap_or_else(|| self.lines.number(0))
    }

    pub(super) fn write_term(&mut self, term: Term) -> Id {
        let atom = match term {
            Term::Size(var) => return self.lines.extent(&Size::Var(SizeVar(var))),
            Term::Atom(atom) => atom,
        };
        if let Some(id) = self.atoms.get(atom as usize).and_then(|atom| atom.id) {
            return id;
        }
        // The place in a block, or the number of the block, by the index in the grid.
        let axis = atom % 3;
        let thread = self.write_term(Term::Atom(THREAD + axis));
        let block = self.lines.number(i64::from(self.kernel.block[axis as usize].max(1)));
        let operator = if atom >= BLOCK { Operator::Div } else { Operator::Rem };
        self.lines.apply(operator, &[thread, block], Ty::I64)
    }

    /// Writes what a name of the kernel is.
    pub(super) fn code(&mut self, id: Id) -> Result<Id, Unraised> {
        match self.env.get(&id).cloned() {
            Some(Value::Code(id)) => Ok(id),
            Some(Value::Poly(poly)) => Ok(self.write(&poly)),
            Some(Value::Settled(holds)) => Ok(self.lines.constant(Scalar::bool(holds))),
            None => does("it has a name that nothing gives a value"),
        }
    }

    pub(super) fn codes(&mut self, ids: &[Id]) -> Result<Vec<Id>, Unraised> {
        ids.iter().map(|&id| self.code(id)).collect()
    }

    pub(super) fn stmts(&mut self, stmts: &'k [Stmt]) -> Result<(), Unraised> {
        stmts.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    pub(super) fn stmt(&mut self, stmt: &'k Stmt) -> Result<(), Unraised> {
        if let [bind] = &stmt.binds[..] {
            if let Some(running) = self.running.get(&bind.id).cloned() {
                let value = self.reached(&running)?;
                self.env.insert(bind.id, Value::Code(value));
                return Ok(());
            }
            // Of another thread it is not known.
            if let Some(&holds) = self.settled.get(&bind.id)
                && self.elsewhere.iter().all(Option::is_none)
            {
                self.env.insert(bind.id, Value::Settled(holds));
                return Ok(());
            }
            if bind.ty == Type::Scalar(Ty::I64) {
                let made = self.position(&stmt.op, &mut |lift, id| lift.env.get(&id).cloned())?;
                if let Some(poly) = made {
                    self.env.insert(bind.id, Value::Poly(poly));
                    return Ok(());
                }
            }
        }
        match &stmt.op {
            Op::Const(value) if value.ty == Ty::Bool => self.bind(stmt, &[Value::Settled(value.is_true())]),
            Op::Apply(operator @ (Operator::And | Operator::Or), args) if self.is_settled(args) => {
                let value = self.settle(*operator, args);
                self.bind(stmt, &[value]);
            }
            Op::Const(_) | Op::Extent(_) | Op::Apply(..) | Op::Cast(..) | Op::Bitcast(..) | Op::Call(..) => {
                self.copy(stmt)?
            }
            Op::Place(..) => return does("it has a place that is no number"),
            Op::If { .. } | Op::For { .. } | Op::While { .. } => self.control(stmt)?,
            Op::Load { memory, index } => self.load(stmt, *memory, index)?,
            Op::Store { memory, index, values } => self.store(*memory, index, values)?,
            Op::Check { .. } => self.bind(stmt, &[Value::Settled(true)]),
            Op::Barrier(_) => self.tiles.meet(),
            _ => return does("it does what array programs do not"),
        }
        Ok(())
    }

    pub(super) fn bind(&mut self, stmt: &Stmt, values: &[Value]) {
        self.env.extend(stmt.binds.iter().zip(values).map(|(bind, value)| (bind.id, value.clone())));
    }

    /// The same operation on what its operands are.
    pub(super) fn copy(&mut self, stmt: &Stmt) -> Result<(), Unraised> {
        let mut operands = vec![];
        stmt.op.each_operand(&mut |id| operands.push(id));
        let operands = self.codes(&operands)?;
        let mut op = stmt.op.clone();
        let mut next = operands.into_iter();
        op.each_operand_mut(&mut |id| *id = next.next().unwrap_or(*id));
        let tys: Vec<Ty> = stmt.binds.iter().map(|bind| bind.ty.elem()).collect();
        let constant = if let Op::Const(value) = &op { Some(*value) } else { None };
        let made = self.lines.bind(op, &tys);
        self.constants.extend(made.first().copied().zip(constant));
        for (bind, id) in stmt.binds.iter().zip(&made) {
            if let Some(name) = self.kernel.names.get(bind.id) {
                self.names.note(*id, name);
            }
        }
        let values: Vec<Value> = made.into_iter().map(Value::Code).collect();
        self.bind(stmt, &values);
        Ok(())
    }

    pub(super) fn is_settled(&self, args: &[Id]) -> bool {
        args.iter().any(|arg| matches!(self.env.get(arg), Some(Value::Settled(_))))
    }

    pub(super) fn settle(&self, operator: Operator, args: &[Id]) -> Value {
        let absorbing = operator == Operator::Or;
        let mut left = Value::Settled(!absorbing);
        for arg in args {
            match self.env.get(arg) {
                Some(Value::Settled(holds)) if *holds == absorbing => return Value::Settled(absorbing),
                Some(Value::Settled(_)) | None => {}
                Some(other) => left = other.clone(),
            }
        }
        left
    }
}
