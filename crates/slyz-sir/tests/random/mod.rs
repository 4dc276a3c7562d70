//! Random well-typed programs with arguments, the same for the same seed.
//!
//! Covers every element type, every operator of the table, every operation of the program level, shared functions,
//! sharing, repeated code, empty axes, long ones of a known extent, and values that tend to break things. What it
//! makes follows the rules a front end follows: reads are inside by construction, monoids are monoids, loops end. A
//! NaN's payload is never looked at, since no device promises one.
//!
//! It is a module of tests, included with `mod random;` or `#[path = …]`.

mod loops;
mod scalar;
mod value;

pub use value::{Rng, agree};

use slyz_sir::build::{Builder, Region};
use slyz_sir::code::{Body, FnId, Id, Monoid, Op, Type};
use slyz_sir::interp::Value;
use slyz_sir::ops::{Operator, TABLE};
use slyz_sir::program::{Program, Require};
use slyz_sir::size::{Size, SizeOrigin};
use slyz_sir::types::{Scalar, Ty};
use std::collections::HashSet;
use value::{array_value, scalar_value};

/// A program and a call of it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The program.
    pub program: Program,
    /// A value for every given size, `None` for a counted one.
    pub sizes: Vec<Option<u64>>,
    /// The arguments.
    pub args: Vec<Value>,
}

/// The case with that seed. `budget` is roughly the number of statements; a case that fails can be made smaller by it.
#[allow(dead_code)] // Some tests make theirs by strategies only.
pub fn case(seed: u64, budget: u32) -> Case {
    make(Random::new(seed, budget))
}

/// The same, but no result depends on how folds group their elements: sums of floats and the like are left out.
#[allow(dead_code)]
pub fn exact_case(seed: u64, budget: u32) -> Case {
    make(Random { exact: true, ..Random::new(seed, budget) })
}

/// The case as a file of the corpus, which says what it must give: whoever finds a fault puts it there.
#[allow(dead_code)] // Some tests show what they find in another way.
pub fn as_corpus_file(case: &Case, expected: &[Value], what: &str) -> String {
    let given = case.program.sizes.iter().zip(&case.sizes).filter_map(|(decl, size)| Some((&decl.name, (*size)?)));
    let sizes: String = given.map(|(name, size)| format!(" {name}={size}")).collect();
    let mut text = format!("// {what}.\n\n{}\ncase \"{what}\"{sizes} {{\n", case.program);
    for (k, value) in case.args.iter().enumerate() {
        text += &format!("  %{k} = {}\n", slyz_sir::text::print_value(value));
    }
    for value in expected {
        text += &format!("  expect {}\n", slyz_sir::text::print_value(value));
    }
    text + "}\n"
}

fn make(mut random: Random) -> Case {
    let args = random.params();
    for k in 0..random.rng.below(3) {
        random.function(k);
    }
    while random.budget > 0 {
        random.budget -= 1;
        random.top_level();
    }
    random.finish(args)
}

/// An axis that shapes can be made of.
#[derive(Clone)]
struct Axis {
    size: Size,
    /// The extent in this call; for a counted axis the most it can be.
    extent: u64,
}

struct Random {
    rng: Rng,
    b: Builder,
    budget: u32,
    axes: Vec<Axis>,
    /// Sizes that are known to have a position.
    inhabited: HashSet<Size>,
    sizes: Vec<Option<u64>>,
    /// Names in scope.
    scalars: Vec<Id>,
    arrays: Vec<Id>,
    /// Names that are positions of an axis of that size.
    positions: Vec<(Id, Size)>,
    functions: Vec<(FnId, Vec<Ty>, Vec<Ty>)>,
    /// Sizes are not looked at inside functions.
    in_function: bool,
    /// Monoids over floats are left out.
    exact: bool,
    /// How often the code that is being written runs, at most, for the axes around it.
    around: u64,
    /// Names at the top level that the program may give back.
    outcomes: Vec<Id>,
}

/// The most positions of a shape, where the shapes around it are no larger.
const POSITIONS: u64 = 40;
/// The most positions of a shape together with those around it, where an axis is long.
const LONG: u64 = 2_100;
/// Extents that are known before the call, around the edges of what subgroups, blocks and wide accesses take.
const EDGES: [u64; 16] = [3, 4, 15, 16, 17, 33, 64, 100, 255, 256, 257, 1000, 1023, 1025, 2000, 2050];
const BUILT: &str = "the generator follows the typing rules";

