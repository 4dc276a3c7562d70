//! `slyz build`: the programs of a file as source files for targets.

use crate::passes::{Passes, known};
use crate::smaller::Smaller;
use crate::{SizeValue, load, usage, vex};
use anyhow::{Context, anyhow};
use slyz_sir::back::harness::{self, Emitted, Options, Target};
use slyz_sir::choices::{Extension, Precision};
use slyz_sir::program::Program;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Build {
    /// A file of SIR text, or of graph functions.
    #[arg(value_name = "FILE.sir|FILE.vex")]
    file: PathBuf,
    /// What to write for; several with commas between them.
    #[arg(long, value_enum, value_delimiter = ',', required = true)]
    target: Vec<Name>,
    /// The folder that the files go to; it is made where there is none. Without it, text is printed.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The programs or graph functions to build, with commas between them; all where nothing is said.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    program: Vec<String>,
    #[command(flatten)]
    passes: Passes,
    #[command(flatten)]
    smaller: Smaller,
    /// How close float results are to the operator table: `native` writes the target's own functions, `table` keeps every operator
    /// within its units in the last place.
    #[arg(long, value_name = "native|table|exact", default_value = "native")]
    precision: Precision,
    /// What the target's standard does not have, with commas between them: `int64`, `float64`.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    extensions: Vec<Extension>,
    /// A size that is a number in models (openvino, coreml); the others are dynamic.
    #[arg(long, short, value_name = "NAME=NUMBER")]
    size: Vec<SizeValue>,
    /// Writes a whole project: besides the kernels a host program that validates and measures them, expected values, a build file and a
    /// README. For c, opencl, cuda, hip, hip-rdna, spirv, metal, web and rust; of .vex files, whose launches are the cases, for all of them but metal and rust.
    #[arg(long)]
    project: bool,
    #[command(flatten)]
    blocks: vex::Blocks,
}

/// Targets as the command line names them.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Name {
    /// kernels.metal, and harness.swift that runs it.
    Metal,
    /// One Swift file with the Metal source in it.
    MetalSingleFile,
    /// C with vectors, for CPUs.
    C,
    /// A WGSL file per kernel, for WebGPU.
    Wgsl,
    /// GPUs of NVIDIA: `kernels.cu`, CUDA C++
    Cuda,
    /// GPUs of AMD for computing (CDNA): `kernels.hip`, HIP with wavefronts of 64
    Hip,
    /// The same for RDNA, with wavefronts of 32
    HipRdna,
    /// Devices of OpenCL: `kernels.cl`, OpenCL C 1.2
    Opencl,
    /// CUDA as PTX, by NVRTC: what NVIDIA's drivers load, for GPUs from the A100 on.
    Ptx,
    /// A SPIR-V file per kernel, for Vulkan.
    Spirv,
    /// A page for browsers with WebGPU: WGSL, JavaScript functions, and a table that says whether they are right.
    Web,
    /// A crate of Rust that carries the code of its kernels; with --project.
    Rust,
    /// A model of OpenVINO per program, `.xml` and `.bin`.
    Openvino,
    /// A Core ML package per program, `.mlpackage`.
    Coreml,
}

impl Name {
    fn target(self) -> anyhow::Result<Target> {
        Ok(match self {
            Name::Metal => Target::Metal,
            Name::MetalSingleFile => Target::MetalSingleFile,
            Name::C => Target::C,
            Name::Cuda | Name::Ptx => Target::Cuda,
            Name::Hip => Target::Hip,
            Name::HipRdna => Target::HipRdna,
            Name::Opencl => Target::OpenCl,
            Name::Wgsl => Target::Wgsl,
            #[cfg(feature = "wgpu")]
            Name::Spirv => Target::Spirv,
            Name::Web => Target::Web,
            Name::Rust => Target::Rust,
            Name::Openvino => Target::OpenVino,
            Name::Coreml => Target::CoreMl,
            #[cfg(not(feature = "wgpu"))]
            Name::Spirv => return Err(anyhow!("this slyz writes no SPIR-V; build it with the cargo feature `wgpu`")),
        })
    }
}

