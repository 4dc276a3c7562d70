//! Prefixes of one long line in one pass, on machines whose blocks go on while others wait: what comes before a tile is handed on.
//!
//! ```text
//! tile     │ 0 │ 1 │ 2 │ 3 │ 4 │ 5 │ …        each block tells the fold of its tile as soon as it has it
//! group    │ 0             │ 1     │ …        the last block of a group tells the fold of the group,
//! cluster  │ 0                     │ …        the last of a cluster of groups all up to its end
//! ```
//!
//! A block takes the next tile, keeps it in registers, and waits for all up to its cluster, the groups of the cluster before its own, and the
//! tiles of its group before it. Nobody waits for a tile that was taken later, so somebody always goes on. What is joined with what does not hang
//! on who was faster: sums of floats are the same at every call. What is left behind the last whole tile is another launch.
//!
//! A note is a word of 64 bits: 32 of a value, and one that says that it is there.

use super::threads::ceil_div;
use crate::code::{AtomicOp, Id, MemId, Monoid, Op, Place, SubgroupOp};
use crate::kernel::Space;
use crate::lower::writer::KernelWriter;
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic, Write as _};

/// Bits of a value that a note carries.
const CARRIED: u32 = 32;

/// What blocks tell each other.
pub(super) struct Notes<'a, 'g> {
    pub(super) monoid: &'g Monoid,
    /// What comes before a tile.
    pub(super) tys: &'a [Ty],
    /// Tiles of a group, and groups of a cluster: the lanes of a subgroup.
    pub(super) fan: u32,
    /// The elements of the line, and of a tile.
    pub(super) extent: &'a Size,
    pub(super) tile: u64,
}

/// The notes in a kernel, as its threads see them.
pub(super) struct Board<'a, 'g> {
    notes: &'a Notes<'a, 'g>,
    memory: MemId,
    /// The tile that the block has taken, and what comes before it.
    taken: MemId,
    before: Vec<MemId>,
}

impl<'g> Notes<'_, 'g> {
    fn words(&self) -> u64 {
        self.tys.iter().map(|ty| u64::from(ty.bits().div_ceil(CARRIED))).sum()
    }

    /// How many tiles, groups and clusters there are.
    fn counts(&self) -> [Size; 3] {
        let fan = u64::from(self.fan);
        [self.tile, self.tile * fan, self.tile * fan * fan].map(|each| ceil_div(self.extent, each))
    }

    /// All notes, behind the number of the next tile.
    pub(super) fn shape(&self) -> Vec<Size> {
        let [tiles, groups, clusters] = self.counts();
        // All up to a cluster is told there, so there is one more.
        let all = tiles + groups + clusters + Size::Const(1);
        vec![all * Size::Const(self.words()) + Size::Const(1)]
    }

    pub(super) fn board(&self, w: &mut KernelWriter<'_, 'g>, memory: MemId) -> Board<'_, 'g> {
        let taken = taken(w);
        let before = self.tys.iter().map(|&ty| w.near_memory("before", ty, Space::Shared, &[1])).collect();
        Board { notes: self, memory, taken, before }
    }
}

/// Where a block keeps the number of the tile that it has taken.
pub(super) fn taken(w: &mut KernelWriter<'_, '_>) -> MemId {
    w.near_memory("taken", Ty::I64, Space::Shared, &[1])
}

/// The next tile, which is this block's; the first of `notes` is its number.
pub(super) fn take(w: &mut KernelWriter<'_, '_>, notes: MemId, taken: MemId) -> Id {
    let zero = w.number(0);
    let thread = w.push(Op::Place(Place::Local, 0), Ty::I64);
    let first = w.value(thread.equals(zero));
    w.when(first, |w| {
        let one = w.constant(Scalar::from_int(Ty::U64, 1));
        let op = AtomicOp::Update(Operator::Add);
        let number = w.push(Op::Atomic { op, memory: notes, index: vec![zero], args: vec![one] }, Ty::U64);
        let number = w.push(Op::Cast(Ty::I64, number), Ty::I64);
        w.store(taken, vec![zero], number);
    });
    w.barrier();
    w.push(Op::Load { memory: taken, index: vec![zero] }, Ty::I64)
}

