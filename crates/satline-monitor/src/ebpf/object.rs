//! An object of programs: what it is, and how it gets into the kernel.
//!
//! Objects are compiled beforehand (`crates/satline-monitor/ebpf`) and fitted to the running kernel by its own type information. Each
//! is loaded, or refused, as a whole and for itself.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use aya_obj::btf::{Btf, BtfFeatures, BtfKind};
use aya_obj::generated::bpf_insn;
use aya_obj::{EbpfSectionKind, Map, Object};

use super::call::{self, Code, MapSize};
pub(super) use satline_program::parse::{half, word};

/// What a program is called at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// A tracepoint, by its name without the group: `sched_switch`.
    Tracepoint(&'static str),
    /// For each element of a kind, when it is read: `task`.
    Iterator(&'static str),
}

/// An object and what is made of its programs. In C a program stands in the section `tp_btf/NAME`, whatever it is called at.
#[derive(Debug)]
pub struct Plan {
    pub name: &'static str,
    pub code: &'static [u8],
    /// Function in C, and where it is called.
    pub programs: &'static [(&'static str, Hook)],
    /// First kernel that has all it uses.
    pub least_kernel: &'static str,
}

/// Why an object could not be had, and what it would need.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refusal {
    pub reason: String,
    pub need: String,
}

impl Refusal {
    pub fn new(reason: impl Into<String>, need: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            need: need.into(),
        }
    }
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        io::Error::other(refusal)
    }
}

/// What the kernel tells of its types. It takes tens of MB: to be dropped when all is loaded.
pub struct KernelTypes(Btf);

const TYPES: &str = "/sys/kernel/btf/vmlinux";
const CAPABILITIES: &str = "root, or the capabilities CAP_BPF and CAP_PERFMON";

impl KernelTypes {
    /// # Errors
    /// The kernel does not give them.
    pub fn read() -> Result<Self, Refusal> {
        // Before 5.11 maps are counted as locked memory. Where it may not be raised, a map's creation says so.
        let all = libc::rlimit {
            rlim_cur: libc::RLIM_INFINITY,
            rlim_max: libc::RLIM_INFINITY,
        };
        // SAFETY: the structure is read only.
        unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &all) };
        // Who may not even have a map is told so before the types are read, which takes some 40 ms.
        const ARRAY: u32 = 2;
        let least = MapSize {
            kind: ARRAY,
            key: 4,
            value: 8,
            entries: 1,
            flags: 0,
            types: None,
        };
        call::create_map("satline", &least)
            .map_err(|error| Refusal::new(format!("the kernel takes no programs: {error}"), CAPABILITIES))?;
        Btf::from_sys_fs()
            .map(Self)
            .map_err(|error| Refusal::new(format!("{TYPES}: {error}"), "a kernel with CONFIG_DEBUG_INFO_BTF"))
    }

    /// The number of a type of that name and kind.
    fn number(&self, name: &str, kind: BtfKind) -> Option<u32> {
        self.0.id_by_type_name_kind(name, kind).ok()
    }
}

/// A map of a loaded object. Dropping it does not end it while programs use it.
#[derive(Debug)]
pub struct KernelMap {
    descriptor: OwnedFd,
    key_bytes: usize,
    value_bytes: usize,
    processors: Option<usize>,
}

impl KernelMap {
    /// Reads the value of a key into `value`: of a map by processor, one value after another, each a multiple of 8 bytes long.
    ///
    /// # Errors
    /// The kernel refuses, which it does only when the map is not what the object says.
    pub fn read(&self, key: &[u8], value: &mut Vec<u8>) -> io::Result<bool> {
        assert_eq!(key.len(), self.key_bytes);
        value.clear();
        value.resize(self.room(), 0);
        call::lookup(&self.descriptor, key, value)
    }

    fn room(&self) -> usize {
        self.processors
            .map_or(self.value_bytes, |n| self.value_bytes.next_multiple_of(8) * n)
    }

