//! What a small call on the GPU costs beside the bare commands of wgpu: 16 numbers that are there already.
//!
//! `cargo run --release -p slyz-run --features wgpu --example gpu_call`

use slyz_run::wgpu::Wgpu;
use slyz_run::{Argument, ArrayData, Device};
use slyz_sir::text::parse_program;
use slyz_sir::types::{Scalar, Ty};
use std::time::Instant;

const TEXT: &str = "program saxpy<N>(%a: f32, %x: f32[N], %y: f32[N]) -> f32[N] {
  %v: f32[N] = tabulate [N] |%i: i64| { %p: f32 = at %x[%i]  %q: f32 = at %y[%i]  %s: f32 = mul %a, %p  %t: f32 = add %s, %q  yield %t }
  return %v }";

const WGSL: &str = "
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> z: array<f32>;
@group(0) @binding(3) var<uniform> a: vec4<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if id.x < arrayLength(&x) { z[id.x] = a.x * x[id.x] + y[id.x]; }
}";

const CALLS: usize = 200;
const ROUNDS: usize = 30;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Wgpu::new(std::env::var("SLYZ_ADAPTER").ok().as_deref());
    println!("{}", device.describe());
    let f = device.compile(&parse_program(TEXT)?)?;
    let x = device.upload(ArrayData::Host(bytemuck::cast_slice(&[1.0f32; 16])))?;
    let array = || Argument::Array { ty: Ty::F32, shape: vec![16].into(), data: ArrayData::Buffer(&x) };
    let ours = || -> Result<(), slyz_run::Error> {
        for _ in 0..CALLS {
            f.run(&[Some(16)], &[Argument::Scalar(Scalar::f32(2.0)), array(), array()])?;
        }
        device.synchronize()
    };
    let bare = bare()?;
    let (mut best_ours, mut best_bare) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        ours()?;
        best_ours = best_ours.min(start.elapsed().as_secs_f64() / CALLS as f64);
        let start = Instant::now();
        bare()?;
        best_bare = best_bare.min(start.elapsed().as_secs_f64() / CALLS as f64);
    }
    println!("a call      {:6.2} us", best_ours * 1e6);
    println!("bare wgpu   {:6.2} us", best_bare * 1e6);
    println!("ratio       {:6.2}", best_ours / best_bare);
    Ok(())
}

type Bare = Box<dyn Fn() -> Result<(), Box<dyn std::error::Error>>>;

/// Bind group, encoder, pass, submit, as one would write them by hand.
fn bare() -> Result<Bare, Box<dyn std::error::Error>> {
    use wgpu::util::DeviceExt;
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let mut adapters = ready(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
    let wish = std::env::var("SLYZ_ADAPTER").unwrap_or_default().to_lowercase();
    adapters.retain(|adapter| adapter.get_info().name.to_lowercase().contains(&wish));
    adapters.sort_by_key(|adapter| adapter.get_info().device_type == wgpu::DeviceType::Cpu);
    let adapter = adapters.first().ok_or("no adapter")?;
    let (device, queue) = ready(adapter.request_device(&wgpu::DeviceDescriptor::default()))?;
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(WGSL.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: Default::default(),
        cache: None,
    });
    let buffer = |usage| {
        let contents = bytemuck::cast_slice(&[1.0f32; 16]);
        device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: None, contents, usage })
    };
    let storage = wgpu::BufferUsages::STORAGE;
    let buffers = [buffer(storage), buffer(storage), buffer(storage), buffer(wgpu::BufferUsages::UNIFORM)];
    Ok(Box::new(move || {
        for _ in 0..CALLS {
            let bound = (0..).zip(buffers.iter().map(wgpu::Buffer::as_entire_binding));
            let entries: Vec<wgpu::BindGroupEntry> =
                bound.map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource }).collect();
            let layout = &pipeline.get_bind_group_layout(0);
            let group = device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries });
            let mut encoder = device.create_command_encoder(&Default::default());
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(1, 1, 1);
            drop(pass);
            queue.submit([encoder.finish()]);
        }
        device.poll(wgpu::PollType::wait_indefinitely())?;
        Ok(())
    }))
}

/// The value of a future that is ready at once outside browsers.
fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        std::thread::yield_now();
    }
}
