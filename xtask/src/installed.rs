//! Search for requirements, in the folders where the programs that use them will search.
//!
//! The searches take their folders as arguments; only [`Installed::inspect`] reads them from the
//! system.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::requirements::{Os, Probe, Requirement};

/// Folders and libraries of this system.
pub(crate) struct Installed {
    os: Os,
    /// `PATH`.
    program_folders: Vec<PathBuf>,
    /// File names that the dynamic linker knows.
    linker_cache: BTreeSet<String>,
    /// Folders with libraries, the linker's own and `LD_LIBRARY_PATH`.
    library_folders: Vec<PathBuf>,
    /// Folders that clang-sys searches for libclang.
    libclang_folders: Vec<PathBuf>,
}

impl Installed {
    /// Reads the system. Called again after an installation.
    pub(crate) fn inspect(os: Os) -> Self {
        let listed = |variable: &str| env::var_os(variable).map(|list| env::split_paths(&list).collect::<Vec<_>>()).unwrap_or_default();
        let mut library_folders = listed("LD_LIBRARY_PATH");
        for root in ["/lib", "/usr/lib", "/usr/lib64", "/usr/local/lib"] {
            library_folders.push(root.into());
            library_folders.extend(subfolders(Path::new(root)));
        }
        let libclang_folders = env::var_os("LIBCLANG_PATH").map_or_else(
            || {
                let mut folders = llvm_config_folders();
                folders.extend(listed("LD_LIBRARY_PATH"));
                folders.extend(listed("LIBRARY_PATH"));
                folders.extend(usual_libclang_folders(os));
                folders
            },
            |named| {
                let named = PathBuf::from(named);
                vec![if named.is_file() { named.parent().map(Path::to_owned).unwrap_or_default() } else { named }]
            },
        );
        Self { os, program_folders: listed("PATH"), linker_cache: linker_cache(), library_folders, libclang_folders }
    }

    /// Requirements that are not installed.
    pub(crate) fn missing(&self, requirements: &[Requirement]) -> Vec<Requirement> {
        requirements.iter().filter(|it| !self.has(it.probe)).copied().collect()
    }

    /// True where a program can be started by this name.
    pub(crate) fn has_program(&self, name: &str) -> bool {
        let name = Path::new(name);
        if name.components().count() > 1 {
            return name.is_file();
        }
        let suffixed = name.with_extension("exe");
        self.program_folders
            .iter()
            .any(|folder| folder.join(name).is_file() || (self.os == Os::Windows && folder.join(&suffixed).is_file()))
    }

    fn has(&self, probe: Probe) -> bool {
        match probe {
            Probe::Program { names, variable } => match variable.and_then(env::var_os) {
                // Such a variable may hold arguments after the program: `ccache g++`.
                Some(named) => named.to_string_lossy().split_whitespace().next().is_some_and(|name| self.has_program(name)),
                None => names.iter().any(|name| self.has_program(name)),
            },
            Probe::Libclang => self.libclang_folders.iter().any(|folder| holds_libclang(folder)) && self.has_compiler_headers(),
            Probe::Library(name) => self.linker_cache.contains(name) || self.library_folders.iter().any(|it| it.join(name).exists()),
            Probe::OpenGlDriver => self.has_opengl_driver(),
            Probe::VulkanDriver => software_vulkan_driver().is_some(),
        }
    }

    /// libclang without its `stddef.h` finds no C header at all; distributions pack the two apart.
    fn has_compiler_headers(&self) -> bool {
        if self.os != Os::Linux || self.has_program("clang") {
            return true;
        }
        self.libclang_folders.iter().any(|folder| {
            let beside = folder.join("clang");
            subfolders(&beside).iter().any(|version| version.join("include/stddef.h").is_file())
        })
    }

    fn has_opengl_driver(&self) -> bool {
        let nvidia = ["libGLX_nvidia.so.0", "libEGL_nvidia.so.0"];
        nvidia.iter().any(|name| self.linker_cache.contains(*name))
            || self.library_folders.iter().any(|folder| files(&folder.join("dri")).any(|name| name.ends_with("_dri.so")))
    }
}

/// The file by which Vulkan's loader finds Mesa's driver that computes on the processor.
pub(crate) fn software_vulkan_driver() -> Option<PathBuf> {
    ["/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d"].map(Path::new).into_iter().find_map(|folder| {
        let name = files(folder).find(|name| is_software_vulkan_driver(name))?;
        Some(folder.join(name))
    })
}

fn is_software_vulkan_driver(name: &str) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    parts.first() == Some(&"lvp_icd") && parts.last() == Some(&"json")
}

/// The file names in `ldconfig -p`; empty on systems without it.
fn linker_cache() -> BTreeSet<String> {
    // Debian keeps it outside the PATH of ordinary users.
    for program in ["ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"] {
        if let Ok(output) = Command::new(program).arg("-p").output()
            && output.status.success()
        {
            return parse_linker_cache(&String::from_utf8_lossy(&output.stdout));
        }
    }
    BTreeSet::new()
}

fn parse_linker_cache(text: &str) -> BTreeSet<String> {
    text.lines().filter(|line| line.contains("=>")).filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

fn llvm_config_folders() -> Vec<PathBuf> {
    let program = env::var_os("LLVM_CONFIG_PATH").unwrap_or_else(|| "llvm-config".into());
    let Ok(output) = Command::new(program).arg("--prefix").output() else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout);
    let Some(prefix) = text.lines().next().filter(|_| output.status.success()) else { return Vec::new() };
    ["bin", "lib", "lib64"].map(|name| Path::new(prefix).join(name)).into()
}

