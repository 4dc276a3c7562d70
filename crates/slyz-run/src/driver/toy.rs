//! A toy: the least that a device has to bring, and proof that it is enough.
//!
//! Its memory is lists of bytes, its processor the interpreter of kernels. ARCHITECTURE.md builds its recipe "add a device" on this file.

use super::{Compiled, Engine, KernelLauncher, Launch, Limits, Narrow, Piece, Variant};
use crate::device::Seal;
use crate::{ArrayData, Buffer, Device, DeviceMemory, Error, Executable, Launcher};
use slyz_sir::interp::Array;
use slyz_sir::interp::kernel::{LaunchOptions, launch};
use slyz_sir::kernel::{Access, Kernel, Plan, Space};
use slyz_sir::launch::Template;
use slyz_sir::lower::Choice;
use slyz_sir::lower::gpu::{self, Expected, Machine};
use slyz_sir::pass::confine;
use slyz_sir::program::Program;
use slyz_sir::raw::Language;
use slyz_sir::road::{ProgramRoad, Strategy};
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::verify;
use std::cell::Cell;
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const THREADS: u32 = 256;

/// Loops are turns of the plan, however short, and the host does not wait for what they decide.
const MACHINE: Machine = Machine { runs_ahead: true, turn_work: 0, ..Machine::webgpu() };

/// The device.
#[derive(Clone, Copy)]
struct Toy;

/// A launch in numbers: code is the kernel itself.
struct Numbers {
    kernel: Kernel,
    sizes: Vec<u64>,
}

/// An array of the toy.
struct Bytes(Mutex<Vec<u8>>);

