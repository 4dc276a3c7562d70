//! `slyz run`: a program called with arrays from files and numbers from the command line.

use crate::limits::{self, Limits};
use crate::smaller::Smaller;
use crate::{ProgramChoice, SizeValue, literal, load, usage, vex};
use anyhow::Context;
use slyz_run::npy::{self, Npy, NpyProblem};
use slyz_run::{Argument, ArrayData, Output};
use slyz_sir::code::Type;
use slyz_sir::interp::program::{InterpError, solve_sizes};
use slyz_sir::interp::{Array, Value};
use slyz_sir::program::Program;
use slyz_sir::types::{Scalar, Ty};
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Run {
    /// A file of SIR text, or of graph functions and the program that launches them.
    #[arg(value_name = "FILE.sir|FILE.vex")]
    file: PathBuf,
    #[command(flatten)]
    choice: ProgramChoice,
    /// An argument of the program, in order: a .npy file for an array, a number for a scalar.
    #[arg(long, short, value_name = "FILE.npy|NUMBER", allow_hyphen_values = true)]
    input: Vec<String>,
    /// A size that no argument tells.
    #[arg(long, short, value_name = "NAME=NUMBER")]
    size: Vec<SizeValue>,
    /// Write the results to result0.npy, result1.npy, … in this folder.
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Where to run: auto, cpu, cuda, hip, wgpu, opencl, openvino or interpreter; `slyz devices` tells which are here. A file that no front end wrote may read outside an array: that gives
    /// zero, and an error that says where in the interpreter.
    #[arg(long, short, value_name = "NAME")]
    device: Option<String>,
    /// Run launches of up to 65,536 threads in the interpreter first, which tells two threads that meet at an element with no barrier
    /// between them (.vex files).
    #[arg(long)]
    check_races: bool,
    #[command(flatten)]
    smaller: Smaller,
    #[command(flatten)]
    limits: Limits,
}

/// Hands on every line as soon as it is written; what it writes to may hold lines back.
struct LineByLine<'a>(&'a mut dyn Write);

impl Write for LineByLine<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.write(bytes)?;
        if bytes[..written].ends_with(b"\n") {
            self.0.flush()?;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// An argument that owns its data.
enum Input {
    Scalar(Scalar),
    Array(Npy),
}

impl Run {
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let _bounded = self.limits.bound(&self.file)?;
        if vex::is_vex(&self.file) {
            self.smaller.not_for_kernels()?;
            if self.choice.program.is_some() || !self.input.is_empty() || !self.size.is_empty() || self.output.is_some()
            {
                return usage(
                    "a .vex file brings its own arguments; --input, --size, --program and --output are for .sir files",
                );
            }
            let wishes = vex::run::Wishes { device: self.device.as_deref(), check_races: self.check_races };
            // Whoever watches, or ends the run, has seen all lines before.
            if self.limits.are_set() || io::stdout().is_terminal() {
                return vex::run::run(&self.file, wishes, &mut LineByLine(out));
            }
            return vex::run::run(&self.file, wishes, out);
        }
        if self.check_races {
            return usage("--check-races is for .vex files: programs have no threads that could meet");
        }
        let (module, _) = load::verified(&self.file)?;
        let (module, _) = self.smaller.apply(module)?;
        let program = load::program(&self.file, &module, self.choice.program.as_deref())?;
        let given = load::sizes(program, &self.size)?;
        let inputs = self.inputs(program)?;
        let sizes = solve(program, &given, &inputs)?;
        let device = slyz_run::device(self.device.as_deref())?;
        limits::doing(format!("running program {} on {}", program.name, device.name()));
        let arguments: Vec<Argument> = inputs.iter().map(Input::argument).collect();
        let results = device.compile(program)?.run(&sizes, &arguments)?;
        for (k, result) in results.iter().enumerate() {
            match &self.output {
                Some(folder) => save(out, folder, k, result)?,
                None => writeln!(out, "{}", literal::short(result.ty, &result.shape, result.data.bytes()?))?,
            }
        }
        Ok(())
    }

    fn inputs(&self, program: &Program) -> anyhow::Result<Vec<Input>> {
        let params = &program.body.params;
        if self.input.len() != params.len() {
            let list: Vec<String> = params.iter().map(|p| type_text(program, &p.ty)).collect();
            let list = if list.is_empty() { "none".into() } else { list.join(", ") };
            let name = &program.name;
            let found = self.input.len();
            let wants = if params.len() == 1 { "1 argument".into() } else { format!("{} arguments", params.len()) };
            return usage(format!("program {name} takes {wants}, given {found}; pass one --input for each of: {list}"));
        }
        let input = |(k, (param, text)): (usize, (&slyz_sir::code::Var, &String))| {
            let place = || format!("argument {} of {}, {}", k + 1, program.name, type_text(program, &param.ty));
            input(&param.ty, text).with_context(place)
        };
        params.iter().zip(&self.input).enumerate().map(input).collect()
    }
}

