//! Fragments of matrices, which the lanes of a subgroup hold: products, and how they get there from memory.

use super::error::KernelError;
use super::run::{Columns, Machine};
use super::wave::{Column, Wave, malformed};
use crate::code::{Fragment, Id, MemId};
use crate::types::{Scalar, Ty};
use std::rc::Rc;

/// Lanes that hold a fragment.
const LANES: usize = 32;
/// Words of a row of a matrix of 8 × 8 elements of 16 bits, and matrices that are read at once.
const WORDS_OF_A_ROW: usize = 4;
/// Bits of a mantissa that do not count in `tf32`.
const LEFT_OUT: u32 = 13;

impl Machine<'_> {
    /// `d = a · b + c` for every subgroup. Products are exact, and so are their sums: they are rounded once.
    pub(super) fn mma(
        &mut self,
        wave: &mut Wave,
        fragment: Fragment,
        args: &[Id],
        mask: &[bool],
    ) -> Result<Columns, KernelError> {
        let subgroups = self.whole_subgroups(wave, mask)?;
        let args = wave.get_all(args)?;
        let [words @ .., _, _, _, _] = &args[..] else {
            return Err(malformed("a product of fragments without fragments"));
        };
        let ([a @ .., _, _], [.., b0, b1]) = (words, words) else { return Err(malformed("fragments without words")) };
        let (b, c) = ([b0, b1], &args[words.len()..]);
        let mut out: Vec<Column> = c.iter().map(|_| Column { ty: Ty::F32, bits: vec![0; wave.width] }).collect();
        for start in subgroups {
            let per_word = fragment.in_word();
            for (lane, i) in (0..LANES).flat_map(|lane| (0..c.len()).map(move |i| (lane, i))) {
                let (row, column) = (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2);
                let mut sum = c[i].at(start + lane).as_f64();
                for term in 0..8 * per_word {
                    let (word, inside) = (term / per_word, term % per_word);
                    let (t, upper) = (word % 4, word / 4);
                    let left = a[row / 8 + 2 * upper].bits[start + row % 8 * 4 + t];
                    let right = b[upper].bits[start + column * 4 + t];
                    sum += element(fragment, left, inside) * element(fragment, right, inside);
                }
                out[i].bits[start + lane] = Scalar::from_f64(Ty::F32, sum).bits;
            }
        }
        Ok(out.into_iter().map(Rc::new).collect())
    }

    /// Four matrices, of which lanes name rows, and get words or, turned, columns.
    pub(super) fn load_fragment(
        &mut self,
        wave: &mut Wave,
        memory: MemId,
        index: &[Id],
        turned: bool,
        mask: &[bool],
    ) -> Result<Columns, KernelError> {
        let subgroups = self.whole_subgroups(wave, mask)?;
        let rows = self.load(wave, memory, index, WORDS_OF_A_ROW, mask)?;
        let mut out = vec![Column { ty: Ty::U32, bits: vec![0; wave.width] }; WORDS_OF_A_ROW];
        for start in subgroups {
            for (matrix, column) in out.iter_mut().enumerate() {
                for lane in 0..LANES {
                    let place = lane / 4;
                    if !turned {
                        column.bits[start + lane] = rows[lane % 4].bits[start + 8 * matrix + place];
                        continue;
                    }
                    let element = |row: usize| {
                        let word = rows[place / 2].bits[start + 8 * matrix + row];
                        word >> (16 * (place % 2)) & 0xffff
                    };
                    let row = 2 * (lane % 4);
                    column.bits[start + lane] = element(row) | element(row + 1) << 16;
                }
            }
        }
        Ok(out.into_iter().map(Rc::new).collect())
    }

    /// The first lanes of the subgroups, all of whose lanes have come.
    fn whole_subgroups(&self, wave: &Wave, mask: &[bool]) -> Result<Vec<usize>, KernelError> {
        self.only_threads(wave, "fragments")?;
        if self.options.subgroup_size as usize != LANES {
            let size = self.options.subgroup_size;
            return Err(malformed(format!("fragments are held by {LANES} lanes, and a subgroup has {size}")));
        }
        let subgroups = self.subgroups(mask);
        if subgroups.iter().any(|(_, lanes)| lanes.len() != LANES || !lanes.clone().all(|p| mask[p])) {
            return Err(malformed("some lanes of a subgroup do not come where all hold a fragment"));
        }
        Ok(subgroups.into_iter().map(|(_, lanes)| lanes.start).collect())
    }
}

/// An element of a word.
fn element(fragment: Fragment, word: u64, inside: usize) -> f64 {
    let bits = match fragment {
        Fragment::F16 | Fragment::BF16 => word >> (16 * inside) & 0xffff,
        Fragment::TF32 => word >> LEFT_OUT << LEFT_OUT,
    };
    Scalar::from_bits(fragment.ty(), bits).as_f64()
}
