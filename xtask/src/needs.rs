//! What each chore needs of the system, why, and which package brings it. A table; looking and installing are elsewhere.

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

/// What a chore is about to do. Running includes building, and testing includes running; only what is about Vulkan needs Vulkan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    /// Compile everything.
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

/// Where this runs, as far as it changes what is needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings {
    pub(crate) os: Os,
    /// The session is a Wayland one.
    pub(crate) wayland: bool,
    /// `CMAKE_GENERATOR` asks for Ninja.
    pub(crate) ninja: bool,
}

/// How the presence of a thing is found out.
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

/// A thing that must be there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    pub(crate) name: &'static str,
    pub(crate) why: &'static str,
    pub(crate) probe: Probe,
    pub(crate) packages: Packages,
    /// What to do where no package manager brings it.
    pub(crate) otherwise: &'static str,
}

/// What a purpose needs here, in the order in which a reader wants to hear it.
pub(crate) fn needs(purpose: Purpose, around: Surroundings) -> Vec<Need> {
    let mut needs = vec![CMAKE, CPP_COMPILER, LIBCLANG];
    needs.push(if around.ninja || around.os == Os::Windows { NINJA } else { MAKE });
    if around.os != Os::Linux {
        return needs;
    }
    if matches!(purpose, Purpose::BuildVulkan | Purpose::TestVulkan) {
        needs.extend([GLSLC, VULKAN]);
    }
    if purpose == Purpose::TestVulkan {
        needs.push(VULKAN_DRIVER);
    }
    if purpose >= Purpose::Run {
        needs.extend([X11, X11_XCB, XCURSOR, XINPUT, XKBCOMMON, XKBCOMMON_X11, EGL, OPENGL, OPENGL_DRIVER]);
        if around.wayland {
            needs.extend([WAYLAND_CLIENT, WAYLAND_EGL]);
        }
    }
    if purpose >= Purpose::Test {
        needs.extend([XVFB, XDOTOOL]);
    }
    needs
}

const fn program(names: &'static [&'static str]) -> Probe {
    Probe::Program { names, variable: None }
}

const fn linux(apt: &'static str, dnf: &'static str, pacman: &'static str) -> Packages {
    Packages { apt, dnf, pacman, brew: "", winget: "" }
}

const CMAKE: Need = Need {
    name: "cmake",
    why: "configures the build of the engine",
    probe: program(&["cmake"]),
    packages: Packages { apt: "cmake", dnf: "cmake", pacman: "cmake", brew: "cmake", winget: "Kitware.CMake" },
    otherwise: "Install CMake from https://cmake.org/download/.",
};

const CPP_COMPILER: Need = Need {
    name: "a C++ compiler",
    why: "compiles the engine",
    probe: if cfg!(windows) { program(&["cl.exe"]) } else { Probe::Program { names: &["c++"], variable: Some("CXX") } },
    packages: Packages { apt: "g++", dnf: "gcc-c++", pacman: "gcc", brew: "", winget: "Microsoft.VisualStudio.2022.BuildTools" },
    otherwise: "On macOS, run `xcode-select --install`.",
};

const LIBCLANG: Need = Need {
    name: "libclang",
    why: "reads the engine's C headers to make its Rust bindings",
    probe: Probe::Libclang,
    packages: Packages { apt: "libclang-dev", dnf: "clang-devel", pacman: "clang", brew: "llvm", winget: "LLVM.LLVM" },
    otherwise: "Install LLVM and set LIBCLANG_PATH to the folder that holds libclang.",
};

const MAKE: Need = Need {
    name: "make",
    why: "runs the build of the engine",
    probe: program(&["make", "gmake"]),
    packages: Packages { apt: "make", dnf: "make", pacman: "make", brew: "make", winget: "" },
    otherwise: "On macOS, run `xcode-select --install`.",
};

const NINJA: Need = Need {
    name: "ninja",
    why: "runs the build of the engine",
    probe: program(&["ninja"]),
    packages: Packages { apt: "ninja-build", dnf: "ninja-build", pacman: "ninja", brew: "ninja", winget: "Ninja-build.Ninja" },
    otherwise: "Install Ninja from https://ninja-build.org.",
};

const fn library(name: &'static str, why: &'static str, packages: Packages) -> Need {
    Need { name, why, probe: Probe::Library(name), packages, otherwise: "Install the library with your system's package manager." }
}

