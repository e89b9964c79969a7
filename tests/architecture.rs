//! The boundaries between the parts of Atelier, held as a test over the source text.
//!
//! Each rule says which files it speaks of, what these must not name, and why; and each is itself
//! tested, on a line that breaks it and one that does not. To change a boundary, change its rule
//! here and ARCHITECTURE.md with it.

#[path = "support/imports.rs"]
mod imports;
#[path = "support/rust_files.rs"]
mod rust_files;
#[path = "support/source.rs"]
mod source;

use std::fs;
use std::path::Path;

use imports::{File, Imports};
use rust_files::rust_files;
use source::{Place, PlaceKind, Source, is_inside};

struct Rule {
    /// The boundary, as a sentence.
    says: &'static str,
    /// The files it speaks of: path prefixes, with `/` between folders.
    within: &'static [&'static str],
    /// Those among them that are free of it.
    except: &'static [&'static str],
    forbids: Forbidden,
    /// A line that breaks it, for the rule's own test.
    bad: &'static str,
    /// A line that looks like it and does not.
    good: &'static str,
}

/// Names or calls that a rule forbids.
enum Forbidden {
    /// Paths, and everything inside them.
    Paths(&'static [&'static str]),
    Word(&'static str),
    /// Calls of these methods.
    Methods(&'static [&'static str]),
    /// A colour written out in numbers or by name.
    ColourLiterals,
    /// A size of text written out in numbers.
    TextSizes,
    /// What waits for a disk, a server or a dialog, beside the closures that are handed to other
    /// threads.
    Blocking,
}

/// Modules of the system of which nothing may be called by a thread that must not wait.
const BLOCKING_SYSTEM: &[&str] = &["std::fs", "std::net", "std::process", "std::thread", "tempfile", "opener", "rfd"];

/// Our modules whose functions block. Types, constants and what types can do are for everyone.
const BLOCKING: &[&str] = &[
    "atelier_core::owner_only",
    "atelier_core::paths",
    "atelier_library",
    "atelier_media",
    "atelier_media::canvas_file",
    "atelier_peers",
    "atelier_studio::canvas_backups",
    "atelier_studio::installed",
    "atelier_studio::model_copy",
    "atelier_studio::opened_picture",
    "atelier_studio::picture_index",
    "atelier_studio::preloading",
    "atelier_studio::styles",
    "atelier_studio::results",
    "atelier_studio::vision",
    "crate::gui::canvas::work",
    "crate::gui::create::work",
    "crate::gui::dialog",
    "crate::gui::files",
    "crate::gui::frame_cost",
    "crate::gui::guides::work",
    "crate::gui::identify",
    "crate::gui::sharing::work",
    "crate::gui::studios::work",
    "crate::settings",
];

/// Functions beside those modules that block.
const BLOCKING_FUNCTIONS: &[&str] = &["atelier_engine::probe", "atelier_engine::read_control"];

/// Functions of those modules that do not.
const PURE: &[&str] = &["atelier_library::builtin_card"];

/// Methods that look at the disk.
const DISK_METHODS: &[&str] = &["exists", "try_exists", "is_file", "is_dir", "metadata", "canonicalize", "read_dir"];

const INTERFACE: &[&str] = &["egui", "eframe", "egui_extras", "winit", "crate::gui"];
const SYSTEM: &[&str] =
    &["std::fs", "std::net", "std::process", "std::env", "std::thread", "tempfile", "tokio", "reqwest", "rusqlite", "rfd"];

/// What is part of the program that a person runs.
const PRINTING: &[&str] = &[
    "src/",
    "crates/core/src/",
    "crates/downloads/src/",
    "crates/engine/src/",
    "crates/gallery/src/",
    "crates/library/src/",
    "crates/media/src/",
    "crates/peers/src/",
    "crates/studio/src/",
    "crates/vision/src/",
];

/// What is worked out of a recipe and of devices, without the system.
const WORKED_OUT: &[&str] = &[
    "crates/core/src/recipe",
    "crates/core/src/grid/",
    "crates/core/src/device",
    "crates/core/src/placement/",
    "crates/core/src/sd_cli/",
    "crates/core/src/words/",
];

