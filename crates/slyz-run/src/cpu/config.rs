//! What the user can set about the CPU device, read from the environment in one place.

use crate::pool::mebibytes;
use std::ffi::OsString;
use std::path::PathBuf;

/// The default bound of the disk cache.
const CACHE_BYTES: u64 = 512 << 20;

/// Settings of a CPU device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuConfig {
    /// The C compiler and its first arguments.
    pub cc: Vec<String>,
    /// Where shared objects are kept; `None` for nowhere.
    pub cache_dir: Option<PathBuf>,
    /// How many bytes of them.
    pub cache_bytes: u64,
}

impl CpuConfig {
    /// The settings of the environment.
    ///
    /// | variable | meaning | without it |
    /// |---|---|---|
    /// | `SLYZ_CC`, `CC` | the C compiler, with arguments | `cc` |
    /// | `SLYZ_CACHE_DIR` | folder of the disk cache; `off` for none | `slyz` in `XDG_CACHE_HOME` or in `~/.cache` |
    /// | `SLYZ_CACHE_MB` | bound of the disk cache in MiB | 512 |
    pub fn from_env() -> CpuConfig {
        CpuConfig::from_vars(&|name| std::env::var_os(name))
    }

    /// The same, with another environment. Empty variables count as unset.
    pub fn from_vars(vars: &dyn Fn(&str) -> Option<OsString>) -> CpuConfig {
        let var = |name: &str| vars(name).filter(|value| !value.is_empty());
        let words = |name: &str| -> Option<Vec<String>> {
            let text = var(name)?.into_string().ok()?;
            Some(text.split_whitespace().map(String::from).collect()).filter(|words: &Vec<_>| !words.is_empty())
        };
        // The XDG rules: a relative path there is not valid.
        let folder = |name: &str| var(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let cache_dir = match var("SLYZ_CACHE_DIR") {
            Some(value) if value == "off" => None,
            Some(value) => Some(PathBuf::from(value)),
            None => folder("XDG_CACHE_HOME")
                .or_else(|| folder("HOME").map(|home| home.join(".cache")))
                .map(|caches| caches.join("slyz")),
        };
        let megabytes = var("SLYZ_CACHE_MB").and_then(|value| value.into_string().ok());
        CpuConfig {
            cc: words("SLYZ_CC").or_else(|| words("CC")).unwrap_or_else(|| vec!["cc".to_string()]),
            cache_dir,
            cache_bytes: mebibytes("SLYZ_CACHE_MB", megabytes, CACHE_BYTES),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(vars: &[(&str, &str)]) -> CpuConfig {
        CpuConfig::from_vars(&|name| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn compilers() {
        assert_eq!(config(&[]).cc, ["cc"]);
        assert_eq!(config(&[("CC", "clang")]).cc, ["clang"]);
        assert_eq!(config(&[("CC", "clang"), ("SLYZ_CC", " ccache  gcc -pipe ")]).cc, ["ccache", "gcc", "-pipe"]);
        assert_eq!(config(&[("CC", "clang"), ("SLYZ_CC", " ")]).cc, ["clang"]);
    }

    #[test]
    fn folders() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(config(&[]).cache_dir, None);
        assert_eq!(config(&[("HOME", "/h")]).cache_dir, path("/h/.cache/slyz"));
        assert_eq!(config(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")]).cache_dir, path("/x/slyz"));
        assert_eq!(config(&[("HOME", "/h"), ("XDG_CACHE_HOME", "x")]).cache_dir, path("/h/.cache/slyz"));
        assert_eq!(config(&[("HOME", "/h"), ("SLYZ_CACHE_DIR", "/s")]).cache_dir, path("/s"));
        assert_eq!(config(&[("HOME", "/h"), ("SLYZ_CACHE_DIR", "off")]).cache_dir, None);
    }

    #[test]
    fn bounds() {
        assert_eq!(config(&[]).cache_bytes, 512 << 20);
        assert_eq!(config(&[("SLYZ_CACHE_MB", "2")]).cache_bytes, 2 << 20);
    }
}
