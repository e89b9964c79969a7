//! Budgets: the most memory that may be used of a device, and by a module (`--max-vram 6`,
//! `--max-vram cuda0=6,vulkan0=-1`, `--max-vram te=2,diffusion=6`).
//!
//! Invariant: a text made from a value reads back as that value, or is refused where a device has the
//! name of a module. Not here: what a budget does to a plan.

use std::collections::BTreeMap;
use std::fmt;

use super::error::PlacementError;
use super::names::{Budgeted, budgeted, means_all};
use super::text::BackendSpec;
use crate::device::{Device, DeviceKind};
use crate::format::GIB;
use crate::module::Module;
use crate::module_names::modules_named;

/// Largest budget in GiB; a larger one is a typing error.
const MAX_GIB: f64 = 1_000_000.0;

/// Most memory that may be used of devices and by modules, in GiB. Negative: free memory less that
/// many GiB. 0: no budget. Where a module and its device have one, the smaller counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Budgets {
    /// For each graphics device without a budget of its own; `None`: none.
    all: Option<f64>,
    /// By the device's whole name. Never what `all` says anyway.
    devices: BTreeMap<String, f64>,
    /// What the graph of a module may take of its device, weights included. Never 0.
    modules: BTreeMap<Module, f64>,
}

pub(super) static NO_BUDGETS: Budgets = Budgets { all: None, devices: BTreeMap::new(), modules: BTreeMap::new() };

impl Budgets {
    /// Reads a text: one number for all devices, or entries `device=number` and `module=number`; a
    /// later entry replaces an earlier one. Names are resolved as everywhere
    /// (`placement::resolve_device`, `placement::modules_named`); one of a module is never short for
    /// a device, and refused where a device has it.
    pub fn parse(text: &str, devices: &[Device]) -> Result<Self, PlacementError> {
        let mut all = 0.0;
        let mut by_name = BTreeMap::new();
        let mut by_module = Vec::new();
        for (name, gib) in entries(text)? {
            match name.map(|name| budgeted(name, devices)).transpose()? {
                None => all = gib,
                Some(Budgeted::Device(device)) => {
                    by_name.insert(device.name.clone(), gib);
                }
                Some(Budgeted::Modules(modules)) => by_module.extend(modules.iter().map(|module| (*module, gib))),
            }
        }
        Ok(by_module.into_iter().fold(Self::new(all, by_name), |budgets, (module, gib)| budgets.with_module(module, gib)))
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
        Self { all: (all != 0.0).then_some(all), devices, modules: BTreeMap::new() }
    }

    /// Gives a device a budget of its own, in GiB; 0 is none.
    #[must_use]
    pub fn with(mut self, device: &str, gib: f64) -> Self {
        self.devices.insert(device.to_owned(), gib);
        Self { modules: self.modules, ..Self::new(self.all.unwrap_or(0.0), self.devices) }
    }

    /// Gives a module a budget of its own, in GiB; 0 is none.
    #[must_use]
    pub fn with_module(mut self, module: Module, gib: f64) -> Self {
        if gib == 0.0 {
            self.modules.remove(&module);
        } else {
            self.modules.insert(module, gib);
        }
        self
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

    /// The budgets of single modules, in GiB; never 0.
    #[must_use]
    pub const fn modules(&self) -> &BTreeMap<Module, f64> {
        &self.modules
    }

    /// The budget of this module alone where it runs on this device, in bytes. The engine holds
    /// nothing on the processor to one.
    #[must_use]
    pub fn module_bytes(&self, module: Module, device: &Device) -> Option<u64> {
        let gib = self.modules.get(&module).filter(|_| device.kind != DeviceKind::Cpu)?;
        budget_on(device, *gib)
    }

    /// The budget of this module where it runs on this device, in bytes: its own or the device's,
    /// whichever is smaller.
    #[must_use]
    pub fn bytes_for(&self, module: Module, device: &Device) -> Option<u64> {
        self.module_bytes(module, device).into_iter().chain(self.bytes(device)).min()
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
        if let (Some(gib), true) = (self.all, self.devices.is_empty() && self.modules.is_empty()) {
            return write!(f, "{gib}");
        }
        let mut entries: Vec<String> = self.all.iter().map(|gib| format!("all={gib}")).collect();
        entries.extend(self.devices.iter().map(|(name, gib)| format!("{name}={gib}")));
        if !self.modules.is_empty() {
            let modules = self.modules.iter().map(|(module, gib)| (*module, gib.to_string())).collect();
            entries.push(BackendSpec { fallback: None, modules }.to_string());
        }
        f.write_str(&entries.join(","))
    }
}

/// Checks the form of a text, without devices.
pub(super) fn check_budgets(text: &str) -> Result<(), PlacementError> {
    entries(text).map(drop)
}

/// The one budget in GiB that sd-cli can be given, and true where the text says no more than that:
/// the one for all devices, else the diffusion module's, which is the largest of most models, else
/// the first. `None`: the text has none.
pub(crate) fn one_budget(text: &str) -> Option<(f64, bool)> {
    let entries = entries(text).ok()?;
    let is_diffusion = |name: &str| modules_named(name) == Some(&[Module::Diffusion][..]);
    let of_all = entries.iter().rfind(|(name, _)| name.is_none());
    let of_diffusion = || entries.iter().rfind(|(name, _)| name.is_some_and(is_diffusion));
    let (_, gib) = of_all.or_else(of_diffusion).or_else(|| entries.first())?;
    Some((*gib, entries.iter().all(|(name, _)| name.is_none())))
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
            ("UNet=6", of(0.0, &[]).with_module(Module::Diffusion, 6.0), "diffusion=6"),
            ("te.t5=-1.5, 8", of(8.0, &[]).with_module(Module::T5, -1.5), "all=8,te.t5=-1.5"),
            ("esrgan=1,cuda1=3", of(0.0, &[("CUDA1", 3.0)]).with_module(Module::Upscaler, 1.0), "CUDA1=3,upscaler=1"),
            ("te=2,te=0,vae=-0", of(0.0, &[]), ""),
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
        assert_eq!(check_budgets("rocm0=6"), Ok(()));
    }

