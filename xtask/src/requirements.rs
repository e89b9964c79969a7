//! Table of the programs and libraries that each chore requires, with the reason and the packages
//! that contain them. Searching and installing are elsewhere.

/// The kinds of system that Atelier is built on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Os {
    Linux,
    Macos,
    Windows,
}

impl Os {
    pub(crate) const fn current() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::Macos
        } else {
            Self::Linux
        }
    }
}

/// Purpose of a chore. Each includes those before it, except that only the two of Vulkan require
/// Vulkan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    Build,
    /// Compile everything with Vulkan.
    BuildVulkan,
    /// Try that on a device that the processor plays.
    TestVulkan,
    /// Open the window on this machine's screen.
    Run,
    /// Open it on a screen of its own and use it as a person would.
    Test,
}

/// Properties of the system that change the requirements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Environment {
    pub(crate) os: Os,
    /// The session is a Wayland one.
    pub(crate) wayland: bool,
    /// `CMAKE_GENERATOR` asks for Ninja.
    pub(crate) ninja: bool,
}

/// Test for the presence of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// A program in `PATH`: one of these names, or what the environment variable names instead.
    Program { names: &'static [&'static str], variable: Option<&'static str> },
    /// The library that bindgen loads, with the compiler's own headers.
    Libclang,
    /// A library that is loaded by this name when the program runs.
    Library(&'static str),
    /// A driver through which OpenGL draws, be it in software.
    OpenGlDriver,
    /// Mesa's Vulkan driver that computes on the processor.
    VulkanDriver,
}

/// Package names by package manager; empty where that manager has none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packages {
    pub(crate) apt: &'static str,
    pub(crate) dnf: &'static str,
    pub(crate) pacman: &'static str,
    pub(crate) brew: &'static str,
    pub(crate) winget: &'static str,
}

/// A program, library or driver that must be installed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Requirement {
    pub(crate) name: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) probe: Probe,
    pub(crate) packages: Packages,
    /// Manual instruction where no package manager has it.
    pub(crate) instruction: &'static str,
}

/// Requirements of a purpose on this system, most important first.
pub(crate) fn requirements(purpose: Purpose, environment: Environment) -> Vec<Requirement> {
    let mut list = vec![CMAKE, CPP_COMPILER, LIBCLANG];
    list.push(if environment.ninja || environment.os == Os::Windows { NINJA } else { MAKE });
    if environment.os != Os::Linux {
        return list;
    }
    if matches!(purpose, Purpose::BuildVulkan | Purpose::TestVulkan) {
        list.extend([GLSLC, VULKAN]);
    }
    if purpose == Purpose::TestVulkan {
        list.push(VULKAN_DRIVER);
    }
    if purpose >= Purpose::Run {
        list.extend([X11, X11_XCB, XCURSOR, XINPUT, XKBCOMMON, XKBCOMMON_X11, EGL, OPENGL, OPENGL_DRIVER]);
        if environment.wayland {
            list.extend([WAYLAND_CLIENT, WAYLAND_EGL]);
        }
    }
    if purpose >= Purpose::Test {
        list.extend([XVFB, XDOTOOL]);
    }
    list
}

/// Libraries and drivers that the window loads when it opens, and those it uses where they are.
pub(crate) fn window_requirements(wayland: bool) -> Vec<Requirement> {
    let environment = Environment { os: Os::Linux, wayland, ninja: false };
    let built = requirements(Purpose::Build, environment).len();
    requirements(Purpose::Run, environment).split_off(built)
}

pub(crate) const fn program(names: &'static [&'static str]) -> Probe {
    Probe::Program { names, variable: None }
}

pub(crate) const fn linux(apt: &'static str, dnf: &'static str, pacman: &'static str) -> Packages {
    Packages { apt, dnf, pacman, brew: "", winget: "" }
}

pub(crate) const DPKG_DEB: Requirement = Requirement {
    name: "dpkg-deb",
    reason: "packs and unpacks .deb files",
    probe: program(&["dpkg-deb"]),
    packages: Packages { apt: "dpkg", dnf: "dpkg", pacman: "dpkg", brew: "dpkg", winget: "" },
    instruction: "Install dpkg with your system's package manager.",
};

