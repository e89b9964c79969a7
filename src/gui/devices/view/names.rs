//! Names of modules, devices and places as the view shows them.

use crate::gui::devices::board::Board;
use atelier_core::device::{Device, DeviceKind};
use atelier_core::placement::{Module, WeightLocation};
use atelier_core::sentences::capitalized;
use atelier_language::tr;

/// Title of a device's column.
pub(crate) fn column_title(device: &Device) -> String {
    if device.kind == DeviceKind::Cpu { tr!("devices-ram", name = device.name) } else { device.name.clone() }
}

/// Name of a module with a capital.
pub(crate) fn module_title(module: Module) -> String {
    capitalized(module.label())
}

/// Name of a place for weights.
pub(crate) fn place_name(board: &Board, location: &WeightLocation) -> String {
    match location {
        WeightLocation::Disk => tr!("devices-disk").to_owned(),
        WeightLocation::Device(name) => board.devices.iter().find(|it| it.name == *name).map_or_else(|| name.clone(), column_title),
    }
}
