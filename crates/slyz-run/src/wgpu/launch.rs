//! Kernels that people write, on the GPU: a pipeline for each form that launches need, and a launch of it.
//!
//! Launches that are proven to stay inside their arrays are given to the GPU and not waited for. Others run code that tells faults
//! in a small buffer, which is waited for. Arrays that are on the GPU are written in place, unless somebody else sees them.

use super::Wgpu;
use super::adapter::Opened;
use super::array::GpuArray;
use super::clock::measured;
use super::run::{Command, uniform_buffer};
use super::variant::{Geometry, Needs, WIDE, built, module};
use crate::kernels::{bound_memories, extents};
use crate::launch::{Field, Fitted, Outline, Proofs, constant_bytes, tells};
use crate::memo::Memo;
use crate::signature::elements;
use crate::{ArrayData, Buffer, DeviceMemory, Error, Launch, LaunchArray, LaunchTime, Launcher, hash, profile};
use slyz_sir::back::naga;
use slyz_sir::kernel::{Kernel, Space};
use slyz_sir::launch::{Fault, MOST_FOLDED, Template};
use slyz_sir::pass::report;
use slyz_sir::road::{Destination, Road};
use slyz_sir::size::Size;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Forms of a kernel that are kept.
const KEPT_FORMS: usize = 32;
/// Launches whose numbers are kept.
const KEPT_LAUNCHES: usize = 16;

/// What distinguishes the code of two launches, besides the width of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Form {
    block: [u32; 3],
    /// The last blocks are cut short.
    exact: bool,
    /// Blocks are counted over x and y of the grid.
    folded: bool,
    /// Accesses are not looked at.
    trusted: bool,
}

/// A kernel in a form.
struct Code {
    kernel: Kernel,
    hash: [u8; 32],
    extents: Vec<Size>,
    /// Its last memory is for faults.
    tells: bool,
}

/// A kernel, ready for a GPU.
pub(super) struct WgpuLauncher {
    outline: Outline,
    opened: Arc<Opened>,
    proofs: Proofs,
    codes: Memo<Code>,
    constants: OnceLock<Vec<Arc<GpuArray>>>,
    launches: Mutex<VecDeque<Known>>,
}

/// A launch with its numbers: its form, its sizes.
type Known = (Form, Vec<u64>, Arc<Geometry>);

/// Where a kernel writes.
struct Target {
    to: Arc<GpuArray>,
    /// What it starts as a copy of, since somebody else sees that.
    from: Option<Arc<GpuArray>>,
    /// It is not the buffer's own memory.
    new: bool,
}

impl WgpuLauncher {
    pub(super) fn new(template: &Arc<Template>, opened: Arc<Opened>) -> Result<WgpuLauncher, Error> {
        let outline = Outline::new(template)?;
        check_shared(&opened, &template.kernel)?;
        let launcher = WgpuLauncher {
            outline,
            opened,
            proofs: Proofs::default(),
            codes: Memo::new(KEPT_FORMS),
            constants: OnceLock::new(),
            launches: Mutex::default(),
        };
        Ok(launcher)
    }

    fn code(&self, form: Form) -> Result<Arc<Code>, Error> {
        self.codes.get(hash::of(&form), || {
            let Form { block, exact, folded, trusted } = form;
            let template = &self.outline.template;
            let road = Road { trusted, ..Road::to(Destination::Threads { block, exact, folded }) };
            let end = |road: &Road| {
                road.end(template)
                    .map_err(|why| Error::Plan { name: self.outline.name().to_string(), why: why.to_string() })
            };
            if !self.opened.target.int64 {
                // The code that tells knows how to do without; what somebody wrote may not.
                naga::check_narrow_kernel(&end(&Road { trusted: true, ..road.clone() })?, WIDE)?;
            }
            let kernel = end(&road)?;
            let tells = tells(&kernel, template);
            let (hash, extents) = (hash::of(&kernel), extents(&kernel));
            Ok(Arc::new(Code { kernel, hash, extents, tells }))
        })
    }

    /// The form for launches with any number of threads.
    fn usual(&self) -> Result<Arc<Code>, Error> {
        let block = Field::usual_block(self.outline.nature);
        self.code(Form { block, exact: self.outline.nature.free, folded: false, trusted: false })
    }

