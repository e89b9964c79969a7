//! The devices that modules run on, as plain data. Listing them is the engine's work.

use std::fmt;
use std::str::FromStr;

use atelier_language::tr;
use serde::{Deserialize, Serialize};

/// The beginning of a simulated device's description, which nobody but us gives it; mirrors
/// `shim/simulated_device.cpp`.
pub const SIMULATED_DESCRIPTION: &str = "Simulated on the CPU";
/// Its end, behind the part of the processor's speed that the device has.
const OF_ITS_SPEED: &str = " of its speed";

/// A device that the engine can compute on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// The name that placement uses: `CPU`, `CUDA0`, `Vulkan0`.
    pub name: String,
    /// The name that its maker gives it, by which the device is known again; a person reads
    /// [`Self::described`].
    pub description: String,
    /// Its kind.
    pub kind: DeviceKind,
    /// The GPU behind it, where that is known: its PCI address as ggml writes it (`0000:01:00.0`),
    /// for a GPU of another machine followed by its server. Two devices with the same one are two
    /// backends of it and share its memory.
    #[serde(default)]
    pub gpu: Option<String>,
    /// Memory in bytes; 0 where the device does not say.
    pub memory_total_bytes: u64,
    /// Memory not in use, in bytes.
    pub memory_free_bytes: u64,
    /// Memory in buffers of the engine itself, in bytes, at the moment at which the rest was free.
    #[serde(default)]
    pub memory_allocated_bytes: u64,
}

impl Device {
    /// True where both are the same GPU, offered by two backends.
    #[must_use]
    pub fn shares_gpu(&self, other: &Self) -> bool {
        self.gpu.is_some() && self.gpu == other.gpu
    }

    /// Its description in the language in use, where that is our own.
    #[must_use]
    pub fn described(&self) -> String {
        // As the engine describes a device of a server, which says no speed behind it.
        let of_server = Some(self.description.as_str()).filter(|it| self.kind == DeviceKind::Remote && !it.ends_with(OF_ITS_SPEED));
        if let Some(server) = of_server.and_then(|it| it.strip_prefix("At ")) {
            return tr!("core-device-at", server);
        }
        match of_server.and_then(|it| it.rsplit_once(" at ")) {
            Some((maker, server)) => tr!("core-device-of-a-server", maker = described(maker), server),
            None => described(&self.description),
        }
    }

    /// True for a device of Vulkan's backend.
    #[must_use]
    pub fn is_vulkan(&self) -> bool {
        self.begins_with("vulkan")
    }

    fn begins_with(&self, prefix: &str) -> bool {
        self.name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    }

    /// Rank of its backend on a GPU that others offer too; the lower, the better: the maker's own
    /// (CUDA, `ROCm`, Metal), Vulkan, `OpenCL`.
    #[must_use]
    pub fn backend_rank(&self) -> usize {
        if self.is_vulkan() { 1 } else { 2 * usize::from(self.begins_with("opencl")) }
    }
}

/// What its maker says of a device, in the language in use where we are the maker.
fn described(maker: &str) -> String {
    let Some(rest) = maker.strip_prefix(SIMULATED_DESCRIPTION) else { return maker.to_owned() };
    match rest.strip_prefix(" at ").and_then(|it| it.strip_suffix(OF_ITS_SPEED)) {
        Some(speed) => tr!("core-simulated-at", speed),
        None => format!("{}{rest}", tr!("core-simulated")),
    }
}

/// The devices GPU by GPU, in the order of each one's first device; of one GPU, the preferred
/// backend first. A device whose GPU is not known is one of its own.
#[must_use]
pub fn gpus(devices: &[Device]) -> Vec<Vec<&Device>> {
    let mut gpus: Vec<Vec<&Device>> = Vec::new();
    for device in devices {
        match gpus.iter_mut().find(|gpu| gpu.iter().any(|it| it.shares_gpu(device))) {
            Some(gpu) => gpu.push(device),
            None => gpus.push(vec![device]),
        }
    }
    for gpu in &mut gpus {
        gpu.sort_by_key(|device| device.backend_rank());
    }
    gpus
}

