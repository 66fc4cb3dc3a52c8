//! Ten subpools of free storage, and an eleventh.
//!
//! What: subpools of 3, 6 … 30 and 33 doublewords; a larger request goes to the main chain.
//! Why: a release made the terminal's input area 31 doublewords, one more than the tenth subpool has.
//! Reference: [TB84], the eleventh subpool.

use super::Subpools;

#[derive(Debug)]
struct Eleven([u32; 11]);

pub fn make() -> Box<dyn Subpools> {
    Box::new(Eleven(std::array::from_fn(|number| 3 * (number as u32 + 1))))
}

impl Subpools for Eleven {
    fn sizes(&self) -> &[u32] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_input_area_is_in_a_subpool() {
        assert_eq!(
            (make().subpool(31), make().subpool(33), make().subpool(34)),
            (Some(10), Some(10), None)
        );
    }
}
