//! A kernel that the driver has compiled.

use super::adapter::Opened;
use super::cache::PipelineCache;
use crate::Error;
use slyz_sir::back::naga;
use slyz_sir::kernel::{Access, Kernel, Memory, Space};
use slyz_sir::size::Size;
use std::borrow::Cow;

/// A kernel ready to be launched.
pub(super) struct Pipeline {
    pub(super) pipeline: wgpu::ComputePipeline,
    pub(super) layout: wgpu::BindGroupLayout,
    pub(super) extents: Vec<Size>,
    pub(super) uniform_bytes: u64,
}

/// The memories that a launch binds.
pub(super) fn bound(kernel: &Kernel) -> impl Iterator<Item = &Memory> {
    kernel.memories.iter().filter(|memory| match memory.space {
        Space::Global(_) | Space::Constant => true,
        Space::Shared | Space::Scratch | Space::Local => false,
    })
}

/// Hands a module to the driver.
pub(super) fn pipeline(opened: &Opened, kernel: &Kernel, module: naga::Module) -> Result<Pipeline, Error> {
    let count = bound(kernel).count() as u32;
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
    let storage = bound(kernel).zip(0u32..).map(|(memory, k)| {
        let writes = matches!(memory.space, Space::Global(Access::Write | Access::ReadWrite));
        entry(k, wgpu::BufferBindingType::Storage { read_only: !writes })
    });
    let entries: Vec<wgpu::BindGroupLayoutEntry> =
        storage.chain([entry(count, wgpu::BufferBindingType::Uniform)]).collect();
    let naga::Module { module, extents, uniform_bytes, .. } = module;
    let label = Some(&kernel.name[..]);
    let made = opened.guarded(&format!("the kernel {}", kernel.name), 0, || {
        let device = &opened.device;
        let source = wgpu::ShaderSource::Naga(Cow::Owned(module));
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label, source });
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
        Pipeline { pipeline, layout, extents, uniform_bytes }
    })?;
    if let Some(cache) = &opened.cache {
        cache.keep();
    }
    Ok(made)
}
