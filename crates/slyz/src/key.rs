//! Keys: what elements are sorted by, as unsigned words that are compared one after another, the most significant first.
//!
//! A sort by digits and a comparison of two elements see nothing but these words, so an order is told in one place: that of
//! integers, the total order of floats, parts of elements one after another, and each of them backwards.

use crate::elem::{Exp, Value, handles, lit, parts_of};
use crate::record;
use crate::trace::{Handle, Leaf, Loc, Ty, on_behalf};
use std::panic::Location;

/// An unsigned number of `width` bits, at most 32: a part of a [`Key`].
///
/// ```
/// use slyz::prelude::*;
/// use slyz::Word;
/// axis!(N);
/// /// The day of the week.
/// #[derive(Clone, Copy)]
/// struct Weekday(Exp<u32>);
/// impl Key for Weekday {
///     fn words(self) -> Vec<Word> { vec![Word::new(self.0 % 7, 3)] }
/// }
/// let f = compile(|days: Arr<u32, N>| days.sort_by_key(Weekday))?;
/// assert_eq!(f.call(&[13, 8, 5, 1])?.to_vec()?, [8, 1, 5, 13]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Word {
    bits: Exp<u32>,
    width: u32,
}

impl Word {
    /// The lowest `width` bits, of which there are at least 1 and at most 32.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// use slyz::Word;
    /// fn last_digit(x: Exp<u32>) -> Word { Word::new(x % 10, 4) }
    /// ```
    #[track_caller]
    pub fn new(bits: Exp<u32>, width: u32) -> Word {
        let width = width.clamp(1, 32);
        on_behalf(Location::caller(), || Word { bits: if width < 32 { bits & mask(width) } else { bits }, width })
    }

    /// The number.
    pub(crate) fn bits(self) -> Exp<u32> {
        self.bits
    }

    /// How many bits it has.
    pub(crate) fn width(self) -> u32 {
        self.width
    }

    /// The bits of a number of `ty` as they are, in as many words as they need.
    fn of_bits(at: Loc, ty: Ty, number: Handle) -> Vec<Word> {
        let word = |bits: Handle| Word { bits: Exp::new(record::cast(at, Ty::U32, bits)), width: ty.bits().min(32) };
        match ty {
            Ty::Bool | Ty::U8 | Ty::U16 | Ty::U32 => vec![word(number)],
            Ty::I8 => vec![word(record::bitcast(at, Ty::U8, number))],
            Ty::I16 | Ty::F16 | Ty::BF16 => vec![word(record::bitcast(at, Ty::U16, number))],
            Ty::I32 | Ty::F32 => vec![word(record::bitcast(at, Ty::U32, number))],
            Ty::I64 | Ty::F64 => Word::of_bits(at, Ty::U64, record::bitcast(at, Ty::U64, number)),
            Ty::U64 => {
                let whole = Exp::<u64>::new(number);
                vec![word((whole >> 32).handle()), word(number)]
            }
        }
    }

    /// Words in the order of numbers of `ty`. The sign is turned, so that negative numbers come first; of negative floats, which
    /// grow towards 0, everything is.
    fn in_order(at: Loc, ty: Ty, number: Handle) -> Vec<Word> {
        let words = Word::of_bits(at, ty, number);
        let Some((first, rest)) = words.split_first() else { return words };
        let sign = 1 << (first.width - 1);
        let turned = Word { bits: first.bits ^ sign, ..*first };
        match ty {
            Ty::Bool | Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => words,
            Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => [&[turned], rest].concat(),
            Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 => {
                let negative = (first.bits & sign).ne(0);
                let positive = [&[turned], rest].concat();
                let choose = |(word, positive): (&Word, &Word)| Word {
                    bits: negative.select(word.backwards().bits, positive.bits),
                    width: word.width,
                };
                words.iter().zip(&positive).map(choose).collect()
            }
        }
    }

    /// The number of `ty` that has these words in order, the other way round than [`in_order`](Word::in_order).
    fn number(at: Loc, ty: Ty, words: &[Exp<u32>]) -> Handle {
        let width = ty.bits().min(32);
        let Some((&first, rest)) = words.split_first() else { return Handle::POISON };
        let sign = 1 << (width - 1);
        let turned = [&[first ^ sign], rest].concat();
        match ty {
            Ty::Bool | Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => Word::from_bits(at, ty, words),
            Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => Word::from_bits(at, ty, &turned),
            Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 => {
                let positive = (first & sign).ne(0);
                let choose = |(&turned, &word)| positive.select(turned, word ^ mask(width));
                let bits: Vec<Exp<u32>> = turned.iter().zip(words).map(choose).collect();
                Word::from_bits(at, ty, &bits)
            }
        }
    }

    /// The number of `ty` with these bits, the other way round than [`of_bits`](Word::of_bits).
    fn from_bits(at: Loc, ty: Ty, bits: &[Exp<u32>]) -> Handle {
        let cast = |ty| record::cast(at, ty, bits[0].handle());
        match ty {
            Ty::Bool => bits[0].ne(0).handle(),
            Ty::U8 | Ty::U16 | Ty::U32 => cast(ty),
            Ty::I8 => record::bitcast(at, ty, cast(Ty::U8)),
            Ty::I16 | Ty::F16 | Ty::BF16 => record::bitcast(at, ty, cast(Ty::U16)),
            Ty::I32 | Ty::F32 => record::bitcast(at, ty, cast(Ty::U32)),
            Ty::I64 | Ty::F64 => record::bitcast(at, ty, Word::from_bits(at, Ty::U64, bits)),
            Ty::U64 => {
                let low = bits.get(1).map_or(Handle::POISON, |low| record::cast(at, Ty::U64, low.handle()));
                (Exp::<u64>::new(cast(Ty::U64)) << 32 | Exp::<u64>::new(low)).handle()
            }
        }
    }

