//! One walk over a plan: allocate, upload, launch, count, give the results.
//!
//! Arrays are made where they are first used, since their shapes may hang on a count. All memory of a call is held until its
//! launches are submitted: a pool that had it before might lend it to a call of another thread, whose launches would come first.

use super::engine::{Engine, Few, Launch};
use super::numbers::{LaunchNumbers, Prepared, result};
use super::variant::Variant;
use crate::progress;
use crate::signature::{Bound, Sizes};
use crate::turns::most_turns;
use crate::{ArrayData, Buffer, Error, LaunchTime, Output, profile};
use slyz_sir::kernel::{BufferId, BufferUse, Plan, ScalarArg, Step};
use slyz_sir::size::SizeVar;

/// How many steps there are, those inside of others included.
pub(super) fn length(steps: &[Step]) -> usize {
    steps.iter().map(Step::len).sum()
}

/// Does somebody want to know of each launch or turn? Then the device cannot be told many at once.
pub(super) fn is_watched() -> bool {
    profile::listening() || most_turns().is_some() || progress::is_watched()
}

/// Bytes of a count.
const COUNT: usize = size_of::<i64>();

/// One call in progress.
pub(super) struct Call<'e, 'a, E: Engine> {
    pub(super) engine: &'e E,
    pub(super) prepared: &'e Prepared<E>,
    pub(super) sizes: Sizes<'e>,
    pub(super) args: Vec<Bound<'a>>,
    pub(super) slots: Vec<Slot<'a, E>>,
    pub(super) queue: E::Queue,
    /// The turns of the loops around the step.
    pub(super) turn: Few<i64>,
    /// Bytes that each launch reads and writes, where the plan does not tell.
    pub(super) traffic: Option<(u64, u64)>,
    /// The caller has given memory for results.
    pub(super) offered: bool,
    /// While the device keeps launches to run them again: the arrays that those need besides.
    pub(super) recorded: Option<Vec<E::Array<'a>>>,
}

/// What stands behind a buffer of the plan.
pub(super) enum Slot<'a, E: Engine> {
    /// Not used yet.
    Empty,
    /// An array, and how many of its bytes count.
    Here(E::Array<'a>, usize),
    /// A result that was given out, and will be again.
    Given(Buffer),
    /// Used no more.
    Freed,
}

impl<'e, 'a, E: Engine> Call<'e, 'a, E> {
    /// A call that has taken no step.
    pub(super) fn new(
        engine: &'e E,
        prepared: &'e Prepared<E>,
        sizes: Sizes<'e>,
        args: Vec<Bound<'a>>,
        slots: Vec<Slot<'a, E>>,
        queue: E::Queue,
    ) -> Self {
        Call {
            engine,
            prepared,
            sizes,
            args,
            slots,
            queue,
            turn: Few::new(),
            traffic: None,
            offered: false,
            recorded: None,
        }
    }

