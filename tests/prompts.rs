//! A prompt is text: whatever it says, and however much, a picture comes of it, and brackets mean
//! what they mean elsewhere.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use atelier_core::paths::HOME_VARIABLE;
use atelier_core::placement::{Module, PhaseKind};
use atelier_core::recipe::{FileRole, ModelFiles, ROWS, Recipe, Seed};
use atelier_library::BUILTIN_VARIABLE;
use atelier_media::read_metadata;
use support::engine::Engine;
use support::{files, folder, of_zeros, recipe, written};
use testkit::families;
use testkit::layouts::joined;

/// Stable Diffusion 1.5 in small, whose encoder tells words apart.
fn clip() -> Recipe {
    static FILES: OnceLock<ModelFiles> = OnceLock::new();
    let files = FILES.get_or_init(|| written(families::reading("sd15"), &folder("clip"))).clone();
    Recipe { files, ..of_zeros() }
}

/// A small model whose encoder is a language model.
fn language_model() -> Recipe {
    Recipe { steps: 1, ..recipe() }
}

/// The same with the language model in the file of the diffusion module.
fn whole_language_model() -> Recipe {
    let parts = recipe().files;
    let [module, llm, taesd] = [FileRole::Diffusion, FileRole::Llm, FileRole::Taesd].map(|role| parts.get(role).unwrap());
    let modules = [("model.diffusion_model.", module), ("text_encoders.qwen3_4b.transformer.", llm)];
    let model = joined(&modules, &folder("whole").join("whole.safetensors")).unwrap();
    let files = [(FileRole::Model, model), (FileRole::Taesd, taesd.to_owned())].into_iter().collect();
    Recipe { files, ..language_model() }
}

struct Studio {
    engine: Engine,
    recipe: Recipe,
}

impl Studio {
    fn new(recipe: Recipe) -> Self {
        Self { engine: Engine::start(), recipe }
    }

    fn picture(&self, prompt: &str) -> Vec<u8> {
        self.engine.run(&Recipe { prompt: prompt.to_owned(), ..self.recipe.clone() }).pixels().to_vec()
    }

    fn notes(&self, prompt: &str) -> Vec<String> {
        self.engine.run(&Recipe { prompt: prompt.to_owned(), ..self.recipe.clone() }).begin().notes.clone()
    }
}

/// Pairs of prompts that say the same, in AUTOMATIC1111's syntax. A bracket without its other half
/// is a letter at the end, and open to the end.
const SAME: [(&str, &str); 7] = [
    (r"x \) y", "x ) y"),
    (r"x \] y", "x ] y"),
    ("a (dog:1.5)", "a (dog: 1.5 )"),
    ("a (dog:+1.5)", "a (dog:1.50)"),
    ("a (dog)", "a (dog:1.1)"),
    ("(a dog", "(a dog)"),
    ("[a dog", "[a dog]"),
];

/// Pairs that do not.
const OTHER: [(&str, &str); 5] = [
    ("a dog", "a (dog:1.5)"),
    (r"a \(dog\)", "a (dog)"),
    ("a [dog]", "a dog"),
    ("a dog BREAK a lake", "a dog a lake"),
    ("a dog:1.5)", "a dog"),
];

/// Pairs of a prompt and guidance that AUTOMATIC1111's joined prompts make equal, but for rounding:
/// guidance times the weights of all that differ from the negative prompt.
const JOINED: [(&str, f32, &str, f32); 7] = [
    ("a dog AND a dog", 3.0, "a dog", 6.0),
    ("a dog :0.5 AND a dog : .5 ", 3.0, "a dog", 3.0),
    ("a dog AND a lake :0", 3.0, "a dog", 3.0),
    ("a dog:-1 AND a dog:+3", 2.0, "a dog", 4.0),
    ("a lake AND a dog", 3.0, "a dog AND a lake", 3.0),
    // Without guidance the negative prompt is read too.
    ("a dog AND a dog:2", 1.0, "a dog", 3.0),
    ("AND a dog:2", 2.0, " AND a dog :2.", 2.0),
];

/// Weights that are no numbers are letters.
const LETTERS: [&str; 4] = ["a (dog:...)", "a (dog:.)", "a (dog:1.2.3)", "a (dog:-)"];

