//! Sorts. In a short line every element counts those before it. One that fits a tile is sorted by a block, in shared memory. Longer ones are sorted by digits of 8 bits, the least
//! significant first, and cut into tiles:
//!
//! ```text
//! launch order_sort_counts    how many elements of each tile have each digit?
//! launch order_sort_sums      how many of 256 tiles?
//! launch order_sort_starts    how many elements of the line have a smaller digit, or stand in tiles before those?
//! launch order_sort_places    the same for each tile: where its elements go
//! launch order_sort           each tile puts its elements in order, so that neighbours are written by neighbours
//! ```
//!
//! A pass reads words twice and all columns once, and writes all columns once. Nothing depends on the order of blocks or threads, and
//! no block waits for another. Where blocks may wait, a pass over one line reads words once (`sweep`). Machines with too few threads or too
//! little shared memory sort each line by one thread.

mod sweep;
mod tile;

use super::maps::{Neighbours, is_line};
use super::plan::{Gpu, Items};
use super::tally::NEAR_BYTES;
use super::threads::{ceil_div, each_position};
use crate::code::{AtomicOp, Id, MemId, Op, Stmt};
use crate::kernel::{Access, BufferId, BufferUse, Kernel, Loop, ScalarArg, Space, Step, Turns};
use crate::lower::planning::unflatten;
use crate::lower::sorting::{Columns, Digit, Sort, digits};
use crate::lower::writer::{KernelWriter, Mode};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic, Write as _};
use sweep::{Board, Sweep};
use tile::{Form, Order, ROUND_BITS, Tile};

/// The most bits of a digit, and its values.
const DIGIT_BITS: u32 = 8;
const VALUES: u64 = 1 << DIGIT_BITS;
/// The longest line whose elements are compared each with each.
const FEW: u64 = 32;
/// Tiles whose counts are added up by one block.
const GROUP: u64 = 256;
/// Counts that a thread reads at once.
const AT_ONCE: i64 = 8;
/// Words that it reads at once.
const WIDTH: u64 = 4;

impl<'g> Gpu<'g> {
    pub(super) fn sort(&mut self, stmt: &'g Stmt) {
        let sort = Sort::of(&stmt.op);
        let outputs: Vec<BufferId> = self.base.outputs(stmt).into_iter().map(|(buffer, _)| buffer).collect();
        let place = if self.machine.max_positions > 1 << 32 { Ty::I64 } else { Ty::U32 };
        let Some(form) = Form::of(&self.machine, VALUES * (4 + place.bytes() as u64) + NEAR_BYTES) else {
            return self.sort_lines(stmt, &sort, &outputs);
        };
        let long = |gpu: &mut Self| gpu.sort_passes(stmt, sort, form, place, &outputs);
        let alone = form.alone(&self.machine);
        let some = |gpu: &mut Self| gpu.sort_tiles(stmt, &sort, alone, &outputs);
        let extent = sort.extent();
        // The first and the last way are right for all lines, so there need not be others where their length is known, about.
        if self.expected.about(extent).is_some_and(|n| n <= FEW) {
            return self.sort_by_ranks(stmt, &sort, &outputs);
        }
        if self.expected.at_least(extent).is_some_and(|n| n > form.elements()) {
            return long(self);
        }
        let more = |gpu: &mut Self| gpu.choose(extent, form.elements(), some, long);
        self.choose(extent, FEW, |gpu| gpu.sort_by_ranks(stmt, &sort, &outputs), more);
    }

    /// The first way for lines of at most so many elements, the second for others.
    fn choose(&mut self, extent: &Size, most: u64, short: impl FnOnce(&mut Self), long: impl FnOnce(&mut Self)) {
        match extent.constant() {
            Some(known) if known <= most => return short(self),
            Some(_) => return long(self),
            None => {}
        }
        let before = std::mem::take(&mut self.base.plan.steps);
        short(self);
        let small = std::mem::take(&mut self.base.plan.steps);
        long(self);
        let large = std::mem::replace(&mut self.base.plan.steps, before);
        self.base.plan.steps.push(Step::Choose { work: extent.clone(), most, small, large });
    }

    /// A thread for each element, which counts those before it.
    fn sort_by_ranks(&mut self, stmt: &'g Stmt, sort: &Sort<'g>, outputs: &[BufferId]) {
        let name = self.base.kernel_name("sort_ranks");
        let mut w = KernelWriter::new(&self.base, name, Size::Const(1));
        let shape = || sort.shape.to_vec();
        let homes: Vec<MemId> = outputs.iter().map(|&b| w.global(b, Access::Write, shape())).collect();
        w.bind_globals(&stmt.op);
        each_position(&mut w, &self.machine, sort.shape, &mut |w, at| {
            let (&i, line) = at.split_last().expect("a sort has an axis");
            let (values, place) = w.ranked(sort, line, i);
            let to = [line, &[place]].concat();
            homes.iter().zip(values).for_each(|(&home, value)| w.store(home, to.clone(), value));
        });
        let kernel = w.finish();
        self.base.launch(kernel);
    }

