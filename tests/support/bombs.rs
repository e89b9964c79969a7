//! Small files that would take a reader without budgets any amount of memory or time, for each
//! reader: many fields that name the same bytes, deep nesting, long runs, huge counts, texts that
//! unpack to a thousand times their bytes.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};
use std::sync::OnceLock;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A bomb: what it is, and its bytes.
pub type Bomb = (String, Vec<u8>);

/// Longest text of a picture that is read, and a bit less.
const TEXT: usize = 4_000_000;

/// The bombs of a reader.
pub fn bombs(reader: &str) -> Vec<Bomb> {
    match reader {
        "picture" | "picture_settings" => {
            // Half a gigabyte is packed for them: once for both.
            static PICTURES: OnceLock<Vec<Bomb>> = OnceLock::new();
            PICTURES.get_or_init(pictures).clone()
        }
        "picture_text" => texts().into_iter().chain(recipes()).collect(),
        "settings_text" => texts().into_iter().chain(recipes()).chain(tool_texts()).chain(graphs()).collect(),
        "command_line" | "link" => texts(),
        "model_file" => models(),
        "archive" => archives(),
        "canvas" => canvases(),
        "manifest" => manifests(),
        "catalogue" => catalogues(),
        "download_queue" => values("{\"version\":1,\"jobs\":[", "]}", 8 << 20),
        "facts_cache" => facts(),
        "studio_events" => values("event: end\ndata: {\"status\":\"failed\",\"notes\":[", "]}\n\n", 8 << 20),
        "settings" => settings(),
        "style_list" => style_lists(),
        "style" => values("{\"name\":\"a\",\"settings\":{\"loras\":[", "]}}", 1_000_000),
        "marks" => marks(),
        other => panic!("{other} has no bombs; make some"),
    }
}

fn bomb(name: &str, bytes: impl Into<Vec<u8>>) -> Bomb {
    (name.to_owned(), bytes.into())
}

