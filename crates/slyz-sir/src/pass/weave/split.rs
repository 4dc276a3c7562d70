//! Blocks of threads: code is cut where threads meet.
//!
//! What all threads of a block run together, and what is the same in all of them, becomes code of the block. The code between two
//! meetings becomes a piece: a loop over the threads. A barrier then is the end of a loop, and costs nothing.
//!
//! A value that differs between threads and lives across a cut is computed again where that is cheap (places, and arithmetic on them:
//! so positions stay visible to the backend), and goes through scratch memory, one element per thread, where it is not. So do
//! the state of loops and the results of branches in which threads meet, and arrays of threads.
//!
//! ```text
//! %t: i64 = local.x                           lanes %0 to %64 |%t: i64| { … store s[%t], %v }
//! store s[%t], %v                             lanes %0 to %64 |%t: i64| {
//! barrier block                          →      %r: i64 = sub %63, %t
//! %r: i64 = sub %63, %t                         %w: f32 = load s[%r]
//! %w: f32 = load s[%r]                          …
//! …                                           }
//! ```

use super::shape::{Shape, Thread};
use super::uniform::{self, is_live_read};
use super::write::WeaveWriter;
use super::{Unwoven, group, meets, tidied, trim};
use crate::code::{Body, Id, MemId, Op, Stmt, SubgroupOp, Type, Var};
use crate::kernel::{Kernel, Memory, Space};
use crate::size::Size;
use crate::types::Ty;
use crate::write::Write as _;
use std::collections::{HashMap, HashSet};

/// The most that is computed again instead of kept, in the costs of the operator table.
const CHEAP: u32 = 40;

/// Weaves a kernel for blocks of that shape.
pub(super) fn run(kernel: Kernel, block: [u32; 3], subgroup: u32) -> Result<Kernel, Unwoven> {
    let uniform = uniform::find(&kernel)?;
    let shape = Shape::new(block, subgroup);
    let mut split = Split {
        w: WeaveWriter::new(&kernel),
        memories: kernel.memories.clone(),
        uniform,
        shape,
        homes: HashMap::new(),
        defined: HashMap::new(),
        home_piece: HashMap::new(),
        saves: HashMap::new(),
        pieces: 0,
        open: vec![],
        again: HashMap::new(),
        loops: 0,
        ends: vec![],
        local_uses: HashMap::new(),
        spread_locals: vec![],
    };
    for memory in &mut split.memories {
        if memory.space == Space::Shared {
            memory.space = Space::Scratch;
        }
    }
    let mut nodes = vec![];
    split.cut(&kernel.body, &mut nodes)?;
    split.close(&mut nodes);
    split.settle(&nodes);
    split.cross(&nodes);
    split.place_locals();
    split.emit(nodes);
    let body = Body { params: kernel.body.params.clone(), stmts: std::mem::take(&mut split.w.out), results: vec![] };
    Ok(Kernel { memories: split.memories, block: [1; 3], body: tidied(body), ..kernel })
}

/// Part of a piece.
#[expect(clippy::large_enum_variant, reason = "nearly all of them are the large one")]
enum Item {
    Stmt(Stmt),
    /// Values into their homes, all at once.
    Save(Vec<(MemId, Id)>),
    /// A value of another thread of the subgroup, from where all threads left theirs.
    Shuffle {
        op: SubgroupOp,
        from: MemId,
        lane: Id,
        bind: Var,
    },
}

/// Code of the block.
enum Node {
    /// The same for all threads.
    Block(Stmt),
    /// A loop over the threads.
    Piece(usize, Vec<Item>),
    /// A branch or loop in which threads meet; its bodies are given by nodes.
    Control(Stmt, Vec<Vec<Node>>),
    /// What subgroups find out from values that all threads left: `(operation, values, results)`.
    Group(SubgroupOp, MemId, MemId),
}

