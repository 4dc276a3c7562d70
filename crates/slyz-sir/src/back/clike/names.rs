//! Names that nobody has yet.

use std::collections::{BTreeSet, HashMap};

/// A stem that is reserved with so many numbers is reserved with all.
const MOST_REFUSED: usize = 20;

/// The names that are taken. To find a free one costs as much in the middle of a long kernel as at its beginning.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    taken: BTreeSet<String>,
    /// By stem, the number from which on names may be free.
    next: HashMap<String, usize>,
}

impl Names {
    /// The name itself, or one like it that nobody has.
    pub fn free(&mut self, asked: &str, reserved: &dyn Fn(&str) -> bool) -> String {
        let mut stem: String = asked.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        if !stem.starts_with(|c: char| c.is_ascii_alphabetic()) {
            stem.insert(0, 'v');
        }
        let gap = if stem.ends_with(|c: char| c.is_ascii_digit()) { "_" } else { "" };
        let mut number = self.next.get(&stem).copied().unwrap_or(1);
        let mut refused = 0;
        let free = loop {
            let name = if number == 1 { stem.clone() } else { format!("{stem}{gap}{number}") };
            number += 1;
            if self.taken.contains(&name) {
                continue;
            }
            if !reserved(&name) {
                break name;
            }
            refused += 1;
            if refused == MOST_REFUSED {
                // Languages keep all names that begin in some ways, whatever follows.
                stem = format!("v_{}", stem.trim_end_matches('_'));
                number = self.next.get(&stem).copied().unwrap_or(1);
            }
        };
        self.next.insert(stem, number);
        self.taken.insert(free.clone());
        free
    }

    pub fn has(&self, name: &str) -> bool {
        self.taken.contains(name)
    }

    /// A name whose scope has ended may be given again.
    pub fn release(&mut self, name: &str) {
        self.taken.remove(name);
        self.next.retain(|stem, _| !name.starts_with(stem.as_str()));
    }
}

/// What one of several is called: of `parts` a `part`.
pub(super) fn of_one(several: &str) -> &str {
    let letters = several.trim_end_matches(|c: char| c.is_ascii_digit());
    letters.strip_suffix('s').unwrap_or(letters)
}

impl FromIterator<String> for Names {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Names {
        Names { taken: names.into_iter().collect(), next: HashMap::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn names_are_free_and_the_first_that_are() {
        let mut names: Names = ["v".to_string(), "v3".to_string()].into_iter().collect();
        let reserved = |name: &str| name == "v2";
        let made: Vec<String> = ["v", "v", "x1", "x1", "2nd", "a-b"].map(|asked| names.free(asked, &reserved)).into();
        assert_eq!(made, ["v4", "v5", "x1", "x1_2", "v2nd", "a_b"]);
        names.release("v4");
        assert_eq!(names.free("v", &reserved), "v4");
        assert!(names.has("v5") && !names.has("v2"));
    }

    #[test]
    fn names_that_begin_like_reserved_ones_get_another_beginning() {
        let mut names = Names::default();
        let reserved = |name: &str| name.starts_with("get_");
        let made: Vec<String> = ["get_max", "get_max", "get_max"].map(|asked| names.free(asked, &reserved)).into();
        assert_eq!(made, ["v_get_max", "v_get_max2", "v_get_max3"]);
    }

    /// Kernels with thousands of values want as many names with one stem.
    #[test]
    fn a_name_is_found_at_once_however_many_there_are() {
        let asked = Cell::new(0);
        let reserved = |_: &str| {
            asked.set(asked.get() + 1);
            false
        };
        let mut names = Names::default();
        (0..50_000).for_each(|_| drop(names.free("v", &reserved)));
        assert_eq!(asked.get(), 50_000);
    }
}