    #[test]
    fn of_several_budgets_one_is_for_sd_cli() {
        for (text, expected) in [
            ("", None),
            ("six", None),
            ("-1.5", Some((-1.5, true))),
            ("te=2,4", Some((4.0, false))),
            ("te=2,unet=6", Some((6.0, false))),
            ("cuda0=6,te=2", Some((6.0, false))),
        ] {
            assert_eq!(one_budget(text), expected, "{text}");
        }
    }

    #[test]
    fn a_name_of_nothing_is_refused_with_the_closest_of_devices_and_modules() {
        let error = |text: &str| Budgets::parse(text, &workstation()).unwrap_err();
        for (text, expected) in
            [("diffuson=6", Some("diffusion")), ("cuda9=6", Some("CUDA0")), ("te.t6=1", Some("te.t5")), ("printer=1", None)]
        {
            let PlacementError::UnknownBudgeted { name, closest, .. } = error(text) else { panic!("{text}") };
            assert_eq!((Some(name.as_str()), closest.as_deref()), (text.split('=').next(), expected), "{text}");
        }
        assert!(matches!(error("cuda=6"), PlacementError::AmbiguousDevice { .. }));
    }

    #[test]
    fn a_name_of_a_module_is_never_short_for_a_device() {
        let mut devices = workstation();
        devices[2].name = "Teapot0".into();
        devices[3].name = "ControlNet-box".into();
        let read = |text: &str| Budgets::parse(text, &devices).map(|budgets| budgets.to_string()).unwrap();
        assert_eq!(read("control=2,te=1,controlnet-b=3,tea=4"), "ControlNet-box=3,Teapot0=4,te=1,controlnet=2");
        assert_eq!(read(&read("te=1,control=2")), "te=1,controlnet=2");
    }

    #[test]
    fn a_device_with_the_name_of_a_module_is_refused_with_both() {
        let mut devices = workstation();
        devices[3].name = "Conditioner".into();
        let refused = PlacementError::DeviceAndModule { name: "Conditioner".into(), module: "te" };
        assert_eq!(Budgets::parse("6, conditioner = 2", &devices), Err(refused.clone()));
        assert_eq!(
            refused.to_string(),
            "\"Conditioner\" is a device and the module te; write another name of the module, or one budget for all devices"
        );
        assert_eq!(Budgets::parse("cond=2", &devices).unwrap().to_string(), "te=2");
    }

    #[test]
    fn encoders_have_a_budget_together_and_one_of_them_another() {
        let budgets = read("text-encoder=2,te.clip_g=0.5,vulk=4");
        assert_eq!(budgets.to_string(), "Vulkan0=4,te=2,te.clip_g=0.5");
        assert_eq!(budgets.modules().len(), Module::ENCODERS.len());
        assert_eq!(read(&budgets.with_module(Module::Llm, 0.0).to_string()).to_string(), "Vulkan0=4,te.clip_l=2,te.clip_g=0.5,te.t5=2");
    }

    #[test]
    fn of_a_modules_budget_and_its_devices_the_smaller_counts() {
        let devices = workstation();
        let bytes = |text: &str, module: Module, device: usize| read(text).bytes_for(module, &devices[device]);
        assert_eq!(bytes("6,te=2", Module::Llm, 2), Some(2 * GIB));
        assert_eq!(bytes("6,te=8", Module::Llm, 2), Some(6 * GIB));
        assert_eq!(bytes("6,te=2", Module::Diffusion, 2), Some(6 * GIB));
        assert_eq!(bytes("te=-1", Module::T5, 2), Some(devices[2].memory_free_bytes - GIB));
        assert_eq!(bytes("te=2", Module::Diffusion, 2), None);
        assert_eq!(bytes("te=2", Module::Llm, 0), None, "the engine does not limit the processor");
        assert_eq!(read("te=2").bytes(&devices[2]), None, "its device has none");
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
        fn budgets_read_back_as_they_were_written(
            all in gib(),
            own in proptest::collection::btree_map(name(), gib(), 0..4),
            modules in proptest::collection::vec((proptest::sample::select(Module::ALL.to_vec()), gib()), 0..6),
        ) {
            let devices = Budgets::new(all, own);
            let budgets = modules.into_iter().fold(devices, |budgets, (module, gib)| budgets.with_module(module, gib));
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
