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
    /// Of each device that launched something.
    bandwidths: Vec<(String, Option<f64>)>,
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
    /// The name of the device that ran it.
    pub device: String,
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
    fn new(launch: &LaunchTime) -> KernelProfile {
        let name = launch.kernel.clone();
        let device = launch.device.clone();
        KernelProfile { name, device, launches: 0, seconds: 0.0, by_device: true, read: 0, written: 0, share: None }
    }

    fn add(&mut self, launch: &LaunchTime) {
        self.launches += 1;
        self.seconds += launch.seconds;
        self.by_device &= launch.clock == Clock::Device;
        self.read = self.read.saturating_add(launch.read);
        self.written = self.written.saturating_add(launch.written);
    }

    /// Bytes that move at least.
    pub fn bytes(&self) -> u64 {
        self.read.saturating_add(self.written)
    }
}

impl Profile {
    pub(crate) fn new(code: &dyn Executable, seconds: f64, launches: Vec<LaunchTime>) -> Profile {
        let mut kernels = Vec::<KernelProfile>::new();
        let mut bandwidths = Vec::<(String, Option<f64>)>::new();
        for launch in launches {
            if !bandwidths.iter().any(|(device, _)| *device == launch.device) {
                bandwidths.push((launch.device.clone(), code.copy_bandwidth(&launch.device).ok()));
            }
            let same = |kernel: &KernelProfile| kernel.name == launch.kernel && kernel.device == launch.device;
            let place = kernels.iter().position(same).unwrap_or_else(|| {
                kernels.push(KernelProfile::new(&launch));
                kernels.len() - 1
            });
            kernels[place].add(&launch);
        }
        for kernel in &mut kernels {
            let bandwidth = bandwidths.iter().find(|(device, _)| *device == kernel.device).and_then(|(_, b)| *b);
            let rate = bandwidth.filter(|_| kernel.seconds > 0.0).map(|b| kernel.bytes() as f64 / kernel.seconds / b);
            kernel.share = rate;
        }
        Profile { device: code.device().to_string(), seconds, bandwidths, kernels }
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

    /// Bytes that a copy in the memory of a device reads and writes in a second, for each device that ran a kernel.
    pub fn copy_bandwidths(&self) -> impl Iterator<Item = (&str, f64)> {
        self.bandwidths.iter().filter_map(|(device, bandwidth)| Some((&device[..], (*bandwidth)?)))
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "on {}, {} from beginning to end", self.device, time(self.seconds))?;
        for (device, bandwidth) in self.copy_bandwidths() {
            write!(f, "; {device} copies {:.1} GB/s", bandwidth * 1e-9)?;
        }
        writeln!(f)?;
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
