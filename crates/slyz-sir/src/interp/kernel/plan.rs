//! Runs a whole plan: allocates buffers, launches, reads counts back, gathers results.
//!
//! An allocation starts undefined, as on a device. Every bit of it is set here, so that floats are NaN and a program
//! that relies on fresh memory being zero does not get away with it.

use super::error::KernelError;
use super::wave::malformed;
use super::{LaunchOptions, argument, count, launch_on, shape};
use crate::code::Type;
use crate::interp::{Array, Value};
use crate::kernel::{Access, Buffer, BufferId, BufferUse, Kernel, Loop, Plan, ScalarArg, Space, Step, Turns};
use crate::lower::gpu::{Limits, Windowed};
use crate::size::{Size, SizeOrigin, SizeVar};
use crate::types::{Scalar, Ty};

/// The elements of a buffer, at this point of the plan.
enum State {
    /// Nothing touched it yet.
    Fresh,
    /// Its elements.
    Held(Vec<u64>),
    /// Not to be used any more.
    Freed,
}

struct Run<'a> {
    plan: &'a Plan,
    sizes: Vec<Option<u64>>,
    args: &'a [Value],
    options: LaunchOptions,
    limits: Option<Limits>,
    states: Vec<State>,
    /// The turns of the loops around the step.
    turns: Vec<i64>,
}

/// Runs a plan with default [`LaunchOptions`]. `sizes` are the values of its size variables in order, `None` for those
/// that the plan counts; `args` are the arguments in the order of the parameters.
pub fn run_plan(plan: &Plan, sizes: &[Option<u64>], args: &[Value]) -> Result<Vec<Value>, KernelError> {
    run_plan_with(plan, sizes, args, &LaunchOptions::default())
}

/// The same with other options for every launch.
pub fn run_plan_with(
    plan: &Plan,
    sizes: &[Option<u64>],
    args: &[Value],
    options: &LaunchOptions,
) -> Result<Vec<Value>, KernelError> {
    run_plan_within(plan, sizes, args, options, None)
}

/// The same, with every launch cut into pieces within limits.
pub fn run_plan_in_windows(
    plan: &Plan,
    sizes: &[Option<u64>],
    args: &[Value],
    options: &LaunchOptions,
    limits: &Limits,
) -> Result<Vec<Value>, KernelError> {
    run_plan_within(plan, sizes, args, options, Some(*limits))
}

fn run_plan_within(
    plan: &Plan,
    sizes: &[Option<u64>],
    args: &[Value],
    options: &LaunchOptions,
    limits: Option<Limits>,
) -> Result<Vec<Value>, KernelError> {
    let (states, turns) = (vec![], vec![]);
    let mut run = Run { plan, sizes: sizes.to_vec(), args, options: *options, limits, states, turns };
    run.states.resize_with(plan.buffers.len(), || State::Fresh);
    run.check_arguments()?;
    run.steps(&plan.steps)?;
    plan.results.iter().map(|(id, shape)| run.result(*id, shape)).collect()
}