impl Random {
    fn new(seed: u64, budget: u32) -> Random {
        Random {
            rng: Rng::new(seed),
            b: Builder::new("random"),
            budget,
            axes: vec![],
            inhabited: HashSet::new(),
            sizes: vec![],
            scalars: vec![],
            arrays: vec![],
            positions: vec![],
            functions: vec![],
            in_function: false,
            exact: false,
            around: 1,
            outcomes: vec![],
        }
    }

    fn finish(mut self, args: Vec<Value>) -> Case {
        let count = 1 + self.rng.below(8) as usize;
        let mut results = vec![];
        for _ in 0..count {
            let all: Vec<Id> = [&self.outcomes[..], &self.outcomes[self.outcomes.len() / 2..]].concat();
            match self.rng.pick(&all) {
                Some(&id) => results.push(id),
                None => results.push(self.scalar(Ty::F32, 1)),
            }
        }
        let program = self.b.finish(&results).expect(BUILT);
        Case { program, sizes: self.sizes, args }
    }

    // ---- the call

    fn params(&mut self) -> Vec<Value> {
        for k in 0..1 + self.rng.below(3) {
            let extent = self.rng.below(6);
            let var = self.b.add_size(["N", "M", "K"][k as usize], SizeOrigin::Given);
            self.sizes.push(Some(extent));
            self.axes.push(Axis { size: Size::Var(var), extent });
            if extent > 0 && self.rng.chance(40) {
                self.b.require(Require::NonEmpty(Size::Var(var)));
                self.inhabited.insert(Size::Var(var));
            }
        }
        let mut known = vec![self.rng.below(3), 2];
        if self.rng.chance(30) {
            known.push(EDGES[self.rng.below(EDGES.len() as u64) as usize]);
        }
        for n in known {
            self.axes.push(Axis { size: Size::Const(n), extent: n });
        }
        let mut args = vec![];
        for _ in 0..1 + self.rng.below(6) {
            let ty = self.rng.ty();
            if self.rng.chance(35) {
                let id = self.b.param(Type::Scalar(ty));
                self.scalars.push(id);
                args.push(Value::Scalar(scalar_value(&mut self.rng, ty)));
            } else {
                let axes = self.shape();
                let id = self.b.param(Type::Array(ty, sizes_of(&axes)));
                self.arrays.push(id);
                let extents: Vec<u64> = axes.iter().map(|a| a.extent).collect();
                args.push(Value::Array(array_value(&mut self.rng, ty, &extents)));
            }
        }
        self.derived_axes();
        args
    }

    fn derived_axes(&mut self) {
        for _ in 0..self.rng.below(3) {
            let (a, b) = (self.axis(), self.axis());
            let (size, extent) = match self.rng.below(5) {
                0 => (a.size + b.size, a.extent + b.extent),
                1 => (a.size * b.size, a.extent * b.extent),
                2 => (Size::Min(a.size.into(), b.size.into()), a.extent.min(b.extent)),
                3 => (Size::CeilDiv(a.size.into(), 2), a.extent.div_ceil(2)),
                _ => (Size::Tri(a.size.into()), a.extent * (a.extent + 1) / 2),
            };
            let long = a.extent.max(b.extent) > 8 && extent <= LONG;
            if extent <= 8 || long {
                self.axes.push(Axis { size, extent });
            }
        }
    }

    fn axis(&mut self) -> Axis {
        self.rng.pick(&self.axes).cloned().unwrap_or(Axis { size: Size::Const(2), extent: 2 })
    }

    /// One to three axes, not too large together.
    fn shape(&mut self) -> Vec<Axis> {
        let mut axes: Vec<Axis> = vec![];
        for _ in 0..[1, 1, 1, 2, 2, 3][self.rng.below(6) as usize] {
            let axis = self.axis();
            let positions = axes.iter().map(|a| a.extent).product::<u64>() * axis.extent;
            let short = positions <= POSITIONS && self.around <= POSITIONS;
            if short || positions.saturating_mul(self.around) <= LONG {
                axes.push(axis);
            }
        }
        if axes.is_empty() {
            axes.push(Axis { size: Size::Const(2), extent: 2 });
        }
        axes
    }

