//! A tile of elements that the threads of a block put in order, by 4 bits of a word at a time.
//!
//! Every thread has a few neighbouring elements, and a counter for each value of the 4 bits: how many of its elements have it. The
//! sum of all counters of smaller values, and of those of its value that belong to threads before, is where the first of its elements with
//! a value goes. Counters are halves of words, so that one sum adds up two of them: the low half those of the values 0 to 7, the high
//! half those of 8 to 15, which come behind all of the former.
//!
//! Where the lanes of a subgroup meet, 8 bits are looked at once: a subgroup has neighbouring elements, and a counter for each value. Lanes
//! with the same value see each other in a mask of lanes for it, and count themselves in their order.
//!
//! Neither the order of threads nor that of memory accesses decides anything. Rows of 32 places are followed by one that is left out, so
//! that threads which go through memory in steps of a power of two do not meet in a bank.

use crate::code::{AtomicOp, Id, MemId, Op, Place, Scope, SubgroupOp};
use crate::kernel::Space;
use crate::lower::gpu::Machine;
use crate::lower::writer::KernelWriter;
use crate::ops::Operator;
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic, Write as _};

/// Bits that are looked at in one round.
pub(super) const ROUND_BITS: u32 = 4;
/// Counters of a thread, two in a word.
const COUNTERS: u64 = 1 << (ROUND_BITS - 1);
/// Values that the subgroups of a block count at once.
const DIGITS: u64 = 256;
/// Bits of half a word.
const HALF: i128 = 16;
/// Places behind which one is left out, as a power of two.
const ROW_BITS: i64 = 5;
/// The fewest threads that are worth it.
const FEWEST: u64 = 32;

/// How many elements a block takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) threads: u64,
    /// Elements of each.
    pub(super) each: u64,
    /// Threads of a subgroup, where they can add up among themselves.
    subgroup: Option<u64>,
    /// Subgroups count whole digits.
    pub(super) by_lanes: bool,
}

impl Form {
    /// The largest one that a machine has room for beside other shared memory of so many bytes.
    pub(super) fn of(machine: &Machine, others: u64) -> Option<Form> {
        let threads = 1 << u64::from(machine.threads()).ilog2();
        if let Some(form) = Form::by_lanes(machine, others) {
            return Some(form);
        }
        let subgroup = machine.subgroup.filter(|subgroup| subgroup.bits >= 32).map(|subgroup| u64::from(subgroup.size));
        let subgroup = subgroup.filter(|&size| size > 1 && threads % size == 0);
        let fits = |form: &Form| form.bytes() + others <= machine.shared_bytes;
        // Where threads cost time, code that is soon compiled is worth more than few tiles.
        let sizes = if machine.is_small() { &[8][..] } else { &[16, 8] };
        let forms = sizes.iter().map(|&each| Form { threads, each, subgroup, by_lanes: false });
        forms.into_iter().find(fits).filter(|_| threads >= FEWEST && machine.atomic_bits >= 32)
    }

    /// One whose subgroups count, where lanes meet and a mask of them is a word.
    fn by_lanes(machine: &Machine, others: u64) -> Option<Form> {
        let size = machine.subgroup.filter(|subgroup| machine.progresses && subgroup.size == 32)?.size;
        let wanted = [(256, 32), (256, 16), (256, 8)];
        let forms = wanted.map(|(threads, each)| Form { threads, each, subgroup: Some(size.into()), by_lanes: true });
        let fits = |form: &Form| {
            form.threads <= u64::from(machine.max_threads) && form.bytes() + others <= machine.shared_bytes
        };
        forms.into_iter().find(fits)
    }

    /// As many elements for a block that is alone: twice as many threads with half of them each.
    pub(super) fn alone(self, machine: &Machine) -> Form {
        let form = Form { threads: 2 * self.threads, each: self.each / 2, ..self };
        let fits = form.threads <= u64::from(machine.max_threads) && form.bytes() <= machine.shared_bytes;
        if self.by_lanes && fits { form } else { self }
    }

