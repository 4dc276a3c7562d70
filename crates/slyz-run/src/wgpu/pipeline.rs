//! A kernel that the driver has compiled.

use super::adapter::Opened;
use super::cache::PipelineCache;
use crate::{Error, shaders};
use slyz_sir::back::naga::{self, Interface};
use slyz_sir::kernel::{Access, Kernel, Space};
use std::borrow::Cow;

/// A kernel ready to be launched.
pub(super) struct Pipeline {
    pub(super) pipeline: wgpu::ComputePipeline,
    pub(super) layout: wgpu::BindGroupLayout,
    pub(super) interface: Interface,
}

/// Code of a kernel as the driver gets it.
pub(super) struct Shader {
    code: Code,
    interface: Interface,
}

enum Code {
    /// SPIR-V, which it gets as it is.
    Words(Vec<u32>),
    /// What wgpu writes in its language.
    Module(Box<::wgpu::naga::Module>),
}

impl Shader {
    /// What a bundle has of it, or else written now.
    pub(super) fn new(opened: &Opened, kernel: &Kernel, target: &naga::Target) -> Result<Shader, Error> {
        if let Some(code) = Shader::carried(opened, kernel, target) {
            return Ok(Shader { code, interface: Interface::of(kernel) });
        }
        let module = naga::emit(kernel, target).map_err(Error::Shader)?;
        let code = match opened.passthrough && !module.interface.raw {
            true => Code::Words(naga::spirv(&module).map_err(Error::Shader)?),
            false => Code::Module(Box::new(module.module)),
        };
        Ok(Shader { code, interface: module.interface })
    }

    fn carried(opened: &Opened, kernel: &Kernel, target: &naga::Target) -> Option<Code> {
        if opened.passthrough {
            return shaders::words(kernel, target).map(Code::Words);
        }
        // What cannot be read is written anew.
        let module = naga::read(shaders::wgsl(kernel, target)?).ok()?;
        Some(Code::Module(Box::new(module)))
    }
}

/// Hands a shader to the driver.
pub(super) fn pipeline(opened: &Opened, kernel: &Kernel, shader: Shader) -> Result<Pipeline, Error> {
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
    let Shader { code, interface } = shader;
    let label = Some(&kernel.name[..]);
    let made = opened.guarded(&format!("the kernel {}", kernel.name), 0, || {
        let device = &opened.device;
        let module = match code {
            Code::Words(words) => exactly(device, kernel, words),
            // Nobody has proven anything of it.
            Code::Module(module) if interface.raw => device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label,
                source: wgpu::ShaderSource::Naga(Cow::Owned(*module)),
            }),
            Code::Module(module) => trusted(device, label, *module, interface.ends),
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
        Pipeline { pipeline, layout, interface }
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
    // the device was opened with, and decorated only; those of a bundle as well, whose bytes `bundle::carry` was promised, and
    // which are found by what the adapter has of all that the kernel uses. Bindings are numbered from 0 without gaps, as the layout below numbers
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
