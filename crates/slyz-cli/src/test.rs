//! `slyz test`: the cases that stand in files, run on a device.
//!
//! A .vex file is one case: what it prints is compared with its `//>` lines. Cases of programs and launches run on the device that was asked for, other cases of kernels
//! in the interpreter of kernels.

use crate::{Files, literal, load, vex};
use anyhow::anyhow;
use slyz_run::{Argument, ArrayData, Buffer, Device, Launch, LaunchArray, Output};
use slyz_sir::interp::kernel::{LaunchOptions, launch};
use slyz_sir::interp::program::solve_sizes;
use slyz_sir::interp::{Array, Value};
use slyz_sir::kernel::{Access, Kernel, Space};
use slyz_sir::launch::Template;
use slyz_sir::program::{Module, Program};
use slyz_sir::text::{Case, Expect, Subject};
use slyz_sir::threads::Threads;
use slyz_sir::types::{Scalar, Ty};
use std::io::Write;
use std::sync::Arc;

#[derive(clap::Args)]
pub struct Test {
    #[command(flatten)]
    files: Files,
    /// Where to run: auto, cpu, cuda, hip, wgpu, opencl, openvino or interpreter; `slyz devices` tells which are here.
    #[arg(long, short, value_name = "NAME")]
    device: Option<String>,
}

impl Test {
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let device = slyz_run::device(self.device.as_deref())?;
        let (mut count, mut failed) = (0, 0);
        for path in &self.files.files {
            if vex::is_vex(path) {
                count += 1;
                if let Err(why) = vex::test::test(path, self.device.as_deref()) {
                    failed += 1;
                    writeln!(out, "{}: {why:#}", path.display())?;
                }
                continue;
            }
            let (module, cases) = load::verified(path)?;
            for case in &cases {
                count += 1;
                if let Err(why) = run_case(&*device, &module, case) {
                    failed += 1;
                    writeln!(out, "{}: case \"{}\": {why:#}", path.display(), case.name)?;
                }
            }
        }
        let name = device.name();
        let plural = if count == 1 { "" } else { "s" };
        writeln!(out, "{count} case{plural} on {name}, {failed} failed")?;
        if failed > 0 { Err(anyhow!("{failed} of {count} cases failed")) } else { Ok(()) }
    }
}

fn run_case(device: &dyn Device, module: &Module, case: &Case) -> anyhow::Result<()> {
    match &case.subject {
        Subject::Program(name) => {
            let program =
                module.programs.iter().find(|g| g.name == *name).ok_or_else(|| anyhow!("no program {name}"))?;
            run_program(device, program, case)
        }
        Subject::Kernel(name) => {
            let kernel = module.kernels.iter().find(|k| k.name == *name).ok_or_else(|| anyhow!("no kernel {name}"))?;
            match case.launch {
                Some(threads) => run_launch(device, kernel, threads, case),
                None => run_kernel(kernel, case),
            }
        }
    }
}

fn size(case: &Case, name: &str) -> Option<u64> {
    case.sizes.iter().find(|(known, _)| known == name).map(|(_, n)| *n)
}

fn run_program(device: &dyn Device, program: &Program, case: &Case) -> anyhow::Result<()> {
    let given: Vec<Option<u64>> = program.sizes.iter().map(|decl| size(case, &decl.name)).collect();
    let sizes = solve_sizes(program, &given, &case.args)?;
    let data: Vec<Vec<u8>> = case.args.iter().map(bytes).collect();
    let argument = |(value, data)| match value {
        &Value::Scalar(scalar) => Argument::Scalar(scalar),
        Value::Array(a) => Argument::Array { ty: a.ty, shape: (&a.shape).into(), data: ArrayData::Host(data) },
    };
    let args: Vec<Argument> = case.args.iter().zip(data.iter().map(|d| &d[..])).map(argument).collect();
    let results = device.compile(program)?.run(&sizes, &args)?;
    if results.len() != case.expect.len() {
        return Err(anyhow!("{} results, expected {}", results.len(), case.expect.len()));
    }
    for (k, (expect, result)) in case.expect.iter().zip(&results).enumerate() {
        difference(expect, &value(result)?).map_err(|why| anyhow!("result {k}: {why}"))?;
    }
    Ok(())
}

fn run_kernel(kernel: &Kernel, case: &Case) -> anyhow::Result<()> {
    let known = |name: &str| size(case, name).ok_or_else(|| anyhow!("no value for the size {name}"));
    let sizes = kernel.sizes.iter().map(|decl| known(&decl.name)).collect::<anyhow::Result<Vec<u64>>>()?;
    let mut memories = vec![];
    let mut scalars = vec![];
    for arg in &case.args {
        match arg {
            Value::Array(array) => memories.push(array.clone()),
            Value::Scalar(scalar) => scalars.push(*scalar),
        }
    }
    launch(kernel, &sizes, &mut memories, &scalars, &LaunchOptions::default())?;
    let bound = kernel.memories.iter().filter(|memory| match memory.space {
        Space::Global(_) | Space::Constant => true,
        Space::Shared | Space::Scratch | Space::Local => false,
    });
    let found: Vec<(&str, &Array)> = bound.map(|m| &m.name[..]).zip(&memories).collect();
    for expect in &case.expect {
        let name = expect.memory.as_deref().unwrap_or_default();
        let (_, array) = found.iter().find(|(n, _)| *n == name).ok_or_else(|| anyhow!("no memory {name}"))?;
        difference(expect, array).map_err(|why| anyhow!("{name}: {why}"))?;
    }
    Ok(())
}