/// A pattern, as often as it fits.
fn run(pattern: &str, bytes: usize) -> String {
    pattern.repeat(bytes / pattern.len())
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn chunk(kind: [u8; 4], data: &[u8]) -> Vec<u8> {
    let mut crc = Crc::new();
    crc.update(&kind);
    crc.update(data);
    [&(data.len() as u32).to_be_bytes()[..], &kind, data, &crc.sum().to_be_bytes()].concat()
}

/// A picture of 8 x 8 pixels with these chunks before its pixels.
fn png(chunks: &[Vec<u8>]) -> Vec<u8> {
    let header = [0, 0, 0, 8, 0, 0, 0, 8, 8, 2, 0, 0, 0];
    let rows = [&[0][..], &[9; 24]].concat().repeat(8);
    let ends = [chunk(*b"IDAT", &zlib(&rows)), chunk(*b"IEND", b"")].concat();
    [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(*b"IHDR", &header), chunks.concat(), ends].concat()
}

fn packed(keyword: &str, text: &[u8]) -> Vec<u8> {
    chunk(*b"iTXt", &[keyword.as_bytes(), b"\0\x01\0\0\0", &zlib(text)].concat())
}

/// A TIFF structure whose fields are texts that all are the same bytes.
fn tiff(fields: usize, byte: u8, bytes: usize) -> Vec<u8> {
    let at = (8 + 2 + 12 * fields + 4) as u32;
    let field = |index: usize| {
        let tag = 0x9c00_u16 + (index % 100) as u16;
        [&tag.to_le_bytes()[..], &2_u16.to_le_bytes(), &(bytes as u32).to_le_bytes(), &at.to_le_bytes()].concat()
    };
    let list: Vec<u8> = (0..fields).flat_map(field).collect();
    [&b"II*\0\x08\0\0\0"[..], &(fields as u16).to_le_bytes(), &list, &[0; 4], &vec![byte; bytes]].concat()
}

const XMP: &str = "XML:com.adobe.xmp";

fn nested_xmp(depth: usize) -> String {
    let start = "<e:UserComment xmlns:e=\"http://ns.adobe.com/exif/1.0/\">";
    format!("{start}{}{}</e:UserComment>", "<e:UserComment>".repeat(depth), "</e:UserComment>".repeat(depth))
}

fn pictures() -> Vec<Bomb> {
    let attributes: String = (0..400_000).fold(String::new(), |mut all, n| {
        write!(all, " a{n:x}=''").unwrap();
        all
    });
    let spaces: String = (0..30_000).fold(String::new(), |mut all, n| {
        write!(all, "<a xmlns:n{n:x}='u{n:x}'>").unwrap();
        all
    });
    let empty = vec![0; TEXT];
    let profile = [b"a\0\0".to_vec(), zlib(&vec![0; 256 << 20])].concat();
    let caption = b"8BIM\x04\x04\0\0\0\0\0\x06\x1c\x02\x78\0\x01a";
    let captions = [&[0xff, 0xed][..], &54_016_u16.to_be_bytes(), b"Photoshop 3.0\0", &caption.repeat(3000)].concat();
    let mut damaged = chunk(*b"tEXt", b"a\0b");
    damaged[9] ^= 1;
    let mut all = vec![
        bomb("EXIF: 40 fields of the same MiB of zeros", png(&[chunk(*b"eXIf", &tiff(40, 0, 1 << 20))])),
        bomb("EXIF: 60,000 fields of the same 3 MiB of zeros", png(&[chunk(*b"eXIf", &tiff(60_000, 0, 3 << 20))])),
        bomb("EXIF: 60,000 fields of the same 3 MiB of text", png(&[chunk(*b"eXIf", &tiff(60_000, b'a', 3 << 20))])),
        bomb("EXIF: 100 blocks", png(&vec![chunk(*b"eXIf", &tiff(250, b'a', 60_000)); 100])),
        bomb("EXIF in JPEG: 2,600 fields of the same 33 KB", jpeg(&tiff(2600, 0, 33_700))),
        bomb("EXIF in WebP that says it has 4 GiB", webp(*b"EXIF", u32::MAX, b"II*\0")),
        bomb("XMP in WebP that says it has 4 GiB", webp(*b"XMP ", u32::MAX, b"<a/>")),
        bomb("XMP: 32,000 nested properties", png(&[packed(XMP, nested_xmp(32_000).as_bytes())])),
        bomb("XMP: 1,000 packets of them", png(&vec![packed(XMP, nested_xmp(32_000).as_bytes()); 1000])),
        bomb("XMP: 400,000 attributes of an element", png(&[packed(XMP, format!("<x{attributes}/>").as_bytes())])),
        bomb("XMP: 30,000 nested namespaces", png(&[packed(XMP, (spaces + &"</a>".repeat(30_000)).as_bytes())])),
        bomb("XMP: a million nested elements", png(&[packed(XMP, (run("<a>", TEXT / 2) + &run("</a>", TEXT / 2)).as_bytes())])),
        bomb("PNG: 1,000 texts that unpack to 4 MB", png(&vec![packed("parameters", &empty); 1000])),
        bomb("PNG: 1,000 texts that unpack to no text", png(&vec![packed("parameters", &vec![0xff; TEXT]); 1000])),
        bomb("PNG: a text that unpacks to 200 MiB", png(&[packed("parameters", &vec![b'a'; 200 << 20])])),
        bomb("PNG: 300,000 texts of a byte", png(&vec![chunk(*b"tEXt", b"a\0b"); 300_000])),
        bomb("PNG: 300,000 damaged texts", png(&vec![damaged; 300_000])),
        bomb("PNG: a colour profile that unpacks to 256 MiB", png(&[chunk(*b"iCCP", &profile)])),
        bomb("PNG: 100,000 x 100,000 pixels", huge_png()),
        bomb("IPTC: 210,000 captions", [b"\xff\xd8".to_vec(), captions.repeat(70), jpeg(b"")[2..].to_vec()].concat()),
        bomb("JPEG: 60,000 comments", [b"\xff\xd8".to_vec(), b"\xff\xfe\0\x04ab".repeat(60_000), jpeg(b"")[2..].to_vec()].concat()),
    ];
    let in_png = |(name, text): Bomb, key: &str| (format!("{key}: {name}"), png(&[packed(key, &text)]));
    all.extend(texts().into_iter().map(|it| in_png(it, "parameters")));
    all.extend(recipes().into_iter().map(|it| in_png(it, "atelier")));
    all.extend(graphs().into_iter().map(|it| in_png(it, "prompt")));
    all.extend(graphs().into_iter().take(3).map(|it| in_png(it, "workflow")));
    all
}

fn huge_png() -> Vec<u8> {
    let header = [&100_000_u32.to_be_bytes()[..], &100_000_u32.to_be_bytes(), &[8, 6, 0, 0, 0]].concat();
    [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(*b"IHDR", &header), chunk(*b"IDAT", &zlib(&[0; 1000])), chunk(*b"IEND", b"")].concat()
}

/// A grey JPEG of 8 x 8 pixels with this EXIF.
fn jpeg(exif: &[u8]) -> Vec<u8> {
    let mut picture = Vec::new();
    image::codecs::jpeg::JpegEncoder::new(&mut picture).encode(&[9; 64], 8, 8, image::ExtendedColorType::L8).unwrap();
    let segment = [b"Exif\0\0", exif].concat();
    [&b"\xff\xd8\xff\xe1"[..], &((segment.len() + 2) as u16).to_be_bytes(), &segment, &picture[2..]].concat()
}

/// A WebP of a pixel with a chunk that says that it is so long.
fn webp(kind: [u8; 4], length: u32, data: &[u8]) -> Vec<u8> {
    let mut picture = Vec::new();
    image::codecs::webp::WebPEncoder::new_lossless(&mut picture).encode(&[9; 3], 1, 1, image::ExtendedColorType::Rgb8).unwrap();
    let flag = if kind == *b"EXIF" { 8 } else { 4 };
    let extended =
        [&b"VP8X\x0a\0\0\0"[..], &[flag, 0, 0, 0, 0, 0, 0, 0, 0, 0], &picture[12..], &kind, &length.to_le_bytes(), data].concat();
    [&b"RIFF"[..], &(u32::MAX - 9).to_le_bytes(), b"WEBP", &extended].concat()
}

/// Runs of what the readers of settings look for.
fn texts() -> Vec<Bomb> {
    const PATTERNS: [&str; 26] = [
        "<lora:a",
        "<lora:a:1>",
        "<lora:",
        "<",
        ", Steps: 1",
        "\"",
        "{",
        "[",
        "(",
        "\n",
        "a\n",
        "Negative prompt: ",
        "\nNegative prompt: a",
        "a: \"b, ",
        "ab: \"\\",
        "\nSteps: 4, ",
        "\\\"",
        "Lora hashes: \"a: b, ",
        " BREAK ",
        ":",
        "a:",
        "[a]",
        "--a ",
        "-s 4 ",
        "'",
        "a,",
    ];
    let mut all: Vec<Bomb> = PATTERNS.iter().map(|pattern| bomb(&format!("a run of {pattern:?}"), run(pattern, TEXT))).collect();
    let settings = "\nSteps: 4, Seed: 1, Size: 8x8, Sampler: Euler";
    all.push(bomb("400,000 LoRAs with settings", run("<lora:a:1>", TEXT - 100) + settings));
    all.push(bomb("a million pairs", "a lake\n".to_owned() + &run("ab: 1, ", TEXT) + settings.trim_start()));
    all.push(bomb("hashes of LoRAs", format!("a <lora:a:1>{settings}, Lora hashes: \"{}\"", run("a: b, ", TEXT - 200))));
    all
}

/// Long lists and objects of short values within a text.
fn values(start: &str, end: &str, bytes: usize) -> Vec<Bomb> {
    let mut all: Vec<Bomb> = ["{\"a\":0},", "{},", "[],", "0,", "\"\",", "{\"job\":{}},"]
        .iter()
        .map(|item| bomb(&format!("a list of {item:?}"), format!("{start}{}0{end}", run(item, bytes))))
        .collect();
    let keys: String = (0..bytes / 12).fold(String::new(), |mut all, n| {
        write!(all, "\"{n:x}\":0,").unwrap();
        all
    });
    all.push(bomb("an object of many keys", format!("{start}{{{keys}\"a\":0}}{end}")));
    all.push(bomb("deep lists", format!("{start}{}", run("[", bytes))));
    all.push(bomb("deep objects", format!("{start}{}", run("{\"a\":", bytes))));
    all
}

fn recipes() -> Vec<Bomb> {
    let key = |key: &str, item: &str| bomb(&format!("{key} of {item:?}"), format!("{{\"version\":1,\"{key}\":[{}{{}}]}}", run(item, TEXT)));
    let mut all =
        vec![key("loras", "{},"), key("notes", "{},"), key("notes", "{\"remedies\":[0,0,0,0,0,0,0,0]},"), key("embeddings", "{},")];
    all.extend(values("{\"x\":", "}", TEXT));
    all
}

/// Settings of other programs with long lists.
fn tool_texts() -> Vec<Bomb> {
    let loras = run("\"a\",", 120_000);
    let files = run("{\"name\":\"b\",\"param\":\"loras\",\"hash\":\"0x1\"},", 800_000);
    let fooocus: String = (0..120_000).fold(String::new(), |mut all, n| {
        write!(all, "\"lora_{n:x}\":\"n{n:x} : 1\",").unwrap();
        all
    });
    let easy = run("a, ", TEXT / 3);
    vec![
        bomb(
            "SwarmUI: LoRAs by files",
            format!(
                "{{\"sui_image_params\":{{\"loras\":[{loras}\"a\"],\"loraweights\":[{}1]}},\"sui_models\":[{files}{{}}]}}",
                run("1,", 20_000)
            ),
        ),
        bomb("SwarmUI: LoRAs as a text", format!("{{\"sui_image_params\":{{\"loras\":\"{}\"}},\"sui_models\":[]}}", run("a,", TEXT))),
        bomb("Fooocus: many LoRAs", format!("{{{fooocus}\"performance\":\"Speed\",\"base_model\":\"m\"}}")),
        bomb(
            "Draw Things: many LoRAs",
            format!("{{\"c\":\"\",\"seed\":1,\"uc\":\"\",\"lora\":[{}0]}}", run("{\"model\":\"a\",\"weight\":1},", 1_000_000)),
        ),
        bomb(
            "Easy Diffusion: many LoRAs",
            format!("{{\"prompt\":\"a\",\"seed\":1,\"num_inference_steps\":4,\"use_lora_model\":\"{easy}\"}}"),
        ),
        bomb(
            "InvokeAI: many LoRAs",
            format!("{{\"positive_prompt\":\"a\",\"loras\":[{}0]}}", run("{\"lora\":{\"name\":\"a\"},\"weight\":1},", 1_000_000)),
        ),
    ]
}

/// Graphs of `ComfyUI` in which every node leads everywhere.
fn graphs() -> Vec<Bomb> {
    let graph = |nodes: usize, node: &dyn Fn(usize) -> String| {
        let all: Vec<String> = (0..nodes).map(|n| format!("\"{n}\":{}", node(n))).collect();
        format!("{{{}}}", all.join(","))
    };
    let sampler = |links: String| format!("{{\"class_type\":\"KSampler\",\"inputs\":{{\"seed\":1,\"steps\":4,{links}}}}}");
    let chain = graph(9000, &|n| sampler(format!("\"latent_image\":[\"{0}\",0],\"positive\":[\"{0}\",0],\"model\":[\"{0}\",0]", n + 1)));
    let dense = graph(1500, &|n| {
        let links: Vec<String> = (0..22).map(|j| format!("\"x{j}\":[\"{}\",0]", (n * 7 + j) % 1500)).collect();
        sampler(format!("\"latent_image\":[\"0\",0],{}", links.join(",")))
    });
    let saves = graph(4000, &|n| {
        if n % 2 == 0 {
            format!("{{\"class_type\":\"SaveImage\",\"inputs\":{{\"images\":[\"{}\",0]}}}}", n + 1)
        } else {
            sampler(format!("\"latent_image\":[\"{}\",0],\"y\":[\"{}\",0]", (n + 2) % 4000, (n * 7) % 4000))
        }
    });
    let wide: String = graph(200, &|n| match n {
        0 => "{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"1\",0]}}".to_owned(),
        1 => sampler("\"latent_image\":[\"2\",0],\"positive\":[\"4\",0],\"negative\":[\"4\",0]".to_owned()),
        3 => format!("{{\"class_type\":\"A\",\"inputs\":{{\"text\":\"{}\"}}}}", "a".repeat(TEXT / 2)),
        n => {
            let next = n + 1;
            format!(
                "{{\"class_type\":\"B\",\"inputs\":{{\"a\":[\"{next}\",0],\"b\":[\"{}\",0],\"c\":[\"{next}\",1],\"d\":[\"{next}\",2]{}}}}}",
                n + 2,
                if n > 150 { ",\"text\":[\"3\",0],\"text_g\":[\"3\",0],\"text_l\":[\"3\",0],\"t5xxl\":[\"3\",0]" } else { "" }
            )
        }
    });
    let drawn = format!(
        "{{\"nodes\":[{}{{}}],\"links\":[{}0]}}",
        run("{\"id\":1,\"type\":\"KSampler\",\"inputs\":[{\"name\":\"a\",\"link\":1}]},", TEXT / 2),
        run("[1,1,0],", TEXT / 3)
    );
    let bypassed = format!(
        "{{\"nodes\":[{{\"id\":1,\"mode\":4,\"type\":\"A\",\"inputs\":[{}{{}}]}},{{\"id\":2,\"type\":\"KSampler\",\"inputs\":[{}{{}}]}}],\
         \"links\":[[1,3,0,1,0,\"X\"],[2,1,0,2,0,\"Y\"]]}}",
        run("{\"link\":1},", 300_000),
        run("{\"name\":\"a\",\"link\":2},", 400_000)
    );
    vec![
        bomb("a graph whose texts are all the same", wide),
        bomb("a drawn graph", drawn),
        bomb("18,000 links through a node of 27,000 inputs", bypassed),
        bomb("a chain of 9,000 samplers", chain),
        bomb("1,500 samplers with 22 links each", dense),
        bomb("2,000 saved pictures of 2,000 samplers", saves),
    ]
}

fn safetensors(header: &str) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &[0; 64]].concat()
}

