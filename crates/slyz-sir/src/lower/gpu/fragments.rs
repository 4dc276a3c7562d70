//! Products of matrices of halves by tensor cores: subgroups multiply fragments of matrices (`mma`).
//!
//! A block makes a tile of results, and each of its subgroups a part of the tile, whose sums its lanes hold. For some turns of the fold at
//! a time (a slab) the threads of the block compute the values of the tile's rows and columns and leave them in shared memory, as words of
//! neighbouring terms; there are two slabs, so that one is filled while the other is multiplied:
//!
//! ```text
//! for start in (0..terms).step_by(32) {
//!     words = the values of the next slab            // reads are under way while fragments are multiplied
//!     for each fragment of results { %d0, … = mma f16 %a0, %a1, %a2, %a3, %b0, %b1, %c0, … }
//!     store left[other slab], words
//!     barrier block
//! }
//! ```
//!
//! Then the sums go through shared memory, some rows at a time, and threads finish them as code behind a fold does: neighbours of a row, with
//! wide accesses where rows allow for it. So any code may stand in front of the product and behind it.
//!
//! Which lane holds what is said by [`Fragment`]. A slab lies as its matrix does, so that threads move four words at once: a line of it is a
//! row of 16 words where terms are neighbours in memory, and else what belongs to a term, of which lanes get columns. Words of a line change
//! places by its number, so that the eight lines that lanes read at once are in different banks.
//!
//! What it does not do: split long folds, copy past the registers. Large products whose factors stand in memory a library makes faster.

use super::plan::Gpu;
use super::product::matrices;
use super::tiles::{Cut, Tile, Tiles};
use crate::choices::Precision;
use crate::code::{Body, Fragment, Id, MemId, Op, Place, Stmt};
use crate::kernel::{Access, Space};
use crate::lower::access::far_reads;
use crate::lower::matrices::Reader;
use crate::lower::product::Product;
use crate::lower::writer::KernelWriter;
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic, Write as _};
use std::collections::{HashMap, HashSet};

/// Lanes of a subgroup.
const LANES: u64 = 32;
/// Rows and columns of a fragment of results.
const FRAGMENT: [u64; 2] = [16, 8];
/// Words of a row in a slab: those of two products.
const WORDS: u64 = 16;
/// Words that are moved at once.
const AT_ONCE: u64 = 4;
const FOUR: [Ty; AT_ONCE as usize] = [Ty::U32; AT_ONCE as usize];
/// Results that a thread finishes at once.
const NEIGHBOURS: u64 = 4;
/// Rows and columns of a result below which threads work alone, and terms.
const SMALL: [u64; 2] = [32, 16];
/// Tiles that give every core of a large machine one.
const MANY: u64 = 128;
/// Bits that `tf32` rounds away, and half of what they come to.
const HALF_A_STEP: i128 = 1 << 12;

/// How a block goes about its tile.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Form {
    /// Subgroups below each other, and beside each other.
    subgroups: [u64; 2],
    /// Fragments of a subgroup, the same.
    fragments: [u64; 2],
}

impl Form {
    /// The largest first.
    const ALL: [Form; 2] =
        [Form { subgroups: [2, 4], fragments: [4, 4] }, Form { subgroups: [2, 2], fragments: [2, 4] }];

    fn threads(&self) -> u64 {
        LANES * self.subgroups[0] * self.subgroups[1]
    }

    /// Rows, or columns, of a subgroup, and of the tile.
    fn own(&self, axis: usize) -> u64 {
        self.fragments[axis] * FRAGMENT[axis]
    }

    fn side(&self, axis: usize) -> u64 {
        self.subgroups[axis] * self.own(axis)
    }

    /// Rows whose sums are in shared memory at a time: they have the room of the columns' slabs.
    fn strip(&self) -> u64 {
        self.subgroups[0] * FRAGMENT[0]
    }

    fn bytes(&self) -> u64 {
        4 * slabs(self.side(0) + self.side(1))
    }
}

/// The words of both slabs.
fn slabs(side: u64) -> u64 {
    2 * side * WORDS
}

