//! `slyz devices`: what can run programs here, and what it works with.

use std::io::Write;

/// Prints the devices, best first, and what they share.
pub fn run(out: &mut dyn Write) -> anyhow::Result<()> {
    let devices = slyz_run::devices();
    let chosen = slyz_run::device(None)?;
    let width = devices.iter().map(|device| device.name().len()).max().unwrap_or(0);
    for device in &devices {
        let name = device.name();
        let text = device.describe();
        let text = text.strip_prefix(&format!("{name}: ")).unwrap_or(&text);
        let mark = if name == chosen.name() { '*' } else { ' ' };
        writeln!(out, "{mark} {name:<width$}  {text}")?;
    }
    adapters(out)?;
    platforms(out)?;
    models(out)?;
    writeln!(out)?;
    writeln!(out, "default   {}; SLYZ_DEVICE names another", chosen.name())?;
    order(out)?;
    compiler(out)?;
    cache(out)?;
    let pool = slyz_run::pool_stats();
    let kept = size(pool.kept_bytes as u64);
    let live = size(pool.live_bytes as u64);
    writeln!(out, "pool      {kept} kept, {live} in use by this process; SLYZ_POOL_MB bounds what is kept")?;
    writeln!(out, "memory    copies: {}", bandwidth(&slyz_run::Interpreter))?;
    Ok(())
}

/// What `auto` looks at, in order, and what speaks against each.
fn order(out: &mut dyn Write) -> anyhow::Result<()> {
    let mut taken = false;
    for (k, slyz_run::Considered { way, skipped }) in slyz_run::considered().into_iter().enumerate() {
        let title = if k == 0 { "order" } else { "" };
        let told = match skipped {
            Some(why) => format!("skipped: {why}"),
            None if taken => "not needed".to_string(),
            None => {
                taken = true;
                "taken".to_string()
            }
        };
        writeln!(out, "{title:<8}  {way:<10}  {told}")?;
    }
    Ok(())
}

/// The GPUs that the wgpu device can choose from, best first.
#[cfg(feature = "wgpu")]
fn adapters(out: &mut dyn Write) -> anyhow::Result<()> {
    let found = slyz_run::wgpu::adapters();
    writeln!(out)?;
    if found.is_empty() {
        writeln!(out, "adapters  none; install a driver for Vulkan, Metal or DirectX 12")?;
    }
    for (k, adapter) in found.iter().enumerate() {
        let title = if k == 0 { "adapters" } else { "" };
        for (k, line) in describe(adapter).iter().enumerate() {
            let (title, indent) = if k == 0 { (title, "") } else { ("", "  ") };
            writeln!(out, "{title:<8}  {indent}{line}")?;
        }
    }
    writeln!(
        out,
        "          SLYZ_ADAPTER names one by a part of its name; SLYZ_GPU_POOL_MB bounds the memory kept there"
    )?;
    Ok(())
}

/// An adapter in lines: what it is, its limits, what it has.
#[cfg(feature = "wgpu")]
fn describe(adapter: &slyz_run::wgpu::AdapterSummary) -> [String; 4] {
    let kind = if adapter.software { ", in software" } else { "" };
    let subgroups = match adapter.subgroup {
        None => "no subgroups".to_string(),
        Some((least, most)) if least == most => format!("subgroups of {least}"),
        Some((least, most)) => format!("subgroups of {least} to {most}"),
    };
    let binding = size(adapter.binding_bytes);
    let buffer = size(adapter.buffer_bytes);
    let threads = adapter.threads;
    let shared = size(adapter.shared_bytes.into());
    let times = if adapter.timestamps { "timestamps" } else { "no timestamps" };
    let types = if adapter.types.is_empty() { "32-bit types only".into() } else { adapter.types.join(", ") };
    [
        format!("{} ({}{kind})", adapter.name, adapter.backend),
        format!("kernels see {binding} of a buffer, buffers have {buffer}; {threads} threads a block share {shared}"),
        format!("{types}; {subgroups}; {times}"),
        format!("copies in its memory: {}", bandwidth(&slyz_run::wgpu::Wgpu::new(Some(&adapter.name)))),
    ]
}

