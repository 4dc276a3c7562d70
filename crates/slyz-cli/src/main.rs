//! The `slyz` command: looks into SIR files, runs them, and says what the machine has.
//!
//! It parses the command line, reads files and writes what the libraries say; it decides nothing about programs.
//! Exit codes: 0 all is well, 1 something failed, 2 the command line is wrong, 124 a run took too long, 130 it was interrupted.
#![forbid(unsafe_code)]

mod build;
mod check;
mod devices;
mod dump;
mod explain;
mod limits;
mod literal;
mod load;
mod passes;
mod run;
mod smaller;
mod test;
mod tune;
mod vex;

use clap::{Parser, Subcommand};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Słyż: array functions, looked at and run from the command line.
#[derive(Parser)]
#[command(name = "slyz", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print a file as SIR: as it is, behind a pass, or as launches for a kind of machine.
    Dump(dump::Dump),
    /// Run a program of a .sir file on arrays and numbers, or the program in a .vex file.
    Run(run::Run),
    /// Parse and verify files, and report everything that is wrong.
    Check(check::Check),
    /// Say what becomes of a file's programs: kernels, bytes, flops, temporaries.
    Explain(explain::Explain),
    /// Write a file's programs or graph functions as source files for targets.
    Build(build::Build),
    /// Run the cases that stand in files.
    Test(test::Test),
    /// Run a file as `run` does, with plans that the clock chooses, and say which. They are kept for later runs with SLYZ_TUNE=1.
    Tune(tune::Tune),
    /// List the devices of this machine and what they work with.
    Devices,
}

/// A program by name, where a file has several.
#[derive(clap::Args)]
struct ProgramChoice {
    /// The program, where the file has several.
    #[arg(long, value_name = "NAME")]
    program: Option<String>,
}

/// A size by name.
#[derive(Clone, Debug)]
struct SizeValue {
    name: String,
    value: u64,
}

impl std::str::FromStr for SizeValue {
    type Err = String;
    fn from_str(text: &str) -> Result<SizeValue, String> {
        let wrong = || format!("`{text}` is not NAME=NUMBER, as in N=1024");
        let (name, value) = text.split_once('=').ok_or_else(wrong)?;
        let value = value.replace('_', "").parse().map_err(|_| wrong())?;
        Ok(SizeValue { name: name.trim().to_string(), value })
    }
}

/// A mistake on the command line that only the file could reveal.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(String);

fn usage<T>(message: impl Into<String>) -> anyhow::Result<T> {
    Err(Usage(message.into()).into())
}

fn main() -> ExitCode {
    // Help and mistakes print themselves, and leave with 0 and 2.
    let cli = Cli::try_parse().unwrap_or_else(|error| error.exit());
    let mut out = io::BufWriter::new(io::stdout().lock());
    let done = match cli.command {
        Command::Dump(dump) => dump.run(&mut out),
        Command::Run(run) => run.run(&mut out),
        Command::Check(check) => check.run(&mut out),
        Command::Explain(explain) => explain.run(&mut out),
        Command::Build(build) => build.run(&mut out),
        Command::Test(test) => test.run(&mut out),
        Command::Tune(tune) => tune.run(&mut out),
        Command::Devices => devices::run(&mut out),
    };
    let done = done.and_then(|()| Ok(out.flush()?));
    let Err(error) = done else { return ExitCode::SUCCESS };
    // Whoever read our output has enough of it, as `head` does.
    if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    // What was printed before comes before the complaint.
    let _ = out.flush();
    let _ = writeln!(io::stderr(), "slyz: {error:#}");
    ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
}

/// Files named on the command line.
#[derive(clap::Args)]
struct Files {
    /// Files of SIR text, or of graph functions.
    #[arg(required = true, value_name = "FILE.sir|FILE.vex")]
    files: Vec<PathBuf>,
}