    /// Elements of a tile.
    pub(super) fn elements(self) -> u64 {
        self.threads * self.each
    }

    fn places(self) -> u64 {
        let places = self.threads * self.each.max(COUNTERS);
        let elements = places + (places >> ROW_BITS);
        if self.by_lanes { elements.max(2 * self.counters()) } else { elements }
    }

    /// Counters of all subgroups, one for each value of a digit.
    fn counters(self) -> u64 {
        self.threads / self.subgroup.unwrap_or(1) * DIGITS
    }

    fn bytes(self) -> u64 {
        4 * (self.places() + 2 * self.threads)
    }
}

/// Who stands where after elements have changed hands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// A thread has neighbours.
    Neighbours,
    /// Neighbouring threads have neighbours.
    Apart,
    /// Neighbouring lanes do, and a subgroup has what no other has between.
    Subgroups,
}

/// The shared memory of a block that sorts.
pub(super) struct Tile {
    pub(super) form: Form,
    pub(super) thread: Id,
    /// Elements that change hands, or counters.
    room: MemId,
    /// Sums of threads, or of subgroups.
    sums: MemId,
}

type Writer<'a, 'l, 'g> = &'a mut KernelWriter<'l, 'g>;

impl Tile {
    pub(super) fn new(w: Writer<'_, '_, '_>, form: Form) -> Tile {
        w.kernel.block = [form.threads as u32, 1, 1];
        let room = w.near_memory("room", Ty::U32, Space::Shared, &[form.places()]);
        let sums = w.near_memory("sums", Ty::U32, Space::Shared, &[2, form.threads]);
        let thread = w.push(Op::Place(Place::Local, 0), Ty::I64);
        Tile { form, thread, room, sums }
    }

    /// The places of a thread's elements.
    pub(super) fn places(&self, w: Writer<'_, '_, '_>, order: Order) -> Vec<Id> {
        let (from, step) = match order {
            Order::Neighbours => (w.scaled(self.thread, self.form.each), 1),
            Order::Apart => (self.thread, self.form.threads),
            Order::Subgroups => {
                let size = self.form.subgroup.unwrap_or(1);
                let subgroup = w.value(self.thread / size as i64);
                let lane = w.value(self.thread % size as i64);
                let first = w.value(subgroup * (size * self.form.each) as i64);
                (w.value(first + lane), size)
            }
        };
        (0..self.form.each).map(|k| w.offset(from, (k * step) as i64)).collect()
    }

    fn slot(&self, w: Writer<'_, '_, '_>, place: Id) -> Id {
        let bits = w.number(ROW_BITS);
        let row = w.apply(Operator::Shr, &[place, bits], Ty::I64);
        w.value(place + row)
    }

    fn get(&self, w: Writer<'_, '_, '_>, place: Id) -> Id {
        let slot = self.slot(w, place);
        w.push(Op::Load { memory: self.room, index: vec![slot] }, Ty::U32)
    }

    fn put(&self, w: Writer<'_, '_, '_>, place: Id, value: Id) {
        let slot = self.slot(w, place);
        w.store(self.room, vec![slot], value);
    }

    /// Values of elements go to other places, and a thread gets those of its own in an order.
    pub(super) fn exchange(&self, w: Writer<'_, '_, '_>, places: &[Id], values: &[Id], order: Order) -> Vec<Id> {
        w.barrier();
        places.iter().zip(values).for_each(|(&place, &value)| self.put(w, place, value));
        w.barrier();
        let own = self.places(w, order);
        own.iter().map(|&place| self.get(w, place)).collect()
    }

    /// What was just exchanged, one place before another; that of the first place before itself.
    pub(super) fn before(&self, w: Writer<'_, '_, '_>, place: Id) -> Id {
        let zero = w.number(0);
        let before = w.offset(place, -1);
        let before = w.value(before.most(zero));
        self.get(w, before)
    }

