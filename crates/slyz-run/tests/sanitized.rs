//! The sanitizer of the tests is awake: accesses just outside of an array, as generated code makes them, end the process.
//!
//! Without this, tests under the sanitizer would pass wherever it is not really there.
#![cfg(all(feature = "cpu", target_os = "linux"))]

mod devices;

use devices::sanitizer;
use slyz_run::Device;
use slyz_run::cpu::{Backend, Cpu, CpuConfig};
use slyz_sir::interp::{Array, Value};
use slyz_sir::kernel::Plan;
use slyz_sir::text::parse_program;
use slyz_sir::types::Ty;
use slyz_sir::{back, lower, pass};

/// Accesses to a result of 5 `u16` and an argument of as many: what is inside, and what is not.
const ACCESSES: [(&str, bool); 8] = [
    ("store_u16(y, load_u16(x, 5), 5)", true),
    ("store_u16(y, load_u16(x, 5), 6)", false),
    ("store_u16(y, load_u16(x, 6), 5)", false),
    ("store_masked_u16(y, all_u32(7), first_lanes(6))", false),
    ("y[lane_u32(load_masked_u16(x, first_lanes(6)), 0) & 0] = 1", false),
    ("scatter_u16(y, iota_i32() - 1, all_u32(7), first_lanes(2))", false),
    ("y[0] = (u16)lane_u32(gather_u16(x, iota_i32() + 4, first_lanes(2)), 1)", false),
    ("atomic_one_add_u16(y + 5, 1)", false),
];

/// The access that the process under the sanitizer makes.
const ACCESS: &str = "SLYZ_SANITIZED_ACCESS";

fn emit(_: &Plan, _: bool) -> Result<String, back::EmitError> {
    let asked = std::env::var(ACCESS).ok().and_then(|k| k.parse::<usize>().ok()).unwrap_or(0);
    let access = ACCESSES[asked].0;
    let used = access.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').chain(["FN"]).map(String::from).collect();
    let parameters = "void *const *memories, void *const *, const u64 *, const i64 *, i64, i64";
    let body = format!("const u16 *x = memories[0]; u16 *y = memories[1]; (void)x; (void)y; {access};");
    Ok(format!("{}\nvoid slyz_kernel_0({parameters}) {{ {body} }}\n", back::c::prelude::emit(&used, false)))
}

/// One access by code like that of kernels.
#[test]
fn access() {
    if !sanitizer::is_on() {
        return;
    }
    let text = "program g<N>(%x: u16[N]) -> u16[N] { %y: u16[N] = tabulate [N] |%i: i64| { %a: u16 = at %x[%i]  %b: u16 = add %a, %a  yield %b }  return %y }";
    let program = parse_program(text).expect("a program");
    let lower = |program: &slyz_sir::program::Program, _| lower::cpu::lower(&pass::optimize(program));
    let config = CpuConfig { cache_dir: None, ..CpuConfig::from_env() };
    // SAFETY: it is not: the sanitizer ends the process where the code goes outside, and this test is not run without it.
    let device: Box<dyn Device> = Box::new(unsafe { Cpu::with_backend(config, Backend { lower, emit }) });
    let x = Value::Array(Array { ty: Ty::U16, shape: vec![5], data: vec![1; 5] });
    let done = devices::run(&*device, &program, &[Some(5)], &[x]);
    done.expect("the code is built and run");
}

#[test]
fn accesses_outside_are_found() {
    for (k, (access, inside)) in ACCESSES.into_iter().enumerate() {
        let Some(done) = sanitizer::run(&["access"], &[(ACCESS, &k.to_string())]) else { return };
        let told = String::from_utf8_lossy(&done.stderr);
        let found = told.contains("AddressSanitizer: heap-buffer-overflow");
        assert_eq!((done.status.success(), found), (inside, !inside), "{access}\n{told}");
    }
}
