//! Finding an adapter and opening it.

use super::AdapterSummary;
use super::cache::PipelineCache;
use super::driver;
use super::geometry::Built;
use super::groups::Groups;
use super::memory::Memory;
use super::pace::Pace;
use super::transfer::Staging;
use super::wait::wait;
use crate::memo::Memo;
use crate::shaders::Kind;
use crate::{CacheConfig, Error, warn};
use slyz_sir::back::naga::Target;
use slyz_sir::choices::Precision;
use slyz_sir::lower::gpu::Machine;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use wgpu::{Adapter, DeviceType, ErrorFilter, Features, Limits};

/// Kernels that are kept when nobody uses them.
const KEPT_PIPELINES: usize = 1024;

/// Every adapter that can run kernels, best first.
pub(super) fn all() -> Vec<Adapter> {
    if wgpu::Instance::enabled_backend_features().is_empty() {
        return vec![];
    }
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    // Validation layers are for people who debug wgpu.
    descriptor.flags = wgpu::InstanceFlags::empty();
    let instance = wgpu::Instance::new(descriptor);
    let mut all = wait(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
    all.retain(|a| a.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS));
    all.sort_by_key(|adapter| rank(adapter.get_info().device_type));
    all
}

fn rank(kind: DeviceType) -> u8 {
    match kind {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        DeviceType::Other => 3,
        DeviceType::Cpu => 4,
    }
}

pub(super) fn summary(adapter: &Adapter) -> AdapterSummary {
    let info = adapter.get_info();
    let limits = adapter.limits();
    let features = adapter.features();
    let has = [(Features::SHADER_INT64, "i64"), (Features::SHADER_F64, "f64"), (Features::SHADER_F16, "f16")];
    AdapterSummary {
        name: info.name,
        backend: info.backend.to_string(),
        software: info.device_type == DeviceType::Cpu,
        binding_bytes: limits.max_storage_buffer_binding_size,
        buffer_bytes: limits.max_buffer_size,
        threads: limits.max_compute_invocations_per_workgroup,
        shared_bytes: limits.max_compute_workgroup_storage_size,
        subgroup: features.contains(Features::SUBGROUP).then_some((info.subgroup_min_size, info.subgroup_max_size)),
        timestamps: features.contains(Features::TIMESTAMP_QUERY),
        types: has.into_iter().filter(|(feature, _)| features.contains(*feature)).map(|(_, name)| name).collect(),
    }
}

/// An adapter at work.
pub(super) struct Opened {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(super) limits: Limits,
    /// What a kernel sees of an array at once.
    pub(super) window_bytes: u64,
    pub(super) target: Target,
    /// The driver ends the loops of a thread after [`MOST_TURNS`](slyz_sir::back::naga::MOST_TURNS).
    pub(super) ends_loops: bool,
    pub(super) machine: Machine,
    pub(super) memory: Memory,
    /// SPIR-V reaches the driver as it is.
    pub(super) passthrough: bool,
    pub(super) cache: Option<PipelineCache>,
    pub(super) groups: Groups,
    pub(super) pace: Pace,
    pub(super) up: Staging,
    pub(super) down: Staging,
    /// Are its conversions of `f16` exact? Asked when the first kernel has them.
    pub(super) exact_halves: OnceLock<bool>,
    /// Bytes a second; see `Device::copy_bandwidth`.
    pub(super) bandwidth: OnceLock<f64>,
    /// Kernels by structural hash, whatever programs they come from.
    pub(super) pipelines: Memo<Built>,
    summary: AdapterSummary,
    lost: Arc<OnceLock<String>>,
}

