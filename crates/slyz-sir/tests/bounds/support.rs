//! Kernels from a few lines of SIR text.

use slyz_sir::kernel::Kernel;
use slyz_sir::launch::Template;
use slyz_sir::pass::bounds::{self, Facts};
use slyz_sir::text::parse_kernel;
use slyz_sir::types::Scalar;
use slyz_sir::verify;

/// A template. Its sizes behind those of the launch are `n`, `m`, `k`.
pub fn template(params: &str, memories: &str, code: &str) -> Template {
    let text = format!(
        "kernel k<grid_x, grid_y, grid_z, threads_x, threads_y, threads_z, n, m, k>({params})
           grid [grid_x, grid_y, grid_z] block [1, 1, 1] {{ {memories} {code} }}"
    );
    let kernel = parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(verify::kernel(&kernel), Ok(()), "{text}");
    Template { kernel, constants: vec![] }
}

/// The checks that are left, as text; numbering is that of the printer.
pub fn left(kernel: &Kernel, facts: &Facts) -> Vec<String> {
    let after = bounds::run(kernel.clone(), facts);
    assert_eq!(verify::kernel(&after), Ok(()), "{after}");
    let text = after.to_string();
    let left: Vec<String> =
        text.split("check ").skip(1).map(|rest| rest[..=rest.find(']').unwrap()].to_string()).collect();
    assert_eq!(bounds::proves(kernel, facts), left.is_empty(), "`proves` and `run` differ:\n{after}");
    left
}

/// The memories with checks that are left before anything is known of the launch.
pub fn left_statically(template: &Template) -> Vec<String> {
    let kernel = template.shaped([1, 1, 1], false, false);
    let facts = Facts::unknown(&kernel);
    left(&kernel, &facts).into_iter().map(|check| check.split('[').next().unwrap().to_string()).collect()
}

/// Is a launch of blocks proven?
pub fn proven(template: &Template, grid: [u64; 3], block: [u32; 3], sizes: [u64; 3], scalars: &[Scalar]) -> bool {
    let kernel = template.shaped(block, false, false);
    let threads = [0, 1, 2].map(|d| grid[d] * u64::from(block[d]));
    let sizes = [grid, threads, sizes].concat();
    left(&kernel, &Facts::exact(&sizes, scalars)).is_empty()
}

/// Is a launch of that many threads proven, in blocks that reach past them?
pub fn proven_threads(template: &Template, threads: [u64; 3], sizes: [u64; 3], scalars: &[Scalar]) -> bool {
    let block: [u32; 3] = if threads[1] > 1 { [16, 16, 1] } else { [256, 1, 1] };
    let kernel = template.shaped(block, true, false);
    let grid = [0, 1, 2].map(|d| threads[d].div_ceil(u64::from(block[d])));
    let sizes = [grid, threads, sizes].concat();
    left(&kernel, &Facts::exact(&sizes, scalars)).is_empty()
}
