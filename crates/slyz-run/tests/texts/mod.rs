//! Kernels as text of a language, run under its shim: the corpus, subgroups and atomics, compared with the interpreter.
//!
//! Each test file uses its part of it.
#![allow(dead_code)]

use crate::devices;
use crate::shim::{self, Language, Library};
use slyz_sir::back::EmitError;
use slyz_sir::back::clike::Description;
use slyz_sir::back::harness::Entry;
use slyz_sir::interp::kernel::{LaunchOptions, launch};
use slyz_sir::interp::{self, Array, Value};
use slyz_sir::kernel::{Access, Kernel, Space};
use slyz_sir::launch::LAUNCH_SIZES;
use slyz_sir::pass::report;
use slyz_sir::program::Program;
use slyz_sir::road::{Destination, KernelRoad};
use slyz_sir::text::{Case, Subject, parse_file, parse_kernel};
use slyz_sir::threads::{Field, Threads};
use slyz_sir::types::{Scalar, Ty};
use std::path::{Path, PathBuf};

/// What writes kernels.
pub type Emit<'a> = dyn Fn(&[&Kernel]) -> Result<(String, Vec<Description>), EmitError> + 'a;

/// A language, and what writes it.
pub struct Text<'a> {
    pub language: Language,
    pub emit: &'a Emit<'a>,
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let list = std::fs::read_dir(&folder).expect("the folder tests/corpus");
    let mut files: Vec<PathBuf> = list.map(|entry| entry.expect("an entry of tests/corpus").path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "sir"));
    files.sort();
    let part = std::env::var("SLYZ_CORPUS").unwrap_or_default();
    files.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(&part)));
    files
}

/// A program of the corpus with its cases, under a name that no other has.
pub struct Subjects {
    pub program: Program,
    pub cases: Vec<Case>,
    pub from: String,
}

pub fn subjects() -> Vec<Subjects> {
    let mut all = vec![];
    for path in files() {
        let file = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a file of the corpus");
        let (module, cases) = parse_file(&text).expect("a file of the corpus");
        for program in module.programs {
            let mine = |case: &&Case| case.subject == Subject::Program(program.name.clone());
            let cases: Vec<Case> = cases.iter().filter(mine).cloned().collect();
            let from = format!("{file}: {}", program.name);
            let mut program = program;
            program.name = format!("{file}_{}", program.name);
            all.push(Subjects { program, cases, from });
        }
    }
    all
}

/// The launches of the corpus that succeed.
pub fn launches() -> Vec<(Kernel, Threads, Case)> {
    let mut launches = vec![];
    for path in files() {
        let text = std::fs::read_to_string(&path).expect("a file of the corpus");
        let (module, cases) = parse_file(&text).expect("a file of the corpus");
        for case in cases.into_iter().filter(|case| case.fails.is_none()) {
            let (Subject::Kernel(name), Some(threads)) = (&case.subject, case.launch) else { continue };
            let kernel = module.kernels.iter().find(|kernel| kernel.name == *name).expect("the case's kernel");
            launches.push((kernel.clone(), threads, case));
        }
    }
    launches
}