impl<'g> Board<'_, 'g> {
    /// The next tile, which is this block's.
    pub(super) fn take(&self, w: &mut KernelWriter<'_, 'g>) -> Id {
        take(w, self.memory, self.taken)
    }

    /// Tells the fold of the block's tile, and gives what comes before it to all threads.
    pub(super) fn hand_on(&self, w: &mut KernelWriter<'_, 'g>, tile: Id, own: &[Id]) -> Vec<Id> {
        let Board { notes, .. } = self;
        let thread = w.push(Op::Place(Place::Local, 0), Ty::I64);
        let fan = w.number(notes.fan.into());
        let near = w.value(thread.below(fan));
        w.when(near, |w| {
            let lane = thread;
            let zero = w.number(0);
            let one = w.number(1);
            let first = w.value(lane.equals(zero));
            let [tiles, groups, _] = notes.counts().map(|count| w.extent(&count));
            let groups_start = tiles;
            let clusters_start = w.value(tiles + groups);
            w.when(first, |w| self.tell(w, tile, own));
            // Tiles of the group.
            let group = w.value(tile / fan);
            let in_group = w.value(tile % fan);
            let group_first = w.value(group * fan);
            let before_in_group = self.hear(w, group_first, in_group, lane);
            let last = w.value(fan - one);
            let ends_group = w.value(in_group.equals(last));
            let whole_group = w.combine(notes.monoid, &before_in_group, own);
            let tells = w.apply(Operator::And, &[first, ends_group], Ty::Bool);
            w.when(tells, |w| {
                let place = w.value(groups_start + group);
                self.tell(w, place, &whole_group);
            });
            // Groups of the cluster.
            let cluster = w.value(group / fan);
            let in_cluster = w.value(group % fan);
            let cluster_first = w.value(cluster * fan);
            let cluster_first = w.value(groups_start + cluster_first);
            let before_in_cluster = self.hear(w, cluster_first, in_cluster, lane);
            // All up to the cluster.
            let some = w.value(cluster.most(zero));
            let some = w.value(some.least(one));
            let place = w.value(clusters_start + cluster);
            let before_cluster = self.hear(w, place, some, lane);
            let before_group = w.combine(notes.monoid, &before_cluster, &before_in_cluster);
            let before = w.combine(notes.monoid, &before_group, &before_in_group);
            let ends_cluster = w.value(in_cluster.equals(last));
            let tells = w.apply(Operator::And, &[tells, ends_cluster], Ty::Bool);
            w.when(tells, |w| {
                let all = w.combine(notes.monoid, &before_group, &whole_group);
                let place = w.offset(place, 1);
                self.tell(w, place, &all);
            });
            w.when(first, |w| w.store_each(&self.before, zero, &before));
        });
        w.barrier();
        let zero = w.number(0);
        w.load_all(&self.before, zero, notes.tys)
    }

    /// The fold of `count` notes from `first` on, at most one for each lane, in order; all lanes wait for them, and the first one has it.
    fn hear(&self, w: &mut KernelWriter<'_, 'g>, first: Id, count: Id, lane: Id) -> Vec<Id> {
        let Board { notes, .. } = self;
        let wanted = w.value(lane.below(count));
        let place = w.value(first + lane);
        let words: Vec<Id> = (0..notes.words()).map(|word| self.wait(w, place, word, wanted)).collect();
        let mut words = words.into_iter();
        let start = w.all_scalars(&notes.monoid.neutral);
        let mut heard = vec![];
        for (&ty, &nothing) in notes.tys.iter().zip(&start) {
            let pieces: Vec<Id> = words.by_ref().take(ty.bits().div_ceil(CARRIED) as usize).collect();
            let value = from_pieces(w, ty, &pieces);
            heard.push(w.apply(Operator::Select, &[wanted, value, nothing], ty));
        }
        let mut distance = 1;
        while distance < notes.fan {
            let by = w.number(distance.into());
            let end = w.number((notes.fan - distance).into());
            let there = w.value(lane.below(end));
            let take = |(&value, &ty): (&Id, &Ty)| w.push(Op::Subgroup(SubgroupOp::ShuffleDown, vec![value, by]), ty);
            let further: Vec<Id> = heard.iter().zip(notes.tys).map(take).collect();
            let joined = w.combine(notes.monoid, &heard, &further);
            let select = |((&yes, &no), &ty)| w.apply(Operator::Select, &[there, yes, no], ty);
            heard = joined.iter().zip(&heard).zip(notes.tys).map(select).collect();
            distance *= 2;
        }
        heard
    }

    /// A word of a note, when it is there. The lanes of a subgroup go round together.
    fn wait(&self, w: &mut KernelWriter<'_, 'g>, note: Id, word: u64, wanted: Id) -> Id {
        let at = self.place(w, note, word);
        let zero = w.number(0);
        let at = w.apply(Operator::Select, &[wanted, at, zero], Ty::I64);
        let look = |w: &mut KernelWriter<'_, 'g>| {
            let load = Op::Atomic { op: AtomicOp::Load, memory: self.memory, index: vec![at], args: vec![] };
            w.push(load, Ty::U64)
        };
        let seen = look(w);
        let cond = w.nested(&[Ty::U64], |w, ids| {
            let told = w.constant(Scalar::from_int(Ty::U64, 1 << CARRIED));
            let missing = w.apply(Operator::Lt, &[ids[0], told], Ty::Bool);
            let missing = w.apply(Operator::And, &[missing, wanted], Ty::Bool);
            vec![w.push(Op::Subgroup(SubgroupOp::Any, vec![missing]), Ty::Bool)]
        });
        let body = w.nested(&[Ty::U64], |w, _| vec![look(w)]);
        w.push(Op::While { init: vec![seen], cond, body }, Ty::U64)
    }

    fn tell(&self, w: &mut KernelWriter<'_, 'g>, note: Id, values: &[Id]) {
        let mut word = 0;
        for (&value, &ty) in values.iter().zip(self.notes.tys) {
            for piece in to_pieces(w, ty, value) {
                let told = w.constant(Scalar::from_int(Ty::U64, 1 << CARRIED));
                let message = w.apply(Operator::Or, &[piece, told], Ty::U64);
                let at = self.place(w, note, word);
                let op = AtomicOp::Store;
                w.push(Op::Atomic { op, memory: self.memory, index: vec![at], args: vec![message] }, Ty::U64);
                word += 1;
            }
        }
    }

    /// Where a word of a note is.
    fn place(&self, w: &mut KernelWriter<'_, 'g>, note: Id, word: u64) -> Id {
        let start = w.scaled(note, self.notes.words());
        w.offset(start, 1 + word as i64)
    }
}