    // ---- scopes

    fn open(&mut self, region: Region, tys: &[Ty]) -> Vec<Id> {
        let ids = self.b.open(region, &types(tys));
        self.scalars.extend(&ids);
        ids
    }

    fn close(&mut self, results: &[Id]) -> Body {
        let body = self.b.close(results).expect(BUILT);
        self.forget();
        body
    }

    fn forget(&mut self) {
        let b = &self.b;
        self.scalars.retain(|&id| b.in_scope(id));
        self.arrays.retain(|&id| b.in_scope(id));
        self.positions.retain(|(id, _)| b.in_scope(*id));
    }

    fn made(&mut self, op: Op) -> Vec<Id> {
        let ids = self.b.make(op).expect(BUILT);
        for &id in &ids {
            match self.b.ty(id) {
                Some(Type::Array(..)) => self.arrays.push(id),
                Some(Type::Scalar(_)) | None => self.scalars.push(id),
            }
        }
        ids
    }

    fn ty_of(&self, id: Id) -> Ty {
        self.b.ty(id).expect("made by this builder").elem()
    }

    fn apply(&mut self, operator: Operator, args: &[Id]) -> Id {
        self.made(Op::Apply(operator, args.to_vec()))[0]
    }

    fn constant(&mut self, value: Scalar) -> Id {
        self.made(Op::Const(value))[0]
    }

    fn int(&mut self, ty: Ty, value: i128) -> Id {
        self.constant(Scalar::from_int(ty, value))
    }

    // ---- statements of the program

    fn function(&mut self, number: u64) {
        let tys: Vec<Ty> = (0..1 + self.rng.below(3)).map(|_| self.rng.ty()).collect();
        let results: Vec<Ty> = (0..1 + self.rng.below(2)).map(|_| self.rng.ty()).collect();
        let outside = std::mem::take(&mut self.scalars);
        let params = self.b.open_function(&format!("f{number}"), &types(&tys));
        self.scalars = params;
        self.in_function = true;
        let ids: Vec<Id> = results.iter().map(|&ty| self.scalar(ty, 3)).collect();
        let id = self.b.close_function(&ids).expect(BUILT);
        self.in_function = false;
        self.scalars = outside;
        self.functions.push((id, tys, results));
    }

    fn top_level(&mut self) {
        let before = (self.rng.clone(), self.scalars.clone(), self.arrays.clone(), self.functions.clone());
        let ids = self.top_level_statement();
        self.outcomes.extend(&ids);
        // The same code once more, for passes to find.
        if self.rng.chance(15) {
            (self.rng, self.scalars, self.arrays, self.functions) = before;
            let ids = self.top_level_statement();
            self.outcomes.extend(&ids);
            self.rng.skip();
        }
    }

    fn top_level_statement(&mut self) -> Vec<Id> {
        match self.rng.below(14) {
            13 => self.sort(2),
            0 => {
                let ty = self.rng.ty();
                vec![self.scalar(ty, 3)]
            }
            10 | 11 => self.array_loop(2),
            12 => {
                let array = self.rng.pick(&self.arrays).copied();
                match array.and_then(|array| self.updated(array, 2)) {
                    Some(new) => vec![new],
                    None => self.tabulate(3),
                }
            }
            1..=4 => self.tabulate(3),
            5 => self.fold(2),
            6 => self.scan(2),
            7 | 8 => self.scatter(2),
            _ => self.filter(2),
        }
    }

    fn open_positions(&mut self, axes: &[Axis]) -> Vec<Id> {
        self.around *= positions_of(axes);
        let ids = self.open(Region::Loop, &vec![Ty::I64; axes.len()]);
        self.positions.extend(ids.iter().copied().zip(sizes_of(axes)));
        ids
    }

    fn close_positions(&mut self, axes: &[Axis], results: &[Id]) -> Body {
        self.around /= positions_of(axes);
        self.close(results)
    }