/// A value that a body computes and leaves in a home at its end, and the name that the home has in the body until then.
struct End {
    home: MemId,
    value: Id,
    before: Option<Id>,
}

struct Split {
    w: WeaveWriter,
    memories: Vec<Memory>,
    uniform: HashSet<Id>,
    shape: Shape,
    /// Scratch memories of values, one element per thread.
    homes: HashMap<Id, MemId>,
    /// Statements of pieces by the names they bind.
    defined: HashMap<Id, Stmt>,
    /// The piece that computes a value.
    home_piece: HashMap<Id, usize>,
    /// Values that a piece leaves in their homes.
    saves: HashMap<usize, Vec<(MemId, Id)>>,
    pieces: usize,
    /// The piece that is being filled.
    open: Vec<Item>,
    /// What computing a value again costs; `None` where that is not possible.
    again: HashMap<Id, Option<u32>>,
    /// Loops of the block around.
    loops: usize,
    /// What bodies leave at their end.
    ends: Vec<End>,
    /// Pieces that use a local memory, and whether one of them stands in a loop.
    local_uses: HashMap<MemId, (HashSet<usize>, bool)>,
    /// Local memories that outlive a piece: their elements are spread over scratch.
    spread_locals: Vec<MemId>,
}

impl Split {
    // ---- cutting

    fn memory(&mut self, ty: Ty) -> MemId {
        let taken = |name: &str, all: &[Memory]| all.iter().any(|m| m.name == name);
        let mut k = self.memories.len();
        while taken(&format!("kept{k}"), &self.memories) {
            k += 1;
        }
        let shape = vec![Size::Const(self.shape.threads())];
        self.memories.push(Memory { name: format!("kept{k}"), ty, space: Space::Scratch, shape });
        MemId(self.memories.len() as u32 - 1)
    }

    /// Ends the piece that is being filled.
    fn close(&mut self, nodes: &mut Vec<Node>) {
        if !self.open.is_empty() {
            nodes.push(Node::Piece(self.pieces, std::mem::take(&mut self.open)));
            self.pieces += 1;
        }
    }

    fn cut(&mut self, body: &Body, nodes: &mut Vec<Node>) -> Result<(), Unwoven> {
        for stmt in &body.stmts {
            if !meets(&stmt.op) {
                self.alone(stmt, nodes);
            } else {
                self.together(stmt, nodes)?;
            }
        }
        Ok(())
    }

    /// A statement in which nobody meets.
    fn alone(&mut self, stmt: &Stmt, nodes: &mut Vec<Node>) {
        let same = !stmt.binds.is_empty() && stmt.binds.iter().all(|b| self.uniform.contains(&b.id));
        if same {
            if super::any_in(&stmt.op, &|op| is_live_read(op, &self.memories)) {
                self.close(nodes);
            }
            return nodes.push(Node::Block(stmt.clone()));
        }
        for bind in &stmt.binds {
            self.defined.insert(bind.id, stmt.clone());
        }
        // Places are made in every piece that asks.
        if matches!(stmt.op, Op::Place(..)) {
            return;
        }
        for bind in &stmt.binds {
            self.home_piece.insert(bind.id, self.pieces);
        }
        let piece = self.pieces;
        let looped = self.loops > 0;
        let locals: Vec<MemId> = local_memories(stmt, &self.memories);
        for memory in locals {
            let entry = self.local_uses.entry(memory).or_default();
            entry.0.insert(piece);
            entry.1 |= looped;
        }
        self.open.push(Item::Stmt(stmt.clone()));
    }

