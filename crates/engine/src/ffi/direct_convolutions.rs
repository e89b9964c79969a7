//! Devices that compute convolutions without unfolding the image, so that graphs made for them may
//! ask for it.

use std::collections::HashMap;
use std::sync::LazyLock;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::cpu_kernels::has_cpu_kernels;
use super::{devices, is_simulated};
use atelier_core::device::{Device, DeviceKind};
use atelier_core::placement::Module;

/// Modules for which a device's convolutions without unfolded images are the better ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DirectConvolutions {
    #[default]
    None,
    /// Vulkan. Measured on an H200 (docs/measured-gpu.md): the decoder is 1.7 to 4 times as fast and
    /// takes half the memory, since an unfolded image of 1024 x 1024 is larger than a buffer may be;
    /// UNets are up to a fifth slower.
    Vae,
    /// Kernels of ours.
    All,
}

impl DirectConvolutions {
    pub(crate) fn include(self, module: Module) -> bool {
        match self {
            Self::None => false,
            Self::Vae => module == Module::Vae,
            Self::All => true,
        }
    }
}

/// The answers of servers for their devices, in their order.
static SERVERS: LazyLock<Mutex<HashMap<String, Vec<DirectConvolutions>>>> = LazyLock::new(Mutex::default);

/// Remembers what a server says of its devices.
pub(crate) fn set_direct_convolutions(server: &str, direct: Vec<DirectConvolutions>) {
    SERVERS.lock().insert(server.to_owned(), direct);
}

/// What holds for a device, here or at its server.
pub(crate) fn direct_convolutions(name: &str) -> DirectConvolutions {
    let Some((device, position)) = devices().into_iter().find(|(device, _)| device.name == name) else { return DirectConvolutions::None };
    match position {
        Some(position) => SERVERS.lock().get(&position.server).and_then(|direct| direct.get(position.index)).copied().unwrap_or_default(),
        None if device.kind == DeviceKind::Cpu || is_simulated(&device) => {
            if has_cpu_kernels() {
                DirectConvolutions::All
            } else {
                DirectConvolutions::None
            }
        }
        None => of_gpu(&device),
    }
}

fn of_gpu(device: &Device) -> DirectConvolutions {
    if device.is_vulkan() { DirectConvolutions::Vae } else { DirectConvolutions::None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vulkan_unfolds_no_image_for_the_decoder() {
        let device = |name: &str| Device {
            name: name.into(),
            description: String::new(),
            kind: DeviceKind::Gpu,
            gpu: None,
            memory_total_bytes: 0,
            memory_free_bytes: 0,
            memory_allocated_bytes: 0,
        };
        let direct = of_gpu(&device("Vulkan1"));
        assert!(direct.include(Module::Vae) && !direct.include(Module::Diffusion) && !direct.include(Module::Upscaler));
        assert_eq!(of_gpu(&device("CUDA0")), DirectConvolutions::None);
        assert_eq!(direct_convolutions("nowhere"), DirectConvolutions::None);
    }
}
