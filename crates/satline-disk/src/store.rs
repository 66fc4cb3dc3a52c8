//! What was written to the disk, held in main storage; pages never written are zero and take none.

use crate::PAGE_BYTES;

const PAGE: usize = PAGE_BYTES as usize;

/// The disk's contents.
pub struct Store {
    pages: Vec<Option<Box<[u8; PAGE]>>>,
}

impl Store {
    pub fn new(bytes: u64) -> Self {
        let mut pages = Vec::new();
        pages.resize_with((bytes / PAGE_BYTES) as usize, || None);
        Self { pages }
    }

    pub fn bytes(&self) -> u64 {
        self.pages.len() as u64 * PAGE_BYTES
    }

    /// Appends up to `length` bytes from `offset` on; fewer at the end.
    pub fn read(&self, offset: u64, length: u32, into: &mut Vec<u8>) {
        for (page, from, to) in self.parts(offset, u64::from(length)) {
            match &self.pages[page] {
                Some(held) => into.extend_from_slice(&held[from..to]),
                None => into.resize(into.len() + to - from, 0),
            }
        }
    }

    /// Writes what fits before the end; how much that was.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> u32 {
        let mut done = 0;
        for (page, from, to) in self.parts(offset, data.len() as u64) {
            let held = self.pages[page].get_or_insert_with(|| Box::new([0; PAGE]));
            held[from..to].copy_from_slice(&data[done..done + to - from]);
            done += to - from;
        }
        done as u32
    }

    /// Gives back the whole pages of a range.
    pub fn discard(&mut self, offset: u64, length: u64) {
        let end = offset.saturating_add(length).min(self.bytes());
        for page in offset.div_ceil(PAGE_BYTES)..end / PAGE_BYTES {
            self.pages[page as usize] = None;
        }
    }

    /// The pages of a range, each with the part of it that is meant.
    fn parts(&self, offset: u64, length: u64) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let end = offset.saturating_add(length).min(self.bytes());
        let mut at = offset;
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let page = at / PAGE_BYTES;
                let to = end.min((page + 1) * PAGE_BYTES);
                let part = (
                    (page as usize),
                    (at - page * PAGE_BYTES) as usize,
                    (to - page * PAGE_BYTES) as usize,
                );
                at = to;
                part
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BYTES: u64 = 5 * PAGE_BYTES;

    #[test]
    fn whole_pages_of_a_discarded_range_are_zero() {
        let mut store = Store::new(BYTES);
        store.write(0, &vec![7; BYTES as usize]);
        store.discard(PAGE_BYTES - 1, 2 * PAGE_BYTES);
        store.discard(BYTES - PAGE_BYTES, u64::MAX);
        store.discard(u64::MAX, 1);
        let mut read = Vec::new();
        store.read(0, BYTES as u32, &mut read);
        let of: Vec<u8> = read.chunks(PAGE).map(|page| page[9]).collect();
        assert_eq!(of, [7, 0, 7, 7, 0]);
    }

    proptest! {
        #[test]
        fn reads_what_a_plain_array_would_hold(
            writes in prop::collection::vec((0..BYTES + 9000, prop::collection::vec(any::<u8>(), 0..9000)), 0..6),
            offset in 0..BYTES + 9000, length in 0u32..30_000,
        ) {
            let mut store = Store::new(BYTES);
            let mut plain = vec![0u8; BYTES as usize];
            for (at, data) in writes {
                let fits = data.len().min(BYTES.saturating_sub(at) as usize);
                prop_assert_eq!(store.write(at, &data) as usize, fits);
                if fits > 0 {
                    plain[at as usize..at as usize + fits].copy_from_slice(&data[..fits]);
                }
            }
            let mut read = Vec::new();
            store.read(offset, length, &mut read);
            let from = offset.min(BYTES) as usize;
            let to = (offset + u64::from(length)).min(BYTES) as usize;
            prop_assert_eq!(&read[..], &plain[from..to.max(from)]);
        }
    }
}
