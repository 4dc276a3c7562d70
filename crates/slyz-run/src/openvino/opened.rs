//! OpenVINO at work: its core, and the device that models are compiled for.

use super::network::Network;
use crate::Error;
use openvino::{Core, DeviceType, ElementType, InferenceError, PropertyKey, RwPropertyKey, SetupError, Shape, Tensor};
use slyz_sir::back::openvino::Model;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most of a message that is repeated.
const MOST_WORDS: usize = 400;

/// A core and one of its devices.
pub(super) struct Opened {
    core: Mutex<Core>,
    /// `CPU`, `GPU.0`, `NPU`.
    pub(super) device: String,
    pub(super) version: String,
}

impl Opened {
    /// The library is loaded.
    pub(super) fn new(wish: &str) -> Result<Opened, Error> {
        let core = Core::new().map_err(|error| {
            let why = match error {
                SetupError::Inference(error) => words(&error),
                SetupError::Loading(error) => error.to_string(),
            };
            Error::NoOpenVino { what: "it does not start".to_string(), why }
        })?;
        let version = openvino::version().build_number;
        // What comes behind is the commit that it was built from.
        let version = version.split('-').next().unwrap_or_default().to_string();
        let opened = Opened { core: Mutex::new(core), device: String::new(), version };
        let device = opened.chosen(wish)?;
        opened.keep_floats(&device)?;
        Ok(Opened { device, ..opened })
    }

    /// Has floats computed as such; else a device may choose halves.
    fn keep_floats(&self, device: &str) -> Result<(), Error> {
        // The crate calls a function of C with any number of arguments as if they were all named, which Apple's processors tell apart.
        if cfg!(all(target_vendor = "apple", target_arch = "aarch64")) {
            return Ok(());
        }
        let key = RwPropertyKey::HintInferencePrecision;
        match self.core().set_property(&DeviceType::from(device), &key, "f32") {
            Err(error) if device == "CPU" => Err(Error::NoOpenVino { what: "no f32".to_string(), why: words(&error) }),
            // A neural processor has nothing but halves.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The devices and what their vendors call them.
    pub(super) fn devices(&self) -> Result<Vec<(String, String)>, Error> {
        let core = self.core();
        let found = core.available_devices();
        let found = found.map_err(|error| Error::NoOpenVino { what: "no devices".to_string(), why: words(&error) })?;
        let named = |device: &DeviceType| {
            let name = core.get_property(device, &PropertyKey::DeviceFullName).unwrap_or_default();
            (device.to_string(), name.trim().to_string())
        };
        Ok(found.iter().map(named).collect())
    }

    /// The device with that in one of its names.
    fn chosen(&self, wish: &str) -> Result<String, Error> {
        let all = self.devices()?;
        let wish = if wish.is_empty() { "cpu".to_string() } else { wish.to_lowercase() };
        let by = |fits: &dyn Fn(&str, &str) -> bool| all.iter().find(|(device, name)| fits(device, name));
        let found = by(&|device, _| device.to_lowercase().contains(&wish))
            .or_else(|| by(&|_, name| name.to_lowercase().contains(&wish)));
        found.map(|(device, _)| device.clone()).ok_or_else(|| {
            let names: Vec<String> = all.iter().map(|(device, name)| format!("{device} ({name})")).collect();
            let what = format!("no device is called \"{wish}\"");
            let why = format!("there are {}; unset SLYZ_ADAPTER, or name one of them", names.join(", "));
            Error::NoOpenVino { what, why }
        })
    }

    /// A model made ready to run.
    pub(super) fn compile(&self, name: &str, model: &Model) -> Result<Network, Error> {
        let failed = |error: InferenceError| refused(&format!("the model of \"{name}\""), &error);
        let weights = constants(&model.bin).map_err(failed)?;
        let mut core = self.core();
        let read = core.read_model_from_buffer(model.xml.as_bytes(), weights.as_ref()).map_err(failed)?;
        let compiled = core.compile_model(&read, DeviceType::from(&*self.device)).map_err(failed)?;
        Ok(Network::new(compiled))
    }
}

fn constants(bytes: &[u8]) -> Result<Option<Tensor>, InferenceError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut tensor = Tensor::new(ElementType::U8, &Shape::new(&[bytes.len() as i64])?)?;
    tensor.get_raw_data_mut()?.copy_from_slice(bytes);
    Ok(Some(tensor))
}

/// An error of OpenVINO's.
pub(super) fn refused(what: &str, error: &InferenceError) -> Error {
    Error::OpenVino { what: what.to_string(), why: words(error) }
}

/// What it says, without the places in its sources.
fn words(error: &InferenceError) -> String {
    let message = error.message.clone().unwrap_or_default();
    let lines = message.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("Exception from"));
    let told: String = lines.collect::<Vec<&str>>().join(" ").chars().take(MOST_WORDS).collect();
    if told.is_empty() { error.kind.to_string() } else { told }
}
