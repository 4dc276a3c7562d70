//! `slyz run FILE.vex`: its statements, then its `main`, with launches on a device.

use super::Source;
use super::machine::OnDevice;
use anyhow::anyhow;
use slyz_lang::host;
use std::io::Write;
use std::path::Path;

/// Runs the host part of a file.
pub fn run(path: &Path, device: Option<&str>, out: &mut dyn Write) -> anyhow::Result<()> {
    let source = Source::read_right(path)?;
    let mut machine = OnDevice::new(slyz_run::device(device)?);
    let done = host::run(&source.file, &source.kernels, &mut machine, out);
    done.map_err(|diagnostic| anyhow!("{}", source.render(&[diagnostic]).trim_end()))
}
