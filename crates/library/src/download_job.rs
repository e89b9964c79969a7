//! From an entry of the catalogue to a job for the downloads.

use std::path::Path;

use super::assemble::Missing;
use super::manifest::{Defaults, Licence, Manifest, ModelFile, Origin};
use super::problem::Problem;
use atelier_downloads::{DownloadJob, FileRequest, Source, UnpackList};
use atelier_language::tr;

/// Start of the id of what a model of loose files still needs, and of its name, which a manifest
/// keeps in English.
const PARTS_ID: &str = "parts-of-";
const PARTS_OF: &str = "Parts of ";

impl Manifest {
    /// The model whose parts these are; `None` for a model of its own.
    fn parts_of(&self) -> Option<&str> {
        self.name.strip_prefix(PARTS_OF).filter(|_| self.id.starts_with(PARTS_ID))
    }

    /// Its name in the chosen language.
    #[must_use]
    pub fn shown_name(&self) -> String {
        self.parts_of().map_or_else(|| self.name.clone(), |name| tr!("library-parts-of", name))
    }

    /// Its description in the chosen language, where it is one of parts; else as it is kept.
    #[must_use]
    pub fn shown_description(&self) -> String {
        self.parts_of().map_or_else(|| self.description.clone(), |name| tr!("library-the-other-files-that", name))
    }
}

/// The job that brings a model into its folder beneath the folder of models.
///
/// # Errors
/// If the entry does not say where a file can be had.
pub fn download_job(entry: &Manifest, models_root: &Path) -> Result<DownloadJob, Problem> {
    let files = entry.files.iter().map(|file| wanted(entry, file)).collect::<Result<_, _>>()?;
    let manifest = entry.unpacked().to_json().map_err(|error| Problem::new(error.to_string(), tr!("library-please-report-this")))?;
    Ok(DownloadJob {
        id: entry.id.clone(),
        name: entry.shown_name(),
        folder: models_root.join(&entry.id),
        files,
        manifest: Some(manifest),
        licence_url: entry.licence.as_ref().and_then(Licence::url).map(str::to_owned),
    })
}

/// The job that brings what a model of loose files still needs, into a folder of its own with a
/// manifest, so that it can be checked and taken away like every other.
///
/// # Errors
/// If the catalogue knows none of the missing files.
pub fn parts_job(id: &str, name: &str, missing: &[Missing], models_root: &Path) -> Result<DownloadJob, Problem> {
    let files: Vec<ModelFile> = missing.iter().filter_map(|it| Some(it.offer.as_ref()?.file.clone())).collect();
    if files.is_empty() {
        return Err(Problem::new(tr!("library-no-download-source-is", name), tr!("library-add-a-folder-that-contains-them")));
    }
    let parts = Manifest {
        id: format!("{PARTS_ID}{id}"),
        name: format!("{PARTS_OF}{name}"),
        family: None,
        description: format!("The other files that {name} needs."),
        licence: None,
        files,
        defaults: Defaults::default(),
        variants: Vec::new(),
        variant: None,
        checked: None,
        work: None,
        recommended: false,
        examples: Vec::new(),
        other: serde_json::Map::new(),
    };
    download_job(&parts, models_root)
}

fn wanted(entry: &Manifest, file: &ModelFile) -> Result<FileRequest, Problem> {
    let source = match file.origin() {
        Some(Origin::Url(url)) => Source::Url(url.into()),
        Some(Origin::HuggingFace { repo, path, .. }) => {
            Source::HuggingFace { repo: repo.into(), path: path.into(), revision: file.hf.as_ref().and_then(|it| it.revision.clone()) }
        }
        None => {
            return Err(Problem::new(
                tr!("library-the-catalogue-has-no", file = file.filename.as_str(), name = entry.name),
                tr!("library-correct-the-entry-or"),
            ));
        }
    };
    let unpack = file.unpack.as_ref().map(|it| UnpackList { names: it.files.iter().map(|it| it.name.clone()).collect(), flat: it.flat });
    Ok(FileRequest { source, filename: file.filename.clone(), size: file.size, sha256: file.sha256, unpack })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;
    use atelier_core::recipe::FileRole;

    #[test]
    fn every_shipped_entry_and_variant_makes_a_job() {
        let catalogue = Catalogue::shipped();
        let variants = catalogue.entries().iter().flat_map(|it| it.variants.iter().filter_map(|variant| it.as_variant(&variant.name)));
        for entry in catalogue.entries().iter().cloned().chain(variants) {
            let job = download_job(&entry, Path::new("/models")).unwrap();
            assert_eq!((job.folder.as_path(), job.files.len()), (Path::new("/models").join(&entry.id).as_path(), entry.files.len()));
            let written = Manifest::parse(job.manifest.as_deref().unwrap(), Path::new("m")).unwrap();
            assert_eq!(written, entry);
        }
    }

    #[test]
    fn an_archive_is_unpacked_by_its_list_and_the_manifest_names_what_was_in_it() {
        let text = r#"{"id":"m","name":"M","files":[{"role":"model","filename":"a.zip","url":"https://example.org/a.zip",
            "unpack":{"flat":true,"files":[{"name":"in/x.gguf","role":"diffusion"},{"name":"in/y.gguf","role":"vae"}]}}]}"#;
        let entry = Manifest::parse(text, Path::new("m")).unwrap();
        let job = download_job(&entry, Path::new("/models")).unwrap();
        let list = job.files[0].unpack.as_ref().unwrap();
        assert!(list.flat && list.names.len() == 2);
        let written = Manifest::parse(job.manifest.as_deref().unwrap(), Path::new("m")).unwrap();
        let files: Vec<(&str, &str)> = written.files.iter().map(|it| (it.role.key(), it.filename.as_str())).collect();
        assert_eq!(files, [("diffusion", "x.gguf"), ("vae", "y.gguf")]);
        assert!(written.files.iter().all(|it| it.origin().is_none() && it.size.is_none()));
    }

    #[test]
    fn what_a_loose_model_lacks_comes_into_a_folder_of_its_own() {
        let catalogue = Catalogue::shipped();
        let offer = catalogue.offer(crate::Family::ZImage, FileRole::Llm, "");
        let missing = [(FileRole::Llm, offer), (FileRole::Vae, None)];
        let missing = missing.map(|(role, offer)| Missing { role, what: "a part".into(), offer });
        let job = parts_job("my-z", "My Z", &missing, Path::new("/models")).unwrap();
        assert_eq!((job.id.as_str(), job.folder.as_path(), job.files.len()), ("parts-of-my-z", Path::new("/models/parts-of-my-z"), 1));
        let written = Manifest::parse(job.manifest.as_deref().unwrap(), Path::new("m")).unwrap();
        assert_eq!(written.files[0].role, crate::Role::Part(FileRole::Llm));
        assert!(parts_job("my-z", "My Z", &missing[1..], Path::new("/models")).unwrap_err().advice.sentence.contains("My Z"));
    }

    #[test]
    fn a_file_from_nowhere_is_told() {
        let entry = Manifest::parse(r#"{"id":"m","name":"M","files":[{"role":"model","filename":"a.gguf"}]}"#, Path::new("m")).unwrap();
        assert!(download_job(&entry, Path::new("/models")).unwrap_err().advice.sentence.contains("a.gguf of M"));
    }
}