const RULES: &[Rule] = &[
    Rule {
        says: "only the wrappers of the engine and the processor's kernels are unsafe",
        within: &["src/", "crates/", "xtask/", "tests/", "benches/", "vendor/", "build.rs"],
        except: &["crates/engine/src/ffi", "crates/kernels/", "vendor/ggml-sys/"],
        forbids: Forbidden::Word("unsafe"),
        bad: "fn f() { unsafe { g() } }",
        good: "// unsafe\n#![deny(unsafe_code)]\nfn f() { g(\"unsafe\") }",
    },
    Rule {
        says: "only the wrappers of the engine and the processor's kernels switch the lint against unsafe code off",
        within: &["src/", "crates/", "xtask/", "tests/", "benches/", "vendor/", "build.rs"],
        except: &[
            "crates/engine/src/ffi",
            "crates/kernels/",
            "vendor/ggml-sys/",
            "crates/engine/src/lib.rs",
            // They forbid it.
            "crates/core/src/lib.rs",
            "crates/downloads/src/lib.rs",
            "crates/library/src/lib.rs",
            "crates/gallery/src/lib.rs",
            "crates/media/src/lib.rs",
            "crates/peers/src/lib.rs",
            "crates/studio/src/lib.rs",
        ],
        forbids: Forbidden::Word("unsafe_code"),
        bad: "#![allow(unsafe_code)]",
        good: "// unsafe_code",
    },
    Rule {
        says: "only the wrappers of the engine call its raw bindings",
        within: &["src/", "crates/", "tests/", "benches/"],
        except: &["crates/engine/src/ffi"],
        forbids: Forbidden::Paths(&["ggml_sys", "diffusion_rs_sys"]),
        bad: "use ggml_sys::sd_ctx_t;",
        good: "use atelier_engine::Handle;",
    },
    Rule {
        says: "only the engine uses its wrappers; everyone else holds a Handle",
        within: &["src/", "crates/", "benches/"],
        except: &["crates/engine/src/"],
        forbids: Forbidden::Paths(&["atelier_engine::ffi"]),
        bad: "use atelier_engine::{ffi, Handle};",
        good: "use atelier_engine::{Event, Handle};",
    },
    Rule {
        says: "panels read the state and ask; files, network, processes and the engine's insides are for others",
        within: &[
            "src/gui/create/view/",
            "src/gui/devices/view/",
            "src/gui/guides/view",
            "src/gui/models/view/",
            "src/gui/axes.rs",
            "src/gui/frame.rs",
            "src/gui/overlays.rs",
            "src/gui/widgets.rs",
            "src/gui/program/view/",
            "src/gui/queue/view/",
            "src/gui/styles/view",
            "src/gui/toolbar.rs",
            "src/gui/memory/view",
            "src/gui/live/view",
            "src/gui/phrases/view",
        ],
        except: &[],
        forbids: Forbidden::Paths(&[
            "std::fs",
            "std::net",
            "std::process",
            "std::env",
            "std::thread",
            "tempfile",
            "tokio",
            "reqwest",
            "rusqlite",
            "rfd",
            "image",
            "ggml_sys",
            "diffusion_rs_sys",
            "atelier_engine::ffi",
            "atelier_media",
            "atelier_library",
            "atelier_core::paths",
            "crate::cli",
        ]),
        bad: "use std::{fs, path::Path};",
        good: "use std::path::Path; use atelier_core::recipe::Recipe; use eframe::egui::Image;",
    },
    Rule {
        says: "panels do not look at the disk through a path either",
        within: &[
            "src/gui/create/view/",
            "src/gui/devices/view/",
            "src/gui/guides/view",
            "src/gui/models/view/",
            "src/gui/axes.rs",
            "src/gui/frame.rs",
            "src/gui/overlays.rs",
            "src/gui/widgets.rs",
            "src/gui/program/view/",
            "src/gui/queue/view/",
            "src/gui/styles/view",
            "src/gui/toolbar.rs",
            "src/gui/memory/view",
            "src/gui/live/view",
            "src/gui/phrases/view",
        ],
        except: &[],
        forbids: Forbidden::Methods(DISK_METHODS),
        bad: "fn f() { if path.exists() {} }",
        good: "fn f() { if state.exists { path.file_name(); } }",
    },
    Rule {
        says: "what waits for a disk, a server or a dialog is called in closures that are handed to a worker, and in files of such work alone",
        within: &["src/gui/"],
        except: &[
            // Called by such closures alone: their functions are among those that block.
            "src/gui/canvas/work.rs",
            "src/gui/create/work.rs",
            "src/gui/guides/work.rs",
            "src/gui/studios/work.rs",
            "src/gui/dialog.rs",
            "src/gui/files.rs",
            "src/gui/frame_cost.rs",
            "src/gui/identify.rs",
            // The threads themselves.
            "src/gui/workers.rs",
            // Pixels are converted, and nothing is read.
            "src/gui/pixels.rs",
            // Before there is a window.
            "src/gui/window.rs",
            "src/gui/tests",
        ],
        forbids: Forbidden::Blocking,
        bad: "use std::fs; fn f() { context.run(Worker::Files, move || path, |path, _, _| fs::read(path)); }",
        good: "use std::fs; fn f() { context.run(Worker::Files, move || fs::read(path), |read, _, _| show(read)); }",
    },
    Rule {
        says: "the board is worked out without drawing, asking the engine or touching the system",
        within: &["src/gui/devices/board/"],
        except: &[],
        forbids: Forbidden::Paths(&[
            "egui",
            "eframe",
            "crate::gui::frame",
            "atelier_engine::Handle",
            "std::fs",
            "std::net",
            "std::process",
            "std::env",
            "std::thread",
        ]),
        bad: "use atelier_engine::{Estimate, Handle};",
        good: "use atelier_engine::{Estimate, Peak};",
    },
    Rule {
        says: "the Models feature's state is plain data: it neither draws, nor speaks to the library service, nor touches the system",
        within: &["src/gui/models/filter.rs", "src/gui/models/fit.rs", "src/gui/models/queue.rs", "src/gui/models/state.rs"],
        except: &[],
        forbids: Forbidden::Paths(&[
            "egui",
            "eframe",
            "crate::gui::context",
            "crate::gui::frame",
            "atelier_studio::library_service::LibraryService",
            "atelier_engine::Handle",
            "std::fs",
            "std::net",
            "std::process",
            "std::env",
            "std::thread",
        ]),
        bad: "use atelier_studio::library_service::{LibraryService, LibrarySnapshot};",
        good: "use atelier_studio::library_service::LibrarySnapshot;",
    },
    Rule {
        says: "which job is next and when it ends are worked out without threads, disk and engine",
        within: &["crates/studio/src/queue/policy", "crates/studio/src/queue/predict.rs"],
        except: &[],
        forbids: Forbidden::Paths(&["atelier_engine::Handle", "atelier_gallery::Database", "std::fs", "std::thread", "std::env"]),
        bad: "use atelier_gallery::Database;",
        good: "use atelier_gallery::queue::QueuedJob;",
    },
    Rule {
        says: "the next recipe is worked out without touching the system and without the engine",
        within: &["crates/studio/src/next_recipe/"],
        except: &[],
        forbids: Forbidden::Paths(&["std::fs", "std::net", "std::process", "std::env", "std::thread", "atelier_engine"]),
        bad: "use std::fs;",
        good: "use std::path::Path;",
    },
    Rule {
        says: "the library service knows no engine",
        within: &["crates/studio/src/library_service/"],
        except: &[],
        forbids: Forbidden::Paths(&["atelier_engine"]),
        bad: "use atelier_engine::Handle;",
        good: "use atelier_library::ModelCard;",
    },
    Rule {
        says: "only the window's own parts know egui, and only they and the program's entry know them",
        within: &["src/", "crates/"],
        except: &["src/gui/", "src/main.rs", "src/lib.rs"],
        forbids: Forbidden::Paths(INTERFACE),
        bad: "use eframe::egui::Color32;",
        good: "// use egui::Color32;\nuse crate::guilication::x;",
    },
    Rule {
        says: "the program's entry opens the window through app and draws nothing",
        within: &["src/main.rs", "src/lib.rs"],
        except: &[],
        forbids: Forbidden::Paths(&["egui", "eframe", "winit", "crate::gui::frame"]),
        bad: "fn main() { eframe::run_native(x); }",
        good: "fn main() { atelier::gui::run(x); }",
    },
    Rule {
        says: "the command line knows no window",
        within: &["src/cli/"],
        except: &[],
        forbids: Forbidden::Paths(&["crate::gui", "crate::settings"]),
        bad: "use crate::gui::App;",
        good: "use atelier_studio::results::Destination;",
    },
    Rule {
        says: "the server is a face like the others: it knows neither window nor command line, and asks nobody elsewhere",
        within: &["src/http/"],
        except: &[],
        forbids: Forbidden::Paths(&[
            "crate::gui",
            "crate::cli",
            "crate::settings",
            "clap",
            "reqwest",
            "rustls",
            "std::process",
            "std::env",
        ]),
        bad: "use crate::cli::Command;",
        good: "use atelier_studio::queue::QueueClient;",
    },
    Rule {
        says: "what the server answers to a request is decided without the system",
        within: &["src/http/guard.rs", "src/http/names.rs", "src/http/recipe.rs"],
        except: &[],
        forbids: Forbidden::Paths(&["std::fs", "std::thread", "tokio", "axum", "hyper"]),
        bad: "use axum::Router;",
        good: "use std::net::IpAddr;",
    },
    Rule {
        says: "the window knows no command line",
        within: &["src/gui/"],
        except: &[],
        forbids: Forbidden::Paths(&["crate::cli", "clap", "indicatif", "ctrlc"]),
        bad: "use crate::cli::Command;",
        good: "use atelier_studio::results;",
    },
    Rule {
        says: "one place asks for later frames, where who waits asks again in each of them",
        within: &["src/gui/"],
        except: &["src/gui/due.rs"],
        forbids: Forbidden::Methods(&["request_repaint_after", "request_repaint_after_secs", "request_repaint_after_for"]),
        bad: "fn f() { ctx.request_repaint_after_secs(1.0); }",
        good: "fn f() { ctx.request_repaint(); due::wake_in(ctx, 1.0); }",
    },
    Rule {
        says: "colours are chosen in the theme",
        within: &["src/"],
        except: &["src/gui/theme"],
        forbids: Forbidden::ColourLiterals,
        bad: "fn f() { let accent = egui::Color32::from_rgb(200, 80, 40); }",
        good: "fn f() { let pixel = Color32::from_rgb(red, green, blue); let none = Color32::TRANSPARENT; }",
    },
    Rule {
        says: "text has one of the sizes of the theme",
        within: &["src/gui/"],
        except: &["src/gui/theme"],
        forbids: Forbidden::TextSizes,
        bad: "fn f() { ui.label(RichText::new(words).size(12.0)); }",
        good: "fn f() { ui.label(RichText::new(words).size(theme::SMALL)); let words = size(bytes); }",
    },
    Rule {
        says: "a recipe, a device, a placement and a pasted command are worked out without touching the system",
        within: WORKED_OUT,
        except: &[],
        forbids: Forbidden::Paths(SYSTEM),
        bad: "fn f() { std::fs::read(path); }",
        good: "use std::path::PathBuf;",
    },
    Rule {
        says: "a recipe, a device, a placement and a pasted command know nobody who uses them",
        within: WORKED_OUT,
        except: &[],
        forbids: Forbidden::Paths(&[
            "atelier_engine",
            "atelier_media",
            "atelier_library",
            "crate::settings",
            "atelier_core::paths",
            "crate::cli",
        ]),
        bad: "use atelier_engine::Event;",
        good: "use atelier_core::recipe::Recipe;",
    },
    Rule {
        says: "pictures and models are kept by those who know neither the engine's insides nor its callers",
        within: &["crates/media/src/", "crates/library/src/", "crates/gallery/src/", "crates/core/src/paths.rs"],
        except: &[],
        forbids: Forbidden::Paths(&["ggml_sys", "diffusion_rs_sys", "atelier_engine::ffi", "crate::cli", "crate::settings"]),
        bad: "use crate::cli::Args;",
        good: "use atelier_engine::PictureInfo;",
    },
    Rule {
        says: "only the downloads speak to servers of models, only the peers to other studios, and only the server to its clients",
        within: &["src/", "crates/"],
        except: &["crates/downloads/src/", "crates/peers/src/", "src/http/"],
        forbids: Forbidden::Paths(&["tokio", "reqwest", "rustls"]),
        bad: "use tokio::sync::mpsc;",
        good: "use atelier_downloads::Downloads;",
    },
    Rule {
        says: "only the peers announce and search in the network",
        within: &["src/", "crates/"],
        except: &["crates/peers/src/"],
        forbids: Forbidden::Paths(&["mdns_sd"]),
        bad: "use mdns_sd::ServiceDaemon;",
        good: "use atelier_peers::Browser;",
    },
    Rule {
        says: "archives are unpacked in two places, each with its limits: downloads, and files of canvases",
        within: &["src/", "crates/"],
        except: &["crates/downloads/src/", "crates/media/src/canvas_file/"],
        forbids: Forbidden::Paths(&["zip"]),
        bad: "use zip::ZipArchive;",
        good: "use atelier_media::canvas_file::read_canvas;",
    },
    Rule {
        says: "only the gallery speaks to its database",
        within: &["src/", "crates/"],
        except: &["crates/gallery/src/"],
        forbids: Forbidden::Paths(&["rusqlite"]),
        bad: "use rusqlite::Connection;",
        good: "use atelier_gallery::Database;",
    },
    Rule {
        says: "the downloads do not know what a model is",
        within: &["crates/downloads/src/"],
        except: &[],
        forbids: Forbidden::Paths(&["atelier_core::recipe", "atelier_core::placement"]),
        bad: "use atelier_core::recipe::FileRole;",
        good: "use atelier_core::advice::Advice;",
    },
    Rule {
        says: "a person's folders are only read: what is on the disk is looked at by those who cannot change it",
        within: &["crates/library/src/disk/", "crates/gallery/src/scan/"],
        except: &[
            "crates/gallery/src/scan/tests.rs",
            "crates/library/src/disk/cache/tests.rs",
            "crates/library/src/disk/facts/tests.rs",
            "crates/library/src/disk/layout/tests.rs",
            "crates/library/src/disk/scanner/tests.rs",
            "crates/library/src/disk/walk/tests.rs",
            "crates/library/src/disk/watch/tests.rs",
            "crates/library/src/disk/wildcards/tests.rs",
        ],
        forbids: Forbidden::Paths(&[
            // Called by the module's name, or brought in by their own.
            "fs::write",
            "std::fs::write",
            "fs::rename",
            "std::fs::rename",
            "fs::copy",
            "std::fs::copy",
            "fs::hard_link",
            "std::fs::hard_link",
            "fs::remove_file",
            "std::fs::remove_file",
            "fs::remove_dir",
            "std::fs::remove_dir",
            "fs::remove_dir_all",
            "std::fs::remove_dir_all",
            "fs::set_permissions",
            "std::fs::set_permissions",
            "fs::create_dir",
            "std::fs::create_dir",
            "fs::create_dir_all",
            "std::fs::create_dir_all",
            "File::create",
            "File::create_new",
            "File::options",
            "std::fs::OpenOptions",
            "tempfile",
            "trash",
        ]),
        bad: "use std::fs; fn f() { fs::remove_file(path); }",
        good: "use std::fs::{self, File}; fn f() { fs::read_dir(path); File::open(path); }",
    },
    Rule {
        says: "standard output and standard error are written to through the filter of strangers' text alone",
        within: PRINTING,
        except: &["crates/studio/src/terminal.rs"],
        forbids: Forbidden::Paths(&[
            // Called by the module's name, or brought in by their own.
            "io::stderr",
            "std::io::stderr",
            "io::stdout",
            "std::io::stdout",
        ]),
        bad: "use std::io; fn f() { io::stderr().write_all(words); }",
        good: "use atelier_studio::terminal; fn f() { terminal::stderr().write_all(words); }",
    },
    Rule {
        says: "standard error is written to through the filter of strangers' text, also in passing",
        within: PRINTING,
        except: &["crates/engine/src/remote/confinement/tests.rs", "src/gui/tests/saving.rs"],
        forbids: Forbidden::Word("eprintln"),
        bad: "fn f() { eprintln!(\"{error}\"); }",
        good: "fn f() { writeln!(terminal::stderr(), \"{error}\"); }",
    },
    Rule {
        says: "standard output is written to through the filter of strangers' text, also in passing",
        within: PRINTING,
        // Tests print what they measured or skipped.
        except: &[
            "crates/core/src/reading/tests.rs",
            "crates/engine/src/remote/confinement/tests.rs",
            "crates/media/src/inspect/tests.rs",
            "crates/studio/src/queue/policy/tests.rs",
            "src/gui/tests/create.rs",
            "src/gui/theme/tests.rs",
        ],
        forbids: Forbidden::Word("println"),
        bad: "fn f() { println!(\"{path}\"); }",
        good: "fn f() { writeln!(out, \"{path}\"); }",
    },
    Rule {
        says: "the engine does not know who asks",
        within: &["crates/engine/src/"],
        except: &[],
        forbids: Forbidden::Paths(&["crate::cli", "crate::settings", "clap", "indicatif", "ctrlc", "rfd"]),
        bad: "use crate::settings::Settings;",
        good: "use atelier_core::recipe::Recipe;",
    },
    Rule {
        says: "an estimate opens no model that holds anything",
        within: &["crates/engine/src/estimate/"],
        except: &[],
        forbids: Forbidden::Paths(&["atelier_engine::ffi::Context", "atelier_engine::ffi::Upscaler", "atelier_engine::cache::Cache"]),
        bad: "use atelier_engine::{cache::Cache, ffi::Context};",
        good: "use atelier_engine::{cache::stamps, ffi::Estimator};",
    },
    Rule {
        says: "sentences for people come from typed errors below the entry; anyhow is for the entry and the command line",
        within: &["src/", "crates/"],
        except: &["src/main.rs", "src/cli/"],
        forbids: Forbidden::Paths(&["anyhow"]),
        bad: "fn f() -> anyhow::Result<()> {}",
        good: "fn f() -> Result<(), PictureError> {}",
    },
];

