//! The system call `bpf`, as far as it is used here.
//!
//! All that it makes lives as long as the descriptors that stand for it: nothing is pinned, so that nothing is left when the
//! monitor is killed.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use aya_obj::generated::{bpf_attr, bpf_cmd, bpf_insn, bpf_prog_info};

/// How a program is attached, as the kernel numbers it.
pub const TRACE_RAW_TRACEPOINT: u32 = 23;
pub const TRACE_ITERATOR: u32 = 28;
const TYPE_TRACING: u32 = 26;
/// Enough for the end of what the verifier says; the beginning is cut off by kernels since 6.4 only.
const LOG_BYTES: usize = 1 << 20;

/// A program that is to be loaded.
pub struct Code<'a> {
    pub name: &'a str,
    pub instructions: &'a [bpf_insn],
    pub license: &'a CStr,
    /// Of the program's own types.
    pub types: RawFd,
    pub functions: &'a [u8],
    pub function_size: usize,
    pub function_count: usize,
    pub attach_type: u32,
    /// What it is attached to: number of a type of the kernel.
    pub attach_to: u32,
}

/// A map that is to be made.
pub struct MapSize {
    pub kind: u32,
    pub key: u32,
    pub value: u32,
    pub entries: u32,
    pub flags: u32,
    /// The program's own types, and which are the key and the value.
    pub types: Option<(RawFd, u32, u32)>,
}

fn blank() -> bpf_attr {
    // SAFETY: all fields are numbers, for which zero is a value.
    unsafe { std::mem::zeroed() }
}

fn call(command: bpf_cmd, attributes: &mut bpf_attr) -> io::Result<i32> {
    // SAFETY: the structure is as long as is said; what it points to outlives the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command as libc::c_uint,
            std::ptr::from_mut(attributes),
            size_of::<bpf_attr>(),
        )
    };
    i32::try_from(result)
        .ok()
        .filter(|&result| result >= 0)
        .ok_or_else(io::Error::last_os_error)
}

fn make(command: bpf_cmd, attributes: &mut bpf_attr) -> io::Result<OwnedFd> {
    // SAFETY: the kernel has made the descriptor for this call, and nobody else knows it.
    call(command, attributes).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}

fn address<T>(data: &[T]) -> u64 {
    data.as_ptr() as u64
}

fn named(name: &str) -> [core::ffi::c_char; 16] {
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().take(15).zip(name.bytes()) {
        *to = from as core::ffi::c_char;
    }
    bytes
}

/// Gives the kernel a program's own types.
pub fn load_types(types: &[u8]) -> io::Result<OwnedFd> {
    let mut attributes = blank();
    attributes.__bindgen_anon_7.btf = address(types);
    attributes.__bindgen_anon_7.btf_size = types.len() as u32;
    make(bpf_cmd::BPF_BTF_LOAD, &mut attributes)
}

/// Makes a map.
pub fn create_map(name: &str, size: &MapSize) -> io::Result<OwnedFd> {
    let mut attributes = blank();
    // SAFETY: the structure is all zeroes, and so is every member of it.
    let map = unsafe { &mut attributes.__bindgen_anon_1 };
    (map.map_type, map.key_size, map.value_size) = (size.kind, size.key, size.value);
    (map.max_entries, map.map_flags) = (size.entries, size.flags);
    map.map_name = named(name);
    if let Some((types, key, value)) = size.types {
        (map.btf_fd, map.btf_key_type_id, map.btf_value_type_id) = (types as u32, key, value);
    }
    make(bpf_cmd::BPF_MAP_CREATE, &mut attributes)
}

/// No program or user can change the map's data any more.
pub fn freeze(map: &OwnedFd) -> io::Result<()> {
    let mut attributes = blank();
    attributes.__bindgen_anon_2.map_fd = map.as_raw_fd() as u32;
    call(bpf_cmd::BPF_MAP_FREEZE, &mut attributes).map(drop)
}

fn element(command: bpf_cmd, map: &OwnedFd, key: u64, value: u64) -> io::Result<()> {
    let mut attributes = blank();
    // SAFETY: the structure is all zeroes, and so is every member of it.
    let element = unsafe { &mut attributes.__bindgen_anon_2 };
    (element.map_fd, element.key) = (map.as_raw_fd() as u32, key);
    element.__bindgen_anon_1.value = value;
    call(command, &mut attributes).map(drop)
}

/// Sets an element. `key` and `value` have the sizes of the map.
pub fn update(map: &OwnedFd, key: &[u8], value: &[u8]) -> io::Result<()> {
    element(bpf_cmd::BPF_MAP_UPDATE_ELEM, map, address(key), address(value))
}

/// Reads an element into `value`, which has room for all of it; whether it is there.
pub fn lookup(map: &OwnedFd, key: &[u8], value: &mut [u8]) -> io::Result<bool> {
    let to = value.as_mut_ptr() as u64;
    found(element(bpf_cmd::BPF_MAP_LOOKUP_ELEM, map, address(key), to))
}

/// Removes an element; whether it was there.
pub fn delete(map: &OwnedFd, key: &[u8]) -> io::Result<bool> {
    found(element(bpf_cmd::BPF_MAP_DELETE_ELEM, map, address(key), 0))
}

