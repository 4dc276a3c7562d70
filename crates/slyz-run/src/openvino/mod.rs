//! The OpenVINO device: CPUs, GPUs and neural processors, by OpenVINO's own compiler of graphs.
//!
//! ```text
//! program ── slyz_sir::back::graph ──> graph ── back::openvino ──> model ── OpenVINO ──> requests ──> results
//! ```
//!
//! The library is loaded when the device is first used; a machine without it gives a typed error then, and runs everything else. A
//! program is one model whose extents the arguments tell, or, where the model has to know them, a model for the sizes of each call.
//! Arguments and results are on the host.
//!
//! It runs array programs whose operations have a counterpart there, and no kernels by hand; floats have OpenVINO's own mathematics.

mod compiled;
mod library;
mod network;
mod opened;
mod wide;

use crate::device::Seal;
use crate::{Device, Error, Executable, Launcher, precision};
use compiled::Compiled;
use opened::Opened;
use slyz_sir::back::graph::GraphError;
use slyz_sir::back::openvino::FORMAT;
use slyz_sir::choices::Precision;
use slyz_sir::launch::Template;
use slyz_sir::pass::confine;
use slyz_sir::program::Program;
use slyz_sir::verify;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The OpenVINO device.
pub struct OpenVino {
    wish: String,
    folder: Option<PathBuf>,
    /// Filled when it is first used. Failures are not kept.
    opened: Mutex<Option<Arc<Opened>>>,
}

impl OpenVino {
    /// The device's name.
    pub const NAME: &'static str = "openvino";

    /// A device on what has that in its name (`CPU`, `GPU.1`, `NPU`, or what the vendor calls it); on the CPU if nothing is wished.
    pub fn new(wish: Option<&str>) -> OpenVino {
        OpenVino { wish: wish.unwrap_or_default().to_string(), folder: None, opened: Mutex::default() }
    }

    /// The same with the library from a folder, which holds it or is a Python environment with the package `openvino`. Without it
    /// the environment variable `SLYZ_OPENVINO` says where, or else the environment of Python that is active, the paths of the
    /// system, and where OpenVINO installs itself. A process loads it once.
    pub fn with_library(self, folder: impl Into<PathBuf>) -> OpenVino {
        OpenVino { folder: Some(folder.into()), ..self }
    }

    /// The version of OpenVINO, and its devices with what their vendors call them.
    pub fn found(&self) -> Result<(String, Vec<(String, String)>), Error> {
        let opened = self.opened()?;
        Ok((opened.version.clone(), opened.devices()?))
    }

    fn opened(&self) -> Result<Arc<Opened>, Error> {
        let mut slot = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = &*slot {
            return Ok(opened.clone());
        }
        library::load(self.folder.as_deref())?;
        Ok(slot.insert(Arc::new(Opened::new(&self.wish)?)).clone())
    }
}

impl Device for OpenVino {
    fn name(&self) -> &str {
        OpenVino::NAME
    }

    fn describe(&self) -> String {
        match self.opened() {
            Ok(opened) => format!("openvino: OpenVINO {} on {}", opened.version, opened.device),
            Err(error) => format!("openvino: not usable here: {error}"),
        }
    }

    fn compile(&self, program: &Program) -> Result<Arc<dyn Executable>, Error> {
        verify::program(program)?;
        // SAFETY: what is left without a test is inside.
        unsafe { self.compile_trusted(&confine::program(program.clone())) }
    }

    unsafe fn compile_trusted(&self, program: &Program) -> Result<Arc<dyn Executable>, Error> {
        verify::program(program)?;
        let precision = program.precision.map_or_else(precision::from_environment, Ok)?;
        if precision == Precision::Exact {
            return Err(Error::OpenVino {
                what: format!("\"{}\" in every bit", program.name),
                why: "its floats have its own mathematics; ask for the precision `table` or `native`".to_string(),
            });
        }
        Ok(Arc::new(Compiled::new(self.opened()?, program, precision)?))
    }

    fn prepare(&self, kernel: &Arc<Template>) -> Result<Arc<dyn Launcher>, Error> {
        let kernel = kernel.kernel.name.clone();
        let why = "a model has no threads".to_string();
        Err(Error::Model(GraphError::Kernel { kernel, format: FORMAT.name, why }.into()))
    }

    fn is_own(&self, _: Seal) -> bool {
        true
    }
}
