//! Budgets: the most memory that may be used of a device (`--max-vram 6`, `--max-vram
//! cuda0=6,vulkan0=-1`).
//!
//! Invariant: a text made from a value reads back as that value. Not here: what a budget does to a
//! plan.

use std::collections::BTreeMap;
use std::fmt;

use super::error::PlacementError;
use super::names::{means_all, resolve_device};
use crate::device::{Device, DeviceKind};
use crate::format::GIB;

/// Largest budget in GiB; a larger one is a typing error.
const MAX_GIB: f64 = 1_000_000.0;

/// Most memory that may be used of devices, in GiB. Negative: free memory less that many GiB. 0: no
/// budget.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Budgets {
    /// For each graphics device without a budget of its own; `None`: none.
    all: Option<f64>,
    /// By the device's whole name. Never what `all` says anyway.
    devices: BTreeMap<String, f64>,
}

pub(super) static NO_BUDGETS: Budgets = Budgets { all: None, devices: BTreeMap::new() };

impl Budgets {
    /// Reads a text: one number for all devices, or `device=number` entries; a later entry replaces
    /// an earlier one. Names are resolved as everywhere (`placement::resolve_device`).
    pub fn parse(text: &str, devices: &[Device]) -> Result<Self, PlacementError> {
        let mut all = 0.0;
        let mut by_name = BTreeMap::new();
        for (name, gib) in entries(text)? {
            match name {
                None => all = gib,
                Some(name) => {
                    by_name.insert(resolve_device(name, devices)?.name.clone(), gib);
                }
            }
        }
        Ok(Self::new(all, by_name))
    }

    /// Budgets in GiB: for all graphics devices, and by the whole name of a device.
    #[must_use]
    pub fn new(all: f64, mut devices: BTreeMap<String, f64>) -> Self {
        // A device with the budget that all have needs no entry; 0 takes it out.
        devices.retain(|_, gib| *gib != all);
        for gib in devices.values_mut() {
            // -0 is 0.
            *gib += 0.0;
        }
        Self { all: (all != 0.0).then_some(all), devices }
    }

    /// Gives a device a budget of its own, in GiB; 0 is none.
    #[must_use]
    pub fn with(mut self, device: &str, gib: f64) -> Self {
        self.devices.insert(device.to_owned(), gib);
        Self::new(self.all.unwrap_or(0.0), self.devices)
    }

    /// The budget for all graphics devices that have none of their own, in GiB.
    #[must_use]
    pub const fn all(&self) -> Option<f64> {
        self.all
    }

    /// The budgets of single devices, in GiB by whole name; 0 where the device has none although
    /// all others do.
    #[must_use]
    pub const fn devices(&self) -> &BTreeMap<String, f64> {
        &self.devices
    }

    /// The budget of this device in GiB; negative: free memory less that many GiB. The budget for
    /// all devices is one for graphics memory and leaves the processor alone.
    #[must_use]
    pub fn gib(&self, device: &Device) -> Option<f64> {
        let own = self.devices.get(&device.name).copied();
        let general = if device.kind == DeviceKind::Cpu { None } else { self.all };
        own.or(general).filter(|gib| *gib != 0.0)
    }

    /// The budget of this device in bytes, as [`budget_on`] counts it.
    #[must_use]
    pub fn bytes(&self, device: &Device) -> Option<u64> {
        budget_on(device, self.gib(device)?)
    }
}

/// A budget of so many GiB in bytes, negative ones counted from what is free on this device.
/// `None`: there is none, because it is 0, or because the device does not say what is free.
#[must_use]
pub fn budget_on(device: &Device, gib: f64) -> Option<u64> {
    let bytes = (gib.abs() * GIB as f64) as u64;
    if gib > 0.0 {
        Some(bytes)
    } else {
        (gib < 0.0 && device.memory_total_bytes > 0).then(|| device.memory_free_bytes.saturating_sub(bytes))
    }
}

impl fmt::Display for Budgets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.all {
            Some(gib) if self.devices.is_empty() => return write!(f, "{gib}"),
            Some(gib) => write!(f, "all={gib},")?,
            None => {}
        }
        for (n, (name, gib)) in self.devices.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            write!(f, "{comma}{name}={gib}")?;
        }
        Ok(())
    }
}

/// Checks the form of a text, without devices.
pub(super) fn check_budgets(text: &str) -> Result<(), PlacementError> {
    entries(text).map(drop)
}

