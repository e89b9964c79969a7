//! Reading the engine's vocabularies.

#[path = "../build/vocab.rs"]
mod vocab;

use vocab::Vocabulary;

#[test]
fn a_vocabulary_is_read_into_its_name_and_bytes() {
    let vocabulary = Vocabulary::parse(b"static const unsigned char some_str[] = {\n0x23,0x0a,0xfF,\n};\n").unwrap();
    assert_eq!(vocabulary, Vocabulary { name: "some_str".into(), bytes: vec![0x23, 0x0a, 0xff] });
    let cpp = vocabulary.cpp("/some/file");
    assert!(cpp.contains("const unsigned char some_str[3];") && cpp.contains("\nsome_str:\n.incbin \"/some/file\"\n"), "{cpp}");
}

#[test]
fn what_is_no_vocabulary_stops_the_build() {
    for text in [
        "",
        "\n",
        "const char a[] = {\n0x00,\n};",
        "static const unsigned char a[] = {\n0x00,0xg0,\n};",
        "static const unsigned char a[] = {\n0x00,\n};more",
        "static const unsigned char a[] = {\n12,\n};",
        "static const unsigned char a[] = {\n0x00,",
        "static const unsigned char a b[] = {\n};",
    ] {
        assert!(Vocabulary::parse(text.as_bytes()).is_err(), "{text}");
    }
}