impl Build {
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let vex = vex::is_vex(&self.file);
        if self.blocks.any() && !vex {
            return usage("--block and --checks are for .vex files");
        }
        if self.out.is_none() && self.target.contains(&Name::Spirv) {
            return usage("SPIR-V is no text; name a folder for its files with --out");
        }
        let models = self.target.iter().any(|name| matches!(name, Name::Openvino | Name::Coreml));
        if self.out.is_none() && models {
            return usage("models are more than text; name a folder for their files with --out");
        }
        if !self.size.is_empty() && !models {
            return usage("--size is for models: the targets openvino and coreml");
        }
        if self.project {
            self.check_project()?;
        } else if self.target.contains(&Name::Rust) {
            return usage("rust is a whole crate: add --project");
        }
        if vex {
            self.smaller.not_for_kernels()?;
            let targets = self.target.iter().map(|name| name.target()).collect::<anyhow::Result<Vec<_>>>()?;
            let all =
                vex::build::build(&self.file, &self.program, &targets, &self.options(), &self.blocks, self.project)?;
            return self.put(all, out);
        }
        let (module, _) = load::verified(&self.file)?;
        let (module, _) = self.smaller.apply(module)?;
        let mut programs: Vec<Program> = vec![];
        for name in &self.program {
            programs.push(load::program(&self.file, &module, Some(name))?.clone());
        }
        if self.program.is_empty() {
            programs = module.programs;
        }
        if programs.is_empty() {
            return Err(anyhow!("{}: no program in the file; there is nothing to build", self.file.display()));
        }
        let options = self.options();
        let mut all = vec![];
        for target in &self.target {
            let target = target.target()?;
            known(harness::road(target, &options.passes).check(None))?;
            let emit = if self.project { harness::project } else { harness::emit_with };
            let emitted = emit(&programs, target, &options);
            all.push(emitted.with_context(|| self.file.display().to_string())?);
        }
        self.put(all, out)
    }

    /// A project is a folder of its own, of a target that has a host.
    fn check_project(&self) -> anyhow::Result<()> {
        if self.target.len() > 1 {
            return usage("--project writes a folder for one target; call it once for each");
        }
        if self.out.is_none() {
            return usage("--project writes several files; name a folder for them with --out");
        }
        if self.target.contains(&Name::Ptx) {
            return usage("ptx has no host program; --project --target cuda has one, and compiles the same kernels");
        }
        Ok(())
    }

    /// What one of several targets has got, compiled where that is asked for.
    fn finished(&self, name: Name, emitted: Emitted) -> anyhow::Result<Emitted> {
        if name != Name::Ptx {
            return Ok(emitted);
        }
        let text: String = emitted.files.iter().filter_map(|file| file.as_text()).collect();
        let ptx = ptx(&text, self.precision)?;
        let files = vec![harness::File::text("kernels.ptx".to_string(), ptx)];
        Ok(Emitted { files, build: format!("ptxas -arch=sm_{OLDEST} kernels.ptx") })
    }

    fn options(&self) -> Options {
        Options {
            passes: self.passes.selection(),
            precision: self.precision,
            extensions: self.extensions.clone(),
            sizes: self.size.iter().map(|size| (size.name.clone(), size.value)).collect(),
        }
    }

    fn put(&self, all: Vec<Emitted>, out: &mut dyn Write) -> anyhow::Result<()> {
        let names = self.target.iter().copied();
        let all: Vec<Emitted> =
            names.zip(all).map(|(name, emitted)| self.finished(name, emitted)).collect::<anyhow::Result<_>>()?;
        match &self.out {
            Some(folder) => write_files(&all, folder, out),
            None => print(&all, out),
        }
    }
}

/// The oldest architecture that PTX is for.
const OLDEST: u32 = 80;

#[cfg(feature = "cuda")]
fn ptx(text: &str, precision: Precision) -> anyhow::Result<String> {
    Ok(slyz_run::cuda::ptx(text, &format!("compute_{OLDEST}"), precision)?)
}

#[cfg(not(feature = "cuda"))]
fn ptx(_: &str, _: Precision) -> anyhow::Result<String> {
    Err(anyhow!("this slyz writes no PTX; build it with the cargo feature `cuda`"))
}

/// All files of all targets, or none.
fn write_files(all: &[Emitted], folder: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    let files: Vec<(&str, &[u8])> = all.iter().flat_map(|e| &e.files).map(|f| (&f.name[..], f.bytes())).collect();
    slyz_run::write_files(folder, &files)?;
    for (name, _) in files {
        writeln!(out, "{}", folder.join(name).display())?;
    }
    for emitted in all {
        writeln!(out, "cd {} && {}", folder.display(), emitted.build)?;
    }
    Ok(())
}

/// Files as text, under their names where there are several.
fn print(all: &[Emitted], out: &mut dyn Write) -> anyhow::Result<()> {
    let files: Vec<_> = all.iter().flat_map(|e| &e.files).collect();
    for (k, file) in files.iter().enumerate() {
        if files.len() > 1 {
            let gap = if k > 0 { "\n" } else { "" };
            writeln!(out, "{gap}// {}", file.name)?;
        }
        write!(out, "{}", file.as_text().unwrap_or_default())?;
    }
    Ok(())
}