    /// Lays out the threads within the limits of the GPU. Says whether blocks are folded.
    fn lay_out(&self, fitted: &mut Fitted) -> Result<bool, Error> {
        let limits = &self.opened.limits;
        let most = [
            limits.max_compute_workgroup_size_x,
            limits.max_compute_workgroup_size_y,
            limits.max_compute_workgroup_size_z,
        ];
        fitted.field.check_block(self.outline.name(), most, limits.max_compute_invocations_per_workgroup)?;
        let most = u64::from(limits.max_compute_workgroups_per_dimension);
        let reaches = |field: &Field| field.grid.iter().all(|&blocks| blocks <= most);
        let field = fitted.field;
        if reaches(&field) {
            return Ok(false);
        }
        let folded = most.min(MOST_FOLDED);
        if self.outline.template.folds() && field.grid[1..] == [1, 1] && field.grid[0] <= folded * folded {
            let rows = field.grid[0].div_ceil(folded);
            fitted.lay_out(Field { grid: [field.grid[0].div_ceil(rows), rows, 1], ..field });
            return Ok(true);
        }
        // Threads may be laid out in other blocks where nobody asked for these.
        let others =
            [[256, 1, 1], [1, 256, 1], [4, 64, 1], [1, 4, 64], [4, 1, 64]].map(|block| field.with_block(block));
        let fits = |other: &Field| {
            other.block.iter().zip(&field.block).all(|(new, old)| *new == 1 || *old > 1) && reaches(other)
        };
        if let Some(other) = others.into_iter().find(fits).filter(|_| self.outline.nature.free && !field.chosen) {
            fitted.lay_out(other);
            return Ok(false);
        }
        Err(Error::TooLarge {
            what: format!("the grid {:?} of kernel `{}`", field.grid, self.outline.name()),
            why: format!(
                "this GPU has at most {most} blocks in each dimension; use larger blocks, or launch over parts"
            ),
        })
    }

    /// The numbers of a launch.
    fn geometry(&self, form: Form, code: &Code, fitted: &Fitted) -> Result<Arc<Geometry>, Error> {
        let lock = || self.launches.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |known: &&Known| known.0 == form && known.1 == fitted.sizes;
        if let Some((_, _, geometry)) = lock().iter().find(known) {
            return Ok(geometry.clone());
        }
        let (opened, kernel) = (&self.opened, &code.kernel);
        let too_large = |what: String, why: String| Err(Error::TooLarge { what, why });
        let value = |size: &Size| fitted.size(size).unwrap_or(u64::MAX);
        let (mut bound, mut narrow) = (vec![], true);
        for memory in bound_memories(kernel) {
            let shape: Vec<u64> = memory.shape.iter().map(value).collect();
            let count = elements(&shape).unwrap_or(u64::MAX);
            let bytes = count.saturating_mul(memory.ty.bytes() as u64);
            let most = opened.window_bytes.min(opened.limits.max_storage_buffer_binding_size);
            if bytes > most {
                let what = format!("the array `{}` of kernel `{}`", memory.name, kernel.name);
                let why =
                    format!("{bytes} bytes, and a kernel of this GPU sees at most {most}; launch over parts of it");
                return too_large(what, why);
            }
            narrow &= count < WIDE && shape.iter().all(|&extent| extent < WIDE);
            bound.push((0, bytes.max(16).next_multiple_of(16).min(opened.limits.max_storage_buffer_binding_size)));
        }
        let field = &fitted.field;
        let reach = field.grid.iter().zip(field.block).map(|(&grid, block)| grid.saturating_mul(block.into()));
        narrow &= reach.fold(1, u64::saturating_mul) < WIDE || !form.folded && field.threads.iter().all(|&n| n < WIDE);
        for size in &code.extents {
            narrow &= value(size) < WIDE;
        }
        let sizes: Vec<Option<u64>> = fitted.sizes.iter().copied().map(Some).collect();
        let built = built(opened, kernel, &code.hash, Needs::new(opened, kernel, &sizes, narrow)?)?;
        let mut words = vec![];
        for size in &built.pipeline.extents {
            let (value, most) = (value(size), opened.machine.max_positions);
            if value > most {
                let why = format!("a size is {value}, and this GPU counts to {most}");
                return too_large(format!("the launch of kernel `{}`", kernel.name), why);
            }
            words.push(value);
        }
        // Grids were laid out within 32 bits.
        let geometry = Arc::new(Geometry::new(built, field.grid.map(|blocks| blocks as u32), bound, words));
        let mut kept = lock();
        if kept.len() >= KEPT_LAUNCHES {
            kept.pop_front();
        }
        kept.push_back((form, fitted.sizes.clone(), geometry.clone()));
        Ok(geometry)
    }

