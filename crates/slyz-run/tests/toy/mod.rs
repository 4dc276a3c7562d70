//! Programs with hand-written plans and C, so that these tests do not hang on the real lowering and backend.
//!
//! Each test file uses its part of it.
#![allow(dead_code)]

use slyz_run::cpu::{Backend, Cpu, CpuConfig};
use slyz_run::{Argument, Executable, Output};
use slyz_sir::code::{Body, Id, Op, Stmt, Type, Var};
use slyz_sir::kernel::{Access, Buffer, BufferId, BufferUse, Kernel, Memory, Plan, ScalarArg, Space, Step};
use slyz_sir::program::Program;
use slyz_sir::size::{Size, SizeVar};
use slyz_sir::types::Ty;
use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::time::Duration;

pub const N: SizeVar = SizeVar(0);
pub const M: SizeVar = SizeVar(1);
const CHUNK: u64 = 1024;

/// Settings without a disk cache.
pub fn config() -> CpuConfig {
    CpuConfig { cc: vec!["cc".into()], cc_limit: Duration::from_secs(300), cache_dir: None, cache_bytes: 512 << 20 }
}

/// A CPU device that compiles the programs of this file.
pub fn device(config: CpuConfig) -> Cpu {
    // SAFETY: the kernels below stay inside their memories and each block writes its own elements.
    unsafe { Cpu::with_backend(config, Backend { lower, emit }) }
}

/// `2 x`. Further names make further programs.
pub fn twice(name: &str) -> Program {
    program(&format!(
        "program {name}<N, M>(%x: f32[N]) -> f32[N] {{
            %y: f32[N] = tabulate [N] |%i: i64| {{ %a: f32 = at %x[%i]  %b: f32 = add %a, %a  yield %b }}
            return %y
        }}"
    ))
}

/// `a x`; the CPU goes through scratch memory.
pub fn scale() -> Program {
    program(
        "program scale<N, M>(%x: f32[N], %a: f32) -> f32[N] {
            %y: f32[N] = tabulate [N] |%i: i64| { %b: f32 = at %x[%i]  %c: f32 = mul %a, %b  yield %c }
            return %y
        }",
    )
}

/// The positive elements, and twice the same; the CPU allocates the second result after the count.
pub fn positive() -> Program {
    program(
        "program positive<N, counted M>(%x: f32[N]) -> (f32[M], f32[M]) {
            %zero: f32 = const 0.0
            %y: f32[M] = filter N as M |%i: i64| { %a: f32 = at %x[%i]  %p: bool = gt %a, %zero  yield %p, %a }
            %z: f32[M] = tabulate [M] |%k: i64| { %b: f32 = at %y[%k]  %c: f32 = add %b, %b  yield %c }
            return %y, %z
        }",
    )
}

/// On the CPU it says whether wide code ran; the size `M` is an extent in its code.
pub fn is_wide() -> Program {
    program("program is_wide<N, M>(%x: f32[N]) -> f32[N] { return %x }")
}

/// The argument itself.
pub fn identity(ty: Ty) -> Program {
    program(&format!("program identity<N, M>(%x: {ty}[N]) -> {ty}[N] {{ return %x }}"))
}

fn program(text: &str) -> Program {
    slyz_sir::text::parse_program(text).unwrap()
}

fn memory(name: &str, ty: Ty, space: Space, shape: &[Size]) -> Memory {
    Memory { name: name.into(), ty, space, shape: shape.to_vec() }
}

fn kernel(program: &Program, name: &str, memories: Vec<Memory>, blocks: Size) -> Kernel {
    Kernel {
        name: name.into(),
        sizes: program.sizes.clone(),
        memories,
        functions: vec![],
        grid: [blocks, Size::Const(1), Size::Const(1)],
        block: [1, 1, 1],
        precision: program.precision,
        product: None,
        raw: None,
        as_written: false,
        names: Default::default(),
        body: Body::default(),
    }
}

fn chunks(size: Size) -> Size {
    Size::CeilDiv(size.into(), CHUNK)
}

