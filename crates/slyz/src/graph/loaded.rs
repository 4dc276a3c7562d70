//! Kernels of a `.vex` file that is read while the program runs.
//!
//! What rustc knows of a `#[graph]` function is known here only now: arguments are held against the parameters as they come, and
//! the first that does not fit is told by [`Launch::run`](super::Launch::run).

use super::given::{Given, Passed};
use super::kernel::{Launched, Prepared};
use super::launch::{Argument, Launch};
use crate::error::{Error, VexError};
use slyz_lang::diagnostic::{Diagnostic, Severity};
use slyz_lang::kernels::{Kernel, read};
use slyz_lang::render::render;
use slyz_lang::typed::ParamKind;
use slyz_run::{Device, Launcher};
use slyz_sir::launch::Template;
use std::path::Path;
use std::sync::Arc;

/// The kernels of a file.
///
/// ```
/// use slyz::graph::Kernels;
///
/// let kernels = Kernels::parse("
///     graph fn axpy(a: f32, x: Tensor<f32>, y: Tensor<f32>!) {
///         let i = thread.x
///         if i < y.len() { y[i] += a * x[i] }
///     }
/// ")?;
/// let x = vec![1.0f32, 2.0, 3.0];
/// let mut y = vec![10.0f32; 3];
/// kernels.get("axpy")?.launch().arg(2.0f32).arg(&x).arg(&mut y).threads(3).run()?;
/// assert_eq!(y, [12.0, 14.0, 16.0]);
///
/// let error = kernels.get("saxpy").unwrap_err();
/// assert_eq!(error.to_string(), "there is no kernel `saxpy`; there is `axpy(a: f32, x: Tensor<f32>, y: Tensor<f32>!)`");
/// # Ok::<(), slyz::Error>(())
/// ```
#[derive(Debug)]
pub struct Kernels {
    list: Vec<LoadedKernel>,
    warnings: String,
}

/// A kernel that was read while the program runs.
pub struct LoadedKernel {
    kernel: Kernel,
    prepared: Prepared,
}

impl Kernels {
    /// Reads the kernels of a file. Its host part, which `slyz run` would run, is left alone.
    pub fn load(file: impl AsRef<Path>) -> Result<Kernels, Error> {
        let file = file.as_ref();
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file)
            .map_err(|error| VexError::Unreadable { file: name.clone(), why: error.to_string() })?;
        Kernels::named(&name, &text)
    }

    /// The kernels of a text.
    pub fn parse(text: &str) -> Result<Kernels, Error> {
        Kernels::named("text.vex", text)
    }

    fn named(name: &str, text: &str) -> Result<Kernels, Error> {
        let source = read(text).map_err(|error| VexError::Wrong(format!("{name}: {error}")))?;
        let drawn = |severity: Severity| {
            let some: Vec<Diagnostic> = source.diagnostics.iter().filter(|d| d.severity == severity).cloned().collect();
            render(name, text, &some).trim_end().to_string()
        };
        let errors = drawn(Severity::Error);
        if !errors.is_empty() {
            return Err(VexError::Wrong(errors).into());
        }
        let warnings = drawn(Severity::Warning);
        let list =
            source.kernels.into_iter().map(|kernel| LoadedKernel { kernel, prepared: Prepared::new() }).collect();
        Ok(Kernels { list, warnings })
    }

    /// The kernel of that name.
    pub fn get(&self, name: &str) -> Result<&LoadedKernel, Error> {
        let found = self.list.iter().find(|kernel| kernel.name() == name);
        let unknown = || {
            let known = self.list.iter().map(LoadedKernel::signature).collect();
            VexError::Unknown { name: name.to_string(), known }.into()
        };
        found.ok_or_else(unknown)
    }

    /// All kernels, in the order of the file, helpers before those that call them.
    pub fn iter(&self) -> impl Iterator<Item = &LoadedKernel> {
        self.list.iter()
    }

    /// What the checker warns of, drawn; empty where it does not.
    pub fn warnings(&self) -> &str {
        &self.warnings
    }
}

