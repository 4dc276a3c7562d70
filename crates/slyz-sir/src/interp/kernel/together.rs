//! What threads do together: barriers, fences, subgroups, and the turns of `Lanes`.

use super::error::{DivergentBarrier, KernelError};
use super::memory::Bank;
use super::run::{Columns, Machine, truths};
use super::wave::{Column, Kind, Outer, Wave, malformed};
use crate::code::{Body, Id, Monoid, Scope, SubgroupOp};
use crate::interp::fold::fold_in_order;
use crate::ops::Operator;
use crate::types::{Scalar, Ty};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// How many turns run in step.
pub(super) const BATCH: u64 = 256;

impl Machine<'_> {
    pub(super) fn barrier(&mut self, wave: &Wave, scope: Scope, mask: &[bool]) -> Result<Columns, KernelError> {
        self.only_threads(wave, "a barrier")?;
        match scope {
            Scope::Device => return Err(malformed("nobody can wait for another block: Device is for fences only")),
            Scope::Block => {
                self.all_arrive(scope, mask, 0..self.threads)?;
                self.order.barrier();
            }
            Scope::Subgroup => {
                for (number, lanes) in self.subgroups(mask) {
                    self.all_arrive(scope, mask, lanes)?;
                    self.order.subgroup_barrier(number);
                }
            }
        }
        Ok(vec![])
    }

    pub(super) fn fence(&mut self, wave: &Wave, scope: Scope, mask: &[bool]) -> Result<Columns, KernelError> {
        match scope {
            // Inside a block only barriers order accesses here; see `race`.
            Scope::Subgroup | Scope::Block => {}
            Scope::Device => {
                let agents: Vec<u32> = (0..wave.width).filter(|&p| mask[p]).map(|p| self.agent(wave, p)).collect();
                self.order.fence(agents.into_iter());
            }
        }
        Ok(vec![])
    }

    /// One subgroup operation. Reductions and scans go through the active lanes in increasing order.
    pub(super) fn subgroup(
        &mut self,
        wave: &mut Wave,
        op: SubgroupOp,
        args: &[Id],
        mask: &[bool],
    ) -> Result<Rc<Column>, KernelError> {
        self.only_threads(wave, "a subgroup operation")?;
        let args = wave.get_all(args)?;
        let arity = match op {
            SubgroupOp::Shuffle | SubgroupOp::ShuffleXor | SubgroupOp::ShuffleUp | SubgroupOp::ShuffleDown => 2,
            SubgroupOp::Reduce(_)
            | SubgroupOp::Scan(_)
            | SubgroupOp::Broadcast
            | SubgroupOp::Ballot
            | SubgroupOp::Any
            | SubgroupOp::All => 1,
        };
        if args.len() != arity {
            return Err(malformed(format!("{op:?} takes {arity} operands, not {}", args.len())));
        }
        let value = &args[0];
        let ty = match op {
            SubgroupOp::Ballot => Ty::U64,
            SubgroupOp::Any | SubgroupOp::All => Ty::Bool,
            SubgroupOp::Reduce(_)
            | SubgroupOp::Scan(_)
            | SubgroupOp::Shuffle
            | SubgroupOp::ShuffleXor
            | SubgroupOp::ShuffleUp
            | SubgroupOp::ShuffleDown
            | SubgroupOp::Broadcast => value.ty,
        };
        let mut out = Column { ty, bits: vec![0; wave.width] };
        for (_, lanes) in self.subgroups(mask) {
            let start = lanes.start;
            let active: Vec<usize> = lanes.filter(|&p| mask[p]).collect();
            let mut give_all = |bits: u64| active.iter().for_each(|&p| out.bits[p] = bits);
            match op {
                SubgroupOp::Reduce(operator) => {
                    if let Some(last) = prefixes(operator, value, &active)?.last() {
                        give_all(last.bits);
                    }
                }
                SubgroupOp::Scan(operator) => {
                    let prefixes = prefixes(operator, value, &active)?;
                    active.iter().zip(prefixes).for_each(|(&p, prefix)| out.bits[p] = prefix.bits);
                }
                SubgroupOp::Broadcast => give_all(value.bits[active[0]]),
                SubgroupOp::Ballot if self.options.subgroup_size > 64 => {
                    return Err(malformed("a ballot has 64 bits, and the subgroup more lanes"));
                }
                SubgroupOp::Ballot => {
                    let holds = truths(value)?;
                    give_all(active.iter().filter(|&&p| holds[p]).map(|&p| 1u64 << (p - start)).sum());
                }
                SubgroupOp::Any => {
                    let holds = truths(value)?;
                    give_all(active.iter().any(|&p| holds[p]) as u64);
                }
                SubgroupOp::All => {
                    let holds = truths(value)?;
                    give_all(active.iter().all(|&p| holds[p]) as u64);
                }
                SubgroupOp::Shuffle | SubgroupOp::ShuffleXor | SubgroupOp::ShuffleUp | SubgroupOp::ShuffleDown => {
                    if !args[1].ty.is_int() {
                        return Err(malformed(format!("a lane of type {}; it must be an integer", args[1].ty)));
                    }
                    for &p in &active {
                        let from = self.source(wave, op, p, start, args[1].at(p).as_int(), mask)?;
                        out.bits[p] = value.bits[from];
                    }
                }
            }
        }
        Ok(Rc::new(out))
    }

    /// From which thread thread `p` of the subgroup at `start` takes its value in a shuffle.
    fn source(
        &self,
        wave: &Wave,
        op: SubgroupOp,
        p: usize,
        start: usize,
        operand: i128,
        mask: &[bool],
    ) -> Result<usize, KernelError> {
        let own = (p - start) as i128;
        let (lane, stays) = match op {
            SubgroupOp::ShuffleXor => (own ^ operand, false),
            SubgroupOp::ShuffleUp => (own - operand, true),
            SubgroupOp::ShuffleDown => (own + operand, true),
            SubgroupOp::Shuffle
            | SubgroupOp::Reduce(_)
            | SubgroupOp::Scan(_)
            | SubgroupOp::Broadcast
            | SubgroupOp::Ballot
            | SubgroupOp::Any
            | SubgroupOp::All => (operand, false),
        };
        let size = i128::from(self.options.subgroup_size);
        let there = Some(lane).filter(|lane| (0..size).contains(lane)).map(|lane| start + lane as usize);
        match there.filter(|&from| from < self.threads) {
            Some(from) if mask[from] => Ok(from),
            None if stays => Ok(p),
            Some(_) | None => Err(KernelError::InactiveLane {
                kernel: self.kernel.name.clone(),
                lane,
                at: Box::new(self.here(wave, p)),
            }),
        }
    }

    /// The turns `lo..hi`, each an agent of its own, then a barrier; their results folded if there is a monoid.
    pub(super) fn lanes(
        &mut self,
        wave: &mut Wave,
        bounds: [Id; 2],
        body: &Body,
        monoid: Option<&Monoid>,
        mask: &[bool],
    ) -> Result<Columns, KernelError> {
        self.only_threads(wave, "lanes")?;
        let diverge =
            |what: String| KernelError::DivergentLanes { kernel: self.kernel.name.clone(), block: self.block, what };
        if let Some(p) = mask.iter().position(|&on| !on) {
            let thread = self.thread_place(p);
            return Err(diverge(format!(
                "thread {thread:?} does not arrive; all threads of the block share the turns"
            )));
        }
        let bounds = wave.get_all(&bounds)?;
        for bound in &bounds {
            if bound.ty != Ty::I64 {
                return Err(malformed(format!("lanes count in i64, not {}", bound.ty)));
            }
            if let Some(p) = (0..wave.width).find(|&p| bound.bits[p] != bound.bits[0]) {
                let a = bound.at(0);
                let b = bound.at(p);
                let thread = self.thread_place(p);
                return Err(diverge(format!("the bound is {a:?} in the first thread and {b:?} in thread {thread:?}")));
            }
        }
        let lo = bounds[0].bits[0] as i64;
        let hi = bounds[1].bits[0] as i64;
        let n = (hi as i128 - lo as i128).clamp(0, u64::MAX as i128) as u64;
        self.count_turns(n)?;
        if n > u64::from(u32::MAX) - self.threads as u64 {
            return Err(KernelError::Turns { kernel: self.kernel.name.clone(), limit: u32::MAX.into() });
        }
        if self.threads == 1 {
            // The only thread takes every turn, after what it did before.
            self.order.barrier();
        }
        let folded = match monoid {
            Some(monoid) => self.fold_turns(wave, (lo, n), body, monoid)?,
            None => {
                for first in (0..n).step_by(BATCH as usize) {
                    let results = self.batch(wave, lo, first, BATCH.min(n - first), body)?;
                    if !results.is_empty() {
                        return Err(malformed("lanes give results but have no monoid to fold them"));
                    }
                }
                vec![]
            }
        };
        self.banks.iter_mut().for_each(Bank::leave_turns);
        self.order.barrier();
        Ok(folded.into_iter().map(|v| Column::uniform(v, wave.width)).collect())
    }

    /// Runs the turns and folds their results in the canonical order.
    fn fold_turns(
        &mut self,
        wave: &Wave,
        (lo, n): (i64, u64),
        body: &Body,
        monoid: &Monoid,
    ) -> Result<Vec<Scalar>, KernelError> {
        let around = self.around(wave);
        let unbound = |id: Id| malformed(format!("the name %{} is not bound here", id.0));
        let neutral = monoid.neutral.iter().map(|&id| around.get(id)?.ok_or_else(|| unbound(id)));
        let neutral = neutral.collect::<Result<Vec<Scalar>, KernelError>>()?;
        let tys = |values: &[Scalar]| values.iter().map(|v| v.ty).collect::<Vec<Ty>>();
        let wanted = tys(&neutral);
        let checked = |values: Vec<Scalar>| {
            let found = tys(&values);
            let wrong = || malformed(format!("a monoid over {wanted:?} is given {found:?}"));
            if found == wanted { Ok(values) } else { Err(wrong()) }
        };
        let (mut first, mut batch): (u64, Columns) = (0, vec![]);
        // Items and combinations take turns with the machine, never both at once.
        let machine = RefCell::new(self);
        let mut item = |turn: u64| {
            if turn.is_multiple_of(BATCH) {
                first = turn;
                batch = machine.borrow_mut().batch(wave, lo, first, BATCH.min(n - first), body)?;
            }
            checked(batch.iter().map(|column| column.at((turn - first) as usize)).collect())
        };
        let mut combine = |a: &[Scalar], b: &[Scalar]| {
            if let (Some(operator), [a], [b]) = (monoid.operator(), a, b) {
                let value = operator.eval(&[*a, *b]);
                let wrong = || malformed(format!("a monoid over {} by {}", a.ty, operator.name()));
                return checked(vec![value.ok_or_else(wrong)?]);
            }
            checked(machine.borrow_mut().combine(wave, monoid, a, b)?)
        };
        fold_in_order(n, monoid.commutative, &mut item, &mut combine, &neutral)
    }

    pub(super) fn combine(
        &mut self,
        outer: &Wave,
        monoid: &Monoid,
        a: &[Scalar],
        b: &[Scalar],
    ) -> Result<Vec<Scalar>, KernelError> {
        let callable = self.kernel.functions.len();
        let outer = Some(self.around(outer));
        let mut wave = Wave { kind: Kind::Pure, width: 1, names: HashMap::new(), outer, callable };
        let args = a.iter().chain(b).map(|&v| Column::uniform(v, 1)).collect();
        let results = self.run_body(&mut wave, &monoid.combine, args, &[true])?;
        Ok(results.iter().map(|column| column.at(0)).collect())
    }

    /// Runs some turns in step.
    fn batch(&mut self, outer: &Wave, lo: i64, first: u64, count: u64, body: &Body) -> Result<Columns, KernelError> {
        self.batch_with(outer, (lo, first, count), vec![], body)
    }

    /// The same, where the body takes more than the turn.
    pub(super) fn batch_with(
        &mut self,
        outer: &Wave,
        (lo, first, count): (i64, u64, u64),
        more: Columns,
        body: &Body,
    ) -> Result<Columns, KernelError> {
        self.banks.iter_mut().for_each(Bank::enter_turns);
        let width = count as usize;
        let kind = Kind::Turns { first: first as u32 };
        let callable = outer.callable;
        let mut wave = Wave { kind, width, names: HashMap::new(), outer: Some(self.around(outer)), callable };
        let bits = (first..first + count).map(|k| (lo + k as i64) as u64).collect();
        let turns = Rc::new(Column { ty: Ty::I64, bits });
        self.run_body(&mut wave, body, [vec![turns], more].concat(), &vec![true; width])
    }

    /// The threads around the turns, as the turns see them.
    pub(super) fn around<'o>(&self, threads: &'o Wave) -> Outer<'o> {
        Outer { names: &threads.names, kernel: self.kernel.name.clone(), block: self.block }
    }

    pub(super) fn only_threads(&self, wave: &Wave, what: &str) -> Result<(), KernelError> {
        match wave.kind {
            Kind::Threads => Ok(()),
            Kind::Turns { .. } | Kind::Pure => Err(malformed(format!(
                "{}: {what} inside lanes, whose turns do not wait for each other",
                self.kernel.name
            ))),
        }
    }

    /// The subgroups with an active thread: number and threads.
    pub(super) fn subgroups(&self, mask: &[bool]) -> Vec<(usize, std::ops::Range<usize>)> {
        let size = self.options.subgroup_size as usize;
        let ranges = (0..self.threads).step_by(size).map(|start| start..self.threads.min(start.saturating_add(size)));
        ranges.enumerate().filter(|(_, lanes)| mask[lanes.clone()].contains(&true)).collect()
    }

    fn all_arrive(&self, scope: Scope, mask: &[bool], threads: std::ops::Range<usize>) -> Result<(), KernelError> {
        let (arrived, missing): (Vec<usize>, Vec<usize>) = threads.partition(|&p| mask[p]);
        if missing.is_empty() {
            return Ok(());
        }
        let places = |threads: Vec<usize>| threads.into_iter().map(|p| self.thread_place(p)).collect();
        Err(KernelError::DivergentBarrier(Box::new(DivergentBarrier {
            kernel: self.kernel.name.clone(),
            scope,
            block: self.block,
            arrived: places(arrived),
            missing: places(missing),
        })))
    }
}

/// The reductions of the active lanes up to each.
fn prefixes(operator: Operator, value: &Column, active: &[usize]) -> Result<Vec<Scalar>, KernelError> {
    let mut prefixes: Vec<Scalar> = Vec::with_capacity(active.len());
    if !operator.row().associative || operator.result(&[value.ty; 2]) != Some(value.ty) {
        return Err(malformed(format!("a subgroup cannot reduce {} by {}", value.ty, operator.name())));
    }
    for &p in active {
        let next = match prefixes.last() {
            None => Some(value.at(p)),
            Some(&last) => operator.eval(&[last, value.at(p)]),
        };
        prefixes.push(next.ok_or_else(|| malformed(format!("{} on {}", operator.name(), value.ty)))?);
    }
    Ok(prefixes)
}
