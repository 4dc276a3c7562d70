//! Kernels that people write: code for each form that launches need, and launches of it.
//!
//! ```text
//! template ── bounds, trust or report (and weave) ──> optimize ──> Variant with one launch ──> Call
//! ```
//!
//! Launches that are proven to stay inside their arrays run code without checks, and are not waited for. Others run code that tells
//! faults in a last memory, which is read. Arrays are written in place, unless somebody else sees them.

use super::blocks::{lay_out, reach, usual};
use super::call::{Call, Slot};
use super::engine::{Engine, Trouble};
use super::numbers::Prepared;
use super::raised::RaisedKernel;
use super::variant::Variant;
use crate::buffer::later;
use crate::interpreter::InterpretedKernel;
use crate::launch::{Outline, Proofs, constant_bytes, tells};
use crate::memo::Memo;
use crate::signature::{Bound, Sizes};
use crate::{ArrayData, Buffer, Error, Kept, Launch, LaunchArray, Launcher, hash};
use slyz_sir::choices::Checks;
use slyz_sir::kernel::{Kernel, Space};
use slyz_sir::launch::{Fault, Template};
use slyz_sir::pass::report;
use slyz_sir::road::{Destination, KernelRoad};
use slyz_sir::types::Ty;
use std::sync::{Arc, OnceLock};

/// Forms of a kernel that are kept.
const KEPT_FORMS: usize = 32;

/// What distinguishes the code of two launches.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct KernelVersion {
    destination: Destination,
    /// Accesses are not looked at.
    trusted: bool,
}

/// A kernel, ready for a device.
pub(crate) struct KernelLauncher<E: Engine> {
    engine: E,
    outline: Outline,
    proofs: Proofs,
    raised: RaisedKernel<E>,
    forms: Memo<Variant<E>>,
    launches: Kept<(KernelVersion, Prepared<E>)>,
    constants: OnceLock<Vec<Buffer>>,
    /// For what the device leaves to it.
    interpreted: OnceLock<InterpretedKernel>,
}

impl<E: Engine> KernelLauncher<E> {
    pub(crate) fn new(engine: E, template: &Arc<Template>) -> Result<KernelLauncher<E>, Error> {
        let outline = Outline::new(template)?;
        engine.accept(&template.kernel)?;
        let raised = RaisedKernel::new(&outline);
        Ok(KernelLauncher {
            raised,
            engine,
            outline,
            proofs: Proofs::default(),
            forms: Memo::new(KEPT_FORMS),
            launches: Kept::default(),
            constants: OnceLock::new(),
            interpreted: OnceLock::new(),
        })
    }

    /// The kernel in a form.
    fn variant(&self, form: KernelVersion) -> Result<Arc<Variant<E>>, Trouble> {
        let template = &self.outline.template;
        let mut trouble = None;
        let made = self.forms.get(hash::of(&form), || {
            let end = |trusted: bool| {
                let checks = if trusted { Checks::Trust } else { Checks::Report };
                let road = KernelRoad { checks, ..KernelRoad::to(form.destination) };
                road.end(template).map_err(Trouble::Unwoven)
            };
            let kernel = self.engine.accept_form(&|| end(true)).and_then(|()| end(form.trusted));
            match kernel {
                Ok(kernel) => Ok(Arc::new(Variant::of_kernel(kernel, template.clone()))),
                Err(why) => {
                    trouble = Some(why);
                    Err(Error::Plan { name: self.outline.name().to_string(), why: "it has no such form".to_string() })
                }
            }
        });
        match trouble {
            Some(trouble) => Err(trouble),
            None => Ok(made?),
        }
    }

    /// The form for launches with any number of threads.
    fn usual(&self) -> Result<Arc<Variant<E>>, Error> {
        let destination = usual(&self.outline, self.engine.limits().as_ref());
        self.variant(KernelVersion { destination, trusted: false })
            .map_err(|trouble| trouble.into_error(&self.outline.template))
    }

    /// The constant memories, where the device works on them.
    fn constants(&self) -> Result<&[Buffer], Error> {
        if let Some(constants) = self.constants.get() {
            return Ok(constants);
        }
        let template = &self.outline.template;
        let memories = template.kernel.memories.iter().filter(|memory| memory.space == Space::Constant);
        let mut made = vec![];
        for (memory, words) in memories.zip(&template.constants) {
            let host = Buffer::copy_of(&constant_bytes(memory.ty, words))?;
            made.push(super::resident(&self.engine, memory.ty, ArrayData::Buffer(&host))?);
        }
        Ok(self.constants.get_or_init(|| made))
    }

    /// Runs a launch. Whoever says `unchecked` has promised that no access is outside.
    fn start(&self, mut launch: Launch<'_>, unchecked: bool) -> Result<(), Error> {
        match self.run(launch.again(), unchecked) {
            Ok(()) => Ok(()),
            Err(trouble) if self.engine.interprets(self.outline.name(), &trouble) => self.interpret(launch),
            Err(trouble) => Err(trouble.into_error(&self.outline.template)),
        }
    }

    fn interpret(&self, launch: Launch<'_>) -> Result<(), Error> {
        if self.interpreted.get().is_none() {
            let made = InterpretedKernel::new(&self.outline.template)?;
            let _ = self.interpreted.set(made);
        }
        self.interpreted.get().map_or(Ok(()), |interpreted| interpreted.launch(launch))
    }