/// Runs the cases of programs whose kernels were built, and fails where a result is not what the case says.
pub fn all_right<'a>(library: &Library, subjects: impl Iterator<Item = (&'a Subjects, &'a Entry)>, most_cases: usize) {
    let (mut wrong, mut count) = (vec![], 0);
    for (subject, entry) in subjects {
        for case in subject.cases.iter().take(most_cases) {
            count += 1;
            let value = |name: &str| case.sizes.iter().find(|(known, _)| known == name).map(|(_, n)| *n);
            let given: Vec<Option<u64>> = subject.program.sizes.iter().map(|decl| value(&decl.name)).collect();
            let sizes = interp::program::solve_sizes(&subject.program, &given, &case.args).expect("sizes of a case");
            // The shim runs one thread after another.
            if sizes.iter().flatten().any(|&size| size > 100_000) {
                continue;
            }
            let complain = |what: String| format!("{}, \"{}\": {what}", subject.from, case.name);
            match library.run(entry, &sizes, &case.args) {
                Err(error) => wrong.push(complain(error)),
                Ok(found) => {
                    for (expect, found) in case.expect.iter().zip(&found) {
                        wrong.extend(devices::difference(&expect.value, found, expect.ulp).map(complain));
                    }
                }
            }
        }
    }
    println!("{count} cases");
    assert!(wrong.is_empty(), "{} of {count} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A kernel with sizes, memories and scalars.
type Launched = (Kernel, Vec<u64>, Vec<Array>, Vec<Scalar>);

impl Text<'_> {
    /// Every operation of a subgroup on every type that has it, in whole and partial subgroups.
    pub fn runs_subgroups(&self, has: impl Fn(Ty) -> bool) {
        self.agrees(&subgroup_kernels(has));
    }

    /// Atomics on global and shared memory.
    pub fn runs_atomics(&self) {
        let (kernels, refused): (Vec<Launched>, Vec<Launched>) =
            atomic_kernels().into_iter().partition(|(kernel, ..)| (self.emit)(&[kernel]).is_ok());
        assert!(refused.iter().all(|(kernel, ..)| kernel.name.contains("_f32")), "{} are refused", refused.len());
        self.agrees(&kernels);
    }

    /// The kernels of the corpus, but for those that the language cannot say, for reasons that are known.
    pub fn runs_kernels_of_the_corpus(&self, known: &[&str]) {
        let (mut kernels, mut refused) = (vec![], vec![]);
        for (mut kernel, sizes, memories, scalars) in corpus_kernels() {
            match (self.emit)(&[&kernel]) {
                Ok((_, descriptions)) if self.language.lanes() != 32 && descriptions[0].uses_subgroups => {
                    refused.push(format!("{} is written for 32 lanes", kernel.name));
                }
                Ok(_) => {
                    kernel.name = format!("{}_{}", kernel.name, kernels.len());
                    kernels.push((kernel, sizes, memories, scalars));
                }
                Err(error) => refused.push(error.to_string()),
            }
        }
        let is_known = |error: &String| known.iter().any(|k| error.contains(k));
        assert!(refused.iter().all(is_known), "{refused:?}");
        let happens = |k: &&str| refused.iter().any(|error| error.contains(*k));
        assert!(std::env::var("SLYZ_CORPUS").is_ok() || known.iter().all(happens), "{refused:?}");
        self.agrees(&kernels);
    }

    /// A kernel whose block wants more memory than a file can declare.
    pub fn runs_a_large_block(&self) {
        self.agrees(&[large_block()]);
    }

    /// Launches kernels in the interpreter and under the shim; all memories must agree.
    fn agrees(&self, kernels: &[Launched]) {
        let list: Vec<&Kernel> = kernels.iter().map(|(kernel, ..)| kernel).collect();
        list.iter().for_each(|kernel| slyz_sir::verify::kernel(kernel).expect("a right kernel"));
        let (source, descriptions) = (self.emit)(&list).expect("kernels that the language can say");
        let Some(library) = shim::build(self.language, &source, descriptions.iter()) else { return };
        let options = LaunchOptions { subgroup_size: self.language.lanes(), ..LaunchOptions::default() };
        for ((kernel, sizes, memories, scalars), d) in kernels.iter().zip(&descriptions) {
            let mut expected = memories.clone();
            launch(kernel, sizes, &mut expected, scalars, &options).expect("a right launch");
            let mut bytes: Vec<Vec<u8>> = memories.iter().map(shim::to_bytes).collect();
            let pointers: Vec<_> = bytes.iter_mut().map(|b| b.as_mut_ptr().cast()).collect();
            let sizes: Vec<Option<u64>> = sizes.iter().copied().map(Some).collect();
            library.launch(d, &sizes, &pointers, scalars).expect("a launch");
            for (expected, bytes) in expected.iter().zip(&bytes) {
                let found = shim::from_bytes(expected.ty, expected.shape.clone(), bytes);
                let wrong = devices::difference(&Value::Array(expected.clone()), &Value::Array(found), 0);
                assert!(wrong.is_none(), "{}: {}\n{source}", kernel.name, wrong.unwrap_or_default());
            }
        }
    }
}

fn array(ty: Ty, shape: &[u64], element: impl Fn(u64) -> i128) -> Array {
    let data = (0..shape.iter().product()).map(|i| Scalar::from_int(ty, element(i)).bits).collect();
    Array { ty, shape: shape.to_vec(), data }
}

/// Threads that have each other's elements, of which a block holds 80 KB, behind a few bytes of another memory.
fn large_block() -> Launched {
    let text = "kernel large() grid [2, 1, 1] block [64, 1, 1] {
      global read x: i32[40000]  global write y: i32[40000]
      shared small: u8[3]  shared tile: i32[20000]  shared last: i16[5]
      %t: i64 = local.x  %b: i64 = block.x  %n: i64 = const 20000  %one: i64 = const 1  %all: i64 = const 64  %zero: i64 = const 0
      %four: i64 = const 4  %from: i64 = mul %b, %n
      for %t to %n step %all |%k: i64| { %i: i64 = add %from, %k  %v: i32 = load x[%i]  store tile[%k], %v }
      %first: bool = eq %t, %zero
      if %first { %seven: u8 = const 7  store small[%zero], %seven  %nine: i16 = const 9  store last[%four], %nine } else {}
      barrier block
      %s: u8 = load small[%zero]  %c: i32 = cast %s  %u: i16 = load last[%four]  %d: i32 = cast %u
      for %t to %n step %all |%k: i64| {
        %l0: i64 = sub %n, %k  %l: i64 = sub %l0, %one  %i: i64 = add %from, %k
        %v: i32 = load tile[%l]  %w: i32 = mul %v, %c  %z: i32 = add %w, %d  store y[%i], %z
      }
    }";
    let kernel = parse_kernel(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let memories = vec![array(Ty::I32, &[40_000], |i| i as i128 * 31), array(Ty::I32, &[40_000], |_| 0)];
    (kernel, vec![], memories, vec![])
}

