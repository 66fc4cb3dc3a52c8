//! The page tables of this process, by both methods.

use std::fs::File;

use satline_swapper::calls::page_bytes;
use satline_swapper::pages::{Census, Method};

/// More regions than one call takes, so that the scan must go on.
const PAGES: usize = 20_000;

#[test]
fn both_methods_see_the_same_pages_of_a_comb() {
    if Method::of_this_kernel(page_bytes()) == Method::Read {
        return eprintln!("skipped: before Linux 6.7 there is one method only");
    }
    let page = page_bytes() as usize;
    let mut comb: Vec<u8> = Vec::with_capacity((PAGES + 1) * page);
    let base = comb.as_mut_ptr() as usize;
    let first = base.next_multiple_of(page);
    // Every third page is touched; a touch of a huge page would make all present.
    for index in (0..PAGES).step_by(3) {
        let place = first - base + index * page;
        comb.spare_capacity_mut()[place].write(1);
    }
    let maps = format!("{first:x}-{:x} rw-p 0 0 0\n", first + (PAGES - 1) * page);
    let pagemap = File::open("/proc/self/pagemap").unwrap();
    let census = |method| Census::take(&pagemap, maps.as_bytes(), method, page as u64).unwrap();
    let (scanned, read) = (census(Method::Scan), census(Method::Read));
    assert_eq!(scanned.present, read.present);
    assert!(scanned.present.pages() >= (PAGES / 3) as u64 - 1);
}
