//! What a lowering chooses where several choices are right, and only the clock knows which is best.
//!
//! Every choice gives a plan that means the same. The usual one is what a model of the machine says; others can be
//! [tried](Choice::candidates), and steps can be left out by the names that people know them by.

use crate::pass::Selection;
use std::fmt;

/// Choices of a lowering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    /// Maps that read across memory are cut into tiles.
    pub tiling: bool,
    /// Products of matrices are recognised, packed and blocked.
    pub matmul: bool,
    /// Wide accesses, and rows that threads keep.
    pub memory: bool,
    /// Pieces of work are larger by so many powers of two, smaller where it is negative.
    pub pieces: i32,
    /// Threads of a block, on machines that have threads.
    pub threads: u32,
    /// Rows and columns of a product that a thread makes at most, there.
    pub product: u64,
}

/// Steps of a lowering that can be left out, by name.
pub const STEPS: [&str; 3] = ["tiling", "memory", "matmul"];

impl Choice {
    /// What the model says.
    pub const USUAL: Choice = Choice { tiling: true, matmul: true, memory: true, pieces: 0, threads: 256, product: 8 };

    /// The choices that are worth a try, the usual one first; for machines of threads or of cores.
    ///
    /// ```
    /// use slyz_sir::lower::Choice;
    /// assert_eq!(Choice::candidates(true)[0], Choice::USUAL);
    /// assert!(Choice::candidates(false).iter().any(|choice| choice.to_string() == "without tiling"));
    /// ```
    pub fn candidates(has_threads: bool) -> Vec<Choice> {
        let usual = Choice::USUAL;
        let mut all = vec![
            usual,
            Choice { pieces: -2, ..usual },
            Choice { pieces: 2, ..usual },
            Choice { tiling: false, ..usual },
            Choice { matmul: false, ..usual },
        ];
        if has_threads {
            all.extend([128, 512].map(|threads| Choice { threads, ..usual }));
            all.push(Choice { product: 4, ..usual });
            all.push(Choice { memory: false, ..usual });
        }
        all
    }

    /// Without the steps that are left out.
    pub(crate) fn with(self, selection: &Selection) -> Choice {
        let [tiling, memory, matmul] = STEPS.map(|step| selection.has(step));
        Choice { tiling: self.tiling && tiling, memory: self.memory && memory, matmul: self.matmul && matmul, ..self }
    }

    /// A piece of work of usually so many elements.
    pub(super) fn piece(&self, usual: u64) -> u64 {
        if self.pieces < 0 { (usual >> -self.pieces).max(1) } else { usual << self.pieces }
    }
}

/// What is unusual about it.
impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let usual = Choice::USUAL;
        let mut said = vec![];
        let without = [(self.tiling, "tiling"), (self.memory, "memory"), (self.matmul, "matmul")];
        said.extend(without.iter().filter(|(has, _)| !has).map(|(_, step)| format!("without {step}")));
        if self.pieces != usual.pieces {
            let times = 1u64 << self.pieces.unsigned_abs();
            let than = if self.pieces < 0 { "smaller" } else { "larger" };
            said.push(format!("pieces {times} times {than}"));
        }
        if self.threads != usual.threads {
            said.push(format!("blocks of {} threads", self.threads));
        }
        if self.product != usual.product {
            said.push(format!("products of {0} × {0} a thread", self.product));
        }
        if said.is_empty() { f.write_str("usual") } else { f.write_str(&said.join(", ")) }
    }
}
