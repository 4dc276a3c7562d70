//! The devices of this machine, by name; which is the best.

use crate::{Device, Error, Interpreter};
use std::sync::{Arc, OnceLock};

/// Every device of this machine, best first. One that chooses among the others, `auto`, is in front where there may be a GPU.
pub fn devices() -> Vec<Arc<dyn Device>> {
    let best = auto();
    let own = own();
    let known = own.iter().any(|device| device.name() == best.name());
    let here = own.iter().filter(|device| may_be_here(&***device)).cloned();
    (!known).then_some(best).into_iter().chain(here).collect()
}

/// Is it worth naming on this machine? By its name any device can be had; it says what it lacks.
fn may_be_here(_device: &dyn Device) -> bool {
    #[cfg(feature = "cuda")]
    if _device.name() == crate::cuda::Cuda::NAME {
        return crate::cuda::Cuda::is_likely();
    }
    #[cfg(feature = "hip")]
    if _device.name() == crate::hip::Hip::NAME {
        return crate::hip::Hip::is_likely();
    }
    #[cfg(feature = "opencl")]
    if _device.name() == crate::opencl::OpenCl::NAME {
        return crate::opencl::OpenCl::is_hardware(std::env::var("SLYZ_ADAPTER").ok().as_deref());
    }
    // It takes some programs only: who goes through all devices does not meet it.
    #[cfg(feature = "openvino")]
    if _device.name() == crate::openvino::OpenVino::NAME {
        return false;
    }
    true
}

/// The devices that choose nothing.
pub(crate) fn own() -> &'static [Arc<dyn Device>] {
    static DEVICES: OnceLock<Vec<Arc<dyn Device>>> = OnceLock::new();
    let make = || -> Vec<Arc<dyn Device>> {
        vec![
            #[cfg(feature = "cpu")]
            Arc::new(crate::cpu::Cpu::new(crate::cpu::CpuConfig::from_env())),
            // Behind the CPU: it may be one in software. Named, it is used; `auto` knows better.
            #[cfg(feature = "cuda")]
            crate::cuda::shared(0),
            #[cfg(feature = "hip")]
            crate::hip::shared(0),
            #[cfg(feature = "wgpu")]
            Arc::new(crate::wgpu::Wgpu::new(std::env::var("SLYZ_ADAPTER").ok().as_deref())),
            #[cfg(feature = "opencl")]
            Arc::new(crate::opencl::OpenCl::new(std::env::var("SLYZ_ADAPTER").ok().as_deref())),
            #[cfg(feature = "openvino")]
            Arc::new(crate::openvino::OpenVino::new(std::env::var("SLYZ_ADAPTER").ok().as_deref())),
            Arc::new(Interpreter),
        ]
    };
    DEVICES.get_or_init(make)
}

/// A way to the machine that [`auto`] looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Considered {
    /// Its name, for people.
    pub way: &'static str,
    /// Why it is not taken; nothing where it could be.
    pub skipped: Option<String>,
}

/// The ways to the machine, in the order in which [`auto`] prefers them; it takes the first that nothing speaks against.
///
/// ```
/// let ways = slyz_run::considered();
/// assert_eq!(ways.last().map(|last| last.way), Some("CPU"));
/// ```
pub fn considered() -> Vec<Considered> {
    let ways = [
        ("Metal", adapter("metal")),
        ("CUDA", cuda()),
        ("ROCm", rocm()),
        ("Vulkan", adapter("vulkan")),
        ("DirectX 12", adapter("dx12")),
        ("OpenCL", opencl()),
        ("CPU", (!cfg!(feature = "cpu")).then(|| built_without("cpu"))),
    ];
    ways.into_iter().map(|(way, skipped)| Considered { way, skipped }).collect()
}

fn built_without(feature: &str) -> String {
    format!("this was built without the cargo feature `{feature}`")
}

/// What speaks against adapters of wgpu behind a driver of that kind.
#[cfg(feature = "wgpu")]
fn adapter(backend: &str) -> Option<String> {
    let mut found = crate::wgpu::adapters();
    found.retain(|adapter| adapter.backend.eq_ignore_ascii_case(backend));
    match found.iter().find(|adapter| !adapter.software).or(found.first()) {
        Some(adapter) if adapter.software => {
            Some(format!("{} is software; SLYZ_DEVICE=wgpu takes it all the same", adapter.name))
        }
        Some(_) => None,
        None => Some("no driver shows a GPU".to_string()),
    }
}