    /// A block for each line.
    fn sort_lines(&mut self, stmt: &'g Stmt, sort: &Sort<'g>, outputs: &[BufferId]) {
        let outer = &sort.shape[..sort.shape.len() - 1];
        let name = self.base.kernel_name("sort");
        let threads = self.machine.threads();
        self.blocks(&name, &Size::product(outer), threads, &|w, items| {
            w.bind_globals(&stmt.op);
            let homes: Vec<(MemId, Vec<Id>)> =
                outputs.iter().map(|&b| (w.global(b, Access::ReadWrite, sort.shape.to_vec()), vec![])).collect();
            items.each(w, |w, number| {
                let at = if outer.is_empty() { vec![] } else { unflatten(w, number, outer) };
                w.sort_line(sort, &at, &homes);
            });
        });
    }

    /// The same in shared memory.
    fn sort_tiles(&mut self, stmt: &'g Stmt, sort: &Sort<'g>, form: Form, outputs: &[BufferId]) {
        let outer = &sort.shape[..sort.shape.len() - 1];
        let items = Items::new(&Size::product(outer), &self.machine, self.machine.max_blocks[0]);
        let name = self.base.kernel_name("sort_tiles");
        let mut w = KernelWriter::new(&self.base, name, items.blocks.clone());
        let shape = || sort.shape.to_vec();
        let homes: Vec<MemId> = outputs.iter().map(|&b| w.global(b, Access::Write, shape())).collect();
        w.bind_globals(&stmt.op);
        let tile = Tile::new(&mut w, form);
        items.each(&mut w, |w, number| {
            let line = if outer.is_empty() { vec![] } else { unflatten(w, number, outer) };
            sort_tile(w, &tile, sort, &line, &homes);
        });
        let kernel = w.finish();
        self.base.launch(kernel);
    }

    fn sort_passes(&mut self, stmt: &'g Stmt, sort: Sort<'g>, form: Form, place: Ty, outputs: &[BufferId]) {
        let outer = sort.shape[..sort.shape.len() - 1].to_vec();
        let columns = Columns::of(&sort, |id| self.base.type_of(id));
        let digits = digits(sort.widths, DIGIT_BITS);
        let mut buffer = |ty: Ty, shape: &[Size]| self.base.buffer(ty, shape.to_vec(), BufferUse::Temporary);
        let words = columns.tys[columns.values()..].iter();
        let now = outputs.iter().copied().chain(words.map(|&ty| buffer(ty, sort.shape))).collect();
        let next = columns.tys.iter().map(|&ty| buffer(ty, sort.shape)).collect();
        let tiles = ceil_div(sort.extent(), form.elements());
        let groups = ceil_div(&tiles, GROUP);
        let table = |count: &Size| [&outer[..], &[count.clone(), Size::Const(VALUES)]].concat();
        let passes = passes(&columns, &digits);
        let sweep = Sweep::fits(&self.machine, form, &outer, digits.len());
        let sweep = sweep.then(|| Sweep::new(&mut buffer, &tiles, digits.len()));
        let told = match sweep {
            Some(sweep) => Told::Sweep(sweep),
            None => Told::Counts {
                counts: (buffer(place, &table(&tiles)), table(&tiles)),
                sums: (buffer(place, &table(&groups)), table(&groups)),
            },
        };
        let at_once = if self.machine.is_small() { 1 } else { AT_ONCE };
        let bytes = self.machine.vector_bytes;
        let line = outer.is_empty() && sort.body.params.last().is_some_and(|k| is_line(sort.body, k.id));
        let neighbours = line.then(|| Neighbours::new(sort.body, sort.extent().clone(), bytes));
        let sort = Passes {
            stmt,
            sort,
            form,
            place,
            columns,
            now,
            next,
            outer,
            tiles,
            groups,
            told,
            at_once,
            bytes,
            neighbours,
        };
        if let Told::Sweep(sweep) = &sort.told {
            sort.count_all(self, sweep, &digits);
        }
        for pass in &passes {
            let before = std::mem::take(&mut self.base.plan.steps);
            let depth = self.base.depth;
            match &sort.told {
                Told::Sweep(sweep) => sweep.clear_notes(self),
                Told::Counts { counts, sums } => {
                    sort.count(self, counts, pass, depth);
                    sort.add_groups(self, [counts, sums]);
                    sort.start(self, sums);
                    sort.place_tiles(self, [counts, sums]);
                }
            }
            sort.send(self, pass, depth);
            let steps = std::mem::replace(&mut self.base.plan.steps, before);
            if pass.is_first {
                self.base.plan.steps.extend(steps);
                continue;
            }
            let name = self.base.kernel_name("sort_turns");
            let turns = Turns::Size(Size::Const(pass.turns.into()));
            let swaps = pass.moved.iter().map(|&column| (sort.now[column], sort.next[column])).collect();
            self.base.plan.steps.push(Step::Loop(Loop { name, turns, steps, swaps }));
        }
    }
}

