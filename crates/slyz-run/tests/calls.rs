//! Calls: results, checks of arguments, counted sizes, wide code, and the interpreter beside the CPU.
#![cfg(feature = "cpu")]

mod toy;

use slyz_run::{Argument, ArgumentProblem, ArrayData, Buffer, Device, Error, Interpreter};
use slyz_sir::code::Type;
use slyz_sir::program::Require;
use slyz_sir::size::Size;
use slyz_sir::types::{Scalar, Ty};
use toy::{compilations, config, counting, device, floats, run};

#[test]
fn small_and_large_launches() {
    let executable = device(config()).compile(&toy::twice("twice")).unwrap();
    assert_eq!(executable.device(), "cpu");
    assert!(executable.source().contains("slyz_kernel_0") && executable.plan().is_some());
    for n in [0, 1, 1023, 1024, 1025, 100_000, (1 << 20) + 3] {
        let x: Vec<f32> = (0..n).map(|k| k as f32).collect();
        let results = run(&*executable, &x, Some(0));
        assert_eq!(results[0].shape, [n as u64]);
        assert!(floats(&results[0]).iter().zip(&x).all(|(y, x)| *y == 2.0 * x), "{n}");
        assert_eq!(floats(&results[0]).len(), n);
    }
}

#[test]
fn the_number_of_threads_does_not_show() {
    let executable = device(config()).compile(&toy::scale()).unwrap();
    let x: Vec<f32> = (0..3_000_001).map(|k| (k as f32).sin()).collect();
    let args = [Argument::host(Ty::F32, &[x.len() as u64], &x), Argument::Scalar(Scalar::f32(0.1))];
    let call = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| executable.run(&[Some(x.len() as u64), Some(0)], &args)).unwrap().remove(0)
    };
    let one = call(1);
    assert!([2, 3, 7].into_iter().all(|threads| call(threads).data.bytes().unwrap() == one.data.bytes().unwrap()));
}

#[test]
fn scalars_and_scratch() {
    let executable = device(config()).compile(&toy::scale()).unwrap();
    let x: Vec<f32> = (0..1_000_000).map(|k| k as f32).collect();
    let sizes = [Some(x.len() as u64), Some(0)];
    let array = Argument::host(Ty::F32, &[x.len() as u64], &x);
    let cell = Buffer::copy_of(&3f32.to_ne_bytes()).unwrap();
    let on_device = Argument::Array { ty: Ty::F32, shape: vec![].into(), data: ArrayData::Buffer(&cell) };
    for three in [Argument::Scalar(Scalar::f32(3.0)), on_device] {
        let results = executable.run(&sizes, &[array.clone(), three]).unwrap();
        assert!(floats(&results[0]).iter().zip(&x).all(|(y, x)| *y == 3.0 * x));
    }
}

#[test]
fn counted_sizes() {
    for device in [&device(config()) as &dyn Device, &Interpreter] {
        let executable = device.compile(&toy::positive()).unwrap();
        // What the call says about a counted size does not matter.
        for m in [None, Some(77)] {
            let results = run(&*executable, &[1.0, -1.0, 2.0, 0.0, 3.0], m);
            assert_eq!((&results[0].shape[..], floats(&results[0])), (&[3][..], &[1.0, 2.0, 3.0][..]));
            assert_eq!((&results[1].shape[..], floats(&results[1])), (&[3][..], &[2.0, 4.0, 6.0][..]));
            let none = run(&*executable, &[-1.0], m);
            assert_eq!((none[0].data.len(), none[1].data.len()), (0, 0));
        }
    }
}

#[test]
fn wide_code_is_built_when_it_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let (cc, log) = counting(folder.path());
    let executable = device(slyz_run::cpu::CpuConfig { cc, ..config() }).compile(&toy::is_wide()).unwrap();
    assert_eq!(floats(&run(&*executable, &[5.0], Some((1 << 30) - 1))[0]), [0.0]);
    assert_eq!(compilations(&log), 1);
    for _ in 0..2 {
        assert_eq!(floats(&run(&*executable, &[5.0], Some(1 << 30))[0]), [1.0]);
        assert_eq!(compilations(&log), 2);
    }
}

#[test]
fn arguments_pass_through() {
    let program = toy::identity(Ty::I16);
    let data = [1i16, -2, 3];
    for device in [&device(config()) as &dyn Device, &Interpreter] {
        let executable = device.compile(&program).unwrap();
        let host = executable.run(&[Some(3), Some(0)], &[Argument::host(Ty::I16, &[3], &data)]).unwrap();
        assert_eq!(host[0].data.as_slice::<i16>(), Some(&data[..]));
        let again = executable.run(&[Some(3), Some(0)], &[host[0].as_argument()]).unwrap();
        assert_eq!(again[0].data.as_slice::<i16>(), Some(&data[..]));
        assert_eq!(again[0].data.shares(&host[0].data), executable.device() == "cpu", "a buffer is not copied");
    }
}