#[cfg(not(feature = "wgpu"))]
fn adapter(_: &str) -> Option<String> {
    Some(built_without("wgpu"))
}

#[cfg(feature = "cuda")]
fn cuda() -> Option<String> {
    if crate::cuda::Cuda::is_usable() { None } else { Some(why_not(&*crate::cuda::shared(0))) }
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Option<String> {
    Some(built_without("cuda"))
}

#[cfg(feature = "hip")]
fn rocm() -> Option<String> {
    if crate::hip::Hip::is_usable() { None } else { Some(why_not(&*crate::hip::shared(0))) }
}

#[cfg(not(feature = "hip"))]
fn rocm() -> Option<String> {
    Some(built_without("hip"))
}

/// Why a device that cannot be used cannot, in its own words.
#[cfg(any(feature = "cuda", feature = "hip"))]
fn why_not(device: &dyn Device) -> String {
    let told = device.describe();
    told.rsplit_once("not usable here: ").map_or(told.clone(), |(_, why)| why.to_string())
}

#[cfg(feature = "opencl")]
fn opencl() -> Option<String> {
    match crate::opencl::found() {
        Ok(found) if found.iter().any(|device| !device.software) => None,
        Ok(found) => {
            let names: Vec<&str> = found.iter().map(|device| &device.name[..]).collect();
            Some(format!("{} is no GPU; SLYZ_DEVICE=opencl takes it all the same", names.join(", ")))
        }
        Err(error) => Some(error.to_string()),
    }
}

#[cfg(not(feature = "opencl"))]
fn opencl() -> Option<String> {
    Some(built_without("opencl"))
}

/// The device with that name. Without one: what the environment variable `SLYZ_DEVICE` names, or else the best, which is also
/// called `auto`.
pub fn device(name: Option<&str>) -> Result<Arc<dyn Device>, Error> {
    let wish = std::env::var("SLYZ_DEVICE").ok();
    select(own(), name.or(wish.as_deref()))
}

/// Empty names count as none: `SLYZ_DEVICE= program` is how a shell unsets.
fn select(devices: &[Arc<dyn Device>], name: Option<&str>) -> Result<Arc<dyn Device>, Error> {
    let name = name.unwrap_or("").trim();
    if name.is_empty() || name == "auto" {
        return Ok(auto());
    }
    #[cfg(feature = "cuda")]
    if let Some(device) = crate::cuda::named(name) {
        return Ok(device);
    }
    #[cfg(feature = "hip")]
    let alias = name.strip_prefix(crate::hip::Hip::ALIAS).map(|number| format!("{}{number}", crate::hip::Hip::NAME));
    #[cfg(feature = "hip")]
    let name = alias.as_deref().unwrap_or(name);
    #[cfg(feature = "hip")]
    if let Some(number) = name.strip_prefix("hip:").and_then(|number| number.parse().ok()) {
        return Ok(crate::hip::shared(number));
    }
    let found = devices.iter().find(|d| d.name() == name).cloned();
    found.ok_or_else(|| Error::UnknownDevice {
        name: name.to_string(),
        available: std::iter::once("auto").chain(devices.iter().map(|d| d.name())).map(String::from).collect(),
    })
}

/// The device that is used when nobody names one. It is the CPU device itself on a machine that shows no GPU.
///
/// ```
/// let device = slyz_run::auto();
/// println!("{}", device.describe());
/// ```
pub fn auto() -> Arc<dyn Device> {
    static AUTO: OnceLock<Arc<dyn Device>> = OnceLock::new();
    AUTO.get_or_init(best).clone()
}

#[cfg(all(feature = "cpu", any(feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu")))]
fn best() -> Arc<dyn Device> {
    let cpu = own()[0].clone();
    if shows_gpu() { Arc::new(crate::auto::Auto::new(cpu, hardware)) } else { cpu }
}

/// Without the CPU device anything that has a driver is better than the interpreter.
#[cfg(all(not(feature = "cpu"), any(feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu")))]
fn best() -> Arc<dyn Device> {
    let own = own();
    let software = || own.iter().find(|device| has_adapter(&***device)).cloned();
    hardware().or_else(software).unwrap_or_else(|| own[own.len() - 1].clone())
}

/// Has the device an adapter, be it one in software?
#[cfg(all(not(feature = "cpu"), any(feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu")))]
fn has_adapter(_device: &dyn Device) -> bool {
    #[cfg(feature = "wgpu")]
    if _device.name() == crate::wgpu::Wgpu::NAME {
        return !crate::wgpu::adapters().is_empty();
    }
    #[cfg(feature = "opencl")]
    if _device.name() == crate::opencl::OpenCl::NAME {
        return crate::opencl::found().is_ok();
    }
    false
}

#[cfg(not(any(feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu")))]
fn best() -> Arc<dyn Device> {
    own()[0].clone()
}

/// The device of a GPU that is no software: by CUDA, by HIP, by wgpu on the adapter that it takes, or by OpenCL.
#[cfg(any(feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu"))]
fn hardware() -> Option<Arc<dyn Device>> {
    let named = |name: &str| own().iter().find(|device| device.name() == name).cloned();
    #[cfg(feature = "cuda")]
    if crate::cuda::Cuda::is_usable() {
        return named(crate::cuda::Cuda::NAME);
    }
    #[cfg(feature = "hip")]
    if crate::hip::Hip::is_usable() {
        return named(crate::hip::Hip::NAME);
    }
    #[cfg(any(feature = "opencl", feature = "wgpu"))]
    let wish = std::env::var("SLYZ_ADAPTER").unwrap_or_default();
    #[cfg(feature = "wgpu")]
    {
        let wish = wish.to_lowercase();
        let taken = crate::wgpu::adapters().into_iter().find(|adapter| adapter.name.to_lowercase().contains(&wish));
        if taken.is_some_and(|taken| !taken.software) {
            return named(crate::wgpu::Wgpu::NAME);
        }
    }
    #[cfg(feature = "opencl")]
    if crate::opencl::OpenCl::is_hardware(Some(&wish)) {
        return named(crate::opencl::OpenCl::NAME);
    }
    None
}

/// Does the system show the file of a GPU? Drivers take tens of milliseconds to say so.
#[cfg(all(
    feature = "cpu",
    any(feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu"),
    target_os = "linux"
))]
fn shows_gpu() -> bool {
    let nodes = std::fs::read_dir("/dev/dri").into_iter().flatten().flatten();
    nodes.into_iter().any(|node| node.file_name().to_string_lossy().starts_with("renderD"))
        || ["/dev/nvidiactl", "/dev/kfd", "/dev/dxg"].iter().any(|file| std::path::Path::new(file).exists())
}