impl Opened {
    pub(super) fn new(wish: Option<&str>, plain: bool) -> Result<Opened, Error> {
        let all = all();
        let named = |adapter: &&Adapter| {
            let name = adapter.get_info().name.to_lowercase();
            wish.is_none_or(|wish| name.contains(&wish.to_lowercase()))
        };
        let names = || all.iter().map(|a| a.get_info().name).collect::<Vec<_>>().join(", ");
        let adapter = all.iter().find(named).ok_or_else(|| Error::NoAdapter {
            why: match (wish, all.is_empty()) {
                (Some(wish), false) => format!("none has \"{wish}\" in its name; there are: {}", names()),
                _ => "no driver offers one".to_string(),
            },
        })?;
        let wanted = if plain {
            Features::empty()
        } else {
            Features::SHADER_INT64
                | Features::SHADER_F64
                | Features::SHADER_INT64_ATOMIC_ALL_OPS
                | Features::TIMESTAMP_QUERY
                | Features::PASSTHROUGH_SHADERS
                | Features::PIPELINE_CACHE
                | Features::SUBGROUP
                | Features::SUBGROUP_BARRIER
        };
        let features = adapter.features() & wanted;
        let limits = adapter.limits();
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("slyz"),
            required_features: features,
            required_limits: limits.clone(),
            ..Default::default()
        };
        let (device, queue) = wait(adapter.request_device(&descriptor))
            .map_err(|error| Error::NoAdapter { why: format!("{} does not open: {error}", adapter.get_info().name) })?;
        let lost = Arc::new(OnceLock::new());
        let note = lost.clone();
        device.set_device_lost_callback(move |reason, why| {
            // Dropping the device is no accident.
            if reason != wgpu::DeviceLostReason::Destroyed {
                let _ = note.set(why);
            }
        });
        device.on_uncaptured_error(Arc::new(|error: wgpu::Error| {
            warn::warn_once("wgpu", &format!("the GPU driver reports: {error}"));
        }));
        let int64 = features.contains(Features::SHADER_INT64);
        let vulkan = adapter.get_info().backend == wgpu::Backend::Vulkan;
        let passthrough = vulkan && features.contains(Features::PASSTHROUGH_SHADERS);
        // Kernels are written for one size of subgroups. Blocks are made of whole ones, or of a single one, in order of the
        // threads: that is so on every driver whose subgroups have one size.
        let info = adapter.get_info();
        let sizes = [info.subgroup_min_size, info.subgroup_max_size];
        let has = features.contains(Features::SUBGROUP | Features::SUBGROUP_BARRIER) && sizes[0] == sizes[1];
        let software = adapter.get_info().device_type == DeviceType::Cpu;
        // Mesa's own name for its GPU in software.
        let ends_loops = info.driver == "llvmpipe" || info.name.starts_with("llvmpipe");
        let kind = Kind {
            passthrough,
            int64,
            atomic64: int64 && features.contains(Features::SHADER_INT64_ATOMIC_ALL_OPS),
            float64: features.contains(Features::SHADER_F64),
            lanes: has.then_some(sizes[0]),
            threads: limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x),
            shared_bytes: limits.max_compute_workgroup_storage_size,
            blocks: limits.max_compute_workgroups_per_dimension,
            software,
            ends_loops,
            floats: if passthrough { driver::controls(adapter) } else { Default::default() },
            // The probe looks.
            rounds_once: [false; 3],
        };
        let target = kind.target(Precision::Exact);
        let machine = kind.machine();
        let memory = Memory::new(&limits, driver::memory_bytes(adapter), software);
        let window_bytes = limits.max_storage_buffer_binding_size;
        let cache = PipelineCache::open(&device, &adapter.get_info(), CacheConfig::from_env());
        let groups = Groups::default();
        let pace = Pace::default();
        let pipelines = Memo::new(KEPT_PIPELINES);
        let summary = summary(adapter);
        let up = Staging::up();
        let down = Staging::down();
        let mut opened = Opened {
            device,
            queue,
            limits,
            window_bytes,
            target,
            ends_loops,
            machine,
            memory,
            passthrough,
            cache,
            groups,
            pace,
            up,
            down,
            exact_halves: OnceLock::new(),
            bandwidth: OnceLock::new(),
            pipelines,
            summary,
            lost,
        };
        opened.target = super::probe::probed(&opened);
        opened.machine.fused = opened.target.fused;
        Ok(opened)
    }

    pub(super) fn describe(&self) -> String {
        let AdapterSummary { name, backend, software, binding_bytes, threads, types, .. } = &self.summary;
        let kind = if *software { ", in software" } else { "" };
        let types = if types.is_empty() { String::new() } else { format!(", {}", types.join(" ")) };
        format!(
            "{name} ({backend}{kind}), {} MiB of an array at once, {threads} threads a block{types}",
            binding_bytes >> 20
        )
    }

    /// Does it run on the CPU?
    pub(super) fn is_software(&self) -> bool {
        self.summary.software
    }

    /// An error once the driver has given up.
    pub(super) fn alive(&self) -> Result<(), Error> {
        match self.lost.get() {
            Some(why) => Err(Error::DeviceLost { why: why.clone() }),
            None => Ok(()),
        }
    }

    /// Waits for all work that was submitted.
    pub(super) fn synchronize(&self) -> Result<(), Error> {
        self.poll(wgpu::PollType::wait_indefinitely())
    }

    /// Waits for a submission and all before it.
    pub(super) fn wait_for(&self, index: wgpu::SubmissionIndex) -> Result<(), Error> {
        self.poll(wgpu::PollType::Wait { submission_index: Some(index), timeout: None })
    }

    /// Has callbacks called whose time has come.
    pub(super) fn look(&self) -> Result<(), Error> {
        self.poll(wgpu::PollType::Poll)
    }

    fn poll(&self, poll: wgpu::PollType) -> Result<(), Error> {
        self.alive()?;
        // Where waiting finds the GPU lost, wgpu panics.
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| self.device.poll(poll)));
        if polled.is_err() {
            let _ = self.lost.set("it went away while it was waited for".to_string());
        }
        self.alive()?;
        match polled {
            Ok(Err(error)) => Err(Error::Driver { what: "to wait for it".into(), why: error.to_string() }),
            Ok(Ok(_)) | Err(_) => Ok(()),
        }
    }

    /// Takes the GPU away, as a driver might.
    pub(super) fn lose(&self) {
        let _ = self.lost.set("a test took it away".to_string());
        self.device.destroy();
    }

    /// Does something that the driver may refuse. Errors are those of this thread.
    pub(super) fn guarded<T>(&self, what: &dyn fmt::Display, bytes: u64, act: impl FnOnce() -> T) -> Result<T, Error> {
        let scopes = [ErrorFilter::OutOfMemory, ErrorFilter::Validation, ErrorFilter::Internal]
            .map(|filter| self.device.push_error_scope(filter));
        let value = act();
        let mut found = None;
        for scope in scopes.into_iter().rev() {
            found = wait(scope.pop()).or(found);
        }
        self.alive()?;
        match found {
            None => Ok(value),
            Some(wgpu::Error::OutOfMemory { .. }) => Err(Error::OutOfMemory { what: what.to_string(), bytes }),
            Some(wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. }) => {
                Err(Error::Driver { what: what.to_string(), why: description })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shaders::KNOWN;

    /// Bundles have code for the adapter that tests have.
    #[test]
    fn lavapipe_is_known() {
        let wish = Some("llvmpipe");
        let Ok(opened) = Opened::new(wish, false) else { return };
        // Without AVX its subgroups are smaller.
        let is_usual = opened.machine.subgroup.is_some_and(|subgroup| subgroup.size == 8);
        let is_it = |kind: &Kind| kind.machine() == opened.machine && kind.target(Precision::Exact) == opened.target;
        assert!(!is_usual || KNOWN.iter().any(is_it), "{:?} {:?}", opened.machine, opened.target);
    }
}