    /// A statement in which threads meet.
    fn together(&mut self, stmt: &Stmt, nodes: &mut Vec<Node>) -> Result<(), Unwoven> {
        match &stmt.op {
            Op::Barrier(_) => self.close(nodes),
            Op::Subgroup(op, args) => self.subgroup(*op, args, &stmt.binds[0], nodes),
            Op::If { args, then, otherwise, .. } => {
                self.close(nodes);
                let homes = self.new_homes(&stmt.binds);
                let mut sides = vec![];
                for side in [then, otherwise] {
                    let mut side = side.clone();
                    rename(&mut side, args);
                    let mut inner = vec![];
                    self.cut(&side, &mut inner)?;
                    self.end(&homes, &side, &[]);
                    self.close(&mut inner);
                    sides.push(inner);
                }
                let mut kept = stmt.clone();
                if let Op::If { args, then, otherwise, .. } = &mut kept.op {
                    for side in [then, otherwise] {
                        rename(side, args);
                        side.params.clear();
                    }
                    args.clear();
                }
                nodes.push(Node::Control(kept, sides));
            }
            Op::For { init, body, .. } => {
                let homes = self.state_homes(stmt, init, &[&body.params[1..]]);
                self.close(nodes);
                let mut inner = vec![];
                self.loops += 1;
                self.cut(body, &mut inner)?;
                self.end(&homes, body, &body.params[1..]);
                self.close(&mut inner);
                self.loops -= 1;
                nodes.push(Node::Control(stmt.clone(), vec![inner]));
            }
            Op::While { init, cond, body } => {
                let homes = self.state_homes(stmt, init, &[&cond.params, &body.params]);
                self.close(nodes);
                let mut asked = vec![];
                let mut inner = vec![];
                self.loops += 1;
                self.cut(cond, &mut asked)?;
                self.close(&mut asked);
                self.cut(body, &mut inner)?;
                self.end(&homes, body, &body.params);
                self.close(&mut inner);
                self.loops -= 1;
                nodes.push(Node::Control(stmt.clone(), vec![asked, inner]));
            }
            other => unreachable!("only branches and loops have meetings inside: {other:?}"),
        }
        Ok(())
    }

    /// Homes for results that differ between threads.
    fn new_homes(&mut self, binds: &[Var]) -> Vec<Option<MemId>> {
        let differs = |s: &Self, bind: &Var| !s.uniform.contains(&bind.id);
        binds
            .iter()
            .map(|bind| {
                differs(self, bind).then(|| {
                    let home = self.memory(bind.ty.elem());
                    self.homes.insert(bind.id, home);
                    home
                })
            })
            .collect()
    }

    /// Homes for the state of a loop that differs between threads, filled with what it starts with.
    fn state_homes(&mut self, stmt: &Stmt, init: &[Id], params: &[&[Var]]) -> Vec<Option<MemId>> {
        let homes = self.new_homes(&stmt.binds);
        for (k, home) in homes.iter().enumerate() {
            if let Some(home) = home {
                self.homes.extend(params.iter().map(|params| (params[k].id, *home)));
            }
        }
        self.save(&homes, init);
        homes
    }

    /// Saves the results of a body, whose state is called `params` in it.
    fn end(&mut self, homes: &[Option<MemId>], body: &Body, params: &[Var]) {
        let own: HashSet<Id> = body.names().collect();
        for (k, home) in homes.iter().enumerate() {
            let value = body.results[k];
            if let Some(home) = *home
                && own.contains(&value)
            {
                self.ends.push(End { home, value, before: params.get(k).map(|p| p.id) });
            }
        }
        self.save(homes, &body.results);
    }

    fn save(&mut self, homes: &[Option<MemId>], values: &[Id]) {
        let moved = |(home, id): (&Option<MemId>, &Id)| Some((home.as_ref().copied()?, *id));
        let saved: Vec<(MemId, Id)> = homes.iter().zip(values).filter_map(moved).collect();
        // A state that is passed on is where it belongs.
        let saved: Vec<(MemId, Id)> = saved.into_iter().filter(|(home, id)| self.homes.get(id) != Some(home)).collect();
        if !saved.is_empty() {
            self.open.push(Item::Save(saved));
        }
    }

