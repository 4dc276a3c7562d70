//! A toy: the least that a device has to bring, and proof that it is enough.
//!
//! Its memory is lists of bytes, its processor the interpreter of kernels. ARCHITECTURE.md builds its recipe "add a device" on this file.

use super::{Compiled, Engine, KernelLauncher, Launch, Limits, Narrow, Piece, Variant};
use crate::device::Seal;
use crate::{ArrayData, Buffer, Device, Error, Executable, Launcher};
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
use std::cell::RefCell;
use std::fmt::Display;
use std::sync::Arc;

const THREADS: u32 = 256;

/// The device.
#[derive(Clone, Copy)]
struct Toy;

/// A launch in numbers: code is the kernel itself.
struct Numbers {
    kernel: Kernel,
    sizes: Vec<u64>,
}

impl Toy {
    fn road(expected: &Expected) -> ProgramRoad {
        ProgramRoad::to(Strategy::Threads(Machine::webgpu(), expected.clone()))
    }
}

impl Engine for Toy {
    const NAME: &'static str = "toy";
    const PLACE: &'static str = " in the toy";
    const NARROW: Narrow = Narrow { elements: 1 << 31, extent: 1 << 30 };
    const PLANS_BY_SIZE: bool = true;
    const LANGUAGE: Option<Language> = Some(Language::C);

    type Array<'a> = RefCell<Vec<u8>>;
    /// Launches run at once.
    type Queue = ();
    type Code = ();
    type Numbers = Numbers;

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

    fn holds(&self, _: &Buffer) -> bool {
        false
    }

    fn allocate<'a>(&self, (): &mut (), bytes: usize, _: &dyn Display) -> Result<Self::Array<'a>, Error> {
        Ok(RefCell::new(vec![0; bytes]))
    }

    fn upload<'a>(&self, _: Ty, data: ArrayData<'a>, _: &dyn Display) -> Result<Self::Array<'a>, Error> {
        Ok(RefCell::new(data.bytes()?.to_vec()))
    }

    fn own<'a>(
        &self,
        (): &mut (),
        data: &'a mut Buffer,
        _: &dyn Display,
    ) -> Result<(Self::Array<'a>, Option<Buffer>), Error> {
        Ok((RefCell::new(data.bytes()?.to_vec()), None))
    }

    fn download(&self, from: &Self::Array<'_>, into: &mut [u8]) -> Result<(), Error> {
        into.copy_from_slice(&from.borrow()[..into.len()]);
        Ok(())
    }

    fn free(&self, (): &mut (), array: Self::Array<'_>) {
        drop(array);
    }

    fn buffer(&self, array: Self::Array<'_>, bytes: usize) -> Result<Buffer, Error> {
        Buffer::copy_of(&array.borrow()[..bytes])
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

    fn number(&self, piece: &Piece<'_, Toy>) -> Result<Numbers, Error> {
        let sizes = piece.sizes.values().iter().map(|size| size.unwrap_or(0)).collect();
        Ok(Numbers { kernel: piece.kernel.clone(), sizes })
    }

    unsafe fn launch(&self, (): &mut (), asked: &Launch<'_, '_, Toy>) -> Result<(), Error> {
        for Numbers { kernel, sizes } in asked.pieces {
            let types = kernel.body.params.iter().map(|param| param.ty.elem());
            let scalars: Vec<Scalar> = types.zip(asked.scalars).map(|(ty, &bits)| Scalar { ty, bits }).collect();
            let mut arrays = vec![];
            for (memory, bytes) in kernel.bound_memories().zip(asked.arrays) {
                let value = |var: slyz_sir::size::SizeVar| sizes.get(var.0 as usize).copied();
                let shape: Vec<u64> = memory.shape.iter().map(|size| size.eval(&value).unwrap_or(0)).collect();
                let width = memory.ty.bytes();
                let bytes = bytes.borrow();
                let elements = bytes.chunks_exact(width).take(shape.iter().product::<u64>() as usize);
                let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
                arrays.push(Array { ty: memory.ty, shape, data: elements.map(word).collect() });
            }
            launch(kernel, sizes, &mut arrays, &scalars, &LaunchOptions::default())
                .map_err(|error| Error::Stopped(Box::new(error)))?;
            for ((memory, bytes), array) in kernel.bound_memories().zip(asked.arrays).zip(arrays) {
                if matches!(memory.space, Space::Global(Access::Write | Access::ReadWrite)) {
                    let width = memory.ty.bytes();
                    for (bytes, word) in bytes.borrow_mut().chunks_exact_mut(width).zip(array.data) {
                        bytes.copy_from_slice(&word.to_le_bytes()[..width]);
                    }
                }
            }
        }
        Ok(())
    }

    fn submit(&self, (): &mut (), _: &dyn Display) -> Result<(), Error> {
        Ok(())
    }
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