impl Rule {
    fn speaks_of(&self, file: &str) -> bool {
        let among = |list: &[&str]| list.iter().any(|prefix| file.starts_with(prefix));
        among(self.within) && !among(self.except)
    }

    /// The lines that break the rule, with what they name.
    fn broken_by(&self, source: &Source) -> Vec<(usize, String)> {
        match self.forbids {
            Forbidden::Paths(paths) => {
                let forbidden = |path: &str| paths.iter().any(|prefix| is_inside(path, prefix));
                source.paths.iter().filter(|it| forbidden(&it.path)).map(|it| (it.line, it.path.clone())).collect()
            }
            Forbidden::Word(word) => source.tokens.iter().filter(|it| it.text == word).map(|it| (it.line, it.text.clone())).collect(),
            Forbidden::Methods(methods) => calls_of(methods, source),
            Forbidden::Blocking => blocking(source.beside_work()),
            Forbidden::ColourLiterals => colour_literals(source),
            Forbidden::TextSizes => {
                let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
                let sizes = source.tokens.windows(3).filter(|it| {
                    ["size", "proportional", "monospace"].contains(&it[0].text.as_str()) && it[1].text == "(" && number(&it[2].text)
                });
                sizes.map(|it| (it[0].line, format!("{}({}", it[0].text, it[2].text))).collect()
            }
        }
    }
}

