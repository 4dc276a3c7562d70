//! What the user can set about the CPU device, read from the environment in one place.

use crate::CacheConfig;
use std::ffi::OsString;
use std::path::PathBuf;

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
    ///
    /// The rest is [`CacheConfig::from_env`]'s.
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
        let CacheConfig { folder: cache_dir, bytes: cache_bytes } = CacheConfig::from_vars(vars);
        CpuConfig {
            cc: words("SLYZ_CC").or_else(|| words("CC")).unwrap_or_else(|| vec!["cc".to_string()]),
            cache_dir,
            cache_bytes,
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
}