impl<'g> Gpu<'g> {
    /// Writes a tabulate that is a product of halves. `false` if it is none; then nothing was written.
    pub(super) fn fragments(&mut self, stmt: &'g Stmt, shape: &'g [Size], body: &'g Body) -> bool {
        let gives_arrays = stmt.binds[0].ty.shape().len() > shape.len();
        let ([outer @ .., rows, columns], false, true) = (shape, gives_arrays, self.machine.multiplies) else {
            return false;
        };
        let Some(product) = Product::of(body) else { return false };
        let Some((fragment, values)) = self.multiplied(&product) else { return false };
        let about = |size: &Size| size.constant().or(self.expected.about(size));
        let small = |size: &Size, least: u64| about(size).is_some_and(|n| n <= least);
        if small(rows, SMALL[0]) || small(columns, SMALL[0]) || small(product.extent, SMALL[1]) {
            return false;
        }
        let tiles = |form: &Form| {
            let along = |size: &Size, axis: usize| Some(about(size)?.div_ceil(form.side(axis)));
            Some(along(rows, 0)?.saturating_mul(along(columns, 1)?).saturating_mul(about(&Size::product(outer))?))
        };
        let fits =
            |form: &&Form| form.bytes() <= self.machine.shared_bytes && form.threads() <= self.machine.threads().into();
        let enough = |form: &&Form| tiles(form).is_some_and(|n| n >= MANY);
        let forms = || Form::ALL.iter().filter(fits);
        let Some(form) = forms().find(enough).or_else(|| forms().next_back()).copied() else { return false };

        let outputs = self.base.outputs(stmt);
        let name = self.base.kernel_name("product");
        let mut w = KernelWriter::new(&self.base, name, Size::Const(1));
        w.bind_globals(&stmt.op);
        let homes: Vec<MemId> = outputs.into_iter().map(|(b, shape)| w.global(b, Access::Write, shape)).collect();
        w.kernel.block = [form.threads() as u32, 1, 1];
        let memories = ["left", "right"].iter().enumerate();
        let memories: Vec<MemId> = memories
            .map(|(axis, name)| w.near_memory(name, Ty::U32, Space::Shared, &[slabs(form.side(axis))]))
            .collect();
        let grid = Tiles {
            x: Cut { extent: columns, length: form.side(1) },
            y: Cut { extent: rows, length: form.side(0) },
            others: outer,
        };
        let factors = [(0, &grid.y), (1, &grid.x)].map(|(axis, cut)| {
            let position = body.params[body.params.len() - 2 + axis].id;
            Factor::new(&mut w, &product, fragment, (values[axis], position), cut, memories[axis])
        });
        let block = Block { product: &product, fragment, form, grid: &grid, factors, homes };
        grid.each(&mut w, &self.machine, &self.expected, |w, tile| block.write(w, tile));
        if self.machine.has_products {
            w.kernel.product = matrices(&self.base, &product, &mut w, &block.homes);
        }
        let kernel = w.finish();
        self.base.launch(kernel);
        true
    }

    /// What is multiplied, as it lies in a fragment, where a product may be made so: halves, or `f32` where the GPU's own ways are asked for.
    fn multiplied(&self, product: &Product<'g>) -> Option<(Fragment, [Id; 2])> {
        let precision = self.base.program.precision;
        let reader = Reader::new(&self.base, product);
        let factors = reader.factors()?;
        if precision == Some(Precision::Exact) || product.fold.binds[0].ty.elem() != Ty::F32 {
            return None;
        }
        let made = |id: Id| product.slice(&[id], false).last().map(|stmt| stmt.binds[0].ty.elem());
        let halves = factors.map(|value| reader.narrow(value).and_then(|narrow| Some((narrow, made(narrow)?))));
        match halves {
            [Some((a, Ty::F16)), Some((b, Ty::F16))] => Some((Fragment::F16, [a, b])),
            [Some((a, Ty::BF16)), Some((b, Ty::BF16))] => Some((Fragment::BF16, [a, b])),
            _ if precision == Some(Precision::Native) => Some((Fragment::TF32, factors)),
            _ => None,
        }
    }
}

/// Statements whose values are wanted at neighbouring positions.
struct Line<'g> {
    stmts: Vec<&'g Stmt>,
    /// What moves.
    position: Id,
    /// The elements that are neighbours in memory, by the names of what is read.
    wide: HashMap<Id, MemId>,
}

