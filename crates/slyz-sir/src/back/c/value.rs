//! How values of a kernel look in C: scalars where all lanes agree, vectors where they do not.

use crate::back::tree::Tree;
use crate::types::Ty;

/// What the lanes of a vector hold. Narrow types live in 32-bit lanes, half precision in `f32`, `bool` as a mask: where it
/// tells 64-bit lanes apart one as wide as they are, which is narrowed only where somebody asks for the other kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    F32,
    F64,
    I32,
    U32,
    I64,
    U64,
    Mask,
    WideMask,
}

impl Lane {
    pub(super) fn of(ty: Ty) -> Lane {
        match ty {
            Ty::Bool => Lane::Mask,
            Ty::I8 | Ty::I16 | Ty::I32 => Lane::I32,
            Ty::U8 | Ty::U16 | Ty::U32 => Lane::U32,
            Ty::I64 => Lane::I64,
            Ty::U64 => Lane::U64,
            Ty::F16 | Ty::BF16 | Ty::F32 => Lane::F32,
            Ty::F64 => Lane::F64,
        }
    }

    /// The suffix of function names.
    pub(super) fn name(self) -> &'static str {
        match self {
            Lane::F32 => "f32",
            Lane::F64 => "f64",
            Lane::I32 => "i32",
            Lane::U32 => "u32",
            Lane::I64 => "i64",
            Lane::U64 => "u64",
            Lane::Mask | Lane::WideMask => "bool",
        }
    }

    /// The C type of one lane.
    pub(super) fn scalar(self) -> &'static str {
        match self {
            Lane::Mask => "i32",
            Lane::WideMask => "i64",
            lane => lane.name(),
        }
    }

    /// The C type of a vector.
    pub(super) fn vector(self) -> String {
        format!("v{}", self.scalar())
    }

    pub(super) fn is_wide(self) -> bool {
        matches!(self, Lane::F64 | Lane::I64 | Lane::U64 | Lane::WideMask)
    }
}

/// The C type of a scalar.
pub(super) fn scalar_type(ty: Ty) -> &'static str {
    match ty {
        Ty::Bool => "int",
        Ty::F16 | Ty::BF16 => "f32",
        ty => ty.name(),
    }
}

/// The C type of an element in memory.
pub(super) fn memory_type(ty: Ty) -> &'static str {
    if ty == Ty::Bool { "u8" } else { ty.name() }
}

/// Where a value is the same in all lanes, and where not.
#[derive(Clone, Debug)]
pub(super) enum LaneForm {
    /// A scalar expression.
    Uniform(Tree),
    /// An `i64`: this plus the number of the lane.
    Affine(Tree),
    /// An `i64`: the first plus the number of the lane, moved to the nearest of second to third.
    Clamped(Tree, Tree, Tree),
    /// A vector.
    Vector(Lane, Tree),
}

/// A value of the kernel.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) ty: Ty,
    pub(super) form: LaneForm,
    /// For `i64`: bounds that are known. Positions are small unless the code is wide.
    pub(super) range: Option<(i128, i128)>,
}

impl Value {
    pub(super) fn uniform(ty: Ty, tree: Tree) -> Value {
        Value { ty, form: LaneForm::Uniform(tree), range: None }
    }

    pub(super) fn vector(ty: Ty, lane: Lane, tree: Tree) -> Value {
        Value { ty, form: LaneForm::Vector(lane, tree), range: None }
    }

    pub(super) fn within(mut self, range: Option<(i128, i128)>) -> Value {
        self.range = range;
        self
    }

    pub(super) fn is_uniform(&self) -> bool {
        matches!(self.form, LaneForm::Uniform(_))
    }

    /// The value, if all lanes agree on it.
    pub(super) fn uniform_tree(&self) -> Option<Tree> {
        match &self.form {
            LaneForm::Uniform(tree) => Some(tree.clone()),
            LaneForm::Affine(_) | LaneForm::Clamped(..) | LaneForm::Vector(..) => None,
        }
    }

    /// Is it a mask of 64-bit lanes?
    pub(super) fn is_wide_mask(&self) -> bool {
        matches!(self.form, LaneForm::Vector(Lane::WideMask, _))
    }

    /// Can it be held in 32-bit lanes?
    pub(super) fn is_small(&self) -> bool {
        self.range.is_some_and(|(low, high)| low >= i32::MIN as i128 && high <= i32::MAX as i128)
    }
}