/// Passes that are made by the same kernels: they look at neighbouring digits of a word, and move the same columns.
struct Pass {
    /// It computes the elements.
    is_first: bool,
    /// The lowest digit, and which of all it is.
    digit: Digit,
    number: usize,
    turns: u32,
    moved: Vec<usize>,
}

fn passes(columns: &Columns, digits: &[Digit]) -> Vec<Pass> {
    let mut passes: Vec<Pass> = vec![];
    for (number, &digit) in digits.iter().enumerate() {
        let later = &digits[number + 1..];
        let moved: Vec<usize> = (0..columns.count()).filter(|&column| columns.is_wanted(column, later)).collect();
        match passes.last_mut() {
            Some(pass) if !pass.is_first && pass.digit.word == digit.word && pass.moved == moved => pass.turns += 1,
            _ => passes.push(Pass { is_first: number == 0, digit, number, turns: 1, moved }),
        }
    }
    passes
}

/// Sorts a line that fits a tile.
fn sort_tile<'g>(w: &mut KernelWriter<'_, 'g>, tile: &Tile, sort: &Sort<'g>, line: &[Id], homes: &[MemId]) {
    let end = w.extent(sort.extent());
    let each = tile.form.each as usize;
    let results = |w: &mut KernelWriter<'_, 'g>, i: Id| w.run(sort.body, &[line, &[i]].concat(), Mode::Lane);
    let places = tile.places(w, Order::Neighbours);
    let mut from: Vec<Id> = places.iter().map(|&place| w.push(Op::Cast(Ty::U32, place), Ty::U32)).collect();
    for (number, &width) in sort.widths.iter().enumerate().rev() {
        let word = |&i: &Id| {
            let i = position(w, i, tile);
            let inside = w.value(i.below(end));
            w.branch(inside, &[Ty::U32], |w| vec![results(w, i)[number]], |w| vec![behind_all(w)])[0]
        };
        let words: Vec<Id> = from.iter().map(word).collect();
        let zero = w.number(0);
        let stop = w.number(width.into());
        let state = [&words[..], &from].concat();
        let state = w.for_each(zero, stop, ROUND_BITS.into(), (state, &vec![Ty::U32; 2 * each]), |w, shift, state| {
            let (words, from) = state.split_at(each);
            let shift = w.push(Op::Cast(Ty::U32, shift), Ty::U32);
            let bits: Vec<Id> = words
                .iter()
                .map(|&word| {
                    let word = w.low_bits(word, width);
                    let shifted = w.apply(Operator::Shr, &[word, shift], Ty::U32);
                    w.low_bits(shifted, ROUND_BITS)
                })
                .collect();
            let places = tile.places_by(w, &bits);
            let words = tile.exchange(w, &places, words, Order::Neighbours);
            let from = tile.exchange(w, &places, from, Order::Neighbours);
            [words, from].concat()
        });
        from = state[each..].to_vec();
    }
    let from = tile.exchange(w, &places, &from, Order::Apart);
    for (place, from) in tile.places(w, Order::Apart).into_iter().zip(from) {
        let inside = w.value(place.below(end));
        w.when(inside, |w| {
            let i = position(w, from, tile);
            let values = results(w, i);
            let at = [line, &[place]].concat();
            homes.iter().zip(&values[sort.widths.len()..]).for_each(|(&home, &value)| w.store(home, at.clone(), value));
        });
    }
}

/// A place of a tile that was kept as a word.
fn position(w: &mut KernelWriter, place: Id, tile: &Tile) -> Id {
    let low = w.low_bits(place, tile.form.elements().ilog2());
    w.push(Op::Cast(Ty::I64, low), Ty::I64)
}

/// A word that comes behind all words.
fn behind_all(w: &mut KernelWriter) -> Id {
    w.constant(Scalar::from_int(Ty::U32, u32::MAX.into()))
}

/// A table of counts by digits.
type Table = (BufferId, Vec<Size>);
/// A kernel, and what a launch passes to it.
type Written = (Kernel, Vec<BufferId>, Vec<ScalarArg>);

/// How a tile knows where its elements go.
enum Told {
    /// From tables of counts, of the tiles and of groups of them, which other launches make.
    Counts { counts: Table, sums: Table },
    /// From the tiles before it.
    Sweep(Sweep),
}

/// A sort of long lines.
struct Passes<'g> {
    stmt: &'g Stmt,
    sort: Sort<'g>,
    form: Form,
    /// The type that numbers of elements are kept in.
    place: Ty,
    columns: Columns,
    /// The columns, and where a pass moves them; the two change places.
    now: Vec<BufferId>,
    next: Vec<BufferId>,
    outer: Vec<Size>,
    tiles: Size,
    groups: Size,
    told: Told,
    /// Counts that a thread reads at once.
    at_once: i64,
    /// The most bytes of an access.
    bytes: u32,
    /// The elements, where several of them are one access.
    neighbours: Option<Neighbours<'g>>,
}

