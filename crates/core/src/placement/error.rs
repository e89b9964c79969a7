//! Errors of placement texts.

/// Error of a placement text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// An entry lacks one of its halves.
    #[error("\"{0}\" does not name a module and a device; write it as module=device, for example te=cpu")]
    Half(String),
    /// Not the name of one device.
    #[error("\"{0}\" is not one device; name one, for example cuda0, or give a list to --backend")]
    NotOneDevice(String),
    /// No module has this name.
    #[error("there is no module \"{name}\"; choose one of diffusion, te, clip_vision, vae, controlnet, photomaker, upscaler or all{}", perhaps(closest.as_ref()))]
    UnknownModule {
        /// The name as it was written.
        name: String,
        /// The closest module name.
        closest: Option<String>,
    },
    /// Modules cannot run on a disk.
    #[error("a module cannot run on the disk, which only keeps weights; write disk in the weights' place (--params-backend) instead")]
    RunsOnDisk,
    /// No device has this name.
    #[error("there is no device \"{name}\" on this machine; choose one of {known}{}", perhaps(closest.as_ref()))]
    UnknownDevice {
        /// The name as it was written.
        name: String,
        /// Names of all devices.
        known: String,
        /// The closest device name.
        closest: Option<String>,
    },
    /// More than one device begins with this name.
    #[error("\"{name}\" could be {matching}; write the whole name")]
    AmbiguousDevice {
        /// The name as it was written.
        name: String,
        /// Names of the matching devices.
        matching: String,
    },
    /// A budget is no number.
    #[error(
        "\"{0}\" is not a budget; write the GiB that may be used, for example 6 or cuda0=6, -1 to leave 1 GiB free, or 0 for no budget"
    )]
    Budget(String),
}

fn perhaps(closest: Option<&String>) -> String {
    closest.map(|closest| format!("; did you mean {closest}?")).unwrap_or_default()
}