/// The entries in their order; no name: for all.
fn entries(text: &str) -> Result<Vec<(Option<&str>, f64)>, PlacementError> {
    let written = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    written
        .map(|entry| {
            let (name, number) = entry.split_once('=').map_or((None, entry), |(name, number)| (Some(name.trim()), number.trim()));
            let wrong = || PlacementError::Budget(entry.to_owned());
            if name == Some("") {
                return Err(wrong());
            }
            let gib = number.parse::<f64>().ok().filter(|gib| gib.abs() <= MAX_GIB).ok_or_else(wrong)?;
            // -0 is 0.
            Ok((name.filter(|name| !means_all(name)), gib + 0.0))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::workstation;
    use super::*;

    fn read(text: &str) -> Budgets {
        Budgets::parse(text, &workstation()).unwrap()
    }

    fn of(all: f64, devices: &[(&str, f64)]) -> Budgets {
        Budgets::new(all, devices.iter().map(|(name, gib)| ((*name).to_owned(), *gib)).collect())
    }

    #[test]
    fn one_number_is_for_all_and_a_name_for_one() {
        for (text, expected, canonical) in [
            ("", of(0.0, &[]), ""),
            ("0", of(0.0, &[]), ""),
            (" 6.5 ", of(6.5, &[]), "6.5"),
            ("-1", of(-1.0, &[]), "-1"),
            ("cuda0=6,vulkan0=2", of(0.0, &[("CUDA0", 6.0), ("Vulkan0", 2.0)]), "CUDA0=6,Vulkan0=2"),
            ("6, CUDA1 = -0.5", of(6.0, &[("CUDA1", -0.5)]), "all=6,CUDA1=-0.5"),
            ("*=6,vulk=0", of(6.0, &[("Vulkan0", 0.0)]), "all=6,Vulkan0=0"),
            ("cuda0=6,6", of(6.0, &[]), "6"),
            ("cuda0=6,CUDA0=0", of(0.0, &[]), ""),
            ("gpu=4", of(0.0, &[("CUDA0", 4.0)]), "CUDA0=4"),
            ("-0", of(0.0, &[]), ""),
        ] {
            assert_eq!(read(text), expected, "{text}");
            assert_eq!(read(text).to_string(), canonical, "{text}");
        }
    }

    #[test]
    fn what_is_no_budget_is_refused() {
        for text in ["six", "nan", "inf", "6GB", "cuda0=", "=6", "cuda0", "cuda0=six", "1e300", "6=6=6"] {
            assert_eq!(Budgets::parse(text, &workstation()).unwrap_err().to_string().matches("is not a budget").count(), 1, "{text}");
            assert!(check_budgets(text).is_err(), "{text}");
        }
        assert!(matches!(Budgets::parse("rocm0=6", &workstation()), Err(PlacementError::UnknownDevice { .. })));
        assert_eq!(check_budgets("rocm0=6"), Ok(()));
    }

    #[test]
    fn a_budget_is_a_number_of_bytes_or_what_is_left_free() {
        let devices = workstation();
        let bytes = |text: &str, device: usize| read(text).bytes(&devices[device]);
        let free = devices[2].memory_free_bytes;
        assert_eq!(bytes("6", 2), Some(6 * GIB));
        assert_eq!(bytes("-1.5", 2), Some(free - GIB - GIB / 2));
        assert_eq!(bytes("-1000", 2), Some(0));
        assert_eq!(bytes("6,cuda0=0", 2), None);
        assert_eq!(bytes("", 2), None);
        let silent = Device { memory_total_bytes: 0, memory_free_bytes: 0, ..devices[2].clone() };
        assert_eq!((read("-1").bytes(&silent), read("6").bytes(&silent)), (None, Some(6 * GIB)));
    }

    #[test]
    fn the_budget_for_all_leaves_the_processor_alone() {
        let devices = workstation();
        assert_eq!(read("6").gib(&devices[0]), None);
        assert_eq!(read("6,cpu=4").gib(&devices[0]), Some(4.0));
    }

    proptest! {
        #[test]
        fn budgets_read_back_as_they_were_written(all in gib(), own in proptest::collection::btree_map(name(), gib(), 0..4)) {
            let budgets = Budgets::new(all, own);
            prop_assert_eq!(read(&budgets.to_string()), budgets);
        }
    }

    fn name() -> impl Strategy<Value = String> {
        proptest::sample::select(workstation()).prop_map(|device| device.name)
    }

    fn gib() -> impl Strategy<Value = f64> {
        prop_oneof![Just(0.0), Just(-0.0), -1e6..1e6, (-64..64).prop_map(f64::from)]
    }
}
