//! From an entry of the catalogue to a job for the downloads.

use std::path::Path;

use super::check::Problem;
use super::downloads::{Job, Source, UnpackList, Wanted};
use super::manifest::{Licence, Manifest, ModelFile, Origin};

/// The job that brings a model into its folder beneath the folder of models.
///
/// # Errors
/// Where the entry does not say where a file can be had.
pub fn download_job(entry: &Manifest, models_root: &Path) -> Result<Job, Problem> {
    let files = entry.files.iter().map(|file| wanted(entry, file)).collect::<Result<_, _>>()?;
    let manifest =
        entry.unpacked().to_json().map_err(|error| Problem { sentence: error.to_string(), hint: "Please report this.".into() })?;
    Ok(Job {
        id: entry.id.clone(),
        name: entry.name.clone(),
        folder: models_root.join(&entry.id),
        files,
        manifest: Some(manifest),
        licence_url: entry.licence.as_ref().and_then(Licence::url).map(str::to_owned),
    })
}

fn wanted(entry: &Manifest, file: &ModelFile) -> Result<Wanted, Problem> {
    let source = match file.origin() {
        Some(Origin::Url(url)) => Source::Url(url.into()),
        Some(Origin::HuggingFace { repo, path, .. }) => {
            Source::HuggingFace { repo: repo.into(), path: path.into(), revision: file.hf.as_ref().and_then(|it| it.revision.clone()) }
        }
        None => {
            return Err(Problem {
                sentence: format!("The catalogue does not say where {} of {} can be had.", file.filename.as_str(), entry.name),
                hint: "Correct the entry, or choose another model.".into(),
            });
        }
    };
    let unpack = file.unpack.as_ref().map(|it| UnpackList { names: it.files.iter().map(|it| it.name.clone()).collect(), flat: it.flat });
    Ok(Wanted { source, filename: file.filename.clone(), size: file.size, sha256: file.sha256, unpack })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Catalogue;

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
    fn a_file_from_nowhere_is_told() {
        let entry = Manifest::parse(r#"{"id":"m","name":"M","files":[{"role":"model","filename":"a.gguf"}]}"#, Path::new("m")).unwrap();
        assert!(download_job(&entry, Path::new("/models")).unwrap_err().sentence.contains("a.gguf of M"));
    }
}