impl<'g> Passes<'g> {
    fn bind(&self, w: &mut KernelWriter<'_, 'g>, table: &Table, access: Access) -> MemId {
        w.global(table.0, access, table.1.clone())
    }

    /// Binds columns that a pass reads; the first one computes them.
    fn source(&self, w: &mut KernelWriter<'_, 'g>, pass: &Pass, columns: &[usize]) -> Vec<MemId> {
        if pass.is_first {
            w.bind_globals(&self.stmt.op);
            return vec![];
        }
        columns.iter().map(|&column| w.global(self.now[column], Access::Read, self.sort.shape.to_vec())).collect()
    }

    /// Some columns of an element.
    fn element(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        pass: &Pass,
        from: &[MemId],
        columns: &[usize],
        at: &[Id],
    ) -> Vec<Id> {
        if pass.is_first {
            let results = w.run(self.sort.body, at, Mode::Lane);
            let all = self.columns.pick(&results);
            return columns.iter().map(|&column| all[column]).collect();
        }
        let load = |(&memory, &column): (&MemId, &usize)| {
            w.push(Op::Load { memory, index: at.to_vec() }, self.columns.tys[column])
        };
        from.iter().zip(columns).map(load).collect()
    }

    /// The first bit of the digit that a pass looks at.
    fn shift(&self, w: &mut KernelWriter<'_, 'g>, pass: &Pass, depth: u32) -> Id {
        let first = w.constant(Scalar::from_int(Ty::U32, pass.digit.shift.into()));
        if pass.turns == 1 {
            return first;
        }
        let turn = self.turn(w, depth);
        let turn = w.push(Op::Cast(Ty::U32, turn), Ty::U32);
        let bits = w.constant(Scalar::from_int(Ty::U32, pass.digit.bits.into()));
        let skipped = w.apply(Operator::Mul, &[turn, bits], Ty::U32);
        w.apply(Operator::Add, &[first, skipped], Ty::U32)
    }

    /// Which turn of a pass it is.
    fn turn(&self, w: &mut KernelWriter<'_, 'g>, depth: u32) -> Id {
        w.parameter(ScalarArg::Turn(depth), Ty::I64)
    }

    /// The bits of a word that count.
    fn counting(&self, w: &mut KernelWriter<'_, 'g>, digit: Digit, word: Id) -> Id {
        w.low_bits(word, self.sort.widths[digit.word])
    }

    fn digit(&self, w: &mut KernelWriter<'_, 'g>, digit: Digit, shift: Id, word: Id) -> Id {
        let word = self.counting(w, digit, word);
        w.digit(word, shift, digit.bits)
    }

    /// The line and the number of a tile or a group of a line.
    fn part(&self, w: &mut KernelWriter<'_, 'g>, item: Id, count: &Size) -> (Vec<Id>, Id) {
        let mut at = unflatten(w, item, &[&self.outer[..], std::slice::from_ref(count)].concat());
        let part = at.pop().expect("a part");
        (at, part)
    }

