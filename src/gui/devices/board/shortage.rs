//! Why a device has too little memory, in words for people who never heard of phases. Pure.

use atelier_core::format::memory_size;
use atelier_core::placement::{DeviceCapacity, Placement, Prediction};
use atelier_language::tr;

/// Why a device has not the memory that a picture needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The memory, as people name it: `RAM`, `GPU0`.
    pub place: String,
    /// Bytes that the picture needs at once.
    pub needed_bytes: u64,
    /// Bytes that there are.
    pub total_bytes: u64,
    /// Bytes that other programs use.
    pub others_bytes: u64,
    /// The limit that the person set, where that is what is reached.
    pub budget_bytes: Option<u64>,
}

impl Shortage {
    /// The first device without enough memory; `None` where all fits.
    #[must_use]
    pub fn of(prediction: &Prediction, placement: &Placement, capacities: &[DeviceCapacity]) -> Option<Self> {
        let prediction = prediction.devices.iter().find(|it| it.missing_bytes() > 0)?;
        let capacity = capacities.iter().find(|capacity| capacity.device.name == prediction.name)?;
        let device = &capacity.device;
        let budget = placement.budgets.bytes(device);
        Some(Self {
            place: if capacity.is_ram() { "RAM".to_owned() } else { device.name.clone() },
            needed_bytes: prediction.peak().1.total_bytes(),
            total_bytes: device.memory_total_bytes,
            others_bytes: device.memory_total_bytes.saturating_sub(device.memory_free_bytes),
            budget_bytes: budget.filter(|budget| *budget <= prediction.limit_bytes),
        })
    }

    /// Whose the memory is that is missing. `has_remedy`: what Atelier can do stands below.
    #[must_use]
    pub fn sentence(&self, has_remedy: bool) -> String {
        let Self { place, needed_bytes, total_bytes, others_bytes, budget_bytes } = self;
        let [needed, total, others] = [needed_bytes, total_bytes, others_bytes].map(|bytes| memory_size(*bytes));
        if let Some(budget) = budget_bytes {
            return tr!("devices-this-picture-needs-of", needed, place, budget = memory_size(*budget));
        }
        if needed_bytes > total_bytes {
            return tr!("devices-this-picture-needs-and", needed, total, place);
        }
        if others_bytes > needed_bytes {
            let or = if has_remedy { tr!("devices-close-some-or-let") } else { tr!("devices-close-some") };
            return tr!("devices-other-programs-use-of", others, total, place, needed, or);
        }
        tr!("devices-this-picture-needs-of-the-of", needed, total, place, others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::format::GIB;

    #[test]
    fn who_takes_the_memory_is_named_and_no_one_else() {
        let shortage = |needed: u64, others: u64, budget| Shortage {
            place: "RAM".into(),
            needed_bytes: needed * GIB / 10,
            total_bytes: 16 * GIB,
            others_bytes: others * GIB / 10,
            budget_bytes: budget,
        };
        for (shortage, has_remedy, expected) in [
            (
                shortage(20, 142, None),
                false,
                "Other programs use 14.2 GiB of the 16.0 GiB of RAM, and this picture needs 2.0 GiB. Close some.",
            ),
            (
                shortage(20, 142, None),
                true,
                "Other programs use 14.2 GiB of the 16.0 GiB of RAM, and this picture needs 2.0 GiB. Close some, or let Atelier use less:",
            ),
            (shortage(150, 20, None), true, "This picture needs 15.0 GiB of the 16.0 GiB of RAM, and other programs use 2.0 GiB."),
            (shortage(200, 100, None), true, "This picture needs 20.0 GiB, and there are 16.0 GiB of RAM."),
            (shortage(20, 0, Some(GIB)), true, "This picture needs 2.0 GiB of RAM, and its budget is 1.0 GiB."),
        ] {
            assert_eq!(shortage.sentence(has_remedy), expected);
        }
    }
}
