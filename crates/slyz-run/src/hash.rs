//! The structural hash of a program: equal programs have equal hashes, and nothing else does in practice.
//!
//! It is fed by the derived `Hash`, which covers every field and writes lengths and variants in front of what
//! they govern, so no two programs feed it the same bytes. Printed forms will not do: floats print alike whose NaN bits differ.
//! The bytes depend on the build of this crate; keep hashes in memory, never on disk.

use sha2::{Digest, Sha256};
use slyz_sir::program::Program;
use std::hash::{Hash, Hasher};

/// 256 bits that stand for the structure of the program, names included.
///
/// ```
/// use slyz_sir::program::Program;
/// let (a, b) = (Program::default(), Program { name: "f".into(), ..Program::default() });
/// assert_eq!(slyz_run::hash::structural(&a), slyz_run::hash::structural(&a.clone()));
/// assert_ne!(slyz_run::hash::structural(&a), slyz_run::hash::structural(&b));
/// ```
pub fn structural(program: &Program) -> [u8; 32] {
    of(program)
}

/// The same for anything that says what it is made of.
pub(crate) fn of(value: &impl Hash) -> [u8; 32] {
    let mut feed = Feed(Sha256::new());
    value.hash(&mut feed);
    feed.0.finalize().into()
}

/// The hash of some pieces; where one piece ends and the next begins counts.
pub(crate) fn of_pieces(pieces: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for piece in pieces {
        hash.update((piece.len() as u64).to_le_bytes());
        hash.update(piece);
    }
    hash.finalize().into()
}

struct Feed(Sha256);

impl Hasher for Feed {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Nobody asks: the answer is taken from the digest.
    fn finish(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slyz_sir::code::{Body, Id, Op, Stmt, Type, Var};
    use slyz_sir::types::{Scalar, Ty};

    fn constant(bits: u64) -> Program {
        let bind = Var { id: Id(1), ty: Type::Scalar(Ty::F32) };
        let stmt = Stmt { binds: vec![bind], op: Op::Const(Scalar::from_bits(Ty::F32, bits)) };
        Program { body: Body { params: vec![], stmts: vec![stmt], results: vec![Id(1)] }, ..Program::default() }
    }

    #[test]
    fn bits_of_constants_count() {
        let hashes = [0, 0x8000_0000, 0x7fc0_0000, 0xffc0_0000, 0x7fc0_0001].map(|bits| structural(&constant(bits)));
        for (k, a) in hashes.iter().enumerate() {
            assert_eq!(hashes.iter().filter(|b| *b == a).count(), 1, "constant {k}");
        }
    }

    #[test]
    fn borders_of_pieces_count() {
        assert_ne!(of_pieces(&[b"ab", b"c"]), of_pieces(&[b"a", b"bc"]));
    }
}
