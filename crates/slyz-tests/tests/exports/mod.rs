//! Files of the corpus as files of a target, for compilers that are not ours.

use slyz_lang::kernels;
use slyz_sir::back::harness::{self, Explicit, Options, Target};
use slyz_sir::choices::{Checks, Precision};
use slyz_sir::road::KernelRoad;
use slyz_sir::text::parse_file;
use std::path::{Path, PathBuf};

pub type R<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// A path that is told from this crate.
pub fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The files of the corpus.
pub fn corpus() -> R<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(here("../../tests/corpus"))?.map(|entry| Ok(entry?.path())).collect::<R<_>>()?;
    paths.sort();
    Ok(paths)
}

/// A file of the corpus, by its name and text, in the language of a target.
pub fn exported(name: &str, text: &str, target: Target, precision: Precision) -> R<String> {
    let options = Options { precision, ..Options::default() };
    let emitted = if name.ends_with(".sir") {
        harness::emit_with(&parse_file(text)?.0.programs, target, &options)?
    } else {
        let source = kernels::read(text)?;
        let block = |axes| if axes > 1 { [16, 16, 1] } else { [256, 1, 1] };
        let templates = source.kernels.iter().map(|kernel| &*kernel.template);
        let kernels: Vec<Explicit> =
            templates.map(|template| Explicit { template, block: block(template.axes()) }).collect();
        let road = |destination| KernelRoad { checks: Checks::Guard, ..KernelRoad::to(destination) };
        harness::emit_kernels(&kernels, target, &road, &options)?
    };
    Ok(emitted.files.iter().filter_map(|file| file.as_text()).collect())
}