fn input(ty: &Type, text: &str) -> anyhow::Result<Input> {
    let is_file = text.ends_with(".npy");
    match ty {
        Type::Scalar(ty) if !is_file => literal::parse(*ty, text).map(Input::Scalar).or_else(usage),
        Type::Array(..) if !is_file && literal::parse(Ty::F64, text).is_ok() => {
            usage(format!("`{text}` is one number; an array comes from a .npy file"))
        }
        Type::Scalar(_) | Type::Array(..) => {
            let path = Path::new(text);
            let mut array = npy::read(path)?;
            if array.complex {
                return Err(NpyProblem::Type {
                    found: format!("complex numbers of {}", array.ty),
                    wanted: ty.elem().to_string(),
                    descr: npy::descr(ty.elem(), false).to_string(),
                }
                .of(path)
                .into());
            }
            // NumPy has no bf16: its bits travel as u16.
            if ty.elem() == Ty::BF16 && array.ty == Ty::U16 {
                array.ty = Ty::BF16;
            }
            Ok(Input::Array(array))
        }
    }
}

impl Input {
    fn argument(&self) -> Argument<'_> {
        match self {
            Input::Scalar(scalar) => Argument::Scalar(*scalar),
            Input::Array(Npy { ty, shape, data, complex: _ }) => {
                Argument::Array { ty: *ty, shape: shape.into(), data: ArrayData::Buffer(data) }
            }
        }
    }
}

/// The sizes of the call. Only shapes are asked, so no elements are copied for it.
fn solve(program: &Program, given: &[Option<u64>], inputs: &[Input]) -> anyhow::Result<Vec<Option<u64>>> {
    let shape = |input: &Input| match input {
        Input::Scalar(scalar) => Value::Scalar(*scalar),
        Input::Array(array) => Value::Array(Array { ty: array.ty, shape: array.shape.clone(), data: vec![] }),
    };
    let shapes: Vec<Value> = inputs.iter().map(shape).collect();
    solve_sizes(program, given, &shapes).or_else(|error| match error {
        InterpError::SizeUnknown(name) => usage(format!("no argument tells the size {name}; add --size {name}=NUMBER")),
        other => Err(other.into()),
    })
}

fn save(out: &mut dyn Write, folder: &Path, k: usize, result: &Output) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let path = folder.join(format!("result{k}.npy"));
    let data = result.data.bytes()?;
    let write = |to: &mut dyn Write| npy::write(to, result.ty, false, &result.shape, data).map_err(io::Error::other);
    limits::write_whole(&path, write).map_err(|error| NpyProblem::Io(error).of(&path))?;
    let note = if result.ty == Ty::BF16 { " (bf16 stored as uint16: NumPy has no such type)" } else { "" };
    writeln!(out, "{}: {}{:?}{note}", path.display(), result.ty, result.shape)?;
    Ok(())
}

/// `f32[N, 3]`.
fn type_text(program: &Program, ty: &Type) -> String {
    let extents: Vec<String> =
        ty.shape().iter().map(|size| size.display(&|v| program.size_name(v)).to_string()).collect();
    if extents.is_empty() { ty.elem().to_string() } else { format!("{}[{}]", ty.elem(), extents.join(", ")) }
}