fn calls_of(methods: &[&str], source: &Source) -> Vec<(usize, String)> {
    let calls = source.tokens.windows(3).filter(|it| it[0].text == "." && it[2].text == "(");
    calls.filter(|it| methods.contains(&it[1].text.as_str())).map(|it| (it[1].line, format!(".{}()", it[1].text))).collect()
}

/// What waits for a disk, a server or a dialog.
fn blocking(source: &Source) -> Vec<(usize, String)> {
    let is_function = |name: &str| name.starts_with(|c: char| c.is_lowercase());
    let blocks = |path: &str| {
        let (module, name) = path.rsplit_once("::").unwrap_or(("", path));
        let of_system = BLOCKING_SYSTEM.iter().any(|system| is_inside(module, system));
        let is_ours = BLOCKING.contains(&module) && !PURE.contains(&path) && !BLOCKING.contains(&path);
        (is_function(name) && (of_system || is_ours)) || BLOCKING_FUNCTIONS.contains(&path)
    };
    let all_of = |place: &Place| {
        let is_glob = matches!(&place.kind, PlaceKind::Import(name) | PlaceKind::Export(name) if name == "*");
        is_glob && (BLOCKING.contains(&place.path.as_str()) || BLOCKING_SYSTEM.iter().any(|system| is_inside(&place.path, system)))
    };
    let places = source.paths.iter().map(|place| (place, source.spell_out(place)));
    let named = places.filter(|(place, path)| blocks(path) || all_of(place)).map(|(place, path)| (place.line, path));
    named.chain(calls_of(DISK_METHODS, source)).collect()
}