/// Every operation of a subgroup on every type that has it, in whole and partial subgroups.
fn subgroup_kernels(has: impl Fn(Ty) -> bool) -> Vec<Launched> {
    let mut kernels = vec![];
    let kernel = |name: &str, ty: Ty, to: Ty, code: &str| {
        let text = format!(
            "kernel {name}() grid [2, 1, 1] block [40, 1, 1] {{
               global read x: {ty}[80]  global readwrite y: {to}[80]
               %i: i64 = global.x  %t: i64 = local.x  %l: i64 = lane  %one: i64 = const 1  %three: i64 = const 3
               %x: {ty} = load x[%i]
               {code}
             }}"
        );
        parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    };
    for ty in Ty::ALL.into_iter().filter(|&ty| has(ty)) {
        let x = array(ty, &[80], |i| (i * 7 % 5) as i128 - if ty.is_signed() || ty.is_float() { 2 } else { 0 });
        let mut add = |what: &str, to: Ty, code: String| {
            let name = format!("{}_{ty}", what.replace(' ', "_"));
            kernels.push((kernel(&name, ty, to, &code), vec![], vec![x.clone(), array(to, &[80], |_| 0)], vec![]));
        };
        for operator in slyz_sir::ops::TABLE.iter().filter(|row| row.associative && row.domain.has(ty)) {
            for kind in ["reduce", "scan"] {
                let what = format!("{kind} {}", operator.name);
                add(&what, ty, format!("%y: {ty} = subgroup {what} %x  store y[%i], %y"));
            }
        }
        // Lanes of the partial subgroup exchange among themselves.
        add("xor", ty, format!("%y: {ty} = subgroup shuffle_xor %x, %three  store y[%i], %y"));
        add("from", ty, format!("%y: {ty} = subgroup shuffle %x, %three  store y[%i], %y"));
        add("up", ty, format!("%y: {ty} = subgroup shuffle_up %x, %three  store y[%i], %y"));
        add("down", ty, format!("%y: {ty} = subgroup shuffle_down %x, %three  store y[%i], %y"));
        add("first", ty, format!("%y: {ty} = subgroup broadcast %x  store y[%i], %y"));
        if ty == Ty::Bool {
            add("ballot", Ty::U64, "%y: u64 = subgroup ballot %x  store y[%i], %y".into());
            add("any", Ty::Bool, "%y: bool = subgroup any %x  store y[%i], %y".into());
            add("all", Ty::Bool, "%y: bool = subgroup all %x  store y[%i], %y".into());
        }
        // Only some lanes arrive.
        if ty.is_int() {
            let code = format!(
                "%p: bool = gt %l, %three
                 if %p {{ %a: {ty} = subgroup reduce add %x  %b: {ty} = subgroup scan max %x  %c: {ty} = add %a, %b  store y[%i], %c }}
                 else {{ %d: {ty} = subgroup reduce min %x  store y[%i], %d }}"
            );
            add("some", ty, code);
        }
    }
    kernels
}