#[test]
fn brackets_and_weights_are_those_of_a1111() {
    let studio = Studio::new(clip());
    for (one, other) in SAME {
        assert_eq!(studio.picture(one), studio.picture(other), "{one} and {other}");
    }
    for (one, other) in OTHER {
        assert_ne!(studio.picture(one), studio.picture(other), "{one} and {other}");
    }
    for text in LETTERS {
        assert_ne!(studio.picture(text), studio.picture("a dog"), "{text}");
    }
    assert!(!studio.picture(&format!("a (dog:{})", "9".repeat(60))).is_empty(), "larger than any number");
}

#[test]
fn prompts_that_and_joins_are_composed_as_a1111_does() {
    let studio = Studio::new(clip());
    let make = |prompt: &str, guidance| {
        let recipe = Recipe { prompt: prompt.to_owned(), negative_prompt: "rain".into(), guidance, ..studio.recipe.clone() };
        studio.engine.run(&recipe)
    };
    for (one, guidance, other, other_guidance) in JOINED {
        let (joined, expected) = (make(one, guidance), make(other, other_guidance));
        let far = joined.pixels().iter().zip(expected.pixels()).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(far.is_some_and(|far| far <= 2), "{one} and {other}: {far:?}");
    }
    // A weight that is no number is words, and so is AND within a word.
    let others = ["a dog", "a dog AND a lake", "a dog a lake", "a dog AND a lake:0.5", "a dog AND a lake:1.2.3", "a dog BAND a lake"];
    let pictures = others.map(|prompt| {
        let made = make(prompt, 3.0);
        assert!(made.begin().notes.is_empty(), "{prompt}: {:?}", made.begin().notes);
        made.pixels().to_vec()
    });
    assert!((0..pictures.len()).all(|one| (0..one).all(|other| pictures[one] != pictures[other])));
    let told = |recipe: &Recipe, words: &str| studio.engine.run(recipe).begin().notes.iter().any(|note| note.contains(words));
    assert!(told(&Recipe { negative_prompt: "rain AND fog".into(), guidance: 3.0, ..studio.recipe.clone() }, "AND"));
    let many = |count: usize| Recipe { prompt: vec!["a dog"; count].join(" AND "), ..studio.recipe.clone() };
    assert_eq!([16, 17].map(|count| told(&many(count), "first 15 AND")), [false, true]);
}

/// Each of them is one more evaluation of a step, of what is said to be computed too.
#[test]
fn joined_prompts_are_counted() {
    let studio = Studio::new(clip());
    let graphs = |prompt: &str, guidance, phase, module| {
        let recipe = Recipe { prompt: prompt.to_owned(), guidance, ..studio.recipe.clone() };
        studio.engine.estimate(&recipe).unwrap().work.total(module, phase).graphs()
    };
    let denoising = |prompt, guidance| graphs(prompt, guidance, PhaseKind::Denoising, Module::Diffusion);
    let one = denoising("a dog", 1.0);
    assert_eq!(denoising("a dog", 3.0), 2 * one);
    assert_eq!(["a dog AND a lake", "a dog AND a lake AND fog"].map(|it| denoising(it, 3.0)), [3 * one, 4 * one]);
    assert_eq!(denoising("a dog AND a lake", 1.0), 3 * one, "the negative prompt is evaluated too");
    let encoding = |prompt| graphs(prompt, 3.0, PhaseKind::Encoding, Module::ClipL);
    assert_eq!(encoding("a dog AND a lake") * 2, encoding("a dog") * 3);
}

#[test]
fn a_language_model_weighs_by_numbers_alone_and_reads_other_brackets_as_text() {
    let studio = Studio::new(language_model());
    assert_eq!(studio.picture(r"a \(dog\)"), studio.picture("a (dog)"));
    assert_ne!(studio.picture("a (dog)"), studio.picture("a dog"));
    assert_eq!(studio.picture("a (dog:1.0)"), studio.picture("a dog"), "the same bytes");
    let weighed = ["a (dog:0.5)", "a (dog:1.5)", "a dog", "(a dog:1.5)"].map(|prompt| studio.picture(prompt));
    assert!((0..4).all(|one| (0..one).all(|other| weighed[one] != weighed[other])));
    assert_eq!(studio.picture("a ((dog:1.5):2)"), studio.picture("a (dog:3)"), "one within another");
    for text in LETTERS {
        assert_ne!(studio.picture(text), studio.picture("a dog"), "{text}");
    }
}