/// Puts the key behind `key` (the first: `None`) into `next`; whether there is one.
pub fn next_key(map: &OwnedFd, key: Option<&[u8]>, next: &mut [u8]) -> io::Result<bool> {
    let to = next.as_mut_ptr() as u64;
    found(element(
        bpf_cmd::BPF_MAP_GET_NEXT_KEY,
        map,
        key.map_or(0, address),
        to,
    ))
}

/// Reads and removes elements behind `place` (the first: `None`) into `keys` and `values`, which have room for `most`. Returns how many,
/// the place to go on from, and whether that was all.
pub fn take_batch(
    map: &OwnedFd,
    place: Option<u64>,
    (keys, values): (&mut [u8], &mut [u8]),
    most: usize,
) -> io::Result<(usize, u64, bool)> {
    // The place in a hash is a number of 32 bits; as long as a key is for other maps. No key here is longer than this.
    let (mut before, mut behind) = ([place.unwrap_or(0); 4], [0_u64; 4]);
    let mut attributes = blank();
    // SAFETY: the structure is all zeroes, and so is every member of it.
    let batch = unsafe { &mut attributes.batch };
    batch.map_fd = map.as_raw_fd() as u32;
    batch.in_batch = place.map_or(0, |_| before.as_mut_ptr() as u64);
    batch.out_batch = behind.as_mut_ptr() as u64;
    (batch.keys, batch.values) = (keys.as_mut_ptr() as u64, values.as_mut_ptr() as u64);
    batch.count = u32::try_from(most).unwrap_or(u32::MAX);
    let result = call(bpf_cmd::BPF_MAP_LOOKUP_AND_DELETE_BATCH, &mut attributes);
    // SAFETY: the kernel has set the number that was put there.
    let count = unsafe { attributes.batch.count } as usize;
    match result {
        Ok(_) => Ok((count.min(most), behind[0], false)),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok((count.min(most), behind[0], true)),
        Err(error) => Err(error),
    }
}

fn found(result: io::Result<()>) -> io::Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Loads a program; where the kernel refuses it, also the last that its verifier said.
pub fn load_program(code: &Code<'_>) -> Result<OwnedFd, (io::Error, String)> {
    let load = |log: &mut [u8]| {
        let mut attributes = blank();
        // SAFETY: the structure is all zeroes, and so is every member of it.
        let program = unsafe { &mut attributes.__bindgen_anon_3 };
        (program.prog_type, program.expected_attach_type) = (TYPE_TRACING, code.attach_type);
        program.attach_btf_id = code.attach_to;
        (program.insns, program.insn_cnt) = (address(code.instructions), code.instructions.len() as u32);
        program.license = code.license.as_ptr() as u64;
        program.prog_name = named(code.name);
        program.prog_btf_fd = code.types as u32;
        (program.func_info, program.func_info_cnt) = (address(code.functions), code.function_count as u32);
        program.func_info_rec_size = code.function_size as u32;
        if !log.is_empty() {
            (program.log_level, program.log_size) = (1, log.len() as u32);
            program.log_buf = log.as_mut_ptr() as u64;
        }
        make(bpf_cmd::BPF_PROG_LOAD, &mut attributes)
    };
    load(&mut []).map_err(|error| {
        let mut log = vec![0; LOG_BYTES];
        // Once more, only to be told why.
        let _ = load(&mut log);
        let end = log.iter().position(|&byte| byte == 0).unwrap_or(0);
        let text = String::from_utf8_lossy(&log[..end]).into_owned();
        (error, text)
    })
}

/// The kernel keeps account of what programs take as long as the descriptor is open. It needs CAP_SYS_ADMIN.
pub fn keep_run_times() -> io::Result<OwnedFd> {
    make(bpf_cmd::BPF_ENABLE_STATS, &mut blank())
}

/// What a program has taken while account was kept, ns.
pub fn run_time_ns(program: &OwnedFd) -> io::Result<u64> {
    // SAFETY: all fields are numbers, for which zero is a value.
    let mut told: bpf_prog_info = unsafe { std::mem::zeroed() };
    let mut attributes = blank();
    attributes.info.bpf_fd = program.as_raw_fd() as u32;
    attributes.info.info_len = size_of::<bpf_prog_info>() as u32;
    attributes.info.info = std::ptr::from_mut(&mut told) as u64;
    call(bpf_cmd::BPF_OBJ_GET_INFO_BY_FD, &mut attributes)?;
    Ok(told.run_time_ns)
}

/// Attaches a program to the tracepoint that it was loaded for.
pub fn attach_tracepoint(program: &OwnedFd) -> io::Result<OwnedFd> {
    let mut attributes = blank();
    attributes.raw_tracepoint.prog_fd = program.as_raw_fd() as u32;
    make(bpf_cmd::BPF_RAW_TRACEPOINT_OPEN, &mut attributes)
}

/// Attaches a program to the iterator that it was loaded for.
pub fn attach_iterator(program: &OwnedFd) -> io::Result<OwnedFd> {
    let mut attributes = blank();
    attributes.link_create.__bindgen_anon_1.prog_fd = program.as_raw_fd() as u32;
    attributes.link_create.attach_type = TRACE_ITERATOR;
    make(bpf_cmd::BPF_LINK_CREATE, &mut attributes)
}

/// A descriptor from which one pass of an iterator can be read.
pub fn open_iterator(link: &OwnedFd) -> io::Result<OwnedFd> {
    let mut attributes = blank();
    attributes.iter_create.link_fd = link.as_raw_fd() as u32;
    make(bpf_cmd::BPF_ITER_CREATE, &mut attributes)
}
