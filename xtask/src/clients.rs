//! `cargo xtask test --clients`: programs that others wrote against a real server, and its page in a
//! browser as large as a phone. It needs Python, Node, Chromium and the network, so no other test runs
//! it.

use std::path::PathBuf;
use std::process::Command;

use crate::cargo::{cargo, finish, root, target_folder};
use crate::failure::Failure;
use crate::install::ensure_installed;
use crate::options::Options;
use crate::requirements::{Os, Purpose};

/// What is installed into an environment of its own, in the versions that were tried.
const PACKAGES: [&str; 4] = ["webuiapi==0.9.17", "openai==3.57.0", "mcp==2.3.0", "pillow"];
const NODE_PACKAGES: [&str; 7] = [
    "ai@6.0.326",
    "@ai-sdk/openai@3.0.141",
    "@ai-sdk/openai-compatible@2.0.92",
    "node-sd-webui@0.0.8",
    "puppeteer-core@24.43.1",
    "sillytavern@1.19.0",
    "stable-diffusion-api@0.0.7",
];
/// What npm starts from. The `sharp` that stable-diffusion-api names is built by a script that fetches a
/// library from elsewhere; this one brings it along as a package.
const NODE_MANIFEST: &str = r#"{"private": true, "overrides": {"stable-diffusion-api": {"sharp": "0.33.5"}}}"#;

/// Builds the program, installs the clients, and lets them ask.
pub(crate) fn test(options: &Options) -> Result<(), Failure> {
    ensure_installed(Purpose::Build, options)?;
    finish(cargo("build").args(["--package", "atelier", "--bin", "atelier"]))?;
    let folder = target_folder().join("clients");
    let (bin, ending, python) = if Os::current() == Os::Windows { ("Scripts", ".exe", "python") } else { ("bin", "", "python3") };
    let own_python: PathBuf = folder.join(bin).join(format!("python{ending}"));
    if !own_python.is_file() {
        finish(Command::new(python).args(["-m", "venv"]).arg(&folder))?;
    }
    finish(Command::new(&own_python).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(PACKAGES))?;
    let node = folder.join("node");
    let created = std::fs::create_dir_all(&node).and_then(|()| std::fs::write(node.join("package.json"), NODE_MANIFEST));
    created.map_err(|error| Failure::new(format!("{} cannot be prepared: {error}", node.display())))?;
    let npm = if Os::current() == Os::Windows { "npm.cmd" } else { "npm" };
    let quietly = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"];
    finish(Command::new(npm).args(quietly).arg(&node).args(NODE_PACKAGES))?;
    let program = target_folder().join("debug").join(format!("atelier{ending}"));
    finish(Command::new(&own_python).arg(root().join("tests/http/clients/run.py")).arg(program).arg(node).args(&options.rest))
}
