//! The channels of a session: a terminal and what runs on it.

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::ptr::{self, NonNull};

use super::{ERROR_EAGAIN, Opaque, Session, Step, size};

/// What a host may send on a channel before it is read, and most in a packet, bytes: libssh2's own defaults.
const WINDOW: c_uint = 2 * 1024 * 1024;
const PACKET: c_uint = 32 * 1024;

/// Which of a session's channels. Of another session, or freed: what is asked of it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channel(usize);

impl Session {
    /// Goes on with opening a channel; only one at a time can be under way.
    pub fn open(&mut self) -> Step<Channel> {
        const KIND: &CStr = c"session";
        // SAFETY: the session is valid; the kind is as long as said, and there is no message.
        let made = unsafe {
            (self.functions().libssh2_channel_open_ex)(
                self.session.as_ptr(),
                KIND.as_ptr(),
                size(KIND.count_bytes()),
                WINDOW,
                PACKET,
                ptr::null(),
                0,
            )
        };
        let Some(channel) = NonNull::new(made) else {
            let (code, fault) = self.fault();
            return if code == ERROR_EAGAIN {
                Step::Wants
            } else {
                Step::Failed(fault)
            };
        };
        let free = self.channels.iter().position(Option::is_none);
        let at = free.unwrap_or(self.channels.len());
        if free.is_none() {
            self.channels.push(None);
        }
        self.channels[at] = Some(channel);
        Step::Done(Channel(at))
    }

    /// None: freed, or another session's.
    fn channel(&self, channel: Channel) -> Option<*mut c_void> {
        let found: Option<Opaque> = self.channels.get(channel.0)?.map(NonNull::as_ptr);
        found
    }

    /// Calls a function with a channel.
    fn with(&self, channel: Channel, call: impl FnOnce(Opaque) -> isize) -> Step<usize> {
        match self.channel(channel) {
            Some(channel) => self.step(call(channel)),
            None => Step::Failed(super::Fault::of("no such channel")),
        }
    }

    /// Goes on with asking for a terminal, with the modes that a new one has on the host.
    pub fn terminal(&mut self, channel: Channel, name: &CStr, (columns, rows): (u16, u16)) -> Step<usize> {
        let call = self.functions().libssh2_channel_request_pty_ex;
        let (length, columns, rows) = (size(name.count_bytes()), c_int::from(columns), c_int::from(rows));
        // SAFETY: the channel is valid, the name as long as said, and there are no modes.
        self.with(channel, |channel| unsafe {
            call(
                channel,
                name.as_ptr(),
                length,
                ptr::null(),
                0,
                columns,
                rows,
                0,
                0,
            ) as isize
        })
    }

    /// Goes on with starting this command; None: the account's shell.
    pub fn start(&mut self, channel: Channel, command: Option<&CStr>) -> Step<usize> {
        let call = self.functions().libssh2_channel_process_startup;
        let what = if command.is_some() { c"exec" } else { c"shell" };
        let (text, length) =
            command.map_or((ptr::null(), 0), |text| (text.as_ptr(), size(text.count_bytes())));
        // SAFETY: the channel is valid, the texts are as long as said.
        self.with(channel, |channel| unsafe {
            call(channel, what.as_ptr(), size(what.count_bytes()), text, length) as isize
        })
    }

    /// Takes in all that was filled in, of whichever channel; then reads from this one. `Done(0)`: nothing more comes on it.
    pub fn read(&mut self, channel: Channel, buffer: &mut [u8]) -> Step<usize> {
        let (read, ended) = (
            self.functions().libssh2_channel_read_ex,
            self.functions().libssh2_channel_eof,
        );
        let (place, room) = (buffer.as_mut_ptr().cast(), buffer.len());
        // SAFETY: the channel is valid, the buffer as long as said.
        let step = self.with(channel, |channel| unsafe { read(channel, 0, place, room) });
        // SAFETY: the channel is valid.
        let over = |channel| unsafe { ended(channel) == 1 };
        match step {
            Step::Done(0) if !self.channel(channel).is_some_and(over) => Step::Wants,
            step => step,
        }
    }

    /// `read` has something to give or to say without anything filled in.
    pub fn has_news(&self, channel: Channel) -> bool {
        let f = self.functions();
        // SAFETY: the channel is valid.
        let news = |channel| unsafe {
            (f.libssh2_poll_channel_read)(channel, 0) != 0 || (f.libssh2_channel_eof)(channel) != 0
        };
        self.channel(channel).is_none_or(news)
    }

    /// Text that is to go on a channel; gives the bytes taken. `Wants`: the host has no room.
    pub fn write(&mut self, channel: Channel, text: &[u8]) -> Step<usize> {
        if text.is_empty() {
            return Step::Done(0);
        }
        let call = self.functions().libssh2_channel_write_ex;
        // SAFETY: the channel is valid, the text as long as said.
        self.with(channel, |channel| unsafe {
            call(channel, 0, text.as_ptr().cast(), text.len())
        })
    }

    /// Goes on with closing a channel; true when it is gone.
    pub fn close(&mut self, channel: Channel) -> bool {
        let Some(place) = self.channel(channel) else {
            return true;
        };
        // SAFETY: the channel is valid; it is freed unless the answer is that more must come first.
        let code = unsafe { (self.functions().libssh2_channel_free)(place) };
        if code == ERROR_EAGAIN {
            return false;
        }
        self.channels[channel.0] = None;
        true
    }
}
