//! A device of this machine as what runs the host part of a file.

use slyz_lang::host::{self, Argument, Failure, Kernel, Launch, Machine};
use slyz_run::{ArrayData, Buffer, Device, Error, LaunchArray, Launcher};
use slyz_sir::interp::Array;
use slyz_sir::interp::kernel::{self, KernelError, LaunchOptions};
use slyz_sir::launch::Template;
use slyz_sir::types::Ty;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// The most threads of a launch that is checked for races.
const CHECKED_THREADS: u64 = 65_536;
/// The most turns of its loops.
const CHECKED_TURNS: u64 = 1 << 22;

/// Launches on one device, where tensors stay.
pub struct OnDevice {
    device: Arc<dyn Device>,
    /// Do small launches run in the interpreter first, which tells races?
    pub check_races: bool,
    /// Is told what is done from here on.
    pub doing: fn(String),
    /// By kernel.
    ready: HashMap<*const Template, Arc<dyn Launcher>>,
}

impl OnDevice {
    /// On that device, without looking for races or telling anybody what is done.
    pub fn new(device: Arc<dyn Device>) -> OnDevice {
        OnDevice { device, check_races: false, doing: drop, ready: HashMap::new() }
    }

    fn launcher(&mut self, kernel: &Kernel) -> Result<Arc<dyn Launcher>, Error> {
        let key = Arc::as_ptr(&kernel.template);
        if let Some(launcher) = self.ready.get(&key) {
            return Ok(launcher.clone());
        }
        let launcher = self.device.prepare(&kernel.template)?;
        self.ready.insert(key, launcher.clone());
        Ok(launcher)
    }
}

fn failure(error: Error) -> Failure {
    match error {
        Error::Fault(fault) => Failure::Fault(fault),
        other => Failure::Other(other.to_string()),
    }
}

impl Machine for OnDevice {
    type Tensor = Buffer;

    fn upload(&mut self, _: Ty, _: &[u64], bytes: &[u8]) -> Result<Buffer, Failure> {
        self.device.upload(ArrayData::Host(bytes)).map_err(failure)
    }

    fn download(&mut self, _: Ty, _: &[u64], tensor: &Buffer) -> Result<Vec<u8>, Failure> {
        tensor.bytes().map(<[u8]>::to_vec).map_err(failure)
    }

    fn launch(&mut self, kernel: &Kernel, launch: Launch<'_, Buffer>) -> Result<(), Failure> {
        if self.check_races {
            (self.doing)(format!("looking for races in `{}`", kernel.name));
            look_for_races(kernel, &launch)?;
        }
        (self.doing)(format!("launching `{}` on {}", kernel.name, self.device.name()));
        let memories = launch.tensors.into_iter().map(|argument| match argument {
            Argument::Read { ty, shape, tensor } => {
                LaunchArray::Read { ty, shape: shape.to_vec(), data: ArrayData::Buffer(tensor) }
            }
            Argument::Write { ty, shape, tensor } => LaunchArray::Write { ty, shape: shape.to_vec(), data: tensor },
        });
        let threads = launch.threads;
        let memories = memories.collect();
        let scalars = launch.scalars;
        let launcher = self.launcher(kernel).map_err(failure)?;
        let done = launcher.launch(slyz_run::Launch { threads, memories, scalars }).map_err(failure);
        (self.doing)("running statements of the host".to_string());
        done
    }
}

/// Runs a launch in the interpreter, on copies; what it finds there is the launch's failure.
fn look_for_races(kernel: &Kernel, launch: &Launch<'_, Buffer>) -> Result<(), Failure> {
    let mut copies = vec![];
    for argument in &launch.tensors {
        let (ty, shape, buffer) = match argument {
            Argument::Read { ty, shape, tensor } => (*ty, *shape, *tensor),
            Argument::Write { ty, shape, tensor } => (*ty, *shape, &**tensor),
        };
        let copy: Rc<Array> = host::Interpreter::default().upload(ty, shape, buffer.bytes().map_err(failure)?)?;
        copies.push((ty, shape, copy));
    }
    let tensors = copies.iter().map(|(ty, shape, tensor)| Argument::Read { ty: *ty, shape, tensor }).collect();
    let asked = Launch { threads: launch.threads, tensors, scalars: launch.scalars.clone() };
    let Some(mut arranged) = host::arrange(kernel, &asked)? else { return Ok(()) };
    let threads = arranged.sizes[3..6].iter().fold(1u64, |n, &axis| n.saturating_mul(axis));
    let skipped = |why: &str| eprintln!("slyz: `{}` was not checked for races: {why}", kernel.name);
    if threads > CHECKED_THREADS {
        skipped(&format!("{threads} threads, and up to {CHECKED_THREADS} are"));
        return Ok(());
    }
    let shaped = kernel.template.shaped(arranged.block, true, false);
    let options = LaunchOptions { max_turns: CHECKED_TURNS, ..LaunchOptions::default() };
    match kernel::launch(&shaped, &arranged.sizes, &mut arranged.memories, &launch.scalars, &options) {
        Ok(()) => Ok(()),
        Err(KernelError::Turns { .. }) => {
            skipped(&format!("its loops make more than {CHECKED_TURNS} turns"));
            Ok(())
        }
        Err(KernelError::Fault(fault)) => Err(Failure::Fault(fault)),
        Err(other) => Err(Failure::Other(other.to_string())),
    }
}
