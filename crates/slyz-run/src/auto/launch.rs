//! Where a launch runs: where its arrays are, and else where it is faster.
//!
//! A launch with as many bytes on the GPU as on the host runs there. One whose arrays are all on the host goes by [`decide`], with an
//! estimate of its operators that follows the bounds of loops as far as sizes and scalars tell them. A launch that a GPU cannot
//! run, or has no memory for, is left to the CPU, which says so once.

use super::{Auto, FLOOR, Load, Pair, Side, decide, falls_back, is_final};
use crate::launch::Outline;
use crate::{ArrayData, Device, Error, Launch, LaunchArray, Launcher, warn};
use slyz_sir::kernel::Kernel;
use slyz_sir::launch::Template;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// A kernel, made ready where its launches go.
pub(super) struct AutoLauncher {
    pair: Arc<Pair>,
    outline: Outline,
    on_cpu: Arc<dyn Launcher>,
    on_gpu: OnceLock<Arc<dyn Launcher>>,
    /// The GPU cannot run this kernel.
    refused: AtomicBool,
}

impl AutoLauncher {
    pub(super) fn new(pair: Arc<Pair>, template: &Arc<Template>) -> Result<AutoLauncher, Error> {
        let on_cpu = pair.cpu.prepare(template)?;
        let outline = Outline::new(template)?;
        let on_gpu = OnceLock::new();
        let refused = AtomicBool::new(false);
        Ok(AutoLauncher { pair, outline, on_cpu, on_gpu, refused })
    }

    /// The GPU that a launch is to run on, if any.
    fn gpu_for(&self, launch: &Launch) -> Option<&Arc<dyn Device>> {
        if self.refused.load(Ordering::Relaxed) {
            return None;
        }
        let mut load = Load::default();
        for array in &launch.memories {
            let bytes = array.data().len() as f64;
            match array.data() {
                ArrayData::Buffer(buffer) if !buffer.is_host() => load.gpu_bytes += bytes,
                ArrayData::Buffer(_) | ArrayData::Host(_) => load.host_bytes += bytes,
            }
            if let LaunchArray::Write { data, .. } = array
                && data.is_host()
            {
                load.result_bytes += bytes;
            }
        }
        if load.gpu_bytes > 0.0 {
            return if load.gpu_bytes >= load.host_bytes { Some(&self.pair.gpu()?.device) } else { None };
        }
        load.operators = operators(&self.outline, launch);
        if load.host_bytes + load.operators < FLOOR {
            return None;
        }
        let gpu = self.pair.gpu()?;
        (decide(&gpu.measured, &load).side == Side::Gpu).then_some(&gpu.device)
    }

    fn on_gpu(&self, device: &dyn Device) -> Result<&Arc<dyn Launcher>, Error> {
        if let Some(launcher) = self.on_gpu.get() {
            return Ok(launcher);
        }
        let launcher = device.prepare(&self.outline.template)?;
        Ok(self.on_gpu.get_or_init(|| launcher))
    }
}

/// Operators of a launch, weighed by their costs.
#[cfg(feature = "cpu")]
fn operators(outline: &Outline, launch: &Launch) -> f64 {
    outline.operators(launch)
}

#[cfg(not(feature = "cpu"))]
fn operators(_: &Outline, _: &Launch) -> f64 {
    0.0
}

impl AutoLauncher {
    /// Has a launcher of either device run the launch.
    fn start(
        &self,
        mut launch: Launch<'_>,
        run: &dyn Fn(&dyn Launcher, Launch<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if let Some(gpu) = self.gpu_for(&launch) {
            match self.on_gpu(&**gpu).and_then(|launcher| run(&**launcher, launch.again())) {
                Err(error) if falls_back(&error) => {
                    if is_final(&error) {
                        self.refused.store(true, Ordering::Relaxed);
                    }
                    let (name, cpu) = (self.outline.name(), self.pair.cpu.name());
                    let key = format!("auto {name} {error}");
                    warn::warn_once(&key, &format!("\"{name}\" runs on the device \"{cpu}\" instead: {error}"));
                }
                done => return done,
            }
        }
        run(&*self.on_cpu, launch)
    }
}

impl Launcher for AutoLauncher {
    fn launch(&self, launch: Launch<'_>) -> Result<(), Error> {
        self.start(launch, &|launcher, launch| launcher.launch(launch))
    }

    unsafe fn launch_unchecked(&self, launch: Launch<'_>) -> Result<(), Error> {
        // SAFETY: the caller's promise is about this very launch, wherever it runs.
        self.start(launch, &|launcher, launch| unsafe { launcher.launch_unchecked(launch) })
    }

    /// The CPU's.
    fn source(&self) -> Result<String, Error> {
        self.on_cpu.source()
    }

    /// The CPU's.
    fn kernels(&self) -> Result<Vec<Kernel>, Error> {
        self.on_cpu.kernels()
    }

    fn device(&self) -> &str {
        Auto::NAME
    }
}
