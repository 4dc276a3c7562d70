//! The memories of a kernel and its sizes, in the order that launchers rely on.
//!
//! Sizes: `grid_x … threads_z`, then the extents of the tensors. Memories: the tensors, then constant arrays, then arrays of blocks and threads.
//! Constant arrays have constant shapes and so no size variables.
//!
//! An array belongs to the function that declares it and exists once, however often that function is called: nothing is called
//! while it runs, and an array of a thread is filled where it is declared. One of a block is one per block, as its keyword
//! says: two calls in a row are like two turns of a loop around a call, and want the same barriers.

use super::reach::Reached;
use crate::typed::{ArrayId, Function, FunctionId, Home, ParamKind, Program};
use slyz_sir::code::MemId;
use slyz_sir::kernel::{Access, Memory, Space};
use slyz_sir::size::{Size, SizeDecl, SizeOrigin, SizeVar};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What a kernel stands on.
#[derive(Debug, Default)]
pub(super) struct Memories {
    pub(super) sizes: Vec<SizeDecl>,
    pub(super) memories: Vec<Memory>,
    /// The elements of the constant ones.
    pub(super) constants: Vec<Vec<u64>>,
    /// Where the arrays of functions are.
    pub(super) arrays: HashMap<(FunctionId, ArrayId), MemId>,
}

/// The memories of a kernel that starts at `root`.
pub(super) fn memories(program: &Program, reached: &BTreeMap<FunctionId, Reached>, root: FunctionId) -> Memories {
    let mut all = Memories::default();
    for name in ["grid_x", "grid_y", "grid_z", "threads_x", "threads_y", "threads_z"] {
        all.size(name.into());
    }
    let mut names = Names::default();
    if let Some(function) = program.functions.get(root.0 as usize) {
        all.tensors(function, &mut names);
    }
    // The kernel's own arrays have the first choice of names.
    let others = reached.keys().copied().filter(|&id| id != root);
    let functions: Vec<FunctionId> = [root].into_iter().chain(others).collect();
    for wanted in [is_constant, is_threadgroup, is_thread] {
        for &id in &functions {
            let Some(function) = program.functions.get(id.0 as usize) else { continue };
            all.arrays(id, function, wanted, &mut names);
        }
    }
    all
}

fn is_constant(home: &Home) -> bool {
    matches!(home, Home::Constant(_))
}

fn is_threadgroup(home: &Home) -> bool {
    matches!(home, Home::Threadgroup)
}

fn is_thread(home: &Home) -> bool {
    matches!(home, Home::Thread)
}

impl Memories {
    fn size(&mut self, name: String) -> Size {
        self.sizes.push(SizeDecl { name, origin: SizeOrigin::Given });
        Size::Var(SizeVar(self.sizes.len() as u32 - 1))
    }

    fn tensors(&mut self, function: &Function, names: &mut Names) {
        for param in &function.params {
            let ParamKind::Tensor { elem, rank, flat, mutable } = param.kind else { continue };
            let name = names.unique(&param.name);
            let shape = match flat {
                true => vec![self.size(format!("{name}_len"))],
                false => (0..rank).map(|axis| self.size(format!("{name}_{axis}"))).collect(),
            };
            let access = if mutable { Access::ReadWrite } else { Access::Read };
            self.memories.push(Memory { name, ty: elem, space: Space::Global(access), shape });
        }
    }

    fn arrays(&mut self, id: FunctionId, function: &Function, wanted: fn(&Home) -> bool, names: &mut Names) {
        for (array, at) in function.arrays.iter().zip(0..).filter(|(array, _)| wanted(&array.home)) {
            let space = match &array.home {
                Home::Thread => Space::Local,
                Home::Threadgroup => Space::Shared,
                Home::Constant(elements) => {
                    self.constants.push(elements.iter().map(|element| element.bits).collect());
                    Space::Constant
                }
            };
            let shape = array.shape.iter().map(|&extent| Size::Const(extent)).collect();
            self.arrays.insert((id, ArrayId(at)), MemId(self.memories.len() as u32));
            self.memories.push(Memory { name: names.unique(&array.name), ty: array.elem, space, shape });
        }
    }
}

/// Names given so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// The name as SIR can spell it, with a number behind it if it is taken.
    pub(super) fn unique(&mut self, name: &str) -> String {
        let name = legal(name);
        let numbered = (2..).map(|k| format!("{name}_{k}"));
        let free = [name.clone()].into_iter().chain(numbered).find(|name| !self.taken.contains(name));
        let free = free.unwrap_or(name);
        self.taken.insert(free.clone());
        free
    }
}

/// The name with letters, digits and `_` of ASCII only.
pub(super) fn legal(name: &str) -> String {
    let letters = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let first = name.chars().next().is_none_or(|c| c.is_ascii_digit());
    first.then_some('_').into_iter().chain(letters).collect()
}
