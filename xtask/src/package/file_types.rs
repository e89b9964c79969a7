//! The files that Atelier opens: the one declaration of which the packages tell each system's
//! desktop.

use std::fmt::Write as _;

/// A kind of files.
#[derive(Clone, Copy, Debug)]
struct FileType {
    media_type: &'static str,
    /// Ending of their names, without its point.
    ending: &'static str,
    /// Name for people.
    name: &'static str,
    /// Icon of the desktop's theme that stands for them on Linux; `None` where every desktop knows
    /// these files already.
    icon: Option<&'static str>,
    /// Text with which each begins, where there is one.
    magic: Option<&'static str>,
}

/// Atelier's own: a double click opens them.
const CANVAS: FileType = FileType {
    media_type: "application/x-atelier-canvas",
    ending: "atelier",
    name: "Atelier canvas",
    icon: Some("image-x-generic"),
    magic: None,
};

/// What "Open with" offers Atelier for.
const OPENED: [FileType; 4] = [
    CANVAS,
    FileType { media_type: "image/png", ending: "png", name: "PNG picture", icon: None, magic: None },
    FileType {
        media_type: "application/x-safetensors",
        ending: "safetensors",
        name: "Model weights (safetensors)",
        icon: Some("package-x-generic"),
        magic: None,
    },
    FileType {
        media_type: "application/x-gguf",
        ending: "gguf",
        name: "Model weights (GGUF)",
        icon: Some("package-x-generic"),
        magic: Some("GGUF"),
    },
];

/// Windows' name for canvases, as a class of the registry.
const CANVAS_CLASS: &str = "Atelier.Canvas";
/// Apple's name for canvases, as a uniform type identifier.
const CANVAS_IDENTIFIER: &str = "studio.atelier.canvas";

/// The value of `MimeType` in a desktop entry.
pub(crate) fn desktop_media_types() -> String {
    OPENED.map(|it| it.media_type).join(";") + ";"
}

/// The elements of `provides` in `AppStream`'s metainfo, with the indentation of the file.
pub(crate) fn metainfo_media_types() -> String {
    let lines: Vec<String> = OPENED.iter().map(|it| format!("    <mediatype>{}</mediatype>", it.media_type)).collect();
    lines.join("\n")
}

/// The file of the shared MIME database: those types that desktops do not know.
pub(crate) fn shared_mime_info() -> String {
    let mut text =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<mime-info xmlns=\"http://www.freedesktop.org/standards/shared-mime-info\">\n"
            .to_owned();
    for kind in OPENED {
        let Some(icon) = kind.icon else { continue };
        let _ = writeln!(text, "  <mime-type type=\"{}\">", kind.media_type);
        let _ = writeln!(text, "    <comment>{}</comment>\n    <generic-icon name=\"{icon}\"/>", kind.name);
        if let Some(magic) = kind.magic {
            let _ = writeln!(text, "    <magic>\n      <match type=\"string\" offset=\"0\" value=\"{magic}\"/>\n    </magic>");
        }
        let _ = writeln!(text, "    <glob pattern=\"*.{}\"/>\n  </mime-type>", kind.ending);
    }
    text.push_str("</mime-info>\n");
    text
}

/// What the setup script includes: the names for canvases, and the macro that registers each ending
/// at `APPLICATION_KEY`.
pub(crate) fn nsis_definitions() -> String {
    let mut text = format!(
        "!define CANVAS_ENDING \".{}\"\n!define CANVAS_NAME \"{}\"\n!define CANVAS_CLASS \"{CANVAS_CLASS}\"\n!macro WriteSupportedTypes\n",
        CANVAS.ending, CANVAS.name
    );
    for kind in OPENED {
        let _ = writeln!(text, "  WriteRegStr HKCU \"${{APPLICATION_KEY}}\\SupportedTypes\" \".{}\" \"\"", kind.ending);
    }
    text.push_str("!macroend\n");
    text
}

/// Values of the registry below `Software\Classes`: key, name (`None`: the key's own value) and
/// value. `program` is the path of the program, which the installer knows, and `icon` that of its
/// icon.
pub(crate) fn registry_classes(program: &str, icon: &str) -> Vec<(String, Option<String>, String)> {
    let command = format!("\"{program}\" \"%1\"");
    let application = "Applications\\atelier.exe";
    let mut values = vec![
        (application.to_owned(), Some("FriendlyAppName".to_owned()), "Atelier".to_owned()),
        (format!("{application}\\shell\\open\\command"), None, command.clone()),
    ];
    values.extend(OPENED.iter().map(|it| (format!("{application}\\SupportedTypes"), Some(format!(".{}", it.ending)), String::new())));
    values.extend([
        (CANVAS_CLASS.to_owned(), None, CANVAS.name.to_owned()),
        (format!("{CANVAS_CLASS}\\DefaultIcon"), None, icon.to_owned()),
        (format!("{CANVAS_CLASS}\\shell\\open\\command"), None, command),
        (format!(".{}", CANVAS.ending), None, CANVAS_CLASS.to_owned()),
        (format!(".{}", CANVAS.ending), Some("Content Type".to_owned()), CANVAS.media_type.to_owned()),
        (format!(".{}\\OpenWithProgids", CANVAS.ending), Some(CANVAS_CLASS.to_owned()), String::new()),
    ]);
    values
}