    fn subgroup(&mut self, op: SubgroupOp, args: &[Id], bind: &Var, nodes: &mut Vec<Node>) {
        let ty = self.w.types[&args[0]];
        let from = self.memory(ty);
        self.open.push(Item::Save(vec![(from, args[0])]));
        self.close(nodes);
        match op {
            SubgroupOp::Shuffle | SubgroupOp::ShuffleXor | SubgroupOp::ShuffleUp | SubgroupOp::ShuffleDown => {
                self.home_piece.insert(bind.id, self.pieces);
                self.open.push(Item::Shuffle { op, from, lane: args[1], bind: bind.clone() });
            }
            SubgroupOp::Reduce(_)
            | SubgroupOp::Scan(_)
            | SubgroupOp::Broadcast
            | SubgroupOp::Ballot
            | SubgroupOp::Any
            | SubgroupOp::All => {
                let to = self.memory(bind.ty.elem());
                self.homes.insert(bind.id, to);
                nodes.push(Node::Group(op, from, to));
            }
        }
    }

    // ---- values that live across a cut

    /// A value that a body computes in one piece and leaves at its end can move into its home at once, unless
    /// somebody still asks for what was there.
    fn settle(&mut self, nodes: &[Node]) {
        let mut last: HashMap<Id, usize> = HashMap::new();
        last_uses(nodes, &mut last);
        for End { home, value, before } in std::mem::take(&mut self.ends) {
            let Some(&piece) = self.home_piece.get(&value) else { continue };
            let free = before.and_then(|id| last.get(&id)).is_none_or(|&last| last <= piece);
            if free && !self.homes.contains_key(&value) && last.get(&value).is_some_and(|&last| last > piece) {
                self.homes.insert(value, home);
                self.saves.entry(piece).or_default().push((home, value));
            }
        }
    }

