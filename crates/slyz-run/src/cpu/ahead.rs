//! The CPU's part of bundles: C for any size, compiled for processors that are not this one.

use super::{Backend, code};
use crate::Error;
use crate::bundle::Target;
use crate::cc::{CpuConfig, Toolchain};
use slyz_sir::kernel::Plan;
use slyz_sir::lower::Choice;
use slyz_sir::program::Program;

/// The compiler of this machine, for others.
pub(crate) struct Ahead {
    backend: Backend,
    toolchain: Toolchain,
}

impl Ahead {
    pub(crate) fn new() -> Ahead {
        Ahead { backend: Backend::own(), toolchain: Toolchain::new(CpuConfig::from_env()) }
    }

    pub(crate) fn lower(&self, program: &Program) -> Plan {
        (self.backend.lower)(program, Choice::USUAL)
    }

    /// The C files of a plan, with 32-bit positions and for any size.
    pub(crate) fn texts(&self, plan: &Plan) -> Result<Vec<String>, Error> {
        let narrow = code::texts(plan, false, self.backend)?;
        let wide = code::texts(plan, true, self.backend)?;
        Ok([narrow, wide].concat())
    }

    pub(crate) fn compiled(&self, text: &str, target: Target) -> Result<Vec<u8>, Error> {
        self.toolchain.object_for(text, target)
    }
}
