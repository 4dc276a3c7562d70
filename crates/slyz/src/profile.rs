//! Where the time of a call goes.

use slyz_run::{Clock, Executable, LaunchTime};
use std::fmt;

/// How long the kernels of some calls took, what they moved, and how near that is to a plain copy. `Display` gives a
/// table.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let f = compile(|x: Arr<f32, N>| (x * 2.0).sum())?;
/// let x = vec![1.0f32; 100_000];
/// let (sum, profile) = f.profile(|f| f.call(&x))?;
/// assert_eq!(sum.value()?, 200_000.0);
/// println!("{profile}");
/// for kernel in profile.kernels() {
///     println!("{} took {} s for {} bytes", kernel.name, kernel.seconds, kernel.bytes());
/// }
/// # Ok::<(), slyz::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Profile {
    device: String,
    seconds: f64,
    bandwidth: Option<f64>,
    kernels: Vec<KernelProfile>,
}

/// The launches of one kernel; see [`Profile`].
///
/// ```
/// # use slyz::prelude::*;
/// # axis!(N);
/// # let f = compile(|x: Arr<f32, N>| x * 2.0)?;
/// let (_, profile) = f.profile(|f| f.call(&[1.0f32; 1000]))?;
/// let slowest = profile.kernels().iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds));
/// # let _ = slowest;
/// # Ok::<(), slyz::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KernelProfile {
    /// Its name.
    pub name: String,
    /// How often it ran.
    pub launches: usize,
    /// How long all launches took together.
    pub seconds: f64,
    /// The seconds are the device's own. Otherwise they are the host's, with the start of the kernel in them.
    pub by_device: bool,
    /// Bytes that its launches read at least, each array once a launch.
    pub read: u64,
    /// Bytes that they write.
    pub written: u64,
    /// The bytes of a second, as a share of those that a copy in the device's memory moves; `None` where that could not be
    /// measured. Data that stays in caches can be faster than a copy.
    pub share: Option<f64>,
}

impl KernelProfile {
    /// Bytes that move at least.
    pub fn bytes(&self) -> u64 {
        self.read.saturating_add(self.written)
    }
}

impl Profile {
    pub(crate) fn new(code: &dyn Executable, seconds: f64, launches: Vec<LaunchTime>) -> Profile {
        let bandwidth = code.copy_bandwidth().ok();
        let mut kernels: Vec<KernelProfile> = vec![];
        for launch in launches {
            let place = kernels.iter().position(|kernel| kernel.name == launch.kernel).unwrap_or_else(|| {
                kernels.push(KernelProfile {
                    name: launch.kernel.clone(),
                    launches: 0,
                    seconds: 0.0,
                    by_device: true,
                    read: 0,
                    written: 0,
                    share: None,
                });
                kernels.len() - 1
            });
            let kernel = &mut kernels[place];
            kernel.launches += 1;
            kernel.seconds += launch.seconds;
            kernel.by_device &= launch.clock == Clock::Device;
            kernel.read = kernel.read.saturating_add(launch.read);
            kernel.written = kernel.written.saturating_add(launch.written);
        }
        for kernel in &mut kernels {
            kernel.share =
                bandwidth.filter(|_| kernel.seconds > 0.0).map(|b| kernel.bytes() as f64 / kernel.seconds / b);
        }
        Profile { device: code.device().to_string(), seconds, bandwidth, kernels }
    }

    /// The kernels, in the order of their first launch. The interpreter has none.
    pub fn kernels(&self) -> &[KernelProfile] {
        &self.kernels
    }

    /// Seconds from beginning to end as the host sees them. Measuring waits for each kernel, so a call takes longer than it
    /// does otherwise.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Bytes that a copy in the device's memory reads and writes in a second.
    pub fn copy_bandwidth(&self) -> Option<f64> {
        self.bandwidth
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "on {}, {} from beginning to end", self.device, time(self.seconds))?;
        match self.bandwidth {
            Some(bandwidth) => writeln!(f, "; a copy moves {:.1} GB/s", bandwidth * 1e-9)?,
            None => writeln!(f)?,
        }
        let wide = self.kernels.iter().map(|kernel| kernel.name.len()).max().unwrap_or(0).max("kernel".len());
        if !self.kernels.is_empty() {
            writeln!(f, "{:wide$}  launches       time       read    written       rate  of a copy", "kernel")?;
        }
        for kernel in &self.kernels {
            let rate = if kernel.seconds > 0.0 { kernel.bytes() as f64 / kernel.seconds * 1e-9 } else { 0.0 };
            let share = kernel.share.map_or(String::new(), |share| format!("{:.0} %", share * 100.0));
            writeln!(
                f,
                "{:wide$}  {:>8}  {:>9}  {:>9}  {:>9}  {rate:>6.1} GB/s  {share:>7}",
                kernel.name,
                kernel.launches,
                time(kernel.seconds),
                size(kernel.read),
                size(kernel.written),
            )?;
        }
        if self.kernels.iter().any(|kernel| !kernel.by_device) {
            writeln!(f, "times are the host's, with the start of each kernel in them")?;
        }
        Ok(())
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} us", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        b if b < 1 << 10 => format!("{b} B"),
        b if b < 1 << 20 => format!("{:.1} KiB", b as f64 / 1024.0),
        b if b < 1 << 30 => format!("{:.1} MiB", b as f64 / (1u64 << 20) as f64),
        b => format!("{:.1} GiB", b as f64 / (1u64 << 30) as f64),
    }
}