impl<'g> Line<'g> {
    fn new(w: &mut KernelWriter<'_, 'g>, stmts: Vec<&'g Stmt>, position: Id) -> Line<'g> {
        let mut moves = HashSet::from([position]);
        let mut wide = HashMap::new();
        for stmt in &stmts {
            if let Op::At { array, index } = &stmt.op
                && let Some((last, row)) = index.split_last()
                && *last == position
                && !row.iter().any(|id| moves.contains(id))
                && let Some((memory, _)) = w.bound_memory(*array, |_| true)
            {
                wide.insert(stmt.binds[0].id, memory);
            }
            let mut uses = false;
            stmt.op.each_operand(&mut |id| uses |= moves.contains(&id));
            stmt.op.bodies().iter().for_each(|body| body.each_free(&mut |id| uses |= moves.contains(&id)));
            moves.extend(stmt.binds.iter().filter(|_| uses).map(|bind| bind.id));
        }
        Line { stmts, position, wide }
    }

    /// Do rows of these memories, and the axis, have a multiple of so many elements? `None` where nothing is read along rows.
    fn is_whole(&self, w: &mut KernelWriter<'_, 'g>, axis: &Size, more: &[MemId], count: u64) -> Option<Id> {
        let memories = self.wide.values().chain(more);
        let ends: Vec<Size> = memories.filter_map(|m| w.kernel.memories[m.0 as usize].shape.last().cloned()).collect();
        if ends.is_empty() {
            return None;
        }
        let mut sizes = vec![axis.clone()];
        for end in ends {
            if !sizes.contains(&end) {
                sizes.push(end);
            }
        }
        sizes.sort();
        let tests: Vec<Id> = sizes
            .iter()
            .map(|size| {
                let extent = w.extent(size);
                let count = w.number(count as i64);
                w.value((extent % count).equals(0))
            })
            .collect();
        tests.into_iter().reduce(|a, b| w.value(a.and(b)))
    }

    /// The value of each of `results` at neighbours, of which the first is at a multiple of their number. `set` says what else is different there.
    fn neighbours(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        (first, count): (Id, u64),
        results: &[Id],
        mut set: impl FnMut(&mut KernelWriter<'_, 'g>, usize),
    ) -> Vec<Vec<Id>> {
        let mut loaded: HashMap<Id, Vec<Id>> = HashMap::new();
        let mut found = vec![];
        for k in 0..count as usize {
            let at = w.offset(first, k as i64);
            w.set_scalar(self.position, at);
            set(w, k);
            for &stmt in &self.stmts {
                let bind = stmt.binds[0].id;
                let (Op::At { array, index }, true) = (&stmt.op, self.wide.contains_key(&bind)) else {
                    w.lane_stmts([stmt]);
                    continue;
                };
                if let (0, Some((memory, mut place))) = (k, w.bound_memory(*array, |_| true)) {
                    place.extend(w.all_scalars(&index[..index.len() - 1]));
                    place.push(first);
                    let ty = w.kernel.memories[memory.0 as usize].ty;
                    loaded.insert(bind, w.bind(Op::Load { memory, index: place }, &vec![ty; count as usize]));
                }
                w.set_scalar(bind, loaded[&bind][k]);
            }
            found.push(w.all_scalars(results));
        }
        found
    }
}

/// One of the two factors.
struct Factor<'a, 'g> {
    fragment: Fragment,
    /// Its slabs.
    memory: MemId,
    line: Line<'g>,
    /// The value that is multiplied.
    value: Id,
    /// The position of the result that it depends on, and that of the term.
    position: Id,
    inner: Id,
    cut: &'a Cut<'a>,
    terms: &'a Size,
    /// Neighbours in memory are terms, not rows (or columns).
    along_terms: bool,
    /// Can neighbours be read at once?
    whole: Option<Id>,
}

/// What a thread brings into a slab at a time: its first row (or column) and term there, and the place of its first word.
struct Unit {
    position: Id,
    term: Id,
    place: Id,
}

impl<'a, 'g> Factor<'a, 'g> {
    fn new(
        w: &mut KernelWriter<'_, 'g>,
        product: &'a Product<'g>,
        fragment: Fragment,
        (value, position): (Id, Id),
        cut: &'a Cut<'a>,
        memory: MemId,
    ) -> Self {
        let stmts = product.slice(&[value], false);
        let code = Body { stmts: stmts.iter().map(|s| (*s).clone()).collect(), ..Body::default() };
        let (inner, terms) = (product.inner, product.extent);
        let along_terms = far_reads(&code, inner) <= far_reads(&code, position);
        let line = Line::new(w, stmts, if along_terms { inner } else { position });
        let axis = if along_terms { terms } else { cut.extent };
        let whole = line.is_whole(w, axis, &[], chunk(fragment));
        Factor { fragment, memory, line, value, position, inner, cut, terms, along_terms, whole }
    }

