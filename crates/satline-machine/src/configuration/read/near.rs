//! The key that was probably meant.

/// Of these, the one that a slip or two of the fingers make into what was written; `None`: nothing near.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A hostile key may be as long as the file.
    if written.len() > 64 {
        return None;
    }
    let most = 1 + written.len() / 4;
    let near = known.into_iter().map(|key| (distance(written, key), key));
    near.filter(|(far, _)| *far <= most).min().map(|(_, key)| key)
}

/// Letters to add, drop or change.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let changed = corner + usize::from(from != *to);
            corner = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_key_and_nonsense_finds_none() {
        let known = ["pageable_frames", "bytes", "free_list_minimum_frames"];
        assert_eq!(nearest("pagable_frames", known), Some("pageable_frames"));
        assert_eq!(nearest("byte", known), Some("bytes"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest(&"x".repeat(1 << 20), known), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