    fn constants(&self) -> Result<&[Arc<GpuArray>], Error> {
        if let Some(constants) = self.constants.get() {
            return Ok(constants);
        }
        let template = &self.outline.template;
        let memories = template.kernel.memories.iter().filter(|memory| memory.space == Space::Constant);
        let upload = |(memory, words): (&slyz_sir::kernel::Memory, &Vec<u64>)| {
            let what = format_args!("a constant of kernel `{}`", template.kernel.name).to_string();
            Ok(Arc::new(GpuArray::upload(&self.opened, &constant_bytes(memory.ty, words), &what)?))
        };
        let made = memories.zip(&template.constants).map(upload).collect::<Result<_, Error>>()?;
        Ok(self.constants.get_or_init(|| made))
    }

    /// The array behind a buffer that the kernel writes.
    fn target(&self, data: &mut Buffer) -> Result<Target, Error> {
        let what = &format_args!("an array that kernel `{}` writes on the GPU", self.outline.name());
        if GpuArray::of(data, &self.opened).is_some()
            && let Some(to) = data.own_device_memory::<GpuArray>()
        {
            return Ok(Target { to, from: None, new: false });
        }
        let from = GpuArray::of(data, &self.opened);
        let to = match from {
            Some(_) => GpuArray::new(&self.opened, data.len() as u64, what),
            None => GpuArray::upload(&self.opened, data.bytes()?, what),
        };
        Ok(Target { to: Arc::new(to?), from, new: true })
    }

    /// Gives the launch to the GPU.
    fn submit(&self, command: &Command, copies: &[Copy], fitted: &Fitted) -> Result<(), Error> {
        let opened = &self.opened;
        let begin = |encoder: &mut wgpu::CommandEncoder| {
            for Copy { from, to, bytes } in copies {
                encoder.copy_buffer_to_buffer(from.buffer(), 0, to.buffer(), 0, *bytes);
            }
        };
        if profile::listening() {
            let (seconds, clock) = measured(opened, |encoder, timestamp_writes| {
                begin(encoder);
                let descriptor = wgpu::ComputePassDescriptor { label: None, timestamp_writes };
                command.encode(opened, &mut encoder.begin_compute_pass(&descriptor));
            })?;
            let (read, written) = fitted.traffic();
            let (kernel, device) = (self.outline.name().to_string(), Wgpu::NAME.to_string());
            profile::tell(LaunchTime { kernel, device, seconds, clock, read, written });
            return Ok(());
        }
        let index = opened.guarded(&format_args!("the launch of kernel `{}`", self.outline.name()), 0, || {
            let mut encoder = opened.device.create_command_encoder(&Default::default());
            begin(&mut encoder);
            command.encode(opened, &mut encoder.begin_compute_pass(&Default::default()));
            opened.queue.submit([encoder.finish()])
        });
        // What is kept might be what was refused.
        let index = index.inspect_err(|_| opened.groups.clear())?;
        opened.pace.submitted(opened, index)
    }

    fn fault(&self, faults: &GpuArray, form: Form, code: &Code, fitted: &Fitted) -> Result<Option<Fault>, Error> {
        let mut bytes = [0; 4 * report::WORDS];
        faults.read(&mut bytes)?;
        let word = |k: usize| i32::from_le_bytes([0, 1, 2, 3].map(|byte| bytes[4 * k + byte]));
        let fault = report::fault(&std::array::from_fn(word), &code.kernel, &fitted.sizes);
        Ok(fault.map(|fault| {
            let [x, y, _] = fault.thread;
            let row = fitted.field.grid[0] * u64::from(fitted.field.block[0]);
            let thread = if form.folded { [y * row + x, 0, 0] } else { fault.thread };
            Fault { thread, ..fault }
        }))
    }
}

/// A copy on the GPU, of an array that somebody else sees.
struct Copy {
    from: Arc<GpuArray>,
    to: Arc<GpuArray>,
    bytes: u64,
}