fn run_launch(device: &dyn Device, kernel: &Kernel, threads: Threads, case: &Case) -> anyhow::Result<()> {
    let mut constants = vec![];
    let mut names = vec![];
    let mut before = vec![];
    let mut buffers = vec![];
    for (memory, arg) in kernel.memories.iter().filter(|memory| memory.space.is_bound()).zip(&case.args) {
        let Value::Array(array) = arg else { continue };
        if memory.space == Space::Constant {
            constants.push(array.data.clone());
            continue;
        }
        names.push(memory);
        before.push(array);
        buffers.push(Buffer::copy_of(&bytes(arg))?);
    }
    let passed = names.iter().zip(&before).zip(&mut buffers).map(|((memory, array), data)| {
        let ty = array.ty;
        let shape = array.shape.clone();
        match memory.space == Space::Global(Access::Read) {
            true => LaunchArray::Read { ty, shape, data: ArrayData::Buffer(data) },
            false => LaunchArray::Write { ty, shape, data },
        }
    });
    let scalars = case.args.iter().filter_map(|arg| if let Value::Scalar(scalar) = arg { Some(*scalar) } else { None });
    let launch = Launch { threads, memories: passed.collect(), scalars: scalars.collect() };
    let template = Arc::new(Template { kernel: kernel.clone(), constants });
    let done = device.prepare(&template).and_then(|launcher| launcher.launch(launch));
    match (done, &case.fails) {
        (Ok(()), None) => {}
        (Err(error), Some(part)) if error.to_string().contains(part) => {}
        (Err(error), _) => return Err(error.into()),
        (Ok(()), Some(part)) => return Err(anyhow!("no error, expected \"{part}\"")),
    }
    for expect in &case.expect {
        let name = expect.memory.as_deref().unwrap_or_default();
        let place = names.iter().position(|memory| memory.name == name).ok_or_else(|| anyhow!("no memory {name}"))?;
        let Array { ty, shape, .. } = before[place].clone();
        let data =
            buffers[place].bytes()?.chunks(ty.bytes()).map(|element| literal::scalar(ty, element).bits).collect();
        difference(expect, &Array { ty, shape, data }).map_err(|why| anyhow!("{name}: {why}"))?;
    }
    Ok(())
}

/// The elements as a device takes them.
fn bytes(value: &Value) -> Vec<u8> {
    let Value::Array(array) = value else { return vec![] };
    array.data.iter().flat_map(|&bits| literal::bytes(array.ty, bits)).collect()
}

fn value(output: &Output) -> Result<Array, slyz_run::Error> {
    let elements = output.data.bytes()?.chunks(output.ty.bytes());
    let data = elements.map(|element| literal::scalar(output.ty, element).bits).collect();
    Ok(Array { ty: output.ty, shape: output.shape.clone(), data })
}

/// Says where a result is further from what is expected than it may be.
fn difference(expect: &Expect, found: &Array) -> Result<(), String> {
    let expected = match &expect.value {
        // A scalar is an array of no axes on a device.
        Value::Scalar(Scalar { ty, bits }) => &Array { ty: *ty, shape: vec![], data: vec![*bits] },
        Value::Array(array) => array,
    };
    if (expected.ty, &expected.shape) != (found.ty, &found.shape) {
        let describe = |a: &Array| format!("{}{:?}", a.ty, a.shape);
        return Err(format!("expected {}, found {}", describe(expected), describe(found)));
    }
    for (k, (&a, &b)) in expected.data.iter().zip(&found.data).enumerate() {
        if distance(expected.ty, a, b) > expect.ulp.into() {
            let [a, b] = [a, b].map(|bits| Scalar { ty: expected.ty, bits });
            return Err(format!("element {k}: expected {a:?}, found {b:?}"));
        }
    }
    Ok(())
}

/// How many values lie between two of one type; no number for integers that differ, or where only one is a NaN.
fn distance(ty: Ty, a: u64, b: u64) -> u128 {
    let is_nan = |bits| ty.is_float() && Scalar { ty, bits }.as_f64().is_nan();
    // The order of the bits is that of the numbers once negative ones are turned around.
    let place = |bits: u64| {
        let sign = 1u64 << (ty.bits() - 1);
        if bits & sign != 0 { -i128::from(bits & !sign) - 1 } else { i128::from(bits) }
    };
    match () {
        () if a == b || is_nan(a) && is_nan(b) => 0,
        () if !ty.is_float() || is_nan(a) || is_nan(b) => u128::MAX,
        () => place(a).abs_diff(place(b)),
    }
}
