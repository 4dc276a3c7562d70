//! Roads: the passes that code goes through on its way to a backend, by name and in order.
//!
//! There are two, of programs ([`ProgramRoad`]) and of kernels that people wrote ([`KernelRoad`]). Devices, exported files and the
//! command line go the same way, so what `slyz dump --after` prints is what runs. A pass that only makes code better can be left
//! out ([`Selection`]).

mod kernel;
mod program;

use crate::pass::means;

pub use crate::pass::{KNOWN_AS, Selection};
pub use kernel::{CPU_SUBGROUP, Destination, KernelRoad};
pub use program::{ProgramRoad, Seen, Strategy};

/// A pass on a road.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The name of the pass.
    pub name: &'static str,
    /// It can be left out.
    pub optional: bool,
}

impl Stop {
    fn needed(name: &'static str) -> Stop {
        Stop { name, optional: false }
    }

    fn optional(name: &'static str) -> Stop {
        Stop { name, optional: true }
    }
}

/// A pass was named that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoadError {
    /// There is none of that name.
    #[error("there is no pass `{name}` on this road; the passes are, in order: {passes}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        passes: String,
    },
    /// It is not optional.
    #[error("`{0}` cannot be left out: what follows builds on it")]
    Needed(String),
}

/// Are the passes that are named on the road, and those that are left out optional?
fn check(stops: &[Stop], selection: &Selection) -> Result<(), RoadError> {
    for name in selection.names() {
        let stop = find(stops, name)?;
        if !stop.optional && matches!(selection, Selection::Without(_)) {
            return Err(RoadError::Needed(name.clone()));
        }
    }
    Ok(())
}

/// The pass of a name.
fn find(stops: &[Stop], name: &str) -> Result<Stop, RoadError> {
    let passes = || stops.iter().map(|stop| stop.name).collect::<Vec<_>>().join(", ");
    let stop = stops.iter().find(|stop| means(name, stop.name)).copied();
    stop.ok_or_else(|| RoadError::Unknown { name: name.to_string(), passes: passes() })
}

/// Adds the passes that are not there yet.
fn add(stops: &mut Vec<Stop>, names: impl Iterator<Item = &'static str>) {
    for name in names {
        if !stops.iter().any(|stop| stop.name == name) {
            stops.push(Stop::optional(name));
        }
    }
}
