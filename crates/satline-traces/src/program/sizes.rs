//! `--sizes`: pages, or parts of the footprint.

use satline_program::{Error, Result};

const MOST: usize = 10_000;

/// Sizes in pages, rising, each once.
///
/// # Errors
/// A word is no size.
pub fn parse(text: &str, footprint: u32) -> Result<Vec<u32>> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    let mut sizes = words
        .map(|word| one(word, footprint))
        .collect::<Result<Vec<u32>>>()?;
    sizes.sort_unstable();
    sizes.dedup();
    match sizes.len() {
        0 => Err(wrong("no size", "")),
        1..=MOST => Ok(sizes),
        _ => Err(wrong("too many sizes", "")),
    }
}

fn one(word: &str, footprint: u32) -> Result<u32> {
    if let Some(part) = word.strip_suffix('%') {
        let part: f64 = part.trim().parse().map_err(|_| wrong("no part", word))?;
        if !(part > 0.0 && part <= 100.0) {
            return Err(wrong("no part between 0 and 100 %", word));
        }
        return Ok(((part / 100.0 * f64::from(footprint)).round() as u32).max(1));
    }
    match word.parse() {
        Ok(size) if (1..u32::MAX / 4).contains(&size) => Ok(size),
        _ => Err(wrong("no number of pages", word)),
    }
}

fn wrong(what: &str, word: &str) -> Error {
    let message = if word.is_empty() {
        format!("--sizes: {what}")
    } else {
        format!("--sizes: {word:?} is {what}")
    };
    Error::input(message, "sizes are pages or parts of the footprint: 64,256,10%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_pages_or_parts_of_the_footprint() {
        assert_eq!(parse("64, 10%,8,0.1%,100%", 200).unwrap(), [1, 8, 20, 64, 200]);
        assert_eq!(parse("10%,20", 200).unwrap(), [20]);
        for text in ["", "0", "-1", "x", "0%", "101%", "NaN%", "4294967295", "1.5"] {
            let error = parse(text, 200).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{text}");
            assert!(error.message.starts_with("--sizes"), "{error}");
        }
    }
}
