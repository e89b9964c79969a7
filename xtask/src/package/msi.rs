//! The .msi for administrators, who install for all persons of a machine and by remote. wixl packs
//! it, which knows a part of `WiX` 3's language and no dialogs; persons take the setup program.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::file_types::registry_classes;
use super::stage::Staged;
use super::windows::version_fields;
use crate::cargo::output;
use crate::failure::Failure;
use crate::files::write;
use crate::requirements::{Requirement, linux, program};

pub(crate) const WIXL: Requirement = Requirement {
    name: "wixl",
    reason: "packs the .msi",
    probe: program(&["wixl"]),
    packages: linux("wixl", "msitools", "msitools"),
    instruction: "Install msitools. It runs on Linux only.",
};

/// By this Windows knows that one version replaces another. Never changes.
const UPGRADE_CODE: &str = "5B0E6A3C-6F0D-4C57-9E7B-2D6F1C1B8A44";

/// Packs what is staged.
pub(crate) fn package(staged: &Staged, out: &Path) -> Result<PathBuf, Failure> {
    let source = out.join("atelier.wxs");
    write(&source, &description(staged)?)?;
    let file = out.join(format!("Atelier-{}-x64.msi", staged.version));
    // It finds files by their names from the folder that it runs in, and an icon not otherwise.
    output(Command::new("wixl").args(["-a", "x64", "-o"]).arg(&file).arg(&source).current_dir(&staged.folder))?;
    Ok(file)
}

/// What is installed, in `WiX`'s language.
fn description(staged: &Staged) -> Result<String, Failure> {
    let mut components = Vec::new();
    let files = folder(&staged.folder, "", 4, &mut components)?;
    // Windows compares three numbers.
    let version = version_fields(&staged.version);
    let version = version.rsplit_once('.').map_or(version.as_str(), |(first, _)| first);
    let mut features = String::new();
    for component in &components {
        let _ = writeln!(features, "      <ComponentRef Id=\"{component}\"/>");
    }
    Ok(format!(
        r#"<?xml version="1.0" encoding="utf-8"?>
<Wix xmlns="http://schemas.microsoft.com/wix/2006/wi">
  <Product Id="*" Name="Atelier" Language="1033" Version="{version}" UpgradeCode="{UPGRADE_CODE}" Manufacturer="The Atelier authors">
    <Package InstallerVersion="500" Compressed="yes" InstallScope="perMachine" Description="Atelier"/>
    <MajorUpgrade DowngradeErrorMessage="A newer version of Atelier is installed. Remove it first."/>
    <Media Id="1" Cabinet="atelier.cab" EmbedCab="yes"/>
    <Icon Id="atelier.ico" SourceFile="atelier.ico"/>
    <Property Id="ARPPRODUCTICON" Value="atelier.ico"/>
    <Property Id="ARPNOMODIFY" Value="1"/>
    <Directory Id="TARGETDIR" Name="SourceDir">
      <Directory Id="ProgramFiles64Folder">
        <Directory Id="INSTALLDIR" Name="Atelier">
{files}        </Directory>
      </Directory>
      <Directory Id="ProgramMenuFolder"/>
    </Directory>
    <Feature Id="Atelier" Level="1">
{features}    </Feature>
  </Product>
</Wix>
"#
    ))
}

/// The components of a folder's files, one each, and its subfolders, indented by `depth` steps of
/// two. `prefix` names the folder from the staged one, with a closing slash. Adds the components'
/// names to `components`.
fn folder(path: &Path, prefix: &str, depth: usize, components: &mut Vec<String>) -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("{} cannot be read: {error}", path.display()));
    let mut entries: Vec<_> = path.read_dir().map_err(failed)?.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    let indent = "  ".repeat(depth + 1);
    let mut text = String::new();
    for entry in entries {
        let name = escape(&entry.file_name().unwrap_or_default().to_string_lossy());
        if entry.is_dir() {
            let id = format!("folder{}", components.len());
            let inner = folder(&entry, &format!("{prefix}{name}/"), depth + 1, components)?;
            let _ = writeln!(text, "{indent}<Directory Id=\"{id}\" Name=\"{name}\">\n{inner}{indent}</Directory>");
            continue;
        }
        let id = format!("file{}", components.len());
        let _ = writeln!(text, "{indent}<Component Id=\"{id}\" Guid=\"*\" Win64=\"yes\">");
        let _ = writeln!(text, "{indent}  <File Id=\"{id}\" Name=\"{name}\" Source=\"{prefix}{name}\" KeyPath=\"yes\"/>");
        if name == "atelier.exe" {
            let shortcut = r#"Name="Atelier" Directory="ProgramMenuFolder" Icon="atelier.ico" WorkingDirectory="INSTALLDIR""#;
            let _ = writeln!(text, "{indent}  <Shortcut Id=\"menu\" {shortcut} Target=\"[INSTALLDIR]atelier.exe\"/>");
            text.push_str(&file_types(&format!("{indent}  ")));
        }
        let _ = writeln!(text, "{indent}</Component>");
        components.push(id);
    }
    Ok(text)
}

/// Says whose canvases are, and what else Atelier opens. They are of the program's component, whose
/// key stays the program.
fn file_types(indent: &str) -> String {
    let mut text = String::new();
    for (at, (key, name, value)) in registry_classes("[INSTALLDIR]atelier.exe", "[INSTALLDIR]atelier.ico").into_iter().enumerate() {
        let name = name.map_or_else(String::new, |name| format!(" Name=\"{}\"", escape(&name)));
        let (key, value) = (escape(&key), escape(&value));
        let place = format!("Root=\"HKLM\" Key=\"Software\\Classes\\{key}\"{name}");
        let _ = writeln!(text, "{indent}<RegistryValue Id=\"registry{at}\" {place} Type=\"string\" Value=\"{value}\"/>");
    }
    text
}

/// Text inside an attribute.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_file_is_a_component_of_the_feature() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("builtin-model")).unwrap();
        for name in ["atelier.exe", "atelier.ico", "builtin-model/a & b.json"] {
            fs::write(root.path().join(name), "").unwrap();
        }
        let staged = Staged { folder: root.path().to_owned(), version: "1.2.3-beta".into() };
        let text = description(&staged).unwrap();
        assert!(text.contains("Version=\"1.2.3\"") && text.contains("Name=\"a &amp; b.json\""), "{text}");
        assert!(text.contains("Source=\"builtin-model/a &amp; b.json\""), "{text}");
        assert_eq!(text.matches("<Component ").count(), 3);
        assert_eq!(text.matches("<ComponentRef ").count(), 3);
        assert_eq!(text.matches("<Shortcut ").count(), 1);
        let class = r#"Root="HKLM" Key="Software\Classes\.atelier" Type="string" Value="Atelier.Canvas"/>"#;
        let command = r#"Key="Software\Classes\Atelier.Canvas\shell\open\command" Type="string" Value="&quot;[INSTALLDIR]atelier.exe&quot; &quot;%1&quot;"/>"#;
        assert!(text.contains(class) && text.contains(command), "{text}");
        // What is registered goes with the program, whose file is the first of its component.
        let program = text.split("<Component ").find(|it| it.contains("Name=\"atelier.exe\"")).unwrap();
        assert_eq!(program.matches("<RegistryValue ").count(), text.matches("<RegistryValue ").count());
        assert!(program.find("<File ") < program.find("<RegistryValue "));
        assert_eq!(text.matches("<Directory ").count(), text.matches("</Directory>").count() + 1);
    }
}