    /// Gives every key and value, each once, and removes those of which `each` says so. What programs add meanwhile may be left out.
    ///
    /// # Errors
    /// As [`KernelMap::read`].
    pub fn each(&self, mut each: impl FnMut(&[u8], &[u8]) -> Keep) -> io::Result<()> {
        let mut keys = Vec::new();
        let mut next = vec![0; self.key_bytes];
        // All keys first: behind one that is removed the kernel begins anew. Programs that add and remove could keep it
        // going for ever.
        while keys.len() < MOST_KEYS
            && call::next_key(&self.descriptor, keys.last().map(Vec::as_slice), &mut next)?
        {
            keys.push(next.clone());
        }
        let mut value = Vec::new();
        for key in keys {
            if self.read(&key, &mut value)? && each(&key, &value) == Keep::No {
                call::delete(&self.descriptor, &key)?;
            }
        }
        Ok(())
    }

    /// Gives every key and value of a hash, each once, and removes them, many at a time. What programs add meanwhile may be left out.
    ///
    /// # Errors
    /// As [`KernelMap::read`].
    pub fn drain(&self, mut each: impl FnMut(&[u8], &[u8])) -> io::Result<()> {
        const MOST: usize = 4096;
        assert!(self.processors.is_none(), "one value a key");
        let (mut keys, mut values) = (vec![0; MOST * self.key_bytes], vec![0; MOST * self.value_bytes]);
        let (mut place, mut taken) = (None, 0);
        loop {
            let room = (&mut keys[..], &mut values[..]);
            let (count, behind, is_all) = match call::take_batch(&self.descriptor, place, room, MOST) {
                Ok(found) => found,
                // A kernel that takes no batches: one by one.
                Err(error) if place.is_none() && error.raw_os_error() != Some(libc::ENOSPC) => {
                    return self.each(|key, value| {
                        each(key, value);
                        Keep::No
                    });
                }
                Err(error) => return Err(error),
            };
            let pairs = keys
                .chunks_exact(self.key_bytes)
                .zip(values.chunks_exact(self.value_bytes));
            pairs.take(count).for_each(|(key, value)| each(key, value));
            taken += count;
            place = Some(behind);
            // Programs that add could keep it going for ever.
            if is_all || taken >= MOST_KEYS {
                return Ok(());
            }
        }
    }

    /// The sum of the first numbers in all values of a key: for counters by processor.
    pub fn sum(&self, key: u32) -> io::Result<u64> {
        let mut value = Vec::new();
        self.read(&key.to_ne_bytes(), &mut value)?;
        let step = self.value_bytes.next_multiple_of(8).max(8);
        let firsts = value.chunks(step).filter_map(|value| word(value, 0));
        Ok(firsts.fold(0, u64::wrapping_add))
    }

    /// Sets a value.
    ///
    /// # Errors
    /// As [`KernelMap::read`]; the map is full.
    pub fn set(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        assert_eq!((key.len(), value.len()), (self.key_bytes, self.room()));
        call::update(&self.descriptor, key, value)
    }
}

/// No map of ours has more.
const MOST_KEYS: usize = 1 << 20;

/// Whether an element stays in its map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    Yes,
    No,
}

/// An object in the kernel. Dropping it detaches its programs.
#[derive(Debug)]
pub struct Loaded {
    pub maps: BTreeMap<String, KernelMap>,
    iterators: BTreeMap<&'static str, OwnedFd>,
    /// Those at tracepoints.
    programs: Vec<OwnedFd>,
    /// Held only to stay attached.
    _attached: Vec<OwnedFd>,
    lost: u64,
}

impl Loaded {
    /// One pass of an iterator, appended to `bytes`.
    ///
    /// # Errors
    /// The kernel ends the pass before its end.
    pub fn iterate(&self, program: &str, bytes: &mut Vec<u8>) -> io::Result<()> {
        let link = self
            .iterators
            .get(program)
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let mut pass = std::fs::File::from(call::open_iterator(link)?);
        // The kernel gives at most 32 KiB at once, and may be interrupted between.
        pass.read_to_end(bytes).map(drop)
    }

    /// What its programs at tracepoints have taken while the kernel kept account ([`KernelTime`]), ns.
    pub fn run_time_ns(&self) -> u64 {
        let times = self.programs.iter().filter_map(|one| call::run_time_ns(one).ok());
        times.fold(0, u64::saturating_add)
    }

