//! The kinds of devices, and a device as its file describes it.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use satline_program::Error;

use super::{Figures, Track, compressed, disk, drum};
use crate::engine::Span;

/// Bytes in a page, as in all figures of pages per track.
const PAGE_BYTES: f64 = 4096.0;

/// What differs between kinds of devices.
pub trait Mechanism: Debug + Send + Sync {
    /// One more like it, as it stands. What never changes is shared: tables of many equal devices would crowd the cache.
    fn another(&self) -> Box<dyn Mechanism>;

    /// How many requests the device accepts at once; it serves the one that passes first.
    fn exposures(&self) -> usize;

    /// Moves to a cylinder and returns how long that takes.
    fn position(&mut self, cylinder: u32) -> Span;

    /// The cylinder used last; `None` where nothing moves.
    fn arm(&self) -> Option<u32>;
}

/// A mechanism, or why its figures make none.
pub type Built = Result<Box<dyn Mechanism>, Error>;

/// A kind of device: one file, and one line in [`KINDS`].
pub struct Kind {
    pub name: &'static str,
    /// The figures that only this kind has.
    pub figures: &'static [&'static str],
    /// Makes one from the figures and the number of cylinders.
    pub build: fn(&Figures, u32) -> Built,
}

/// The kind whose pages lie in main storage.
const COMPRESSED: &str = "compressed";

/// All kinds.
#[rustfmt::skip]
pub const KINDS: &[Kind] = &[
    Kind { name: "disk", figures: disk::FIGURES, build: disk::build },
    Kind { name: "drum", figures: drum::FIGURES, build: drum::build },
    Kind { name: COMPRESSED, figures: compressed::FIGURES, build: compressed::build },
];

/// The figures that all kinds have.
const REQUIRED: &[&str] = &[
    "cylinders",
    "heads",
    "pages_per_track",
    "rate_bytes_per_s",
    "rotation_ms",
    "sectors",
];
const OPTIONAL: &[&str] = &["search_ms"];

/// A type of device, as its file describes it; checked.
#[derive(Debug, Clone)]
pub struct DeviceModel {
    figures: Figures,
    mechanism: Arc<dyn Mechanism>,
    track: Track,
    cylinders: u32,
    slots_per_cylinder: u32,
    exposures: usize,
    across_cylinders: bool,
}

impl DeviceModel {
    /// Reads a device file.
    ///
    /// # Errors
    /// It cannot be read, or a figure is missing, unknown or impossible.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::new(Figures::read(path)?)
    }

    /// A device with these figures.
    ///
    /// # Errors
    /// A figure is missing, unknown or impossible.
    pub fn new(figures: Figures) -> Result<Self, Error> {
        let kind = kind(&figures)?;
        let known = |key: &str| {
            [REQUIRED, OPTIONAL, kind.figures]
                .iter()
                .any(|keys| keys.contains(&key))
        };
        if let Some(key) = figures.figures.keys().find(|key| !known(key)) {
            let all = [REQUIRED, OPTIONAL, kind.figures].concat().join(", ");
            return Err(figures.wrong(key, "is not known", &format!("a {} has {all}", kind.name)));
        }
        let ms = |key| Ok(Span::from_seconds(figures.within(key, 1e-3, 10_000.0)? * 1e-3));
        let cylinders = figures.count("cylinders", 1_000_000)?;
        let slots_per_track = figures.count("pages_per_track", 10_000)?;
        let heads = figures.count("heads", 10_000)?;
        let revolution: Span = ms("rotation_ms")?;
        let sectors = figures.count("sectors", 100_000)?;
        // SET SECTOR reconnects the device one sector before the record, where nothing else is published.
        let lead = match figures.has("search_ms") {
            true => ms("search_ms")?,
            false => Span::from_ns(revolution.ns() / u64::from(sectors)),
        };
        let transfer = Span::from_seconds(PAGE_BYTES / figures.within("rate_bytes_per_s", 1e3, 1e12)?);
        let track = Track::new(revolution, slots_per_track, lead, transfer)
            .map_err(|error| figures.located(error))?;
        let slots_per_cylinder = slots_per_track * heads;
        if slots_per_cylinder > u32::from(u16::MAX) {
            let why = format!("makes {slots_per_cylinder} page slots on a cylinder");
            return Err(figures.wrong("heads", &why, "at most 65535 are possible"));
        }
        let mechanism: Arc<dyn Mechanism> = (kind.build)(&figures, cylinders)?.into();
        Ok(Self {
            figures,
            exposures: mechanism.exposures(),
            across_cylinders: false,
            mechanism,
            track,
            cylinders,
            slots_per_cylinder,
        })
    }

    /// The same device, of whose exposures the control program uses so many, and, if it chains across cylinders, whose
    /// waiting requests for single pages share a start-I/O wherever they lie.
    ///
    /// # Panics
    /// It has fewer exposures; or it cannot chain so, see [`DeviceModel::can_chain_across_cylinders`].
    pub fn driven(&self, exposures: usize, across_cylinders: bool) -> Self {
        assert!(
            (1..=self.exposures).contains(&exposures),
            "{exposures} exposures used"
        );
        assert!(
            !across_cylinders || self.can_chain_across_cylinders(),
            "a chain across cylinders"
        );
        Self {
            exposures,
            across_cylinders,
            ..self.clone()
        }
    }

    /// Nothing moves between its cylinders, and all its slots can be numbered through.
    pub fn can_chain_across_cylinders(&self) -> bool {
        let slots = u64::from(self.cylinders) * u64::from(self.slots_per_cylinder);
        self.mechanism().arm().is_none() && slots <= u64::from(u16::MAX)
    }

    /// Whether its pages lie in frames of main storage.
    pub fn is_compressed(&self) -> bool {
        self.figures.kind == COMPRESSED
    }

    /// How many requests the device is given at once.
    pub fn exposures(&self) -> usize {
        self.exposures
    }

    /// Whether waiting requests share a start-I/O whatever their cylinders.
    pub fn across_cylinders(&self) -> bool {
        self.across_cylinders
    }

    /// The figures with their sources.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    pub fn track(&self) -> &Track {
        &self.track
    }

    pub fn cylinders(&self) -> u32 {
        self.cylinders
    }

    /// Page slots on a cylinder; they are numbered from 0, track after track.
    pub fn slots_per_cylinder(&self) -> u32 {
        self.slots_per_cylinder
    }

    pub(super) fn mechanism(&self) -> Box<dyn Mechanism> {
        self.mechanism.another()
    }
}

fn kind(figures: &Figures) -> Result<&'static Kind, Error> {
    KINDS
        .iter()
        .find(|kind| kind.name == figures.kind)
        .ok_or_else(|| {
            let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            Error::input(
                format!("{}: kind {:?} is not known", figures.file(), figures.kind),
                format!("the kinds are {}", names.join(", ")),
            )
        })
}
