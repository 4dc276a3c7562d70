//! Which name was meant: the nearest by edits.

/// The candidate that few edits make of `name`: one for every three letters, but at least one.
pub(crate) fn nearest<'n>(name: &str, candidates: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let most = (name.chars().count() / 3).max(1);
    let scored = candidates.into_iter().filter(|&candidate| candidate != name).map(|candidate| {
        let starts_alike = candidate.starts_with(name) || name.starts_with(candidate);
        (distance(name, candidate, most), !starts_alike, candidate)
    });
    scored.filter(|&(edits, ..)| edits <= most).min().map(|(.., candidate)| candidate)
}

/// Letters to insert, delete, replace, or swap with a neighbour; past `most` any number above it. Case costs nothing.
fn distance(a: &str, b: &str, most: usize) -> usize {
    let letters = |s: &str| s.chars().flat_map(char::to_lowercase).collect::<Vec<char>>();
    let a = letters(a);
    let b = letters(b);
    if a.len().abs_diff(b.len()) > most || a.len() > 64 {
        return most + 1;
    }
    let mut before: Vec<usize> = vec![];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let mut best = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + (a[i - 1] != b[j - 1]) as usize);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_name_is_found() {
        let names = ["output", "input", "idx", "K"];
        assert_eq!(nearest("ouput", names), Some("output"));
        assert_eq!(nearest("inptu", names), Some("input"));
        assert_eq!(nearest("k", names), Some("K"));
        assert_eq!(nearest("id", names), Some("idx"));
        assert_eq!(nearest("weights", names), None);
        assert_eq!(nearest("sqr", ["shr", "sqrt"]), Some("sqrt"));
        assert_eq!(nearest("", names), Some("K"));
    }
}
