//! The swap sets that are out.

use super::NONE;

/// Pages of a user, in order of address, that went out together.
#[derive(Debug, Default)]
struct Set {
    user: u32,
    /// The user's stay in which it was formed.
    stay: u32,
    /// Which set of all it is: a number in the table is used again.
    serial: u64,
    pages: Vec<u32>,
}

/// All sets that are out, each with at least one page; a page is in one at most.
#[derive(Debug)]
pub(super) struct Sets {
    table: Vec<Set>,
    free: Vec<u32>,
    formed: u64,
    /// By user: his sets, in the order in which they were formed.
    of_user: Vec<Vec<u32>>,
    /// By user and page: the set, or none.
    of_page: Vec<Vec<u32>>,
}

impl Sets {
    /// None, for users with so many pages each; there is room for all of them in sets of so many.
    pub fn new(spaces: impl Iterator<Item = u32>, set_pages: u32) -> Self {
        let of_page: Vec<Vec<u32>> = spaces.map(|pages| vec![NONE; pages as usize]).collect();
        let whole = |pages: &Vec<u32>| pages.len() as u32 / set_pages + 1;
        let sets = of_page.iter().map(whole).sum();
        let empty = |_| Set {
            pages: Vec::with_capacity(set_pages as usize),
            ..Set::default()
        };
        let table = (0..sets).map(empty).collect();
        Self {
            free: (0..sets).collect(),
            table,
            formed: 0,
            of_user: of_page
                .iter()
                .map(|pages| Vec::with_capacity(pages.len()))
                .collect(),
            of_page,
        }
    }

    /// The set that has a user's page.
    pub fn of_page(&self, user: u32, page: u32) -> Option<u32> {
        let set = self.of_page[user as usize][page as usize];
        (set != NONE).then_some(set)
    }

    pub fn has_any(&self, user: u32) -> bool {
        !self.of_user[user as usize].is_empty()
    }

    /// Whether a set that was formed in this stay of the user's is out.
    pub fn has_of_stay(&self, user: u32, stay: u32) -> bool {
        let of_stay = |&set: &u32| self.table[set as usize].stay == stay;
        self.of_user[user as usize].iter().any(of_stay)
    }

    pub fn user(&self, set: u32) -> u32 {
        self.table[set as usize].user
    }

    /// Whether it is still there.
    pub fn has_pages(&self, set: u32) -> bool {
        !self.pages(set).is_empty()
    }

    /// Which set of all it is.
    pub fn serial(&self, set: u32) -> u64 {
        self.table[set as usize].serial
    }

    /// Its pages that are still out.
    pub fn pages(&self, set: u32) -> &[u32] {
        &self.table[set as usize].pages
    }

    /// The user's sets: those of his latest stay first, those of one stay in order of address.
    pub fn latest_first(&self, user: u32, into: &mut Vec<u32>) {
        into.clear();
        let sets = &self.of_user[user as usize];
        let mut end = sets.len();
        while let Some(&last) = sets[..end].last() {
            let stay = self.table[last as usize].stay;
            let earlier = sets[..end]
                .iter()
                .rposition(|&set| self.table[set as usize].stay != stay);
            let begin = earlier.map_or(0, |at| at + 1);
            into.extend_from_slice(&sets[begin..end]);
            end = begin;
        }
    }

    /// An empty set, to be filled at once.
    pub fn form(&mut self, user: u32, stay: u32) -> u32 {
        let set = self.free.pop().unwrap_or_else(|| {
            self.table.push(Set::default());
            self.table.len() as u32 - 1
        });
        let of = &mut self.table[set as usize];
        self.formed += 1;
        (of.user, of.stay, of.serial) = (user, stay, self.formed);
        self.of_user[user as usize].push(set);
        set
    }

    pub fn add(&mut self, set: u32, page: u32) {
        let of = &mut self.table[set as usize];
        of.pages.push(page);
        self.of_page[of.user as usize][page as usize] = set;
    }

    /// A page is out no more; with its last page goes the set.
    pub fn remove(&mut self, user: u32, page: u32) {
        let set = std::mem::replace(&mut self.of_page[user as usize][page as usize], NONE);
        let pages = &mut self.table[set as usize].pages;
        pages.retain(|&one| one != page);
        if pages.is_empty() {
            self.of_user[user as usize].retain(|&one| one != set);
            self.free.push(set);
        }
    }

    /// Every (user, page) that is out.
    ///
    /// # Errors
    /// A page is not where its set says, a set is empty, or one is in two places.
    pub fn check(&self) -> Result<Vec<(u32, u32)>, String> {
        let mut out = Vec::new();
        for (user, sets) in (0_u32..).zip(&self.of_user) {
            for &set in sets {
                let of = &self.table[set as usize];
                let agrees = |&page: &u32| self.of_page[user as usize][page as usize] == set;
                if of.user != user || of.pages.is_empty() || !of.pages.iter().all(agrees) {
                    return Err(format!("swap set {set} of user {user} does not agree: {of:?}"));
                }
                out.extend(of.pages.iter().map(|&page| (user, page)));
            }
        }
        let marked = self.of_page.iter().flatten().filter(|&&set| set != NONE).count();
        let open = self.table.len() - self.free.len();
        let held: usize = self.of_user.iter().map(Vec::len).sum();
        match (marked, held) == (out.len(), open) {
            true => Ok(out),
            false => Err(format!(
                "{marked} pages are marked as out, {} are in swap sets; of {open} sets users have {held}",
                out.len()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_stays_sets_come_first_and_an_empty_set_is_none() {
        let mut sets = Sets::new([20, 20].into_iter(), 2);
        let formed: Vec<u32> = [(1, 0), (1, 2), (2, 4), (3, 6), (3, 8)]
            .iter()
            .map(|&(stay, page)| {
                let set = sets.form(1, stay);
                sets.add(set, page);
                sets.add(set, page + 1);
                set
            })
            .collect();
        let mut order = Vec::new();
        sets.latest_first(1, &mut order);
        assert_eq!(order, [3, 4, 2, 0, 1].map(|at| formed[at]));
        assert_eq!(sets.check().unwrap().len(), 10);
        sets.remove(1, 4);
        assert!(sets.has_of_stay(1, 2));
        sets.remove(1, 5);
        assert!(!sets.has_of_stay(1, 2) && sets.of_page(1, 4).is_none());
        assert_eq!((sets.pages(formed[0]), sets.user(formed[0])), (&[0, 1][..], 1));
        assert_eq!(sets.form(0, 1), formed[2]);
        assert!(sets.check().is_err(), "an empty set");
        assert!(sets.has_any(0));
    }
}
