//! Budgets: the most memory of a device that a module may use at once, as `--max-vram` says it.

use std::collections::BTreeMap;
use std::fmt;

use super::PlacementError;

/// Budgets in GiB. A negative one means what is free on the device less that many; 0 means no budget.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Budgets {
    /// For every device without one of its own.
    pub all: Option<f64>,
    /// By device, as the text names it.
    pub devices: BTreeMap<String, f64>,
}

/// Reads a budget (`--max-vram`): `6` for every device, `cuda0=6,vulkan0=2` for single ones, or both. A later entry replaces an earlier one.
pub fn parse_budgets(text: &str) -> Result<Budgets, PlacementError> {
    let mut budgets = Budgets::default();
    for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        let (device, gib) = entry.split_once('=').map_or(("all", entry), |(device, gib)| (device.trim(), gib.trim()));
        let refused = || PlacementError::Budget(entry.to_owned());
        let gib = gib.parse::<f64>().ok().filter(|gib| gib.is_finite()).ok_or_else(refused)?;
        if device.is_empty() {
            return Err(refused());
        }
        if ["all", "default", "*"].iter().any(|all| device.eq_ignore_ascii_case(all)) {
            budgets.all = Some(gib);
        } else {
            budgets.devices.insert(device.to_ascii_lowercase(), gib);
        }
    }
    Ok(budgets)
}

impl Budgets {
    /// The devices that have a budget of their own, as the text names them.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        self.devices.keys().map(String::as_str)
    }
}

impl fmt::Display for Budgets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        if let Some(gib) = self.all {
            write!(f, "{gib}")?;
            comma = ",";
        }
        for (device, gib) in &self.devices {
            write!(f, "{comma}{device}={gib}")?;
            comma = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_one_number_or_one_for_each_device_and_reads_back() {
        let budgets = parse_budgets(" cuda0=6, Vulkan0 = -1.5 ,cuda0=4").unwrap();
        assert_eq!((budgets.all, budgets.named().collect::<Vec<_>>()), (None, vec!["cuda0", "vulkan0"]));
        for (text, canonical) in
            [("", ""), (" 6.5 ", "6.5"), ("-1", "-1"), ("all=4,cuda0=6", "4,cuda0=6"), ("cuda0=6,3,vulkan0=2", "3,cuda0=6,vulkan0=2")]
        {
            let budgets = parse_budgets(text).unwrap();
            assert_eq!(budgets.to_string(), canonical);
            assert_eq!(parse_budgets(canonical).unwrap(), budgets);
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["six", "nan", "inf", "6GB", "cuda0=", "=6", "cuda0=six"] {
            assert_eq!(parse_budgets(text), Err(PlacementError::Budget(text.into())));
        }
    }
}