pub fn lower(program: &Program, _: slyz_sir::lower::Choice) -> Plan {
    let (n, m) = (Size::Var(N), Size::Var(M));
    let ty = program.body.params[0].ty.elem();
    let read = |name: &str, size: &Size| memory(name, ty, Space::Global(Access::Read), from_ref(size));
    let write = |name: &str, size: &Size| memory(name, ty, Space::Global(Access::Write), from_ref(size));
    let buffer = |ty, shape: &[Size], role| Buffer { ty, shape: shape.to_vec(), role };
    let launch = |kernel, buffers: &[u32]| Step::Launch {
        kernel,
        buffers: buffers.iter().map(|&b| BufferId(b)).collect(),
        scalars: vec![],
    };
    let mut plan = Plan {
        name: program.name.clone(),
        sizes: program.sizes.clone(),
        params: program.body.params.clone(),
        names: program.names.clone(),
        buffers: vec![buffer(ty, from_ref(&n), BufferUse::Argument(0)), buffer(ty, from_ref(&n), BufferUse::Result(0))],
        results: vec![(BufferId(1), vec![n.clone()])],
        kernels: vec![kernel(program, "main", vec![read("x", &n), write("y", &n)], chunks(n.clone()))],
        steps: vec![launch(0, &[0, 1])],
    };
    match program.name.as_str() {
        "identity" => {
            plan.kernels.clear();
            plan.steps.clear();
            plan.buffers.truncate(1);
            plan.results = vec![(BufferId(0), vec![n])];
        }
        "scale" => {
            plan.kernels[0].memories.insert(1, memory("t", ty, Space::Scratch, &[Size::Const(CHUNK)]));
            plan.kernels[0].memories.insert(1, memory("u", Ty::U8, Space::Scratch, &[Size::Const(3)]));
            plan.kernels[0].body.params = vec![Var { id: Id(9), ty: Type::Scalar(Ty::F32) }];
            let (buffers, scalars) = (vec![BufferId(0), BufferId(1)], vec![ScalarArg::Argument(1)]);
            plan.steps = vec![Step::Launch { kernel: 0, buffers, scalars }];
        }
        "is_wide" => {
            let bind = Var { id: Id(9), ty: Type::Scalar(Ty::I64) };
            plan.kernels[0].body.stmts = vec![Stmt { binds: vec![bind], op: Op::Extent(m) }];
        }
        "positive" => {
            let count = memory("count", Ty::I64, Space::Global(Access::Write), &[]);
            let pick = vec![read("x", &n), write("y", &n), count];
            let double = vec![read("y", &m), write("z", &m)];
            plan.kernels = vec![
                kernel(program, "pick", pick, Size::Const(1)),
                kernel(program, "double", double, chunks(m.clone())),
            ];
            plan.buffers.push(buffer(Ty::I64, &[], BufferUse::Temporary));
            plan.buffers.push(buffer(ty, from_ref(&m), BufferUse::Result(1)));
            plan.results = vec![(BufferId(1), vec![m.clone()]), (BufferId(3), vec![m])];
            let count = Step::Count { size: M, from: BufferId(2) };
            plan.steps = vec![launch(0, &[0, 1, 2]), count, Step::Free(BufferId(2)), launch(1, &[1, 3])];
        }
        _ => {}
    }
    plan
}

pub fn emit(plan: &Plan, wide: bool) -> Result<String, slyz_sir::back::EmitError> {
    let each = |value: &str, n: &str| format!("for (long i = b * 1024; i < e * 1024 && i < {n}; i++) y[i] = {value};");
    let codes = match plan.name.as_str() {
        "scale" => vec![
            "union { unsigned u; float f; } a = { .u = (unsigned)s[0] }; float *v = t[1];
            for (long k = b; k < e; k++) {
                long n = z[0] - k * 1024 < 1024 ? z[0] - k * 1024 : 1024;
                for (long i = 0; i < n; i++) v[i] = a.f * x[k * 1024 + i];
                ((char *)t[0])[2] = 1;
                for (long i = 0; i < n; i++) y[k * 1024 + i] = v[i];
            }"
            .to_string(),
        ],
        "is_wide" => vec![each(if wide { "1" } else { "0" }, "z[0]")],
        "positive" => vec![
            "long n = 0; for (long i = 0; i < z[0]; i++) if (x[i] > 0) y[n++] = x[i]; *(long *)m[2] = n;".to_string(),
            each("2 * x[i]", "z[1]"),
        ],
        _ => vec![each("2 * x[i]", "z[0]")],
    };
    let mut source = format!("/* {} */\n", plan.name);
    for (k, code) in codes.iter().enumerate() {
        source += &format!(
            "void slyz_kernel_{k}(void *const *m, void *const *t, const unsigned long *s, const long *z, long b, long e)
            {{ const float *x = m[0]; float *y = m[1]; {code} }}\n"
        );
    }
    Ok(source)
}

/// Runs a program of `f32` arrays over `N`; `M` is what is given.
pub fn run(executable: &dyn Executable, x: &[f32], m: Option<u64>) -> Vec<Output> {
    executable.run(&[Some(x.len() as u64), m], &[Argument::host(Ty::F32, &[x.len() as u64], x)]).unwrap()
}

/// The data of an output.
pub fn floats(output: &Output) -> &[f32] {
    output.data.as_slice().unwrap()
}

/// A compiler that is a shell script. Run by `sh`, since a file just written may count as busy when it is executed.
pub fn script(folder: &Path, text: &str) -> Vec<String> {
    let path = folder.join("compiler.sh");
    std::fs::write(&path, text).unwrap();
    vec!["sh".into(), path.to_str().unwrap().into()]
}

/// The system's compiler, with a file that gets a line for every compilation.
pub fn counting(folder: &Path) -> (Vec<String>, PathBuf) {
    let log = folder.join("compilations");
    std::fs::write(&log, "").unwrap();
    let text =
        format!("case \" $* \" in *\" --version \"*) ;; *) echo x >> '{}';; esac\nexec cc \"$@\"\n", log.display());
    (script(folder, &text), log)
}

/// The lines of that file.
pub fn compilations(log: &Path) -> usize {
    std::fs::read_to_string(log).unwrap().lines().count()
}
