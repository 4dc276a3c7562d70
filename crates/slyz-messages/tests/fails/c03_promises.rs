//! What only `unsafe` code may promise.
#![allow(unused)]
use slyz::Device;
use slyz_run::{Executable, Launch, Launcher};
use slyz_sir::program::Program;
use std::sync::Arc;

fn main() {}

fn trusted(device: &dyn Device, program: &Program) -> Arc<dyn Executable> { device.compile_trusted(program).unwrap() }
fn unchecked(launcher: &dyn Launcher, launch: Launch) { launcher.launch_unchecked(launch).unwrap() }

struct Copied;

impl Executable for Copied {
    fn run(&self, _: &[Option<u64>], _: &[slyz_run::Argument]) -> Result<Vec<slyz_run::Output>, slyz_run::Error> { todo!() }
    fn source(&self) -> &str { "" }
    fn plan(&self) -> Option<&slyz_sir::kernel::Plan> { None }
    fn device(&self) -> &str { "copied" }
    fn is_own(&self, _: slyz_run::Seal) -> bool { true }
}