    /// How many were lost for want of room since the last time, by its map `lost`.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn newly_lost(&mut self) -> io::Result<u64> {
        let lost = self.map("lost")?.sum(0)?;
        Ok(lost.saturating_sub(std::mem::replace(&mut self.lost, lost)))
    }

    /// A map that the object must have.
    ///
    /// # Errors
    /// It has none of that name.
    pub fn map(&self, name: &str) -> Result<&KernelMap, Refusal> {
        self.maps
            .get(name)
            .ok_or_else(|| Refusal::new(format!("the object has no map {name:?}"), "report this"))
    }
}

/// While it is held the kernel keeps account of what programs take.
#[derive(Debug)]
pub struct KernelTime(#[expect(dead_code, reason = "held only to stay open")] OwnedFd);

impl KernelTime {
    /// # Errors
    /// The process may not ask for it.
    pub fn keep() -> io::Result<Self> {
        call::keep_run_times().map(Self)
    }
}

/// Functions of the kernel that programs call by these numbers (see ebpf/kernel.h).
const KFUNCS: &[&str] = &["bpf_rdonly_cast"];
const FIRST_KFUNC: i32 = 0x7fff_0000;
/// Programs ask by these whether they are there.
const FIRST_QUESTION: i32 = 0x7fff_1000;

/// Loads an object and attaches its programs, all or none.
///
/// `constants` are values of variables in C that are declared `const volatile`; `shared` are maps of objects that are loaded already and
/// take the place of those of the same name.
///
/// # Errors
/// Something of it cannot be had: which, why, and what it would need.
pub fn load(
    plan: &Plan,
    kernel: &KernelTypes,
    constants: &[(&str, &[u8])],
    shared: &[(&str, &KernelMap)],
) -> Result<Loaded, Refusal> {
    let broken = |error: &dyn std::fmt::Display| {
        Refusal::new(
            format!("{}: {error}", plan.name),
            format!("kernel {} or later", plan.least_kernel),
        )
    };
    // What is compiled in stands at any address; headers are read in place, and want one that is a multiple of 8.
    let code = plan.code.to_vec();
    let mut object = Object::parse(&code).map_err(|error| broken(&error))?;
    let globals = constants.iter().map(|&(name, value)| (name, (value, true)));
    object
        .patch_map_data(globals.collect())
        .map_err(|error| broken(&error))?;
    // Plain types only, which all kernels since 5.8 take.
    let features = BtfFeatures::new(true, true, true, false, false, false, false);
    let types = object
        .fixup_and_sanitize_btf(&features)
        .map_err(|error| broken(&error))?
        .map(Btf::to_bytes)
        .ok_or_else(|| broken(&"it has no types"))?;
    let types = call::load_types(&types).map_err(|error| refused(plan, "types", &error, ""))?;
    object
        .relocate_btf(&kernel.0)
        .map_err(|error| broken(&reasons(&error)))?;
    let maps = create_maps(plan, &object, &types, shared)?;
    let text: HashSet<usize> = object.functions.keys().map(|&(section, _)| section).collect();
    {
        let parts = object.maps.clone();
        let numbered = parts.iter().map(|(name, map)| {
            let descriptor = maps.get(name).map_or(-1, |map| map.descriptor.as_raw_fd());
            let descriptor = shared
                .iter()
                .find(|(shared, _)| shared == name)
                .map_or(descriptor, |(_, map)| map.descriptor.as_raw_fd());
            (name.as_str(), descriptor, map)
        });
        object
            .relocate_maps(numbered, &text)
            .map_err(|error| broken(&reasons(&error)))?;
    }
    object
        .relocate_calls(&text)
        .map_err(|error| broken(&reasons(&error)))?;
    let mut loaded = Loaded {
        maps,
        iterators: BTreeMap::new(),
        programs: Vec::new(),
        _attached: Vec::new(),
        lost: 0,
    };
    for &(name, hook) in plan.programs {
        let program = load_program(plan, kernel, &mut object, types.as_raw_fd(), name, hook)?;
        let attached = match hook {
            Hook::Tracepoint(_) => call::attach_tracepoint(&program),
            Hook::Iterator(_) => call::attach_iterator(&program),
        };
        let attached = attached.map_err(|error| refused(plan, name, &error, ""))?;
        match hook {
            Hook::Tracepoint(_) => {
                loaded._attached.push(attached);
                loaded.programs.push(program);
            }
            Hook::Iterator(_) => _ = loaded.iterators.insert(name, attached),
        }
    }
    Ok(loaded)
}

/// An error with what caused it.
fn reasons(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

fn refused(plan: &Plan, part: &str, error: &io::Error, said: &str) -> Refusal {
    let mut reason = format!("{} {part}: {error}", plan.name);
    // The verifier's last words but its statistics.
    let words = said.lines().rev().find(|line| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("processed ") && !line.starts_with("verification time")
    });
    if let Some(words) = words {
        reason.push_str(&format!(" ({})", words.trim()));
    }
    let need = if error.raw_os_error() == Some(libc::EPERM) {
        CAPABILITIES.to_owned()
    } else {
        format!("kernel {} or later", plan.least_kernel)
    };
    Refusal::new(reason, need)
}

fn create_maps(
    plan: &Plan,
    object: &Object,
    types: &OwnedFd,
    shared: &[(&str, &KernelMap)],
) -> Result<BTreeMap<String, KernelMap>, Refusal> {
    const PER_PROCESSOR: [u32; 3] = [5, 6, 10];
    const READ_ONLY: u32 = 0x80;
    let mut maps = BTreeMap::new();
    for (name, map) in &object.maps {
        if shared.iter().any(|(shared, _)| shared == name) {
            continue;
        }
        let failed = |error: io::Error| refused(plan, name, &error, "");
        let constant = map.section_kind() == EbpfSectionKind::Rodata;
        let size = MapSize {
            kind: map.map_type(),
            key: map.key_size(),
            value: map.value_size(),
            entries: map.max_entries(),
            flags: map.map_flags() | if constant { READ_ONLY } else { 0 },
            types: match map {
                Map::Btf(map) => Some((
                    types.as_raw_fd(),
                    map.def.btf_key_type_id,
                    map.def.btf_value_type_id,
                )),
                Map::Legacy(_) => None,
            },
        };
        let short = name.trim_start_matches('.');
        let made = KernelMap {
            descriptor: call::create_map(short, &size).map_err(failed)?,
            key_bytes: size.key as usize,
            value_bytes: size.value as usize,
            processors: PER_PROCESSOR.contains(&size.kind).then(possible_processors),
        };
        if !map.data().is_empty() {
            made.set(&0u32.to_ne_bytes(), map.data()).map_err(failed)?;
            if constant {
                call::freeze(&made.descriptor).map_err(failed)?;
            }
        }
        maps.insert(name.clone(), made);
    }
    Ok(maps)
}

/// So many values has a map by processor: one for each that there may ever be.
fn possible_processors() -> usize {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    last_processor(&text).map_or(1, |last| last + 1)
}

fn last_processor(list: &str) -> Option<usize> {
    list.trim().rsplit([',', '-']).next()?.parse().ok()
}

fn load_program(
    plan: &Plan,
    kernel: &KernelTypes,
    object: &mut Object,
    types: RawFd,
    name: &str,
    hook: Hook,
) -> Result<OwnedFd, Refusal> {
    let lacks = |what: String| {
        Refusal::new(
            format!("{} {name}: this kernel has no {what}", plan.name),
            format!("kernel {} or later", plan.least_kernel),
        )
    };
    let (attach_type, attach_to) = match hook {
        Hook::Tracepoint(point) => (
            call::TRACE_RAW_TRACEPOINT,
            kernel
                .number(&format!("btf_trace_{point}"), BtfKind::Typedef)
                .ok_or_else(|| lacks(format!("tracepoint {point}")))?,
        ),
        Hook::Iterator(kind) => (
            call::TRACE_ITERATOR,
            kernel
                .number(&format!("bpf_iter_{kind}"), BtfKind::Func)
                .ok_or_else(|| lacks(format!("iterator of {kind}")))?,
        ),
    };
    let program = object
        .programs
        .get(name)
        .ok_or_else(|| Refusal::new(format!("{} has no program {name}", plan.name), "report this"))?;
    let (license, key) = (program.license.clone(), program.function_key());
    let function = object
        .functions
        .get_mut(&key)
        .ok_or_else(|| Refusal::new(format!("{} has no function {name}", plan.name), "report this"))?;
    name_kfuncs(&mut function.instructions, |kfunc| {
        kernel.number(kfunc, BtfKind::Func)
    })
    .map_err(|kfunc| lacks(format!("function {kfunc}")))?;
    let code = Code {
        name,
        instructions: &function.instructions,
        license: &license,
        types,
        functions: &function.func_info.func_info_bytes(),
        function_size: function.func_info_rec_size,
        function_count: function.func_info.len(),
        attach_type,
        attach_to,
    };
    call::load_program(&code).map_err(|(error, said)| refused(plan, name, &error, &said))
}

/// Puts calls of the kernel's functions in the place of those that stand for them, and whether it has them in the place of the
/// question. Where a program asks, calls of what is not there are left to it, which does not come to them.
fn name_kfuncs(
    instructions: &mut [bpf_insn],
    number: impl Fn(&str) -> Option<u32>,
) -> Result<(), &'static str> {
    const CALL: u8 = 0x85;
    const MOVE: u8 = 0xb7;
    const OF_KERNEL: u8 = 2;
    let named = |instruction: &bpf_insn, code: u8, first: i32| {
        let place = usize::try_from(instruction.imm.checked_sub(first)?).ok()?;
        let is_such = instruction.code == code && instruction.src_reg() == 0;
        KFUNCS.get(place).copied().filter(|_| is_such)
    };
    let known = |name| number(name).and_then(|number| i32::try_from(number).ok());
    let mut asked = HashSet::new();
    for instruction in &mut *instructions {
        if let Some(name) = named(instruction, MOVE, FIRST_QUESTION) {
            asked.insert(name);
            instruction.imm = i32::from(known(name).is_some());
        }
    }
    for instruction in instructions {
        let Some(name) = named(instruction, CALL, FIRST_KFUNC) else {
            continue;
        };
        match known(name) {
            Some(number) => {
                instruction.set_src_reg(OF_KERNEL);
                instruction.imm = number;
            }
            None if asked.contains(name) => (instruction.code, instruction.imm) = (MOVE, 0),
            None => return Err(name),
        }
    }
    Ok(())
}