impl Run<'_> {
    fn steps(&mut self, steps: &[Step]) -> Result<(), KernelError> {
        steps.iter().try_for_each(|step| self.step(step))
    }

    fn step(&mut self, step: &Step) -> Result<(), KernelError> {
        match step {
            Step::Launch { kernel, buffers, scalars } => self.launch(*kernel, buffers, scalars)?,
            Step::Count { size, from } => self.count(*size, *from)?,
            Step::Free(id) => {
                let BufferUse::Temporary = self.buffer(*id)?.role else {
                    return Err(malformed(format!("buffer {} is freed, but is not a temporary", id.0)));
                };
                self.states[id.0 as usize] = State::Freed;
            }
            Step::Loop(turns) => self.repeat(turns)?,
            Step::Choose { work, most, small, large } => {
                let work = work.eval(&|SizeVar(v)| self.sizes.get(v as usize).copied().flatten());
                self.steps(if work.is_ok_and(|work| work <= *most) { small } else { large })?;
            }
        }
        Ok(())
    }

    fn repeat(&mut self, Loop { turns, steps, swaps, .. }: &Loop) -> Result<(), KernelError> {
        let known = match turns {
            Turns::Size(size) => Some(shape(&self.plan.name, std::slice::from_ref(size), &self.sizes)?[0] as i64),
            Turns::Read(from) => Some(self.read_back(*from)?.as_int() as i64),
            Turns::While { .. } => None,
        };
        let depth = self.turns.len();
        for turn in 0.. {
            if known.is_some_and(|known| turn >= known) {
                break;
            }
            self.turns.push(turn);
            let mut over = false;
            if let Turns::While { steps: test, holds, done } = turns {
                self.steps(test)?;
                over = !self.read_back(*holds)?.is_true();
                if over && done.is_none() {
                    self.turns.truncate(depth);
                    break;
                }
            }
            // Where turns are counted, two that do nothing show that they do nothing: the buffers are as they were.
            let times = if over { 2 } else { 1 };
            for _ in 0..times {
                self.steps(steps)?;
                swaps.iter().for_each(|(a, b)| self.states.swap(a.0 as usize, b.0 as usize));
            }
            self.turns.truncate(depth);
            if over {
                break;
            }
        }
        Ok(())
    }

    /// The one element of a buffer.
    fn read_back(&mut self, from: BufferId) -> Result<Scalar, KernelError> {
        let ty = self.buffer(from)?.ty;
        let data = self.take(from)?;
        let first = data.first().copied();
        self.states[from.0 as usize] = State::Held(data);
        let bits = first.ok_or_else(|| malformed(format!("buffer {} is read back, but has no element", from.0)))?;
        Ok(Scalar::from_bits(ty, bits))
    }

    fn check_arguments(&self) -> Result<(), KernelError> {
        let Plan { sizes, params, .. } = self.plan;
        let numbers = [("sizes", sizes.len(), self.sizes.len()), ("arguments", params.len(), self.args.len())];
        for (what, wanted, passed) in numbers {
            if wanted != passed {
                return Err(self.wrong(format!("{passed} {what} are passed, {wanted} are declared")));
            }
        }
        for (k, (param, arg)) in params.iter().zip(self.args).enumerate() {
            let fits = match (&param.ty, arg) {
                (Type::Scalar(ty), Value::Scalar(value)) => *ty == value.ty,
                (Type::Array(ty, _), Value::Array(array)) => {
                    let shape = shape(&self.plan.name, param.ty.shape(), &self.sizes)?;
                    *ty == array.ty && shape == array.shape && count(&shape) == Some(array.data.len())
                }
                (Type::Scalar(_), Value::Array(_)) | (Type::Array(..), Value::Scalar(_)) => false,
            };
            if !fits {
                let passed = match arg {
                    Value::Scalar(value) => format!("{value:?}"),
                    Value::Array(array) => format!("{} of shape {:?}", array.ty, array.shape),
                };
                return Err(self.wrong(format!("argument {k} is {passed}; the parameter is {:?}", param.ty)));
            }
        }
        Ok(())
    }

    fn launch(&mut self, kernel: usize, buffers: &[BufferId], scalars: &[ScalarArg]) -> Result<(), KernelError> {
        let kernel = self.plan.kernels.get(kernel).ok_or_else(|| malformed(format!("there is no kernel {kernel}")))?;
        if kernel.sizes.len() > self.sizes.len() {
            return Err(malformed(format!("kernel {} has sizes that the plan has not", kernel.name)));
        }
        let scalars: Vec<Scalar> = scalars.iter().map(|arg| self.scalar(*arg)).collect::<Result<_, _>>()?;
        self.check_bindings(kernel, buffers)?;
        // The first memory that a buffer is bound to takes its elements; only-read buffers may be bound again.
        let mut data: Vec<Vec<u64>> = Vec::with_capacity(buffers.len());
        for (k, id) in buffers.iter().enumerate() {
            let earlier = buffers[..k].iter().position(|b| b == id);
            data.push(match earlier {
                Some(earlier) => data[earlier].clone(),
                None => self.take(*id)?,
            });
        }
        let done = match &self.limits {
            Some(limits) => self.launch_in_windows(kernel, &mut data, &scalars, limits),
            None => launch_on(kernel, &self.sizes, &mut data, &scalars, &self.options),
        };
        for (id, data) in buffers.iter().zip(data).rev() {
            self.states[id.0 as usize] = State::Held(data);
        }
        done
    }

    /// Every piece sees copies of its windows, and nothing else.
    fn launch_in_windows(
        &self,
        kernel: &Kernel,
        data: &mut [Vec<u64>],
        scalars: &[Scalar],
        limits: &Limits,
    ) -> Result<(), KernelError> {
        let windowed = Windowed::new(kernel);
        let pieces = windowed.pieces(&self.sizes, limits);
        let pieces = pieces.map_err(|why| KernelError::Scattered { name: kernel.name.clone(), why })?;
        for piece in pieces {
            let places = piece.windows.iter().map(|w| w.start as usize..w.end as usize);
            let mut seen: Vec<Vec<u64>> = data.iter().zip(places.clone()).map(|(all, w)| all[w].to_vec()).collect();
            launch_on(&windowed.kernel, &windowed.sizes(&self.sizes, &piece), &mut seen, scalars, &self.options)?;
            for ((all, window), seen) in data.iter_mut().zip(places).zip(seen) {
                all[window].copy_from_slice(&seen);
            }
        }
        Ok(())
    }

    /// Types fit, arguments are not written, and nothing that is written is bound twice.
    fn check_bindings(&self, kernel: &Kernel, buffers: &[BufferId]) -> Result<(), KernelError> {
        let wanted = kernel.bound_memories().count();
        if wanted != buffers.len() {
            return Err(malformed(format!("kernel {} is bound {} of {wanted} memories", kernel.name, buffers.len())));
        }
        for (memory, id) in kernel.bound_memories().zip(buffers) {
            let buffer = self.buffer(*id)?;
            let (ty, name) = (memory.ty, &memory.name);
            if buffer.ty != ty {
                return Err(argument(kernel, format!("`{name}` holds {ty}, but buffer {} {}", id.0, buffer.ty)));
            }
            let written = match memory.space {
                Space::Global(Access::Write | Access::ReadWrite) => true,
                Space::Global(Access::Read) | Space::Constant | Space::Shared | Space::Scratch | Space::Local => false,
            };
            if written && matches!(buffer.role, BufferUse::Argument(_)) {
                return Err(malformed(format!("kernel {} writes `{name}`, bound to an argument", kernel.name)));
            }
            if written && buffers.iter().filter(|b| *b == id).count() > 1 {
                return Err(malformed(format!("kernel {} writes `{name}`, bound to two memories", kernel.name)));
            }
        }
        Ok(())
    }

    fn scalar(&mut self, arg: ScalarArg) -> Result<Scalar, KernelError> {
        let k = match arg {
            ScalarArg::Argument(k) => k,
            ScalarArg::Const(value) => return Ok(value),
            ScalarArg::Read(buffer) => return self.read_back(buffer),
            ScalarArg::Turn(depth) => {
                let turn = self.turns.get(depth as usize).copied().map(Scalar::i64);
                return turn.ok_or_else(|| malformed(format!("there is no loop {depth} around a launch")));
            }
        };
        match self.args.get(k) {
            Some(Value::Scalar(value)) => Ok(*value),
            Some(Value::Array(_)) | None => Err(malformed(format!("argument {k} is not a scalar"))),
        }
    }

    fn count(&mut self, SizeVar(var): SizeVar, from: BufferId) -> Result<(), KernelError> {
        let declared = self.plan.sizes.get(var as usize);
        let Some(decl) = declared.filter(|d| d.origin == SizeOrigin::Counted) else {
            return Err(malformed(format!("size {var} is counted, but not declared so")));
        };
        if self.buffer(from)?.ty != Ty::I64 {
            return Err(malformed(format!("the count of {} is not an i64", decl.name)));
        }
        let count = self.read_back(from)?.as_int();
        let value = u64::try_from(count);
        let value = value.map_err(|_| self.wrong(format!("the count of {} is {count}", decl.name)))?;
        self.sizes[var as usize] = Some(value);
        Ok(())
    }

    /// A result with its true shape: the first elements of its buffer.
    fn result(&mut self, id: BufferId, true_shape: &[Size]) -> Result<Value, KernelError> {
        let ty = self.buffer(id)?.ty;
        let shape = shape(&self.plan.name, true_shape, &self.sizes)?;
        let data = self.take(id)?;
        let found = count(&shape).and_then(|len| data.get(..len)).map(<[u64]>::to_vec);
        self.states[id.0 as usize] = State::Held(data);
        let data = found.ok_or_else(|| malformed(format!("buffer {} is smaller than its result {shape:?}", id.0)))?;
        Ok(match (&shape[..], &data[..]) {
            ([], [bits]) => Value::Scalar(Scalar::from_bits(ty, *bits)),
            _ => Value::Array(Array { ty, shape, data }),
        })
    }

    fn buffer(&self, BufferId(id): BufferId) -> Result<&Buffer, KernelError> {
        self.plan.buffers.get(id as usize).ok_or_else(|| malformed(format!("there is no buffer {id}")))
    }

    /// Takes the elements of a buffer, which is allocated when it is first needed: only then are the counts that its
    /// shape may depend on known. The caller puts them back.
    fn take(&mut self, id: BufferId) -> Result<Vec<u64>, KernelError> {
        let buffer = self.buffer(id)?;
        let (role, ty) = (buffer.role, buffer.ty);
        match std::mem::replace(&mut self.states[id.0 as usize], State::Freed) {
            State::Held(data) => Ok(data),
            State::Freed => Err(malformed(format!("buffer {} is used after it was freed", id.0))),
            State::Fresh => {
                let shape = shape(&self.plan.name, &self.buffer(id)?.shape, &self.sizes)?;
                match role {
                    BufferUse::Argument(k) => match self.args.get(k) {
                        Some(Value::Array(array)) if array.ty == ty => Ok(array.data.clone()),
                        Some(Value::Scalar(value)) if value.ty == ty => Ok(vec![value.bits]),
                        Some(_) | None => Err(malformed(format!("buffer {} is not like argument {k}", id.0))),
                    },
                    BufferUse::Result(_) | BufferUse::Temporary => {
                        let mut data = vec![];
                        let len = count(&shape).filter(|&len| data.try_reserve_exact(len).is_ok());
                        let Some(len) = len else {
                            let name = self.plan.name.clone();
                            let memory = format!("buffer {}", id.0);
                            return Err(KernelError::TooLarge { name, memory, shape });
                        };
                        data.resize(len, Scalar::from_bits(ty, u64::MAX).bits);
                        Ok(data)
                    }
                }
            }
        }
    }

    fn wrong(&self, what: String) -> KernelError {
        KernelError::Argument { name: self.plan.name.clone(), what }
    }
}