#[test]
fn words_that_mean_something_to_other_models_are_told() {
    let studio = Studio::new(language_model());
    let told = |prompt: &str, words: &str| studio.notes(prompt).iter().any(|note| note.contains(words));
    assert_eq!(
        [told("a BREAK b", "BREAK"), told("a BREAKER b", "BREAK"), told("a AND b", "AND"), told("a and b", "AND")],
        [true, false, true, false]
    );
    // These mean the same to every model: words that change over the steps.
    assert_eq!(["[a:b:0.5]", "[a|b]"].map(|prompt| studio.notes(prompt)), [Vec::<String>::new(), Vec::new()]);
    assert!(told(&"(a:2) ".repeat(33), "first 32 weights") && !told(&"(a:2) ".repeat(32), "first 32 weights"));
    let notes = Studio::new(whole_language_model()).notes(&"(a:2) ".repeat(33));
    assert!(notes.iter().any(|note| note.contains("first 32 weights")), "{notes:?}");
}

#[test]
fn a_prompt_of_a_megabyte_is_cut_at_the_limit_with_a_note() {
    const BYTES: usize = 1_000_000;
    let limit = ROWS.prompt.limits;
    let long = |unit: &str| unit.repeat(BYTES / unit.len());
    // Runs that a regular expression, a table of pairs or a stack may be slow or deep in.
    let units = ["word sky, ", "a", "1", " ", "[(a:", ":1.1)", "\\'s", "é\n\n", "BREAK "];
    let studio = Studio::new(clip());
    for unit in units {
        let said = studio.engine.run(&Recipe { prompt: long(unit), negative_prompt: long("a "), ..studio.recipe.clone() });
        assert!(!said.pixels().is_empty(), "{unit:?}");
        let told = |name: &str| said.begin().notes.iter().any(|note| note.starts_with(&format!("{name}: the first {limit} of ")));
        assert!(told("Prompt") && told("Negative prompt"), "{unit:?}: {:?}", said.begin().notes);
    }
    let studio = Studio::new(language_model());
    for unit in ["word sky, ", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa "] {
        let cut: String = long(unit).chars().take(limit).collect();
        assert_eq!(studio.picture(&long(unit)), studio.picture(&cut), "{unit:?}");
    }
}

/// A command of the program for a picture of the small model, which `generate` writes to
/// `picture.png` in this folder.
fn atelier(home: &Path, name: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
    command.env(HOME_VARIABLE, home.join("home")).env(BUILTIN_VARIABLE, home.join("none")).stdin(Stdio::null());
    command.args([name, "-W", "64", "-H", "64", "-t", "1"]);
    for (flag, role) in [("--diffusion-model", FileRole::Diffusion), ("--llm", FileRole::Llm), ("--taesd", FileRole::Taesd)] {
        command.arg(flag).arg(files().get(role).unwrap());
    }
    if name == "generate" {
        command.args(["--steps", "1", "--cfg-scale", "1", "--seed", "7", "-o"]).arg(home.join("picture.png"));
    }
    command
}

/// The exit status of a command that reads this text, and what it said.
fn said(mut command: Command, stdin: &str) -> (Option<i32>, String) {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat())
}

/// The longest argument that Linux hands to a program has 128 KiB.
#[test]
fn the_command_line_reads_the_longest_argument() {
    let home = folder("argument");
    let prompt = "word sky, ".repeat(13_000);
    for name in ["plan", "generate"] {
        let mut command = atelier(&home, name);
        command.args(["-p", &prompt]);
        let (status, told) = said(command, "");
        assert_eq!(status, Some(0), "{name}: {told}");
        assert!(told.contains(&format!("the first {} of {}", ROWS.prompt.limits, prompt.len())), "{name}: {told}");
    }
}