impl Bytes {
    fn new(bytes: Vec<u8>) -> Arc<Bytes> {
        Arc::new(Bytes(Mutex::new(bytes)))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DeviceMemory for Bytes {
    fn device(&self) -> &str {
        Toy::NAME
    }

    fn read(&self, start: usize, into: &mut [u8]) -> Result<(), Error> {
        into.copy_from_slice(&self.lock()[start..start + into.len()]);
        Ok(())
    }
}

/// A launch that is kept, with its arrays and scalars.
type KeptLaunch = (Arc<Numbers>, Vec<Arc<Bytes>>, Vec<u64>);

/// Launches that are kept, and what they go on for.
struct ToyRecording {
    launches: Vec<KeptLaunch>,
    holds: Option<Arc<Bytes>>,
}

thread_local! {
    /// How often launches that were kept have run.
    static REPLAYS: Cell<usize> = const { Cell::new(0) };
}

impl Toy {
    fn road(expected: &Expected) -> ProgramRoad {
        ProgramRoad::to(Strategy::Threads(MACHINE, expected.clone()))
    }
}

impl Engine for Toy {
    const NAME: &'static str = "toy";
    const PLACE: &'static str = " in the toy";
    const NARROW: Narrow = Narrow { elements: 1 << 31, extent: 1 << 30 };
    const PLANS_BY_SIZE: bool = true;
    const LANGUAGE: Option<Language> = Some(Language::C);
    const RECORDS: bool = true;

    type Array<'a> = Arc<Bytes>;
    /// Launches run at once, unless they are kept.
    type Queue = Option<Vec<KeptLaunch>>;
    type Code = ();
    type Numbers = Arc<Numbers>;
    type Recording = ToyRecording;

    fn address(&self) -> usize {
        0
    }

    fn memory(&self) -> Option<&'static str> {
        None
    }

    fn limits(&self) -> Option<Limits> {
        let launch = gpu::Limits { window_bytes: 1 << 27, alignment: 256, blocks: 65_535 };
        Some(Limits { buffer_bytes: 1 << 28, launch, block: [THREADS; 3], threads: THREADS })
    }

    fn holds(&self, buffer: &Buffer) -> bool {
        buffer.device_memory::<Bytes>().is_some()
    }

    fn allocate<'a>(&self, _: &mut Self::Queue, bytes: usize, _: &dyn Display) -> Result<Self::Array<'a>, Error> {
        Ok(Bytes::new(vec![0; bytes]))
    }

    fn upload<'a>(&self, _: Ty, data: ArrayData<'a>, _: &dyn Display) -> Result<Self::Array<'a>, Error> {
        let here = match data {
            ArrayData::Buffer(buffer) => buffer.device_memory::<Bytes>(),
            ArrayData::Host(_) => None,
        };
        match here {
            Some(array) => Ok(array),
            None => Ok(Bytes::new(data.bytes()?.to_vec())),
        }
    }

    fn own<'a>(
        &self,
        _: &mut Self::Queue,
        data: &'a mut Buffer,
        _: &dyn Display,
    ) -> Result<(Self::Array<'a>, Option<Buffer>), Error> {
        if let Some(own) = data.own_device_memory::<Bytes>() {
            return Ok((own, None));
        }
        let array = Bytes::new(data.bytes()?.to_vec());
        let buffer = Buffer::on_device(array.clone(), data.len());
        Ok((array, Some(buffer)))
    }

    fn download(&self, from: &Self::Array<'_>, into: &mut [u8]) -> Result<(), Error> {
        from.read(0, into)
    }

    fn free(&self, _: &mut Self::Queue, array: Self::Array<'_>) {
        drop(array);
    }

    fn buffer(&self, array: Self::Array<'_>, bytes: usize) -> Result<Buffer, Error> {
        Ok(Buffer::on_device(array, bytes))
    }

    fn begin(&self, program: &Program) -> Result<Program, Error> {
        Ok(Toy::road(&Expected::default()).optimize(program))
    }

    fn lower(&self, program: &Program, expected: &Expected, _in_pieces: bool, choice: Choice) -> Plan {
        ProgramRoad { choice, ..Toy::road(expected) }.lower(program)
    }

    fn machine(&self) -> String {
        "toy".to_string()
    }

    fn source(&self, variant: &Variant<Toy>) -> Result<String, Error> {
        Ok(variant.plan.kernels.iter().map(Kernel::to_string).collect())
    }

    fn number(&self, piece: &Piece<'_, Toy>) -> Result<Arc<Numbers>, Error> {
        let sizes = piece.sizes.values().iter().map(|size| size.unwrap_or(0)).collect();
        Ok(Arc::new(Numbers { kernel: piece.kernel.clone(), sizes }))
    }

    unsafe fn launch(&self, queue: &mut Self::Queue, asked: &Launch<'_, '_, Toy>) -> Result<(), Error> {
        for numbers in asked.pieces {
            let arrays: Vec<Arc<Bytes>> = asked.arrays.iter().map(|&array| array.clone()).collect();
            match queue {
                Some(kept) => kept.push((numbers.clone(), arrays, asked.scalars.to_vec())),
                None => run(numbers, &arrays, asked.scalars)?,
            }
        }
        Ok(())
    }

    fn place(&self, array: &Arc<Bytes>) -> u64 {
        Arc::as_ptr(array).addr() as u64
    }

    fn begin_recording(&self, queue: &mut Self::Queue, _: bool) -> Result<bool, Error> {
        *queue = Some(vec![]);
        Ok(true)
    }

    fn end_recording(
        &self,
        queue: &mut Self::Queue,
        holds: Option<&Arc<Bytes>>,
        _: Vec<Arc<Bytes>>,
    ) -> Result<Option<ToyRecording>, Error> {
        Ok(queue.take().map(|launches| ToyRecording { launches, holds: holds.cloned() }))
    }

    unsafe fn replay(&self, _: &mut Self::Queue, recording: &ToyRecording) -> Result<(), Error> {
        loop {
            REPLAYS.set(REPLAYS.get() + 1);
            for (numbers, arrays, scalars) in &recording.launches {
                run(numbers, arrays, scalars)?;
            }
            if recording.holds.as_ref().is_none_or(|holds| holds.lock()[0] == 0) {
                return Ok(());
            }
        }
    }

    fn submit(&self, _: &mut Self::Queue, _: &dyn Display) -> Result<(), Error> {
        Ok(())
    }
}

/// Runs a launch in the interpreter.
fn run(Numbers { kernel, sizes }: &Numbers, bound: &[Arc<Bytes>], scalars: &[u64]) -> Result<(), Error> {
    let types = kernel.body.params.iter().map(|param| param.ty.elem());
    let scalars: Vec<Scalar> = types.zip(scalars).map(|(ty, &bits)| Scalar { ty, bits }).collect();
    let mut arrays = vec![];
    for (memory, bytes) in kernel.bound_memories().zip(bound) {
        let value = |var: slyz_sir::size::SizeVar| sizes.get(var.0 as usize).copied();
        let shape: Vec<u64> = memory.shape.iter().map(|size| size.eval(&value).unwrap_or(0)).collect();
        let width = memory.ty.bytes();
        let bytes = bytes.lock();
        let elements = bytes.chunks_exact(width).take(shape.iter().product::<u64>() as usize);
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        arrays.push(Array { ty: memory.ty, shape, data: elements.map(word).collect() });
    }
    launch(kernel, sizes, &mut arrays, &scalars, &LaunchOptions::default())
        .map_err(|error| Error::Stopped(Box::new(error)))?;
    for ((memory, bytes), array) in kernel.bound_memories().zip(bound).zip(arrays) {
        if matches!(memory.space, Space::Global(Access::Write | Access::ReadWrite)) {
            let width = memory.ty.bytes();
            for (bytes, word) in bytes.lock().chunks_exact_mut(width).zip(array.data) {
                bytes.copy_from_slice(&word.to_le_bytes()[..width]);
            }
        }
    }
    Ok(())
}