    /// Words of a line of a slab: of a row of the tile, or of all that belong to a term.
    fn line_words(&self) -> u64 {
        if self.along_terms { WORDS } else { self.cut.length / self.fragment.in_word() as u64 }
    }

    /// What a thread brings.
    fn units(&self, w: &mut KernelWriter<'_, 'g>, thread: Id, threads: u64) -> Vec<Unit> {
        let in_line = self.line_words() / AT_ONCE;
        let count = self.cut.length * WORDS / AT_ONCE / threads;
        let unit = |n: u64| {
            let number = w.offset(thread, (n * threads) as i64);
            let in_line_id = w.number(in_line as i64);
            let line = w.value(number / in_line_id);
            let four = w.value(number % in_line_id);
            let word = w.scaled(four, AT_ONCE);
            let first = w.scaled(four, chunk(self.fragment));
            let [position, term] = if self.along_terms { [line, first] } else { [first, line] };
            let nothing = w.number(0);
            Unit { position, term, place: self.place(w, [nothing, line], word) }
        };
        (0..count).map(unit).collect()
    }

    /// What the words of a line change places by, so that those that lanes read at once are in different banks.
    fn turned(&self, w: &mut KernelWriter<'_, 'g>, line: Id) -> Id {
        let (of, by) = match (self.along_terms, self.fragment) {
            // Two lines are what the banks give at once.
            (true, _) => (w.value((line / 2) % 4), AT_ONCE),
            (false, Fragment::TF32) => (w.value(line % 4), 2 * AT_ONCE),
            (false, Fragment::F16 | Fragment::BF16) => (w.value(line % 8), AT_ONCE),
        };
        w.scaled(of, by)
    }

    /// What a lane holds of four matrices of eight rows (or columns) and the terms of four words: those that begin so many rows and words behind
    /// `corner` in a slab. The next matrix is below the first, or beside it, for each of the two bits of its number.
    fn load(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        stand: &Stand,
        [slab, corner]: [Id; 2],
        (rows, words): (u64, u64),
        below: [bool; 2],
    ) -> Vec<Id> {
        let memory = self.memory;
        if !self.along_terms && self.fragment == Fragment::TF32 {
            let column = w.value(corner + stand.group);
            let one = |k: u64| {
                let bits = [k % 2, k / 2];
                let [down, beside] = [true, false].map(|wanted| place_of(bits, below, wanted));
                let column = w.offset(column, (rows + 8 * down) as i64);
                let term = w.offset(stand.place, (words + AT_ONCE * beside) as i64);
                let at = self.place(w, [slab, term], column);
                w.push(Op::Load { memory, index: vec![at] }, Ty::U32)
            };
            return (0..AT_ONCE).map(one).collect();
        }
        let matrix = w.value(stand.lane / 8);
        let line = w.value(stand.lane % 8);
        let bits = [w.value(matrix % 2), w.value(matrix / 2)];
        let mut place = |wanted: bool| {
            let counted: Vec<Id> =
                bits.iter().zip(below).filter(|(_, below)| *below == wanted).map(|(&bit, _)| bit).collect();
            match counted[..] {
                [] => w.number(0),
                [bit] => bit,
                _ => matrix,
            }
        };
        let [down, beside] = [place(true), place(false)];
        let turned = !self.along_terms;
        let index = if self.along_terms {
            let row = w.value((corner + down * 8) + line);
            let row = w.offset(row, rows as i64);
            let word = w.value(beside * AT_ONCE as i64);
            let word = w.offset(word, words as i64);
            self.place(w, [slab, row], word)
        } else {
            let in_word = self.fragment.in_word() as i64;
            let term = w.value((beside * 8) + line);
            let term = w.offset(term, words as i64 * in_word);
            let column = w.value(corner + down * 8);
            let column = w.offset(column, rows as i64);
            let word = w.value(column / in_word);
            self.place(w, [slab, term], word)
        };
        w.bind(Op::LoadFragment { memory, index: vec![index], turned }, &FOUR)
    }