/// Kind of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// The processor.
    Cpu,
    /// A graphics card with memory of its own.
    Gpu,
    /// A graphics unit that shares the machine's memory.
    IntegratedGpu,
    /// Something that helps the processor (BLAS, AMX).
    Accelerator,
    /// A device of another machine, served by `atelier serve-device` there. Used only where it is
    /// named; all its memory is 0 while its server does not answer.
    Remote,
}

impl DeviceKind {
    /// The word shown to a person.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Cpu => "CPU",
            Self::Gpu => "GPU",
            Self::IntegratedGpu => tr!("core-integrated-gpu"),
            Self::Accelerator => tr!("core-accelerator"),
            Self::Remote => tr!("core-remote"),
        }
    }

    /// True for a graphics card of this machine.
    #[must_use]
    pub const fn is_graphics(self) -> bool {
        matches!(self, Self::Gpu | Self::IntegratedGpu)
    }
}

/// Devices that the processor simulates, for tests and demonstrations: `GPU0:8,GPU1:6` is two
/// graphics cards of 8 and 6 GiB, `CUDA0:8@0000:01:00.0,Vulkan0:8@0000:01:00.0` one card with two
/// backends, which share its memory. `GPU0:8/largest=2/without=q8_0` has no buffers of more than 2
/// GiB, and does not compute with `Q8_0`; `GPU0:8/speed=0.5` takes twice as long as the processor.
///
/// ```
/// use atelier_core::device::SimulatedDevices;
///
/// let devices: SimulatedDevices = "GPU0:8,GPU1:6/speed=0.5".parse()?;
/// assert_eq!(devices.0[1].memory_bytes, 6 << 30);
/// # Ok::<(), atelier_core::device::SimulatedDevicesError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimulatedDevices(pub Vec<SimulatedDevice>);

/// A simulated device.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedDevice {
    /// Its name: letters, digits, hyphens and underscores.
    pub name: String,
    /// Memory in bytes; what goes past it is refused.
    pub memory_bytes: u64,
    /// The GPU that it says it is: letters, digits, colons, dots, hyphens.
    pub gpu: Option<String>,
    /// Bytes of its largest buffer; `None`: as large as its memory.
    pub largest_buffer_bytes: Option<u64>,
    /// A type of weights with which it does not compute, by ggml's name.
    pub without: Option<String>,
    /// Its speed as a part of the processor's: above 0, at most 1.
    pub speed: f64,
}

/// Error: a text does not describe simulated devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedDevicesError(String);

impl std::error::Error for SimulatedDevicesError {}

impl fmt::Display for SimulatedDevicesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is not a device; write a name and its GiB, for example GPU0:8,GPU1:6", self.0)
    }
}

impl FromStr for SimulatedDevices {
    type Err = SimulatedDevicesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut devices: Vec<SimulatedDevice> = Vec::new();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let device = simulated(entry).ok_or_else(|| SimulatedDevicesError(entry.to_owned()))?;
            if devices.iter().any(|other| other.name.eq_ignore_ascii_case(&device.name)) {
                return Err(SimulatedDevicesError(entry.to_owned()));
            }
            devices.push(device);
        }
        Ok(Self(devices))
    }
}

fn simulated(entry: &str) -> Option<SimulatedDevice> {
    /// A slower device would look as if it had stopped.
    const MIN_SPEED: f64 = 0.01;
    // Words with a meaning of their own in a placement.
    const RESERVED: [&str; 5] = ["cpu", "gpu", "disk", "auto", "default"];
    let (device, options) = entry.split_once('/').map_or((entry, None), |(device, options)| (device, Some(options)));
    let (name, size) = device.split_once(':')?;
    let (gib, gpu) = size.split_once('@').map_or((size, None), |(gib, gpu)| (gib, Some(gpu.trim())));
    let name = name.trim();
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let is_address = |gpu: &str| !gpu.is_empty() && gpu.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, ':' | '.' | '-'));
    if !plain || !gpu.is_none_or(is_address) || RESERVED.iter().any(|word| name.eq_ignore_ascii_case(word)) {
        return None;
    }
    let mut device = SimulatedDevice {
        name: name.to_owned(),
        memory_bytes: bytes_of_gib(gib)?,
        gpu: gpu.map(str::to_owned),
        largest_buffer_bytes: None,
        without: None,
        speed: 1.0,
    };
    for option in options.into_iter().flat_map(|it| it.split('/')) {
        match option.split_once('=')? {
            ("largest", gib) => device.largest_buffer_bytes = Some(bytes_of_gib(gib)?),
            ("speed", part) => device.speed = part.parse().ok().filter(|part| *part >= MIN_SPEED && *part <= 1.0)?,
            ("without", name) if !name.is_empty() => device.without = Some(name.to_owned()),
            _ => return None,
        }
    }
    Some(device)
}