#[cfg(all(
    feature = "cpu",
    any(feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu"),
    not(target_os = "linux")
))]
fn shows_gpu() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selection() {
        let all = devices();
        assert_eq!(select(&all, None).unwrap().name(), all[0].name());
        assert_eq!(select(&all, Some("")).unwrap().name(), all[0].name());
        assert_eq!(select(&all, Some("auto")).unwrap().name(), all[0].name());
        assert_eq!(select(&all, Some("interpreter")).unwrap().name(), "interpreter");
        let text = select(&all, Some("abacus")).err().unwrap().to_string();
        assert!(text.contains("abacus") && text.contains("interpreter") && text.contains("SLYZ_DEVICE"), "{text}");
    }

    #[cfg(feature = "cuda")]
    #[test]
    fn streams_by_name() {
        let all = devices();
        let device = |name: &str| select(&all, Some(name));
        for (one, other, same) in [
            ("cuda:0#1", "cuda#1", true),
            ("cuda:0#0", "cuda:0", true),
            ("cuda#1", "cuda#2", false),
            ("cuda:1#1", "cuda#1", false),
        ] {
            let [one, other] = [one, other].map(|name| device(name).unwrap());
            assert_eq!(Arc::ptr_eq(&one, &other), same, "{}", one.name());
        }
        for name in ["cuda#", "cuda#x", "cuda:#1", "cuda1"] {
            assert!(device(name).is_err(), "{name}");
        }
    }

    #[test]
    fn one_device_per_process() {
        assert!(Arc::ptr_eq(&devices()[0], &devices()[0]));
    }
}
