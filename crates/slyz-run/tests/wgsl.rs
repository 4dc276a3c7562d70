//! The corpus as exported WGSL: the text that people are given, read by naga's WGSL front end, run on wgpu launch by launch, and compared with what
//! the files expect. What WGSL has no types for is an error that says so.
#![cfg(all(feature = "cpu", feature = "wgpu"))]

mod devices;
mod plans;

use plans::{Launch, Memory, value};
use slyz_sir::back::EmitError;
use slyz_sir::back::clike::{Description, Dispatch, UniformSource};
use slyz_sir::back::harness::{Entry, File, Options, ProjectError};
use slyz_sir::choices::{Extension, Precision};
use slyz_sir::interp;
use slyz_sir::interp::Value;
use slyz_sir::program::Program;
use slyz_sir::size::Size;
use slyz_sir::text::{Case, Subject, parse_file};
use slyz_sir::types::{Scalar, Ty};
use std::collections::HashMap;
use std::path::Path;
use wgpu::util::DeviceExt;

/// Larger cases take too long, one launch after another.
const MOST: u64 = 20_000;

/// Units in the last place that a chain of operators may be off beside what the case allows: mathematics is the GPU's own.
const SLACK: u32 = 64;

/// Files about what is the device's at `Native`: NaN, zeros with a sign, subnormal halves, floats too large for an integer. In the last, Mesa mistakes
/// a choice between the bits of -1.0 and 0 for a conversion of a condition.
const DEVICES_OWN: [&str; 5] =
    ["arithmetic_with_zeros", "nan_inf_zero", "cast_half", "collective_scatters", "choices_of_minus_one"];

/// A device of wgpu as a host by hand has it.
struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
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

impl Gpu {
    /// With these features; `None` where there is no such device.
    fn open(required_features: wgpu::Features) -> Option<Gpu> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let mut adapters = ready(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
        let wish = std::env::var("SLYZ_ADAPTER").unwrap_or_default().to_lowercase();
        adapters.retain(|adapter| adapter.get_info().name.to_lowercase().contains(&wish));
        adapters.sort_by_key(|adapter| adapter.get_info().device_type == wgpu::DeviceType::Cpu);
        let adapter = adapters.first().expect("an adapter with that name");
        // Some kernels bind more arrays than every browser has to take.
        let required_limits = adapter.limits();
        if !adapter.features().contains(required_features) {
            return None;
        }
        let asked = wgpu::DeviceDescriptor { required_limits, required_features, ..Default::default() };
        let (device, queue) = ready(adapter.request_device(&asked)).expect("a device");
        Some(Gpu { device, queue })
    }

    /// What the file binds, used or not.
    fn layout(&self, d: &Description) -> wgpu::PipelineLayout {
        let storage = |written: bool| wgpu::BufferBindingType::Storage { read_only: !written };
        let mut types: Vec<wgpu::BufferBindingType> = d.buffers.iter().map(|slot| storage(slot.written)).collect();
        if !d.uniforms.is_empty() {
            types.push(wgpu::BufferBindingType::Uniform);
        }
        let entry = |(binding, ty): (u32, wgpu::BufferBindingType)| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
            count: None,
        };
        let entries: Vec<wgpu::BindGroupLayoutEntry> = (0..).zip(types).map(entry).collect();
        let group = wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries };
        let group = self.device.create_bind_group_layout(&group);
        let layout = wgpu::PipelineLayoutDescriptor { bind_group_layouts: &[Some(&group)], ..Default::default() };
        self.device.create_pipeline_layout(&layout)
    }

    /// What naga's front end makes of a file.
    fn pipeline(&self, d: &Description, text: &str) -> Result<wgpu::ComputePipeline, String> {
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let source = wgpu::ShaderSource::Wgsl(text.into());
        let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: Some(&self.layout(d)),
            module: &module,
            entry_point: None,
            compilation_options: Default::default(),
            cache: None,
        });
        match ready(scope.pop()) {
            Some(error) => Err(format!("{error}\n{text}")),
            None => Ok(pipeline),
        }
    }

    fn buffer(&self, contents: &[u8], usage: wgpu::BufferUsages) -> wgpu::Buffer {
        self.device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: None, contents, usage })
    }

    /// Copies the arrays there, launches, and copies back what is written.
    fn launch(&self, pipeline: &wgpu::ComputePipeline, launch: &Launch, memory: &mut Memory) -> Result<(), String> {
        let d = launch.kernel;
        let Dispatch::Blocks(grid) = &d.dispatch else { return Err("WGSL counts blocks".to_string()) };
        let grid: Vec<u64> = grid.iter().map(|s| value(s, launch.sizes)).collect::<Result<_, _>>()?;
        if grid.contains(&0) {
            return Ok(());
        }
        let id = |place: usize| launch.buffers[place].0 as usize;
        let bytes = |at: usize| memory[at].iter().flatten().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
        let there = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let mut buffers: Vec<wgpu::Buffer> =
            d.buffers.iter().map(|slot| self.buffer(&bytes(id(slot.place)), there)).collect();
        let words = uniforms(d, launch.sizes, &launch.scalars)?;
        if !words.is_empty() {
            buffers.push(self.buffer(bytemuck::cast_slice(&words), wgpu::BufferUsages::UNIFORM));
        }
        let bound = (0..).zip(buffers.iter().map(wgpu::Buffer::as_entire_binding));
        let entries: Vec<wgpu::BindGroupEntry> =
            bound.map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource }).collect();
        let layout = &pipeline.get_bind_group_layout(0);
        let group = wgpu::BindGroupDescriptor { label: None, layout, entries: &entries };
        let group = self.device.create_bind_group(&group);
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(grid[0] as u32, grid[1] as u32, grid[2] as u32);
        drop(pass);
        let mut back = vec![];
        for (slot, buffer) in d.buffers.iter().zip(&buffers).filter(|(slot, _)| slot.written) {
            let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
            let copy = wgpu::BufferDescriptor { label: None, size: buffer.size(), usage, mapped_at_creation: false };
            let copy = self.device.create_buffer(&copy);
            encoder.copy_buffer_to_buffer(buffer, 0, &copy, 0, buffer.size());
            back.push((id(slot.place), copy));
        }
        self.queue.submit([encoder.finish()]);
        back.iter().for_each(|(_, copy)| copy.slice(..).map_async(wgpu::MapMode::Read, |_| {}));
        self.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|error| error.to_string())?;
        for (at, copy) in back {
            let seen = copy.slice(..).get_mapped_range().map_err(|error| error.to_string())?;
            memory[at] = Some(bytemuck::pod_collect_to_vec(&seen));
        }
        Ok(())
    }
}

