//! Plans run launch by launch, as host programs that are written for people do: the arrays lie here, and whoever has the kernels launches them.
#![allow(dead_code)]

use slyz_sir::back::clike::Description;
use slyz_sir::back::harness::Entry;
use slyz_sir::interp::{Array, Value};
use slyz_sir::kernel::{BufferId, BufferUse, Loop, ScalarArg, Step, Turns};
use slyz_sir::size::{Size, SizeVar};
use slyz_sir::types::{Scalar, Ty};

/// The arrays of a plan, in words, with a guard of one word behind each.
pub type Memory = Vec<Option<Vec<u64>>>;

/// A launch of a plan.
pub struct Launch<'a> {
    pub kernel: &'a Description,
    pub sizes: &'a [Option<u64>],
    /// Those of the SIR kernel, in its order.
    pub buffers: &'a [BufferId],
    pub scalars: Vec<Scalar>,
}

/// Runs a launch on the arrays.
pub type Run<'a> = dyn FnMut(&Launch, &mut Memory) -> Result<(), String> + 'a;

pub fn to_bytes(array: &Array) -> Vec<u8> {
    let width = array.ty.bytes();
    array.data.iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(width)).collect()
}

pub fn from_bytes(ty: Ty, shape: Vec<u64>, bytes: &[u8]) -> Array {
    let word = |chunk: &[u8]| chunk.iter().rev().fold(0u64, |bits, &b| bits << 8 | u64::from(b));
    let count = shape.iter().product::<u64>() as usize;
    let data = bytes.chunks(ty.bytes()).take(count).map(word).collect();
    Array { ty, shape, data }
}

pub fn value(size: &Size, sizes: &[Option<u64>]) -> Result<u64, String> {
    let known = |var: SizeVar| sizes.get(var.0 as usize).copied().flatten();
    size.eval(&known).map_err(|error| error.to_string())
}

/// Runs the plan of a program.
pub fn run(entry: &Entry, sizes: &[Option<u64>], args: &[Value], launch: &mut Run) -> Result<Vec<Value>, String> {
    let plan = &entry.plan;
    let memory = vec![None; plan.buffers.len()];
    let mut walk = Walk { entry, sizes: sizes.to_vec(), args, memory, turns: vec![], launch };
    walk.steps(&plan.steps)?;
    let mut results = vec![];
    for (id, shape) in &plan.results {
        walk.allocate(*id)?;
        let shape = shape.iter().map(|s| value(s, &walk.sizes)).collect::<Result<Vec<u64>, String>>()?;
        let bytes: Vec<u8> = walk.memory[id.0 as usize].iter().flatten().flat_map(|w| w.to_le_bytes()).collect();
        results.push(Value::Array(from_bytes(plan.buffers[id.0 as usize].ty, shape, &bytes)));
    }
    Ok(results)
}

struct Walk<'a, 'r> {
    entry: &'a Entry,
    sizes: Vec<Option<u64>>,
    args: &'a [Value],
    memory: Memory,
    turns: Vec<i64>,
    launch: &'a mut Run<'r>,
}

impl Walk<'_, '_> {
    fn steps(&mut self, steps: &[Step]) -> Result<(), String> {
        steps.iter().try_for_each(|step| self.step(step))
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Launch { kernel, buffers, scalars } => {
                buffers.iter().try_for_each(|&id| self.allocate(id))?;
                let scalar = |scalar: &ScalarArg| match scalar {
                    ScalarArg::Argument(k) => match &self.args[*k] {
                        Value::Scalar(value) => *value,
                        Value::Array(_) => Scalar::bool(false),
                    },
                    ScalarArg::Turn(depth) => Scalar::i64(self.turns[*depth as usize]),
                    ScalarArg::Const(_) | ScalarArg::Read(_) => unreachable!("of raw kernels, which are not exported"),
                };
                let scalars = scalars.iter().map(scalar).collect();
                let kernel = &self.entry.kernels[*kernel];
                let launch = Launch { kernel, sizes: &self.sizes, buffers, scalars };
                (self.launch)(&launch, &mut self.memory)?;
            }
            Step::Loop(around) => self.repeat(around)?,
            Step::Choose { work, most, small, large } => {
                let way = if value(work, &self.sizes)? <= *most { small } else { large };
                self.steps(way)?;
            }
            Step::Count { size, from } => self.sizes[size.0 as usize] = Some(self.first(*from)),
            Step::Free(id) => self.memory[id.0 as usize] = None,
        }
        Ok(())
    }

    fn repeat(&mut self, Loop { turns: count, steps, swaps, .. }: &Loop) -> Result<(), String> {
        let known = match count {
            Turns::Size(size) => Some(value(size, &self.sizes)? as i64),
            Turns::Read(from) => Some(self.first(*from) as i64),
            Turns::While { .. } => None,
        };
        let mut turn = 0;
        while known.is_none_or(|known| turn < known) {
            self.turns.push(turn);
            if let Turns::While { steps: test, holds, .. } = count {
                self.steps(test)?;
                if self.first(*holds) == 0 {
                    self.turns.pop();
                    break;
                }
            }
            self.steps(steps)?;
            swaps.iter().for_each(|(a, b)| self.memory.swap(a.0 as usize, b.0 as usize));
            self.turns.pop();
            turn += 1;
        }
        Ok(())
    }

    /// The first element of an array, an integer.
    fn first(&self, id: BufferId) -> u64 {
        let words = self.memory[id.0 as usize].iter().flatten();
        let bytes: Vec<u8> = words.take(1).flat_map(|w| w.to_le_bytes()).collect();
        let ty = self.entry.plan.buffers[id.0 as usize].ty;
        let bits = from_bytes(ty, vec![1], &bytes).data.first().copied().unwrap_or(0);
        Scalar { ty, bits }.as_int() as u64
    }

    /// A buffer. What nobody has written is all ones.
    fn allocate(&mut self, id: BufferId) -> Result<(), String> {
        let slot = &mut self.memory[id.0 as usize];
        if slot.is_some() {
            return Ok(());
        }
        let buffer = &self.entry.plan.buffers[id.0 as usize];
        let bytes = value(&Size::product(&buffer.shape), &self.sizes)? as usize * buffer.ty.bytes();
        let mut words = vec![u64::MAX; bytes.div_ceil(8) + 1];
        if let BufferUse::Argument(k) = buffer.role {
            let data = match &self.args[k] {
                Value::Array(array) => to_bytes(array),
                Value::Scalar(scalar) => scalar.bits.to_le_bytes().to_vec(),
            };
            for (word, chunk) in words.iter_mut().zip(data.chunks(8)) {
                *word = chunk.iter().rev().fold(0, |bits, &b| bits << 8 | u64::from(b));
            }
        }
        *slot = Some(words);
        Ok(())
    }
}
