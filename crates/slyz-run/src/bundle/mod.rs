//! Code that was compiled beforehand: bundles.
//!
//! ```text
//! build:  program ── passes, lowering ──> text ── compiler ──> code, by target and hash of the text ──> bundle
//! run:    program ── passes, lowering ──> text ── hash ──> code of the bundle
//! ```
//!
//! A bundle is no second road: the program that carries it goes the ordinary one, and finds what compilers would give where it would call
//! them. A text that no bundle has, of a function that changed since, goes to the compilers, if there are any.

mod file;
mod target;

pub use file::Object;
pub use target::{NoTarget, Target};

use crate::Error;
use file::Found;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError, RwLock};

/// What this process carries.
static CARRIED: RwLock<Vec<Found>> = RwLock::new(vec![]);
/// What was found of it.
static TAKEN: Mutex<BTreeMap<Target, u64>> = Mutex::new(BTreeMap::new());

/// Writes objects as one file, for [`carry`].
pub fn written(objects: &[Object]) -> Vec<u8> {
    file::written(objects)
}

/// Has functions find the objects of a bundle from now on.
///
/// # Safety
/// Its code is loaded and run: the bytes are what [`written`] gave for objects of [`crate::ahead::compiled`].
pub unsafe fn carry(bundle: &'static [u8]) -> Result<(), Error> {
    let found = file::read(bundle).map_err(|why| Error::Bundle { why })?;
    let mut carried = CARRIED.write().unwrap_or_else(PoisonError::into_inner);
    let is_new = |object: &Found| !carried.iter().any(|known| known.bytes.as_ptr() == object.bytes.as_ptr());
    let new: Vec<Found> = found.into_iter().filter(is_new).collect();
    carried.extend(new);
    Ok(())
}

/// The code of a text for one of the targets, the first of them that there is code for.
pub(crate) fn object(text: &str, choice: &str, targets: impl IntoIterator<Item = Target>) -> Option<&'static [u8]> {
    let carried = CARRIED.read().unwrap_or_else(PoisonError::into_inner);
    if carried.is_empty() {
        return None;
    }
    let key = file::key(text, choice);
    let found = targets.into_iter().find_map(|target| {
        let is_it = |object: &&Found| object.target == target && object.key == key;
        carried.iter().find(is_it)
    })?;
    *TAKEN.lock().unwrap_or_else(PoisonError::into_inner).entry(found.target).or_default() += 1;
    Some(found.bytes)
}

/// How often code was taken from bundles in this process instead of being compiled, by target.
///
/// ```
/// assert!(slyz_run::bundle::taken().is_empty());
/// ```
pub fn taken() -> Vec<(Target, u64)> {
    let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    taken.iter().map(|(target, times)| (*target, *times)).collect()
}

/// For which targets is there code?
pub(crate) fn targets() -> Vec<Target> {
    let carried = CARRIED.read().unwrap_or_else(PoisonError::into_inner);
    let mut targets: Vec<Target> = carried.iter().map(|object| object.target).collect();
    targets.sort();
    targets.dedup();
    targets
}

/// What is to be said where a compiler is missing: what bundles are good for.
pub(crate) fn in_words() -> String {
    told(&targets(), &Target::of_this_processor())
}

/// The same, for a processor that runs some targets, best first.
fn told(carried: &[Target], own: &[Target]) -> String {
    let listed: Vec<String> = carried.iter().filter(|target| target.is_cpu()).map(Target::to_string).collect();
    let listed = listed.join(", ");
    if listed.is_empty() {
        return String::new();
    }
    if carried.iter().any(|target| own.contains(target)) {
        return format!("; the bundle that this program carries, for {listed}, has no code of the function");
    }
    let best = own.first().map_or("another".to_string(), Target::to_string);
    format!("; the bundle that this program carries is for {listed}, and this processor is {best}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_bundle_is_good_for_is_told() {
        let own = [Target::X86_64(2), Target::Baseline];
        assert_eq!(told(&[Target::Cubin(90)], &own), "");
        assert!(told(&[Target::X86_64(2), Target::X86_64(4)], &own).contains("has no code of the function"));
        let foreign = "; the bundle that this program carries is for x86-64-v4, and this processor is x86-64-v2";
        assert_eq!(told(&[Target::X86_64(4), Target::Ptx(80)], &own), foreign);
    }
}
