//! Rates of devices: measured by operations of known size, and kept.
//!
//! `samples` names the operations, `measure` times them on a device, `run` takes one device after
//! the other, `store` keeps the rates in a file of their own, by device and by the conditions under
//! which they hold, with what pictures have corrected; `trials` what they took with each placement;
//! `conditions` is what both depend on. Invariants: a measurement gives way within 100 ms and goes
//! on where it was; a file that cannot be read or written costs the rates, and nothing else. Not
//! here: when devices are measured (`scheduler`), what follows from rates (`atelier_core::time`).

mod conditions;
mod measure;
mod run;
mod samples;
mod store;
mod trials;

pub(crate) use run::Measurement;
pub(crate) use store::{PhaseRatio, RateStore};
