//! Which processor can do what: paths to devices, interrupts, work of the main processor only.

use super::processor::Path;
use crate::configuration::{Interrupts, Machine, Work};
use crate::devices::Request;
use crate::engine::Span;

/// Processors by bit. All of them, however many there are.
pub const ANY: u64 = u64::MAX;

/// Whether a processor is among these.
#[inline]
pub fn includes(processors: u64, number: usize) -> bool {
    processors == ANY || processors >> number & 1 == 1
}

/// Processors that differ.
#[derive(Debug)]
pub struct Reach {
    /// By device: processors with a path to it.
    devices: Vec<u64>,
    /// Processors with a channel: terminals interrupt one of them.
    pub with_channels: u64,
    /// The main processor's bit, where there is one.
    main: u64,
    /// By number of work: it runs on the main processor only.
    main_only: [bool; 16],
    interrupts: Interrupts,
    pub signal: bool,
    pub redispatch: bool,
    pub deferred_start: Span,
    pub signalled: Span,
    pub cache_reload: Span,
    pub cache_move: Span,
    /// By user: the processor that started his last I/O or page-in.
    starters: Vec<u16>,
    /// By user: an I/O of his that waits for a processor with a path: which file device, and the request.
    pub put_off: Vec<Option<(usize, Request)>>,
    pub counts: ReachCounts,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct ReachCounts {
    /// I/Os and page-ins put off for want of a path.
    pub defers: u64,
    /// Work left to the main processor.
    pub left_to_main: u64,
    /// How long both waited for their processor, ns: of those that it has begun.
    pub waited_ns: u128,
    /// Processors that another one woke or interrupted.
    pub signals: u64,
    /// Dispatches of another user than the last one there, and of users who came from another processor.
    pub switches: u64,
    pub moves: u64,
}

impl Reach {
    /// `None` where processors are alike.
    pub fn new(machine: &Machine, users: usize) -> Option<Self> {
        let plan = machine.multiprocessor.as_ref()?;
        let bits = |is: &dyn Fn(usize) -> bool| {
            (0..plan.units.len())
                .filter(|&number| is(number))
                .fold(0, |all, number| all | 1 << number)
        };
        let devices = machine.devices.iter();
        let mut main_only = [false; 16];
        for &work in &plan.main_only {
            main_only[work as usize] = true;
        }
        Some(Self {
            devices: devices
                .map(|device| bits(&|number| plan.reaches(number, device)))
                .collect(),
            with_channels: bits(&|number| !plan.units[number].channels.is_empty()),
            main: plan.main().map_or(0, |number| 1 << number),
            main_only,
            interrupts: plan.interrupts,
            signal: plan.signal,
            redispatch: plan.redispatch,
            deferred_start: plan.deferred_start,
            signalled: plan.signalled,
            cache_reload: plan.cache_reload,
            cache_move: plan.cache_move,
            starters: vec![0; users],
            put_off: vec![None; users],
            counts: ReachCounts::default(),
        })
    }

    /// Of these processors those that may do this work.
    #[inline]
    pub fn may(&self, path: Path, among: u64) -> u64 {
        match self.main_only[path.work() as usize] {
            true => self.main,
            false => among,
        }
    }

    /// Processors with a path to a device, if this one has none.
    pub fn instead(&self, processor: usize, device: usize) -> Option<u64> {
        let able = self.devices[device];
        (!includes(able, processor)).then_some(able)
    }

    pub fn started(&mut self, user: u32, processor: usize) {
        self.starters[user as usize] = processor as u16;
    }

    /// Who takes the interrupt of a device: for a user's request, or for nobody's.
    pub fn interrupted_by(&self, device: usize, user: Option<u32>) -> u64 {
        let able = self.devices[device];
        if self.interrupts == Interrupts::Any {
            return able;
        }
        let starter = user.map_or(0, |user| 1 << self.starters[user as usize]);
        match starter & able {
            // What nobody asked for is started by the first that can.
            0 => 1 << able.trailing_zeros(),
            starter => starter,
        }
    }
}

/// The work of a path, as machine files name it.
impl Path {
    pub fn work(self) -> Work {
        match self {
            Self::Dispatch => Work::Dispatch,
            Self::Fault => Work::PageFault,
            Self::FaultAfter | Self::System => Work::Storage,
            Self::FaultPassed | Self::IoPassed => Work::DeferredStart,
            Self::Reclaim => Work::Reclaim,
            Self::IoStart => Work::UserIoStart,
            Self::LetIn => Work::QueueAdd,
            Self::PageCame => Work::PageInEnd,
            Self::IoCame => Work::UserIoEnd,
            Self::Drop => Work::QueueDrop,
        }
    }
}