fn bytes_of_gib(text: &str) -> Option<u64> {
    let gib = text.trim().parse::<f64>().ok().filter(|gib| gib.is_finite() && *gib > 0.0 && *gib <= 1e6)?;
    Some((gib * f64::from(1 << 30)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulated_devices_are_names_with_gib() {
        let read = |text: &str| {
            text.parse::<SimulatedDevices>().map(|devices| devices.0.into_iter().map(|it| (it.name, it.memory_bytes)).collect::<Vec<_>>())
        };
        assert_eq!(read(" GPU0:8, GPU1:0.5,"), Ok(vec![("GPU0".into(), 8 << 30), ("GPU1".into(), 1 << 29)]));
        assert_eq!(read(""), Ok(Vec::new()));
        let limited = "GPU0:8@1:2/largest=0.5/without=q8_0/speed=0.25".parse::<SimulatedDevices>().unwrap().0.remove(0);
        assert_eq!(
            (limited.largest_buffer_bytes, limited.without.as_deref(), limited.gpu.as_deref(), limited.speed),
            (Some(1 << 29), Some("q8_0"), Some("1:2"), 0.25)
        );
        for text in [
            "GPU0",
            "GPU0:",
            ":8",
            "GPU0:0",
            "GPU0:-1",
            "GPU0:nan",
            "GPU0:8,gpu0:6",
            "cpu:8",
            "a b:8",
            "a=b:8",
            "GPU0:8GB",
            "GPU0:8@",
            "GPU0:8@a b",
            "GPU0@a:8",
            "GPU0:8/",
            "GPU0:8/largest",
            "GPU0:8/largest=0",
            "GPU0:8/without=",
            "GPU0:8/with=q8_0",
            "GPU0:8/speed=0",
            "GPU0:8/speed=2",
            "GPU0:8/speed=nan",
        ] {
            assert!(read(text).unwrap_err().to_string().contains("GPU0:8,GPU1:6"), "{text}");
        }
    }

    #[test]
    fn a_simulated_device_may_say_which_card_it_is() {
        let devices: SimulatedDevices = "CUDA0:8@0000:01:00.0, GPU1:0.5 @ x".parse().unwrap();
        let read: Vec<_> = devices.0.into_iter().map(|it| (it.name, it.memory_bytes, it.gpu)).collect();
        assert_eq!(read, [("CUDA0".into(), 8 << 30, Some("0000:01:00.0".into())), ("GPU1".into(), 1 << 29, Some("x".into()))]);
    }

    #[test]
    fn two_backends_of_a_card_are_one_card_and_the_makers_own_comes_first() {
        let device = |name: &str, gpu: Option<&str>| Device {
            name: name.into(),
            description: String::new(),
            kind: DeviceKind::Gpu,
            gpu: gpu.map(str::to_owned),
            memory_total_bytes: 1,
            memory_free_bytes: 1,
            memory_allocated_bytes: 0,
        };
        let devices = [
            device("Vulkan0", Some("a")),
            device("CPU", None),
            device("vulkan1", Some("b")),
            device("CUDA0", Some("b")),
            device("OpenCL0", Some("a")),
            device("GPU0", None),
        ];
        let names: Vec<Vec<&str>> = gpus(&devices).iter().map(|gpu| gpu.iter().map(|it| it.name.as_str()).collect()).collect();
        assert_eq!(names, [vec!["Vulkan0", "OpenCL0"], vec!["CPU"], vec!["CUDA0", "vulkan1"], vec!["GPU0"]]);
        // From a server that is older.
        let old = r#"{"name":"CPU","description":"","kind":"cpu","memory_total_bytes":1,"memory_free_bytes":1}"#;
        assert_eq!(serde_json::from_str::<Device>(old).unwrap().gpu, None);
    }
}
