//! Where OpenVINO's library is, and its loading.
//!
//! The crate `openvino` looks where OpenVINO installs itself. Python's package has the library too, under a name with its version; that is
//! looked for here.

use crate::Error;
use std::env;
use std::path::{Path, PathBuf};

/// Names the library, its folder, or a Python environment.
const VARIABLE: &str = "SLYZ_OPENVINO";

/// What is called. A library without it is another one, or too old, and the crate would panic.
const NEEDED: [&str; 4] = [
    "ov_get_openvino_version",
    "ov_core_read_model_from_memory_buffer",
    "ov_core_compile_model",
    "ov_infer_request_get_output_tensor_by_index",
];

/// Loads the library, if it is not loaded yet.
pub(super) fn load(folder: Option<&Path>) -> Result<(), Error> {
    let named = env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    let asked = folder.map(Path::to_path_buf).or(named);
    let found = match &asked {
        Some(place) => inside(place),
        None => anywhere(),
    };
    let Some(path) = found else {
        let what = match asked {
            Some(place) => format!("there is no libopenvino_c in {}", place.display()),
            None => "libopenvino_c is not found".to_string(),
        };
        let why = format!(
            "run `pip install openvino` in a Python environment, and activate it or set {VARIABLE} to its folder"
        );
        return Err(Error::NoOpenVino { what, why });
    };
    let broken = |why: String| {
        let what = format!("{} cannot be used", path.display());
        Error::NoOpenVino { what, why: format!("{why}; take OpenVINO 2025.1 or newer") }
    };
    is_complete(&path).map_err(broken)?;
    openvino_sys::library::load_from(&path).map_err(broken)
}

/// Has it what is called?
fn is_complete(path: &Path) -> Result<(), String> {
    // SAFETY: what somebody installed as OpenVINO is loaded as such; its beginning does nothing that matters here.
    let library = unsafe { libloading::Library::new(path) }.map_err(|error| error.to_string())?;
    for name in NEEDED {
        // SAFETY: nothing is called, so that the type does not matter.
        let symbol = unsafe { library.get::<*const ()>(name.as_bytes()) };
        symbol.map_err(|_| format!("it has no {name}"))?;
    }
    Ok(())
}

fn anywhere() -> Option<PathBuf> {
    let active = env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let paths = env::var_os("LD_LIBRARY_PATH").map(|paths| env::split_paths(&paths).collect::<Vec<PathBuf>>());
    let places = active.into_iter().chain(paths.unwrap_or_default());
    places.into_iter().find_map(|place| inside(&place)).or_else(openvino_sys::library::find)
}

/// The library in a place: itself, its folder, or a Python environment.
fn inside(place: &Path) -> Option<PathBuf> {
    if place.is_file() {
        return Some(place.to_path_buf());
    }
    let package = "site-packages/openvino/libs";
    let of_versions = entries(&place.join("lib")).into_iter().map(|python| python.join(package));
    let folders = [place.to_path_buf(), place.join("Lib").join(package)];
    folders.into_iter().chain(of_versions).find_map(|folder| library(&folder))
}

/// The newest in a folder: `libopenvino_c.so`, or the same with a version behind it.
fn library(folder: &Path) -> Option<PathBuf> {
    let stem = format!("{}openvino_c", env::consts::DLL_PREFIX);
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let behind = name.strip_prefix(&stem);
        path.is_file() && behind.is_some_and(|b| b.starts_with('.') && b.contains(env::consts::DLL_SUFFIX))
    };
    entries(folder).into_iter().filter(is_it).max()
}

/// What is in a folder; nothing where it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_found_by_name() -> Result<(), Box<dyn std::error::Error>> {
        let place = tempfile::tempdir()?;
        let libs = place.path().join("lib/python3.11/site-packages/openvino/libs");
        std::fs::create_dir_all(&libs)?;
        assert_eq!(inside(place.path()), None);
        let file = |name: &str| {
            let name = format!("{}{name}", env::consts::DLL_PREFIX);
            let path = libs.join(name);
            std::fs::write(&path, "").map(|()| path)
        };
        file(&format!("openvino_core{}", env::consts::DLL_SUFFIX))?;
        assert_eq!(inside(place.path()), None);
        let versioned = file(&format!("openvino_c{}.2541", env::consts::DLL_SUFFIX))?;
        assert_eq!(inside(place.path()), Some(versioned.clone()));
        assert_eq!(inside(&libs), Some(versioned.clone()));
        assert_eq!(inside(&versioned), Some(versioned));
        Ok(())
    }

    #[test]
    fn another_library_is_refused() -> Result<(), Box<dyn std::error::Error>> {
        let file = tempfile::NamedTempFile::new()?;
        let error = load(Some(file.path())).expect_err("a file without anything");
        assert!(matches!(error, Error::NoOpenVino { .. }), "{error}");
        let error = load(Some(Path::new("no such folder"))).expect_err("nothing");
        assert!(error.to_string().contains("pip install openvino"), "{error}");
        Ok(())
    }
}
