//! Woven kernels on this machine: built into a library, run by a small driver.

use crate::Case;
use slyz_sir::back::c;
use slyz_sir::interp::Array;
use slyz_sir::kernel::{Kernel, Space};
use slyz_sir::size::Size;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The flags of real kernels, and every warning an error.
const FLAGS: &str = "-O2 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -fwrapv -fPIC -shared -nostdlib \
                     -Wno-psabi -Wall -Wextra -Wno-unused-function -Wno-unused-variable -Wno-unused-parameter -Wno-maybe-uninitialized \
                     -Wno-uninitialized -Werror -Wl,-z,defs";

const DRIVER: &str = r#"
// Memory that ends with its last byte, for the sanitizer to see.
static void *room(long bytes) {
    void *p;
    return posix_memalign(&p, 64, bytes) ? (exit(5), p) : memset(p, 0xa5, bytes);
}

static void *take(FILE *in, long bytes) {
    void *p = room(bytes);
    if (bytes && fread(p, 1, bytes, in) != (unsigned long)bytes) exit(4);
    return p;
}

int main(int argc, char **argv) {
    FILE *in = argc == 3 ? fopen(argv[1], "rb") : 0, *out = argc == 3 ? fopen(argv[2], "wb") : 0;
    if (!in || !out) return 2;
    for (unsigned k = 0; k < sizeof KERNELS / sizeof *KERNELS; k++) {
        long head[5], bytes[64];
        if (fread(head, sizeof *head, 5, in) != 5) return 3;
        void *memories[64], *scratch[64];
        for (int j = 0; j < head[0]; j++) {
            if (fread(bytes + j, sizeof *bytes, 1, in) != 1) return 3;
            memories[j] = take(in, bytes[j]);
        }
        for (int j = 0; j < head[1]; j++) {
            long size;
            if (fread(&size, sizeof size, 1, in) != 1) return 3;
            scratch[j] = room(size);
        }
        void *scalars = take(in, head[2] * 8), *sizes = take(in, head[3] * 8);
        KERNELS[k](memories, scratch, scalars, sizes, 0, head[4] / 2);
        KERNELS[k](memories, scratch, scalars, sizes, head[4] / 2, head[4]);
        for (int j = 0; j < head[0]; j++) fwrite(memories[j], 1, bytes[j], out);
        for (int j = 0; j < head[0]; j++) free(memories[j]);
        for (int j = 0; j < head[1]; j++) free(scratch[j]);
        free(scalars), free(sizes);
    }
    return fclose(out);
}
"#;

/// A folder of this process: several may try seeds at once.
fn folder(name: &str) -> PathBuf {
    let name = format!("{name}-{}", std::process::id());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("weave").join(name);
    std::fs::create_dir_all(&folder).expect("the build directory is writable");
    folder
}

fn cc(folder: &Path, arguments: &[&str]) {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let output = Command::new(&compiler).args(arguments).current_dir(folder).stdin(Stdio::null()).output();
    let output =
        output.unwrap_or_else(|error| panic!("these tests need a C compiler: cannot run `{compiler}`: {error}"));
    let said: String = String::from_utf8_lossy(&output.stderr).chars().take(4000).collect();
    assert!(output.status.success(), "{compiler} in {}: {said}", folder.display());
}

/// Runs the kernels under AddressSanitizer, which ends the driver where one goes outside of a memory. Where there is none this is
/// skipped, unless `SLYZ_REQUIRE_SANITIZER=1`.
pub fn stays_inside(name: &str, cases: &[Case], kernels: &[Kernel], wide: bool) {
    if !slyz_trials::has_sanitizer() {
        return;
    }
    let folder = write(name, kernels, wide);
    let flags =
        FLAGS.split_whitespace().filter(|flag| !matches!(*flag, "-O2" | "-shared" | "-nostdlib" | "-Wl,-z,defs"));
    let flags = flags.chain(["-O1", "-g1", "-w", "-fsanitize=address", "driver.c", "kernels.c", "-o", "driver"]);
    cc(&folder, &flags.collect::<Vec<_>>());
    drive(&folder, cases, kernels);
}

