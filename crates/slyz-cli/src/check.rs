//! `slyz check`: parses and verifies, and reports every file's mistakes.

use crate::{Files, load, vex};
use slyz_sir::program::Module;
use slyz_sir::verify::{self, VerifyError};
use std::io::Write;

#[derive(clap::Args)]
pub struct Check {
    #[command(flatten)]
    files: Files,
}

impl Check {
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut wrong = 0;
        for path in &self.files.files {
            if vex::is_vex(path) {
                wrong += vex::check::check(path, out)?;
                continue;
            }
            let file = path.display();
            match load::parsed(path) {
                Err(error) => {
                    wrong += 1;
                    writeln!(out, "{error:#}")?;
                }
                Ok((module, cases)) => {
                    let errors = all_errors(&module);
                    for error in &errors {
                        writeln!(out, "{file}: {error}")?;
                    }
                    wrong += errors.len();
                    if errors.is_empty() {
                        let programs = module.programs.len();
                        let kernels = module.kernels.len();
                        writeln!(out, "{file}: right; programs {programs}, kernels {kernels}, cases {}", cases.len())?;
                    }
                }
            }
        }
        if wrong > 0 { Err(anyhow::anyhow!("{wrong} {}", if wrong == 1 { "error" } else { "errors" })) } else { Ok(()) }
    }
}

/// The first mistake of each program and kernel, and then those between them.
fn all_errors(module: &Module) -> Vec<VerifyError> {
    let programs = module.programs.iter().filter_map(|program| verify::program(program).err());
    let kernels = module.kernels.iter().filter_map(|kernel| verify::kernel(kernel).err());
    let mut errors: Vec<VerifyError> = programs.chain(kernels).collect();
    if let Err(error) = verify::module(module)
        && !errors.contains(&error)
    {
        errors.push(error);
    }
    errors
}