    /// Where a word of a line is.
    fn place(&self, w: &mut KernelWriter<'_, 'g>, [slab, line]: [Id; 2], word: Id) -> Id {
        let start = w.scaled(line, self.line_words());
        let turned = self.turned(w, line);
        let word = w.value(word.with(Operator::Xor, turned));
        w.value((slab + start) + word)
    }

    /// The words of a unit in the slab whose first term is `start`, in a tile that begins at `tile`.
    fn words(&self, w: &mut KernelWriter<'_, 'g>, unit: &Unit, tile: Id, start: Id) -> Vec<Id> {
        let position = w.value(tile + unit.position);
        let term = w.value(start + unit.term);
        let apart = |w: &mut KernelWriter<'_, 'g>| self.one_by_one(w, [position, term], start);
        match self.whole {
            None => apart(w),
            Some(whole) => w.branch(whole, &FOUR, |w| self.together(w, [position, term]), apart),
        }
    }

    /// The same where neighbours are read at once: all of them are there, or none.
    fn together(&self, w: &mut KernelWriter<'_, 'g>, [position, term]: [Id; 2]) -> Vec<Id> {
        let mut inside = w.value(term.below(self.terms));
        if let Some(here) = self.cut.is_inside(w, position) {
            inside = w.value(inside.and(here));
        }
        let read = |w: &mut KernelWriter<'_, 'g>| {
            w.set_scalar(self.position, position);
            w.set_scalar(self.inner, term);
            let first = if self.along_terms { term } else { position };
            let values = self.line.neighbours(w, (first, chunk(self.fragment)), &[self.value], |_, _| {});
            let bits: Vec<Id> = values.into_iter().map(|value| self.bits(w, value[0])).collect();
            self.joined(w, &bits)
        };
        w.branch(inside, &FOUR, read, nothing)
    }

    /// The same, element by element. Past the end of the fold a value is 0; past an edge of the result it is any.
    fn one_by_one(&self, w: &mut KernelWriter<'_, 'g>, [position, term]: [Id; 2], start: Id) -> Vec<Id> {
        let terms = Cut { extent: self.terms, length: 1 };
        let some = w.value(start.below(self.terms));
        let element = |w: &mut KernelWriter<'_, 'g>, k: u64| {
            let [down, along] = if self.along_terms { [0, k] } else { [k, 0] };
            let position = w.offset(position, down as i64);
            let term = w.offset(term, along as i64);
            let position = self.cut.inside(w, position);
            let place = terms.inside(w, term);
            w.set_scalar(self.position, position);
            w.set_scalar(self.inner, place);
            w.lane_stmts(self.line.stmts.iter().copied());
            let value = w.scalar(self.value);
            let bits = self.bits(w, value);
            let is_term = w.value(term.below(self.terms));
            let none = zero(w);
            w.apply(Operator::Select, &[is_term, bits, none], Ty::U32)
        };
        let read = |w: &mut KernelWriter<'_, 'g>| {
            let bits: Vec<Id> = (0..chunk(self.fragment)).map(|k| element(w, k)).collect();
            self.joined(w, &bits)
        };
        w.branch(some, &FOUR, read, nothing)
    }

    /// An element as it stands in a word of its own.
    fn bits(&self, w: &mut KernelWriter<'_, 'g>, value: Id) -> Id {
        if self.fragment != Fragment::TF32 {
            let bits = w.push(Op::Bitcast(Ty::U16, value), Ty::U16);
            return w.push(Op::Cast(Ty::U32, bits), Ty::U32);
        }
        // What is left out is rounded away first. A NaN would become a number where all its bits are ones.
        let bits = w.push(Op::Bitcast(Ty::U32, value), Ty::U32);
        let half = w.constant(Scalar::from_int(Ty::U32, HALF_A_STEP));
        let rounded = w.apply(Operator::Add, &[bits, half], Ty::U32);
        let is_nan = w.apply(Operator::IsNan, &[value], Ty::Bool);
        w.apply(Operator::Select, &[is_nan, bits, rounded], Ty::U32)
    }

    /// Words of neighbouring elements.
    fn joined(&self, w: &mut KernelWriter<'_, 'g>, bits: &[Id]) -> Vec<Id> {
        bits.chunks(self.fragment.in_word()).map(|pair| word(w, pair)).collect()
    }