impl Device for Toy {
    fn name(&self) -> &str {
        Toy::NAME
    }

    fn describe(&self) -> String {
        "toy: kernels in the interpreter".to_string()
    }

    fn compile(&self, program: &Program) -> Result<Arc<dyn Executable>, Error> {
        verify::program(program)?;
        // SAFETY: positions that are not plainly inside are tested.
        Ok(Arc::new(unsafe { Compiled::new(*self, &confine::program(program.clone())) }?))
    }

    fn prepare(&self, kernel: &Arc<Template>) -> Result<Arc<dyn Launcher>, Error> {
        Ok(Arc::new(KernelLauncher::new(*self, kernel)?))
    }

    fn is_own(&self, _: Seal) -> bool {
        true
    }
}

/// Maps, folds, scans, filters and scatters run on it as in the interpreter.
#[test]
fn a_toy_device_runs_programs() -> Result<(), Box<dyn std::error::Error>> {
    use crate::{Argument, Interpreter};
    let text =
        "program several<N, counted Kept>(%x: f32[N], %bias: f32) -> (f32[N], f32, f32[N], f32[Kept], i64[Kept]) {
        %zero: f32 = const 0.0
        %mapped: f32[N] = tabulate [N] |%i: i64| { %a: f32 = at %x[%i]  %b: f32 = add %a, %bias  yield %b }
        %sum: f32 = fold [N] |%j: i64| { %c: f32 = at %mapped[%j]  yield %c }
          with commutative (%zero) |%l: f32, %r: f32| { %s: f32 = add %l, %r  yield %s }
        %scanned: f32[N] = scan [N] |%k: i64| { %d: f32 = at %x[%k]  yield %d }
          with (%zero) |%m: f32, %n: f32| { %t: f32 = add %m, %n  yield %t }
        %kept: f32[Kept], %places: i64[Kept] = filter N as Kept |%q: i64| {
          %e: f32 = at %x[%q]
          %more: bool = gt %e, %bias
          yield %more, %e, %q
        }
        return %mapped, %sum, %scanned, %kept, %places }";
    let program = slyz_sir::text::parse_program(text)?;
    for length in [0u64, 1, 3, 1000] {
        let bytes: Vec<u8> = (0..length).flat_map(|n| ((n % 7) as f32).to_le_bytes()).collect();
        let shape = [length];
        let array = Argument::Array { ty: Ty::F32, shape: (&shape[..]).into(), data: ArrayData::Host(&bytes) };
        let args = [array, Argument::Scalar(Scalar::f32(2.0))];
        let run = |device: &dyn Device| -> Result<Vec<Vec<u8>>, Error> {
            let outputs = device.compile(&program)?.run(&[Some(length), None], &args)?;
            outputs.iter().map(|output| Ok(output.data.bytes()?.to_vec())).collect()
        };
        assert_eq!(run(&Toy)?, run(&Interpreter)?, "{length} elements");
    }
    Ok(())
}