#[test]
fn a_file_or_standard_input_holds_a_prompt_of_a_megabyte() {
    let home = folder("files");
    let [file, negative] = ["prompt.txt", "negative.txt"].map(|name| home.join(name));
    let cut = |what: &str, count: usize| format!("{what}: the first {} of {count} ", ROWS.prompt.limits);
    fs::write(&negative, "fog ".repeat(250_000)).unwrap();
    for unit in ["word sky, ", "[(a:", "<lora"] {
        let prompt = unit.repeat(1_000_000 / unit.len());
        // Neither the mark nor the line end is of the prompt.
        let text = format!("\u{feff}{prompt}\r\n");
        fs::write(&file, &text).unwrap();
        let pictures = ["-", file.to_str().unwrap()].map(|source| {
            let mut command = atelier(&home, "generate");
            command.args(["--prompt-file", source, "--negative-prompt-file"]).arg(&negative);
            let (status, told) = said(command, if source == "-" { &text } else { "" });
            assert_eq!(status, Some(0), "{unit:?} from {source}: {told}");
            assert!(told.contains(&cut("Prompt", prompt.len())), "{unit:?} from {source}: {told}");
            assert!(told.contains(&cut("Negative prompt", 1_000_000)), "{unit:?} from {source}: {told}");
            fs::read(home.join("picture.png")).unwrap()
        });
        assert!(pictures[0] == pictures[1], "{unit:?}: the same file from both");
    }
    let mut command = atelier(&home, "generate");
    command.args(["--as-command", "--prompt-file", "-"]);
    let (status, told) = said(command, "a 'red' lake\n\n");
    assert!(status == Some(0) && told.contains("--prompt ") && !told.contains("--prompt-file"), "{told}");

    fs::write(&file, [0xff, 0xfe, b'a', 0]).unwrap();
    for (source, words) in [(&file, "is not text in UTF-8"), (&home, ""), (&home.join("nowhere.txt"), "")] {
        let mut command = atelier(&home, "generate");
        command.arg("--prompt-file").arg(source);
        let (status, told) = said(command, "");
        assert_eq!(status, Some(2), "{}: {told}", source.display());
        assert!(told.contains(&*source.to_string_lossy()) && told.contains(words), "{}: {told}", source.display());
    }
}

#[test]
fn what_a_template_chose_is_told_and_made_again_from_the_picture() {
    let home = folder("template");
    let template = "{red|blue} lake";
    let mut command = atelier(&home, "generate");
    command.args(["-p", template]);
    let (status, told) = said(command, "");
    assert_eq!(status, Some(0), "{told}");
    let chosen = ["red lake", "blue lake"].into_iter().find(|words| told.contains(&format!("Prompt of seed 7: {words}")));
    let chosen = chosen.unwrap_or_else(|| panic!("nothing is told: {told}"));
    let (picture, first) = (home.join("picture.png"), home.join("first.png"));
    fs::rename(&picture, &first).unwrap();
    let stored = read_metadata(&first).unwrap().recipe.unwrap().into_recipe(|_, _, _| None).recipe;
    assert_eq!((stored.prompt.as_str(), stored.template.as_str(), stored.seed), (chosen, template, Some(Seed(7))));
    let pixels = |path: &Path| image::open(path).unwrap().into_rgb8();
    for words in [["--like", first.to_str().unwrap()], ["-p", chosen]] {
        let mut command = atelier(&home, "generate");
        command.args(words);
        let (status, told) = said(command, "");
        assert!(status == Some(0) && !told.contains("Prompt of seed"), "{words:?}: {told}");
        assert!(pixels(&picture) == pixels(&first), "{words:?}");
    }
    // With a seed of their own, choices are the same for another seed; the picture says it.
    fs::remove_file(&picture).unwrap();
    let mut command = atelier(&home, "generate");
    command.args(["-p", template, "--words-seed", "7", "--seed", "80"]);
    let (status, told) = said(command, "");
    assert_eq!(status, Some(0), "{told}");
    let second = home.join("second.png");
    fs::rename(&picture, &second).unwrap();
    let stored = read_metadata(&second).unwrap().recipe.unwrap().into_recipe(|_, _, _| None).recipe;
    assert_eq!((stored.prompt.as_str(), stored.template.as_str()), (chosen, template));
    assert_eq!((stored.seed, stored.words_seed), (Some(Seed(80)), Some(Seed(7))));
    let mut command = atelier(&home, "generate");
    command.args(["--like", second.to_str().unwrap(), "--seed", "80"]);
    let (status, told) = said(command, "");
    assert_eq!(status, Some(0), "{told}");
    assert!(pixels(&picture) == pixels(&second));
    let again = read_metadata(&picture).unwrap().recipe.unwrap().into_recipe(|_, _, _| None).recipe;
    assert_eq!((again.template.as_str(), again.words_seed), (template, Some(Seed(7))));
}
