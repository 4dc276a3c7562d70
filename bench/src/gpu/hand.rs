//! Kernels written by hand in WGSL, launched through wgpu as one would.

use crate::contest::Failure;
use std::borrow::Cow;
use wgpu::{BufferUsages, PollType};

/// A GPU opened by hand, beside the one that ours opens.
pub struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    /// What the driver calls it.
    pub name: String,
    /// Its driver.
    pub driver: String,
    /// The largest array that a kernel can see.
    pub binding_bytes: u64,
}

/// One launch of a kernel in `kernels/wgsl`.
pub struct Launch {
    /// The text of the file.
    pub source: &'static str,
    /// The entry point.
    pub entry: &'static str,
    /// Values of `override` constants.
    pub constants: Vec<(&'static str, f64)>,
    /// Which buffers it is bound to.
    pub buffers: Vec<usize>,
    /// Blocks.
    pub grid: [u32; 3],
}

/// Launches that are ready to go.
pub struct Ready {
    launches: Vec<(wgpu::ComputePipeline, wgpu::BindGroup, [u32; 3])>,
}

impl Gpu {
    /// The first adapter with that in its name, software ones last.
    pub fn open(wish: &str) -> Result<Gpu, Failure> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let mut adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
        adapters.sort_by_key(|adapter| adapter.get_info().device_type == wgpu::DeviceType::Cpu);
        let named = |a: &wgpu::Adapter| a.get_info().name.to_lowercase().contains(&wish.to_lowercase());
        let adapter = adapters.into_iter().find(named).ok_or("no adapter has that name")?;
        let descriptor = wgpu::DeviceDescriptor { required_limits: adapter.limits(), ..Default::default() };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))?;
        let info = adapter.get_info();
        let driver = format!("{}, {} {}", info.backend, info.driver, info.driver_info);
        let binding_bytes = adapter.limits().max_storage_buffer_binding_size;
        Ok(Gpu { device, queue, name: info.name, driver, binding_bytes })
    }

    /// A buffer for so many numbers.
    pub fn buffer(&self, len: usize) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: (len as u64 * 4).next_multiple_of(16),
            usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    }

    /// A buffer with these numbers, sent in pieces.
    pub fn upload(&self, data: &[f32]) -> Result<wgpu::Buffer, Failure> {
        let buffer = self.buffer(data.len());
        for (k, piece) in data.chunks(1 << 24).enumerate() {
            self.queue.write_buffer(&buffer, (k as u64) << 26, bytemuck::cast_slice(piece));
            self.queue.submit([]);
            self.wait()?;
        }
        Ok(buffer)
    }

    /// The numbers of a buffer.
    pub fn download(&self, buffer: &wgpu::Buffer, len: usize) -> Result<Vec<f32>, Failure> {
        let mut all = Vec::with_capacity(len);
        let staging = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: (len.min(1 << 24) as u64 * 4).max(16),
            usage: BufferUsages::MAP_READ | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        while all.len() < len {
            let bytes = (len - all.len()).min(1 << 24) as u64 * 4;
            let mut encoder = self.device.create_command_encoder(&Default::default());
            encoder.copy_buffer_to_buffer(buffer, all.len() as u64 * 4, &staging, 0, bytes);
            self.queue.submit([encoder.finish()]);
            staging.map_async(wgpu::MapMode::Read, 0..bytes, |_| {});
            self.wait()?;
            all.extend_from_slice(bytemuck::cast_slice(&staging.get_mapped_range(0..bytes)?));
            staging.unmap();
        }
        Ok(all)
    }

    /// Compiles launches over these buffers.
    pub fn ready(&self, launches: &[Launch], buffers: &[wgpu::Buffer]) -> Ready {
        let ready = |launch: &Launch| {
            let source = wgpu::ShaderSource::Wgsl(Cow::Borrowed(launch.source));
            let descriptor = wgpu::ShaderModuleDescriptor { label: None, source };
            // SAFETY: these kernels are ours, guard their indices, and have no endless loops.
            let module =
                unsafe { self.device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked()) };
            let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: None,
                layout: None,
                module: &module,
                entry_point: Some(launch.entry),
                compilation_options: wgpu::PipelineCompilationOptions {
                    constants: &launch.constants,
                    zero_initialize_workgroup_memory: false,
                },
                cache: None,
            });
            let entry = |(k, &buffer): (usize, &usize)| wgpu::BindGroupEntry {
                binding: k as u32,
                resource: buffers[buffer].as_entire_binding(),
            };
            let entries: Vec<wgpu::BindGroupEntry> = launch.buffers.iter().enumerate().map(entry).collect();
            let layout = pipeline.get_bind_group_layout(0);
            let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &layout,
                entries: &entries,
            });
            (pipeline, group, launch.grid)
        };
        Ready { launches: launches.iter().map(ready).collect() }
    }

    /// Starts the launches and does not wait.
    pub fn launch(&self, ready: &Ready) {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for (pipeline, group, grid) in &ready.launches {
                pass.set_pipeline(pipeline);
                pass.set_bind_group(0, group, &[]);
                pass.dispatch_workgroups(grid[0], grid[1], grid[2]);
            }
        }
        self.queue.submit([encoder.finish()]);
    }

    /// Starts a copy and does not wait.
    pub fn copy(&self, from: &wgpu::Buffer, to: &wgpu::Buffer) {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size());
        self.queue.submit([encoder.finish()]);
    }

    /// Waits for everything that was started.
    pub fn wait(&self) -> Result<(), Failure> {
        self.device.poll(PollType::Wait { submission_index: None, timeout: None })?;
        Ok(())
    }
}