#[test]
fn the_interpreter_takes_every_type() {
    for ty in Ty::ALL {
        let executable = Interpreter.compile(&toy::identity(ty)).unwrap();
        let bytes: Vec<u8> = match ty {
            Ty::Bool => vec![1, 0, 1],
            _ => (0..3 * ty.bytes()).map(|k| (k * 77 + 129) as u8).collect(),
        };
        let args = [Argument::Array { ty, shape: vec![3].into(), data: ArrayData::Host(&bytes) }];
        let results = executable.run(&[Some(3), Some(0)], &args).unwrap();
        assert_eq!(
            (results[0].ty, &results[0].shape[..], results[0].data.bytes().unwrap()),
            (ty, &[3][..], &bytes[..])
        );
    }
}

#[test]
fn bytes_at_odd_addresses() {
    let executable = device(config()).compile(&toy::twice("twice")).unwrap();
    let bytes: Vec<u8> = [0u8].into_iter().chain((0..100).flat_map(|k| (k as f32).to_ne_bytes())).collect();
    for offset in 0..2 {
        let data = ArrayData::Host(&bytes[offset..offset + 400]);
        let args = [Argument::Array { ty: Ty::F32, shape: vec![100].into(), data }];
        let results = executable.run(&[Some(100), Some(0)], &args).unwrap();
        assert!(offset == 0 || floats(&results[0])[99] == 198.0);
    }
}

#[test]
fn wrong_arguments_are_told() {
    let x = [1f32, 2.0];
    let good = Argument::host(Ty::F32, &[2], &x);
    let (data, sizes) = (ArrayData::Host(&[0; 8]), [Some(2), Some(0)]);
    for device in [&device(config()) as &dyn Device, &Interpreter] {
        let executable = device.compile(&toy::scale()).unwrap();
        let one = Argument::Scalar(Scalar::f32(1.0));
        let try_run = |sizes: &[Option<u64>], args: &[Argument]| executable.run(sizes, args).unwrap_err();
        let problem = |args: &[Argument]| match try_run(&sizes, args) {
            Error::Argument { index, problem, .. } => (index, problem),
            other => panic!("{other}"),
        };
        let array = |ty, shape: &[u64]| Argument::Array { ty, shape: shape.to_vec().into(), data };
        assert!(matches!(
            try_run(&sizes, std::slice::from_ref(&good)),
            Error::ArgumentCount { expected: 2, found: 1, .. }
        ));
        assert!(matches!(try_run(&[Some(2)], &[good.clone(), one.clone()]), Error::Sizes { .. }));
        assert!(matches!(try_run(&[None, None], &[good.clone(), one.clone()]), Error::Sizes { .. }));
        assert!(matches!(try_run(&[Some(u64::MAX), Some(0)], &[good.clone(), one.clone()]), Error::Sizes { .. }));
        assert_eq!(problem(&[one.clone(), one.clone()]), (0, ArgumentProblem::NotArray(Ty::F32)));
        assert_eq!(problem(&[good.clone(), good.clone()]), (1, ArgumentProblem::NotScalar(Ty::F32)));
        let wrong = ArgumentProblem::Type { expected: Ty::F32, found: Ty::I32 };
        assert_eq!(problem(&[array(Ty::I32, &[2]), one.clone()]), (0, wrong));
        let wrong = ArgumentProblem::Rank { expected: 1, found: 2 };
        assert_eq!(problem(&[array(Ty::F32, &[1, 2]), one.clone()]), (0, wrong));
        let wrong = ArgumentProblem::Extent { axis: 0, size: "N".into(), expected: 2, found: 1 };
        assert_eq!(problem(&[array(Ty::F32, &[1]), one.clone()]), (0, wrong));
        let short = Argument::Array { ty: Ty::F32, shape: vec![2].into(), data: ArrayData::Host(&[0; 7]) };
        assert_eq!(problem(&[short, one.clone()]), (0, ArgumentProblem::Bytes { expected: 8, found: 7 }));
    }
}

#[test]
fn bools_are_0_or_1() {
    let executable = device(config()).compile(&toy::identity(Ty::Bool)).unwrap();
    let args = [Argument::Array { ty: Ty::Bool, shape: vec![3].into(), data: ArrayData::Host(&[0, 1, 2]) }];
    let error = executable.run(&[Some(3), Some(0)], &args).unwrap_err();
    assert!(matches!(error, Error::Argument { index: 0, problem: ArgumentProblem::Bool { at: 2, byte: 2 }, .. }));
}

