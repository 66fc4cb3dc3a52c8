//! Every policy once more, as its paper says it, over plain queues of pages: slow, and nothing shared with the crate.

use std::collections::{HashMap, HashSet, VecDeque};

/// Misses of a policy, by name.
pub fn misses(name: &str, pages: &[u32], size: usize) -> u64 {
    match name {
        "fifo" => fifo(pages, size),
        "clock" => clock(pages, size),
        "lru" => lru(pages, size),
        "lfu" => lfu(pages, size),
        "two-list" => two_list(pages, size),
        "generations" => generations(pages, size),
        "arc" => arc(pages, size),
        "s3-fifo" => s3_fifo(pages, size),
        "sieve" => sieve(pages, size),
        "working-set" => working_set(pages, size),
        "opt" => opt(pages, size),
        other => panic!("no naive {other}"),
    }
}

fn fifo(pages: &[u32], size: usize) -> u64 {
    let (mut queue, mut misses) = (VecDeque::new(), 0);
    for page in pages {
        if !queue.contains(page) {
            misses += 1;
            if queue.len() == size {
                queue.pop_front();
            }
            queue.push_back(*page);
        }
    }
    misses
}

fn clock(pages: &[u32], size: usize) -> u64 {
    let (mut queue, mut misses): (VecDeque<(u32, bool)>, _) = (VecDeque::new(), 0);
    for &page in pages {
        if let Some(entry) = queue.iter_mut().find(|entry| entry.0 == page) {
            entry.1 = true;
            continue;
        }
        misses += 1;
        while queue.len() == size {
            let (first, referenced) = queue.pop_front().unwrap();
            if referenced {
                queue.push_back((first, false));
            }
        }
        queue.push_back((page, false));
    }
    misses
}

fn lru(pages: &[u32], size: usize) -> u64 {
    let (mut stack, mut misses) = (Vec::new(), 0);
    for page in pages {
        match stack.iter().position(|one| one == page) {
            Some(at) => {
                stack.remove(at);
            }
            None => misses += 1,
        }
        stack.push(*page);
        if stack.len() > size {
            stack.remove(0);
        }
    }
    misses
}

fn lfu(pages: &[u32], size: usize) -> u64 {
    // (page, touches, when it got that number)
    let (mut held, mut misses): (Vec<(u32, u64, usize)>, _) = (Vec::new(), 0);
    for (now, &page) in pages.iter().enumerate() {
        if let Some(entry) = held.iter_mut().find(|entry| entry.0 == page) {
            (entry.1, entry.2) = (entry.1 + 1, now);
            continue;
        }
        misses += 1;
        if held.len() == size {
            let least = (0..size).min_by_key(|&at| (held[at].1, held[at].2)).unwrap();
            held.remove(least);
        }
        held.push((page, 1, now));
    }
    misses
}

fn sieve(pages: &[u32], size: usize) -> u64 {
    // Oldest first; the hand is a position.
    let (mut queue, mut hand, mut misses): (Vec<(u32, bool)>, usize, _) = (Vec::new(), 0, 0);
    for &page in pages {
        if let Some(entry) = queue.iter_mut().find(|entry| entry.0 == page) {
            entry.1 = true;
            continue;
        }
        misses += 1;
        if queue.len() == size {
            hand %= size;
            while queue[hand].1 {
                queue[hand].1 = false;
                hand = (hand + 1) % size;
            }
            queue.remove(hand);
            // Past the newest it goes back to the oldest, before the new page stands there.
            if hand == queue.len() {
                hand = 0;
            }
        }
        queue.push((page, false));
    }
    misses
}

fn s3_fifo(pages: &[u32], size: usize) -> u64 {
    let (small_share, most_ghosts) = (size / 10, size * 9 / 10);
    let main_share = size - small_share;
    let mut small: VecDeque<(u32, u8)> = VecDeque::new();
    let mut main: VecDeque<(u32, u8)> = VecDeque::new();
    let (mut ghosts, mut evicted, mut misses) = (VecDeque::new(), false, 0);
    for &page in pages {
        let mut held = small.iter_mut().chain(main.iter_mut());
        if let Some(entry) = held.find(|entry| entry.0 == page) {
            entry.1 = (entry.1 + 1).min(3);
            continue;
        }
        misses += 1;
        let known = ghosts.contains(&page);
        ghosts.retain(|&ghost| ghost != page);
        while small.len() + main.len() >= size {
            evicted = true;
            if main.len() > main_share || small.is_empty() {
                let (first, touches) = main.pop_front().unwrap();
                if touches > 0 {
                    main.push_back((first, touches - 1));
                }
                continue;
            }
            let (first, touches) = small.pop_front().unwrap();
            if touches >= 2 {
                main.push_back((first, 0));
                // The small queue is gone through before the main one is asked again.
                while small.front().is_some_and(|entry| entry.1 >= 2) {
                    main.push_back((small.pop_front().unwrap().0, 0));
                }
                if small.is_empty() {
                    continue;
                }
                ghosts.push_back(small.pop_front().unwrap().0);
            } else {
                ghosts.push_back(first);
            }
            while ghosts.len() > most_ghosts {
                ghosts.pop_front();
            }
        }
        if known || (!evicted && small.len() >= small_share) {
            main.push_back((page, 0));
        } else {
            small.push_back((page, 0));
        }
    }
    misses
}

