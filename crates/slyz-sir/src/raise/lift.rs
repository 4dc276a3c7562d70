//! The code of a thread as the code of a position.

use super::layout::{Along, Layouts, Written};
use super::poly::{Poly, Term};
use super::rows::Running;
use super::tiles::Tiles;
use super::{Numbers, Passed, Raised, Unraised, does};
use crate::code::{Body, Id, MemId, Op, Place, Stmt, Type, Var};
use crate::kernel::{Kernel, Space};
use crate::names::Names;
use crate::ops::Operator;
use crate::program::Program;
use crate::size::{Size, SizeDecl, SizeOrigin, SizeVar};
use crate::types::{Scalar, Ty};
use crate::write::{Lines, Write};
use std::collections::{BTreeMap, HashMap};

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
    name: String,
    value: Option<i128>,
    /// It is that variable over a number, rounded down.
    quotient: Option<(u32, i128)>,
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
const THREAD: u32 = 0;
const LOCAL: u32 = 3;
const BLOCK: u32 = 6;
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
    sizes: Vec<SizeOf>,
    size_names: HashMap<String, u32>,
    pub(super) env: HashMap<Id, Value>,
    definitions: HashMap<Id, &'k Stmt>,
    types: HashMap<Id, Ty>,
    /// Constants that are written, wherever.
    pub(super) constants: HashMap<Id, Scalar>,
    /// Conditions that hold, or do not, for all threads that do something.
    pub(super) settled: HashMap<Id, bool>,
    params: BTreeMap<usize, (Passed, Var)>,
    names: Names,
    /// What a thread has stored to its elements so far.
    pub(super) stored: HashMap<MemId, Id>,
    /// The rows that it has written so far, as arrays.
    pub(super) rows: HashMap<MemId, Id>,
    /// The tensors whose rows are being written, element by element.
    pub(super) in_row: Vec<MemId>,
    /// Sums that a turn has reached, by their names in the kernel.
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
            tiles: Tiles::default(),
            elsewhere: [None, None, None],
            accessed: HashMap::new(),
            written: vec![],
            looking: false,
        }
    }

    /// The same once more, with what was learnt.
    pub(super) fn again(self, layouts: Layouts) -> Lift<'k> {
        let Lift { kernel, numbers, reassociates, sizes, size_names, counters, atoms, .. } = self;
        Lift { sizes, size_names, counters, atoms, layouts, ..Lift::new(kernel, numbers, reassociates) }
    }

    /// Goes through the code to see where tensors are accessed.
    pub(super) fn look(&mut self) -> Result<(), Unraised> {
        self.looking = true;
        self.begin()?;
        let kernel = self.kernel;
        self.stmts(&kernel.body.stmts)
    }

    fn begin(&mut self) -> Result<(), Unraised> {
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

    // ---- sizes and numbers

    /// Is it so, as far as numbers are known? A launch that nobody knows fits.
    pub(super) fn holds(&self, known: Option<bool>) -> bool {
        known.unwrap_or(self.numbers.is_none())
    }

    fn new_size(&mut self, name: &str, value: Option<i128>, quotient: Option<(u32, i128)>) -> Poly {
        let known = self.size_names.get(name).copied();
        let place = known.unwrap_or_else(|| {
            let place = self.sizes.len() as u32;
            self.sizes.push(SizeOf { name: name.to_string(), value, quotient });
            self.size_names.insert(name.to_string(), place);
            place
        });
        Poly::term(Term::Size(place))
    }

    /// A size of the kernel.
    pub(super) fn size_of(&mut self, size: &Size) -> Result<Poly, Unraised> {
        let large = || Unraised::Large;
        match size {
            Size::Const(n) => Ok(Poly::number((*n).into())),
            Size::Var(var) => {
                let name = self.kernel.size_name(*var);
                let value = self.numbers.and_then(|numbers| numbers.sizes.get(var.0 as usize).copied());
                Ok(self.new_size(&name, value.map(i128::from), None))
            }
            Size::Add(a, b) => self.size_of(a)?.plus(&self.size_of(b)?, 1).ok_or_else(large),
            Size::Mul(a, b) => self.size_of(a)?.times(&self.size_of(b)?).ok_or_else(large),
            Size::Min(..) | Size::CeilDiv(..) | Size::Tri(_) => Err(Unraised::Large),
        }
    }

    /// A number of the launch, which is an axis or the distance between rows; nothing where it is negative.
    fn scalar_size(&mut self, param: usize) -> Option<Poly> {
        let value = self.numbers.and_then(|numbers| numbers.scalars.get(param)).map(|scalar| scalar.as_int());
        if value.is_some_and(|value| value < 0) || self.numbers.is_some() && value.is_none() {
            return None;
        }
        let id = self.kernel.body.params.get(param)?.id;
        let name = self.kernel.names.get(id).map_or_else(|| format!("number_{param}"), str::to_string);
        let name = if self.kernel.sizes.iter().any(|size| size.name == name) { format!("{name}_given") } else { name };
        Some(self.new_size(&name, value, None))
    }

    /// A polynomial of sizes as a size; one with negative numbers in front is a variable of its own.
    pub(super) fn as_size(&mut self, poly: &Poly) -> Option<Size> {
        if !poly.is_uniform() {
            return None;
        }
        let mut sum: Option<Size> = None;
        for (product, by) in poly.products() {
            let Ok(by) = u64::try_from(by) else { return self.as_variable(poly) };
            let sizes = product.iter().filter_map(|term| match term {
                Term::Size(var) => Some(Size::Var(SizeVar(*var))),
                Term::Atom(_) => None,
            });
            let sizes: Vec<Size> = sizes.collect();
            let sized = if sizes.is_empty() { Size::Const(by) } else { Size::product(&sizes) };
            let sized = if by == 1 || product.is_empty() { sized } else { sized * Size::Const(by) };
            sum = Some(match sum {
                Some(before) => before + sized,
                None => sized,
            });
        }
        Some(sum.unwrap_or(Size::Const(0)))
    }

    fn as_variable(&mut self, poly: &Poly) -> Option<Size> {
        let value = self.value_of(poly);
        if value.is_some_and(|value| value < 0) {
            return None;
        }
        let name = format!("count_{}", self.sizes.len());
        match self.new_size(&name, value, None).as_shifted()? {
            (Term::Size(var), 0) => Some(Size::Var(SizeVar(var))),
            _ => None,
        }
    }

    /// A new size of that value.
    pub(super) fn fresh_size(&mut self, stem: &str, value: Option<i128>) -> Size {
        let name = format!("{stem}_{}", self.sizes.len());
        match self.new_size(&name, value, None).as_shifted() {
            Some((Term::Size(var), _)) => Size::Var(SizeVar(var)),
            _ => Size::Const(0),
        }
    }

    pub(super) fn size_value(&self, size: &Size) -> Option<i128> {
        let value = |SizeVar(var): SizeVar| {
            let known = self.sizes.get(var as usize)?.value?;
            u64::try_from(known).ok()
        };
        size.eval(&value).ok().map(i128::from)
    }

    /// The size that this one is a quotient of, and by what.
    pub(super) fn dividend(&self, size: &Size) -> Option<(Size, i128)> {
        let Size::Var(SizeVar(var)) = size else { return None };
        let (of, by) = self.sizes.get(*var as usize)?.quotient?;
        Some((Size::Var(SizeVar(of)), by))
    }

    /// The number that a polynomial of sizes is.
    pub(super) fn value_of(&self, poly: &Poly) -> Option<i128> {
        self.range(poly).filter(|(low, high)| low == high).map(|(low, _)| low)
    }

    /// The least and the most that a position can be.
    pub(super) fn range(&self, poly: &Poly) -> Option<(i128, i128)> {
        poly.range(&|term| match term {
            Term::Size(var) => self.sizes.get(var as usize)?.value.map(|value| (value, value)),
            Term::Atom(atom) => self.atoms.get(atom as usize)?.range,
        })
    }

    // ---- positions

    /// With the index of the thread in the grid wherever that of its block and its place in it make it.
    pub(super) fn normal(&self, poly: &Poly) -> Poly {
        let mut poly = poly.clone();
        for axis in 0..3u32 {
            let block = i128::from(self.kernel.block[axis as usize].max(1));
            let local = Poly::term(Term::Atom(LOCAL + axis));
            let Some(start) = Poly::term(Term::Atom(THREAD + axis)).plus(&local, -1) else { continue };
            if let Some(instead) = poly.replaced(Term::Atom(BLOCK + axis), block, &start) {
                poly = instead;
            }
        }
        poly
    }

    fn place(&mut self, place: Place, axis: u8) -> Result<Poly, Unraised> {
        let d = usize::from(axis).min(2);
        let block = i128::from(self.kernel.block[d].max(1));
        let term = |first: u32| Poly::term(Term::Atom(first + d as u32));
        let local =
            || self.elsewhere[d].clone().unwrap_or_else(|| if block == 1 { Poly::number(0) } else { term(LOCAL) });
        let number = || if block == 1 { term(THREAD) } else { term(BLOCK) };
        let whole = || number().times(&Poly::number(block))?.plus(&local(), 1);
        match place {
            Place::Global if self.elsewhere[d].is_none() => Ok(term(THREAD)),
            Place::Global => whole().ok_or(Unraised::Large),
            Place::Local => Ok(local()),
            Place::Block => Ok(number()),
            Place::BlockDim => Ok(Poly::number(block)),
            Place::GridDim => self.size_of(&Size::Var(SizeVar(d as u32))),
            Place::Lane | Place::SubgroupSize => does("its threads know their subgroup"),
        }
    }

    /// The position that an operation makes of positions; nothing where it is no polynomial.
    fn position(
        &mut self,
        op: &Op,
        of: &mut dyn FnMut(&mut Self, Id) -> Option<Value>,
    ) -> Result<Option<Poly>, Unraised> {
        let made = match op {
            Op::Const(value) if value.ty == Ty::I64 => Some(Poly::number(value.as_int())),
            Op::Extent(size) => Some(self.size_of(size)?),
            Op::Place(place, axis) => Some(self.place(*place, *axis)?),
            Op::Cast(Ty::I64, arg) => match self.kernel.body.params.iter().position(|param| param.id == *arg) {
                Some(param) if self.kernel.body.params[param].ty.elem().is_int() => self.scalar_size(param),
                _ => match of(self, *arg) {
                    Some(Value::Poly(poly)) => Some(poly),
                    _ => None,
                },
            },
            Op::Apply(operator, args) => {
                let mut polys = vec![];
                for &arg in args {
                    match of(self, arg) {
                        Some(Value::Poly(poly)) => polys.push(poly),
                        _ => return Ok(None),
                    }
                }
                self.applied(*operator, &polys)
            }
            _ => None,
        };
        // A position that wraps around is another one.
        let fits = |poly: &Poly| {
            let known = self.range(poly).map(|(low, high)| low >= i64::MIN.into() && high <= i64::MAX.into());
            self.holds(known)
        };
        Ok(made.filter(fits))
    }

    fn applied(&mut self, operator: Operator, polys: &[Poly]) -> Option<Poly> {
        match (operator, polys) {
            (Operator::Add, [a, b]) => a.clone().plus(b, 1),
            (Operator::Sub, [a, b]) => a.clone().plus(b, -1),
            (Operator::Mul, [a, b]) => a.times(b),
            (Operator::Neg, [a]) => Poly::default().plus(a, -1),
            (Operator::Fma, [a, b, c]) => a.times(b)?.plus(c, 1),
            (Operator::Max, [a, b]) => self.larger(a, b),
            (Operator::Min, [a, b]) => self.larger(a, b).map(|larger| if larger == *a { b.clone() } else { a.clone() }),
            (Operator::Div, [a, b]) => {
                let (Term::Size(var), 0) = a.as_shifted()? else { return None };
                let by = b.as_number().filter(|&by| by > 0)?;
                let SizeOf { name, value, .. } = self.sizes.get(var as usize)?.clone();
                Some(self.new_size(&format!("{name}_over_{by}"), value.map(|value| value / by), Some((var, by))))
            }
            _ => None,
        }
    }

    /// The larger of two, where it always is the same one. Sizes that nobody knows are not zero.
    fn larger(&self, a: &Poly, b: &Poly) -> Option<Poly> {
        if self.numbers.is_none() {
            return b.as_number().filter(|&b| b <= 1 && a.is_uniform()).map(|_| a.clone());
        }
        let ((low_a, high_a), (low_b, high_b)) = self.range(a).zip(self.range(b))?;
        match (low_a >= high_b, low_b >= high_a) {
            (true, _) => Some(a.clone()),
            (_, true) => Some(b.clone()),
            _ => None,
        }
    }

    /// The position of a name that is not written yet.
    pub(super) fn peek(&mut self, id: Id) -> Option<Value> {
        self.peek_within(id, 64)
    }

    fn peek_within(&mut self, id: Id, depth: u32) -> Option<Value> {
        if let Some(value) = self.env.get(&id) {
            return Some(value.clone());
        }
        let depth = depth.checked_sub(1)?;
        let op = self.definition(id)?;
        let made = self.position(op, &mut |lift, id| lift.peek_within(id, depth)).ok()?;
        made.map(Value::Poly)
    }

    pub(super) fn definition(&self, id: Id) -> Option<&'k Op> {
        self.definitions.get(&id).map(|stmt| &stmt.op)
    }

    /// Is it a number that may be a position?
    pub(super) fn counts(&self, id: Id) -> bool {
        self.types.get(&id) == Some(&Ty::I64)
    }

    pub(super) fn defining(&self, id: Id) -> Option<&'k Stmt> {
        self.definitions.get(&id).copied()
    }

    // ---- writing

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

    fn write_term(&mut self, term: Term) -> Id {
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
    fn copy(&mut self, stmt: &Stmt) -> Result<(), Unraised> {
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

    fn is_settled(&self, args: &[Id]) -> bool {
        args.iter().any(|arg| matches!(self.env.get(arg), Some(Value::Settled(_))))
    }

    fn settle(&self, operator: Operator, args: &[Id]) -> Value {
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

    // ---- memory

    pub(super) fn is_bound(&self, memory: MemId) -> bool {
        self.kernel.memories.get(memory.0 as usize).is_some_and(|memory| memory.space.is_bound())
    }

    fn memory_name(&self, memory: MemId) -> String {
        self.kernel.memories.get(memory.0 as usize).map_or(String::new(), |memory| memory.name.clone())
    }

    pub(super) fn outside(&self, memory: MemId) -> Unraised {
        Unraised::Unproven(self.memory_name(memory))
    }

    pub(super) fn neighbours(&self, memory: MemId) -> Unraised {
        Unraised::Neighbours(self.memory_name(memory))
    }

    /// The positions of an index, if all are polynomials.
    pub(super) fn polys(&self, index: &[Id]) -> Option<Vec<Poly>> {
        let poly = |id: &Id| match self.env.get(id) {
            Some(Value::Poly(poly)) => Some(self.normal(poly)),
            _ => None,
        };
        index.iter().map(poly).collect()
    }

    /// The tensor as a parameter of the program.
    pub(super) fn array(&mut self, memory: MemId) -> Result<Id, Unraised> {
        let place = memory.0 as usize;
        if let Some((_, var)) = self.params.get(&place) {
            return Ok(var.id);
        }
        let shape = self.shape(memory)?;
        let Some(known) = self.kernel.memories.get(place) else { return Err(Unraised::Large) };
        let earlier =
            |space: Space| self.kernel.memories[..place].iter().filter(|memory| memory.space == space).count();
        let passed = match known.space {
            Space::Constant => Passed::Constant(earlier(Space::Constant)),
            _ => Passed::Memory(place),
        };
        let id = self.lines.fresh();
        self.names.note(id, &known.name);
        self.params.insert(place, (passed, Var { id, ty: Type::Array(known.ty, shape) }));
        Ok(id)
    }

    fn load(&mut self, stmt: &'k Stmt, memory: MemId, index: &[Id]) -> Result<(), Unraised> {
        if !self.is_bound(memory) {
            return self.load_shared(stmt, memory, index);
        }
        let polys = self.polys(index);
        self.accessed.entry(memory).or_default().push(polys.clone());
        if !self.looking
            && let Some(written) = self.layouts.written(memory).cloned()
        {
            let position =
                polys.map(|polys| self.layouts.split(memory, polys)).ok_or_else(|| self.neighbours(memory))?;
            let value = if written.has_rows() {
                self.own_row(memory, &written, &position)?
            } else if position == written.position {
                self.current(memory)?
            } else {
                return Err(self.neighbours(memory));
            };
            self.bind(stmt, &[Value::Code(value)]);
            return Ok(());
        }
        let index = self.index(memory, index, polys)?;
        let array = self.array(memory)?;
        let ty = self.kernel.memories[memory.0 as usize].ty;
        let value = self.lines.push(Op::At { array, index }, ty);
        self.bind(stmt, &[Value::Code(value)]);
        Ok(())
    }

    /// What a thread's own element is now.
    pub(super) fn current(&mut self, memory: MemId) -> Result<Id, Unraised> {
        if let Some(&value) = self.stored.get(&memory) {
            return Ok(value);
        }
        let Some(written) = self.layouts.written(memory).cloned() else { return Err(self.neighbours(memory)) };
        let mut position = written.position.clone();
        if let (Some(counter), true) = (self.row_counter, written.has_rows()) {
            position.pop();
            position.push(Poly::term(Term::Atom(counter)));
            return self.own_row(memory, &written, &position);
        }
        let index: Vec<Id> = position.iter().map(|poly| self.write(poly)).collect();
        let array = self.array(memory)?;
        let ty = self.kernel.memories[memory.0 as usize].ty;
        Ok(self.lines.push(Op::At { array, index }, ty))
    }

    /// Writes the position of an access, which is inside of the tensor wherever the code is run, and where it could be moved to.
    fn index(&mut self, memory: MemId, index: &[Id], polys: Option<Vec<Poly>>) -> Result<Vec<Id>, Unraised> {
        let Some(polys) = polys else {
            if !self.certain {
                return Err(self.outside(memory));
            }
            self.risky = true;
            return self.codes(index);
        };
        let polys = self.layouts.split(memory, polys);
        if !self.looking {
            let shape = self.shape(memory)?;
            let inside = |(poly, size): (&Poly, &Size)| {
                let known = self.range(poly).zip(self.size_value(size));
                // Of a launch that nobody knows, as much is inside as threads and turns are.
                let otherwise = self.numbers.is_none() && matches!(poly.as_shifted(), Some((Term::Atom(_), 0)));
                known.map_or(otherwise, |((low, high), extent)| low >= 0 && high < extent)
            };
            if !polys.iter().zip(&shape).all(inside) {
                if !self.certain && self.numbers.is_some() {
                    return Err(self.outside(memory));
                }
                self.risky = true;
            }
        }
        Ok(polys.iter().map(|poly| self.write(poly)).collect())
    }

    fn store(&mut self, memory: MemId, index: &[Id], values: &[Id]) -> Result<(), Unraised> {
        let &[value] = values else { return does("it stores several elements at once") };
        if !self.is_bound(memory) {
            return self.store_shared(memory, index, value);
        }
        let polys = self.polys(index).ok_or_else(|| Unraised::Position(self.memory_name(memory)))?;
        self.accessed.entry(memory).or_default().push(Some(polys.clone()));
        let value = self.code(value)?;
        if self.looking {
            self.written.push((memory, polys));
            self.stored.insert(memory, value);
            return Ok(());
        }
        let position = self.layouts.split(memory, polys);
        if !self.layouts.written(memory).is_some_and(|written| written.is_at(&position)) {
            return Err(Unraised::Position(self.memory_name(memory)));
        }
        self.stored.insert(memory, value);
        Ok(())
    }

    // ---- the program

    pub(super) fn program(mut self) -> Result<Raised, Unraised> {
        self.begin()?;
        self.settle_written()?;
        let layouts = self.layouts.clone();
        let mut results = vec![];
        for group in layouts.groups() {
            let binds = self.group(&group)?;
            results.extend(group.iter().map(|written| written.memory.0 as usize).zip(binds));
        }
        results.sort_by_key(|(memory, _)| *memory);
        let stmts = self.lines.take();
        let (params, vars): (Vec<Passed>, Vec<Var>) = std::mem::take(&mut self.params).into_values().unzip();
        let body = Body { params: vars, stmts, results: results.iter().map(|(_, id)| *id).collect() };
        let size = |size: &SizeOf| SizeDecl { name: size.name.clone(), origin: SizeOrigin::Given };
        let program = Program {
            name: self.kernel.name.clone(),
            sizes: self.sizes.iter().map(size).collect(),
            functions: self.kernel.functions.clone(),
            requires: vec![],
            precision: self.kernel.precision,
            names: self.names,
            body,
        };
        let sizes = self.sizes.iter().map(|size| size.value.and_then(|value| u64::try_from(value).ok())).collect();
        let results = results.into_iter().map(|(memory, _)| memory).collect();
        Ok(super::tidy(Raised { program, sizes, params, results }))
    }

    /// The new contents of tensors that are written in the same way.
    fn group(&mut self, group: &[Written]) -> Result<Vec<Id>, Unraised> {
        let [first, ..] = group else { return Err(Unraised::Nothing) };
        let tys: Vec<Ty> = group.iter().map(|written| self.kernel.memories[written.memory.0 as usize].ty).collect();
        let places = vec![Ty::I64; first.along.len()];
        let params: Vec<Var> = places.iter().map(|&ty| self.lines.var(ty)).collect();
        let position: Vec<Id> = params.iter().map(|param| param.id).collect();
        // One thread's work is no element's: what it does, many can do together.
        let alone = first.along.iter().all(|along| matches!(along, Along::Fixed(_))) && !first.has_rows();
        let alone = if alone {
            self.place_threads();
            Some(self.thread(group)?)
        } else {
            None
        };
        let around = self.lines.begin();
        let made = self.element(group, &position, &tys, alone);
        let stmts = self.lines.end(around);
        let body = Body { params, stmts, results: made? };
        let binds: Vec<Var> =
            tys.iter().map(|&ty| Var { id: self.lines.fresh(), ty: Type::Array(ty, first.shape.clone()) }).collect();
        let ids = binds.iter().map(|bind| bind.id).collect();
        let shape = first.shape.iter().take(first.along.len()).cloned().collect();
        self.lines.out().push(Stmt { binds, op: Op::Tabulate { shape, body } });
        Ok(ids)
    }

    /// Threads stand at 0 along axes that have one.
    fn place_threads(&mut self) {
        for axis in 0..3 {
            self.atoms[axis].id = Some(self.lines.number(0));
        }
    }

    /// The elements at a position; what the only thread has left is there already.
    fn element(
        &mut self,
        group: &[Written],
        position: &[Id],
        tys: &[Ty],
        alone: Option<Vec<Id>>,
    ) -> Result<Vec<Id>, Unraised> {
        let first = &group[0];
        self.place_threads();
        for (&at, &along) in position.iter().zip(&first.along) {
            let Along::Threads { axis, shift } = along else { continue };
            let thread = if shift == 0 {
                at
            } else {
                let by = self.lines.number(i64::try_from(shift).map_err(|_| Unraised::Large)?);
                self.lines.apply(Operator::Sub, &[at, by], Ty::I64)
            };
            self.atoms[axis].id = Some(thread);
        }
        let mut thread = |lift: &mut Self| match &alone {
            Some(alone) => Ok(alone.clone()),
            None => lift.thread(group),
        };
        if first.covers {
            return thread(self);
        }
        // Elsewhere there is what was there.
        let mut inside = self.lines.constant(Scalar::bool(true));
        let zero = self.lines.number(0);
        for (&at, &along) in position.iter().zip(&first.along) {
            let axis = match along {
                Along::Threads { axis, .. } => axis,
                Along::Fixed(place) => {
                    let place = self.lines.number(i64::try_from(place).map_err(|_| Unraised::Large)?);
                    let holds = self.lines.apply(Operator::Eq, &[at, place], Ty::Bool);
                    inside = self.lines.apply(Operator::And, &[inside, holds], Ty::Bool);
                    continue;
                }
            };
            let Atom { id: Some(thread), extent: Some(extent), .. } = self.atoms[axis].clone() else {
                return Err(Unraised::Large);
            };
            let extent = self.lines.extent(&extent);
            for (operator, bound) in [(Operator::Ge, zero), (Operator::Lt, extent)] {
                let holds = self.lines.apply(operator, &[thread, bound], Ty::Bool);
                inside = self.lines.apply(Operator::And, &[inside, holds], Ty::Bool);
            }
        }
        let mut old = vec![];
        for written in group {
            let array = self.array(written.memory)?;
            old.push((array, self.kernel.memories[written.memory.0 as usize].ty));
        }
        let position = position.to_vec();
        self.branches(inside, tys, &[], &mut thread, &mut |lift| {
            let at = |&(array, ty): &(Id, Ty)| lift.lines.push(Op::At { array, index: position.clone() }, ty);
            Ok(old.iter().map(at).collect())
        })
    }

    /// What the thread of a position leaves in its elements.
    fn thread(&mut self, group: &[Written]) -> Result<Vec<Id>, Unraised> {
        self.stored.clear();
        self.rows.clear();
        self.tiles = Tiles::default();
        let kernel = self.kernel;
        self.stmts(&kernel.body.stmts)?;
        let mut left = vec![];
        for written in group {
            left.push(match (written.has_rows(), self.rows.get(&written.memory)) {
                (false, _) => self.current(written.memory)?,
                (true, Some(&row)) => row,
                (true, None) => return Err(Unraised::Position(self.memory_name(written.memory))),
            });
        }
        self.stored.clear();
        Ok(left)
    }
}
