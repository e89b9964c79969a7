use super::*;
use crate::kind::tests::header;

#[test]
fn what_a_trainer_wrote_is_told() {
    let mut lora = header(&[("lora_unet_x.lora_down.weight", &[4, 768]), ("lora_unet_x.lora_up.weight", &[320, 4])]);
    let tags = r#"{"10_ink":{"ink wash":40,"a lake":3,"":9},"5_more":{"ink wash":2,"night\nsky":7}}"#;
    for (key, value) in [
        ("ss_tag_frequency", tags),
        ("modelspec.trigger_phrase", "inkw, wash style ,"),
        ("modelspec.title", "Ink\nwash"),
        ("ss_sd_model_name", "None"),
        ("ss_base_model_version", "sd_v1"),
        ("ss_network_dim", "16"),
    ] {
        lora.metadata.insert(key.into(), value.into());
    }
    let facts = Facts::of(&lora);
    assert_eq!(facts.role, Some(Role::Lora));
    let training = &facts.training;
    assert_eq!(training.trigger_words, ["inkw", "wash style"]);
    let expected = [("ink wash", 42), ("night sky", 7), ("a lake", 3)].map(|(tag, count)| (tag.to_owned(), count));
    assert_eq!(training.tags, expected);
    assert_eq!((training.title.as_deref(), training.base_model.as_deref(), training.rank), (Some("Ink wash"), Some("sd_v1"), Some(16)));
    let text = serde_json::to_string(&facts).unwrap();
    assert_eq!(serde_json::from_str::<Facts>(&text).unwrap(), facts);
}

#[test]
fn metadata_of_any_length_is_kept_short() {
    let mut lora = header(&[("x.lora_A.weight", &[4, 4])]);
    lora.metadata.insert("modelspec.title".into(), "x".repeat(10_000));
    let many: BTreeMap<String, u64> = (0..1000).map(|it| (format!("tag {it}"), it)).collect();
    lora.metadata.insert("ss_tag_frequency".into(), serde_json::to_string(&BTreeMap::from([("a", many)])).unwrap());
    let training = Facts::of(&lora).training;
    assert_eq!(training.title.unwrap().len(), MAX_CHARACTERS);
    assert_eq!((training.tags.len(), training.tags[0].1), (MAX_TAGS, 999));
    lora.metadata.insert("ss_tag_frequency".into(), "[1, 2]".into());
    assert!(Facts::of(&lora).training.tags.is_empty());
}

#[test]
fn a_pickle_is_not_opened_and_a_damaged_file_says_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    // It is not even there: a look would say so.
    assert_eq!(inspect_file(&dir.path().join("gone.PTH")), FileStatus::Pickle);
    let FileStatus::Faulty { fault, .. } = inspect_file(&testkit::broken::truncated_in_data(dir.path()).unwrap()) else { panic!() };
    assert_eq!(fault, Fault::CutShort);
}

#[test]
fn an_embedding_and_the_encoder_that_a_model_reads_are_told() {
    assert_eq!(Facts::of(&header(&[("emb_params", &[8, 768])])).role, Some(Role::Embedding));
    assert_eq!(Facts::of(&header(&[("clip_g", &[8, 1280]), ("clip_l", &[8, 768])])).role, Some(Role::Embedding));
    assert_eq!(Facts::of(&header(&[("anything", &[8])])).role, None);
    let model = Facts::of(&header(&[("cap_embedder.0.weight", &[2560])]));
    assert_eq!((model.family, model.reads), (Some(Family::ZImage), Some((FileRole::Llm, 2560))));
}

#[test]
fn models_that_look_at_pictures_are_known_by_their_contents_and_8_bits_are_refused() {
    use testkit::onnx;
    let dir = tempfile::tempdir().unwrap();
    let inspect = |bytes: &[u8]| {
        let path = dir.path().join("a.onnx");
        std::fs::write(&path, bytes).unwrap();
        inspect_file(&path)
    };
    let FileStatus::Known(facts) = inspect(&onnx::red_segmenter(64)) else { panic!("it is one") };
    assert_eq!((facts.role, facts.name.as_str(), facts.quantisation.as_str()), (Some(Role::Cutout), "cut-out model", "F32"));
    let FileStatus::Known(facts) = inspect(&onnx::detector(64, &["face"], &[])) else { panic!("it is one") };
    assert_eq!((facts.role, facts.name.as_str()), (Some(Role::Detector), "detector of face"));
    let FileStatus::Faulty { fault, advice } = inspect(&onnx::quantised_segmenter(64)) else { panic!("its masks are wrong") };
    assert_eq!((fault, advice.sentence.as_str()), (Fault::Unsupported, "a.onnx is quantised to 8 bits."));
    assert!(matches!(inspect(b"not a model"), FileStatus::Faulty { .. }));
}
