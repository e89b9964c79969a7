//! JSON of measured devices.

use serde::{Deserialize, Serialize};

use atelier_core::time::DeviceRates;

/// Rates of a device, or the reason why it has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredDevice {
    pub device: String,
    /// Operations, bytes and nodes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<DeviceRates>,
    /// Number of operations that were timed.
    pub samples: u32,
    /// Of these, those whose times differed widely.
    pub unsteady_samples: u32,
    /// Seconds that it took.
    pub secs: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl MeasuredDevice {
    pub(in crate::cli) fn new(device: &atelier_engine::MeasuredDevice) -> Self {
        let name = device.device.clone();
        match &device.measured {
            Ok(it) => Self {
                device: name,
                rates: Some(it.rates.clone()),
                samples: it.samples,
                unsteady_samples: it.unsteady_samples,
                secs: it.secs,
                error: None,
            },
            Err(failure) => {
                Self { device: name, rates: None, samples: 0, unsteady_samples: 0, secs: 0.0, error: Some(failure.advice.to_string()) }
            }
        }
    }
}
