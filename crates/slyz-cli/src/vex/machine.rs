//! A device of this machine as what runs the host part of a file.

use slyz_lang::host::{Argument, Failure, Kernel, Launch, Machine, Threads};
use slyz_run::{ArrayData, Buffer, Device, Error, LaunchArray, Launcher};
use slyz_sir::launch::Template;
use slyz_sir::types::Ty;
use std::collections::HashMap;
use std::sync::Arc;

/// Launches on one device, where tensors stay.
pub struct OnDevice {
    device: Arc<dyn Device>,
    /// By kernel.
    ready: HashMap<*const Template, Arc<dyn Launcher>>,
}

impl OnDevice {
    /// On that device.
    pub fn new(device: Arc<dyn Device>) -> OnDevice {
        OnDevice { device, ready: HashMap::new() }
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
        let memories = launch.tensors.into_iter().map(|argument| match argument {
            Argument::Read { ty, shape, tensor } => {
                LaunchArray::Read { ty, shape: shape.to_vec(), data: ArrayData::Buffer(tensor) }
            }
            Argument::Write { ty, shape, tensor } => LaunchArray::Write { ty, shape: shape.to_vec(), data: tensor },
        });
        let threads = match launch.threads {
            Threads::Exact(threads) => slyz_run::Threads::Exact(threads),
            Threads::InBlocks { threads, block } => slyz_run::Threads::InBlocks { threads, block },
            Threads::Blocks { grid, block } => slyz_run::Threads::Blocks { grid, block },
            Threads::Inferred => slyz_run::Threads::Inferred,
        };
        let (memories, scalars) = (memories.collect(), launch.scalars);
        let launcher = self.launcher(kernel).map_err(failure)?;
        launcher.launch(slyz_run::Launch { threads, memories, scalars }).map_err(failure)
    }
}
