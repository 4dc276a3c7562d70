//! C for CPUs: explicit vectors, one logical thread per lane.
//!
//! [`emit`] turns a plan into one C file with an exported function per kernel. The file includes nothing and carries
//! exactly the part of the [`prelude`] that it uses. Vectors are those of the GCC and Clang vector extensions, as wide
//! as the machine's registers; the width is chosen by the C preprocessor.
//!
//! What it does not do: call a compiler, schedule blocks over threads (both are the device's), or run kernels with
//! several threads to a block.

mod atomic;
mod control;
mod expr;
mod fold;
mod function;
mod inside;
mod kernel;
mod lanes;
mod lines;
mod local;
mod mathematics;
mod memory;
mod pack;
mod prefixes;
pub mod prelude;
mod raw;
mod serial;
mod share;
mod steady;
mod tile;
mod value;
mod wanted;
mod writer;

pub use raw::raw_files;
pub use share::files;

use super::EmitError;
use crate::kernel::{Kernel, Plan};
use crate::raw::RawCode;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::LazyLock;

/// A C file under construction.
#[derive(Default)]
struct File {
    items: Vec<String>,
    /// Shared functions that are written, by their SIR names.
    functions: HashMap<String, String>,
    taken: BTreeSet<String>,
    /// The number behind the last name that was given for one asked for.
    numbers: HashMap<String, usize>,
    /// C names of memories, which functions must not have.
    memories: BTreeSet<String>,
    lanes_64: bool,
}

impl File {
    /// A C name for a part of a kernel.
    fn function_name(&mut self, kernel: &str, part: &str) -> String {
        let stem: String = kernel.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        self.free_name(&format!("{stem}_{part}"))
    }

    /// C names for the memories of a kernel: their own, where nothing else can be meant.
    fn memory_names(&mut self, kernel: &Kernel) -> Vec<String> {
        let sizes: BTreeSet<String> = kernel.sizes.iter().map(|s| size_name(&s.name)).collect();
        let (mut names, mut own): (Vec<String>, HashSet<String>) = (vec![], HashSet::new());
        for memory in &kernel.memories {
            let taken = |name: &str| {
                let elsewhere = sizes.contains(name) || self.taken.contains(name) || name.starts_with("slyz_kernel_");
                let marked = name.strip_prefix("arg").is_some_and(|k| k.bytes().all(|b| b.is_ascii_digit()));
                let defined = name.starts_with("__") || prelude::defines(name);
                elsewhere || marked || defined || is_word(name) || is_local(name) || own.contains(name)
            };
            let numbered = (2..).map(|k| format!("{}_mem{k}", memory.name));
            let tried = [memory.name.clone(), format!("{}_mem", memory.name)].into_iter().chain(numbered);
            let found = { tried }.find(|name| !taken(name));
            own.extend(found.clone());
            names.extend(found);
        }
        self.memories.extend(names.iter().cloned());
        names
    }

    /// The name itself, or one like it that nobody has.
    fn free_name(&mut self, asked: &str) -> String {
        let asked = if is_reserved(asked) { format!("{asked}_fn") } else { asked.to_string() };
        let number = self.numbers.entry(asked.clone()).or_insert(0);
        // The numbers before the last one are taken.
        let name = loop {
            *number += 1;
            let name = if *number == 1 { asked.clone() } else { format!("{asked}{number}") };
            if !self.taken.contains(&name) && !self.memories.contains(&name) {
                break name;
            }
        };
        self.taken.insert(name.clone());
        name
    }
}

/// Names that mean something in C or in the prelude, or might in code of lanes.
fn is_reserved(name: &str) -> bool {
    // Local names are a short stem and a number.
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let looks_local = stem.len() <= 2 || stem.len() <= 5 && stem != name;
    looks_local || is_word(name)
}

/// Names that the writer gives by itself: `CWriter::fresh`, and those of the first turn and of counts of lanes.
fn is_local(name: &str) -> bool {
    const STEMS: [&str; 13] = ["end", "fold", "j", "k", "l", "m", "on", "r", "s", "t", "tile", "v", "x"];
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    matches!(name, "c" | "i" | "j" | "m" | "n" | "r" | "s" | "u" | "w") || stem != name && STEMS.contains(&stem)
}

