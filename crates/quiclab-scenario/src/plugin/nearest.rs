//! Names that somebody may have meant.

/// The names closest to `wrong`, if any is close: at most a third of its letters are wrong.
pub(crate) fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let most = (wrong.chars().count() / 3).max(2);
    let distances: Vec<_> = names.into_iter().map(|name| (distance(wrong, name), name)).collect();
    let Some(least) = distances.iter().map(|(distance, _)| *distance).min().filter(|least| *least <= most)
    else {
        return Vec::new();
    };
    distances.into_iter().filter(|(distance, _)| *distance == least).map(|(_, name)| name).collect()
}

/// Letters to insert, delete or replace to make one name of the other (Levenshtein), row by row.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (above, a) in a.chars().enumerate() {
        let mut diagonal = above;
        row[0] = above + 1;
        for (left, b) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[left + 1];
            row[left + 1] = replaced.min(diagonal + 1).min(row[left] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_by_hand() {
        for (a, b, letters) in [
            ("", "", 0),
            ("", "ab", 2),
            ("pacing", "pacing", 0),
            ("packing", "pacing", 1), // k goes
            ("pacing", "spacing", 1), // s comes
            ("pacing", "racing", 1),  // p becomes r
            ("kitten", "sitting", 3), // the example of the textbooks
            ("abc", "xyz", 3),
        ] {
            assert_eq!(distance(a, b), letters, "{a} {b}");
            assert_eq!(distance(b, a), letters, "{b} {a}");
        }
    }

    #[test]
    fn the_nearest_are_all_at_the_least_distance_and_none_is_far() {
        let names = ["no-pacing", "no-packing", "one-connection"];
        assert_eq!(nearest("no-pacin", names), ["no-pacing"]);
        assert_eq!(nearest("no-paxing", names), ["no-pacing"], "one letter; `no-packing` is two away");
        assert_eq!(nearest("no-pac", ["no-pack", "no-pact", "x"]), ["no-pack", "no-pact"]);
        assert!(nearest("moon", names).is_empty());
    }
}