pub(crate) const XZ: Requirement = Requirement {
    name: "xz",
    reason: "compresses the archive",
    probe: program(&["xz"]),
    packages: linux("xz-utils", "xz", "xz"),
    instruction: "Install xz with your system's package manager.",
};

const CMAKE: Requirement = Requirement {
    name: "cmake",
    reason: "configures the build of the engine",
    probe: program(&["cmake"]),
    packages: Packages { apt: "cmake", dnf: "cmake", pacman: "cmake", brew: "cmake", winget: "Kitware.CMake" },
    instruction: "Install CMake from https://cmake.org/download/.",
};

const CPP_COMPILER: Requirement = Requirement {
    name: "a C++ compiler",
    reason: "compiles the engine",
    probe: if cfg!(windows) { program(&["cl.exe"]) } else { Probe::Program { names: &["c++"], variable: Some("CXX") } },
    packages: Packages { apt: "g++", dnf: "gcc-c++", pacman: "gcc", brew: "", winget: "Microsoft.VisualStudio.2022.BuildTools" },
    instruction: "On macOS, run `xcode-select --install`.",
};

const LIBCLANG: Requirement = Requirement {
    name: "libclang",
    reason: "reads the engine's C headers to make its Rust bindings",
    probe: Probe::Libclang,
    packages: Packages { apt: "libclang-dev", dnf: "clang-devel", pacman: "clang", brew: "llvm", winget: "LLVM.LLVM" },
    instruction: "Install LLVM and set LIBCLANG_PATH to the folder that holds libclang.",
};

const MAKE: Requirement = Requirement {
    name: "make",
    reason: "runs the build of the engine",
    probe: program(&["make", "gmake"]),
    packages: Packages { apt: "make", dnf: "make", pacman: "make", brew: "make", winget: "" },
    instruction: "On macOS, run `xcode-select --install`.",
};

const NINJA: Requirement = Requirement {
    name: "ninja",
    reason: "runs the build of the engine",
    probe: program(&["ninja"]),
    packages: Packages { apt: "ninja-build", dnf: "ninja-build", pacman: "ninja", brew: "ninja", winget: "Ninja-build.Ninja" },
    instruction: "Install Ninja from https://ninja-build.org.",
};

const fn library(name: &'static str, reason: &'static str, packages: Packages) -> Requirement {
    Requirement {
        name,
        reason,
        probe: Probe::Library(name),
        packages,
        instruction: "Install the library with your system's package manager.",
    }
}

const X11: Requirement = library("libX11.so.6", "opens the window", linux("libx11-6", "libX11", "libx11"));
const X11_XCB: Requirement = library("libX11-xcb.so.1", "opens the window", linux("libx11-xcb1", "libX11-xcb", "libx11"));
const XCURSOR: Requirement = library("libXcursor.so.1", "shows the pointer", linux("libxcursor1", "libXcursor", "libxcursor"));
const XINPUT: Requirement = library("libXi.so.6", "reads the mouse and tablet", linux("libxi6", "libXi", "libxi"));
const XKBCOMMON: Requirement = library("libxkbcommon.so.0", "reads the keyboard", linux("libxkbcommon0", "libxkbcommon", "libxkbcommon"));
const XKBCOMMON_X11: Requirement =
    library("libxkbcommon-x11.so.0", "reads the keyboard", linux("libxkbcommon-x11-0", "libxkbcommon-x11", "libxkbcommon-x11"));
const EGL: Requirement = library("libEGL.so.1", "draws in the window", linux("libegl1", "libglvnd-egl", "libglvnd"));
const OPENGL: Requirement = library("libGL.so.1", "draws in the window", linux("libgl1", "libglvnd-glx", "libglvnd"));
const WAYLAND_CLIENT: Requirement =
    library("libwayland-client.so.0", "opens the window", linux("libwayland-client0", "libwayland-client", "wayland"));
const WAYLAND_EGL: Requirement =
    library("libwayland-egl.so.1", "draws in the window", linux("libwayland-egl1", "libwayland-egl", "wayland"));