/// Bytes that a copy in the device's memory reads and writes in a second, measured now.
fn bandwidth(device: &dyn slyz_run::Device) -> String {
    match device.copy_bandwidth() {
        Ok(rate) => format!("{:.1} GB/s", rate / 1e9),
        Err(error) => format!("not measured: {error}"),
    }
}

#[cfg(not(feature = "wgpu"))]
fn adapters(_: &mut dyn Write) -> anyhow::Result<()> {
    Ok(())
}

/// What the OpenCL device can choose from, best first, or what is missing.
#[cfg(feature = "opencl")]
fn platforms(out: &mut dyn Write) -> anyhow::Result<()> {
    let found = match slyz_run::opencl::found() {
        Ok(found) => found,
        Err(error) => {
            writeln!(out, "opencl    {error}")?;
            return Ok(());
        }
    };
    for (k, device) in found.iter().enumerate() {
        let title = if k == 0 { "opencl" } else { "" };
        writeln!(out, "{title:<8}  {device}")?;
        let array = size(device.array);
        let shared = size(device.shared);
        writeln!(out, "            arrays have {array}; {} threads a block share {shared}", device.threads)?;
        writeln!(out, "            {}", device.version)?;
    }
    writeln!(
        out,
        "          SLYZ_DEVICE=opencl runs there; SLYZ_ADAPTER names one by a part of its name or its platform's"
    )?;
    Ok(())
}

#[cfg(not(feature = "opencl"))]
fn platforms(_: &mut dyn Write) -> anyhow::Result<()> {
    Ok(())
}

/// What OpenVINO can run models on, or what is missing.
#[cfg(feature = "openvino")]
fn models(out: &mut dyn Write) -> anyhow::Result<()> {
    let (version, found) = match slyz_run::openvino::OpenVino::new(None).found() {
        Ok(found) => found,
        Err(error) => {
            writeln!(out, "openvino  {error}")?;
            return Ok(());
        }
    };
    let named: Vec<String> = found.iter().map(|(device, name)| format!("{device} ({name})")).collect();
    writeln!(out, "openvino  {version}: {}", named.join(", "))?;
    writeln!(
        out,
        "          SLYZ_DEVICE=openvino runs array programs there, on the CPU; SLYZ_ADAPTER names one by a part of its name"
    )?;
    Ok(())
}

#[cfg(not(feature = "openvino"))]
fn models(_: &mut dyn Write) -> anyhow::Result<()> {
    Ok(())
}

/// What the CPU device works with.
#[cfg(feature = "cpu")]
fn compiler(out: &mut dyn Write) -> anyhow::Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let compiler = slyz_run::cpu::CpuConfig::from_env().cc.join(" ");
    writeln!(out, "cores     {threads}; RAYON_NUM_THREADS sets the number of threads")?;
    writeln!(out, "compiler  {compiler}; SLYZ_CC names another")?;
    Ok(())
}

#[cfg(not(feature = "cpu"))]
fn compiler(_: &mut dyn Write) -> anyhow::Result<()> {
    Ok(())
}

/// What devices keep on disk.
fn cache(out: &mut dyn Write) -> anyhow::Result<()> {
    let slyz_run::CacheConfig { folder, bytes: bound } = slyz_run::CacheConfig::from_env();
    let Some(folder) = folder else {
        writeln!(out, "cache     off; SLYZ_CACHE_DIR names a folder")?;
        return Ok(());
    };
    let (entries, used) = contents(&folder);
    let used = size(used);
    let bound = size(bound);
    let folder = folder.display();
    writeln!(out, "cache     {folder}: {entries} entries, {used} of {bound}; SLYZ_CACHE_DIR, SLYZ_CACHE_MB")?;
    Ok(())
}

/// Files of a folder and their bytes. A folder that is not there yet is empty.
fn contents(folder: &std::path::Path) -> (usize, u64) {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|file| file.metadata().ok());
    files.filter(|meta| meta.is_file()).fold((0, 0), |(n, bytes), meta| (n + 1, bytes + meta.len()))
}

fn size(bytes: u64) -> String {
    match bytes {
        0..0x400 => format!("{bytes} B"),
        0x400..0x10_0000 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        0x10_0000..0x4000_0000 => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        0x4000_0000.. => format!("{:.1} GiB", bytes as f64 / 1_073_741_824.0),
    }
}