    fn tabulate(&mut self, depth: u32) -> Vec<Id> {
        let axes = self.shape();
        self.open_positions(&axes);
        let room = POSITIONS / positions_of(&axes);
        let results = match self.rng.below(8) {
            // A line in order as the element.
            1 if room >= 8 && depth > 0 && axes.len() < 3 => {
                let inner = Axis { size: Size::Const(3), extent: 3 };
                self.sort_over(std::slice::from_ref(&inner), depth - 1)
            }
            // An array as the element.
            0 if room >= 8 && depth > 0 && axes.len() < 3 => {
                let inner = Axis { size: Size::Const(2), extent: 2 };
                self.open_positions(std::slice::from_ref(&inner));
                let ty = self.rng.ty();
                let leaf = self.scalar(ty, depth - 1);
                let body = self.close_positions(std::slice::from_ref(&inner), &[leaf]);
                self.made(Op::Tabulate { shape: vec![inner.size], body })
            }
            _ => (0..1 + self.rng.below(2))
                .map(|_| {
                    let ty = self.rng.ty();
                    self.scalar(ty, depth)
                })
                .collect(),
        };
        let body = self.close_positions(&axes, &results);
        self.made(Op::Tabulate { shape: sizes_of(&axes), body })
    }

    fn fold(&mut self, depth: u32) -> Vec<Id> {
        let (monoid, tys) = self.monoid();
        let axes = self.shape();
        self.open_positions(&axes);
        let values = self.elements(&monoid, &tys, depth);
        let body = self.close_positions(&axes, &values);
        self.made(Op::Fold { shape: sizes_of(&axes), body, monoid })
    }

    fn scan(&mut self, depth: u32) -> Vec<Id> {
        let (monoid, tys) = self.monoid();
        let axes = self.shape();
        self.open_positions(&axes);
        let values = self.elements(&monoid, &tys, depth);
        let body = self.close_positions(&axes, &values);
        self.made(Op::Scan { shape: sizes_of(&axes), body, monoid })
    }

    fn scatter(&mut self, depth: u32) -> Vec<Id> {
        let (monoid, tys) = self.monoid();
        let (axes, target) = (self.shape(), self.shape());
        let params = self.open_positions(&axes);
        let seven = self.int(Ty::I64, 7);
        let mut results: Vec<Id> = vec![];
        for _ in &target {
            // Mostly inside, sometimes not.
            let position = match self.rng.below(3) {
                0 => params[0],
                _ => {
                    let any = self.scalar(Ty::I64, 1);
                    self.apply(Operator::Rem, &[any, seven])
                }
            };
            results.push(position);
        }
        results.extend(self.elements(&monoid, &tys, depth));
        let body = self.close_positions(&axes, &results);
        self.made(Op::Scatter { shape: sizes_of(&axes), body, target: sizes_of(&target), onto: vec![], monoid })
    }

    fn sort(&mut self, depth: u32) -> Vec<Id> {
        let axes = self.shape();
        self.sort_over(&axes, depth)
    }

    fn sort_over(&mut self, axes: &[Axis], depth: u32) -> Vec<Id> {
        self.open_positions(axes);
        let widths: Vec<u32> =
            (0..1 + self.rng.below(2)).map(|_| [1, 3, 8, 17, 32][self.rng.below(5) as usize]).collect();
        let mut results: Vec<Id> = widths.iter().map(|_| self.scalar(Ty::U32, depth)).collect();
        if self.rng.chance(50) {
            results.push(results[0]);
        }
        let ty = self.rng.ty();
        results.push(self.scalar(ty, depth));
        let body = self.close_positions(axes, &results);
        self.made(Op::Sort { shape: sizes_of(axes), widths, body })
    }

    fn filter(&mut self, depth: u32) -> Vec<Id> {
        let axis = self.axis();
        self.open_positions(std::slice::from_ref(&axis));
        let tys: Vec<Ty> = (0..1 + self.rng.below(2)).map(|_| self.rng.ty()).collect();
        let mut results = vec![self.scalar(Ty::Bool, depth)];
        results.extend(tys.iter().map(|&ty| self.scalar(ty, depth)).collect::<Vec<Id>>());
        let body = self.close_positions(std::slice::from_ref(&axis), &results);
        let kept = self.b.add_size("Kept", SizeOrigin::Counted);
        self.sizes.push(None);
        let ids = self.made(Op::Filter { extent: axis.size, body, kept });
        self.axes.push(Axis { size: Size::Var(kept), extent: axis.extent });
        ids
    }