/// The keys of Info.plist that make canvases a type of Atelier's. Its role is `None`: the Finder
/// hands files over by an event that the window does not read, so it must not offer to.
pub(crate) fn info_plist_types() -> String {
    let FileType { media_type, ending, name, .. } = CANVAS;
    format!(
        "\t<key>CFBundleDocumentTypes</key>
\t<array>
\t\t<dict>
\t\t\t<key>CFBundleTypeName</key>
\t\t\t<string>{name}</string>
\t\t\t<key>CFBundleTypeRole</key>
\t\t\t<string>None</string>
\t\t\t<key>CFBundleTypeIconFile</key>
\t\t\t<string>atelier</string>
\t\t\t<key>LSHandlerRank</key>
\t\t\t<string>Owner</string>
\t\t\t<key>LSItemContentTypes</key>
\t\t\t<array>
\t\t\t\t<string>{CANVAS_IDENTIFIER}</string>
\t\t\t</array>
\t\t</dict>
\t</array>
\t<key>UTExportedTypeDeclarations</key>
\t<array>
\t\t<dict>
\t\t\t<key>UTTypeIdentifier</key>
\t\t\t<string>{CANVAS_IDENTIFIER}</string>
\t\t\t<key>UTTypeDescription</key>
\t\t\t<string>{name}</string>
\t\t\t<key>UTTypeIconFile</key>
\t\t\t<string>atelier</string>
\t\t\t<key>UTTypeConformsTo</key>
\t\t\t<array>
\t\t\t\t<string>public.data</string>
\t\t\t\t<string>public.content</string>
\t\t\t</array>
\t\t\t<key>UTTypeTagSpecification</key>
\t\t\t<dict>
\t\t\t\t<key>public.filename-extension</key>
\t\t\t\t<array>
\t\t\t\t\t<string>{ending}</string>
\t\t\t\t</array>
\t\t\t\t<key>public.mime-type</key>
\t\t\t\t<array>
\t\t\t\t\t<string>{media_type}</string>
\t\t\t\t</array>
\t\t\t</dict>
\t\t</dict>
\t</array>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_desktop_is_told_of_every_file_that_is_opened() {
        let registry = registry_classes("C:\\a.exe", "C:\\a.ico");
        for kind in OPENED {
            assert!(desktop_media_types().contains(&format!("{};", kind.media_type)), "{kind:?}");
            assert!(metainfo_media_types().contains(kind.media_type), "{kind:?}");
            let is_told = shared_mime_info().contains(&format!("<glob pattern=\"*.{}\"/>", kind.ending));
            assert_eq!(is_told, kind.ending != "png", "desktops know pictures themselves");
            assert!(nsis_definitions().contains(&format!("SupportedTypes\" \".{}\"", kind.ending)), "{kind:?}");
            assert!(registry.iter().any(|(_, name, _)| *name == Some(format!(".{}", kind.ending))), "{kind:?}");
        }
        assert!(shared_mime_info().contains("value=\"GGUF\""));
    }

    #[test]
    fn canvases_are_opened_by_a_double_click() {
        let registry = registry_classes("C:\\a.exe", "C:\\a.ico");
        let value = |key: &str| registry.iter().find(|it| it.0 == key && it.1.is_none()).map(|it| it.2.as_str());
        let class = value(".atelier").unwrap();
        assert_eq!(value(&format!("{class}\\shell\\open\\command")), Some("\"C:\\a.exe\" \"%1\""));
        assert_eq!(value(&format!("{class}\\DefaultIcon")), Some("C:\\a.ico"));
        assert!(nsis_definitions().starts_with("!define CANVAS_ENDING \".atelier\"\n"));
        let plist = info_plist_types();
        for tag in ["array", "dict", "string", "key"] {
            assert_eq!(plist.matches(&format!("<{tag}>")).count(), plist.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        assert_eq!(plist.matches("<string>studio.atelier.canvas</string>").count(), 2, "declared, and what it is");
    }
}
