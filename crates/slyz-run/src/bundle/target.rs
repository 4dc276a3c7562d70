//! What code is compiled for.

use std::fmt;
use std::str::FromStr;

/// What code of a bundle is compiled for.
///
/// ```
/// use slyz_run::bundle::Target;
/// assert_eq!("x86-64-v3".parse(), Ok(Target::X86_64(3)));
/// assert_eq!(Target::Cubin(90).to_string(), "sm_90");
/// assert_eq!("spirv".parse(), Ok(Target::SpirV));
/// assert!("z80".parse::<Target>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Target {
    /// What every processor of the architecture has that the program is built for.
    Baseline,
    /// A level of x86-64, from 2 to 4: `x86-64-v3` has AVX2, `x86-64-v4` AVX-512.
    X86_64(u8),
    /// Code for GPUs of NVIDIA of an architecture, such as `sm_90`.
    Cubin(u32),
    /// PTX, which drivers compile for GPUs of an architecture and all later ones, such as `compute_80`.
    Ptx(u32),
    /// SPIR-V, for GPUs behind Vulkan.
    SpirV,
    /// WGSL, which wgpu writes in the language of other GPUs' drivers.
    Wgsl,
}

/// A text that names no target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no target \"{0}\" for code of bundles; there are: baseline, x86-64-v2, x86-64-v3, x86-64-v4, spirv, wgsl, sm_80 and compute_80 with the number of an architecture of NVIDIA"
)]
pub struct NoTarget(String);

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Target::Baseline => write!(f, "baseline"),
            Target::X86_64(level) => write!(f, "x86-64-v{level}"),
            Target::Cubin(architecture) => write!(f, "sm_{architecture}"),
            Target::Ptx(architecture) => write!(f, "compute_{architecture}"),
            Target::SpirV => write!(f, "spirv"),
            Target::Wgsl => write!(f, "wgsl"),
        }
    }
}

impl FromStr for Target {
    type Err = NoTarget;

    fn from_str(text: &str) -> Result<Target, NoTarget> {
        let none = || NoTarget(text.to_string());
        for target in [Target::Baseline, Target::SpirV, Target::Wgsl] {
            if text == target.to_string() {
                return Ok(target);
            }
        }
        let number = |prefix: &str| text.strip_prefix(prefix).map(|digits| digits.parse::<u32>().map_err(|_| none()));
        if let Some(level) = number("x86-64-v") {
            return level
                .ok()
                .filter(|level| (2..=4).contains(level))
                .map(|level| Target::X86_64(level as u8))
                .ok_or_else(none);
        }
        match (number("sm_"), number("compute_")) {
            (Some(architecture), _) => Ok(Target::Cubin(architecture?)),
            (_, Some(architecture)) => Ok(Target::Ptx(architecture?)),
            (None, None) => Err(none()),
        }
    }
}

impl Target {
    /// What is compiled for an architecture of processors, as `CARGO_CFG_TARGET_ARCH` names it, when nobody says.
    pub fn usual(architecture: &str) -> Vec<Target> {
        match architecture {
            "x86_64" => [2, 3, 4].map(Target::X86_64).to_vec(),
            _ => vec![Target::Baseline],
        }
    }

    /// What this processor runs, best first.
    pub(crate) fn of_this_processor() -> Vec<Target> {
        let mut targets = vec![];
        for level in [4, 3, 2] {
            if has_level(level) {
                targets.push(Target::X86_64(level));
            }
        }
        targets.push(Target::Baseline);
        targets
    }

    pub(crate) fn is_cpu(&self) -> bool {
        matches!(self, Target::Baseline | Target::X86_64(_))
    }

    pub(crate) fn is_usable(&self) -> bool {
        Target::of_this_processor().contains(self)
    }
}

#[cfg(target_arch = "x86_64")]
fn has_level(level: u8) -> bool {
    macro_rules! has {
        ($($feature:tt)*) => { $(is_x86_feature_detected!($feature))&&* };
    }
    match level {
        2 => has!("sse3" "ssse3" "sse4.1" "sse4.2" "popcnt" "cmpxchg16b"),
        3 => has_level(2) && has!("avx" "avx2" "bmi1" "bmi2" "f16c" "fma" "lzcnt" "movbe"),
        4 => has_level(3) && has!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl"),
        _ => false,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn has_level(_: u8) -> bool {
    false
}
