//! Where a call runs: a pure function of what was measured, how much the call moves and computes, and where its arguments are.
//!
//! A call on the CPU takes the time of its bytes or of its operators, whichever is longer. A call on the GPU takes a launch, the
//! transfer of what is on the host and of the results, and its operators. Whatever is faster is chosen, except that a call whose
//! arrays are all on the GPU stays there: moving them would cost later, and results are seldom read one by one.

/// What devices do in a second, and what a call costs before it does anything. Measured once per machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Seconds of a tiny call on the GPU, from arguments on the host to results on the host.
    pub gpu_call: f64,
    /// Bytes per second from the host to the GPU.
    pub upload: f64,
    /// Bytes per second back.
    pub download: f64,
    /// Operators per second on the GPU, weighed by their costs; an addition is 1.
    pub gpu_operators: f64,
    /// Seconds of a tiny call on the CPU.
    pub cpu_call: f64,
    /// Bytes per second that the CPU reads and writes.
    pub cpu_bytes: f64,
    /// Operators per second on the CPU.
    pub cpu_operators: f64,
}

/// What a call moves and computes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Bytes of arguments on the host.
    pub host_bytes: f64,
    /// Bytes of arguments on the GPU.
    pub gpu_bytes: f64,
    /// Bytes of results.
    pub result_bytes: f64,
    /// Operators, weighed by their costs.
    pub operators: f64,
}

/// Which device a call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The CPU.
    Cpu,
    /// The GPU.
    Gpu,
}

/// Where a call runs, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Where.
    pub side: Side,
    /// Seconds on the CPU, estimated.
    pub cpu: f64,
    /// Seconds on the GPU, estimated.
    pub gpu: f64,
    /// From about this many bytes of arguments and results on, calls that do as much for each byte are faster on the GPU;
    /// infinite where none is.
    pub threshold: f64,
}

/// Where a call runs.
///
/// ```
/// use slyz_run::auto::{Load, Measured, Side, decide};
/// let measured = Measured {
///     gpu_call: 50e-6, upload: 10e9, download: 10e9, gpu_operators: 10e12,
///     cpu_call: 2e-6, cpu_bytes: 20e9, cpu_operators: 100e9,
/// };
/// // A map over a large array that is on the host: the way to the GPU takes longer than the work.
/// let map = Load { host_bytes: 1e9, result_bytes: 1e9, operators: 1e9, ..Load::default() };
/// assert_eq!(decide(&measured, &map).side, Side::Cpu);
/// // A product of matrices of 4096².
/// let product = Load { host_bytes: 134e6, result_bytes: 67e6, operators: 137e9, ..Load::default() };
/// assert_eq!(decide(&measured, &product).side, Side::Gpu);
/// ```
pub fn decide(measured: &Measured, load: &Load) -> Verdict {
    let Load { host_bytes, gpu_bytes, result_bytes, operators } = *load;
    let m = measured;
    let bytes = host_bytes + gpu_bytes + result_bytes;
    let cpu_work = (bytes / m.cpu_bytes).max(operators / m.cpu_operators);
    let gpu_work = host_bytes / m.upload + result_bytes / m.download + operators / m.gpu_operators;
    let fetch = if gpu_bytes > 0.0 { m.gpu_call + gpu_bytes / m.download } else { 0.0 };
    let cpu = m.cpu_call + fetch + cpu_work;
    let gpu = m.gpu_call + gpu_work;
    let resident = gpu_bytes > 0.0 && host_bytes == 0.0;
    let side = if resident || gpu < cpu { Side::Gpu } else { Side::Cpu };
    // Both grow with the bytes; where the lines meet is the threshold.
    let gain = cpu_work - gpu_work;
    let threshold = if resident {
        0.0
    } else if gain > 0.0 {
        bytes * ((m.gpu_call - m.cpu_call).max(0.0) / gain)
    } else {
        f64::INFINITY
    };
    Verdict { side, cpu, gpu, threshold }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PCIE: Measured = Measured {
        gpu_call: 100e-6,
        upload: 10e9,
        download: 5e9,
        gpu_operators: 1e13,
        cpu_call: 2e-6,
        cpu_bytes: 20e9,
        cpu_operators: 5e10,
    };

    fn host(bytes: f64, operators: f64) -> Load {
        Load { host_bytes: bytes, operators, ..Load::default() }
    }

    #[test]
    fn small_calls_stay_on_the_cpu() {
        for bytes in [0.0, 4.0, 1e3, 1e4] {
            assert_eq!(decide(&PCIE, &host(bytes, 10.0 * bytes)).side, Side::Cpu, "{bytes}");
        }
    }

    #[test]
    fn work_decides_for_large_ones() {
        assert_eq!(decide(&PCIE, &host(1e9, 1e9)).side, Side::Cpu);
        assert_eq!(decide(&PCIE, &host(1e9, 1e12)).side, Side::Gpu);
        assert_eq!(decide(&PCIE, &host(1e9, 1e9)).threshold, f64::INFINITY);
    }

    #[test]
    fn a_gpu_in_the_same_memory_takes_large_maps() {
        let shared = Measured { upload: 100e9, download: 100e9, ..PCIE };
        let verdict = decide(&shared, &host(1e9, 1e9));
        assert_eq!(verdict.side, Side::Gpu);
        assert!(verdict.threshold > 1e6 && verdict.threshold < 1e7, "{verdict:?}");
    }

    #[test]
    fn the_threshold_is_where_sides_change() {
        let load = |bytes: f64| host(bytes, 100.0 * bytes);
        let threshold = decide(&PCIE, &load(1e6)).threshold;
        assert_eq!(decide(&PCIE, &load(threshold * 0.99)).side, Side::Cpu);
        assert_eq!(decide(&PCIE, &load(threshold * 1.01)).side, Side::Gpu);
    }

    #[test]
    fn what_is_on_the_gpu_stays_there() {
        let resident = |bytes| Load { gpu_bytes: bytes, result_bytes: bytes, ..Load::default() };
        for bytes in [4.0, 1e6, 1e9] {
            assert_eq!(decide(&PCIE, &resident(bytes)).side, Side::Gpu, "{bytes}");
        }
        // A number from the GPU does not draw a gigabyte of the host after it.
        let mixed = Load { host_bytes: 1e9, gpu_bytes: 4.0, ..Load::default() };
        assert_eq!(decide(&PCIE, &mixed).side, Side::Cpu);
        let mixed = Load { host_bytes: 4.0, gpu_bytes: 1e9, ..Load::default() };
        assert_eq!(decide(&PCIE, &mixed).side, Side::Gpu);
    }

    #[test]
    fn a_slow_cpu_leaves_no_threshold() {
        let slow = Measured { cpu_call: 1.0, ..PCIE };
        let verdict = decide(&slow, &host(0.0, 0.0));
        assert_eq!((verdict.side, verdict.threshold), (Side::Gpu, f64::INFINITY));
    }
}