    fn cross(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::Block(_) | Node::Group(..) => {}
                Node::Control(_, bodies) => bodies.iter().for_each(|body| self.cross(body)),
                Node::Piece(piece, items) => {
                    let mut used = vec![];
                    items.iter().for_each(|item| item.each_use(&mut |id| used.push(id)));
                    used.into_iter().for_each(|id| self.cross_one(*piece, id));
                }
            }
        }
    }

    fn cross_one(&mut self, piece: usize, id: Id) {
        let Some(&from) = self.home_piece.get(&id) else { return };
        if from == piece || self.homes.contains_key(&id) || self.cost(id).is_some_and(|cost| cost <= CHEAP) {
            return;
        }
        let home = self.memory(self.w.types[&id]);
        self.homes.insert(id, home);
        self.saves.entry(from).or_default().push((home, id));
    }

    /// What computing a value again costs, if it hangs on nothing but places and what is uniform.
    fn cost(&mut self, id: Id) -> Option<u32> {
        if self.uniform.contains(&id) {
            return Some(0);
        }
        if let Some(known) = self.again.get(&id) {
            return *known;
        }
        let stmt = self.defined.get(&id)?.clone();
        let own = match &stmt.op {
            Op::Place(..) => Some(0),
            Op::Apply(operator, _) => Some(operator.row().cost),
            Op::Cast(..) | Op::Bitcast(..) => Some(1),
            _ => None,
        };
        let mut operands = vec![];
        stmt.op.each_operand(&mut |id| operands.push(id));
        let parts: Option<u32> = operands.into_iter().map(|id| self.cost(id)).sum();
        let cost = own.zip(parts).map(|(own, parts)| own.saturating_add(parts));
        self.again.insert(id, cost);
        cost
    }

    /// Arrays of threads that are used in one piece only stay there.
    fn place_locals(&mut self) {
        let threads = Size::Const(self.shape.threads());
        let large = super::large_locals(&self.memories);
        for (memory, (pieces, looped)) in std::mem::take(&mut self.local_uses) {
            if pieces.len() > 1 || looped || large.contains(&memory) {
                let memory_ = &mut self.memories[memory.0 as usize];
                memory_.space = Space::Scratch;
                memory_.shape.push(threads.clone());
                self.spread_locals.push(memory);
            }
        }
    }

    // ---- writing

    fn emit(&mut self, nodes: Vec<Node>) {
        for node in nodes {
            match node {
                Node::Block(stmt) => self.w.out.push(stmt),
                Node::Piece(piece, items) => self.piece(piece, items),
                Node::Control(stmt, bodies) => self.control(stmt, bodies),
                Node::Group(op, from, to) => group::write(&mut self.w, &self.shape, op, from, to, &self.memories),
            }
        }
    }

    /// A branch or loop of the block: what differs between threads lives elsewhere.
    fn control(&mut self, mut stmt: Stmt, bodies: Vec<Vec<Node>>) {
        let keep: Vec<bool> = stmt.binds.iter().map(|b| self.uniform.contains(&b.id)).collect();
        let mut kept = |k: usize| keep[k];
        retain(&mut stmt.binds, &mut kept);
        match &mut stmt.op {
            Op::If { .. } => {}
            Op::For { init, body, .. } => {
                retain(init, &mut kept);
                retain(&mut body.params, &mut |k| k == 0 || kept(k - 1));
            }
            Op::While { init, cond, body } => {
                retain(init, &mut kept);
                retain(&mut cond.params, &mut kept);
                retain(&mut body.params, &mut kept);
            }
            other => unreachable!("only branches and loops are control flow: {other:?}"),
        }
        let asks = matches!(stmt.op, Op::While { .. });
        for (k, (body, nodes)) in stmt.op.bodies_mut().into_iter().zip(bodies).enumerate() {
            let around = self.w.begin();
            self.emit(nodes);
            body.stmts = self.w.end(around);
            if !(asks && k == 0) {
                retain(&mut body.results, &mut kept);
            }
        }
        self.w.out.push(stmt);
    }

    /// A loop over the threads.
    fn piece(&mut self, piece: usize, items: Vec<Item>) {
        let saves = self.saves.remove(&piece).unwrap_or_default();
        let thread = self.shape.open(&mut self.w);
        let turn = Var { id: thread.turn, ty: Type::Scalar(Ty::I64) };
        let bounds = thread.bounds;
        let around = self.w.begin();
        let mut inside = Inside { piece, thread, names: HashMap::new() };
        for item in items {
            self.item(&mut inside, item);
        }
        if !saves.is_empty() {
            self.item(&mut inside, Item::Save(saves));
        }
        let stmts = self.w.end(around);
        trim::lanes(&mut self.w, bounds, turn, stmts);
        self.shape.close(&mut self.w, &self.memories, inside.thread);
    }

    fn item(&mut self, inside: &mut Inside, item: Item) {
        let item = match item {
            // What moved in at once is there already.
            Item::Save(mut values) => {
                let own = |id: &Id| self.home_piece.get(id) == Some(&inside.piece);
                values.retain(|(memory, id)| self.homes.get(id) != Some(memory) || own(id));
                Item::Save(values)
            }
            item => item,
        };
        let mut used = vec![];
        item.each_use(&mut |id| used.push(id));
        for id in used {
            self.bring(inside, id);
        }
        let name = |id: &mut Id| *id = *inside.names.get(id).unwrap_or(id);
        match item {
            Item::Stmt(mut stmt) => {
                stmt.op.each_operand_mut(&mut { name });
                stmt.op.bodies_mut().into_iter().for_each(|body| body.each_use_mut(&mut { name }));
                self.spread(inside, &mut stmt.op);
                self.w.note_one(&stmt);
                self.w.out.push(stmt);
            }
            Item::Save(mut values) => {
                if values.is_empty() {
                    return;
                }
                let index = inside.thread.number(&mut self.w);
                for (memory, value) in &mut values {
                    name(value);
                    self.w.act(Op::Store { memory: *memory, index: vec![index], values: vec![*value] });
                }
            }
            Item::Shuffle { op, from, mut lane, bind } => {
                name(&mut lane);
                let index = group::source(&mut self.w, &self.shape, &mut inside.thread, op, lane);
                self.w.out.push(Stmt { binds: vec![bind], op: Op::Load { memory: from, index: vec![index] } });
            }
        }
    }

    /// Makes a name of another piece mean something here.
    fn bring(&mut self, inside: &mut Inside, id: Id) {
        let own = self.home_piece.get(&id) == Some(&inside.piece);
        if own || self.uniform.contains(&id) || inside.names.contains_key(&id) {
            return;
        }
        if let Some(&memory) = self.homes.get(&id) {
            let index = inside.thread.number(&mut self.w);
            let here = self.w.push(Op::Load { memory, index: vec![index] }, self.w.types[&id]);
            inside.names.insert(id, here);
            return;
        }
        // A name that a body of this piece binds.
        let Some(stmt) = self.defined.get(&id).cloned() else { return };
        let here = match &stmt.op {
            Op::Place(place, d) => inside.thread.place(&mut self.w, &self.shape, *place, *d),
            op => {
                let mut op = op.clone();
                op.each_operand(&mut |operand| self.bring(inside, operand));
                op.each_operand_mut(&mut |id| *id = *inside.names.get(id).unwrap_or(id));
                self.w.push(op, stmt.binds[0].ty.elem())
            }
        };
        inside.names.insert(id, here);
    }

    /// Arrays of threads that are spread over scratch have the thread as their last axis.
    fn spread(&mut self, inside: &mut Inside, op: &mut Op) {
        if self.spread_locals.iter().any(|&memory| super::touches(op, memory)) {
            let thread = inside.thread.number(&mut self.w);
            super::spread_one(op, &self.spread_locals, thread);
        }
    }
}