fn usual_libclang_folders(os: Os) -> Vec<PathBuf> {
    match os {
        Os::Linux => libclang_folders_under(Path::new("/")),
        Os::Macos => {
            let mut folders = vec![
                PathBuf::from("/Library/Developer/CommandLineTools/usr/lib"),
                PathBuf::from("/Applications/Xcode.app/Contents/Developer/Toolchains/XcodeDefault.xctoolchain/usr/lib"),
            ];
            for root in ["/usr/local/opt", "/opt/homebrew/opt"] {
                let llvm = subfolders(Path::new(root)).into_iter().filter(|it| has_name_prefix(it, "llvm"));
                folders.extend(llvm.map(|it| it.join("lib")));
            }
            folders
        }
        Os::Windows => ["C:\\Program Files\\LLVM\\bin", "C:\\LLVM\\bin"].map(PathBuf::from).into(),
    }
}

/// The folders that clang-sys looks into: `/usr/lib*` and `/usr/local/lib*` two levels deep, and
/// `/usr/local/llvm*/lib*`.
fn libclang_folders_under(root: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for base in [root.join("usr"), root.join("usr/local")] {
        for lib in subfolders(&base).into_iter().filter(|it| has_name_prefix(it, "lib")) {
            for inner in subfolders(&lib) {
                folders.extend(subfolders(&inner));
                folders.push(inner);
            }
            folders.push(lib);
        }
        for llvm in subfolders(&base).into_iter().filter(|it| has_name_prefix(it, "llvm")) {
            folders.extend(subfolders(&llvm).into_iter().filter(|it| has_name_prefix(it, "lib")));
        }
    }
    folders
}

fn holds_libclang(folder: &Path) -> bool {
    files(folder).any(|name| is_libclang(&name))
}

/// True for a name that clang-sys loads at run time.
fn is_libclang(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("libclang") else { return name == "clang.dll" };
    if name.contains("-cpp.") {
        return false;
    }
    match rest.strip_prefix('-') {
        Some(versioned) => versioned.split('.').any(|part| part == "so"),
        None => rest == ".so" || rest.starts_with(".so.") || rest == ".dylib" || rest == ".dll",
    }
}

fn has_name_prefix(path: &Path, prefix: &str) -> bool {
    path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(prefix))
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// Names of the files in a folder, links that lead somewhere included.
fn files(folder: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().is_file()).filter_map(|entry| entry.file_name().into_string().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirements::{Environment, Purpose, requirements};

    fn touch(path: PathBuf) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    fn installed(root: &Path) -> Installed {
        Installed {
            os: Os::Linux,
            program_folders: vec![root.join("bin")],
            linker_cache: parse_linker_cache(
                "2 libs found in cache\n\tlibX11.so.6 (libc6,x86-64) => /lib/libX11.so.6\n\tlibXi.so.6 (libc6) => /lib/libXi.so.6\n",
            ),
            library_folders: vec![root.join("lib")],
            libclang_folders: libclang_folders_under(root),
        }
    }

    #[test]
    fn libclang_is_known_by_the_names_that_are_loaded_and_no_others() {
        for name in ["libclang.so", "libclang-14.so", "libclang.so.1", "libclang-14.so.14.0.6", "libclang.dylib", "libclang.dll"] {
            assert!(is_libclang(name), "{name}");
        }
        for name in ["libclang-cpp.so.14", "libclang.a", "libclangAST.a", "libclang", "libclang_rt.builtins.a", "libc.so"] {
            assert!(!is_libclang(name), "{name}");
        }
    }

    #[test]
    fn libclang_counts_only_together_with_the_compilers_headers() {
        let root = tempfile::tempdir().unwrap();
        assert!(!installed(root.path()).has(Probe::Libclang));
        touch(root.path().join("usr/lib/llvm-14/lib/libclang.so.1"));
        assert!(!installed(root.path()).has(Probe::Libclang));
        touch(root.path().join("usr/lib/llvm-14/lib/clang/14.0.6/include/stddef.h"));
        assert!(installed(root.path()).has(Probe::Libclang));
    }

    #[test]
    fn a_library_is_found_by_the_linkers_cache_or_as_a_file() {
        let root = tempfile::tempdir().unwrap();
        touch(root.path().join("lib/libEGL.so.1"));
        let installed = installed(root.path());
        assert!(installed.has(Probe::Library("libX11.so.6")));
        assert!(installed.has(Probe::Library("libEGL.so.1")));
        assert!(!installed.has(Probe::Library("libXcursor.so.1")));
    }

    #[test]
    fn a_driver_is_a_file_among_mesas() {
        let root = tempfile::tempdir().unwrap();
        assert!(!installed(root.path()).has(Probe::OpenGlDriver));
        touch(root.path().join("lib/dri/swrast_dri.so"));
        assert!(installed(root.path()).has(Probe::OpenGlDriver));
    }

    #[test]
    fn mesas_software_driver_is_known_from_its_other_drivers() {
        assert!(is_software_vulkan_driver("lvp_icd.x86_64.json") && is_software_vulkan_driver("lvp_icd.json"));
        for name in ["radeon_icd.x86_64.json", "lvp_icd.x86_64.json.bak", "lvp_icd"] {
            assert!(!is_software_vulkan_driver(name), "{name}");
        }
    }

    #[test]
    fn what_is_missing_keeps_its_order_and_what_is_there_is_left_out() {
        let root = tempfile::tempdir().unwrap();
        touch(root.path().join("bin/cmake"));
        let all = requirements(Purpose::Test, Environment { os: Os::Linux, wayland: false, ninja: false });
        let missing: Vec<_> = installed(root.path()).missing(&all).iter().map(|it| it.name).collect();
        assert!(!missing.contains(&"cmake") && !missing.contains(&"libX11.so.6"));
        assert_eq!((missing.first(), missing.last()), (Some(&"a C++ compiler"), Some(&"xdotool")));
    }
}
