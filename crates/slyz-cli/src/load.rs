//! Reading `.sir` files, and choosing a program of one.

use crate::{SizeValue, usage};
use anyhow::{Context, anyhow};
use slyz_sir::program::{Module, Program};
use slyz_sir::size::SizeOrigin;
use slyz_sir::text::{self, Case};
use slyz_sir::verify;
use std::fs;
use std::path::Path;

/// The module and the cases of a file, parsed but not verified.
pub fn parsed(path: &Path) -> anyhow::Result<(Module, Vec<Case>)> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow!("{}: not text: the byte at {at} is not UTF-8", path.display())
    })?;
    text::parse_file(&text).map_err(|error| anyhow!("{}: {error}", path.display()))
}

/// The same, verified.
pub fn verified(path: &Path) -> anyhow::Result<(Module, Vec<Case>)> {
    let (module, cases) = parsed(path)?;
    verify::module(&module).with_context(|| path.display().to_string())?;
    Ok((module, cases))
}

/// The program with that name, or the only one.
pub fn program<'m>(path: &Path, module: &'m Module, name: Option<&str>) -> anyhow::Result<&'m Program> {
    let names = || module.programs.iter().map(|g| g.name.as_str()).collect::<Vec<_>>().join(", ");
    let file = path.display();
    match (name, &module.programs[..]) {
        (_, []) => Err(anyhow!("{file}: no program in the file")),
        (Some(name), programs) => match programs.iter().find(|g| g.name == name) {
            Some(program) => Ok(program),
            None => usage(format!("{file}: no program `{name}`; there is: {}", names())),
        },
        (None, [program]) => Ok(program),
        (None, _) => usage(format!("{file}: several programs: {}; choose one with --program NAME", names())),
    }
}

/// One entry per size variable of the program, those of the command line filled in.
pub fn sizes(program: &Program, given: &[SizeValue]) -> anyhow::Result<Vec<Option<u64>>> {
    let mut sizes = vec![None; program.sizes.len()];
    for SizeValue { name, value } in given {
        let Some(place) = program.sizes.iter().position(|decl| decl.name == *name) else {
            let names: Vec<&str> = program.sizes.iter().map(|decl| &decl.name[..]).collect();
            let there = if names.is_empty() { "it has none".into() } else { format!("it has: {}", names.join(", ")) };
            return usage(format!("program {} has no size `{name}`; {there}", program.name));
        };
        if program.sizes[place].origin == SizeOrigin::Counted {
            return usage(format!("`{name}` is counted while the program runs; leave out --size {name}={value}"));
        }
        if sizes[place].replace(*value).is_some_and(|other| other != *value) {
            return usage(format!("--size {name} is given twice, with different values"));
        }
    }
    Ok(sizes)
}