/// Writes the kernels and their driver.
fn write(name: &str, kernels: &[Kernel], wide: bool) -> PathBuf {
    let folder = folder(name);
    let source = c::emit_kernels(kernels, wide).unwrap_or_else(|error| panic!("{name}: {error}"));
    std::fs::write(folder.join("kernels.c"), source).expect("the folder is writable");
    let mut driver = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n".to_string();
    driver += "typedef void run(void *const *, void *const *, const void *, const void *, long, long);\n";
    (0..kernels.len()).for_each(|k| driver += &format!("run slyz_kernel_{k};\n"));
    let list: Vec<String> = (0..kernels.len()).map(|k| format!("slyz_kernel_{k}")).collect();
    driver += &format!("static run *const KERNELS[] = {{{}}};\n{DRIVER}", list.join(", "));
    std::fs::write(folder.join("driver.c"), driver).expect("the folder is writable");
    folder
}

/// The memories of each case after its kernel.
pub fn run(name: &str, cases: &[Case], kernels: &[Kernel], wide: bool) -> Vec<Vec<Array>> {
    let folder = write(name, kernels, wide);
    // Compilers make calls of `memset` out of loops; whoever loads a library has that.
    let flags: Vec<&str> = FLAGS.split_whitespace().chain(["kernels.c", "-lc", "-o", "libkernels.so"]).collect();
    cc(&folder, &flags);
    cc(&folder, &["-O1", "driver.c", "libkernels.so", "-Wl,-rpath,$ORIGIN", "-o", "driver"]);
    let output = drive(&folder, cases, kernels);
    let mut rest = &output[..];
    let mut read = |array: &Array| {
        let width = array.ty.bytes();
        let (own, tail) = rest.split_at(width * array.data.len());
        rest = tail;
        let word = |chunk: &[u8]| chunk.iter().rev().fold(0u64, |bits, &b| bits << 8 | u64::from(b));
        Array { data: own.chunks(width).map(word).collect(), ..array.clone() }
    };
    cases.iter().map(|case| case.memories.iter().map(&mut read).collect()).collect()
}

/// Runs the driver; gives what it wrote.
fn drive(folder: &Path, cases: &[Case], kernels: &[Kernel]) -> Vec<u8> {
    let input: Vec<u8> = cases.iter().zip(kernels).flat_map(|(case, kernel)| words(case, kernel)).collect();
    std::fs::write(folder.join("input"), input).expect("the folder is writable");
    let done = Command::new(folder.join("driver")).args(["input", "output"]).current_dir(folder).output();
    let done = done.expect("the driver starts");
    let said: String = String::from_utf8_lossy(&done.stderr).chars().take(4000).collect();
    assert!(done.status.success(), "the driver in {} failed: {}\n{said}", folder.display(), done.status);
    let written = std::fs::read(folder.join("output")).expect("the driver wrote its results");
    std::fs::remove_dir_all(folder).expect("the folder is ours");
    written
}

/// A case as the driver reads it.
fn words(case: &Case, kernel: &Kernel) -> Vec<u8> {
    let sizes = case.sizes();
    let value = |size: &Size| size.eval(&|v| sizes.get(v.0 as usize).copied()).expect("the sizes have values");
    let scratch: Vec<u64> = kernel
        .memories
        .iter()
        .filter(|m| m.space == Space::Scratch)
        .map(|m| m.shape.iter().map(value).product::<u64>() * m.ty.bytes() as u64)
        .collect();
    let blocks: u64 = kernel.grid.iter().map(value).product();
    let mut bytes = vec![];
    let word = |x: u64, bytes: &mut Vec<u8>| bytes.extend(x.to_le_bytes());
    let lists = [case.memories.len(), scratch.len(), case.scalars.len(), sizes.len() + 1];
    lists.iter().for_each(|&x| word(x as u64, &mut bytes));
    word(blocks, &mut bytes);
    for array in &case.memories {
        let width = array.ty.bytes();
        word((width * array.data.len()) as u64, &mut bytes);
        array.data.iter().for_each(|bits| bytes.extend(&bits.to_le_bytes()[..width]));
    }
    scratch.iter().for_each(|&x| word(x, &mut bytes));
    case.scalars.iter().for_each(|x| word(x.bits, &mut bytes));
    sizes.iter().for_each(|&x| word(x, &mut bytes));
    // Stores go past the caches, to have that tested, too.
    word(1, &mut bytes);
    bytes
}
