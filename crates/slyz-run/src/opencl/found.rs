//! The devices of OpenCL's platforms, and which is taken.

use crate::Error;
use opencl3::device::{
    CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU,
    CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, CL_FP_FMA, Device,
};
use opencl3::error_codes::{ClError, DLOPEN_RUNTIME_LOAD_FAILED};
use opencl3::platform::get_platforms;
use slyz_sir::back::opencl::Extras;
use slyz_sir::lower::gpu::Machine;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The loader says that it knows no platform.
const NO_PLATFORM: i32 = -1001;
/// Threads of a block that kernels are ever written for.
const MOST_THREADS: u32 = 1024;

/// Held while platforms are asked and devices opened: their first answers set them up, which not all of them do for several threads at once.
static ASKING: Mutex<()> = Mutex::new(());

/// A device of a platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenClSummary {
    /// The device's name.
    pub name: String,
    /// Its platform's.
    pub platform: String,
    /// Versions of the platform, the device and the driver.
    pub version: String,
    /// Is it a CPU?
    pub software: bool,
    /// Units that compute.
    pub units: u32,
    /// Memory, and the most of an array, in bytes.
    pub memory: u64,
    /// Of an array.
    pub array: u64,
    /// Threads of a block, and the bytes that they share.
    pub threads: u32,
    /// Bytes that the threads of a block share.
    pub shared: u64,
    /// What it has that OpenCL 1.2 leaves open.
    pub extras: Vec<&'static str>,
}

impl fmt::Display for OpenClSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OpenClSummary { name, platform, units, memory, extras, .. } = self;
        let kind = if self.software { ", a CPU" } else { "" };
        let extras = if extras.is_empty() { "32-bit types only".to_string() } else { extras.join(", ") };
        write!(f, "{name} ({platform}{kind}; {units} units, {} MiB), {extras}", memory >> 20)
    }
}

/// A device with what code for it must know.
pub(super) struct Found {
    pub(super) device: Device,
    pub(super) summary: OpenClSummary,
    pub(super) machine: Machine,
    pub(super) extras: Extras,
    /// The most threads of a block in each dimension.
    pub(super) block: [u32; 3],
    /// `CL1.2`, or the newest where it has subgroups.
    pub(super) standard: &'static str,
}

fn missing(what: &str, why: impl fmt::Display) -> Error {
    Error::NoOpenCl { what: what.to_string(), why: why.to_string() }
}

/// Does the system show a platform? The loader is not asked.
pub(super) fn is_likely() -> bool {
    let named = ["OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_DYLIB_PATH"];
    if !cfg!(target_os = "linux") || named.iter().any(|variable| std::env::var_os(variable).is_some()) {
        return true;
    }
    let vendors = std::fs::read_dir("/etc/OpenCL/vendors").into_iter().flatten().flatten();
    vendors.into_iter().any(|file| file.path().extension().is_some_and(|ending| ending == "icd"))
}

/// All devices of all platforms: GPUs, accelerators, CPUs. An error where there is no loader, or no platform.
pub fn found() -> Result<Vec<OpenClSummary>, Error> {
    let _asking = asking();
    Ok(all()?.into_iter().map(|found| found.summary).collect())
}

/// Nobody else asks meanwhile.
fn asking() -> MutexGuard<'static, ()> {
    ASKING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `act` makes of the first device with that in its name or its platform's.
pub(super) fn with_chosen<T>(wish: &str, act: impl FnOnce(Found) -> Result<T, Error>) -> Result<T, Error> {
    let _asking = asking();
    act(chosen(wish)?)
}

fn chosen(wish: &str) -> Result<Found, Error> {
    let all = all()?;
    let names: Vec<String> = all.iter().map(|found| found.summary.name.clone()).collect();
    let wish = wish.to_lowercase();
    let fits = |found: &Found| {
        let names = [&found.summary.name, &found.summary.platform];
        names.iter().any(|name| name.to_lowercase().contains(&wish))
    };
    all.into_iter().find(fits).ok_or_else(|| {
        let why = format!("there are {}; unset SLYZ_ADAPTER, or name one of them", names.join(", "));
        missing(&format!("no device is called \"{wish}\""), why)
    })
}