/// Atomics on global and shared memory.
fn atomic_kernels() -> Vec<Launched> {
    let mut kernels = vec![];
    for ty in [Ty::I32, Ty::U32, Ty::F32] {
        for (name, operator) in
            [("sum", "add"), ("least", "min"), ("most", "max"), ("both", "and"), ("some", "or"), ("odd", "xor")]
        {
            if ty.is_float() && !matches!(operator, "add" | "min" | "max") {
                continue;
            }
            let text = format!(
                "kernel {name}_{ty}<n>() grid [ceil(n / 64), 1, 1] block [64, 1, 1] {{
                   global read x: {ty}[n]  global readwrite bins: {ty}[4]  shared own: {ty}[4]
                   %i: i64 = global.x  %t: i64 = local.x  %n: i64 = extent n  %four: i64 = const 4
                   %few: bool = lt %t, %four  %zero: {ty} = const 0
                   if %few {{ store own[%t], %zero }} else {{}}
                   barrier block
                   %inside: bool = lt %i, %n
                   if %inside {{
                     %x: {ty} = load x[%i]  %k: i64 = rem %i, %four
                     %old: {ty} = atomic {operator} own[%k], %x
                   }} else {{}}
                   barrier block
                   if %few {{ %v: {ty} = load own[%t]  %before: {ty} = atomic {operator} bins[%t], %v }} else {{}}
                 }}"
            );
            let kernel = parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let low = if ty == Ty::U32 { 0 } else { 9 };
            let memories = vec![array(ty, &[200], |i| (i * 11 % 23) as i128 - low), array(ty, &[4], |i| i as i128)];
            kernels.push((kernel, vec![200], memories, vec![]));
        }
        let text = format!(
            "kernel swap_{ty}() grid [1, 1, 1] block [1, 1, 1] {{
               global readwrite y: {ty}[8]
               %k0: i64 = const 0  %k1: i64 = const 1  %k2: i64 = const 2  %k3: i64 = const 3  %k4: i64 = const 4
               %five: {ty} = const 5  %six: {ty} = const 6
               %a: {ty} = atomic exchange y[%k0], %five
               %b: {ty} = atomic compare_exchange y[%k1], %five, %six
               %c: {ty} = atomic compare_exchange y[%k5], %five, %six
               %d: {ty} = atomic load y[%k1]
               %e: {ty} = atomic store y[%k2], %six
               fence device
               %f: {ty} = add %a, %b  %g: {ty} = add %c, %d  %h: {ty} = add %f, %g
               store y[%k3], %h  store y[%k4], %e
             }}"
        );
        let text = text.replace("%k4: i64 = const 4", "%k4: i64 = const 4  %k5: i64 = const 5");
        let kernel = parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        kernels.push((kernel, vec![], vec![array(ty, &[8], |i| i as i128)], vec![]));
    }
    kernels
}

/// A launch of a case, as a kernel for the blocks that it is laid out in; nothing where there are no threads, or sizes
/// that take more than 31 bits.
fn shaped(kernel: &Kernel, threads: Threads, case: &Case) -> Option<Launched> {
    let (template, mut memories, scalars) = devices::launched(kernel, &case.args);
    let globals = kernel.memories.iter().filter(|memory| matches!(memory.space, Space::Global(_)));
    let mut written = globals.zip(&memories).filter(|(memory, _)| memory.space != Space::Global(Access::Read));
    let written = written.next().map(|(memory, array)| (&memory.name[..], &array.shape[..]));
    let nature = template.nature();
    let field = Field::new(&kernel.name, nature, threads, written).expect("threads that can be laid out");
    if field.is_empty() {
        return None;
    }
    let to = Destination::Threads { block: field.block, exact: nature.free, folded: false };
    let made = KernelRoad::to(to).end(&template).expect("the road of threads has no end");
    let value = |name: &str| case.sizes.iter().find(|(known, _)| known == name).map_or(0, |(_, n)| *n);
    let extents = kernel.sizes[LAUNCH_SIZES..].iter().map(|decl| value(&decl.name));
    let sizes: Vec<u64> = field.grid.into_iter().chain(field.threads).chain(extents).collect();
    // Narrow code is given sizes in 32 bits.
    if sizes.iter().any(|&size| size > i32::MAX as u64) {
        return None;
    }
    // Constants in their places, and behind all a memory for faults, if the kernel tells them.
    let all = made.memories.iter().filter(|memory| memory.space.is_bound()).count();
    let bound = kernel.memories.iter().filter(|memory| memory.space.is_bound());
    memories = bound.zip(&case.args).map(|(_, arg)| devices::as_array(arg)).collect();
    if all > memories.len() {
        memories.push(array(Ty::I32, &[report::WORDS as u64], |_| 0));
    }
    Some((made, sizes, memories, scalars))
}

/// The kernels of the corpus with the arguments of their cases; those without a launch are shaped for the case's threads.
fn corpus_kernels() -> Vec<Launched> {
    let (mut kernels, mut launches) = (vec![], vec![]);
    for path in files() {
        let text = std::fs::read_to_string(&path).expect("a file of the corpus");
        let (module, cases) = parse_file(&text).expect("a file of the corpus");
        for case in &cases {
            let Subject::Kernel(name) = &case.subject else { continue };
            let kernel = module.kernels.iter().find(|k| k.name == *name).expect("the case's kernel");
            if let Some(threads) = case.launch {
                if case.fails.is_none() {
                    launches.extend(shaped(kernel, threads, case));
                }
                continue;
            }
            let value = |name: &str| case.sizes.iter().find(|(known, _)| known == name).map_or(0, |(_, n)| *n);
            let sizes = kernel.sizes.iter().map(|decl| value(&decl.name)).collect();
            let (mut memories, mut scalars) = (vec![], vec![]);
            for arg in &case.args {
                match arg {
                    Value::Array(array) => memories.push(array.clone()),
                    Value::Scalar(scalar) => scalars.push(*scalar),
                }
            }
            kernels.push((kernel.clone(), sizes, memories, scalars));
        }
    }
    kernels.into_iter().chain(launches).collect()
}