/// The number of a process in a record of a program.
pub(super) fn pid(record: &[u8], at: usize) -> Option<i32> {
    i32::try_from(half(record, at)?).ok()
}

/// A name of at most 16 bytes, which a zero byte ends.
pub(super) fn name(record: &[u8], at: usize) -> Option<&[u8]> {
    let name = record.get(at..at + 16)?;
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    Some(&name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_processor_of_a_list() {
        assert_eq!(last_processor("0-7\n"), Some(7));
        assert_eq!(last_processor("0\n"), Some(0));
        assert_eq!(last_processor("0-3,8-11"), Some(11));
        assert_eq!(last_processor(""), None);
    }

    #[test]
    fn calls_of_kernel_functions_are_put_in_place() {
        // SAFETY: an instruction is plain data.
        let mut call: bpf_insn = unsafe { std::mem::zeroed() };
        (call.code, call.imm) = (0x85, FIRST_KFUNC);
        let mut helper = call;
        helper.imm = 14;
        let mut code = [call, helper];
        name_kfuncs(&mut code, |name| (name == "bpf_rdonly_cast").then_some(77)).unwrap();
        assert_eq!((code[0].src_reg(), code[0].imm), (2, 77));
        assert_eq!((code[1].src_reg(), code[1].imm), (0, 14));
        assert_eq!(name_kfuncs(&mut [call], |_| None), Err("bpf_rdonly_cast"));
    }

    #[test]
    fn a_program_is_told_what_the_kernel_has() {
        // SAFETY: an instruction is plain data.
        let mut question: bpf_insn = unsafe { std::mem::zeroed() };
        let mut call = question;
        (question.code, question.imm) = (0xb7, FIRST_QUESTION);
        (call.code, call.imm) = (0x85, FIRST_KFUNC);
        let mut there = [question, call];
        name_kfuncs(&mut there, |_| Some(77)).unwrap();
        assert_eq!((there[0].imm, there[1].imm), (1, 77));
        let mut lacking = [question, call];
        name_kfuncs(&mut lacking, |_| None).unwrap();
        assert_eq!((lacking[0].imm, lacking[1].code, lacking[1].imm), (0, 0xb7, 0));
    }
}