fn colour_literals(source: &Source) -> Vec<(usize, String)> {
    let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let mut found = Vec::new();
    for at in source.tokens.windows(5) {
        let [kind, colons, name, open, argument] = at else { continue };
        let written_out = name.text.starts_with("from_") && open.text == "(" && number(&argument.text);
        // Nothing, a colour yet to come, and the tint that leaves a picture as it is are no choice
        // of colour.
        let neutral = ["TRANSPARENT", "PLACEHOLDER", "WHITE"].contains(&name.text.as_str());
        let named = !name.text.contains(|c: char| c.is_lowercase()) && !neutral;
        if ["Color32", "Rgba", "Hsva"].contains(&kind.text.as_str()) && colons.text == "::" && (written_out || named) {
            found.push((kind.line, format!("{}::{}", kind.text, name.text)));
        }
    }
    let macros = source.tokens.windows(2).filter(|it| it[0].text == "hex_color" && it[1].text == "!");
    found.extend(macros.map(|it| (it[0].line, "hex_color!".to_owned())));
    found
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file that is ours, relative to the root, with `/` between folders.
fn our_files() -> Vec<String> {
    let mut files = rust_files(["src", "crates", "xtask", "tests", "benches", "vendor"].map(|name| root().join(name)));
    files.push(root().join("build.rs"));
    files.retain(|path| path.is_file());
    let mut names: Vec<String> =
        files.iter().filter_map(|path| path.strip_prefix(root()).ok()).map(|path| path.to_string_lossy().replace('\\', "/")).collect();
    names.sort();
    names
}

/// `crates/engine/src/ffi/mod.rs` is `atelier_engine::ffi`, `src/cli/mod.rs` is `crate::cli`.
fn module_of(file: &str) -> String {
    let (root, inner) = match file.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/")) {
        Some((name, inner)) => (format!("atelier_{name}"), inner),
        None if file.starts_with("xtask/src/") => ("xtask".to_owned(), file.trim_start_matches("xtask/src/")),
        None => ("crate".to_owned(), file.trim_start_matches("src/")),
    };
    let inner = inner.trim_end_matches(".rs").trim_end_matches("/mod");
    let parts = inner.split('/').filter(|part| !["lib", "main", "mod"].contains(part));
    [root.as_str()].into_iter().chain(parts).collect::<Vec<_>>().join("::")
}

