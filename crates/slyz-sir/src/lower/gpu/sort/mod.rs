//! Sorts. A line that fits a tile is sorted by one block, in shared memory. Longer ones are sorted by digits of 8 bits, the least
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
//! no block waits for another. Machines with too few threads or too little shared memory sort each line by one thread.

mod tile;

use super::plan::{Gpu, Items};
use super::threads::ceil_div;
use crate::code::{AtomicOp, Id, MemId, Op, Stmt};
use crate::kernel::{Access, BufferId, BufferUse, Space};
use crate::lower::planning::unflatten;
use crate::lower::sorting::{Columns, Digit, Sort, digits};
use crate::lower::writer::{KernelWriter, Mode};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic, Write as _};
use tile::{Form, Order, ROUND_BITS, Tile};

/// The most bits of a digit, and its values.
const DIGIT_BITS: u32 = 8;
const VALUES: u64 = 1 << DIGIT_BITS;
/// Tiles whose counts are added up by one block.
const GROUP: u64 = 256;

impl<'g> Gpu<'g> {
    pub(super) fn sort(&mut self, stmt: &'g Stmt) {
        let sort = Sort::of(&stmt.op);
        let outputs: Vec<BufferId> = self.base.outputs(stmt).into_iter().map(|(buffer, _)| buffer).collect();
        let place = if self.machine.max_positions > 1 << 32 { Ty::I64 } else { Ty::U32 };
        let Some(form) = Form::of(&self.machine, VALUES * (4 + place.bytes() as u64)) else {
            return self.sort_lines(stmt, &sort, &outputs);
        };
        let extent = sort.extent().clone();
        let mut steps = std::mem::take(&mut self.base.plan.steps);
        let known = extent.constant().map(|n| n <= form.elements());
        if known != Some(false) {
            self.sort_tiles(stmt, &sort, form, &outputs);
        }
        let small = std::mem::take(&mut self.base.plan.steps);
        if known != Some(true) {
            self.sort_passes(stmt, sort, form, place, &outputs);
        }
        let large = std::mem::take(&mut self.base.plan.steps);
        match known {
            Some(_) => steps.extend(small.into_iter().chain(large)),
            None => {
                steps.push(crate::kernel::Step::Choose { work: extent, most: form.elements(), small, large });
            }
        }
        self.base.plan.steps = steps;
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
        let last = outputs.iter().copied().chain(words.map(|&ty| buffer(ty, sort.shape))).collect();
        let other = columns.tys.iter().map(|&ty| buffer(ty, sort.shape)).collect();
        let tiles = ceil_div(sort.extent(), form.elements());
        let groups = ceil_div(&tiles, GROUP);
        let table = |count: &Size| [&outer[..], &[count.clone(), Size::Const(VALUES)]].concat();
        let counts = (buffer(place, &table(&tiles)), table(&tiles));
        let sums = (buffer(place, &table(&groups)), table(&groups));
        let sort = Passes { stmt, sort, form, place, columns, digits, last, other, outer, tiles, groups, counts, sums };
        for number in 0..sort.digits.len() {
            sort.count(self, number);
            sort.add_groups(self);
            sort.start(self);
            sort.place_tiles(self);
            sort.send(self, number);
        }
    }
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

/// A sort of long lines.
struct Passes<'g> {
    stmt: &'g Stmt,
    sort: Sort<'g>,
    form: Form,
    /// The type that numbers of elements are kept in.
    place: Ty,
    columns: Columns,
    digits: Vec<Digit>,
    /// The columns where the last pass writes them, and the one before.
    last: Vec<BufferId>,
    other: Vec<BufferId>,
    outer: Vec<Size>,
    tiles: Size,
    groups: Size,
    counts: Table,
    sums: Table,
}

impl<'g> Passes<'g> {
    /// Where a pass writes.
    fn goal(&self, number: usize) -> &[BufferId] {
        if (self.digits.len() - number) % 2 == 1 { &self.last } else { &self.other }
    }

    fn bind(&self, w: &mut KernelWriter<'_, 'g>, table: &Table, access: Access) -> MemId {
        w.global(table.0, access, table.1.clone())
    }

    /// Binds columns that a pass reads; the first one computes them.
    fn source(&self, w: &mut KernelWriter<'_, 'g>, number: usize, columns: &[usize]) -> Vec<MemId> {
        if number == 0 {
            w.bind_globals(&self.stmt.op);
            return vec![];
        }
        let from = self.goal(number - 1);
        columns.iter().map(|&column| w.global(from[column], Access::Read, self.sort.shape.to_vec())).collect()
    }

    /// Some columns of an element.
    fn element(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        from: &[MemId],
        columns: &[usize],
        number: usize,
        at: &[Id],
    ) -> Vec<Id> {
        if number == 0 {
            let results = w.run(self.sort.body, at, Mode::Lane);
            let all = self.columns.pick(&results);
            return columns.iter().map(|&column| all[column]).collect();
        }
        let load = |(&memory, &column): (&MemId, &usize)| {
            w.push(Op::Load { memory, index: at.to_vec() }, self.columns.tys[column])
        };
        from.iter().zip(columns).map(load).collect()
    }