#[test]
fn requirements_are_checked() {
    let (n, m) = (Size::Var(toy::N), Size::Var(toy::M));
    let mut program = toy::twice("twice");
    program.requires = vec![Require::NonEmpty(n.clone()), Require::AtMost(n.clone(), m.clone())];
    let executable = device(config()).compile(&program).unwrap();
    let call = |n: usize, m| {
        executable.run(&[Some(n as u64), Some(m)], &[Argument::host(Ty::F32, &[n as u64], &vec![0f32; n])])
    };
    assert!(call(1, 1).is_ok());
    assert!(call(0, 1).unwrap_err().to_string().contains("N to be at least 1"));
    assert!(call(2, 1).unwrap_err().to_string().contains("N is 2 and M is 1"));

    // One that hangs on a count is checked when the count is known.
    let mut program = toy::positive();
    program.requires = vec![Require::NonEmpty(m)];
    let executable = device(config()).compile(&program).unwrap();
    assert_eq!(run(&*executable, &[1.0], None)[0].shape, [1]);
    let error = executable.run(&[Some(1), None], &[Argument::host(Ty::F32, &[1], &[-1f32])]).unwrap_err();
    assert!(matches!(error, Error::Requirement { .. }), "{error}");
}

/// A plan whose result is far larger than its argument.
#[test]
fn memory_that_cannot_be_had_is_an_error() {
    fn lower(program: &slyz_sir::program::Program, _: slyz_sir::lower::Choice) -> slyz_sir::kernel::Plan {
        let mut plan = toy::lower(program, slyz_sir::lower::Choice::USUAL);
        let huge = vec![Size::Var(toy::N), Size::Var(toy::M)];
        plan.kernels[0].memories[1].shape = huge.clone();
        plan.buffers[1].shape = huge.clone();
        plan.results[0].1 = huge;
        plan
    }
    let backend = slyz_run::cpu::Backend { lower, emit: toy::emit };
    // SAFETY: the kernel writes a part of the result only.
    let device = unsafe { slyz_run::cpu::Cpu::with_backend(config(), backend) };
    let executable = device.compile(&toy::twice("twice")).unwrap();
    let call = |m| executable.run(&[Some(4), Some(m)], &[Argument::host(Ty::F32, &[4], &[0f32; 4])]);
    assert!(call(1).is_ok());
    assert!(matches!(call(1 << 57), Err(Error::OutOfMemory { .. })));
    assert!(matches!(call(1 << 60), Err(Error::TooLarge { .. })));
    assert!(matches!(call(1 << 62), Err(Error::TooLarge { .. })));
    assert!(call(1).is_ok());
}

#[test]
fn broken_programs_are_refused() {
    let mut program = toy::twice("twice");
    program.body.results = vec![slyz_sir::code::Id(99)];
    for device in [&device(config()) as &dyn Device, &Interpreter] {
        assert!(matches!(device.compile(&program), Err(Error::Program(_))));
    }
}

#[test]
fn broken_plans_are_refused() {
    use slyz_sir::kernel::{BufferId, Plan, Step};
    type Break = fn(&mut Plan);
    let breaks: [Break; 6] = [
        |plan| plan.steps = vec![Step::Launch { kernel: 7, buffers: vec![], scalars: vec![] }],
        |plan| plan.steps = vec![Step::Launch { kernel: 0, buffers: vec![BufferId(0)], scalars: vec![] }],
        |plan| {
            plan.steps = vec![Step::Launch { kernel: 0, buffers: vec![BufferId(1), BufferId(0)], scalars: vec![] }];
        },
        |plan| {
            plan.steps = vec![Step::Launch { kernel: 0, buffers: vec![BufferId(1), BufferId(1)], scalars: vec![] }];
        },
        |plan| plan.results[0].0 = BufferId(9),
        |plan| plan.params[0].ty = Type::Scalar(Ty::F32),
    ];
    // Functions that lower cannot carry data, so the case travels in the name.
    fn lower(program: &slyz_sir::program::Program, _: slyz_sir::lower::Choice) -> Plan {
        let mut plan = toy::lower(program, slyz_sir::lower::Choice::USUAL);
        let case: usize = program.name.trim_start_matches("case").parse().unwrap();
        CASES.get().unwrap()[case](&mut plan);
        plan
    }
    static CASES: std::sync::OnceLock<Vec<Break>> = std::sync::OnceLock::new();
    CASES.set(breaks.to_vec()).ok();
    // SAFETY: the broken plans never run.
    let device =
        unsafe { slyz_run::cpu::Cpu::with_backend(config(), slyz_run::cpu::Backend { lower, emit: toy::emit }) };
    for case in 0..breaks.len() {
        let error = device.compile(&toy::twice(&format!("case{case}"))).err().unwrap();
        assert!(matches!(error, Error::Plan { .. }), "case {case}: {error}");
    }
}