fn all() -> Result<Vec<Found>, Error> {
    let install = "install the driver of your GPU, or pocl-opencl-icd for the CPU, and ocl-icd-libopencl1";
    let failed = |error: ClError| match error.0 {
        DLOPEN_RUNTIME_LOAD_FAILED => missing("the loader libOpenCL.so.1 cannot be loaded", install),
        NO_PLATFORM => missing("no platform", install),
        _ => missing("the loader has no platforms for us", error),
    };
    let platforms = get_platforms().map_err(failed)?;
    let mut all = vec![];
    for platform in platforms {
        let name = platform.name().unwrap_or_default();
        let version = platform.version().unwrap_or_default();
        // A platform without devices says so by an error.
        for id in platform.get_devices(CL_DEVICE_TYPE_ALL).unwrap_or_default() {
            let device = Device::new(id);
            // One that cannot be asked cannot be used.
            all.extend(described(device, &name, &version).ok());
        }
    }
    all.sort_by_key(|(rank, _)| *rank);
    match all.is_empty() {
        true => Err(missing("no device", install)),
        false => Ok(all.into_iter().map(|(_, found)| found).collect()),
    }
}

/// A device with its place in the order of preference.
fn described(device: Device, platform: &str, platform_version: &str) -> Result<(u32, Found), ClError> {
    let kind = device.dev_type()?;
    let rank = match kind {
        kind if kind & CL_DEVICE_TYPE_GPU != 0 => 0,
        kind if kind & CL_DEVICE_TYPE_ACCELERATOR != 0 => 1,
        kind if kind & CL_DEVICE_TYPE_CPU != 0 => 3,
        _ => 2,
    };
    let software = rank == 3;
    let extensions = device.extensions().unwrap_or_default();
    let has = |name: &str| extensions.split_whitespace().any(|known| known == name);
    let config = device.single_fp_config()?;
    let extras = Extras {
        doubles: device.double_fp_config().is_ok_and(|config| config != 0),
        subgroups: has("cl_khr_subgroup_shuffle")
            && has("cl_khr_subgroup_shuffle_relative")
            && has("cl_khr_subgroup_ballot"),
        exact_quotients: config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT != 0,
    };
    let atomics = has("cl_khr_int64_base_atomics") && has("cl_khr_int64_extended_atomics");
    let limit = |size: usize| u32::try_from(size).unwrap_or(u32::MAX).min(MOST_THREADS);
    let sizes = device.max_work_item_sizes()?;
    let side = |d: usize| limit(sizes.get(d).copied().unwrap_or(1));
    let block = [side(0), side(1), side(2)];
    let threads = limit(device.max_work_group_size()?).min(block[0]);
    let units = device.max_compute_units()?;
    let shared = device.local_mem_size()?;
    let machine = Machine {
        max_threads: threads,
        shared_bytes: shared,
        atomic_bits: if atomics { 64 } else { 32 },
        vector_bytes: if software { 0 } else { 16 },
        fused: config & CL_FP_FMA != 0,
        runs_ahead: !software,
        busy_blocks: if software { u64::from(units) * 4 } else { u64::from(units).max(32) * 16 },
        ..Machine::opencl()
    };
    let version = device.version().unwrap_or_default();
    let standard = match () {
        () if !extras.subgroups => "CL1.2",
        () if version.starts_with("OpenCL 3") => "CL3.0",
        () => "CL2.0",
    };
    let told = [(extras.doubles, "f64"), (atomics, "64-bit atomics"), (extras.subgroups, "subgroups")];
    let summary = OpenClSummary {
        name: device.name()?.trim().to_string(),
        platform: platform.trim().to_string(),
        version: [platform_version, &version, &device.driver_version().unwrap_or_default()].join("; "),
        software,
        units,
        memory: device.global_mem_size()?,
        array: device.max_mem_alloc_size()?,
        threads,
        shared,
        extras: told.into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect(),
    };
    Ok((rank, Found { device, summary, machine, extras, block, standard }))
}
