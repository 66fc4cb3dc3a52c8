//! S3-FIFO: three queues.
//!
//! What: a page comes into a small queue of a tenth of storage; touched twice more there it goes on to the main queue, else
//! it leaves and is remembered; a remembered one that comes back goes to the main queue, where touched pages go round again.
//! Why: most pages are touched once and should not stay for long; queues need no work at a touch but a count.
//! Reference: Yang, Zhang, Qiu, Yue, Rashmi, SOSP 2023; the model is that of trace replays (`s3-fifo`).

use satline_traces::policies::S3Fifo;

use super::traced::{self, FirstTouch};
use super::{Replacement, Setup};

pub fn make(setup: Setup) -> Box<dyn Replacement> {
    traced::make::<S3Fifo>(setup, FirstTouch::Told)
}
