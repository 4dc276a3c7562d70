//! What the user can set about the CPU device, read from the environment in one place.

use crate::{CacheConfig, warn};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How long a compiler may take when nobody says: far longer than any file of ours does on a busy machine.
const CC_SECONDS: f64 = 300.0;

/// Settings of a CPU device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuConfig {
    /// The C compiler and its first arguments.
    pub cc: Vec<String>,
    /// How long it may take over one file.
    pub cc_limit: Duration,
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
    /// | `SLYZ_CC_SECONDS` | how long it may take over one file | 300 |
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
        let limit = var("SLYZ_CC_SECONDS").and_then(|value| value.into_string().ok());
        CpuConfig {
            cc_limit: seconds("SLYZ_CC_SECONDS", limit.as_deref(), CC_SECONDS),
            cc: words("SLYZ_CC").or_else(|| words("CC")).unwrap_or_else(|| vec!["cc".to_string()]),
            cache_dir,
            cache_bytes,
        }
    }
}

/// A number of seconds from the environment. A value that is none is told and not used.
fn seconds(variable: &str, value: Option<&str>, default: f64) -> Duration {
    let read = |text: &str| {
        let number = text.trim().parse::<f64>().ok().filter(|&number| number > 0.0);
        let duration = number.and_then(|number| Duration::try_from_secs_f64(number).ok());
        duration.or_else(|| {
            let message =
                format!("{variable}=\"{text}\" is not a number of seconds and is not used; write a number above 0");
            warn::warn_once(variable, &message);
            None
        })
    };
    value.and_then(read).unwrap_or(Duration::from_secs_f64(default))
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
    fn limits() {
        let limit = |text: &str| config(&[("SLYZ_CC_SECONDS", text)]).cc_limit;
        assert_eq!(config(&[]).cc_limit, Duration::from_secs(300));
        assert_eq!([limit("1"), limit(" 0.5 ")], [Duration::from_secs(1), Duration::from_millis(500)]);
        assert_eq!([limit("0"), limit("soon"), limit("1e30")], [Duration::from_secs(300); 3]);
    }
}