    // ---- monoids

    fn monoid(&mut self) -> (Monoid, Vec<Ty>) {
        match self.rng.below(8) {
            0 => self.last(),
            1 => self.affine(),
            2 | 3 => self.operators(2),
            _ => self.operators(1),
        }
    }

    /// Elements that the monoid is one for: where no value is there, [`Random::last`] has its neutral element only.
    fn elements(&mut self, monoid: &Monoid, tys: &[Ty], depth: u32) -> Vec<Id> {
        let mut values: Vec<Id> = tys.iter().map(|&ty| self.scalar(ty, depth)).collect();
        if tys[0] == Ty::Bool && !monoid.commutative {
            let nothing = self.int(tys[1], 0);
            values[1] = self.apply(Operator::Select, &[values[0], values[1], nothing]);
        }
        values
    }

    /// Operators of the table side by side.
    fn operators(&mut self, count: usize) -> (Monoid, Vec<Ty>) {
        let mut parts = vec![];
        while parts.len() < count {
            let ty = self.rng.ty();
            if self.exact && ty.is_float() {
                continue;
            }
            let fits = |op: &Operator| op.row().associative && op.row().domain.has(ty);
            let operators: Vec<Operator> = TABLE.iter().map(|row| row.operator).filter(fits).collect();
            let Some(&operator) = self.rng.pick(&operators) else { continue };
            let Some(unit) = operator.row().identity.at(ty) else { continue };
            parts.push((operator, ty, unit));
        }
        let tys: Vec<Ty> = parts.iter().map(|p| p.1).collect();
        let neutral: Vec<Id> = parts.iter().map(|p| self.constant(p.2)).collect();
        let params = self.open(Region::Loop, &[&tys[..], &tys[..]].concat());
        let mut results = vec![];
        for (k, (operator, ..)) in parts.iter().enumerate() {
            results.push(self.apply(*operator, &[params[k], params[k + count]]));
        }
        let combine = self.close(&results);
        let commutative = parts.iter().all(|(operator, ..)| operator.row().commutative);
        (Monoid { neutral, combine, commutative }, tys)
    }

    /// The last value that is there: `(there, value)`.
    fn last(&mut self) -> (Monoid, Vec<Ty>) {
        let tys = vec![Ty::Bool, self.rng.ty()];
        let neutral = vec![self.constant(Scalar::bool(false)), self.constant(Scalar::from_int(tys[1], 0))];
        let params = self.open(Region::Loop, &[&tys[..], &tys[..]].concat());
        let there = self.apply(Operator::Or, &[params[0], params[2]]);
        let value = self.apply(Operator::Select, &[params[2], params[3], params[1]]);
        let combine = self.close(&[there, value]);
        (Monoid { neutral, combine, commutative: false }, tys)
    }

    /// Composition of `x * a + b`, on integers.
    fn affine(&mut self) -> (Monoid, Vec<Ty>) {
        let ty = *self.rng.pick(&[Ty::I8, Ty::I32, Ty::U16, Ty::U64, Ty::I64]).expect("not empty");
        let neutral = vec![self.int(ty, 1), self.int(ty, 0)];
        let p = self.open(Region::Loop, &[ty; 4]);
        let factor = self.apply(Operator::Mul, &[p[0], p[2]]);
        let offset = self.apply(Operator::Fma, &[p[1], p[2], p[3]]);
        let combine = self.close(&[factor, offset]);
        (Monoid { neutral, combine, commutative: false }, vec![ty; 2])
    }
}

fn types(tys: &[Ty]) -> Vec<Type> {
    tys.iter().map(|&ty| Type::Scalar(ty)).collect()
}

/// How often code at these positions runs, if it runs at all.
fn positions_of(axes: &[Axis]) -> u64 {
    axes.iter().map(|a| a.extent).product::<u64>().max(1)
}

fn sizes_of(axes: &[Axis]) -> Vec<Size> {
    axes.iter().map(|a| a.size.clone()).collect()
}