fn models() -> Vec<Bomb> {
    let tensors: String = (0..600_000).fold(String::new(), |mut all, n| {
        write!(all, "\"{n:x}\":{{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}},").unwrap();
        all
    });
    let notes: String = (0..5_000_000).fold(String::new(), |mut all, n| {
        write!(all, "\"{n:x}\":0,").unwrap();
        all
    });
    let long_name = "a".repeat(20_000_000);
    let tags: String = (0..80_000).fold(String::new(), |mut all, n| {
        write!(all, "\\\"{n:x}\\\":1,").unwrap();
        all
    });
    let entry = "{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}";
    let text = |bytes: &[u8]| [&(bytes.len() as u64).to_le_bytes()[..], bytes].concat();
    let gguf = |tensors: u64, entries: u64, rest: Vec<u8>| {
        [&b"GGUF\x03\0\0\0"[..], &tensors.to_le_bytes(), &entries.to_le_bytes(), &rest, &[0; 64]].concat()
    };
    let described =
        |n: usize| [text(format!("{n:x}").as_bytes()), [0; 4].to_vec(), [0; 4].to_vec(), ((n * 32) as u64).to_le_bytes().to_vec()].concat();
    let noted = |n: usize, value: &[u8]| [text(format!("k{n}").as_bytes()), 8_u32.to_le_bytes().to_vec(), text(value)].concat();
    let list = |kind: u32, count: u64, rest: Vec<u8>| {
        [text(b"l"), 9_u32.to_le_bytes().to_vec(), kind.to_le_bytes().to_vec(), count.to_le_bytes().to_vec(), rest].concat()
    };
    vec![
        bomb("safetensors: 600,000 tensors", safetensors(&format!("{{{tensors}\"a\":{entry}}}"))),
        bomb("safetensors: 5,000,000 notes", safetensors(&format!("{{\"__metadata__\":{{{notes}\"a\":\"b\"}},\"a\":{entry}}}"))),
        bomb(
            "safetensors: 1,000,000 lists of notes",
            safetensors(&format!("{{{}\"a\":{entry}}}", run("\"__metadata__\":{\"a\":\"b\"},", 30_000_000))),
        ),
        bomb(
            "safetensors: 20,000,000 dimensions",
            safetensors(&format!("{{\"a\":{{\"dtype\":\"F32\",\"shape\":[{}1],\"data_offsets\":[0,4]}}}}", run("1,", 40_000_000))),
        ),
        bomb("safetensors: a name of 20 MB", safetensors(&format!("{{\"{long_name}\":{entry}}}"))),
        bomb(
            "safetensors: a type of 20 MB",
            safetensors(&format!("{{\"a\":{{\"dtype\":\"{long_name}\",\"shape\":[1],\"data_offsets\":[0,4]}}}}")),
        ),
        bomb("safetensors: a deep header", safetensors(&run("{\"a\":", 20_000_000))),
        bomb(
            "LoRA: a table of 80,000 tags",
            safetensors(&format!(
                "{{\"__metadata__\":{{\"ss_tag_frequency\":\"{{\\\"f\\\":{{{tags}\\\"a\\\":1}}}}\"}},\"a.lora_down.weight\":{entry}}}"
            )),
        ),
        bomb(
            "embedding: 20,000,000 notes of nothing",
            safetensors(&format!("{{\"__metadata__\":{{\"a\":[{}0]}},\"emb_params\":{entry}}}", run("0,", 40_000_000))),
        ),
        bomb("GGUF: 600,000 tensors", gguf(600_000, 0, (0..600_000).flat_map(described).collect())),
        bomb("GGUF: counts without end", gguf(u64::MAX, u64::MAX, Vec::new())),
        bomb("GGUF: 9,000 texts of 5 KB", gguf(0, 9000, (0..9000).flat_map(|n| noted(n, &[0xff; 5000])).collect())),
        bomb("GGUF: a list of 6,000,000 empty texts", gguf(0, 1, list(8, 6_000_000, vec![0; 48_000_000]))),
        bomb("GGUF: a list of a number without end", gguf(0, 1, list(10, u64::MAX, Vec::new()))),
        bomb("GGUF: lists in lists", gguf(0, 1, list(9, 100, list(9, 100, Vec::new())))),
    ]
}

