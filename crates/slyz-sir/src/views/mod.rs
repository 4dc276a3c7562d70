//! Programs whose arguments lie in memory in another order, views, and the kernel that puts a result into one.
//!
//! A program knows nothing of strides. [`stored`] writes them into it: an argument that lies otherwise becomes the memory behind it and the numbers
//! of its [`Storage`], and the array is a `tabulate` that reads it there, which fusion moves into whoever reads the array. So strides are
//! arguments of kernels, nothing is copied, and every device and the interpreter take views alike.

mod order;
mod put;
mod tiled;

pub use put::putting;
pub use tiled::{TILE, tiled};

use crate::code::{Body, Function, Id, Op, Stmt, Type, Var};
use crate::kernel::{Access, Kernel, Memory, Space};
use crate::launch::{LAUNCH_SIZES, Template};
use crate::meaning::has_raw;
use crate::names::Names;
use crate::ops::Operator;
use crate::pass;
use crate::program::Program;
use crate::size::{Size, SizeDecl, SizeOrigin, SizeVar};
use crate::types::Ty;
use crate::write::{Lines, Write};

/// How an array lies in memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Storage {
    /// Row by row, one element behind the other: as programs have arrays.
    Rows,
    /// The same with the axes in another order: axis `k` of the memory is axis `order[k]` of the array.
    Turned(Vec<usize>),
    /// At distances that the call tells, from an offset that it tells as well.
    Strided(Vec<Distance>),
    /// Tile by tile, each row by row; tiles at the far edges are as large as the others. The extents of a tile are at least 1.
    Tiled(Vec<u64>),
}

/// How far an element is from the next one along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Distance {
    /// All of them are the same element.
    None,
    /// They are neighbours.
    One,
    /// An argument of the call tells.
    Any,
}

impl Storage {
    /// How many numbers an array that lies like this brings along: the offset, and each distance that is told.
    pub fn numbers(&self) -> usize {
        match self {
            Storage::Rows | Storage::Turned(_) | Storage::Tiled(_) => 0,
            Storage::Strided(distances) => 1 + distances.iter().filter(|&&distance| distance == Distance::Any).count(),
        }
    }
}

/// How the arrays of a program lie where a call tells every distance: code of this form takes all views but tiles. In the `near` one elements are
/// neighbours along the last axis, which is faster.
pub fn told(program: &Program, near: bool) -> Vec<Storage> {
    let lies = |param: &Var| match param.ty.shape().len() {
        0 => Storage::Rows,
        axes => {
            let mut distances = vec![Distance::Any; axes];
            if near {
                distances[axes - 1] = Distance::One;
            }
            Storage::Strided(distances)
        }
    };
    program.body.params.iter().map(lies).collect()
}

/// Do elements of an array that lies like this have neighbours along its last axis, whatever its extents are?
fn is_near(storage: &Storage) -> bool {
    match storage {
        Storage::Rows => true,
        Storage::Turned(order) => order.last().is_some_and(|&axis| axis + 1 == order.len()),
        Storage::Strided(distances) => distances.last() == Some(&Distance::One),
        Storage::Tiled(_) => false,
    }
}

/// The form of [`told`] for arguments that lie like this; `None` where one is in tiles.
pub fn told_for(program: &Program, storages: &[Storage]) -> Option<Vec<Storage>> {
    let is_tiled = |storage: &Storage| matches!(storage, Storage::Tiled(_));
    (!storages.iter().any(is_tiled)).then(|| told(program, storages.iter().all(is_near)))
}

/// The program over arguments that lie like this, one [`Storage`] for each parameter, `Rows` for scalars.
///
/// A parameter that is strided has one axis, whose extent is a new size variable, and is followed by its numbers, which are `i64`. Those
/// variables stand behind all others, in the order of their parameters.
pub fn stored(program: &Program, storages: &[Storage]) -> Program {
    let mut program = program.clone();
    let mut params = Params { lines: Lines::new(program.fresh_ids()), sizes: program.sizes, params: vec![] };
    for (param, storage) in program.body.params.into_iter().zip(storages) {
        params.argument(param, storage);
    }
    let mut stmts = params.lines.take();
    stmts.append(&mut program.body.stmts);
    program.body = Body { params: params.params, stmts, ..program.body };
    program.sizes = params.sizes;
    // Which form of a raw kernel runs is not decided yet, and passes would take what it means.
    if has_raw(&program.body) {
        return program;
    }
    // What is read of a view is seen when it is where it is read.
    order::of_memory(pass::optimize(&program))
}

/// Parameters, and the statements that read them.
struct Params {
    lines: Lines,
    sizes: Vec<SizeDecl>,
    params: Vec<Var>,
}

/// Memory that an array lies in, and how.
struct Stored<'l> {
    array: Id,
    storage: &'l Storage,
    /// What the call tells: the offset and distances.
    numbers: Vec<Id>,
}

