//! A kernel that a person wrote in C: the file as it is, and behind it the function that the device calls.

use crate::back::EmitError;
use crate::code::Type;
use crate::kernel::Kernel;
use crate::raw::{Language, RawCode, Source};
use crate::size::{Size, SizeVar};
use crate::types::Ty;
use std::fmt::Write as _;

/// The C file of the kernel, as `slyz_kernel_` of that number. What compilers say about it has the lines of the source.
pub(super) fn file(kernel: &Kernel, code: &RawCode, number: usize) -> Result<String, EmitError> {
    if code.source.language != Language::C {
        return Err(EmitError::Raw { kernel: kernel.name.clone(), language: Language::C.name() });
    }
    Ok(source(&code.source) + &entry(kernel, code, number))
}

fn source(source: &Source) -> String {
    format!("#line 1 \"{}.c\"\n{}\n#line 1 \"slyz\"\n", source.entry, source.text)
}

/// A file for each source of some kernels, for programs that are linked of all of them: the name of its function, and its text.
pub fn raw_files(kernels: &[Kernel]) -> Vec<(String, String)> {
    let mut files: Vec<(&Source, String)> = vec![];
    for (number, kernel) in kernels.iter().enumerate() {
        let Some(code) = kernel.raw.as_ref().filter(|code| code.source.language == Language::C) else { continue };
        let known = files.iter().position(|(other, _)| **other == code.source);
        let place = known.unwrap_or_else(|| {
            files.push((&code.source, source(&code.source)));
            files.len() - 1
        });
        files[place].1 += &entry(kernel, code, number);
    }
    files.into_iter().map(|(source, text)| (source.entry.clone(), text)).collect()
}

/// The function that the device calls.
fn entry(kernel: &Kernel, code: &RawCode, number: usize) -> String {
    let u64 = "unsigned long long";
    let mut text = format!(
        "void slyz_kernel_{number}(void *const *memories, void *const *scratch, const {u64} *scalars, const long long *sizes, long long begin, long long end) {{\n"
    );
    text.push_str("    (void)memories, (void)scratch, (void)scalars, (void)sizes;\n");
    let mut arguments: Vec<String> =
        kernel.bound_memories().enumerate().map(|(k, _)| format!("memories[{k}]")).collect();
    for (k, param) in kernel.body.params.iter().enumerate() {
        let Type::Scalar(ty) = param.ty else { continue };
        let _ = writeln!(text, "    {} slyz_scalar{k};", c_type(ty));
        let _ = writeln!(text, "    __builtin_memcpy(&slyz_scalar{k}, &scalars[{k}], sizeof slyz_scalar{k});");
        arguments.push(format!("slyz_scalar{k}"));
    }
    arguments.extend(code.extents.iter().map(extent));
    arguments.extend(["begin", "end"].map(String::from));
    let _ = writeln!(text, "    {}({});\n}}", code.source.entry, arguments.join(", "));
    text
}

/// The value of a size.
fn extent(size: &Size) -> String {
    match size {
        Size::Const(value) => format!("{value}LL"),
        Size::Var(SizeVar(k)) => format!("sizes[{k}]"),
        Size::Add(a, b) => format!("({} + {})", extent(a), extent(b)),
        Size::Mul(a, b) => format!("({} * {})", extent(a), extent(b)),
        Size::Min(a, b) => format!("({0} < {1} ? {0} : {1})", extent(a), extent(b)),
        Size::CeilDiv(a, by) => format!("(({} + {}LL) / {by}LL)", extent(a), by.saturating_sub(1)),
        Size::Tri(a) => format!("({0} * ({0} + 1) / 2)", extent(a)),
    }
}

fn c_type(ty: Ty) -> &'static str {
    match ty {
        Ty::Bool => "_Bool",
        Ty::I8 => "signed char",
        Ty::I16 => "short",
        Ty::I32 => "int",
        Ty::I64 => "long long",
        Ty::U8 => "unsigned char",
        Ty::U16 | Ty::BF16 => "unsigned short",
        Ty::U32 => "unsigned",
        Ty::U64 => "unsigned long long",
        Ty::F16 => "_Float16",
        Ty::F32 => "float",
        Ty::F64 => "double",
    }
}