impl WgpuLauncher {
    /// Runs a launch. Whoever says `unchecked` has promised that no access is outside.
    fn start(&self, launch: Launch<'_>, unchecked: bool) -> Result<(), Error> {
        let opened = &self.opened;
        opened.alive()?;
        let mut fitted = self.outline.fit(launch, |buffer| GpuArray::of(buffer, opened).is_some())?;
        if fitted.field.is_empty() {
            return Ok(());
        }
        let folded = self.lay_out(&mut fitted)?;
        let trusted = unchecked || self.proofs.hold(&self.outline, &fitted);
        let exact = folded || !fitted.field.is_whole();
        let form = Form { block: fitted.field.block, exact, folded, trusted };
        let code = self.code(form)?;
        let geometry = self.geometry(form, &code, &fitted)?;
        let (mut arrays, mut copies, mut moved) = (vec![], vec![], vec![]);
        for (k, array) in fitted.arrays.iter_mut().enumerate() {
            match array {
                LaunchArray::Read { data, .. } => {
                    let here = match data {
                        ArrayData::Buffer(buffer) => GpuArray::of(buffer, opened),
                        ArrayData::Host(_) => None,
                    };
                    let what = &format_args!("an array that kernel `{}` reads on the GPU", self.outline.name());
                    arrays.push(match here {
                        Some(array) => array,
                        None => Arc::new(GpuArray::upload(opened, data.bytes()?, what)?),
                    });
                }
                LaunchArray::Write { data, .. } => {
                    let Target { to, from, new } = self.target(data)?;
                    let bytes = (data.len() as u64).next_multiple_of(4);
                    copies.extend(from.filter(|_| bytes > 0).map(|from| Copy { from, to: to.clone(), bytes }));
                    if new {
                        moved.push((k, to.clone()));
                    }
                    arrays.push(to);
                }
            }
        }
        arrays.extend(self.constants()?.iter().cloned());
        let faults = match code.tells {
            false => None,
            true => Some(Arc::new(GpuArray::upload(opened, &[0; 4 * report::WORDS], &"the faults of a launch")?)),
        };
        arrays.extend(faults.clone());
        let scalars: Vec<u64> = fitted.scalars.iter().map(|scalar| scalar.bits).collect();
        let uniform = geometry.uniform(&scalars, || {
            let bytes: Vec<u8> = geometry.words.iter().chain(&scalars).flat_map(|word| word.to_le_bytes()).collect();
            uniform_buffer(opened, bytes, geometry.built.pipeline.uniform_bytes)
        })?;
        let command = Command { place: 0, launch: geometry, arrays, uniform, scalars: vec![] };
        self.submit(&command, &copies, &fitted)?;
        for (k, to) in moved {
            if let LaunchArray::Write { data, .. } = &mut fitted.arrays[k] {
                **data = Buffer::on_device(to, data.len());
            }
        }
        let fault = faults.map_or(Ok(None), |faults| self.fault(&faults, form, &code, &fitted))?;
        fault.map_or(Ok(()), |fault| Err(Error::Fault(Box::new(fault))))
    }
}

impl Launcher for WgpuLauncher {
    fn launch(&self, launch: Launch<'_>) -> Result<(), Error> {
        self.start(launch, false)
    }

    unsafe fn launch_unchecked(&self, launch: Launch<'_>) -> Result<(), Error> {
        self.start(launch, true)
    }

    fn source(&self) -> Result<String, Error> {
        Ok(naga::wgsl(&module(&self.opened, &self.usual()?.kernel, Needs { narrow: true, long: false })?)?)
    }

    fn kernels(&self) -> Result<Vec<Kernel>, Error> {
        Ok(vec![self.usual()?.kernel.clone()])
    }

    fn device(&self) -> &str {
        Wgpu::NAME
    }
}

/// The memory that threads of a block share fits the GPU. However small an element is, it takes a word there.
fn check_shared(opened: &Opened, kernel: &Kernel) -> Result<(), Error> {
    let shared = kernel.memories.iter().filter(|memory| memory.space == Space::Shared);
    let bytes = shared.fold(0u64, |sum, memory| {
        let count = Size::product(&memory.shape).constant().unwrap_or(u64::MAX);
        sum.saturating_add(count.saturating_mul(memory.ty.bytes().max(4) as u64))
    });
    let most = u64::from(opened.limits.max_compute_workgroup_storage_size);
    if bytes <= most {
        return Ok(());
    }
    Err(Error::TooLarge {
        what: format!("the threadgroup memory of kernel `{}`", kernel.name),
        why: format!("{bytes} bytes, and a block of this GPU has {most}"),
    })
}
