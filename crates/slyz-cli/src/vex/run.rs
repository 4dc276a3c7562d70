//! `slyz run FILE.vex`: its statements, then its `main`, with launches on a device.

use super::Source;
use super::machine::OnDevice;
use crate::limits;
use anyhow::anyhow;
use slyz_lang::host;
use std::io::Write;
use std::path::Path;

/// How a file is run.
#[derive(Clone, Copy)]
pub struct Wishes<'a> {
    /// On this device.
    pub device: Option<&'a str>,
    /// Small launches run in the interpreter first.
    pub check_races: bool,
}

/// Runs the host part of a file.
pub fn run(path: &Path, wishes: Wishes, out: &mut dyn Write) -> anyhow::Result<()> {
    let source = Source::read_right(path)?;
    let mut machine = OnDevice::new(slyz_run::device(wishes.device)?);
    machine.check_races = wishes.check_races;
    machine.doing = |what| limits::doing(what);
    limits::doing("running statements of the host");
    // What launches write is computed when it is printed or read, launches that follow one another as one.
    slyz_run::lazily(|| {
        let done = host::run(&source.file, &source.kernels, &mut machine, out);
        done.map_err(|diagnostic| anyhow!("{}", source.render(&[diagnostic]).trim_end()))
    })
}