    fn run(&self, launch: Launch<'_>, unchecked: bool) -> Result<(), Trouble> {
        let engine = &self.engine;
        engine.alive()?;
        let mut fitted = self.outline.fit(launch, |buffer| buffer.promise().is_some() || engine.holds(buffer))?;
        let destination = lay_out(&self.outline, &mut fitted, engine.limits().as_ref())?;
        if fitted.field.is_empty() {
            return Ok(());
        }
        let trusted = unchecked || self.proofs.hold(&self.outline, &fitted);
        if trusted && self.raised.run(engine, &self.outline, &mut fitted, self.constants()?)? {
            return Ok(());
        }
        // Arrays that nobody is waiting to read are written in place.
        later::settle();
        let form = KernelVersion { destination, trusted };
        let sizes = Sizes::all_known(&self.outline.signature, &fitted.sizes);
        let prepared = self.launches.get(
            |(known, prepared)| *known == form && prepared.is_for(&sizes),
            || {
                let variant = self.variant(form)?;
                let prepared = Prepared::new(engine, variant, &sizes, reach(&fitted, destination))?;
                Ok::<_, Trouble>((form, prepared))
            },
        )?;
        let variant = &prepared.1.variant;
        let kernel = &variant.plan.kernels[0];
        let traffic = Some(fitted.traffic());

        let mut faults = None;
        let mut told = None;
        if tells(kernel, &self.outline.template) {
            faults = Some(Buffer::copy_of(&[0; 4 * report::WORDS])?);
        }
        let mut queue = E::Queue::default();
        let mut slots = Vec::with_capacity(variant.plan.buffers.len());
        // Where the device did not write in place, what takes the places of the arrays.
        let mut moved = vec![];
        for (place, array) in fitted.arrays.iter_mut().enumerate() {
            let name = self.outline.name();
            let at = E::PLACE;
            slots.push(match array {
                LaunchArray::Read { ty, data, .. } => {
                    let what = format_args!("an array that kernel `{name}` reads{at}");
                    Slot::Here(engine.upload(*ty, *data, &what)?, data.len())
                }
                LaunchArray::Write { data, .. } => {
                    let bytes = data.len();
                    let what = format_args!("an array that kernel `{name}` writes{at}");
                    let (array, buffer) = engine.own(&mut queue, data, &what)?;
                    moved.extend(buffer.map(|buffer| (place, buffer)));
                    Slot::Here(array, bytes)
                }
            });
        }
        for constant in self.constants()? {
            let data = ArrayData::Buffer(constant);
            slots.push(Slot::Here(engine.upload(Ty::U8, data, &"a constant")?, constant.len()));
        }
        if let Some(faults) = &mut faults {
            let (array, buffer) = engine.own(&mut queue, faults, &"the faults of a launch")?;
            told = buffer;
            slots.push(Slot::Here(array, 4 * report::WORDS));
        }
        if slots.len() != variant.plan.buffers.len() {
            return Err(variant.broken("its code has other memories".to_string()).into());
        }
        let args = fitted.scalars.iter().map(|scalar| Bound::Scalar(*scalar)).collect();
        let mut call = Call::new(engine, &prepared.1, sizes, args, slots, queue);
        call.traffic = traffic;
        // SAFETY: each array has the bytes of its shape (`Outline::fit`), and what is written is the launch's alone (`Engine::own`).
        // Accesses are inside: they are proven, looked at by the code, or the caller's promise.
        unsafe { call.walk() }?;
        drop(call);
        for (place, buffer) in moved {
            if let LaunchArray::Write { data, .. } = &mut fitted.arrays[place] {
                **data = buffer;
            }
        }
        let fault = match told.or(faults) {
            Some(told) => self.fault(&told, kernel, &fitted.sizes, form)?,
            None => None,
        };
        fault.map_or(Ok(()), |fault| Err(Error::Fault(Box::new(fault)).into()))
    }

    /// The fault that the code has told, if any.
    fn fault(
        &self,
        told: &Buffer,
        kernel: &Kernel,
        sizes: &[u64],
        form: KernelVersion,
    ) -> Result<Option<Fault>, Error> {
        let bytes = told.bytes()?;
        let word = |k: usize| i32::from_ne_bytes([0, 1, 2, 3].map(|byte| bytes[4 * k + byte]));
        let fault = report::fault(&std::array::from_fn(word), kernel, sizes);
        let Destination::Threads { block, folded: true, .. } = form.destination else { return Ok(fault) };
        Ok(fault.map(|fault| {
            let [x, y, _] = fault.thread;
            let row = sizes[0] * u64::from(block[0]);
            Fault { thread: [y * row + x, 0, 0], ..fault }
        }))
    }
}

impl<E: Engine> Launcher for KernelLauncher<E> {
    fn launch(&self, launch: Launch<'_>) -> Result<(), Error> {
        self.start(launch, false)
    }

    unsafe fn launch_unchecked(&self, launch: Launch<'_>) -> Result<(), Error> {
        self.start(launch, true)
    }

    fn source(&self) -> Result<String, Error> {
        self.engine.source(&*self.usual()?)
    }

    fn kernels(&self) -> Result<Vec<Kernel>, Error> {
        Ok(self.usual()?.plan.kernels.clone())
    }

    fn device(&self) -> &str {
        E::NAME
    }
}