    /// A kernel with blocks for all parts of all lines.
    fn begin<'l>(&self, gpu: &'l mut Gpu<'g>, what: &str, count: &Size) -> (KernelWriter<'l, 'g>, Items) {
        let most = gpu.machine.max_blocks[0];
        self.begin_with(gpu, what, count, most)
    }

    /// The same with no more blocks than that.
    fn begin_with<'l>(
        &self,
        gpu: &'l mut Gpu<'g>,
        what: &str,
        count: &Size,
        most: u64,
    ) -> (KernelWriter<'l, 'g>, Items) {
        let name = gpu.base.kernel_name(what);
        let all = Size::product(&self.outer) * count.clone();
        let items = Items::new(&all, &gpu.machine, most);
        let mut w = KernelWriter::new(&gpu.base, name, items.blocks.clone());
        w.kernel.block = [self.form.threads as u32, 1, 1];
        (w, items)
    }

    /// Every value of a digit, by the threads of a block.
    fn each_value(&self, w: &mut KernelWriter<'_, 'g>, thread: Id, write: impl FnOnce(&mut KernelWriter<'_, 'g>, Id)) {
        if self.form.threads == VALUES {
            return write(w, thread);
        }
        let end = w.number(VALUES as i64);
        w.for_each(thread, end, self.form.threads as i64, (vec![], &[]), |w, value, _| {
            write(w, value);
            vec![]
        });
    }

    fn thread(&self, w: &mut KernelWriter<'_, 'g>) -> Id {
        w.push(Op::Place(crate::code::Place::Local, 0), Ty::I64)
    }

    /// How many elements of each tile have each digit.
    fn count(&self, gpu: &mut Gpu<'g>, table: &Table, pass: &Pass, depth: u32) {
        let word = [self.columns.of_word(pass.digit.word)];
        let (mut w, items) = self.begin(gpu, "sort_counts", &self.tiles);
        let counts = self.bind(&mut w, table, Access::Write);
        let from = self.source(&mut w, pass, &word);
        let shift = self.shift(&mut w, pass, depth);
        let own = w.near_memory("own", Ty::U32, Space::Shared, &[VALUES]);
        let one = |w: &mut KernelWriter<'_, 'g>, words: &[Id]| {
            let at = self.digit(w, pass.digit, shift, words[0]);
            self.one_more(w, own, at);
        };
        items.each(&mut w, |w, item| {
            let (line, tile) = self.part(w, item, &self.tiles);
            let thread = self.thread(w);
            let none = w.constant(Scalar::from_int(Ty::U32, 0));
            self.each_value(w, thread, |w, value| w.store(own, vec![value], none));
            w.barrier();
            self.each_element(w, pass, (&from, &word), (&line, tile), &one);
            w.barrier();
            self.each_value(w, thread, |w, value| {
                let count =
                    w.push(Op::Atomic { op: AtomicOp::Load, memory: own, index: vec![value], args: vec![] }, Ty::U32);
                let count = self.as_place(w, count);
                w.store(counts, [&line[..], &[tile, value]].concat(), count);
            });
            if items.loops {
                w.barrier();
            }
        });
        let kernel = w.finish();
        self.launch(gpu, kernel);
    }

    /// Counts one in shared memory.
    fn one_more(&self, w: &mut KernelWriter<'_, 'g>, counts: MemId, at: Id) {
        let one = w.constant(Scalar::from_int(Ty::U32, 1));
        let op = AtomicOp::Update(Operator::Add);
        w.push(Op::Atomic { op, memory: counts, index: vec![at], args: vec![one] }, Ty::U32);
    }

    /// Some columns of every element of a tile, by the threads of a block.
    fn each_element(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        pass: &Pass,
        (from, columns): (&[MemId], &[usize]),
        (line, tile): (&[Id], Id),
        look: &dyn Fn(&mut KernelWriter<'_, 'g>, &[Id]),
    ) {
        let thread = self.thread(w);
        let end = w.extent(self.sort.extent());
        let start = w.scaled(tile, self.form.elements());
        let neighbours = self.neighbours.as_ref().filter(|_| pass.is_first);
        let pick = |results: &[Id]| -> Vec<Id> {
            let all = self.columns.pick(results);
            columns.iter().map(|&column| all[column]).collect()
        };
        let one_by_one = |w: &mut KernelWriter<'_, 'g>| {
            let start = w.value(start + thread);
            for k in 0..self.form.each {
                let i = w.offset(start, (k * self.form.threads) as i64);
                let inside = w.value(i.below(end));
                w.when(inside, |w| {
                    let element = match neighbours {
                        Some(neighbours) => pick(&neighbours.run(w, i, 1)[0]),
                        None => self.element(w, pass, from, columns, &[line, &[i]].concat()),
                    };
                    look(w, &element);
                });
            }
        };
        let wide = self.outer.is_empty() && self.bytes > 4 && (!pass.is_first || neighbours.is_some());
        if !wide {
            return one_by_one(w);
        }
        let stop = w.offset(start, self.form.elements() as i64);
        let whole = w.value(end.not_below(stop));
        w.when(whole, |w| {
            let skipped = w.scaled(thread, WIDTH);
            let start = w.value(start + skipped);
            for k in 0..self.form.each / WIDTH {
                let first = w.offset(start, (k * WIDTH * self.form.threads) as i64);
                let elements: Vec<Vec<Id>> = match neighbours {
                    Some(neighbours) => neighbours.run(w, first, WIDTH).iter().map(|results| pick(results)).collect(),
                    None => {
                        let load = |&memory: &MemId| w.load_neighbours(memory, vec![first], WIDTH, self.bytes);
                        let loaded: Vec<Vec<Id>> = from.iter().map(load).collect();
                        (0..WIDTH as usize).map(|n| loaded.iter().map(|column| column[n]).collect()).collect()
                    }
                };
                elements.iter().for_each(|element| look(w, element));
            }
        });
        w.unless(whole, one_by_one);
    }

    /// Adds a launch of a kernel that does not move elements: what only moves is not computed.
    fn launch(&self, gpu: &mut Gpu<'g>, (mut kernel, buffers, scalars): Written) {
        kernel.body = crate::pass::dce::root(kernel.body);
        gpu.base.launch((kernel, buffers, scalars));
    }

    fn as_place(&self, w: &mut KernelWriter<'_, 'g>, word: Id) -> Id {
        if self.place == Ty::U32 { word } else { w.push(Op::Cast(self.place, word), self.place) }
    }

    /// `lo..hi` of the tiles of a group.
    fn group(&self, w: &mut KernelWriter<'_, 'g>, group: Id) -> [Id; 2] {
        let (lo, hi) = crate::lower::planning::piece(w, group, GROUP, &self.tiles);
        [lo, hi]
    }

    /// How many elements of each group of tiles have each digit.
    fn add_groups(&self, gpu: &mut Gpu<'g>, [counts, sums]: [&Table; 2]) {
        let (mut w, items) = self.begin(gpu, "sort_sums", &self.groups);
        let sums = self.bind(&mut w, sums, Access::Write);
        let counts = self.bind(&mut w, counts, Access::Read);
        items.each(&mut w, |w, item| {
            let (line, group) = self.part(w, item, &self.groups);
            let thread = self.thread(w);
            let [lo, hi] = self.group(w, group);
            let none = w.constant(Scalar::from_int(self.place, 0));
            self.each_value(w, thread, |w, value| {
                let sum = w.for_each(lo, hi, 1, (vec![none], &[self.place]), |w, tile, sum| {
                    let index = [&line[..], &[tile, value]].concat();
                    let own = w.push(Op::Load { memory: counts, index }, self.place);
                    vec![w.apply(Operator::Add, &[sum[0], own], self.place)]
                });
                w.store(sums, [&line[..], &[group, value]].concat(), sum[0]);
            });
        });
        let kernel = w.finish();
        gpu.base.launch(kernel);
    }

    /// Where the elements of each group of tiles with each digit go.
    fn start(&self, gpu: &mut Gpu<'g>, sums: &Table) {
        let (mut w, items) = self.begin(gpu, "sort_starts", &Size::Const(1));
        let sums = self.bind(&mut w, sums, Access::ReadWrite);
        let all = w.near_memory("all", self.place, Space::Shared, &[VALUES]);
        items.each(&mut w, |w, item| {
            let line = if self.outer.is_empty() { vec![] } else { unflatten(w, item, &self.outer) };
            let thread = self.thread(w);
            let none = w.constant(Scalar::from_int(self.place, 0));
            let zero = w.number(0);
            let groups = w.extent(&self.groups);
            let add = |w: &mut KernelWriter<'_, 'g>, a: Id, b: Id| w.apply(Operator::Add, &[a, b], self.place);
            self.each_value(w, thread, |w, value| {
                let sum = w.for_each(zero, groups, 1, (vec![none], &[self.place]), |w, group, sum| {
                    let index = [&line[..], &[group, value]].concat();
                    let own = w.push(Op::Load { memory: sums, index }, self.place);
                    vec![add(w, sum[0], own)]
                });
                w.store(all, vec![value], sum[0]);
            });
            w.barrier();
            self.each_value(w, thread, |w, value| {
                let before = w.for_each(zero, value, 1, (vec![none], &[self.place]), |w, other, sum| {
                    let own = w.push(Op::Load { memory: all, index: vec![other] }, self.place);
                    vec![add(w, sum[0], own)]
                });
                let index = |group: Id| [&line[..], &[group, value]].concat();
                self.run_up(w, sums, &index, [zero, groups], before[0]);
            });
            if items.loops {
                w.barrier();
            }
        });
        let kernel = w.finish();
        gpu.base.launch(kernel);
    }

    /// Replaces counts by what is before them. Several are read before any is written, since each read takes long.
    fn run_up(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        memory: MemId,
        index: &dyn Fn(Id) -> Vec<Id>,
        [lo, hi]: [Id; 2],
        start: Id,
    ) {
        let none = w.constant(Scalar::from_int(self.place, 0));
        w.for_each(lo, hi, self.at_once, (vec![start], &[self.place]), |w, first, sum| {
            let mut read = vec![];
            for number in 0..self.at_once {
                let place = w.value(first + number);
                let inside = w.value(place.below(hi));
                let load = Op::Load { memory, index: index(place) };
                let own = w.branch(inside, &[self.place], |w| vec![w.push(load, self.place)], |_| vec![none])[0];
                read.push((place, inside, own));
            }
            let mut sum = sum[0];
            for (place, inside, own) in read {
                w.when(inside, |w| w.store(memory, index(place), sum));
                sum = w.apply(Operator::Add, &[sum, own], self.place);
            }
            vec![sum]
        });
    }

    /// Where the elements of each tile with each digit go.
    fn place_tiles(&self, gpu: &mut Gpu<'g>, [counts, sums]: [&Table; 2]) {
        let (mut w, items) = self.begin(gpu, "sort_places", &self.groups);
        let counts = self.bind(&mut w, counts, Access::ReadWrite);
        let sums = self.bind(&mut w, sums, Access::Read);
        items.each(&mut w, |w, item| {
            let (line, group) = self.part(w, item, &self.groups);
            let thread = self.thread(w);
            let [lo, hi] = self.group(w, group);
            self.each_value(w, thread, |w, value| {
                let index = [&line[..], &[group, value]].concat();
                let start = w.push(Op::Load { memory: sums, index }, self.place);
                let index = |tile: Id| [&line[..], &[tile, value]].concat();
                self.run_up(w, counts, &index, [lo, hi], start);
            });
        });
        let kernel = w.finish();
        gpu.base.launch(kernel);
    }

    /// Each tile moves its elements.
    fn send(&self, gpu: &mut Gpu<'g>, pass: &Pass, depth: u32) {
        let word = [self.columns.of_word(pass.digit.word)];
        let others: Vec<usize> = pass.moved.iter().copied().filter(|&column| column != word[0]).collect();
        let (mut w, items) = self.begin(gpu, "sort", &self.tiles);
        let goal = if pass.is_first { &self.now } else { &self.next };
        let shape = || self.sort.shape.to_vec();
        let to = |column: usize, w: &mut KernelWriter<'_, 'g>| w.global(goal[column], Access::Write, shape());
        let home = pass.moved.contains(&word[0]).then(|| to(word[0], &mut w));
        let homes: Vec<MemId> = others.iter().map(|&column| to(column, &mut w)).collect();
        let told: Vec<MemId> = match &self.told {
            Told::Counts { counts, .. } => vec![self.bind(&mut w, counts, Access::Read)],
            Told::Sweep(sweep) => sweep.bind(&mut w).to_vec(),
        };
        let words = self.source(&mut w, pass, &word);
        let from = self.source(&mut w, pass, &others);
        let shift = self.shift(&mut w, pass, depth);
        let starts = match (&self.told, &told[..]) {
            (Told::Sweep(sweep), &[starts, notes]) => {
                Starts::Board(Board::new(&mut w, (self, sweep), pass, depth, [starts, notes]))
            }
            _ => Starts::Counts(told[0]),
        };
        let tile = Tile::new(&mut w, self.form);
        let first = w.near_memory("first", Ty::U32, Space::Shared, &[VALUES]);
        let offsets = w.near_memory("offsets", self.place, Space::Shared, &[VALUES]);
        let send = Send {
            passes: self,
            pass,
            shift,
            word,
            others: &others,
            home,
            homes,
            starts,
            words,
            from,
            tile,
            first,
            offsets,
        };
        items.each(&mut w, |w, item| {
            let item = match &send.starts {
                Starts::Counts(_) => item,
                Starts::Board(board) => board.take(w),
            };
            let (line, part) = self.part(w, item, &self.tiles);
            send.write(w, &line, part);
        });
        let kernel = w.finish();
        gpu.base.launch(kernel);
    }
}

