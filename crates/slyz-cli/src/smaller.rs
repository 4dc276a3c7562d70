//! What a command line says about smaller numbers.

use crate::usage;
use slyz_sir::program::Module;
use slyz_sir::quantize::{Candidate, Request, Small, quantize};

/// Programs over smaller numbers.
#[derive(clap::Args)]
pub struct Smaller {
    /// Make sums of products of bytes (`i8`), or keep arrays in 16 bits (`f16`, `bf16`): .sir files. Nothing is measured.
    #[arg(long, value_name = "f16|bf16|i8")]
    quantize: Option<Small>,
    /// Arguments that are kept in 16 bits too, counted from 1, with commas between them.
    #[arg(long, value_name = "NUMBER", value_delimiter = ',', requires = "quantize")]
    weights: Vec<usize>,
}

impl Smaller {
    /// The module with programs over smaller numbers, where that is asked for, and what was looked at in each.
    pub fn apply(&self, mut module: Module) -> anyhow::Result<(Module, Vec<Vec<Candidate>>)> {
        let Some(small) = self.quantize else { return Ok((module, vec![])) };
        let mut looked_at = vec![];
        for program in &mut module.programs {
            let many = program.body.params.len();
            if let Some(number) = self.weights.iter().find(|&&number| number == 0 || number > many) {
                return usage(format!(
                    "program {} has {many} arguments, and no {number}; they are counted from 1",
                    program.name
                ));
            }
            let weights = (!self.weights.is_empty()).then(|| self.weights.iter().map(|number| number - 1).collect());
            let quantized = quantize(program, &Request { weights, ..Request::new(small) });
            *program = quantized.program;
            looked_at.push(quantized.candidates);
        }
        Ok((module, looked_at))
    }

    /// Kernels by hand have the numbers that they were written with.
    pub fn not_for_kernels(&self) -> anyhow::Result<()> {
        match self.quantize {
            Some(_) => {
                usage("--quantize is for programs (.sir files); kernels have the numbers that they were written with")
            }
            None => Ok(()),
        }
    }
}
