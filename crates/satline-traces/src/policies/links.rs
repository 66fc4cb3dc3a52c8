//! Several lists over the same items: each item is in one of them at most.

/// No item, no frame, no page.
pub const NONE: u32 = u32::MAX;

/// Rings with a mark as their end: an item comes or goes without a question whether it is the first or last.
#[derive(Debug)]
pub struct Links {
    /// By item, then by list: (newer, older).
    nodes: Vec<(u32, u32)>,
    lens: Vec<u32>,
    items: u32,
}

impl Links {
    /// So many empty lists over items 0 to `items`.
    pub fn new(items: u32, lists: u32) -> Self {
        let ends = items..items + lists;
        Self {
            nodes: (0..items)
                .map(|_| (NONE, NONE))
                .chain(ends.map(|end| (end, end)))
                .collect(),
            lens: vec![0; lists as usize],
            items,
        }
    }

    pub fn len(&self, list: u32) -> u32 {
        self.lens[list as usize]
    }

    pub fn oldest(&self, list: u32) -> Option<u32> {
        self.item(self.nodes[(self.items + list) as usize].0)
    }

    /// The next newer one in the same list.
    pub fn newer(&self, item: u32) -> Option<u32> {
        self.item(self.nodes[item as usize].0)
    }

    /// Makes it the newest of a list; it must be in none.
    pub fn push(&mut self, list: u32, item: u32) {
        let end = self.items + list;
        let older = self.nodes[end as usize].1;
        self.insert(list, item, older);
    }

    /// Puts it into a list next to an item of it, on the newer side.
    pub fn push_after(&mut self, list: u32, item: u32, older: u32) {
        self.insert(list, item, older);
    }

    /// Makes it the oldest of a list.
    pub fn push_oldest(&mut self, list: u32, item: u32) {
        self.insert(list, item, self.items + list);
    }

    /// Takes it out of the list in which it is.
    pub fn remove(&mut self, list: u32, item: u32) {
        let (newer, older) = self.nodes[item as usize];
        self.nodes[newer as usize].1 = older;
        self.nodes[older as usize].0 = newer;
        self.lens[list as usize] -= 1;
    }

    /// Makes it the newest of the list in which it is.
    pub fn renew(&mut self, list: u32, item: u32) {
        let end = self.items + list;
        if self.nodes[item as usize].0 != end {
            self.remove(list, item);
            self.push(list, item);
        }
    }

    /// Takes the oldest one out of a list that fits.
    pub fn take_oldest(&mut self, list: u32, mut fits: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut at = self.oldest(list);
        while let Some(item) = at {
            if fits(item) {
                self.remove(list, item);
                return Some(item);
            }
            at = self.newer(item);
        }
        None
    }

    fn insert(&mut self, list: u32, item: u32, older: u32) {
        let newer = self.nodes[older as usize].0;
        self.nodes[item as usize] = (newer, older);
        self.nodes[newer as usize].1 = item;
        self.nodes[older as usize].0 = item;
        self.lens[list as usize] += 1;
    }

    fn item(&self, node: u32) -> Option<u32> {
        (node < self.items).then_some(node)
    }
}

/// Pages that are remembered after they left, in the order in which they did.
#[derive(Debug)]
pub struct Ghosts {
    links: Links,
    inside: Vec<bool>,
}

impl Ghosts {
    pub fn new(pages: u32) -> Self {
        Self {
            links: Links::new(pages, 1),
            inside: vec![false; pages as usize],
        }
    }

    pub fn count(&self) -> u32 {
        self.links.len(0)
    }

    pub fn contains(&self, page: u32) -> bool {
        self.inside[page as usize]
    }

    /// Remembers one that is not remembered.
    pub fn push(&mut self, page: u32) {
        self.inside[page as usize] = true;
        self.links.push(0, page);
    }

    /// False: it was not remembered.
    pub fn remove(&mut self, page: u32) -> bool {
        let was = std::mem::replace(&mut self.inside[page as usize], false);
        if was {
            self.links.remove(0, page);
        }
        was
    }

    pub fn forget_oldest(&mut self) {
        if let Some(page) = self.links.oldest(0) {
            self.remove(page);
        }
    }
}