/// The fields of the struct of sizes, four bytes each, as often as a uniform must have them.
fn uniforms(d: &Description, sizes: &[Option<u64>], scalars: &[Scalar]) -> Result<Vec<u32>, String> {
    let mut words = vec![];
    for uniform in &d.uniforms {
        words.push(match uniform.source {
            UniformSource::Size(var) => value(&Size::Var(var), sizes)? as u32,
            UniformSource::Scalar(k) if scalars[k].ty.is_float() => (scalars[k].as_f64() as f32).to_bits(),
            UniformSource::Scalar(k) => scalars[k].as_int() as u32,
            UniformSource::Extent(_) => unreachable!("of raw kernels, which are not exported"),
        });
    }
    words.resize(words.len().next_multiple_of(4), 0);
    Ok(words)
}

/// A program with its cases.
fn subjects(text: &str) -> Vec<(Program, Vec<Case>)> {
    let (module, cases) = parse_file(text).expect("a file of the corpus");
    let mine = |program: &Program| {
        let own = |case: &&Case| case.subject == Subject::Program(program.name.clone());
        cases.iter().filter(own).cloned().collect()
    };
    module.programs.iter().map(|program| (program.clone(), mine(program))).collect()
}

/// Runs the cases of a program that was written; gives how many, and what is wrong.
fn check(gpu: &Gpu, (entry, files): (Entry, Vec<File>), cases: &[Case]) -> (usize, Vec<String>) {
    // Drivers take their time with a kernel: only those that are launched are built.
    let mut pipelines: HashMap<String, wgpu::ComputePipeline> = HashMap::new();
    let (mut count, mut wrong) = (0, vec![]);
    for case in cases {
        let given = |name: &str| case.sizes.iter().find(|(known, _)| known == name).map(|(_, n)| *n);
        let sizes: Vec<Option<u64>> = entry.program.sizes.iter().map(|decl| given(&decl.name)).collect();
        let sizes = interp::program::solve_sizes(&entry.program, &sizes, &case.args).expect("sizes of a case");
        if sizes.iter().flatten().any(|&size| size > MOST) {
            continue;
        }
        count += 1;
        let complain = |what: String| format!("{}, \"{}\": {what}", entry.program.name, case.name);
        let run = &mut |launch: &Launch, memory: &mut Memory| {
            let name = &launch.kernel.name;
            if !pipelines.contains_key(name) {
                let at = entry.kernels.iter().position(|kernel| kernel.name == *name);
                let text = at.and_then(|at| files[at].as_text()).unwrap_or_default();
                pipelines.insert(name.clone(), gpu.pipeline(launch.kernel, text)?);
            }
            gpu.launch(&pipelines[name], launch, memory)
        };
        match plans::run(&entry, &sizes, &case.args, run) {
            Err(error) => wrong.push(complain(error)),
            Ok(found) => {
                for (expect, found) in case.expect.iter().zip(&found) {
                    let ulp = if is_float(&expect.value) { expect.ulp + SLACK } else { 0 };
                    wrong.extend(devices::difference(&expect.value, found, ulp).map(complain));
                }
            }
        }
    }
    (count, wrong)
}