#[test]
fn every_boundary_holds() {
    let files = our_files();
    assert!(files.len() > 20, "only {} files were found; the walk is broken", files.len());
    let mut broken = Vec::new();
    for file in &files {
        let text = fs::read_to_string(root().join(file)).unwrap();
        let source = Source::read(&module_of(file), &text);
        for rule in RULES.iter().filter(|rule| rule.speaks_of(file)) {
            broken.extend(rule.broken_by(&source).into_iter().map(|(line, what)| format!("{file}:{line}: {what}: {}", rule.says)));
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn files_import_each_other_in_no_circle() {
    let is_ours = |name: &String| ["src/", "crates/", "xtask/"].iter().any(|folder| name.starts_with(folder));
    let is_test = |name: &String| name.ends_with("/tests.rs") || name.contains("/tests/");
    let files: Vec<File> = our_files()
        .into_iter()
        .filter(|name| is_ours(name) && !is_test(name) && name != "src/main.rs")
        .map(|name| {
            let module = module_of(&name);
            let source = Source::read(&module, &fs::read_to_string(root().join(&name)).unwrap());
            File { name, module, source }
        })
        .collect();
    let circles: Vec<String> = Imports::new(&files).circles().iter().map(|circle| circle.join(", ")).collect();
    assert!(circles.is_empty(), "files that import each other:\n{}", circles.join("\n"));
}

/// A second version of one of them is half a minute of a cold build or more, on two cores
/// (`cargo tree --duplicates` names who brings it).
#[test]
fn large_dependencies_are_compiled_once() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    for name in ["axum", "egui", "image", "libsqlite3-sys", "reqwest", "rten", "rustls", "tokio", "vello_cpu", "winit", "zbus", "zvariant"]
    {
        assert_eq!(lock.lines().filter(|line| *line == format!("name = \"{name}\"")).count(), 1, "{name}");
    }
}

#[test]
fn every_rule_sees_what_breaks_it_and_leaves_alone_what_does_not() {
    for rule in RULES {
        let found = |text: &str| rule.broken_by(&Source::read("crate::somewhere", text));
        assert!(!found(rule.bad).is_empty(), "{:?} does not break: {}", rule.bad, rule.says);
        assert!(found(rule.good).is_empty(), "{:?} breaks: {}: {:?}", rule.good, rule.says, found(rule.good));
    }
}

#[test]
fn every_rule_speaks_of_files_that_are_there() {
    let files = our_files();
    for rule in RULES {
        assert!(files.iter().any(|file| rule.speaks_of(file)), "no file is left for: {}", rule.says);
    }
}

#[test]
fn a_rule_speaks_of_its_folder_and_not_of_what_it_excepts() {
    let first = &RULES[0];
    assert!(first.speaks_of("src/gui/canvas.rs") && first.speaks_of("crates/engine/src/cache.rs"));
    assert!(!first.speaks_of("crates/engine/src/ffi/context.rs") && !first.speaks_of("vendor/ggml-sys/src/lib.rs"));
}

#[test]
fn colours_by_name_by_number_and_by_code_are_all_literals() {
    let count = |text: &str| colour_literals(&Source::read("crate::gui::frame", &format!("fn f() {{ {text} }}"))).len();
    for bad in
        ["Color32::RED;;", "Color32::from_gray(20)", "Rgba::from_rgb(1.0, 0.0, 0.0)", "hex_color!(\"#ff0000\")", "egui::Color32::BLACK; ;"]
    {
        assert_eq!(count(bad), 1, "{bad}");
    }
    for good in [
        "Color32::from_gray(level)",
        "ColorImage::from_rgb([1, 1], &x)",
        "Color32::WHITE; Color32::PLACEHOLDER;;",
        "theme.accent.gamma_multiply(0.5)",
    ] {
        assert_eq!(count(good), 0, "{good}");
    }
}

#[test]
fn what_blocks_is_seen_however_it_is_called() {
    let found = |text: &str| blocking(Source::read("crate::gui::x", text).beside_work()).len();
    for bad in [
        "use std::fs::read; fn f() {}",
        "use std::fs::*; fn f() {}",
        "fn f() { std::fs::File::open(path) }",
        "use std::fs::File; fn f() { File::open(path) }",
        "use crate::gui::create::work; fn f() { work::missing(paths) }",
        "use crate::gui::create::work::missing; fn f() {}",
        "use crate::gui::files as disk; fn f() { disk::read_picture(path) }",
        "fn f() { let read = |path| atelier_media::read_image(path); }",
        "fn f() { thread.run(Worker::Files, move || path, |path, _, _| path.is_file()) }",
        "fn f() { atelier_engine::probe(host, port) }",
    ] {
        assert_eq!(found(bad), 1, "{bad}");
    }
    for good in [
        "use std::fs::File; use crate::gui::create::work::{self, Opened}; fn f() {}",
        "use atelier_media::canvas_file::CANVAS_ENDING; fn f() { atelier_library::builtin_card(builtin) }",
        "use crate::gui::create::work; fn f() { context.run(Worker::Files, move || work::missing(paths), |_, _, _| {}) }",
        "fn f() { context.run_alone(\"probe\", move || atelier_engine::probe(host, port), |_, _, _| {}) }",
    ] {
        assert_eq!(found(good), 0, "{good}");
    }
}

/// Crates that each crate without a face must not depend on, straight or through another crate of
/// the workspace.
const FORBIDDEN_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("language", &["eframe", "egui", "ggml-sys", "diffusion-rs-sys", "reqwest", "tokio", "rustls", "image", "atelier-"]),
    (
        "core",
        &[
            "eframe",
            "egui",
            "ggml-sys",
            "diffusion-rs-sys",
            "reqwest",
            "tokio",
            "rustls",
            "image",
            "atelier-downloads",
            "atelier-engine",
            "atelier-gallery",
            "atelier-kernels",
            "atelier-library",
            "atelier-media",
            "atelier-studio",
            "atelier-vision",
        ],
    ),
    ("media", &["eframe", "egui", "ggml-sys", "diffusion-rs-sys", "reqwest", "tokio", "rustls", "atelier-library", "atelier-engine"]),
    (
        "gallery",
        &["eframe", "egui", "ggml-sys", "diffusion-rs-sys", "reqwest", "tokio", "rustls", "image", "atelier-library", "atelier-engine"],
    ),
    ("downloads", &["eframe", "egui", "ggml-sys", "diffusion-rs-sys", "image", "atelier-library", "atelier-media", "atelier-engine"]),
    ("library", &["eframe", "egui", "ggml-sys", "diffusion-rs-sys", "reqwest", "tokio", "rustls", "atelier-media", "atelier-engine"]),
    (
        "peers",
        &[
            "eframe",
            "egui",
            "clap",
            "ggml-sys",
            "diffusion-rs-sys",
            "atelier-downloads",
            "atelier-engine",
            "atelier-gallery",
            "atelier-library",
            "atelier-studio",
        ],
    ),
    ("engine", &["eframe", "egui", "clap", "reqwest", "rfd"]),
    ("studio", &["eframe", "egui", "winit", "rfd", "clap", "indicatif", "ggml-sys", "diffusion-rs-sys", "reqwest", "tokio", "rusqlite"]),
];

/// Names in the dependency tables of a manifest, those of tests and builds left out.
fn dependencies(manifest: &str) -> Vec<&str> {
    let mut is_table = false;
    let mut names = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(table) = line.strip_prefix('[') {
            is_table = table.trim_end_matches(']').rsplit('.').next() == Some("dependencies");
        } else if is_table && !line.starts_with('#') {
            names.extend(line.split(['.', '=', ' ']).next().filter(|name| !name.is_empty()));
        }
    }
    names
}

#[test]
fn crates_without_a_face_depend_on_no_crate_above_them() {
    for (name, forbidden) in FORBIDDEN_DEPENDENCIES {
        let manifest = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
        let found = dependencies(&manifest);
        assert!(!found.is_empty(), "the dependencies of {name} were not read");
        for dependency in found {
            assert!(!forbidden.iter().any(|it| dependency.starts_with(it)), "crates/{name} must not depend on {dependency}");
        }
    }
}

#[test]
fn dependencies_are_read_from_their_tables_alone() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\n# No.\na.workspace = true\nb = \"1\"\n\n[target.'cfg(unix)'.dependencies]\nc = { version = \"1\" }\n[dev-dependencies]\nd = \"1\"\n";
    assert_eq!(dependencies(manifest), ["a", "b", "c"]);
}

#[test]
fn files_are_known_by_their_module() {
    assert_eq!(module_of("crates/engine/src/ffi/mod.rs"), "atelier_engine::ffi");
    assert_eq!(module_of("crates/core/src/paths.rs"), "atelier_core::paths");
    assert_eq!(module_of("src/lib.rs"), "crate");
}
