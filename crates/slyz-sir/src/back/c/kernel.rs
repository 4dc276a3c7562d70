//! The C function of a kernel: what a launch passes to it, and the loop over blocks around its body.

use super::EmitError;
use super::lines::{Code, Line, line};
use super::value::{Value, memory_type, scalar_type};
use super::writer::{CWriter, PAST};
use crate::back::tree::{Infix, Tree};
use crate::kernel::{Access, Space};
use crate::size::Size;
use crate::types::Ty;
use std::collections::HashSet;

/// The parameters of the function of a kernel.
pub(super) const PARAMETERS: &str =
    "void *const *memories, void *const *scratch, const u64 *scalars, const i64 *sizes, i64 begin, i64 end";

/// A variable at the head of a function, which is dropped where nothing mentions it.
struct Declared {
    name: String,
    line: Line,
}

impl CWriter<'_> {
    /// Do the blocks lie along one axis?
    fn is_row(&self) -> bool {
        self.kernel.grid[1..].iter().all(|size| *size == Size::Const(1))
    }

    /// The place of the block along each axis.
    pub(super) fn block_names(&self) -> [Tree; 3] {
        if self.is_row() {
            [Tree::name("block"), Tree::int(0), Tree::int(0)]
        } else {
            ["block_x", "block_y", "block_z"].map(Tree::name)
        }
    }

    /// The pointers to the memories of the kernel.
    fn pointers(&mut self, head: &mut Vec<Declared>) -> Result<(), EmitError> {
        let kernel = self.kernel;
        let (mut globals, mut scratches) = (0, 0);
        for (k, memory) in kernel.memories.iter().enumerate() {
            let ty = memory_type(memory.ty);
            let name = self.memories[k].clone();
            let (pointer, from) = match memory.space {
                Space::Global(Access::Read) | Space::Constant => {
                    globals += 1;
                    (format!("const {ty} *restrict {name}"), format!("memories[{}]", globals - 1))
                }
                Space::Global(_) => {
                    globals += 1;
                    (format!("{ty} *restrict {name}"), format!("memories[{}]", globals - 1))
                }
                Space::Scratch => {
                    scratches += 1;
                    (format!("{ty} *restrict {name}"), format!("scratch[{}]", scratches - 1))
                }
                // An array of each lane, where it is used.
                Space::Local => continue,
                Space::Shared => return Err(EmitError::Threads(kernel.name.clone())),
            };
            self.declare_at_head(head, name, pointer, from);
        }
        Ok(())
    }

    /// A variable at the head of the function: the line and the name, for code of lanes.
    fn declare_at_head(&mut self, head: &mut Vec<Declared>, name: String, declaration: String, value: impl Into<Line>) {
        self.declare(&name, declaration.clone());
        head.push(Declared { name, line: line![declaration, " = ", value.into(), ";"] });
    }

    /// The sizes and scalars of the kernel.
    fn parameters(&mut self, head: &mut Vec<Declared>) {
        let kernel = self.kernel;
        for (k, size) in kernel.sizes.iter().enumerate() {
            let name = super::size_name(&size.name);
            let declaration = format!("i64 {name}");
            self.declare_at_head(head, name, declaration, format!("sizes[{k}]"));
        }
        for (k, param) in kernel.body.params.iter().enumerate() {
            let name = kernel.names.letters(param.id);
            let name = name.map_or(format!("arg{k}"), |name| format!("arg_{name}"));
            let ty = param.ty.elem();
            let bits = format!("scalars[{k}]");
            let value = match ty {
                Ty::F32 => format!("lane_f32(bits_u32_f32(all_u32((u32){bits})), 0)"),
                Ty::F64 => format!("*(const f64 *)&{bits}"),
                Ty::F16 | Ty::BF16 => format!("lane_f32(load_{ty}((const {ty} *)&{bits}, 1), 0)"),
                ty => format!("({}){bits}", scalar_type(ty)),
            };
            self.values.insert(param.id, Value::uniform(ty, Tree::name(&name)));
            let declaration = format!("{} {name}", scalar_type(ty));
            self.declare_at_head(head, name, declaration, value);
        }
        self.declare_at_head(head, PAST.into(), format!("int {PAST}"), format!("(int)sizes[{}]", kernel.sizes.len()));
    }

    /// The function of the kernel, with that beginning.
    pub(super) fn kernel(mut self, function: &str) -> Result<(), EmitError> {
        let kernel = self.kernel;
        let mut head = vec![];
        self.pointers(&mut head)?;
        self.parameters(&mut head);
        let places = self.block_names();
        for place in places.iter().filter_map(Tree::as_name) {
            self.declare(place, format!("i64 {place}"));
        }
        if kernel.block != [1, 1, 1] {
            return Err(EmitError::Threads(kernel.name.clone()));
        }
        let mut sides = vec![];
        if !self.is_row() {
            let [x, y, _] = kernel.grid.each_ref().map(|size| self.size(size));
            head.push(Declared { name: "grid_x".into(), line: line!["i64 grid_x = ", x, ";"] });
            head.push(Declared { name: "grid_y".into(), line: line!["i64 grid_y = ", y, ";"] });
            let [block, x, y] = ["block", "grid_x", "grid_y"].map(Tree::name);
            let rows = Tree::infix(Infix::Div, block.clone(), x.clone());
            let along = [
                Tree::infix(Infix::Rem, block, x),
                Tree::infix(Infix::Rem, rows.clone(), y.clone()),
                Tree::infix(Infix::Div, rows, y),
            ];
            for (place, value) in places.iter().filter_map(Tree::as_name).zip(along) {
                sides.push(Declared { name: place.into(), line: line!["i64 ", place, " = ", value, ";"] });
            }
        }
        self.depth = 2;
        self.stmts(&kernel.body)?;
        let mut mentioned: HashSet<String> = self.out.names().map(String::from).collect();
        let sides = mentioned_lines(2, sides, &mut mentioned);
        let head = mentioned_lines(1, head, &mut mentioned);
        let mut text = format!("// {}\n{function}({PARAMETERS}) {{\n", kernel.name);
        text += "    (void)memories, (void)scratch, (void)scalars, (void)sizes;\n";
        text += &format!("{head}    for (i64 block = begin; block < end; block++) {{\n{sides}{}    }}\n", self.out);
        if self.out.mentions(PAST) {
            text += "    stream_end(past);\n";
        }
        text += "}\n";
        self.file.items.push(text);
        Ok(())
    }
}

/// The variables that something mentions, or the line of another that is mentioned.
fn mentioned_lines(depth: usize, declared: Vec<Declared>, mentioned: &mut HashSet<String>) -> Code {
    let mut kept = vec![];
    for Declared { name, line } in declared.into_iter().rev() {
        if mentioned.contains(&name) {
            line.each_name(&mut |name| _ = mentioned.insert(name.to_string()));
            kept.push(line);
        }
    }
    let mut code = Code::default();
    code.all(depth, kept.into_iter().rev());
    code
}