const OPENGL_DRIVER: Requirement = Requirement {
    name: "an OpenGL driver",
    reason: "draws in the window, without a graphics card too",
    probe: Probe::OpenGlDriver,
    packages: linux("libgl1-mesa-dri", "mesa-dri-drivers", "mesa"),
    instruction: "Install Mesa with your system's package manager.",
};

pub(crate) const GLSLC: Requirement = Requirement {
    name: "glslc",
    reason: "compiles the engine's programs for graphics cards",
    probe: program(&["glslc"]),
    packages: linux("glslc", "glslc", "shaderc"),
    instruction: "Install the Vulkan SDK.",
};

const VULKAN: Requirement =
    library("libvulkan.so", "finds Vulkan devices", linux("libvulkan-dev", "vulkan-loader-devel", "vulkan-icd-loader"));

const VULKAN_DRIVER: Requirement = Requirement {
    name: "Mesa's Vulkan driver in software",
    reason: "is a Vulkan device without a graphics card",
    probe: Probe::VulkanDriver,
    packages: linux("mesa-vulkan-drivers", "mesa-vulkan-drivers", "vulkan-swrast"),
    instruction: "Install Mesa's Vulkan drivers with your system's package manager.",
};

pub(crate) const XVFB: Requirement = Requirement {
    name: "Xvfb",
    reason: "gives the tests a screen of their own",
    probe: program(&["Xvfb"]),
    packages: linux("xvfb", "xorg-x11-server-Xvfb", "xorg-server-xvfb"),
    instruction: "Install Xvfb with your system's package manager.",
};

pub(crate) const XDOTOOL: Requirement = Requirement {
    name: "xdotool",
    reason: "types and clicks in the tests' window",
    probe: program(&["xdotool"]),
    packages: linux("xdotool", "xdotool", "xdotool"),
    instruction: "Install xdotool with your system's package manager.",
};

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX: Environment = Environment { os: Os::Linux, wayland: false, ninja: false };

    fn names(purpose: Purpose, environment: Environment) -> Vec<&'static str> {
        requirements(purpose, environment).iter().map(|it| it.name).collect()
    }

    #[test]
    fn each_purpose_includes_the_one_before() {
        let [build, run, test] = [Purpose::Build, Purpose::Run, Purpose::Test].map(|purpose| names(purpose, LINUX));
        assert!(run.starts_with(&build) && test.starts_with(&run));
        assert!(!build.contains(&"libX11.so.6") && run.contains(&"libX11.so.6"));
        assert!(!run.contains(&"Xvfb") && test.contains(&"Xvfb"));
        let [vulkan, test_vulkan] = [Purpose::BuildVulkan, Purpose::TestVulkan].map(|purpose| names(purpose, LINUX));
        assert!(vulkan.starts_with(&build) && test_vulkan.starts_with(&vulkan) && vulkan.contains(&"glslc"));
        assert!(!test.contains(&"glslc") && !test_vulkan.contains(&"libX11.so.6"));
    }

    #[test]
    fn wayland_is_needed_only_in_a_wayland_session() {
        assert!(!names(Purpose::Run, LINUX).contains(&"libwayland-client.so.0"));
        assert!(names(Purpose::Run, Environment { wayland: true, ..LINUX }).contains(&"libwayland-client.so.0"));
    }

    #[test]
    fn macos_and_windows_bring_their_own_window_libraries() {
        for os in [Os::Macos, Os::Windows] {
            let needed = names(Purpose::Test, Environment { os, ..LINUX });
            assert!(needed.contains(&"libclang"));
            assert!(!needed.iter().any(|name| name.contains(".so") || *name == "Xvfb"), "{needed:?}");
        }
        assert!(names(Purpose::Build, Environment { os: Os::Windows, ..LINUX }).contains(&"ninja"));
    }

    #[test]
    fn every_linux_package_manager_brings_everything_that_linux_needs() {
        let test = requirements(Purpose::Test, Environment { wayland: true, ..LINUX });
        for requirement in test.into_iter().chain(requirements(Purpose::TestVulkan, LINUX)) {
            let Packages { apt, dnf, pacman, .. } = requirement.packages;
            assert!(![apt, dnf, pacman].contains(&""), "{}", requirement.name);
        }
    }
}