fn is_float(value: &Value) -> bool {
    let ty: Ty = devices::as_array(value).ty;
    ty.is_float()
}

#[test]
fn corpus() {
    if !devices::has_gpu() {
        return;
    }
    let gpu = Gpu::open(wgpu::Features::empty()).expect("a device without features");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let list = std::fs::read_dir(&folder).expect("the folder tests/corpus");
    let mut paths: Vec<_> = list.map(|entry| entry.expect("an entry of tests/corpus").path()).collect();
    let part = std::env::var("SLYZ_CORPUS").unwrap_or_default();
    paths.retain(|path| path.extension().is_some_and(|e| e == "sir"));
    paths.retain(|path| path.to_string_lossy().contains(&part));
    paths.sort();
    let own = |path: &Path| path.file_stem().is_some_and(|stem| DEVICES_OWN.iter().any(|own| *own == stem));
    paths.retain(|path| !own(path));
    let (mut count, mut wrong, mut refused) = (0, vec![], 0);
    for (number, path) in paths.into_iter().enumerate() {
        let precision = if number % 2 == 0 { Precision::Native } else { Precision::Table };
        let options = Options { precision, ..Options::default() };
        let text = std::fs::read_to_string(&path).expect("a file of the corpus");
        for (program, cases) in subjects(&text) {
            let written = match Entry::wgsl(&program, &options) {
                Ok(written) => written,
                Err(ProjectError::Emit(EmitError::Extension { .. } | EmitError::Type { .. })) => {
                    refused += 1;
                    continue;
                }
                Err(error) => panic!("{}: {error}", path.display()),
            };
            let (ran, bad) = check(&gpu, written, &cases);
            count += ran;
            wrong.extend(bad.into_iter().map(|what| format!("{}: {what}", path.display())));
        }
    }
    println!("{count} cases; {refused} programs with 64-bit numbers");
    assert!(wrong.is_empty(), "{} of {count} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Bits of 64-bit integers, which WGSL counts in words of 32: what the extension `int64` allows is taken by naga.
#[test]
fn bits_of_long_integers() {
    if !devices::has_gpu() {
        return;
    }
    let Some(gpu) = Gpu::open(wgpu::Features::SHADER_INT64) else {
        println!("skipped: the GPU has no 64-bit integers");
        return;
    };
    let operators = ["popcount", "leading_zeros", "trailing_zeros", "reverse_bits"];
    for ty in ["i64", "u64"] {
        for operator in operators {
            let text = format!(
                "program bits<N>(%a: {ty}[N]) -> {ty}[N] {{
                   %y: {ty}[N] = tabulate [N] |%i: i64| {{ %p: {ty} = at %a[%i]  %q: {ty} = {operator} %p  yield %q }}
                   return %y }}"
            );
            let program = slyz_sir::text::parse_program(&text).expect("a program");
            for precision in [Precision::Native, Precision::Table] {
                let standard = Options { precision, ..Options::default() };
                let refused = Entry::wgsl(&program, &standard);
                assert!(matches!(refused, Err(ProjectError::Emit(EmitError::Extension { .. }))), "{operator} of {ty}");
                let options = Options { extensions: vec![Extension::Int64], ..standard };
                let (entry, files) = Entry::wgsl(&program, &options).expect("a file with the extension");
                for (kernel, file) in entry.kernels.iter().zip(&files) {
                    let made = gpu.pipeline(kernel, file.as_text().unwrap_or_default());
                    assert!(made.is_ok(), "{operator} of {ty}: {}", made.err().unwrap_or_default());
                }
            }
        }
    }
}

/// More arrays than every device binds are told at the top of the file.
#[test]
fn many_arrays_are_told() {
    let names: Vec<String> = (0..9).map(|k| format!("%a{k}")).collect();
    let params: Vec<String> = names.iter().map(|name| format!("{name}: f32[N]")).collect();
    let reads: String = (0..9).map(|k| format!("%x{k}: f32 = at %a{k}[%i]\n")).collect();
    let sums: String = (1..9)
        .map(|k| {
            format!("%s{k}: f32 = add %{}, %x{k}\n", if k == 1 { "x0".to_string() } else { format!("s{}", k - 1) })
        })
        .collect();
    let text = format!(
        "program sums<N>({}) -> f32[N] {{
           %y: f32[N] = tabulate [N] |%i: i64| {{ {reads} {sums} yield %s8 }}
           return %y }}",
        params.join(", ")
    );
    let program = slyz_sir::text::parse_program(&text).expect("a program");
    let (_, files) = Entry::wgsl(&program, &Options::default()).expect("a file");
    let text = files[0].as_text().unwrap_or_default();
    assert!(text.contains("maxStorageBuffersPerShaderStage: 10;"), "{text}");
}