/// A zip archive of these files.
fn zip(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(&bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// An archive of so many entries that are all the same file.
fn crowded_zip(entries: usize) -> Vec<u8> {
    let local = [&b"PK\x03\x04\x0a\0\0\0\0\0\0\0\0\0"[..], &[0; 12], &1_u16.to_le_bytes(), &[0; 2], b"a"].concat();
    let entry = [&b"PK\x01\x02\x0a\0\x0a\0\0\0\0\0\0\0\0\0"[..], &[0; 12], &1_u16.to_le_bytes(), &[0; 12], &[0; 4], b"a"].concat();
    let list = entry.repeat(entries);
    let at = local.len() as u64;
    let end = [&[0xff; 4][..], &(list.len() as u32).to_le_bytes(), &(at as u32).to_le_bytes(), &[0; 2]].concat();
    let zip64 = [
        &b"PK\x06\x06"[..],
        &44_u64.to_le_bytes(),
        &[45, 0, 45, 0],
        &[0; 8],
        &(entries as u64).to_le_bytes(),
        &(entries as u64).to_le_bytes(),
        &(list.len() as u64).to_le_bytes(),
        &at.to_le_bytes(),
    ]
    .concat();
    let locator = [&b"PK\x06\x07\0\0\0\0"[..], &(at + list.len() as u64).to_le_bytes(), &1_u32.to_le_bytes()].concat();
    [local, list, zip64, locator, b"PK\x05\x06\0\0\0\0".to_vec(), end].concat()
}

fn archives() -> Vec<Bomb> {
    let zeros = vec![0; 100 << 20];
    vec![
        bomb("zip: 600,000 entries", crowded_zip(600_000)),
        bomb("zip: a model that unpacks to 100 MiB of nothing", zip([("model.safetensors".to_owned(), zeros)])),
        bomb("zip: no end", vec![b'P'; 32 << 20]),
        bomb("zip: nested folders", zip([("sub/".repeat(15_000) + "model.gguf", b"GGUF".to_vec())])),
    ]
}

fn canvases() -> Vec<Bomb> {
    let layer = |frame: u32| {
        format!(
            "{{\"kind\":\"paint\",\"name\":\"a\",\"visible\":true,\"opacity\":255,\"locked\":false,\"frame\":{{\"left\":0,\"top\":0,\"width\":{frame},\"height\":{frame}}}}}"
        )
    };
    let canvas = |list: String, layer: Vec<u8>| zip([("canvas.json".to_owned(), list.into_bytes()), ("layers/0.png".to_owned(), layer)]);
    let list = |side: u32, layers: &str| format!("{{\"format\":1,\"width\":{side},\"height\":{side},\"current\":0,\"layers\":[{layers}]}}");
    let many = vec![layer(64); 3000].join(",");
    vec![
        bomb("canvas: 600,000 entries", crowded_zip(600_000)),
        bomb("canvas: 3,000 layers", canvas(list(64, &many), png(&[]))),
        bomb("canvas: a list of 100 MiB of nothing", canvas(run(" ", 100 << 20), Vec::new())),
        bomb("canvas: a deep list", canvas(run("[", 1 << 20), Vec::new())),
        bomb("canvas: layers of more than 4 GiB", canvas(list(16_384, &vec![layer(16_384); 40].join(",")), png(&[]))),
        bomb("canvas: a layer that unpacks to 300 MiB", canvas(list(64, &layer(64)), vec![0; 300 << 20])),
        bomb(
            "canvas: a layer with a profile of 256 MiB",
            canvas(list(8, &layer(8)), png(&[chunk(*b"iCCP", &[b"a\0\0".to_vec(), zlib(&vec![0; 256 << 20])].concat())])),
        ),
    ]
}

fn manifests() -> Vec<Bomb> {
    let file = "{\"role\":\"lora\",\"filename\":\"a\"},";
    let files: String = (0..60_000).fold(String::new(), |mut all, n| {
        write!(all, "{{\"role\":\"lora\",\"filename\":\"{n:x}\"}},").unwrap();
        all
    });
    let manifest = |files: &str, more: &str| format!("{{\"id\":\"a\",\"name\":\"a\",\"files\":[{}]{more}}}", files.trim_end_matches(','));
    let mut all = vec![
        bomb("60,000 files", manifest(&files, "")),
        bomb(
            "60,000 variants",
            manifest(file, &format!(",\"variants\":[{}]", run("{\"name\":\"a\",\"files\":[]},", 2 << 20).trim_end_matches(','))),
        ),
        bomb("files with fields that are not known", manifest(&run("{\"role\":\"lora\",\"filename\":\"a\",\"x\":{\"y\":0}},", TEXT), "")),
    ];
    all.extend(values("{\"id\":\"a\",\"name\":\"a\",\"files\":[],\"x\":", "}", TEXT));
    all
}

fn catalogues() -> Vec<Bomb> {
    let entries: String = (0..60_000).fold(String::new(), |mut all, n| {
        write!(all, "{{\"id\":\"{n:x}\",\"name\":\"a\",\"files\":[]}},").unwrap();
        all
    });
    let mut all = vec![
        bomb("60,000 models", format!("[{}]", entries.trim_end_matches(','))),
        bomb("2,000,000 entries of nothing", run("0,", TEXT).replacen('0', "[", 1)),
        bomb("60,000 lines without an entry", run("[,\n", TEXT)),
        bomb("1,000,000 lines of entries", "[".to_owned() + &run("0,\n", TEXT)),
    ];
    all.extend(values("[", "]", TEXT));
    all
}

fn facts() -> Vec<Bomb> {
    let known = |training: &str| {
        format!(
            "{{\"version\":1,\"files\":{{\"/a\":{{\"bytes\":1,\"modified\":2,\"about\":{{\"known\":{{\"role\":null,\"family\":null,\"name\":\"a\",\
            \"parameters\":1,\"quantisation\":\"a\",\"contains\":[],\"text_width\":null,\"vocabulary\":null,\"latent_channels\":null,\"reads\":null,\
            \"training\":{{{training}}}}}}}}}}}}}"
        )
    };
    let files: String = (0..300_000).fold(String::new(), |mut all, n| {
        write!(all, "\"/{n:x}\":{{\"bytes\":1,\"modified\":2,\"about\":\"pickle\"}},").unwrap();
        all
    });
    let mut all = vec![
        bomb("10,000,000 words", known(&format!("\"trigger_words\":[{}\"\"]", run("\"\",", 30 << 20)))),
        bomb("5,000,000 tags", known(&format!("\"tags\":[{}[\"\",0]]", run("[\"\",0],", 40 << 20)))),
        bomb("300,000 files", format!("{{\"version\":1,\"files\":{{{}}}}}", files.trim_end_matches(','))),
    ];
    all.extend(values("{\"version\":1,\"files\":", "}", 8 << 20));
    all
}

fn settings() -> Vec<Bomb> {
    let mut all = values("{\"version\":1,\"x\":", "}", 4_000_000);
    all.extend(values("{\"version\":1,\"recipe\":{\"loras\":[", "]}}", 4_000_000));
    // As many values as are read, none of which makes sense.
    all.extend(
        values("{\"version\":1,\"recipe\":{\"loras\":[", "]}}", 100_000).into_iter().map(|(name, bytes)| (format!("short: {name}"), bytes)),
    );
    all
}

fn style_lists() -> Vec<Bomb> {
    vec![
        bomb("a header of 4,000,000 columns", run(",", TEXT)),
        bomb("a row of 4,000,000 columns", "name,prompt\na".to_owned() + &run(",", TEXT)),
        bomb("2,000,000 rows", "name,prompt\n".to_owned() + &run("a\n", TEXT)),
        bomb("a quotation without end", "name,prompt\na,\"".to_owned() + &run("\"\"", TEXT)),
        bomb("1,000 long rows", "name,prompt,negative_prompt\n".to_owned() + &format!("a,{},b\n", "x".repeat(3900)).repeat(1000)),
    ]
}

fn marks() -> Vec<Bomb> {
    let line = |inside: &str| format!("{{\"file\":\"a.png\",\"hash\":\"{}\",{inside}}}\n", "0".repeat(32));
    let files: String = (0..100_000).fold(String::new(), |mut all, n| {
        writeln!(all, "{{\"file\":\"{n:x}\",\"hash\":\"{n:032x}\",\"rating\":1}}").unwrap();
        all
    });
    vec![
        bomb("a line of 8 MB", line(&format!("\"note\":\"{}\"", "a".repeat(8_000_000)))),
        bomb(
            "50 pictures of 300,000 tags",
            (0..50)
                .map(|n| line(&format!("\"tags\":[{}\"\"]", run("\"\",", 900_000))).replace("a.png", &n.to_string()))
                .collect::<String>(),
        ),
        bomb("100,000 pictures", files),
        bomb("4,000,000 empty lines", run("\n", TEXT)),
        bomb("deep lines", (run("[", 1_000_000) + "\n").repeat(4)),
    ]
}