impl Params {
    /// A parameter for the memory of an array, and those for its numbers.
    fn memory<'l>(&mut self, ty: &Type, storage: &'l Storage) -> Stored<'l> {
        let shape = match storage {
            Storage::Rows => ty.shape().to_vec(),
            Storage::Turned(order) => order.iter().filter_map(|&axis| ty.shape().get(axis).cloned()).collect(),
            Storage::Strided(_) => vec![Size::Var(new_size(&mut self.sizes))],
            Storage::Tiled(tile) => {
                let tiles =
                    ty.shape().iter().zip(tile).map(|(size, &extent)| Size::CeilDiv(size.clone().into(), extent));
                tiles.chain(tile.iter().map(|&extent| Size::Const(extent))).collect()
            }
        };
        let array = self.lines.fresh();
        self.params.push(Var { id: array, ty: Type::Array(ty.elem(), shape) });
        let numbers: Vec<Var> = (0..storage.numbers()).map(|_| self.lines.var(Ty::I64)).collect();
        let ids = numbers.iter().map(|number| number.id).collect();
        self.params.extend(numbers);
        Stored { array, storage, numbers: ids }
    }

    /// Puts the array that the program means behind a parameter that lies otherwise.
    fn argument(&mut self, param: Var, storage: &Storage) {
        if *storage == Storage::Rows {
            self.params.push(param);
            return;
        }
        let memory = self.memory(&param.ty, storage);
        let elem = param.ty.elem();
        let places = vec![Ty::I64; param.ty.shape().len()];
        let body = self.lines.nested(&places, |w, position| {
            let index = memory.place(w, position);
            vec![w.push(Op::At { array: memory.array, index }, elem)]
        });
        let shape = param.ty.shape().to_vec();
        self.lines.out().push(Stmt { binds: vec![param], op: Op::Tabulate { shape, body } });
    }
}

impl Stored<'_> {
    /// Where in the memory the element at a position of the array is.
    fn place(&self, w: &mut Lines, position: &[Id]) -> Vec<Id> {
        match self.storage {
            Storage::Rows => position.to_vec(),
            Storage::Turned(order) => order.iter().filter_map(|&axis| position.get(axis).copied()).collect(),
            Storage::Strided(distances) => {
                let mut numbers = self.numbers.iter().copied();
                let mut place = numbers.next();
                for (&at, distance) in position.iter().zip(distances) {
                    let steps = match distance {
                        Distance::None => continue,
                        Distance::One => at,
                        Distance::Any => match numbers.next() {
                            Some(stride) => w.apply(Operator::Mul, &[at, stride], Ty::I64),
                            None => continue,
                        },
                    };
                    place = Some(match place {
                        Some(before) => w.apply(Operator::Add, &[before, steps], Ty::I64),
                        None => steps,
                    });
                }
                place.into_iter().collect()
            }
            Storage::Tiled(tile) => {
                let in_tiles = |w: &mut Lines, operator: Operator| -> Vec<Id> {
                    let mut part = |(&at, &extent): (&Id, &u64)| {
                        let extent = w.number(extent as i64);
                        w.apply(operator, &[at, extent], Ty::I64)
                    };
                    position.iter().zip(tile).map(&mut part).collect()
                };
                let mut place = in_tiles(w, Operator::Div);
                place.extend(in_tiles(w, Operator::Rem));
                place
            }
        }
    }
}

/// A size variable for the elements of a memory.
fn new_size(sizes: &mut Vec<SizeDecl>) -> SizeVar {
    let names = (0..).map(|k| format!("Memory{k}"));
    let free = |name: &String| sizes.iter().all(|size| size.name != *name);
    let name = names.into_iter().find(free).unwrap_or_default();
    sizes.push(SizeDecl { name, origin: SizeOrigin::Given });
    SizeVar(sizes.len() as u32 - 1)
}

/// A kernel for any launch, with so many extents of memories behind the sizes that all launches have.
fn kernel(
    name: &str,
    extents: &[&str],
    memories: Vec<Memory>,
    functions: Vec<Function>,
    names: Names,
    body: Body,
) -> Template {
    let launch = "grid_x grid_y grid_z threads_x threads_y threads_z".split(' ');
    let size = |name: &str| SizeDecl { name: name.to_string(), origin: SizeOrigin::Given };
    let blocks = |axis: u32| Size::Var(SizeVar(axis));
    let kernel = Kernel {
        name: name.to_string(),
        sizes: launch.chain(extents.iter().copied()).map(size).collect(),
        memories,
        functions,
        grid: [blocks(0), blocks(1), blocks(2)],
        block: [1, 1, 1],
        precision: None,
        product: None,
        raw: None,
        as_written: false,
        names,
        body,
    };
    Template { kernel, constants: vec![] }
}

/// A memory that a launch binds, over these extents of the kernel.
fn bound(name: &str, ty: Ty, access: Access, extents: &[usize]) -> Memory {
    let extent = |&number: &usize| Size::Var(SizeVar((LAUNCH_SIZES + number) as u32));
    Memory { name: name.to_string(), ty, space: Space::Global(access), shape: extents.iter().map(extent).collect() }
}