    /// The words in order of all parts of an element.
    pub(crate) fn all_in_order(at: Loc, leaves: &[Leaf], numbers: &[Handle]) -> Vec<Word> {
        let leaves = leaves.iter().zip(numbers);
        on_behalf(at, || leaves.flat_map(|(leaf, &number)| Word::in_order(at, leaf.ty, number)).collect())
    }

    /// Where among the words of a key those of a number are, and whether backwards: then they tell the number.
    pub(crate) fn told_by(at: Loc, ty: Ty, number: Handle, key: &[(Handle, u32)]) -> Option<Told> {
        let own = Word::in_order(at, ty, number);
        let find = |words: Vec<Word>, backwards: bool| {
            let same = |(word, (bits, width)): (&Word, &(Handle, u32))| {
                word.bits.handle().is_same(*bits) && word.width == *width
            };
            let first = key.windows(words.len()).position(|some| words.iter().zip(some).all(same))?;
            Some(Told { ty, first, backwards })
        };
        find(own.clone(), false).or_else(|| find(own.into_iter().map(Word::backwards).collect(), true))
    }

    /// The same word in the opposite order.
    fn backwards(self) -> Word {
        Word { bits: self.bits ^ mask(self.width), ..self }
    }
}

/// A number whose words are among those of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    ty: Ty,
    first: usize,
    backwards: bool,
}

impl Told {
    /// Which words of the key they are.
    pub(crate) fn words(self) -> std::ops::Range<usize> {
        self.first..self.first + if self.ty.bits() > 32 { 2 } else { 1 }
    }

    /// Is the number the word itself?
    pub(crate) fn is_word(self) -> bool {
        self.ty == Ty::U32 && !self.backwards
    }

    /// The number that has these words.
    pub(crate) fn number(self, at: Loc, words: &[Handle]) -> Handle {
        let width = self.ty.bits().min(32);
        let forwards = |&word: &Handle| if self.backwards { Exp::new(word) ^ mask(width) } else { Exp::new(word) };
        on_behalf(at, || Word::number(at, self.ty, &words.iter().map(forwards).collect::<Vec<_>>()))
    }
}

/// So many low bits.
fn mask(width: u32) -> u32 {
    u32::MAX >> (32 - width)
}

/// What elements are sorted by. Every traced value is one: integers and `bool` in their order, floats in that of `f32::total_cmp` (-NaN,
/// negative numbers, -0, 0, positive numbers, NaN), positions by their numbers, tuples, `[_; N]` and structs by their first part, then by the next.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// // By the second part, largest first, then by the first.
/// let f = compile(|x: Arr<(f32, u8), N>| x.sort_by_key(|(a, b)| b.descending().then(a)))?;
/// assert_eq!(f.call(&[(2.0f32, 7u8), (1.0, 7), (3.0, 9)])?.to_vec()?, [(3.0, 9), (1.0, 7), (2.0, 7)]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key to sort by",
    label = "expected an `Exp`, an `Idx`, a tuple or struct of them, or `key.descending()`",
    note = "keys one after another, of which some descend: `a.descending().then(b)`"
)]
pub trait Key: Copy {
    /// The words to compare, the most significant first. For all elements there are as many, and as wide; see [`Word`] for a key of one's own.
    fn words(self) -> Vec<Word>;

    /// The opposite order. Equal elements stay in theirs.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<i32, N>| x.sort_by_key(|v| v.descending()))?;
    /// assert_eq!(f.call(&[1, 3, 2])?.to_vec()?, [3, 2, 1]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    fn descending(self) -> Descending<Self> {
        Descending(self)
    }

    /// This key, and where it is equal another one.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<i32, N>| x.sort_by_key(|v| (v % 10).then(v.descending())))?;
    /// assert_eq!(f.call(&[11, 2, 21, 12])?.to_vec()?, [21, 11, 12, 2]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    fn then<K: Key>(self, other: K) -> Then<Self, K> {
        Then(self, other)
    }
}

#[diagnostic::do_not_recommend]
impl<V: Value> Key for V {
    #[track_caller]
    fn words(self) -> Vec<Word> {
        let at: Loc = Location::caller();
        Word::all_in_order(at, parts_of::<V::Elem>(), &handles(self))
    }
}

/// A key in the opposite order; see [`Key::descending`].
///
/// ```
/// use slyz::prelude::*;
/// fn longest_first(length: Exp<f32>) -> slyz::Descending<Exp<f32>> { length.descending() }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Descending<K>(K);

impl<K: Key> Key for Descending<K> {
    #[track_caller]
    fn words(self) -> Vec<Word> {
        let words = self.0.words();
        on_behalf(Location::caller(), || words.into_iter().map(Word::backwards).collect())
    }
}

/// One key, then another; see [`Key::then`].
///
/// ```
/// use slyz::prelude::*;
/// fn by_both(a: Exp<f32>, b: Exp<u8>) -> slyz::Then<Exp<f32>, Exp<u8>> { a.then(b) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Then<K, L>(K, L);

impl<K: Key, L: Key> Key for Then<K, L> {
    #[track_caller]
    fn words(self) -> Vec<Word> {
        [self.0.words(), self.1.words()].concat()
    }
}

/// Does one key come before the other?
pub(crate) fn is_before<K: Key>(a: K, b: K) -> Exp<bool> {
    let words = a.words().into_iter().zip(b.words());
    words.rev().fold(lit(false), |behind, (a, b)| a.bits.lt(b.bits) | (a.bits.eq(b.bits) & behind))
}
