//! The pass `weave`: kernels for threads, before and after, on the interpreter and as C.
//!
//! A case runs on the kernel interpreter as it is written, thread by thread; then woven, on the interpreter; then woven, as C
//! built by the system's compiler with the flags of real kernels, narrow and wide. All memories must be equal, bit for bit.

#![allow(missing_docs)]

mod blocks;
mod free;
mod machine;
mod random;

use slyz_sir::interp::Array;
use slyz_sir::interp::kernel::{LaunchOptions, launch};
use slyz_sir::kernel::Kernel;
use slyz_sir::pass::weave::{self, Blocking};
use slyz_sir::text::parse_kernel;
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::verify;

/// Threads of a subgroup in all cases.
pub const SUBGROUP: u32 = 8;

/// A launch of a kernel as people write it.
#[derive(Clone)]
pub struct Case {
    pub name: String,
    pub kernel: Kernel,
    /// Threads where the form is free, else blocks.
    pub grid: [u64; 3],
    /// `None` for the free form.
    pub block: Option<[u32; 3]>,
    /// Values of the size variables behind those of the launch.
    pub extents: Vec<u64>,
    pub memories: Vec<Array>,
    pub scalars: Vec<Scalar>,
}

/// The sizes that every kernel begins with.
pub const SIZES: &str = "grid_x, grid_y, grid_z, threads_x, threads_y, threads_z";

/// A kernel from its name, parameters and body; `sizes` are its own, behind those of the launch.
pub fn kernel(name: &str, sizes: &str, params: &str, code: &str) -> Kernel {
    let own = if sizes.is_empty() { String::new() } else { format!(", {sizes}") };
    let head = format!("kernel {name}<{SIZES}{own}>({params}) grid [grid_x, grid_y, grid_z] block [1, 1, 1]");
    let text = format!("{head} {{\n{code}\n}}");
    let kernel = parse_kernel(&text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
    verify::kernel(&kernel).unwrap_or_else(|error| panic!("{name}: {error}"));
    kernel
}

pub fn floats(values: impl IntoIterator<Item = f32>) -> Array {
    let data: Vec<u64> = values.into_iter().map(|v| Scalar::f32(v).bits).collect();
    Array { ty: Ty::F32, shape: vec![data.len() as u64], data }
}

pub fn ints(ty: Ty, values: impl IntoIterator<Item = i64>) -> Array {
    let data: Vec<u64> = values.into_iter().map(|v| Scalar::from_int(ty, v.into()).bits).collect();
    Array { ty, shape: vec![data.len() as u64], data }
}

/// Numbers that are exact in `f32` and whose order shows.
pub fn numbers(n: u64) -> impl Iterator<Item = f32> {
    (0..n).map(|i| ((i * 7 + 3) % 23) as f32 * 0.375 - 3.0)
}

impl Case {
    /// The values of all size variables.
    pub fn sizes(&self) -> Vec<u64> {
        let block = self.block.unwrap_or([1; 3]);
        let threads: Vec<u64> = self.grid.iter().zip(block).map(|(g, b)| g * u64::from(b)).collect();
        [&self.grid[..], &threads, &self.extents].concat()
    }

    fn interpreted(&self, kernel: &Kernel) -> Vec<Array> {
        let mut memories = self.memories.clone();
        let options = LaunchOptions { subgroup_size: SUBGROUP, ..LaunchOptions::default() };
        launch(kernel, &self.sizes(), &mut memories, &self.scalars, &options)
            .unwrap_or_else(|error| panic!("{}: {error}\n{kernel}", self.name));
        memories
    }

    /// What the kernel means.
    pub fn expected(&self) -> Vec<Array> {
        self.interpreted(&Kernel { block: self.block.unwrap_or([1; 3]), ..self.kernel.clone() })
    }

    /// Does the pass say that threads may part on the way to a meeting?
    pub fn is_refused(&self) -> bool {
        let form = self.block.map_or(Blocking::Free, Blocking::Blocks);
        matches!(weave::run(&self.kernel, form, SUBGROUP), Err(weave::Unwoven::Divergent { .. }))
    }

    pub fn woven(&self) -> Kernel {
        let form = self.block.map_or(Blocking::Free, Blocking::Blocks);
        let woven = weave::run(&self.kernel, form, SUBGROUP).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        verify::kernel(&woven).unwrap_or_else(|error| panic!("{}: {error}\n{woven}", self.name));
        assert_eq!(woven.block, [1, 1, 1]);
        woven
    }
}

fn same(case: &Case, how: &str, kernel: &Kernel, expected: &[Array], found: &[Array]) {
    for (k, (a, b)) in expected.iter().zip(found).enumerate() {
        // Which NaN is nobody's business.
        let nan = |bits: u64| a.ty.is_float() && Scalar { ty: a.ty, bits }.as_f64().is_nan();
        let wrong = a.data.iter().zip(&b.data).position(|(a, b)| a != b && !(nan(*a) && nan(*b)));
        if let Some(at) = wrong {
            let [want, got] = [a, b].map(|x| Scalar { ty: x.ty, bits: x.data[at] });
            panic!("{} {how}: memory {k}[{at}] is {got:?}, not {want:?}\n{}\nwoven:\n{kernel}", case.name, case.kernel);
        }
    }
}

/// Runs a case on the interpreter, as it is and woven.
pub fn check_interpreted(case: &Case) {
    let woven = case.woven();
    same(case, "on the interpreter", &woven, &case.expected(), &case.interpreted(&woven));
}

/// Runs cases in all ways. One C file holds them all.
pub fn check(folder: &str, cases: &[Case]) {
    let mut kernels = vec![];
    let mut expected = vec![];
    for case in cases {
        let wanted = case.expected();
        let woven = case.woven();
        same(case, "on the interpreter", &woven, &wanted, &case.interpreted(&woven));
        kernels.push(woven);
        expected.push(wanted);
    }
    for wide in [false, true] {
        let found = machine::run(&format!("{folder}-{wide}"), cases, &kernels, wide);
        for ((case, kernel), (wanted, found)) in cases.iter().zip(&kernels).zip(expected.iter().zip(&found)) {
            same(case, if wide { "as wide C" } else { "as C" }, kernel, wanted, found);
        }
    }
}