/// Names that mean something in C or in the prelude.
fn is_word(name: &str) -> bool {
    static ALL: LazyLock<HashSet<&str>> = LazyLock::new(|| WORDS.split_whitespace().chain(prelude::names()).collect());
    const WORDS: &str = "auto break case char const continue default do double else enum extern float for goto if \
        inline int long register restrict return short signed sizeof static struct switch typedef typeof union \
        unsigned void volatile while asm main block block_x block_y block_z grid_x grid_y past memories scratch scalars sizes begin end lo hi at live W BYTES FN \
        RARE KEPT VECTOR HAS KNOWS EACH WAYS ROOM AVX512 HAS_FMA LANES_64 i8 u8 i16 u16 i32 u32 i64 u64 f32 f64 f16 bf16 u128";
    ALL.contains(name)
}

/// The C name of a size variable: its own, where no local name or macro can be meant.
fn size_name(name: &str) -> String {
    let free =
        name.starts_with(|c: char| c.is_ascii_uppercase()) && (name.len() <= 2 || !is_reserved(name)) && name != "W";
    if free && name != "FN" { name.to_string() } else { format!("{name}_size") }
}

/// The C file of a plan. Kernel number `k` is `slyz_kernel_k`:
///
/// ```c
/// void slyz_kernel_0(void *const *memories, void *const *scratch, const u64 *scalars, const i64 *sizes, i64 begin, i64 end);
/// ```
///
/// It runs the blocks `begin..end` of the grid. `memories` are the global and constant memories in order, `scratch` the
/// scratch memories, private to the caller; `sizes` are the size variables, and behind them one more number: not 0 if
/// results should go past the caches. Kernels that are equal but for names and sizes share their code. Code that is not `wide` holds positions in 32-bit lanes: it is right only for calls where every
/// buffer has fewer than 2^31 elements and every extent is below 2^30.
pub fn emit(plan: &Plan, wide: bool) -> Result<String, EmitError> {
    emit_kernels(&plan.kernels, wide)
}

/// The C file of some kernels, as [`emit`] writes it for those of a plan.
pub fn emit_kernels(kernels: &[Kernel], wide: bool) -> Result<String, EmitError> {
    if let [Kernel { raw: Some(code), .. }] = kernels {
        return raw::file(&kernels[0], code, 0);
    }
    // To be read: what is compiled has a file for each ([`files`]).
    written(kernels, wide, &|number, kernel, code| raw::file(kernel, code, number))
}

/// The C file of those kernels that nobody wrote in C, by their numbers; [`raw_files`] has the others.
pub fn emit_ours(kernels: &[Kernel], wide: bool) -> Result<String, EmitError> {
    written(kernels, wide, &|_, _, _| Ok(String::new()))
}

fn written(
    kernels: &[Kernel],
    wide: bool,
    raw: &dyn Fn(usize, &Kernel, &RawCode) -> Result<String, EmitError>,
) -> Result<String, EmitError> {
    let mut file = File::default();
    let alike = share::alike(kernels);
    // The C names of code that several kernels share, by the first of them.
    let mut shared: HashMap<usize, String> = HashMap::new();
    for (number, kernel) in kernels.iter().enumerate() {
        if let Some(code) = &kernel.raw {
            file.items.push(raw(number, kernel, code)?);
            continue;
        }
        let first = alike[number].first;
        let exported = format!("void slyz_kernel_{number}");
        let copies = alike.iter().filter(|other| other.first == first).count();
        if copies == 1 {
            writer::CWriter::new(&mut file, kernel, wide).kernel(&exported)?;
            continue;
        }
        if first == number {
            let name = file.function_name(&kernel.name, "blocks");
            let head = format!("static __attribute__((noinline)) void {name}");
            shared.insert(number, name);
            writer::CWriter::new(&mut file, kernel, wide).kernel(&head)?;
        }
        let text = share::call(kernel, &exported, &shared[&first], &alike[number], &kernels[first]);
        file.items.push(text);
    }
    let code = file.items.join("\n");
    Ok(format!("{}\n{code}", prelude::emit_for(&code, file.lanes_64)))
}