    /// Leaves the words of a unit in a slab.
    fn put(&self, w: &mut KernelWriter<'_, 'g>, unit: &Unit, slab: Id, words: Vec<Id>) {
        let at = w.value(slab + unit.place);
        w.act(Op::Store { memory: self.memory, index: vec![at], values: words });
    }
}

/// Elements that are read at once: those of so many words as are moved at once.
fn chunk(fragment: Fragment) -> u64 {
    AT_ONCE * fragment.in_word() as u64
}

/// How many matrices a matrix is below the first, or beside it, by the bits of its number.
fn place_of(bits: [u64; 2], below: [bool; 2], wanted: bool) -> u64 {
    let counted = bits.into_iter().zip(below).filter(|(_, below)| *below == wanted);
    counted.fold((0, 1), |(sum, weight), (bit, _)| (sum + bit * weight, 2 * weight)).0
}

/// An element in the low bits of a word, and perhaps one in the high bits.
fn word(w: &mut KernelWriter<'_, '_>, bits: &[Id]) -> Id {
    let [low, high] = bits else { return bits[0] };
    let by = w.constant(Scalar::from_int(Ty::U32, 16));
    let high = w.apply(Operator::Shl, &[*high, by], Ty::U32);
    w.apply(Operator::Or, &[*low, high], Ty::U32)
}

fn zero(w: &mut KernelWriter<'_, '_>) -> Id {
    w.constant(Scalar::from_int(Ty::U32, 0))
}

/// Words of nothing.
fn nothing(w: &mut KernelWriter<'_, '_>) -> Vec<Id> {
    vec![zero(w); FOUR.len()]
}

/// How a block makes a tile of results.
struct Block<'a, 'g> {
    product: &'a Product<'g>,
    fragment: Fragment,
    form: Form,
    grid: &'a Tiles<'a>,
    factors: [Factor<'a, 'g>; 2],
    homes: Vec<MemId>,
}

/// Where a thread stands: its lane, its group of four lanes, its place in that, and the first row and column of its subgroup.
struct Stand {
    thread: Id,
    lane: Id,
    group: Id,
    place: Id,
    corner: [Id; 2],
}

impl<'g> Block<'_, 'g> {
    fn write(&self, w: &mut KernelWriter<'_, 'g>, tile: &Tile) {
        let stand = self.stand(w);
        for (param, &id) in self.product.body.params.iter().zip(&tile.others) {
            w.set_scalar(param.id, id);
        }
        let sums = self.fold(w, tile, &stand);
        self.finish(w, tile, &stand, &sums);
    }

    fn stand(&self, w: &mut KernelWriter<'_, 'g>) -> Stand {
        let thread = w.push(Op::Place(Place::Local, 0), Ty::I64);
        let lanes = w.number(LANES as i64);
        let lane = w.value(thread % lanes);
        let subgroup = w.value(thread / lanes);
        let across = w.number(self.form.subgroups[1] as i64);
        let corner = [Operator::Div, Operator::Rem].map(|operator| w.value(subgroup.with(operator, across)));
        let corner = [0, 1].map(|axis| w.scaled(corner[axis], self.form.own(axis)));
        let group = w.value(lane / 4);
        let place = w.value(lane % 4);
        Stand { thread, lane, group, place, corner }
    }

    /// All sums of a thread, fragment by fragment.
    fn fold(&self, w: &mut KernelWriter<'_, 'g>, tile: &Tile, stand: &Stand) -> Vec<Id> {
        let [down, across] = self.form.fragments;
        let many = (down * across) as usize * Fragment::HELD[2];
        let tys = vec![Ty::F32; many];
        let depth = WORDS * self.fragment.in_word() as u64;
        let starts = [tile.y, tile.x];
        let units = [0, 1].map(|axis| self.factors[axis].units(w, stand.thread, self.form.threads()));
        let words = |w: &mut KernelWriter<'_, 'g>, start: Id| -> Vec<Vec<Id>> {
            let both = self.factors.iter().zip(&units).zip(starts);
            both.flat_map(|((factor, units), tile)| units.iter().map(move |unit| (factor, unit, tile)))
                .map(|(factor, unit, tile)| factor.words(w, unit, tile, start))
                .collect()
        };
        let put = |w: &mut KernelWriter<'_, 'g>, slab: Id, words: Vec<Vec<Id>>| {
            let mut words = words.into_iter();
            for (axis, (factor, units)) in self.factors.iter().zip(&units).enumerate() {
                let start = w.scaled(slab, self.form.side(axis) * WORDS);
                units.iter().zip(words.by_ref()).for_each(|(unit, words)| factor.put(w, unit, start, words));
            }
        };
        let zero = w.number(0);
        let first = words(w, zero);
        put(w, zero, first);
        w.barrier();
        let end = w.extent(self.product.extent);
        let nothing = w.constant(Scalar::from_f64(Ty::F32, 0.0));
        w.for_each(zero, end, depth as i64, (vec![nothing; many], &tys), |w, start, sums| {
            let deep = w.number(depth as i64);
            let number = w.value(start / deep);
            let slab = w.value(number % 2);
            let next = w.value(start + deep);
            let words = words(w, next);
            let sums = self.multiply(w, stand, slab, sums);
            let one = w.number(1);
            let other = w.value(one - slab);
            put(w, other, words);
            w.barrier();
            sums
        })
    }

