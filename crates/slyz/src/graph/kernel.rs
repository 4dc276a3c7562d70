//! A kernel in a `static`, and what devices make of kernels.

use crate::error::Error;
use slyz_run::{Device, Launcher};
use slyz_sir::launch::Template;
use slyz_sir::text::parse_kernel;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// Devices for which a kernel is kept ready.
const KEPT: usize = 16;

/// A kernel that `#[graph]` embeds in the program: its text, read at the first launch, and what devices made of it.
pub struct EmbeddedKernel {
    name: &'static str,
    text: &'static str,
    constants: &'static [&'static [u64]],
    template: OnceLock<Arc<Template>>,
    prepared: Prepared,
}

/// What a launch asks of a kernel, wherever that comes from.
pub trait Launched {
    /// Its name.
    fn name(&self) -> &str;

    /// The kernel, made ready for a device once.
    fn ready_on(&self, device: &Arc<dyn Device>) -> Result<Arc<dyn Launcher>, Error>;

    /// Has it made ready anew at the next launch: a GPU that was lost may be back then.
    fn forget(&self);

    /// Why so many arguments are not enough. rustc counts those of functions.
    fn missing(&self, _given: usize) -> Option<Error> {
        None
    }
}

/// What devices made of a kernel, the latest last.
pub(super) struct Prepared(Mutex<Vec<Ready>>);

/// A device, and what it made of the kernel.
type Ready = (Weak<dyn Device>, Arc<dyn Launcher>);

impl EmbeddedKernel {
    /// A kernel with that name, from its SIR text and the bits of the elements of its constant memories. It is not looked at before
    /// the first launch.
    ///
    /// For `#[graph]`, which writes a `check` before every access that is not known to be inside. In other text an access that has none
    /// gets one.
    pub const fn new(name: &'static str, text: &'static str, constants: &'static [&'static [u64]]) -> EmbeddedKernel {
        EmbeddedKernel { name, text, constants, template: OnceLock::new(), prepared: Prepared::new() }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The kernel in SIR, as it was checked when the program was built.
    pub fn sir(&self) -> &'static str {
        self.text
    }

    /// The kernel, without its launch.
    pub fn template(&self) -> Result<&Arc<Template>, Error> {
        if let Some(template) = self.template.get() {
            return Ok(template);
        }
        let kernel = parse_kernel(self.text)
            .map_err(|error| Error::Kernel { name: self.name.to_string(), why: error.to_string() })?;
        let constants = self.constants.iter().map(|words| words.to_vec()).collect();
        Ok(self.template.get_or_init(|| Arc::new(Template { kernel, constants })))
    }

    /// Whether it runs as the array program that it is, "raised: a product of matrices M×K by K×N", or why its threads run as they are written.
    /// It is about launches that fit: one whose numbers do not is run as written.
    pub fn explain(&self) -> Result<String, Error> {
        Ok(slyz_sir::raise::explain(self.template()?))
    }

    /// What is generated for a device, for launches with any number of threads that run as written.
    pub fn source_on(&self, device: &Arc<dyn Device>) -> Result<String, Error> {
        Ok(self.ready_on(device)?.source()?)
    }
}

impl Launched for EmbeddedKernel {
    fn name(&self) -> &str {
        self.name
    }

    fn ready_on(&self, device: &Arc<dyn Device>) -> Result<Arc<dyn Launcher>, Error> {
        self.prepared.on(device, || self.template())
    }

    fn forget(&self) {
        self.prepared.forget();
    }
}

impl Prepared {
    pub(super) const fn new() -> Prepared {
        Prepared(Mutex::new(vec![]))
    }

    /// What the device made of the kernel, or makes of it now.
    pub(super) fn on<'t>(
        &self,
        device: &Arc<dyn Device>,
        template: impl FnOnce() -> Result<&'t Arc<Template>, Error>,
    ) -> Result<Arc<dyn Launcher>, Error> {
        let same = |other: &Weak<dyn Device>| std::ptr::addr_eq(other.as_ptr(), Arc::as_ptr(device));
        if let Some((_, launcher)) = self.kept().iter().find(|(other, _)| same(other)) {
            return Ok(launcher.clone());
        }
        // Devices build a kernel once, however many threads ask.
        let launcher = device.prepare(template()?)?;
        let mut kept = self.kept();
        kept.retain(|(other, _)| !same(other) && other.strong_count() > 0);
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((Arc::downgrade(device), launcher.clone()));
        Ok(launcher)
    }

    pub(super) fn forget(&self) {
        self.kept().clear();
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Vec<Ready>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for EmbeddedKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "Kernel {}", self.name)
    }
}
