//! Programs as models of graph compilers: an OpenVINO IR or a Core ML package per program.

use super::{Emitted, File, Options, ProjectError, checked_names};
use crate::back::graph::{self, Format, GraphError};
use crate::back::{coreml, openvino};
use crate::choices::Precision;
use crate::program::Program;
use crate::verify;
use std::collections::BTreeSet;

/// The formats that programs are models of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    OpenVino,
    CoreMl,
}

impl Kind {
    pub(super) fn format(self) -> Format {
        match self {
            Kind::OpenVino => openvino::FORMAT,
            Kind::CoreMl => coreml::FORMAT,
        }
    }
}

pub(super) fn emit(programs: &[Program], kind: Kind, options: &Options) -> Result<Emitted, ProjectError> {
    checked_names(programs)?;
    let format = Format { precision: options.precision, ..kind.format() };
    if options.precision == Precision::Exact {
        return Err(ProjectError::Precision { language: format.name });
    }
    let mut files = vec![];
    for program in programs {
        verify::program(program).map_err(|why| ProjectError::Program { name: program.name.clone(), why })?;
        let graph = graph::of_program(program, &options.sizes, &options.passes, &format)?;
        let name = &program.name;
        match kind {
            Kind::OpenVino => {
                let model = openvino::emit(&graph);
                files.push(File::text(format!("{name}.xml"), model.xml));
                files.push(File::binary(format!("{name}.bin"), model.bin));
            }
            Kind::CoreMl => {
                let package = coreml::emit(&graph);
                let inside = |file: &str| format!("{name}.mlpackage/{file}");
                files.push(File::text(inside("Manifest.json"), package.manifest));
                files.push(File::binary(inside(coreml::MODEL_FILE), package.model));
            }
        }
    }
    let first = &programs[0].name;
    let build = match kind {
        Kind::OpenVino => format!("python3 -c 'import openvino; print(openvino.Core().read_model(\"{first}.xml\"))'"),
        Kind::CoreMl => format!("xcrun coremlcompiler compile {first}.mlpackage ."),
    };
    Ok(Emitted { files, build })
}

/// Are the sizes that are given those of a program?
pub(super) fn check_sizes(programs: &[Program], given: &[(String, u64)]) -> Result<(), GraphError> {
    let known: BTreeSet<&str> = programs.iter().flat_map(|program| &program.sizes).map(|size| &size.name[..]).collect();
    match given.iter().find(|(name, _)| !known.contains(&name[..])) {
        None => Ok(()),
        Some((size, _)) => {
            let known: Vec<&str> = known.into_iter().collect();
            let known = if known.is_empty() { "none".to_string() } else { known.join(", ") };
            Err(GraphError::NoSize { size: size.clone(), known })
        }
    }
}