/// What a kernel has of how tiles know where their elements go.
enum Starts {
    /// The counts, which are now what comes before.
    Counts(MemId),
    Board(Board),
}

/// How a tile is moved.
struct Send<'a, 'g> {
    passes: &'a Passes<'g>,
    pass: &'a Pass,
    /// The first bit of the digit.
    shift: Id,
    /// The column that the pass looks at, and the others that it moves.
    word: [usize; 1],
    others: &'a [usize],
    /// Where the former goes, if anybody wants it, and the latter.
    home: Option<MemId>,
    homes: Vec<MemId>,
    starts: Starts,
    words: Vec<MemId>,
    from: Vec<MemId>,
    tile: Tile,
    /// The first place in the tile of each digit, and how much farther its elements go.
    first: MemId,
    offsets: MemId,
}

impl<'g> Send<'_, 'g> {
    fn write(&self, w: &mut KernelWriter<'_, 'g>, line: &[Id], part: Id) {
        let Send { passes, pass, shift, tile, .. } = self;
        let start = w.scaled(part, tile.form.elements());
        let end = w.extent(passes.sort.extent());
        let own = tile.places(w, Order::Apart);
        let by_lanes = tile.form.by_lanes;
        let read = if by_lanes { tile.places(w, Order::Subgroups) } else { own.clone() };
        let none = w.constant(Scalar::from_int(Ty::U32, 0));
        w.barrier();
        if !by_lanes {
            passes.each_value(w, tile.thread, |w, value| w.store(self.first, vec![value], none));
        }
        let word = |&place: &Id| {
            let i = w.value(start + place);
            let inside = w.value(i.below(end));
            let word =
                |w: &mut KernelWriter<'_, 'g>| passes.element(w, pass, &self.words, &self.word, &[line, &[i]].concat());
            w.branch(inside, &[Ty::U32], word, |w| vec![behind_all(w)])[0]
        };
        let words: Vec<Id> = read.iter().map(word).collect();
        let (words, from) = match by_lanes {
            true => self.in_order_by_lanes(w, part, &read, &words),
            false => {
                let words = tile.exchange(w, &own, &words, Order::Neighbours);
                self.in_order(w, words)
            }
        };
        for (&place, &word) in own.iter().zip(&words).filter(|_| !by_lanes) {
            let digit = passes.digit(w, pass.digit, *shift, word);
            let before = tile.before(w, place);
            let before = passes.digit(w, pass.digit, *shift, before);
            let differs = w.push(Op::Apply(Operator::Ne, vec![digit, before]), Ty::Bool);
            w.when(differs, |w| {
                let place = w.push(Op::Cast(Ty::U32, place), Ty::U32);
                w.store(self.first, vec![digit], place);
            });
        }
        w.barrier();
        passes.each_value(w, tile.thread, |w, value| {
            let place = match &self.starts {
                Starts::Counts(memory) => {
                    let index = [line, &[part, value]].concat();
                    w.push(Op::Load { memory: *memory, index }, passes.place)
                }
                Starts::Board(board) => {
                    let place = board.start(w, part, value, self.first);
                    w.push(Op::Cast(passes.place, place), passes.place)
                }
            };
            let first = w.push(Op::Load { memory: self.first, index: vec![value] }, Ty::U32);
            let first = passes.as_place(w, first);
            let offset = w.apply(Operator::Sub, &[place, first], passes.place);
            w.store(self.offsets, vec![value], offset);
        });
        w.barrier();
        for (k, (&place, &word)) in own.iter().zip(&words).enumerate() {
            let i = w.value(start + place);
            let inside = w.value(i.below(end));
            w.when(inside, |w| {
                let digit = passes.digit(w, pass.digit, *shift, word);
                let offset = w.push(Op::Load { memory: self.offsets, index: vec![digit] }, passes.place);
                let place = w.push(Op::Cast(passes.place, place), passes.place);
                let goal = w.apply(Operator::Add, &[place, offset], passes.place);
                let goal = w.push(Op::Cast(Ty::I64, goal), Ty::I64);
                let to = [line, &[goal]].concat();
                if let Some(home) = self.home {
                    w.store(home, to.clone(), word);
                }
                if let Some(&from) = from.get(k) {
                    let from = position(w, from, tile);
                    let from = w.value(start + from);
                    let at = [line, &[from]].concat();
                    let values = passes.element(w, pass, &self.from, self.others, &at);
                    self.homes.iter().zip(values).for_each(|(&home, value)| w.store(home, to.clone(), value));
                }
            });
        }
    }

    /// The words in the order of the digit, and where in the tile each was, if anybody asks: words of these places.
    fn in_order_by_lanes(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        part: Id,
        read: &[Id],
        words: &[Id],
    ) -> (Vec<Id>, Vec<Id>) {
        let tile = &self.tile;
        let digit = |&word: &Id| self.passes.digit(w, self.pass.digit, self.shift, word);
        let digits: Vec<Id> = words.iter().map(digit).collect();
        // The sooner the others know, the less they wait.
        let places = tile.places_by_lanes(w, &digits, self.first, |w| {
            if let Starts::Board(board) = &self.starts {
                self.passes.each_value(w, tile.thread, |w, value| board.tell_own(w, part, value, self.first));
            }
        });
        // Words first: they are not needed as they were any more, and registers are few.
        let words = tile.exchange(w, &places, words, Order::Apart);
        let mut from = vec![];
        if !self.others.is_empty() {
            let numbers: Vec<Id> = read.iter().map(|&place| w.push(Op::Cast(Ty::U32, place), Ty::U32)).collect();
            from = tile.exchange(w, &places, &numbers, Order::Apart);
        }
        (words, from)
    }

    /// The same by rounds: words of neighbours.
    fn in_order(&self, w: &mut KernelWriter<'_, 'g>, mut words: Vec<Id>) -> (Vec<Id>, Vec<Id>) {
        let tile = &self.tile;
        let digit = self.pass.digit;
        let mut from = vec![];
        if !self.others.is_empty() {
            let places = tile.places(w, Order::Neighbours);
            from = places.into_iter().map(|place| w.push(Op::Cast(Ty::U32, place), Ty::U32)).collect();
        }
        let mut done = 0;
        while done < digit.bits {
            let bits = ROUND_BITS.min(digit.bits - done);
            let skipped = w.constant(Scalar::from_int(Ty::U32, done.into()));
            let shift = w.apply(Operator::Add, &[self.shift, skipped], Ty::U32);
            let part = |&word: &Id| {
                let word = self.passes.counting(w, digit, word);
                let shifted = w.apply(Operator::Shr, &[word, shift], Ty::U32);
                w.low_bits(shifted, bits)
            };
            let parts: Vec<Id> = words.iter().map(part).collect();
            let places = tile.places_by(w, &parts);
            done += bits;
            let order = if done < digit.bits { Order::Neighbours } else { Order::Apart };
            if !from.is_empty() {
                from = tile.exchange(w, &places, &from, order);
            }
            words = tile.exchange(w, &places, &words, order);
        }
        (words, from)
    }
}