    /// The places of the elements in the order of some values below 16, `u32`; equal ones stay in theirs.
    pub(super) fn places_by(&self, w: Writer<'_, '_, '_>, values: &[Id]) -> Vec<Id> {
        let word = |w: Writer<'_, '_, '_>, value: i128| w.constant(Scalar::from_int(Ty::U32, value));
        w.barrier();
        let none = word(w, 0);
        let counter = |w: Writer<'_, '_, '_>, number: Id| w.value(number * self.form.threads as i64 + self.thread);
        for k in 0..COUNTERS {
            let number = w.number(k as i64);
            let place = counter(w, number);
            self.put(w, place, none);
        }
        let most = word(w, i128::from(COUNTERS) - 1);
        let counter_bits = word(w, i128::from(ROUND_BITS) - 1);
        let half_bits = word(w, HALF.ilog2().into());
        let half = word(w, (1 << HALF) - 1);
        let one = word(w, 1);
        let part = |w: Writer<'_, '_, '_>, word: Id, shift: Id| {
            let shifted = w.apply(Operator::Shr, &[word, shift], Ty::U32);
            w.apply(Operator::And, &[shifted, half], Ty::U32)
        };
        let mut own = vec![];
        for &value in values {
            let number = w.apply(Operator::And, &[value, most], Ty::U32);
            let number = w.push(Op::Cast(Ty::I64, number), Ty::I64);
            let place = counter(w, number);
            let high = w.apply(Operator::Shr, &[value, counter_bits], Ty::U32);
            let shift = w.apply(Operator::Shl, &[high, half_bits], Ty::U32);
            // 0 or 1 times 16.
            let slot = self.slot(w, place);
            let count = w.push(Op::Load { memory: self.room, index: vec![slot] }, Ty::U32);
            let before = part(w, count, shift);
            let more = w.apply(Operator::Shl, &[one, shift], Ty::U32);
            let more = w.apply(Operator::Add, &[count, more], Ty::U32);
            w.store(self.room, vec![slot], more);
            own.push((slot, shift, before));
        }
        w.barrier();
        self.add_up(w);
        w.barrier();
        let place = |(slot, shift, before): (Id, Id, Id)| {
            let start = w.push(Op::Load { memory: self.room, index: vec![slot] }, Ty::U32);
            let start = part(w, start, shift);
            let place = w.apply(Operator::Add, &[start, before], Ty::U32);
            w.push(Op::Cast(Ty::I64, place), Ty::I64)
        };
        own.into_iter().map(place).collect()
    }

    /// The same for values below 256, of elements that stand in the order of subgroups. `first` gets the first place of each value, and
    /// `counted` may use it while other subgroups still look for places: counting is soon done, and that is not.
    pub(super) fn places_by_lanes<'g>(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        values: &[Id],
        first: MemId,
        counted: impl FnOnce(&mut KernelWriter<'_, 'g>),
    ) -> Vec<Id> {
        let form = self.form;
        let size = form.subgroup.unwrap_or(1);
        let word = |w: Writer<'_, '_, '_>, value: i128| w.constant(Scalar::from_int(Ty::U32, value));
        let load = |w: Writer<'_, '_, '_>, at: Id| w.push(Op::Load { memory: self.room, index: vec![at] }, Ty::U32);
        let none = word(w, 0);
        let one = word(w, 1);
        w.barrier();
        for k in 0..2 * form.counters() / form.threads {
            let place = w.offset(self.thread, (k * form.threads) as i64);
            w.store(self.room, vec![place], none);
        }
        w.barrier();
        let subgroup = w.value(self.thread / size as i64);
        let masks = w.scaled(subgroup, DIGITS);
        let update = |w: Writer<'_, '_, '_>, operator: Operator, at: Id, by: Id| {
            let op = AtomicOp::Update(operator);
            w.push(Op::Atomic { op, memory: self.room, index: vec![at], args: vec![by] }, Ty::U32);
        };
        let mask_of = |&value: &Id| w.value(masks + value);
        let masks: Vec<Id> = values.iter().map(mask_of).collect();
        let counts: Vec<Id> = masks.iter().map(|&mask_at| w.offset(mask_at, form.counters() as i64)).collect();
        counts.iter().for_each(|&count_at| update(w, Operator::Add, count_at, one));
        w.barrier();
        self.start_subgroups(w, first);
        w.barrier();
        counted(w);
        let lane = w.value(self.thread % size as i64);
        let lane = w.push(Op::Cast(Ty::U32, lane), Ty::U32);
        let own_bit = w.apply(Operator::Shl, &[one, lane], Ty::U32);
        let lower = w.apply(Operator::Sub, &[own_bit, one], Ty::U32);
        let mut places = vec![];
        for (mask_at, count_at) in masks.into_iter().zip(counts) {
            update(w, Operator::Or, mask_at, own_bit);
            self.meet(w);
            let mask = load(w, mask_at);
            let before = load(w, count_at);
            self.meet(w);
            let lower = w.apply(Operator::And, &[mask, lower], Ty::U32);
            let lower = w.apply(Operator::Popcount, &[lower], Ty::U32);
            let leads = w.push(Op::Apply(Operator::Eq, vec![lower, none]), Ty::Bool);
            w.when(leads, |w| {
                let count = w.apply(Operator::Popcount, &[mask], Ty::U32);
                let count = w.apply(Operator::Add, &[before, count], Ty::U32);
                w.store(self.room, vec![mask_at], none);
                w.store(self.room, vec![count_at], count);
            });
            self.meet(w);
            let place = w.apply(Operator::Add, &[before, lower], Ty::U32);
            places.push(w.push(Op::Cast(Ty::I64, place), Ty::I64));
        }
        places
    }

    /// The lanes of a subgroup wait for each other.
    fn meet(&self, w: Writer<'_, '_, '_>) {
        w.bind(Op::Barrier(Scope::Subgroup), &[]);
    }

    /// Replaces each counter by the first place of its value in its subgroup; `first` gets that of the value in the tile.
    fn start_subgroups(&self, w: Writer<'_, '_, '_>, first: MemId) {
        let form = self.form;
        let size = form.subgroup.unwrap_or(1);
        let none = w.constant(Scalar::from_int(Ty::U32, 0));
        let end = w.number(DIGITS as i64);
        let counts = w.value(self.thread.below(end));
        let counter = |w: Writer<'_, '_, '_>, subgroup: u64| {
            vec![w.offset(self.thread, (form.counters() + subgroup * DIGITS) as i64)]
        };
        let subgroups = 0..form.threads / size;
        let count = |w: Writer<'_, '_, '_>| {
            let mut sum = none;
            for subgroup in subgroups.clone() {
                let index = counter(w, subgroup);
                let own = w.push(Op::Load { memory: self.room, index }, Ty::U32);
                sum = w.apply(Operator::Add, &[sum, own], Ty::U32);
            }
            vec![sum]
        };
        let start = |w: Writer<'_, '_, '_>, before: Id| {
            let mut place = before;
            for subgroup in subgroups.clone() {
                let index = counter(w, subgroup);
                let own = w.push(Op::Load { memory: self.room, index: index.clone() }, Ty::U32);
                w.store(self.room, index, place);
                place = w.apply(Operator::Add, &[place, own], Ty::U32);
            }
            w.store(first, vec![self.thread], before);
        };
        let all_count = form.threads == DIGITS;
        let own = match all_count {
            true => count(w)[0],
            false => w.branch(counts, &[Ty::U32], count, |_| vec![none])[0],
        };
        let (before, _) = self.before_threads_by_subgroups(w, own, size);
        match all_count {
            true => start(w, before),
            false => w.when(counts, |w| start(w, before)),
        }
    }

    /// Replaces each counter by the sum of all before it.
    fn add_up(&self, w: Writer<'_, '_, '_>) {
        let first = w.scaled(self.thread, COUNTERS);
        let mut sum = w.constant(Scalar::from_int(Ty::U32, 0));
        let mut sums = vec![];
        for k in 0..COUNTERS {
            let place = w.offset(first, k as i64);
            let slot = self.slot(w, place);
            sums.push((slot, sum));
            let own = w.push(Op::Load { memory: self.room, index: vec![slot] }, Ty::U32);
            sum = w.apply(Operator::Add, &[sum, own], Ty::U32);
        }
        let (before, all) = match self.form.subgroup {
            Some(size) => self.before_threads_by_subgroups(w, sum, size),
            None => self.before_threads(w, sum),
        };
        let bits = w.constant(Scalar::from_int(Ty::U32, HALF));
        let low = w.apply(Operator::Shl, &[all, bits], Ty::U32);
        let start = w.apply(Operator::Add, &[before, low], Ty::U32);
        for (slot, sum) in sums {
            let sum = w.apply(Operator::Add, &[start, sum], Ty::U32);
            w.store(self.room, vec![slot], sum);
        }
    }

    /// The sum of the numbers of all threads before, and of all: sums of twice as many threads each step.
    fn before_threads(&self, w: Writer<'_, '_, '_>, own: Id) -> (Id, Id) {
        let zero = w.number(0);
        let none = w.constant(Scalar::from_int(Ty::U32, 0));
        let mut sum = own;
        let steps = self.form.threads.ilog2();
        for step in 0..steps {
            let side = w.number((step % 2).into());
            w.store(self.sums, vec![side, self.thread], sum);
            w.barrier();
            let other = w.offset(self.thread, -(1 << step));
            let is_there = w.value(other.not_below(zero));
            let other = w.value(other.most(zero));
            let left = w.push(Op::Load { memory: self.sums, index: vec![side, other] }, Ty::U32);
            let left = w.apply(Operator::Select, &[is_there, left, none], Ty::U32);
            sum = w.apply(Operator::Add, &[sum, left], Ty::U32);
        }
        let side = w.number((steps % 2).into());
        w.store(self.sums, vec![side, self.thread], sum);
        w.barrier();
        let last = w.number(self.form.threads as i64 - 1);
        let all = w.push(Op::Load { memory: self.sums, index: vec![side, last] }, Ty::U32);
        (w.apply(Operator::Sub, &[sum, own], Ty::U32), all)
    }

    /// The same, where the threads of a subgroup add up among themselves.
    fn before_threads_by_subgroups(&self, w: Writer<'_, '_, '_>, own: Id, size: u64) -> (Id, Id) {
        let zero = w.number(0);
        let none = w.constant(Scalar::from_int(Ty::U32, 0));
        let sum = w.push(Op::Subgroup(SubgroupOp::Scan(Operator::Add), vec![own]), Ty::U32);
        let subgroup = w.value(self.thread / size as i64);
        let lane = w.value(self.thread % size as i64);
        let is_last = w.value(lane.equals(size as i64 - 1));
        w.when(is_last, |w| w.store(self.sums, vec![zero, subgroup], sum));
        w.barrier();
        let mut before = none;
        let mut all = none;
        for k in 0..self.form.threads / size {
            let number = w.number(k as i64);
            let other = w.push(Op::Load { memory: self.sums, index: vec![zero, number] }, Ty::U32);
            let is_before = w.value(number.below(subgroup));
            let counted = w.apply(Operator::Select, &[is_before, other, none], Ty::U32);
            before = w.apply(Operator::Add, &[before, counted], Ty::U32);
            all = w.apply(Operator::Add, &[all, other], Ty::U32);
        }
        let inside = w.apply(Operator::Sub, &[sum, own], Ty::U32);
        (w.apply(Operator::Add, &[before, inside], Ty::U32), all)
    }
}