fn arc(pages: &[u32], size: usize) -> u64 {
    // Newest last.
    let [mut t1, mut t2, mut b1, mut b2]: [Vec<u32>; 4] = Default::default();
    let (mut p, c, mut misses) = (0.0_f64, size, 0);
    fn take(list: &mut Vec<u32>, page: u32) -> bool {
        let len = list.len();
        list.retain(|&one| one != page);
        list.len() < len
    }
    for &x in pages {
        if take(&mut t1, x) || take(&mut t2, x) {
            t2.push(x);
            continue;
        }
        misses += 1;
        let (d1, d2) = (b1.len() as f64, b2.len() as f64);
        let mut in_b2 = false;
        let mut replace = t1.len() + t2.len() >= c;
        let again = if take(&mut b1, x) {
            p = (p + (d2 / d1).max(1.0)).min(c as f64);
            true
        } else if take(&mut b2, x) {
            p = (p - (d1 / d2).max(1.0)).max(0.0);
            in_b2 = true;
            true
        } else {
            if t1.len() + b1.len() == c {
                if t1.len() < c {
                    b1.remove(0);
                } else {
                    t1.remove(0);
                    replace = false;
                }
            } else if t1.len() + t2.len() + b1.len() + b2.len() == 2 * c {
                b2.remove(0);
            }
            false
        };
        if replace {
            let n = t1.len() as f64;
            if !t1.is_empty() && (n > p || (in_b2 && n == p)) {
                b1.push(t1.remove(0));
            } else {
                b2.push(t2.remove(0));
            }
        }
        if again { t2.push(x) } else { t1.push(x) }
    }
    misses
}

#[derive(Clone, Copy)]
struct Held {
    page: u32,
    referenced: bool,
    seen: bool,
}

fn two_list(pages: &[u32], size: usize) -> u64 {
    let (mut inactive, mut active): (VecDeque<Held>, VecDeque<Held>) = Default::default();
    let (mut shadows, mut age, mut misses) = (HashMap::new(), 0_u64, 0);
    for &page in pages {
        let mut held = inactive.iter_mut().chain(active.iter_mut());
        if let Some(entry) = held.find(|entry| entry.page == page) {
            entry.referenced = true;
            continue;
        }
        misses += 1;
        while inactive.len() + active.len() == size {
            while inactive.len() < active.len() {
                let one = active.pop_front().unwrap();
                inactive.push_back(Held {
                    referenced: false,
                    ..one
                });
            }
            let one = inactive.pop_front().unwrap();
            match (one.referenced, one.seen) {
                (true, false) => inactive.push_back(Held {
                    referenced: false,
                    seen: true,
                    ..one
                }),
                (true, true) => {
                    age += 1;
                    active.push_back(Held {
                        referenced: false,
                        seen: false,
                        ..one
                    });
                }
                _ => {
                    shadows.insert(one.page, age);
                    age += 1;
                }
            }
        }
        let one = Held {
            page,
            referenced: true,
            seen: false,
        };
        match shadows.remove(&page) {
            Some(then) if age - then <= active.len() as u64 => {
                age += 1;
                active.push_back(one);
            }
            _ => inactive.push_back(one),
        }
    }
    misses
}

fn generations(pages: &[u32], size: usize) -> u64 {
    // (page, referenced), each generation with its newest last; the youngest generation last.
    let mut all: VecDeque<Vec<(u32, bool)>> = VecDeque::from([vec![], vec![]]);
    // Reading the bits goes by frame: the frame of each page.
    let mut frames: Vec<u32> = Vec::new();
    let mut misses = 0;
    for &page in pages {
        if let Some(entry) = all.iter_mut().flatten().find(|entry| entry.0 == page) {
            entry.1 = true;
            continue;
        }
        misses += 1;
        let mut free = None;
        while frames.len() == size && free.is_none() {
            if all.len() <= 2 {
                all.push_back(vec![]);
                for &page in &frames {
                    let old = all.iter_mut().find(|of| of.contains(&(page, true)));
                    if let Some(old) = old {
                        old.retain(|entry| entry.0 != page);
                        all.back_mut().unwrap().push((page, false));
                    }
                }
            }
            let oldest = std::mem::take(&mut all[0]);
            for (at, &(page, referenced)) in oldest.iter().enumerate() {
                if !referenced {
                    free = Some(page);
                    all[0] = oldest[at + 1..].to_vec();
                    break;
                }
                all.back_mut().unwrap().push((page, false));
            }
            if free.is_none() {
                all.pop_front();
            }
        }
        match free {
            Some(old) => *frames.iter_mut().find(|one| **one == old).unwrap() = page,
            None => frames.push(page),
        }
        all.back_mut().unwrap().push((page, true));
    }
    misses
}

fn opt(pages: &[u32], size: usize) -> u64 {
    let (mut held, mut misses): (Vec<u32>, _) = (Vec::new(), 0);
    for (now, &page) in pages.iter().enumerate() {
        if held.contains(&page) {
            continue;
        }
        misses += 1;
        if held.len() == size {
            let next = |of: u32| {
                pages[now..]
                    .iter()
                    .position(|&one| one == of)
                    .unwrap_or(usize::MAX)
            };
            let farthest = (0..size).max_by_key(|&at| next(held[at])).unwrap();
            held.remove(farthest);
        }
        held.push(page);
    }
    misses
}

fn working_set(pages: &[u32], size: usize) -> u64 {
    let mut best = pages.len() as u64;
    for window in 1..=pages.len() {
        let (mut space, mut misses) = (0, 0);
        for now in 0..pages.len() {
            let before: HashSet<u32> = pages[now.saturating_sub(window)..now].iter().copied().collect();
            misses += u64::from(!before.contains(&pages[now]));
            let with: HashSet<u32> = pages[(now + 1).saturating_sub(window)..=now]
                .iter()
                .copied()
                .collect();
            space += with.len();
        }
        if space > size * pages.len() {
            break;
        }
        best = misses;
    }
    best
}