/// Turns that are kept and taken again, and calls that repeat, give what the interpreter does.
#[test]
fn kept_launches_do_what_they_did() -> Result<(), Box<dyn std::error::Error>> {
    use crate::{Argument, Interpreter};
    // Both arrays change places; the turn is not asked for.
    let known = "program known<N>(%x: f32[N], %turns: u32) -> f32[N] {
        %zero: u32 = const 0
        %one: u32 = const 1
        %half: f32 = const 0.5
        %first: i64 = const 0
        %shift: f32 = const 1.0
        %y: f32[N] = for %zero to %turns step %one (%x) |%t: u32, %s: f32[N]| {
          %new: f32[N] = tabulate [N] |%i: i64| {
            %a: f32 = at %s[%first]
            %b: f32 = at %s[%i]
            %c: f32 = sub %b, %a
            %d: f32 = mul %c, %half
            %e: f32 = add %d, %shift
            yield %e
          }
          yield %new
        }
        return %y }";
    let open = "program open<N>(%x: f32[N], %most: u32) -> (f32[N], u32) {
        %zero: u32 = const 0
        %one: u32 = const 1
        %more: f32 = const 1.5
        %y: f32[N], %count: u32 = while (%x, %zero) |%s: f32[N], %n: u32| {
          %go: bool = lt %n, %most
          yield %go
        } do |%s2: f32[N], %n2: u32| {
          %new: f32[N] = tabulate [N] |%i: i64| { %a: f32 = at %s2[%i]  %b: f32 = add %a, %more  yield %b }
          %m: u32 = add %n2, %one
          yield %new, %m
        }
        return %y, %count }";
    let turns = [0u32, 1, 2, 3, 15, 16, 17, 18, 33, 65, 66, 67, 81, 82, 83, 100, 101, 150, 151];
    for (text, replayed) in [(known, 66), (open, 20)] {
        let program = slyz_sir::text::parse_program(text)?;
        let (toy, interpreter) = (Toy.compile(&program)?, Interpreter.compile(&program)?);
        for turns in turns {
            let bytes: Vec<u8> = (0..5).flat_map(|n| (n as f32).to_le_bytes()).collect();
            let shape = [5];
            let array = Argument::Array { ty: Ty::F32, shape: (&shape[..]).into(), data: ArrayData::Host(&bytes) };
            let args = [array, Argument::Scalar(Scalar::from_int(Ty::U32, turns.into()))];
            let run = |program: &dyn Executable| -> Result<Vec<Vec<u8>>, Error> {
                let outputs = program.run(&[Some(5)], &args)?;
                outputs.iter().map(|output| Ok(output.data.bytes()?.to_vec())).collect()
            };
            let before = REPLAYS.get();
            assert_eq!(run(&*toy)?, run(&*interpreter)?, "{turns} turns of {text}");
            let replays = REPLAYS.get() - before;
            // Where data decide, turns are taken before it is known that there are fewer.
            assert!(replays > 0 || turns < replayed, "{turns} turns are not kept: {text}");
            assert!(replays == 0 || turns > 3, "{turns} turns are kept: {text}");
        }
    }

    // Three turns, each with its number; arrays change places an odd number of times, so that the result is where a temporary was.
    let odd = "program odd<N>(%x: f32[N]) -> f32[N] {
        %zero: u32 = const 0
        %one: u32 = const 1
        %three: u32 = const 3
        %y: f32[N] = for %zero to %three step %one (%x) |%t: u32, %s: f32[N]| {
          %turn: f32 = cast f32 %t
          %first: i64 = const 0
          %new: f32[N] = tabulate [N] |%i: i64| {
            %a: f32 = at %s[%i]
            %b: f32 = at %s[%first]
            %c: f32 = add %a, %b
            %d: f32 = add %c, %turn
            yield %d
          }
          yield %new
        }
        return %y }";
    let program = slyz_sir::text::parse_program(odd)?;
    let (toy, interpreter) = (Toy.compile(&program)?, Interpreter.compile(&program)?);
    let bytes: Vec<u8> = (0..5).flat_map(|n| (n as f32).to_le_bytes()).collect();
    let shape = [5];
    let argument = |data| [Argument::Array { ty: Ty::F32, shape: (&shape[..]).into(), data }];
    let expected = interpreter.run(&[Some(5)], &argument(ArrayData::Host(&bytes)))?;
    let resident = Buffer::on_device(Bytes::new(bytes.clone()), bytes.len());
    let before = REPLAYS.get();
    let mut earlier = vec![];
    for call in 0..12 {
        let outputs = toy.run(&[Some(5)], &argument(ArrayData::Buffer(&resident)))?;
        assert_eq!(outputs[0].data.bytes()?, expected[0].data.bytes()?, "call {call}");
        // Results of earlier calls stay what they are.
        earlier.push(outputs);
        for outputs in &earlier {
            assert_eq!(outputs[0].data.bytes()?, expected[0].data.bytes()?, "after call {call}");
        }
        if call % 3 == 0 {
            earlier.clear();
        }
    }
    for call in 0..20 {
        let outputs = toy.run(&[Some(5)], &argument(ArrayData::Buffer(&resident)))?;
        assert_eq!(outputs[0].data.bytes()?, expected[0].data.bytes()?, "call {call}");
    }
    assert!(REPLAYS.get() > before + 2, "no call repeats");
    Ok(())
}