    fn variant(&self) -> &'e Variant<E> {
        &self.prepared.variant
    }

    pub(super) fn plan(&self) -> &'e Plan {
        &self.prepared.variant.plan
    }

    fn broken(&self, why: String) -> Error {
        self.variant().broken(why)
    }

    /// Takes all steps of the plan, and gives the device what is left to do.
    ///
    /// # Safety
    /// Where the slots were filled before, the arrays that a launch writes are nobody else's. Accesses of all launches are inside
    /// their memories, or looked at by the code.
    pub(super) unsafe fn walk(&mut self) -> Result<(), Error> {
        // SAFETY: the caller's promise.
        unsafe { self.steps(&self.plan().steps, 0) }?;
        self.submit()
    }

    /// Takes some steps; `place` is the number of the first among all of the plan.
    ///
    /// # Safety
    /// As [`Call::walk`].
    pub(super) unsafe fn steps(&mut self, steps: &'e [Step], mut place: usize) -> Result<(), Error> {
        for step in steps {
            match step {
                Step::Launch { kernel, buffers, scalars } => {
                    // SAFETY: the caller's promise.
                    unsafe { self.launch(place, *kernel, buffers, scalars) }?;
                }
                Step::Count { size, from } => self.count(*size, *from)?,
                Step::Free(id) => self.free(*id),
                Step::Loop(turns) => {
                    // SAFETY: the caller's promise.
                    unsafe { self.turns(turns, place + 1) }?;
                }
                Step::Choose { work, most, small, large } => {
                    // Whoever bounds loops or watches them wants their turns to be counted.
                    let wanted = most_turns().is_some() || progress::is_watched();
                    let counts = wanted && large.iter().any(Step::is_open_loop);
                    let is_small = !counts && self.sizes.eval(work).is_ok_and(|work| work <= *most);
                    let (way, first) = if is_small { (small, place + 1) } else { (large, place + 1 + length(small)) };
                    // SAFETY: the caller's promise.
                    unsafe { self.steps(way, first) }?;
                }
            }
            place += step.len();
        }
        Ok(())
    }

    /// Waits for the launches that a buffer is of, and reads its one element.
    pub(super) fn read_back<const N: usize>(&mut self, from: BufferId) -> Result<[u8; N], Error> {
        let what = self.variant();
        let mut bytes = [0; N];
        match &self.slots[from.0 as usize] {
            Slot::Here(array, len) if *len == N => self.engine.read_back(&mut self.queue, array, &mut bytes, what)?,
            Slot::Here(..) | Slot::Empty | Slot::Given(_) | Slot::Freed => {
                return Err(self.broken(format!("what is read back of buffer {} was not made", from.0)));
            }
        }
        Ok(bytes)
    }

    /// Waits for the launch that a scalar is of, and reads its bits.
    fn read_scalar(&mut self, from: BufferId) -> Result<u64, Error> {
        Ok(match self.plan().buffers[from.0 as usize].ty.bytes() {
            1 => self.read_back::<1>(from)?[0].into(),
            2 => u16::from_ne_bytes(self.read_back(from)?).into(),
            4 => u32::from_ne_bytes(self.read_back(from)?).into(),
            _ => u64::from_ne_bytes(self.read_back(from)?),
        })
    }

    pub(super) fn submit(&mut self) -> Result<(), Error> {
        let what = self.variant();
        self.engine.submit(&mut self.queue, what)
    }

    fn free(&mut self, id: BufferId) {
        if let Slot::Here(array, _) = std::mem::replace(&mut self.slots[id.0 as usize], Slot::Freed) {
            match &mut self.recorded {
                Some(kept) => kept.push(array),
                None => self.engine.free(&mut self.queue, array),
            }
        }
    }

    /// Reads a size back.
    fn count(&mut self, size: SizeVar, from: BufferId) -> Result<(), Error> {
        if self.plan().buffers[from.0 as usize].role != BufferUse::Temporary {
            return Err(self.broken(format!("the count in buffer {} is not a temporary", from.0)));
        }
        let bytes = self.read_back::<COUNT>(from)?;
        let count = u64::try_from(i64::from_ne_bytes(bytes));
        let count = count.map_err(|_| self.broken("a count is negative".to_string()))?;
        self.sizes.count(size, count)
    }

    /// # Safety
    /// As [`Call::walk`].
    unsafe fn launch(
        &mut self,
        step: usize,
        index: usize,
        buffers: &[BufferId],
        scalars: &[ScalarArg],
    ) -> Result<(), Error> {
        let counted;
        let numbers = match &self.prepared.launches[step] {
            Some(numbers) => numbers,
            None => {
                counted = LaunchNumbers::new(self.engine, self.variant(), index, buffers, &self.sizes, 0)?;
                &counted
            }
        };
        for id in buffers {
            self.fill(*id)?;
        }
        let mut read: Few<u64> = Few::new();
        for id in scalars.iter().filter_map(ScalarArg::read) {
            read.push(self.read_scalar(id)?);
        }
        let mut read = read.into_iter();
        let mut arrays: Few<&E::Array<'_>> = Few::new();
        for (place, (id, &bytes)) in buffers.iter().zip(&numbers.memories).enumerate() {
            let Slot::Here(array, len) = &self.slots[id.0 as usize] else {
                return Err(self.broken(format!("buffer {} is used after it was freed", id.0)));
            };
            if *len < bytes {
                let kernel = &self.plan().kernels[index];
                let name = kernel.bound_memories().nth(place).map_or("", |memory| &memory.name);
                return Err(self.broken(format!("{name} of {} has {bytes} bytes, its buffer {len}", kernel.name)));
            }
            arrays.push(array);
        }
        let mut words: Few<u64> = Few::new();
        let mut resident = vec![];
        for (k, scalar) in scalars.iter().enumerate() {
            let place = match *scalar {
                ScalarArg::Argument(place) => place,
                ScalarArg::Turn(depth) => {
                    let Some(&turn) = self.turn.get(depth as usize) else {
                        return Err(self.broken(format!("there is no loop {depth} around a launch")));
                    };
                    words.push(turn as u64);
                    continue;
                }
                ScalarArg::Const(value) => {
                    words.push(value.bits);
                    continue;
                }
                ScalarArg::Read(_) => {
                    words.push(read.next().unwrap_or_default());
                    continue;
                }
            };
            words.push(match self.args.get(place) {
                Some(Bound::Scalar(scalar)) => scalar.bits,
                Some(Bound::Array(ArrayData::Buffer(buffer))) => {
                    resident.push((k, *buffer));
                    0
                }
                Some(Bound::Array(ArrayData::Host(_))) | None => {
                    return Err(self.broken(format!("argument {place} is not a scalar")));
                }
            });
        }
        let launch = Launch { pieces: &numbers.pieces, arrays: &arrays, scalars: &words, resident: &resident };
        if !profile::listening() {
            // SAFETY: the numbers are of this call's variant, which lives as long as it. Each array has the bytes its memory needs,
            // checked above. Those that are written are arrays that this call owns, or that its caller passed as such, and have one
            // name in the launch; the others are borrowed by the call or never written (`Variant::of_program`). The rest is the caller's promise.
            return unsafe { self.engine.launch(&mut self.queue, &launch) };
        }
        // SAFETY: the same.
        let (seconds, clock) = unsafe { self.engine.time(&mut self.queue, &launch) }?;
        if !numbers.pieces.is_empty() {
            let kernel = &self.plan().kernels[index];
            let traffic = || profile::traffic(self.plan(), kernel, buffers, self.sizes.values());
            let (read, written) = self.traffic.unwrap_or_else(traffic);
            let kernel = kernel.name.clone();
            let device = E::NAME.to_string();
            profile::tell(LaunchTime { kernel, device, seconds, clock, read, written });
        }
        Ok(())
    }

    /// Makes the array behind a buffer at its first use; an argument from elsewhere is uploaded then.
    pub(super) fn fill(&mut self, id: BufferId) -> Result<(), Error> {
        let index = id.0 as usize;
        if !matches!(self.slots[index], Slot::Empty) {
            return Ok(());
        }
        let plan = self.plan();
        let buffer = &plan.buffers[index];
        let (name, at) = (&plan.name, E::PLACE);
        if let BufferUse::Argument(place) = buffer.role {
            let data = match self.args.get(place) {
                Some(Bound::Array(data)) => *data,
                Some(Bound::Scalar(_)) | None => return Err(self.broken(format!("argument {place} is not an array"))),
            };
            let what = format_args!("argument {} of \"{name}\"{at}", place + 1);
            self.slots[index] = Slot::Here(self.engine.upload(buffer.ty, data, &what)?, data.len());
            return Ok(());
        }
        let bytes = match self.prepared.buffers.get(index) {
            Some(&bytes) => bytes,
            None => self.sizes.extent(buffer.ty, &buffer.shape)?.1,
        };
        let array = match buffer.role {
            BufferUse::Result(place) => {
                self.engine.allocate(&mut self.queue, bytes, &format_args!("result {place} of \"{name}\"{at}"))
            }
            BufferUse::Temporary | BufferUse::Argument(_) => {
                self.engine.allocate(&mut self.queue, bytes, &format_args!("a temporary array of \"{name}\"{at}"))
            }
        };
        self.slots[index] = Slot::Here(array?, bytes);
        Ok(())
    }

    /// Takes memory of the caller's for a result, if that is to be written from nothing, and nobody else sees the memory.
    pub(super) fn offer(&mut self, number: usize, buffer: &'a mut Buffer) -> Result<(), Error> {
        let plan = self.plan();
        let Some((id, _)) = plan.results.get(number) else { return Ok(()) };
        let index = id.0 as usize;
        let is_result = matches!(plan.buffers[index].role, BufferUse::Result(_));
        let bytes = self.prepared.buffers.get(index).copied();
        let fits = bytes == Some(buffer.len()) && matches!(self.slots[index], Slot::Empty);
        if is_result && fits && self.engine.writes(buffer) && buffer.is_alone() {
            let len = buffer.len();
            let what = format_args!("result {number} of \"{}\"{}", plan.name, E::PLACE);
            let (array, _) = self.engine.own(&mut self.queue, buffer, &what)?;
            self.slots[index] = Slot::Here(array, len);
            self.offered = true;
        }
        Ok(())
    }

    /// The results, when all steps are taken.
    pub(super) fn outputs(&mut self) -> Result<Vec<Output>, Error> {
        let results = &self.plan().results;
        let mut outputs = Vec::with_capacity(results.len());
        for (number, (id, shape)) in results.iter().enumerate() {
            let (shape, bytes) = match self.prepared.results.get(number) {
                Some(known) => known.clone(),
                None => result(self.plan(), &self.sizes, *id, shape)?,
            };
            let data = self.take(*id, bytes)?;
            if data.len() < bytes {
                return Err(self.broken(format!("the result in buffer {} is smaller than its shape", id.0)));
            }
            // The same buffer may be a second result.
            if results[number + 1..].iter().any(|(later, _)| later == id) {
                self.slots[id.0 as usize] = Slot::Given(data.clone());
            }
            let data = if data.len() == bytes { data } else { data.prefix(bytes) };
            outputs.push(Output { ty: self.plan().buffers[id.0 as usize].ty, shape, data });
        }
        Ok(outputs)
    }

    /// Takes what a result of so many bytes is in.
    fn take(&mut self, id: BufferId, bytes: usize) -> Result<Buffer, Error> {
        let index = id.0 as usize;
        if let BufferUse::Argument(place) = self.plan().buffers[index].role {
            match (self.args.get(place), &self.slots[index]) {
                (Some(Bound::Array(ArrayData::Buffer(buffer))), _) => return self.engine.share(buffer),
                // What nothing reads has no need to be on the device.
                (Some(Bound::Array(ArrayData::Host(data))), Slot::Empty) => return Buffer::copy_of(data),
                _ => {}
            }
        } else if matches!(self.slots[index], Slot::Empty) && bytes > 0 {
            return Err(self.broken(format!("nothing writes the result in buffer {}", id.0)));
        }
        self.fill(id)?;
        match std::mem::replace(&mut self.slots[index], Slot::Freed) {
            Slot::Here(array, len) => self.engine.buffer(array, len),
            Slot::Given(buffer) => Ok(buffer),
            Slot::Empty | Slot::Freed => Err(self.broken(format!("the result in buffer {} was freed", id.0))),
        }
    }
}