impl LoadedKernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.kernel.name
    }

    /// Its name and parameters, as in the file.
    pub fn signature(&self) -> String {
        let param = |param: &slyz_lang::typed::Param| format!("{}: {}", param.name, spelled(&param.kind));
        let params: Vec<String> = self.kernel.params.iter().map(param).collect();
        format!("{}({})", self.kernel.name, params.join(", "))
    }

    /// The kernel, without its launch.
    pub fn template(&self) -> &Arc<Template> {
        &self.kernel.template
    }

    /// Whether it runs as the array program that it is, "raised: a product of matrices M×K by K×N", or why its threads run as they are written.
    ///
    /// ```
    /// use slyz::graph::Kernels;
    /// let kernels = Kernels::parse("
    ///     graph fn twice(x: Tensor<f32>!) { if thread.x < x.len() { x[thread.x] *= 2.0 } }
    ///     graph fn shift(x: Tensor<f32>!) { if thread.x + 1 < x.len() { x[thread.x] = x[thread.x + 1] } }
    /// ")?;
    /// assert_eq!(kernels.get("twice")?.explain(), "raised: a map over [x_len]");
    /// let why = "as written: it reads `x`, which it writes, at another position than its own";
    /// assert_eq!(kernels.get("shift")?.explain(), why);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn explain(&self) -> String {
        slyz_sir::raise::explain(self.template())
    }

    /// What is generated for a device, for launches with any number of threads that run as written.
    pub fn source_on(&self, device: &Arc<dyn Device>) -> Result<String, Error> {
        Ok(self.ready_on(device)?.source()?)
    }

    /// A launch without arguments. One for each parameter follows, in order.
    pub fn launch(&self) -> Launch<'_, LoadedKernel> {
        Launch::of(self)
    }

    /// Why an argument does not fit the parameter at its place; the place past the last takes anything, and is counted later.
    fn misfit(&self, place: usize, given: &Passed) -> Option<VexError> {
        let param = self.kernel.params.get(place)?;
        let name = &param.name;
        let why = match (&param.kind, given) {
            (ParamKind::Scalar(_, ty), Passed::Scalar(value)) if value.ty == *ty => return None,
            (ParamKind::Scalar(_, ty), Passed::Scalar(value)) => {
                format!("`{name}` is {ty}, and this is {}; pass a value of {ty}", value.ty)
            }
            (ParamKind::Scalar(_, ty), Passed::Read(_) | Passed::Write(_)) => {
                format!("`{name}` is one {ty}, and this is a tensor; pass the value itself")
            }
            (ParamKind::Tensor { .. }, Passed::Scalar(value)) => {
                format!("`{name}` is a tensor, and this is one {}; pass a tensor, vector or slice", value.ty)
            }
            (ParamKind::Tensor { mutable: true, .. }, Passed::Read(_)) => {
                format!("`{name}` is written; pass it with `&mut`")
            }
            (ParamKind::Tensor { mutable: false, .. }, Passed::Write(_)) => {
                format!("`{name}` is only read; pass it with `&`")
            }
            (ParamKind::Tensor { elem, rank, flat, .. }, Passed::Read(_) | Passed::Write(_)) => {
                let (ty, axes) = given.elements()?;
                if ty != *elem {
                    format!("the elements of `{name}` are {elem}, and these are {ty}; pass elements of {elem}")
                } else if !flat && axes != *rank {
                    let cure = format!("pass a `Tensor` of {}, or `(&data, [..])`", plural(*rank));
                    format!("`{name}` has {}, and this has {axes}; {cure}", plural(*rank))
                } else {
                    return None;
                }
            }
        };
        Some(VexError::Argument { signature: self.signature(), argument: place + 1, why })
    }
}

impl std::fmt::Debug for LoadedKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "Kernel {}", self.signature())
    }
}

fn plural(axes: usize) -> String {
    if axes == 1 { "one axis".to_string() } else { format!("{axes} axes") }
}

/// A type as the file spells it.
fn spelled(kind: &ParamKind) -> String {
    match kind {
        ParamKind::Scalar(_, ty) => ty.to_string(),
        ParamKind::Tensor { elem, rank, flat, mutable } => {
            let axes = if *flat { String::new() } else { format!(", {rank}") };
            format!("Tensor<{elem}{axes}>{}", if *mutable { "!" } else { "" })
        }
    }
}

impl Launched for LoadedKernel {
    fn name(&self) -> &str {
        &self.kernel.name
    }

    fn ready_on(&self, device: &Arc<dyn Device>) -> Result<Arc<dyn Launcher>, Error> {
        self.prepared.on(device, || Ok(&self.kernel.template))
    }

    fn forget(&self) {
        self.prepared.forget();
    }

    fn missing(&self, found: usize) -> Option<Error> {
        let wanted = self.kernel.params.len();
        let signature = self.signature();
        (wanted != found).then(|| VexError::Count { signature, wanted, found }.into())
    }
}

impl<'a> Launch<'a, LoadedKernel> {
    /// Passes an argument for the next parameter: a number by value, a tensor, vector or slice with `&`, or with `&mut` where it is
    /// written.
    pub fn arg(self, argument: impl Given<'a>) -> Self {
        let given = argument.given();
        match self.kernel().misfit(self.given(), &given) {
            Some(misfit) => self.refuse(misfit.into()),
            None => match given {
                Passed::Scalar(value) => self.push_scalar(value),
                Passed::Read(reading) => self.push(Argument::Read(reading)),
                Passed::Write(writing) => self.push(Argument::Write(writing)),
            },
        }
    }
}