    /// The column of the word that a pass looks at.
    fn word(&self, number: usize) -> usize {
        self.columns.of_word(self.digits[number].word)
    }

    fn digit(&self, w: &mut KernelWriter<'_, 'g>, number: usize, word: Id) -> Id {
        let digit = self.digits[number];
        let shift = w.constant(Scalar::from_int(Ty::U32, digit.shift.into()));
        w.digit(word, shift, digit.bits)
    }

    /// The line and the number of a tile or a group of a line.
    fn part(&self, w: &mut KernelWriter<'_, 'g>, item: Id, count: &Size) -> (Vec<Id>, Id) {
        let mut at = unflatten(w, item, &[&self.outer[..], &[count.clone()]].concat());
        let part = at.pop().expect("a part");
        (at, part)
    }

    /// A kernel with blocks for all parts of all lines.
    fn begin<'l>(&self, gpu: &'l mut Gpu<'g>, what: &str, count: &Size) -> (KernelWriter<'l, 'g>, Items) {
        let name = gpu.base.kernel_name(what);
        let all = Size::product(&self.outer) * count.clone();
        let items = Items::new(&all, &gpu.machine, gpu.machine.max_blocks[0]);
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
    fn count(&self, gpu: &mut Gpu<'g>, number: usize) {
        let word = [self.word(number)];
        let (mut w, items) = self.begin(gpu, "sort_counts", &self.tiles);
        let counts = self.bind(&mut w, &self.counts, Access::Write);
        let from = self.source(&mut w, number, &word);
        let own = w.near_memory("own", Ty::U32, Space::Shared, &[VALUES]);
        items.each(&mut w, |w, item| {
            let (line, tile) = self.part(w, item, &self.tiles);
            let thread = self.thread(w);
            let none = w.constant(Scalar::from_int(Ty::U32, 0));
            let one = w.constant(Scalar::from_int(Ty::U32, 1));
            let end = w.extent(self.sort.extent());
            self.each_value(w, thread, |w, value| w.store(own, vec![value], none));
            w.barrier();
            let start = w.value(tile * self.form.elements() as i64 + thread);
            for k in 0..self.form.each {
                let i = w.offset(start, (k * self.form.threads) as i64);
                let inside = w.value(i.below(end));
                w.when(inside, |w| {
                    let element = self.element(w, &from, &word, number, &[&line[..], &[i]].concat());
                    let index = vec![self.digit(w, number, element[0])];
                    let op = AtomicOp::Update(Operator::Add);
                    w.push(Op::Atomic { op, memory: own, index, args: vec![one] }, Ty::U32);
                });
            }
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
        let (mut kernel, buffers, scalars) = w.finish();
        // What only moves is not computed here.
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
    fn add_groups(&self, gpu: &mut Gpu<'g>) {
        let (mut w, items) = self.begin(gpu, "sort_sums", &self.groups);
        let sums = self.bind(&mut w, &self.sums, Access::Write);
        let counts = self.bind(&mut w, &self.counts, Access::Read);
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
    fn start(&self, gpu: &mut Gpu<'g>) {
        let (mut w, items) = self.begin(gpu, "sort_starts", &Size::Const(1));
        let sums = self.bind(&mut w, &self.sums, Access::ReadWrite);
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
                w.for_each(zero, groups, 1, (before, &[self.place]), |w, group, sum| {
                    let index = [&line[..], &[group, value]].concat();
                    let own = w.push(Op::Load { memory: sums, index: index.clone() }, self.place);
                    w.store(sums, index, sum[0]);
                    vec![add(w, sum[0], own)]
                });
            });
            if items.loops {
                w.barrier();
            }
        });
        let kernel = w.finish();
        gpu.base.launch(kernel);
    }

    /// Where the elements of each tile with each digit go.
    fn place_tiles(&self, gpu: &mut Gpu<'g>) {
        let (mut w, items) = self.begin(gpu, "sort_places", &self.groups);
        let counts = self.bind(&mut w, &self.counts, Access::ReadWrite);
        let sums = self.bind(&mut w, &self.sums, Access::Read);
        items.each(&mut w, |w, item| {
            let (line, group) = self.part(w, item, &self.groups);
            let thread = self.thread(w);
            let [lo, hi] = self.group(w, group);
            self.each_value(w, thread, |w, value| {
                let index = [&line[..], &[group, value]].concat();
                let start = w.push(Op::Load { memory: sums, index }, self.place);
                w.for_each(lo, hi, 1, (vec![start], &[self.place]), |w, tile, sum| {
                    let index = [&line[..], &[tile, value]].concat();
                    let own = w.push(Op::Load { memory: counts, index: index.clone() }, self.place);
                    w.store(counts, index, sum[0]);
                    vec![w.apply(Operator::Add, &[sum[0], own], self.place)]
                });
            });
        });
        let kernel = w.finish();
        gpu.base.launch(kernel);
    }