    /// Multiplies a slab, and adds it to the sums.
    fn multiply(&self, w: &mut KernelWriter<'_, 'g>, stand: &Stand, slab: Id, sums: &[Id]) -> Vec<Id> {
        let starts = [0, 1].map(|axis| w.scaled(slab, self.form.side(axis) * WORDS));
        let load = |w: &mut KernelWriter<'_, 'g>, axis: usize, at: (u64, u64), below: [bool; 2]| {
            self.factors[axis].load(w, stand, [starts[axis], stand.corner[axis]], at, below)
        };
        let [down, across] = self.form.fragments;
        let right: Vec<Vec<Id>> = (0..across).map(|n| load(w, 1, (n * FRAGMENT[1], 0), [false, false])).collect();
        let mut sums: Vec<Vec<Id>> = sums.chunks(Fragment::HELD[2]).map(<[Id]>::to_vec).collect();
        for m in 0..down {
            for half in [0, 1] {
                let left = load(w, 0, (m * FRAGMENT[0], half * WORDS / 2), [true, false]);
                for (n, right) in right.iter().enumerate() {
                    let sum = &mut sums[m as usize * across as usize + n];
                    let args = [&left[..], &right[2 * half as usize..][..2], sum].concat();
                    *sum = w.bind(Op::Mma(self.fragment, args), &[Ty::F32; Fragment::HELD[2]]);
                }
            }
        }
        sums.concat()
    }

    /// What becomes of the sums. Some rows at a time go through the memory of the columns' slabs, so that a thread has neighbours.
    fn finish(&self, w: &mut KernelWriter<'_, 'g>, tile: &Tile, stand: &Stand, sums: &[Id]) {
        let product = self.product;
        let [.., column] = &product.body.params[..] else { unreachable!("a product has columns") };
        let stmts = product.before_results().into_iter().chain(product.after).collect();
        let line = Line::new(w, stmts, column.id);
        let whole = line.is_whole(w, self.grid.x.extent, &self.homes, NEIGHBOURS);
        let of_rows = self.form.fragments[1] as usize * Fragment::HELD[2];
        for (m, sums) in sums.chunks(of_rows).enumerate() {
            if m > 0 {
                w.barrier();
            }
            self.lay_out(w, stand, sums);
            w.barrier();
            let units = self.form.strip() * self.form.side(1) / NEIGHBOURS;
            let zero = w.number(0);
            let end = w.number((units / self.form.threads()) as i64);
            w.for_each(zero, end, 1, (vec![], &[]), |w, turn, _| {
                let skipped = w.scaled(turn, self.form.threads());
                let number = w.value(stand.thread + skipped);
                self.finish_some(w, tile, (m as u64, number), &line, whole);
                vec![]
            });
        }
    }

    /// Leaves the sums of some rows of the subgroup in shared memory.
    fn lay_out(&self, w: &mut KernelWriter<'_, 'g>, stand: &Stand, sums: &[Id]) {
        let [down, across] = stand.corner;
        let own = w.number(self.form.own(0) as i64);
        let subgroup = w.value(down / own);
        let above = w.scaled(subgroup, FRAGMENT[0]);
        let pair = w.scaled(stand.place, 2);
        for (n, sums) in sums.chunks(Fragment::HELD[2]).enumerate() {
            let column = w.offset(across, (n as u64 * FRAGMENT[1]) as i64);
            let column = w.value(column + pair);
            for (k, sums) in sums.chunks(2).enumerate() {
                let row = w.value(above + stand.group);
                let row = w.offset(row, (k as u64 * FRAGMENT[0] / 2) as i64);
                let at = self.place(w, row, column);
                let values = sums.iter().map(|&sum| w.push(Op::Bitcast(Ty::U32, sum), Ty::U32)).collect();
                w.act(Op::Store { memory: self.factors[1].memory, index: vec![at], values });
            }
        }
    }

