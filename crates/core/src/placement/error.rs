//! Errors of placement texts.

use atelier_language::tr;

/// Error of a placement text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// An entry lacks one of its halves.
    #[error("{}", tr!("core-does-not-name-a", reason = _0))]
    Half(String),
    /// Not the name of one device.
    #[error("{}", tr!("core-is-not-one-device", reason = _0))]
    NotOneDevice(String),
    /// No module has this name.
    #[error("{}", tr!("core-there-is-no-module-choose-one", name, perhaps = perhaps(closest.as_ref())))]
    UnknownModule {
        /// The name as it was written.
        name: String,
        /// The closest module name.
        closest: Option<String>,
    },
    /// Modules cannot run on a disk.
    #[error("{}", tr!("core-a-module-cannot-run"))]
    RunsOnDisk,
    /// No device has this name.
    #[error("{}", tr!("core-there-is-no-device", name, known, perhaps = perhaps(closest.as_ref())))]
    UnknownDevice {
        /// The name as it was written.
        name: String,
        /// Names of all devices.
        known: String,
        /// The closest device name.
        closest: Option<String>,
    },
    /// More than one device begins with this name.
    #[error("{}", tr!("core-could-be-write-the", name, matching))]
    AmbiguousDevice {
        /// The name as it was written.
        name: String,
        /// Names of the matching devices.
        matching: String,
    },
    /// A device has the name of a module, and either can have a budget.
    #[error("{}", tr!("core-is-a-device-and-a-module", name, module))]
    DeviceAndModule {
        /// The device's whole name.
        name: String,
        /// The module's name in placement texts.
        module: &'static str,
    },
    /// Neither a device nor a module has this name.
    #[error("{}", tr!("core-there-is-no-device-or-module", name, known, perhaps = perhaps(closest.as_ref())))]
    UnknownBudgeted {
        /// The name as it was written.
        name: String,
        /// Names of all devices.
        known: String,
        /// The closest name of a device or a module.
        closest: Option<String>,
    },
    /// A budget is no number.
    #[error(
        "{}", tr!("core-is-not-a-budget", reason = _0))]
    Budget(String),
}

fn perhaps(closest: Option<&String>) -> String {
    closest.map(|closest| tr!("core-did-you-mean-2", closest)).unwrap_or_default()
}