    /// Each tile moves its elements.
    fn send(&self, gpu: &mut Gpu<'g>, number: usize) {
        let later = &self.digits[number + 1..];
        let moved: Vec<usize> =
            (0..self.columns.count()).filter(|&column| self.columns.is_wanted(column, later)).collect();
        let word = [self.word(number)];
        let others: Vec<usize> = moved.iter().copied().filter(|&column| column != word[0]).collect();
        let (mut w, items) = self.begin(gpu, "sort", &self.tiles);
        let goal = self.goal(number);
        let shape = || self.sort.shape.to_vec();
        let to = |column: usize, w: &mut KernelWriter<'_, 'g>| w.global(goal[column], Access::Write, shape());
        let home = moved.contains(&word[0]).then(|| to(word[0], &mut w));
        let homes: Vec<MemId> = others.iter().map(|&column| to(column, &mut w)).collect();
        let counts = self.bind(&mut w, &self.counts, Access::Read);
        let words = self.source(&mut w, number, &word);
        let from = self.source(&mut w, number, &others);
        let tile = Tile::new(&mut w, self.form);
        let first = w.near_memory("first", Ty::U32, Space::Shared, &[VALUES]);
        let offsets = w.near_memory("offsets", self.place, Space::Shared, &[VALUES]);
        let send = Send {
            passes: self,
            number,
            word,
            others: &others,
            home,
            homes,
            counts,
            words,
            from,
            tile,
            first,
            offsets,
        };
        items.each(&mut w, |w, item| {
            let (line, part) = self.part(w, item, &self.tiles);
            send.write(w, &line, part);
        });
        let kernel = w.finish();
        gpu.base.launch(kernel);
    }
}

/// How a tile is moved.
struct Send<'a, 'g> {
    passes: &'a Passes<'g>,
    number: usize,
    /// The column that the pass looks at, and the others that it moves.
    word: [usize; 1],
    others: &'a [usize],
    /// Where the former goes, if anybody wants it, and the latter.
    home: Option<MemId>,
    homes: Vec<MemId>,
    counts: MemId,
    words: Vec<MemId>,
    from: Vec<MemId>,
    tile: Tile,
    /// The first place in the tile of each digit, and how much farther its elements go.
    first: MemId,
    offsets: MemId,
}

impl<'g> Send<'_, 'g> {
    fn write(&self, w: &mut KernelWriter<'_, 'g>, line: &[Id], part: Id) {
        let Send { passes, number, tile, .. } = self;
        let start = w.scaled(part, tile.form.elements());
        let end = w.extent(passes.sort.extent());
        let own = tile.places(w, Order::Apart);
        let none = w.constant(Scalar::from_int(Ty::U32, 0));
        w.barrier();
        passes.each_value(w, tile.thread, |w, value| w.store(self.first, vec![value], none));
        let word = |&place: &Id| {
            let i = w.value(start + place);
            let inside = w.value(i.below(end));
            let word = |w: &mut KernelWriter<'_, 'g>| {
                passes.element(w, &self.words, &self.word, *number, &[line, &[i]].concat())
            };
            w.branch(inside, &[Ty::U32], word, |w| vec![behind_all(w)])[0]
        };
        let words: Vec<Id> = own.iter().map(word).collect();
        let words = tile.exchange(w, &own, &words, Order::Neighbours);
        let (words, from) = self.in_order(w, words);
        for (&place, &word) in own.iter().zip(&words) {
            let digit = passes.digit(w, *number, word);
            let before = tile.before(w, place);
            let before = passes.digit(w, *number, before);
            let differs = w.push(Op::Apply(Operator::Ne, vec![digit, before]), Ty::Bool);
            w.when(differs, |w| {
                let place = w.push(Op::Cast(Ty::U32, place), Ty::U32);
                w.store(self.first, vec![digit], place);
            });
        }
        w.barrier();
        passes.each_value(w, tile.thread, |w, value| {
            let index = [line, &[part, value]].concat();
            let place = w.push(Op::Load { memory: self.counts, index }, passes.place);
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
                let digit = passes.digit(w, *number, word);
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
                    let values = passes.element(w, &self.from, self.others, *number, &at);
                    self.homes.iter().zip(values).for_each(|(&home, value)| w.store(home, to.clone(), value));
                }
            });
        }
    }

    /// The words in the order of the digit, and where in the tile each was, if anybody asks.
    fn in_order(&self, w: &mut KernelWriter<'_, 'g>, mut words: Vec<Id>) -> (Vec<Id>, Vec<Id>) {
        let tile = &self.tile;
        let digit = self.passes.digits[self.number];
        let mut from = vec![];
        if !self.others.is_empty() {
            let places = tile.places(w, Order::Neighbours);
            from = places.into_iter().map(|place| w.push(Op::Cast(Ty::U32, place), Ty::U32)).collect();
        }
        let mut done = 0;
        while done < digit.bits {
            let bits = ROUND_BITS.min(digit.bits - done);
            let shift = w.constant(Scalar::from_int(Ty::U32, (digit.shift + done).into()));
            let part = |&word: &Id| {
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