/// A piece being written.
struct Inside {
    piece: usize,
    thread: Thread,
    /// What names of other pieces are called here.
    names: HashMap<Id, Id>,
}

impl Item {
    /// The names from outside that the item uses.
    fn each_use(&self, f: &mut dyn FnMut(Id)) {
        match self {
            Item::Stmt(stmt) => {
                stmt.op.each_operand(f);
                stmt.op.bodies().into_iter().for_each(|body| body.each_free(f));
            }
            Item::Save(values) => values.iter().for_each(|(_, id)| f(*id)),
            Item::Shuffle { lane, .. } => f(*lane),
        }
    }
}

/// The last piece that uses each name.
fn last_uses(nodes: &[Node], last: &mut HashMap<Id, usize>) {
    for node in nodes {
        match node {
            Node::Block(_) | Node::Group(..) => {}
            Node::Control(_, bodies) => bodies.iter().for_each(|body| last_uses(body, last)),
            Node::Piece(piece, items) => {
                // Pieces are numbered in their order.
                items.iter().for_each(|item| item.each_use(&mut |id| _ = last.insert(id, *piece)));
            }
        }
    }
}

/// Replaces the parameters of a branch by its arguments.
fn rename(body: &mut Body, args: &[Id]) {
    let names: HashMap<Id, Id> = body.params.iter().map(|p| p.id).zip(args.iter().copied()).collect();
    body.each_use_mut(&mut |id| *id = *names.get(id).unwrap_or(id));
}

fn retain<T>(list: &mut Vec<T>, keep: &mut dyn FnMut(usize) -> bool) {
    let mut k = 0;
    list.retain(|_| {
        k += 1;
        keep(k - 1)
    });
}

fn local_memories(stmt: &Stmt, memories: &[Memory]) -> Vec<MemId> {
    let local = |id: &MemId| memories[id.0 as usize].space == Space::Local;
    let all = (0..memories.len() as u32).map(MemId).filter(local);
    all.filter(|&id| super::touches(&stmt.op, id)).collect()
}
