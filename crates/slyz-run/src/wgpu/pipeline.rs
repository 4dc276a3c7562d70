//! A kernel that the driver has compiled.

use super::adapter::Opened;
use super::cache::PipelineCache;
use crate::Error;
use slyz_sir::back::naga;
use slyz_sir::kernel::{Access, Kernel, Space};
use slyz_sir::size::Size;
use std::borrow::Cow;

/// A kernel ready to be launched.
pub(super) struct Pipeline {
    pub(super) pipeline: wgpu::ComputePipeline,
    pub(super) layout: wgpu::BindGroupLayout,
    pub(super) extents: Vec<Size>,
    pub(super) uniform_bytes: u64,
    /// A person wrote it: its uniform buffer has the scalars first, and words of 32 bits.
    pub(super) raw: bool,
}

/// Hands a module to the driver.
pub(super) fn pipeline(opened: &Opened, kernel: &Kernel, module: naga::Module) -> Result<Pipeline, Error> {
    let count = kernel.bound_memories().count() as u32;
    let most = opened.limits.max_storage_buffers_per_shader_stage.min(opened.limits.max_bindings_per_bind_group - 1);
    if count > most {
        return Err(Error::TooLarge {
            what: format!("the kernel {}", kernel.name),
            why: format!("it works on {count} arrays, and this GPU allows {most}"),
        });
    }
    let entry = |binding: u32, ty: wgpu::BufferBindingType| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
        count: None,
    };
    let storage = kernel.bound_memories().zip(0u32..).map(|(memory, k)| {
        let writes = matches!(memory.space, Space::Global(Access::Write | Access::ReadWrite));
        entry(k, wgpu::BufferBindingType::Storage { read_only: !writes })
    });
    let entries: Vec<wgpu::BindGroupLayoutEntry> =
        storage.chain([entry(count, wgpu::BufferBindingType::Uniform)]).collect();
    let words =
        if opened.passthrough && !module.raw { Some(naga::spirv(&module).map_err(Error::Shader)?) } else { None };
    let naga::Module { module, extents, uniform_bytes, ends, raw, .. } = module;
    let label = Some(&kernel.name[..]);
    let made = opened.guarded(&format!("the kernel {}", kernel.name), 0, || {
        let device = &opened.device;
        let module = match words {
            Some(words) => exactly(device, kernel, words),
            // Nobody has proven anything of it.
            None if raw => device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label,
                source: wgpu::ShaderSource::Naga(Cow::Owned(module)),
            }),
            None => trusted(device, label, module, ends),
        };
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label, entries: &entries });
        let whole = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label,
            layout: Some(&whole),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &[],
                zero_initialize_workgroup_memory: false,
            },
            cache: opened.cache.as_ref().map(PipelineCache::handle),
        });
        Pipeline { pipeline, layout, extents, uniform_bytes, raw }
    })?;
    if let Some(cache) = &opened.cache {
        cache.keep();
    }
    Ok(made)
}

/// A module of SPIR-V that reaches the driver as it is.
fn exactly(device: &wgpu::Device, kernel: &Kernel, words: Vec<u32>) -> wgpu::ShaderModule {
    let [x, y, z] = kernel.block;
    let entry = wgpu::PassthroughShaderEntryPoint { name: Cow::Borrowed("main"), workgroup_size: (x, y, z) };
    let descriptor = wgpu::ShaderModuleDescriptorPassthrough {
        label: Some(&kernel.name),
        entry_points: Cow::Owned(vec![entry]),
        spirv: Some(Cow::Owned(words)),
        ..Default::default()
    };
    // SAFETY: the words are naga's own, of a module that its validator accepts with no more capabilities than the features that
    // the device was opened with, and decorated only. Bindings are numbered from 0 without gaps, as the layout below numbers
    // them. What naga's checks would guard against does not happen: positions are inside by the contract of
    // `Device::compile`, divisors are made safe by the code, and loops that might not end are bounded.
    unsafe { device.create_shader_module_passthrough(descriptor) }
}

/// A module that wgpu writes in the driver's language, without run-time checks that never find anything.
fn trusted(device: &wgpu::Device, label: Option<&str>, module: ::wgpu::naga::Module, ends: bool) -> wgpu::ShaderModule {
    let source = wgpu::ShaderSource::Naga(Cow::Owned(module));
    let descriptor = wgpu::ShaderModuleDescriptor { label, source };
    let checks = wgpu::ShaderRuntimeChecks {
        bounds_checks: false,
        force_loop_bounding: !ends,
        int_div_checks: false,
        ..wgpu::ShaderRuntimeChecks::checked()
    };
    // SAFETY: positions are inside by the contract of `Device::compile`, divisors are made safe by the code, and the bound on
    // loops is left out only where all of them are counted.
    unsafe { device.create_shader_module_trusted(descriptor, checks) }
}
