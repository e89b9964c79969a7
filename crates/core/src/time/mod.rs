//! Time of pictures, predicted: the work of their graphs, the rates of devices, and the seconds
//! that follow. Pure: no files, no engine, no clock.
//!
//! The engine counts the [`PictureWork`] of a recipe in a dry run, wherever its modules run. A
//! placement makes [`PhaseWork`] of it ([`phase_works`]), one for each module and phase with its
//! device. [`predict_time`] divides by the [`DeviceRates`] that were measured and multiplies by the
//! [`TimeCorrections`] that were learned from pictures. Invariants: a higher rate never makes a
//! prediction longer, more work never makes it shorter. Not here: measuring and keeping rates.

mod corrections;
mod phase_work;
mod picture_work;
mod predict;
mod rates;
mod work;

pub use corrections::{TimeCorrection, TimeCorrections};
pub use phase_work::{PhaseWork, phase_works};
pub use picture_work::{ModuleWork, PictureWork};
pub use predict::{MissingRates, PhaseTime, TimePrediction, predict_time};
pub use rates::{ClassRate, DeviceRates, MachineRates};
pub use work::{NodeSize, WeightType, Work, WorkAmount, WorkClass, WorkKind, WorkPart};