    /// Where the sum of a row and a column is: rows that are written at once are in different banks.
    fn place(&self, w: &mut KernelWriter<'_, 'g>, row: Id, column: Id) -> Id {
        let start = w.scaled(row, self.form.side(1));
        let row = w.value(row % 4);
        let turned = w.scaled(row, FRAGMENT[1]);
        let column = w.value(column.with(Operator::Xor, turned));
        w.value(start + column)
    }

    /// Neighbours of a row.
    fn finish_some(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        tile: &Tile,
        (m, number): (u64, Id),
        line: &Line<'g>,
        whole: Option<Id>,
    ) {
        let across = w.number((self.form.side(1) / NEIGHBOURS) as i64);
        let row = w.value(number / across);
        let column = w.value(number % across);
        let column = w.scaled(column, NEIGHBOURS);
        let at = self.place(w, row, column);
        let load = Op::Load { memory: self.factors[1].memory, index: vec![at] };
        let words = w.bind(load, &[Ty::U32; NEIGHBOURS as usize]);
        let sums: Vec<Id> = words.into_iter().map(|word| w.push(Op::Bitcast(Ty::F32, word), Ty::F32)).collect();

        let of_fragment = w.number(FRAGMENT[0] as i64);
        let subgroup = w.value(row / of_fragment);
        let above = w.scaled(subgroup, self.form.own(0));
        let inside = w.value(row % of_fragment);
        let row = w.value((tile.y + above) + inside);
        let row = w.offset(row, (m * FRAGMENT[0]) as i64);
        let column = w.value(tile.x + column);
        let is_row = self.grid.y.is_inside(w, row);
        w.when_all([is_row, None], |w| match whole {
            None => self.results_one_by_one(w, tile, [row, column], line, &sums),
            Some(whole) => {
                let together = w.nested(&[], |w, _| {
                    let is_column = self.grid.x.is_inside(w, column);
                    w.when_all([is_column, None], |w| self.results_together(w, tile, [row, column], line, &sums));
                    vec![]
                });
                let apart = w.nested(&[], |w, _| {
                    self.results_one_by_one(w, tile, [row, column], line, &sums);
                    vec![]
                });
                w.act(Op::If { cond: whole, args: vec![], then: together, otherwise: apart });
            }
        });
    }

    fn results_together(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        tile: &Tile,
        [row, column]: [Id; 2],
        line: &Line<'g>,
        sums: &[Id],
    ) {
        self.set_row(w, row);
        let sum = self.product.fold.binds[0].id;
        let results = &self.product.body.results;
        let values = line.neighbours(w, (column, NEIGHBOURS), results, |w, k| w.set_scalar(sum, sums[k]));
        for (k, &memory) in self.homes.iter().enumerate() {
            let index = [&tile.others[..], &[row, column]].concat();
            let values = values.iter().map(|values| values[k]).collect();
            w.act(Op::Store { memory, index, values });
        }
    }

    fn results_one_by_one(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        tile: &Tile,
        [row, column]: [Id; 2],
        line: &Line<'g>,
        sums: &[Id],
    ) {
        let sum_id = self.product.fold.binds[0].id;
        for (k, &sum) in sums.iter().enumerate() {
            let column = w.offset(column, k as i64);
            let is_column = self.grid.x.is_inside(w, column);
            w.when_all([is_column, None], |w| {
                self.set_row(w, row);
                w.set_scalar(line.position, column);
                w.set_scalar(sum_id, sum);
                w.lane_stmts(line.stmts.iter().copied());
                let values = w.all_scalars(&self.product.body.results);
                for (&memory, value) in self.homes.iter().zip(values) {
                    w.store(memory, [&tile.others[..], &[row, column]].concat(), value);
                }
            });
        }
    }

    fn set_row(&self, w: &mut KernelWriter<'_, 'g>, row: Id) {
        if let [.., param, _] = &self.product.body.params[..] {
            w.set_scalar(param.id, row);
        }
    }
}
