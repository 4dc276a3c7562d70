//! Objects as bytes: a line that says what it is, the number of objects, then of each its target, its key and its code with their lengths,
//! and at the end the sum of all that.

use super::Target;
use crate::hash;

/// The first line.
const HEAD: &[u8] = b"slyz bundle 1\n";
/// Bytes of keys and sums.
const SUM: usize = 32;

/// Code that a compiler gave.
#[derive(Clone, PartialEq, Eq)]
pub struct Object {
    /// What it is for.
    pub(super) target: Target,
    pub(super) key: [u8; SUM],
    pub(super) bytes: Vec<u8>,
}

/// An object where a bundle has it.
pub(super) struct Found {
    pub(super) target: Target,
    pub(super) key: [u8; SUM],
    pub(super) bytes: &'static [u8],
}

impl Object {
    pub(crate) fn new(target: Target, text: &str, choice: &str, bytes: Vec<u8>) -> Object {
        Object { target, key: key(text, choice), bytes }
    }

    /// Is it the code of the same text for the same target?
    pub(crate) fn is_of(&self, other: &Object) -> bool {
        self.target == other.target && self.key == other.key
    }

    /// What it is for.
    pub fn target(&self) -> Target {
        self.target
    }

    /// How much it is.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// What the code of a text is found by. The way that kernels are called is the release's.
pub(super) fn key(text: &str, choice: &str) -> [u8; SUM] {
    hash::of_pieces(&[text, choice, env!("CARGO_PKG_VERSION")].map(str::as_bytes))
}

pub(super) fn written(objects: &[Object]) -> Vec<u8> {
    let mut file = HEAD.to_vec();
    file.extend((objects.len() as u64).to_le_bytes());
    for Object { target, key, bytes } in objects {
        let target = target.to_string();
        file.extend((target.len() as u64).to_le_bytes());
        file.extend(target.as_bytes());
        file.extend(key);
        file.extend((bytes.len() as u64).to_le_bytes());
        file.extend(bytes);
    }
    let sum = hash::of_pieces(&[&file]);
    file.extend(sum);
    file
}

pub(super) fn read(file: &'static [u8]) -> Result<Vec<Found>, String> {
    let short = || "it is cut short".to_string();
    let body = file.strip_prefix(HEAD).ok_or("it does not begin as bundles of this release do")?;
    let (checked, sum) = file.split_last_chunk::<SUM>().filter(|_| body.len() >= SUM).ok_or_else(short)?;
    if hash::of_pieces(&[checked]) != *sum {
        return Err("its sum is wrong".to_string());
    }
    let mut rest = Rest(&body[..body.len() - SUM]);
    let count = rest.number().ok_or_else(short)?;
    let mut found = vec![];
    for _ in 0..count {
        let target = rest.piece().ok_or_else(short)?;
        let target = std::str::from_utf8(target).ok().and_then(|text| text.parse().ok());
        let target = target.ok_or("it has code for a target that this release does not know")?;
        let key = *rest.take(SUM).and_then(<[u8]>::first_chunk).ok_or_else(short)?;
        let bytes = rest.piece().ok_or_else(short)?;
        found.push(Found { target, key, bytes });
    }
    Ok(found)
}

/// What is not read yet.
struct Rest(&'static [u8]);

impl Rest {
    fn take(&mut self, count: usize) -> Option<&'static [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(*self.take(8)?.first_chunk()?))
    }

    /// Bytes behind their number.
    fn piece(&mut self) -> Option<&'static [u8]> {
        let count = usize::try_from(self.number()?).ok()?;
        self.take(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let object = |target, text: &str| Object::new(target, text, "", text.as_bytes().to_vec());
        let objects = [object(Target::X86_64(3), "a"), object(Target::Cubin(90), "bc"), object(Target::Baseline, "")];
        let file: &'static [u8] = written(&objects).leak();
        let found = read(file).expect("what was written");
        let again = |f: &Found| Object { target: f.target, key: f.key, bytes: f.bytes.to_vec() };
        assert!(found.iter().map(again).eq(objects.iter().cloned()));
        assert_ne!(key("a", ""), key("", "a"));
        for end in 0..file.len() {
            assert!(read(&file[..end]).is_err(), "cut at {end}");
        }
        let mut spoilt = file.to_vec();
        spoilt[HEAD.len() + 9] ^= 1;
        assert!(read(spoilt.leak()).is_err());
    }
}
