//! One kernel run once, on bytes: what asks an adapter how it computes, and what tests kernels by themselves.
//!
//! What it does not do: keep anything. Calls of programs are in `run.rs`.

use super::adapter::Opened;
use super::pipeline::{Shader, pipeline};
use crate::Error;
use slyz_sir::back::naga::Target;
use slyz_sir::kernel::Kernel;
use slyz_sir::size::{Size, SizeVar};
use std::sync::mpsc;
use wgpu::BufferUsages;

/// The memories of a kernel without scalar parameters after a launch, given what is in them before, in whole words.
pub(super) fn once(
    opened: &Opened,
    kernel: &Kernel,
    target: &Target,
    sizes: &[u64],
    memories: &[Vec<u8>],
) -> Result<Vec<Vec<u8>>, Error> {
    let what = format!("the kernel {}", kernel.name);
    let broken = |why: String| Error::Plan { name: kernel.name.clone(), why };
    let value = |size: &Size| {
        size.eval(&|SizeVar(k)| sizes.get(k as usize).copied()).map_err(|error| broken(error.to_string()))
    };
    if kernel.bound_memories().count() != memories.len() || !kernel.body.params.is_empty() {
        return Err(broken("it wants other arguments".into()));
    }
    let pipeline = pipeline(opened, kernel, Shader::new(opened, kernel, target)?)?;
    let mut uniform = vec![];
    for extent in &pipeline.interface.extents {
        uniform.extend_from_slice(&value(extent)?.to_le_bytes());
    }
    uniform.resize(pipeline.interface.uniform_bytes as usize, 0);
    let grid = [value(&kernel.grid[0])?, value(&kernel.grid[1])?, value(&kernel.grid[2])?].map(|n| n as u32);
    let device = &opened.device;
    let (send, receive) = mpsc::channel();
    let staged = opened.guarded(&what, 0, || {
        let buffer = |bytes: &[u8], usage| {
            let size = (bytes.len() as u64).max(16).next_multiple_of(16);
            let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
            let buffer = device.create_buffer(&descriptor);
            if !bytes.is_empty() {
                opened.queue.write_buffer(&buffer, 0, bytes);
            }
            buffer
        };
        let storage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let buffers: Vec<wgpu::Buffer> = memories.iter().map(|bytes| buffer(bytes, storage)).collect();
        let uniform = buffer(&uniform, BufferUsages::UNIFORM | BufferUsages::COPY_DST);
        let entries: Vec<wgpu::BindGroupEntry> = buffers
            .iter()
            .chain([&uniform])
            .zip(0..)
            .map(|(buffer, binding)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
            .collect();
        let descriptor = wgpu::BindGroupDescriptor { label: None, layout: &pipeline.layout, entries: &entries };
        let group = device.create_bind_group(&descriptor);
        let mut encoder = device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(&pipeline.pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(grid[0], grid[1], grid[2]);
        }
        let staged: Vec<wgpu::Buffer> = buffers
            .iter()
            .map(|from| {
                let (size, usage) = (from.size(), BufferUsages::MAP_READ | BufferUsages::COPY_DST);
                let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
                let to = device.create_buffer(&descriptor);
                encoder.copy_buffer_to_buffer(from, 0, &to, 0, size);
                to
            })
            .collect();
        let index = opened.queue.submit([encoder.finish()]);
        for to in &staged {
            let send = send.clone();
            // The receiver outlives the wait; where it is gone nobody asks any more.
            to.map_async(wgpu::MapMode::Read, .., move |done| {
                let _ = send.send(done.map_err(|error| error.to_string()));
            });
        }
        opened.wait_for(index).map(|()| staged).map_err(|error| error.to_string())
    })?;
    drop(send);
    let refused = |why: String| Error::Driver { what: what.clone(), why };
    let mut results = vec![];
    for (to, bytes) in staged.map_err(refused)?.iter().zip(memories) {
        receive.recv().map_err(|error| refused(error.to_string()))?.map_err(refused)?;
        let view = to.get_mapped_range(..).map_err(|error| refused(error.to_string()))?;
        results.push(view[..bytes.len()].to_vec());
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slyz_sir::choices::Precision;
    use slyz_sir::text::parse_kernel;

    /// Elements of a type of so many bytes move in groups: the result of a kernel that copies `x` to `y` so, and the singles
    /// behind the last whole group one by one.
    fn copied(opened: &Opened, target: &Target, ty: &str, bytes: usize, group: usize, n: usize) -> Vec<u8> {
        let names = (0..group).map(|k| format!("%v{k}")).collect::<Vec<_>>();
        let binds = names.iter().map(|name| format!("{name}: {ty}")).collect::<Vec<_>>().join(", ");
        let text = format!(
            "kernel groups<n>() grid [ceil(n / 64), 1, 1] block [64, 1, 1] {{
              global read x: {ty}[n]
              global write y: {ty}[n]
              %g: i64 = global.x
              %n: i64 = extent n
              %group: i64 = const {group}
              %i: i64 = mul %g, %group
              %end: i64 = add %i, %group
              %whole: bool = le %end, %n
              if %whole {{
                {binds} = load x[%i]
                store y[%i], {}
              }} else {{
                %last: i64 = min %end, %n
                %one: i64 = const 1
                for %i to %last step %one () |%k: i64| {{
                  %v: {ty} = load x[%k]
                  store y[%k], %v
                }}
              }}
            }}",
            names.join(", "),
        );
        let kernel = parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let count = (n * bytes).next_multiple_of(4);
        // Bytes that are 0 or 1 are right for every type.
        let x: Vec<u8> = (0..count).map(|i| if i < n * bytes { (i * i % 7 < 3) as u8 } else { 0 }).collect();
        let y = vec![0; count];
        let out = once(opened, &kernel, target, &[n as u64], &[x.clone(), y]).expect("a result");
        assert_eq!(out[0], x);
        assert_eq!(out[1], x, "{ty} by {group}, {n}");
        out[1].clone()
    }

    #[test]
    fn groups_of_elements() {
        let opened = Opened::new(std::env::var("SLYZ_ADAPTER").ok().as_deref(), false).expect("an adapter");
        let types = [("f32", 4), ("i64", 8), ("f64", 8), ("u8", 1), ("bool", 1), ("i16", 2), ("f16", 2), ("bf16", 2)];
        let mut targets = vec![opened.target, Target { narrow: true, ..opened.target }];
        if super::super::probe::has_exact_halves(&opened) {
            targets.push(Target { precision: Precision::Table, exact_halves: true, ..opened.target });
        }
        for target in targets {
            for (ty, bytes) in types {
                for group in [2, 4].into_iter().filter(|group| group * bytes <= 16) {
                    for n in [1, 2, 3, 4, 5, 8, 17, 255, 1023] {
                        copied(&opened, &target, ty, bytes, group, n);
                    }
                }
            }
        }
    }
}