/// A value as words with 32 bits of it each.
fn to_pieces(w: &mut KernelWriter<'_, '_>, ty: Ty, value: Id) -> Vec<Id> {
    let bits = match ty {
        Ty::F16 | Ty::BF16 => w.push(Op::Bitcast(Ty::U16, value), Ty::U16),
        Ty::F32 | Ty::I32 => w.push(Op::Bitcast(Ty::U32, value), Ty::U32),
        Ty::F64 | Ty::I64 => w.push(Op::Bitcast(Ty::U64, value), Ty::U64),
        Ty::I8 => w.push(Op::Bitcast(Ty::U8, value), Ty::U8),
        Ty::I16 => w.push(Op::Bitcast(Ty::U16, value), Ty::U16),
        Ty::Bool | Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => value,
    };
    if ty.bits() <= CARRIED {
        return vec![w.push(Op::Cast(Ty::U64, bits), Ty::U64)];
    }
    let low = w.constant(Scalar::from_int(Ty::U64, (1 << CARRIED) - 1));
    let by = w.constant(Scalar::from_int(Ty::U64, CARRIED.into()));
    vec![w.apply(Operator::And, &[bits, low], Ty::U64), w.apply(Operator::Shr, &[bits, by], Ty::U64)]
}

fn from_pieces(w: &mut KernelWriter<'_, '_>, ty: Ty, pieces: &[Id]) -> Id {
    let low = w.constant(Scalar::from_int(Ty::U64, (1 << CARRIED) - 1));
    let pieces: Vec<Id> = pieces.iter().map(|&piece| w.apply(Operator::And, &[piece, low], Ty::U64)).collect();
    let bits = match pieces[..] {
        [low, high] => {
            let by = w.constant(Scalar::from_int(Ty::U64, CARRIED.into()));
            let high = w.apply(Operator::Shl, &[high, by], Ty::U64);
            w.apply(Operator::Or, &[low, high], Ty::U64)
        }
        _ => pieces[0],
    };
    let narrow = |w: &mut KernelWriter<'_, '_>, to: Ty| w.push(Op::Cast(to, bits), to);
    match ty {
        Ty::U64 => bits,
        Ty::I64 | Ty::F64 => w.push(Op::Bitcast(ty, bits), ty),
        Ty::Bool => {
            let zero = w.constant(Scalar::from_int(Ty::U64, 0));
            w.apply(Operator::Ne, &[bits, zero], Ty::Bool)
        }
        Ty::U8 | Ty::U16 | Ty::U32 => narrow(w, ty),
        Ty::I8 => {
            let bits = narrow(w, Ty::U8);
            w.push(Op::Bitcast(ty, bits), ty)
        }
        Ty::I16 | Ty::F16 | Ty::BF16 => {
            let bits = narrow(w, Ty::U16);
            w.push(Op::Bitcast(ty, bits), ty)
        }
        Ty::I32 | Ty::F32 => {
            let bits = narrow(w, Ty::U32);
            w.push(Op::Bitcast(ty, bits), ty)
        }
    }
}