const X11: Need = library("libX11.so.6", "opens the window", linux("libx11-6", "libX11", "libx11"));
const X11_XCB: Need = library("libX11-xcb.so.1", "opens the window", linux("libx11-xcb1", "libX11-xcb", "libx11"));
const XCURSOR: Need = library("libXcursor.so.1", "shows the pointer", linux("libxcursor1", "libXcursor", "libxcursor"));
const XINPUT: Need = library("libXi.so.6", "reads the mouse and tablet", linux("libxi6", "libXi", "libxi"));
const XKBCOMMON: Need = library("libxkbcommon.so.0", "reads the keyboard", linux("libxkbcommon0", "libxkbcommon", "libxkbcommon"));
const XKBCOMMON_X11: Need =
    library("libxkbcommon-x11.so.0", "reads the keyboard", linux("libxkbcommon-x11-0", "libxkbcommon-x11", "libxkbcommon-x11"));
const EGL: Need = library("libEGL.so.1", "draws in the window", linux("libegl1", "libglvnd-egl", "libglvnd"));
const OPENGL: Need = library("libGL.so.1", "draws in the window", linux("libgl1", "libglvnd-glx", "libglvnd"));
const WAYLAND_CLIENT: Need =
    library("libwayland-client.so.0", "opens the window", linux("libwayland-client0", "libwayland-client", "wayland"));
const WAYLAND_EGL: Need = library("libwayland-egl.so.1", "draws in the window", linux("libwayland-egl1", "libwayland-egl", "wayland"));

const OPENGL_DRIVER: Need = Need {
    name: "an OpenGL driver",
    why: "draws in the window, without a graphics card too",
    probe: Probe::OpenGlDriver,
    packages: linux("libgl1-mesa-dri", "mesa-dri-drivers", "mesa"),
    otherwise: "Install Mesa with your system's package manager.",
};

const GLSLC: Need = Need {
    name: "glslc",
    why: "compiles the engine's programs for graphics cards",
    probe: program(&["glslc"]),
    packages: linux("glslc", "glslc", "shaderc"),
    otherwise: "Install the Vulkan SDK.",
};

const VULKAN: Need = library("libvulkan.so", "finds Vulkan devices", linux("libvulkan-dev", "vulkan-loader-devel", "vulkan-icd-loader"));

const VULKAN_DRIVER: Need = Need {
    name: "Mesa's Vulkan driver in software",
    why: "is a Vulkan device without a graphics card",
    probe: Probe::VulkanDriver,
    packages: linux("mesa-vulkan-drivers", "mesa-vulkan-drivers", "vulkan-swrast"),
    otherwise: "Install Mesa's Vulkan drivers with your system's package manager.",
};

const XVFB: Need = Need {
    name: "Xvfb",
    why: "gives the tests a screen of their own",
    probe: program(&["Xvfb"]),
    packages: linux("xvfb", "xorg-x11-server-Xvfb", "xorg-server-xvfb"),
    otherwise: "Install Xvfb with your system's package manager.",
};

const XDOTOOL: Need = Need {
    name: "xdotool",
    why: "types and clicks in the tests' window",
    probe: program(&["xdotool"]),
    packages: linux("xdotool", "xdotool", "xdotool"),
    otherwise: "Install xdotool with your system's package manager.",
};

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX: Surroundings = Surroundings { os: Os::Linux, wayland: false, ninja: false };

    fn names(purpose: Purpose, around: Surroundings) -> Vec<&'static str> {
        needs(purpose, around).iter().map(|need| need.name).collect()
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
        assert!(names(Purpose::Run, Surroundings { wayland: true, ..LINUX }).contains(&"libwayland-client.so.0"));
    }

    #[test]
    fn macos_and_windows_bring_their_own_window_libraries() {
        for os in [Os::Macos, Os::Windows] {
            let needed = names(Purpose::Test, Surroundings { os, ..LINUX });
            assert!(needed.contains(&"libclang"));
            assert!(!needed.iter().any(|name| name.contains(".so") || *name == "Xvfb"), "{needed:?}");
        }
        assert!(names(Purpose::Build, Surroundings { os: Os::Windows, ..LINUX }).contains(&"ninja"));
    }

    #[test]
    fn every_linux_package_manager_brings_everything_that_linux_needs() {
        let test = needs(Purpose::Test, Surroundings { wayland: true, ..LINUX });
        for need in test.into_iter().chain(needs(Purpose::TestVulkan, LINUX)) {
            let Packages { apt, dnf, pacman, .. } = need.packages;
            assert!(![apt, dnf, pacman].contains(&""), "{}", need.name);
        }
    }
}
