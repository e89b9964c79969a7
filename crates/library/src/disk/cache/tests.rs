use super::*;

fn found(path: &str, bytes: u64, modified: u64) -> FileEntry {
    FileEntry { path: path.into(), bytes, modified: Some(modified), hint: None }
}

#[test]
fn a_file_is_known_until_its_size_or_time_changes_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new/files.json");
    let mut cache = FactsCache::open(&path);
    cache.save().unwrap();
    assert!(!path.exists(), "nothing is new");
    let file = found("/m/a.gguf", 10, 1_000_000_007);
    assert_eq!(cache.get(&file), None);
    cache.put(&file, &FileStatus::Pickle);
    cache.put(&found("/m/b.gguf", 1, 1), &FileStatus::Unread);
    cache.save().unwrap();
    let mut cache = FactsCache::open(&path);
    assert_eq!(cache.get(&file), Some(FileStatus::Pickle));
    assert_eq!(cache.get(&found("/m/a.gguf", 11, 1_000_000_007)), None);
    assert_eq!(cache.get(&found("/m/a.gguf", 10, 1_000_000_008)), None);
    assert_eq!(cache.get(&FileEntry { modified: None, ..file.clone() }), None);
    assert_eq!(cache.get(&found("/m/b.gguf", 1, 1)), None);
}

#[test]
fn a_fault_that_was_told_in_another_language_is_found_again_and_what_is_known_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("files.json");
    let (faulty, pickle) = (found("/m/a.gguf", 1, 1), found("/m/b.ckpt", 1, 1));
    let advice = atelier_core::advice::Advice::new("It is cut short.", "Download it again.");
    let fault = FileStatus::Faulty { fault: crate::Fault::Damaged, advice };
    let mut cache = FactsCache::open(&path);
    cache.put(&faulty, &fault);
    cache.put(&pickle, &FileStatus::Pickle);
    cache.save().unwrap();
    assert_eq!(FactsCache::open(&path).get(&faulty), Some(fault));
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(r#""language":"en""#), "{text}");
    std::fs::write(&path, text.replace(r#""language":"en""#, r#""language":"de""#)).unwrap();
    let mut cache = FactsCache::open(&path);
    assert_eq!((cache.get(&faulty), cache.get(&pickle)), (None, Some(FileStatus::Pickle)));
}

#[test]
fn a_damaged_cache_is_an_empty_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("files.json");
    let unknown = format!(r#"{{"version":{VERSION},"files":{{"/a":{{"bytes":1,"modified":1,"about":"dunno"}}}}}}"#);
    for text in ["", "{", "[]", r#"{"version":999,"files":{}}"#, &unknown] {
        std::fs::write(&path, text).unwrap();
        assert_eq!(FactsCache::open(&path).get(&found("/a", 1, 1)), None, "{text}");
    }
}

#[test]
fn lists_without_end_are_read_to_their_limit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("files.json");
    let (words, tags) = (vec!["\"a\""; 100_000].join(","), vec!["[\"a\",1]"; 100_000].join(","));
    let text = format!(
        "{{\"version\":{VERSION},\"files\":{{\"/a\":{{\"bytes\":1,\"modified\":1,\"about\":{{\"known\":{{\"role\":null,\"family\":null,\"name\":\"a\",\"parameters\":1,\
        \"quantisation\":\"F16\",\"contains\":[],\"text_width\":null,\"vocabulary\":null,\"latent_channels\":null,\"reads_faces\":false,\"reads\":null,\
        \"training\":{{\"trigger_words\":[{words}],\"tags\":[{tags}]}}}}}}}}}}}}"
    );
    std::fs::write(&path, text).unwrap();
    let Some(FileStatus::Known(facts)) = FactsCache::open(&path).get(&found("/a", 1, 1)) else { panic!("it is known") };
    assert!(!facts.training.tags.is_empty() && facts.training.tags.len() <= 300 && facts.training.trigger_words.len() <= 300);
}
